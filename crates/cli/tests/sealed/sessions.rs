//! Sessions have the same network as a single run.

use cofferdam_testkit::Outcome;
use cofferdam_testkit::processes::{marker, wait_until, with_argument};

use crate::bed::{ASK, Bed, SECRET, WITHOUT_PROXY, fixed};

/// A session that is gone with this value.
struct Session<'a> {
    bed: &'a Bed,
    name: String,
}

impl<'a> Session<'a> {
    fn new(bed: &'a Bed, options: &[&str]) -> Self {
        let name = format!("s{}", marker());
        bed.call().args(["session", "new", "--name", &name]).args(options).run().expect_status(0);
        Self { bed, name }
    }

    fn call(&self, words: &[&str]) -> Outcome {
        self.bed.call().arg("session").arg(words[0]).arg(&self.name).args(&words[1..]).run()
    }

    fn shell(&self, text: &str) -> Outcome {
        self.call(&["exec", "-c", text])
    }

    fn token(&self) -> String {
        self.shell("echo $ACME_API_KEY").expect_status(0).stdout().trim().to_owned()
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.call(&["kill"]);
    }
}

fn with_token(token: &str) -> String {
    ASK.replace("$ACME_API_KEY", token).replace("-sS", "-sSi")
}

#[test]
fn req_e01_e17_i10_a_session_reaches_its_provider_with_a_token_command_after_command() {
    Bed::each(|bed| {
        bed.upstream.route("/v1", fixed("hello"));
        let session = Session::new(bed, &[]);
        for _ in 0..2 {
            let asked = session.shell(&format!("{ASK}; {WITHOUT_PROXY} {ASK}")).expect_status(0);
            assert_eq!(asked.stdout(), "hellohello", "{}", asked.stderr());
        }
        let environment = session.shell("env").expect_status(0).stdout();
        assert!(!environment.contains(SECRET) && environment.contains("ACME_API_KEY=cfd_"));
        let expected = format!("Bearer {SECRET}");
        let asked = bed.upstream.requests();
        assert_eq!(asked.len(), 4);
        assert!(asked.iter().all(|asked| asked.header("authorization") == Some(expected.as_bytes())));
        assert!(bed.record().contains(&format!("\"{}\"", session.name)), "by its name");
    });
}

#[test]
fn req_e02_i10_a_host_that_a_session_may_not_reach_is_told_to_whoever_asked() {
    Bed::each(|bed| {
        bed.upstream.route("/", fixed("typed"));
        let session = Session::new(bed, &[]);
        let refused = session.shell("curl -sS https://typed.example.test/; exit 5").expect_status(5);
        // What was refused is told when the command ends, or to the next one if it was too quick.
        let told = std::cell::RefCell::new(refused.stderr());
        wait_until("the flag is told", || {
            told.borrow_mut().push_str(&session.shell("true").stderr());
            told.borrow().contains("--allow typed.example.test")
        });
        let allowed = Session::new(bed, &["--allow", "typed.example.test"]);
        let asked = allowed.shell("curl -sS https://typed.example.test/").expect_status(0);
        assert_eq!(asked.stdout(), "typed");
        let sealed = Session::new(bed, &["--network", "none"]);
        assert_ne!(sealed.shell("curl -sS https://plain.example.test/").status(), 0);
        assert!(!sealed.shell("env").stdout().contains("ACME_API_KEY"));
    });
}

#[test]
fn req_e23_a_token_of_a_session_is_worth_nothing_in_another_and_after_its_end() {
    Bed::each(|bed| {
        bed.upstream.route("/v1", fixed("hello"));
        let (one, other) = (Session::new(bed, &[]), Session::new(bed, &[]));
        let token = one.token();
        assert!(token.starts_with("cfd_") && token != other.token());
        let refused = other.shell(&with_token(&token)).expect_status(0).stdout();
        assert!(refused.contains("cofferdam-reason: "), "{refused}");
        let name = one.name.clone();
        drop(one);
        wait_until("nothing of the session is left", || with_argument(&name).is_empty());
        for ask in [other.shell(&with_token(&token)), bed.shell(&[], &with_token(&token))] {
            assert!(ask.stdout().contains("cofferdam-reason: "), "{}", ask.stdout());
        }
        assert!(bed.upstream.requests().is_empty());
        assert_eq!(other.shell(ASK).expect_status(0).stdout(), "hello", "the other one goes on");
    });
}

#[test]
fn req_e18_e19_what_keeps_a_command_from_starting_keeps_a_session() {
    let bed = Bed::new();
    let new = |options: &[&str]| bed.call().args(["session", "new"]).args(options).run();
    new(&["--env", "HTTPS_PROXY=http://elsewhere"]).expect_status(77);
    new(&["--provider", "openai-api"]).expect_status(125);
    bed.home.write("cofferdam/state/ca/ca.key", "not a key");
    let refused = new(&[]).expect_status(125);
    assert!(refused.stdout().is_empty() && refused.stderr().contains("ca.key"), "{}", refused.stderr());
    assert_eq!(bed.call().args(["session", "list", "--json"]).run().stdout().trim(), "[]");
}
