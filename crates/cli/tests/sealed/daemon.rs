//! A daemon that goes while sandboxes run: they are told, and go on with the next one.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, ChildStdout};

use cofferdam_testkit::processes::wait_until;
use cofferdam_testkit::{Cofferdam, clients};
use serde_json::Value;

use crate::bed::{ASK, Bed, Server, WITHOUT_PROXY, fixed};

/// A shell in a sandbox that does one line at a time.
struct Shell {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Shell {
    fn start(bed: &Bed) -> Self {
        Self::of(bed.run(&[], &["/bin/sh"]))
    }

    fn of(call: Cofferdam) -> Self {
        let mut child = call.spawn();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, output }
    }

    /// What a command prints, as one line.
    fn does(&mut self, command: &str) -> String {
        let input = self.child.stdin.as_mut().expect("a pipe");
        writeln!(input, "echo $({command} 2>&1 | tr -d '\\r' | tr '\\n' ' ')").expect("it reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }

    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let output = self.child.wait_with_output().expect("its end");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

#[test]
fn req_e19_e20_while_the_daemon_is_gone_there_is_a_reason_and_then_service_with_the_same_token() {
    let bed = Bed::served_by(Server::Daemon, "");
    bed.upstream.route("/v1", fixed("hello"));
    let mut shell = Shell::start(&bed);
    assert_eq!(shell.does(ASK), "hello");
    for round in 0..2 {
        bed.egress("stop").expect_status(0);
        let refused = shell.does("curl -sS -D - -o /dev/null http://plain.example.test/");
        assert!(refused.contains("502") && refused.contains("proxy-restarting"), "{refused}");
        assert!(!shell.does(&format!("sh -c '{WITHOUT_PROXY} {}'", ASK.replace('"', ""))).contains("hello"));
        bed.egress("start").expect_status(0);
        let asked = std::cell::RefCell::new(&mut shell);
        wait_until("it is served again", || asked.borrow_mut().does(ASK) == "hello");
        assert_eq!(bed.upstream.requests().len() % 2, round % 2, "{round}");
    }
    assert_eq!(shell.end(), "");
}

/// What a client has asked for in the course of its life is good though another worker serves it now.
#[test]
fn req_e20_a_token_that_was_asked_for_inside_outlives_the_worker_that_gave_it() {
    let bed = Bed::with("");
    let home = &bed.home;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let listen = listener.local_addr().expect("an address");
    drop(listener);
    let account = r#"{"type":"authorized_user","client_id":"id","client_secret":"canary-secret","refresh_token":"canary-refresh"}"#;
    home.write("cofferdam/account.json", account);
    let config = home
        .read("cofferdam/config.toml")
        .replace("[egress]\n", &format!("[egress]\nlisten = \"{listen}\"\n"));
    let provider = "[[provider]]\nname = \"minted\"\nhosts = [\"typed.example.test\"]\nvariables = [\"MINTED_ACCOUNT\"]\n\
        scheme = { google_service_account = { scope = \"a-scope\" } }\nsecret = { file = \"account.json\" }\n\
        token = { prefix = \"ya29.\", length = 64, alphabet = \"base64url\" }\n";
    home.write("cofferdam/config.toml", config + provider);
    bed.upstream
        .route("/token", fixed(r#"{"access_token":"ya29.canary-real-token-0123456789","expires_in":3600}"#));
    bed.upstream.route("/v1", fixed("hello"));
    bed.egress("start").expect_status(0);
    let status = || -> Value {
        serde_json::from_str(&bed.call().args(["egress", "status", "--json"]).run().stdout()).expect("JSON")
    };
    let mut shell = Shell::start(&bed);
    let metadata =
        "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token";
    let token = shell.does(&format!(
        "curl -sS -H Metadata-Flavor:Google {metadata} | sed s/.*access_token...// | cut -d,  -f1"
    ));
    let token = token
        .trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_' && c != '-')
        .to_owned();
    assert!(token.starts_with("ya29.") && !token.contains("canary"), "{token}");
    let ask = format!("curl -sSi -H 'Authorization: Bearer {token}' https://typed.example.test/v1");
    assert!(shell.does(&ask).ends_with("hello"));
    let worker = status()["worker"].as_i64().expect("a worker");
    let pid = rustix::process::Pid::from_raw(i32::try_from(worker).expect("a pid")).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("a signal");
    wait_until("another worker serves", || status()["serving"].is_object() && status()["worker"] != worker);
    let answer = shell.does(&ask);
    assert!(answer.ends_with("hello"), "{answer}");
    // The twin: a token that nobody gave is refused.
    let guessed = ask.replace(&token[token.len() - 6..], "AAAAAA");
    assert!(shell.does(&guessed).contains("credential-foreign"));
    shell.end();
    bed.egress("stop").expect_status(0);
}

/// Of one sandbox and of another: what one has used up the other still has, and a token counts where it was given.
#[test]
fn req_e22_e29_each_sandbox_has_limits_and_tokens_of_its_own() {
    let bed = Bed::served_by(Server::Daemon, "");
    bed.upstream.route("/v1", fixed("hello"));
    let config = bed.home.read("cofferdam/config.toml") + "[egress.limits]\nrequests_per_minute = 2\n";
    bed.home.write("cofferdam/config.toml", config);
    bed.egress("reload").expect_status(0);
    let (mut one, mut other) = (Shell::start(&bed), Shell::start(&bed));
    let reason = |shell: &mut Shell, ask: &str| {
        let answer = shell.does(&format!("{ask} -o /dev/null -D - -w %{{http_code}}"));
        let reason = answer.split("cofferdam-reason: ").nth(1).and_then(|rest| rest.split(' ').next());
        reason.unwrap_or("served").to_owned()
    };
    assert_eq!([(); 3].map(|()| reason(&mut one, ASK)), ["served", "served", "rate-limited"]);
    assert_eq!(reason(&mut other, ASK), "served", "the neighbour's are not used up");
    let stolen = ASK.replace("$ACME_API_KEY", &one.does("echo $ACME_API_KEY"));
    assert_eq!(reason(&mut other, &stolen), "token-wrong-client");
    let arrived = bed.upstream.requests().len();
    assert_eq!(arrived, 3, "what was refused reached nobody");
    assert!(bed.record().contains("\"token-wrong-client\"") && bed.record().contains("\"rate-limited\""));
    one.end();
    other.end();
}

#[test]
fn req_e19_with_a_daemon_that_is_dead_nothing_starts_and_without_one_there_is_another_way() {
    let bed = Bed::served_by(Server::Daemon, "");
    bed.home.write("cofferdam/state/tokens.json", "broken");
    let broken = bed.egress("restart");
    assert_ne!(broken.status(), 0, "{}", broken.stdout());
    assert_eq!(bed.shell(&[], "echo started").expect_status(0).stdout(), "started\n");
}

/// Asks for one signed request, and says what came of it.
const SIGNED: &str = "import boto3, json
from botocore.config import Config
c = boto3.client('bedrock-runtime', region_name='us-east-1', config=Config(retries={'max_attempts': 1}))
print(json.loads(c.invoke_model(modelId='m', body='{}')['body'].read())['completion'])
";

#[test]
fn req_e07_e20_a_signed_request_is_good_before_and_after_another_daemon_has_taken_over() {
    let bed = Bed::served_by(Server::Daemon, "");
    let keys = |call: Cofferdam| {
        call.env("AWS_ACCESS_KEY_ID", "AKIAREALREALREALREAL")
            .env("AWS_SECRET_ACCESS_KEY", "real0123456789real0123456789real01234567")
    };
    let egress = |word: &str| keys(bed.call()).args(["egress", word]).run().expect_status(0);
    egress("restart");
    bed.upstream.route("/model/m/invoke", fixed("{\"completion\": \"hello\"}"));
    bed.home.write("project/signed.py", SIGNED);
    let packages = clients::installed("python").display().to_string();
    let path = format!("PYTHONPATH={packages}");
    let options = ["--provider", "aws", "--read", &packages, "--env", &path];
    let mut shell = Shell::of(keys(bed.run(&options, &["/bin/sh"])));
    let ask = "python3 -B signed.py";
    assert_eq!(shell.does(ask), "hello");
    egress("stop");
    assert!(!shell.does(ask).contains("hello"));
    egress("start");
    let asked = std::cell::RefCell::new(&mut shell);
    wait_until("it is served again", || asked.borrow_mut().does(ask) == "hello");
    let requests = bed.upstream.requests();
    let signatures: Vec<_> = requests.iter().filter_map(|request| request.header("authorization")).collect();
    let real = b"AWS4-HMAC-SHA256 Credential=AKIAREALREALREALREAL/";
    assert!(signatures.len() == 2 && signatures.iter().all(|signature| signature.starts_with(real)));
    shell.end();
}
