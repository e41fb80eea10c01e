//! A02, A03, A07, A09: who is asked, what counts as an answer, and what does not.

mod asking;

use asking::{ASKED, AtTerminal, Waiting, ask, call, decided, field, home, waiting};
use cofferdam_testkit::Home;

const GATEWAY: [&str; 2] = ["--session-kind", "gateway"];

fn gateway(home: &Home, session: &str) -> Waiting {
    Waiting::start(home, &["--session-kind", "gateway", "--session", session, ASKED])
}

fn answer(home: &Home, args: &[&str]) -> (i32, String) {
    let outcome = call(home, &["approvals"]).args(args).run();
    (outcome.status(), format!("{}{}", outcome.stdout(), outcome.stderr()))
}

#[test]
fn req_a03_the_whole_command_is_shown_and_the_default_is_no() {
    let home = home("");
    let command =
        format!("git push --force {}; echo a\u{202e}b\u{200b}c \x1b[2K\rls\ntail-of-it", " ".repeat(300));
    let mut person = AtTerminal::start(&home, &["approvals", "ask", "--json", &command]);
    person.see("[n]: ");
    for shown in [
        "\u{27e8}301 spaces\u{27e9}",
        "a\\u{202e}b\\u{200b}c",
        "\\u{1b}[2K\\u{d}ls",
        "tail-of-it",
        "overwrites history",
    ] {
        assert!(person.screen.contains(shown), "{shown}:\n{}", person.screen);
    }
    assert!(!person.screen.contains('\u{202e}') && !person.screen.contains("\x1b[2K"), "{:?}", person.screen);
    person.type_line("");
    let (status, json) = person.finish();
    assert_eq!((status, field(&json, "reason")), (3, "denied".to_owned()));
}

#[test]
fn req_a03_what_was_typed_before_the_question_does_not_count() {
    let home = home("");
    let mut person = AtTerminal::typing_first(&home, &["approvals", "ask", "--json", ASKED], "y\na\ny\n");
    person.see("[n]: ");
    person.type_line("n not today");
    let (status, json) = person.finish();
    assert_eq!(status, 3, "{json}");
    assert_eq!(field(&json, "comment"), "not today");
}

#[test]
fn req_a07_once_is_once_and_a_session_is_a_session() {
    let home = home("");
    for (typed, again) in [("y", "nobody-asked"), ("s", "approved")] {
        let mut person = AtTerminal::start(&home, &["approvals", "ask", "--session", "one", ASKED]);
        person.see("[n]: ");
        person.type_line(typed);
        assert_eq!(person.finish().0, 0);
        assert_eq!(decided(&ask(&home, &["--session", "one", ASKED]).run()), again, "{typed}");
    }
    assert_eq!(decided(&ask(&home, &["--session", "two", ASKED]).run()), "nobody-asked");
}

#[test]
fn req_a07_a_session_does_not_last_for_ever() {
    let home = home("");
    let waiter = gateway(&home, "s");
    let id = waiting(&home, 1).remove(0);
    assert_eq!(answer(&home, &["allow", &id, "--for", "session"]).0, 0);
    assert_eq!(waiter.decided(), "approved");
    assert_eq!(gateway(&home, "s").decided(), "approved");
    let directory = home.path().join("cofferdam/state/approvals/sessions");
    let file = std::fs::read_dir(directory).unwrap().flatten().next().expect("a session").path();
    let file = std::fs::File::options().write(true).open(file).unwrap();
    file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(25 * 60 * 60)).unwrap();
    let waiter = gateway(&home, "s");
    let id = waiting(&home, 1).remove(0);
    assert_eq!(answer(&home, &["deny", &id]).0, 0);
    assert_eq!(waiter.decided(), "denied");
}

#[test]
fn req_a07_what_is_only_known_when_it_runs_is_not_kept() {
    let home = home("");
    let command = "rm -rf \"$TARGET\"";
    let mut person = AtTerminal::start(&home, &["approvals", "ask", "--json", command]);
    person.see("[n]: ");
    assert!(!person.screen.contains("always"), "{}", person.screen);
    person.type_line("a");
    assert_eq!(person.finish().0, 3);
    let waiter = Waiting::start(&home, &["--session-kind", "gateway", command]);
    let id = waiting(&home, 1).remove(0);
    let (_, told) = answer(&home, &["allow", &id, "--for", "always"]);
    assert!(told.contains("allowed once"), "{told}");
    assert_eq!(waiter.decided(), "approved");
    assert!(!home.path().join("cofferdam/approvals.toml").exists());
}

#[test]
fn req_a09_another_terminal_can_answer_and_the_first_one_is_told() {
    let home = home("");
    let mut person = AtTerminal::start(&home, &["approvals", "ask", "--json", ASKED]);
    person.see("[n]: ");
    let id = waiting(&home, 1).remove(0);
    assert_eq!(answer(&home, &["deny", &id, "--comment", "use a branch"]).0, 0);
    person.see("answered in another place");
    let (status, json) = person.finish();
    assert_eq!((status, field(&json, "comment")), (3, "use a branch".to_owned()));
}

#[test]
fn req_a03_denied_expired_and_nobody_are_told_apart() {
    let quick = home("[approval]\ntimeout = \"1s\"\n");
    assert_eq!(decided(&ask(&quick, &GATEWAY).arg(ASKED).run()), "expired");
    assert_eq!(decided(&ask(&quick, &[ASKED]).run()), "nobody-asked");
    let mut person = AtTerminal::start(&quick, &["approvals", "ask", "--json", ASKED]);
    person.see("not answered in time");
    assert_eq!(field(&person.finish().1, "reason"), "expired");
    let slow = home("");
    let mut person = AtTerminal::start(&slow, &["approvals", "ask", "--json", ASKED]);
    person.see("[n]: ");
    let (status, json) = person.close();
    // Hanging up may end the process by signal before it can say so; never with a yes.
    assert!(status == -1 || (status == 3 && field(&json, "reason") == "nobody-asked"), "{status} {json}");
}

#[test]
fn req_a09_late_and_repeated_answers_change_nothing_and_say_so() {
    let home = home("");
    let waiter = gateway(&home, "s");
    let id = waiting(&home, 1).remove(0);
    assert_eq!(answer(&home, &["allow", &id, "--digest", &"0".repeat(64)]).0, 1, "another digest");
    assert_eq!(answer(&home, &["deny", &id]).0, 0);
    assert_eq!(waiter.decided(), "denied");
    let (status, told) = answer(&home, &["allow", &id, "--for", "always"]);
    assert_eq!(status, 1);
    assert!(told.contains("nothing was changed") && told.contains("already denied"), "{told}");
    assert_eq!(decided(&ask(&home, &[ASKED]).run()), "nobody-asked", "nothing was kept");
    for nonsense in ["abcdefgh", "../../x", ""] {
        assert!(answer(&home, &["allow", nonsense]).1.contains("no such question"));
    }
}

#[test]
fn req_a09_an_expired_question_cannot_be_answered() {
    let home = home("[approval]\ntimeout = \"1s\"\n");
    assert_eq!(gateway(&home, "s").decided(), "expired");
    // Its name is kept with what became of it; to ask for it while it waits would be a race with its end.
    let settled =
        std::fs::read_dir(home.path().join("cofferdam/state/approvals/settled")).expect("what has ended");
    let name = settled.map(|entry| entry.expect("a question").file_name()).next().expect("one question");
    let id = name.to_string_lossy().trim_end_matches(".json").to_owned();
    let (status, told) = answer(&home, &["allow", &id]);
    assert_eq!(status, 1);
    assert!(told.contains("expired"), "{told}");
}

#[test]
fn req_a09_a_question_whose_asker_was_killed_is_nobodys() {
    let home = home("");
    let waiter = gateway(&home, "s");
    let id = waiting(&home, 1).remove(0);
    waiter.kill();
    let (status, told) = answer(&home, &["allow", &id, "--for", "session"]);
    assert_eq!(status, 1);
    assert!(told.contains("whoever asked is gone"), "{told}");
    let next = gateway(&home, "s");
    let fresh = waiting(&home, 1).remove(0);
    assert_ne!(fresh, id);
    assert_eq!(answer(&home, &["deny", &fresh]).0, 0);
    assert_eq!(next.decided(), "denied");
}

#[test]
fn req_a09_of_many_answers_at_once_exactly_one_is_taken() {
    for _ in 0..5 {
        let home = home("");
        let waiter = gateway(&home, "s");
        let id = waiting(&home, 1).remove(0);
        let answers: Vec<_> = ["allow", "deny", "allow", "deny", "deny", "allow"]
            .map(|word| (word, call(&home, &["approvals", word, &id]).spawn()))
            .into();
        let mut taken = Vec::new();
        for (word, mut child) in answers {
            if child.wait().expect("it ends").success() {
                taken.push(word);
            }
        }
        let expected = match taken.as_slice() {
            ["allow"] => "approved",
            ["deny"] => "denied",
            other => panic!("{other:?}"),
        };
        assert_eq!(waiter.decided(), expected);
    }
}

#[test]
fn req_a02_two_sessions_never_share_a_question_or_an_answer() {
    let home = home("");
    let (one, two) = (gateway(&home, "one"), gateway(&home, "two"));
    let ids = waiting(&home, 2);
    let listed = call(&home, &["approvals", "list"]).run().stdout();
    let of_one =
        ids.iter().find(|id| listed.contains(&format!("{id}  session one"))).expect("the first one's");
    assert_eq!(answer(&home, &["allow", of_one, "--for", "session"]).0, 0);
    assert_eq!(one.decided(), "approved");
    let rest = waiting(&home, 1);
    assert_ne!(&rest[0], of_one);
    assert_eq!(answer(&home, &["deny", &rest[0]]).0, 0);
    assert_eq!(two.decided(), "denied");
}

#[test]
fn req_a07_the_same_question_is_asked_once_but_once_is_not_shared() {
    let home = home("");
    let (one, two) = (gateway(&home, "s"), gateway(&home, "s"));
    let first = waiting(&home, 1).remove(0);
    assert_eq!(answer(&home, &["allow", &first]).0, 0);
    // The other one asks for itself.
    let second = loop {
        let id = waiting(&home, 1).remove(0);
        if id != first {
            break id;
        }
    };
    assert_eq!(answer(&home, &["deny", &second]).0, 0);
    let mut both = [one.decided(), two.decided()];
    both.sort();
    assert_eq!(both, ["approved", "denied"]);
}

/// What is decided with a script as the program of that setting. The script finds the digest in `$digest`.
fn with_program(setting: &str, script: &str) -> String {
    with_program_about(ASKED, setting, script)
}

fn with_program_about(command: &str, setting: &str, script: &str) -> String {
    let home = Home::new();
    let find = "read -r question\ndigest=${question#*digest\\\":\\\"}; digest=${digest%%\\\"*}";
    home.write("program", format!("#!/bin/sh\n{find}\n{script}\n"));
    home.chmod("program", 0o700);
    let program = home.path().join("program");
    let config =
        format!("[approval]\nmode = \"smart\"\ntimeout = \"3s\"\n{setting} = [\"{}\"]\n", program.display());
    home.write("cofferdam/config.toml", config);
    home.chmod("cofferdam", 0o700);
    decided(&ask(&home, &[command]).run())
}

fn notified(script: &str) -> String {
    with_program("notify", script)
}

#[test]
fn req_a04_a_second_opinion_can_say_no_and_yes_only_where_the_rule_lets_it() {
    let said = |words: &str| format!("printf '{{\"digest\":\"%s\",{words}}}' \"$digest\"");
    let opinion = |script: &str| with_program("second_opinion", script);
    assert_eq!(opinion(&said("\"opinion\":\"deny\",\"comment\":\"no\"")), "second-opinion");
    // Nobody is there to be asked, which shows that somebody would have been.
    for script in [
        said("\"opinion\":\"allow\""),
        said("\"opinion\":\"ask\""),
        said("\"opinion\":\"deny\"").replace("%s", "0000"),
        format!("{}; exit 1", said("\"opinion\":\"deny\"")),
        "echo DENY".to_owned(),
        "sleep 100".to_owned(),
    ] {
        assert_eq!(opinion(&script), "nobody-asked", "{script}");
    }
    // A rule that is marked, a yes without the digest, and a marked rule beside one that is not.
    let yes = said("\"opinion\":\"allow\"");
    let about = |command: &str, script: &str| with_program_about(command, "second_opinion", script);
    assert_eq!(about("npx -y some-unknown-package", &yes), "approved");
    assert_eq!(about("npx -y some-unknown-package", &yes.replace("%s", "0000")), "nobody-asked");
    assert_eq!(about("npx -y some-unknown-package; git push --force", &yes), "nobody-asked");
}

#[test]
fn req_a03_a_program_that_asks_must_say_yes_to_this_very_question() {
    let yes = "printf '{\"digest\":\"%s\",\"answer\":\"allow\"}' \"$digest\"";
    assert_eq!(notified(yes), "approved");
    assert_eq!(
        notified("printf '{\"digest\":\"%s\",\"answer\":\"deny\",\"comment\":\"no\"}' \"$digest\""),
        "denied"
    );
    for broken in [
        "exit 0".to_owned(),
        "echo yes".to_owned(),
        format!("{yes}; exit 1"),
        format!("{yes}; kill -9 $$"),
        format!("{yes}; {yes}"),
        "printf '{\"digest\":\"0000\",\"answer\":\"allow\"}'".to_owned(),
        "printf '{\"answer\":\"allow\"}'".to_owned(),
        "printf '{\"digest\":\"%s\",\"answer\":\"allow\",\"scope\":\"forever\"}' \"$digest\"".to_owned(),
        "while :; do echo x; done".to_owned(),
    ] {
        assert_eq!(notified(&broken), "nobody-asked", "{broken}");
    }
    assert_eq!(notified("sleep 100"), "expired");
    assert_eq!(notified("printf '{\"digest\":\"%s\",\"answer\":\"later\"}' \"$digest\""), "expired");
}

#[test]
fn req_a03_a_program_that_is_not_there_asks_nobody() {
    let home = home("[approval]\nnotify = [\"/nowhere/notify\"]\n");
    assert_eq!(decided(&ask(&home, &[ASKED]).run()), "nobody-asked");
}

#[test]
fn req_a09_every_decision_is_in_the_record_and_no_key_is() {
    let home = home("");
    let key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijklmnopqrstuv-AAAAAAAA";
    let command = format!("{ASKED} https://u:{key}@example.com/x");
    let waiter = Waiting::start(&home, &["--session-kind", "gateway", "--session", "chat", &command]);
    let id = waiting(&home, 1).remove(0);
    assert_eq!(answer(&home, &["allow", &id]).0, 0);
    let (status, json) = waiter.finish();
    assert_eq!(status, 0);
    let record = call(&home, &["audit", "tail", "--json"]).run().expect_status(0).stdout();
    for part in [
        "\"approval-requested\"",
        "\"approval-decided\"",
        "git-force-push",
        "\"once\"",
        &field(&json, "digest"),
        "\"milliseconds\"",
        "chat",
    ] {
        assert!(record.contains(part), "{part}:\n{record}");
    }
    assert!(!record.contains(key), "{record}");
    call(&home, &["audit", "verify"]).run().expect_status(0);
}

#[test]
fn req_a03_without_a_record_there_is_no_yes() {
    let home = home("[approval]\nmode = \"off\"\n");
    assert_eq!(decided(&ask(&home, &[ASKED]).run()), "approved");
    home.chmod("cofferdam/state/audit", 0o755);
    ask(&home, &[ASKED]).run().expect_status(69);
}

#[test]
fn req_a14_questions_and_answers_are_for_this_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = home("");
    let waiter = gateway(&home, "s");
    let id = waiting(&home, 1).remove(0);
    for name in ["", "/pending", "/answers", "/settled", &format!("/pending/{id}.json")] {
        let path = home.path().join(format!("cofferdam/state/approvals{name}"));
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{}", path.display());
    }
    home.chmod("cofferdam/state/approvals/answers", 0o777);
    assert_eq!(answer(&home, &["allow", &id]).0, 69, "what lies open to others is not used");
    home.chmod("cofferdam/state/approvals/answers", 0o700);
    assert_eq!(answer(&home, &["deny", &id]).0, 0);
    assert_eq!(waiter.decided(), "denied");
}

#[test]
fn req_a02_one_terminal_shows_one_question_at_a_time() {
    let home = home("");
    let one = format!("{} approvals ask --json --session", asking::COFFERDAM);
    let script = format!("{one} one '{ASKED} one' & {one} two '{ASKED} two' & wait");
    let mut person = AtTerminal::script(&home, &script);
    waiting(&home, 2);
    person.see("[n]: ");
    assert_eq!(person.screen.matches("[n]: ").count(), 1, "{}", person.screen);
    let (first, second) = if person.screen.contains("--force one") { ("one", "two") } else { ("two", "one") };
    assert!(!person.screen.contains(&format!("--force {second}")), "{}", person.screen);
    person.screen.clear();
    person.type_line("y");
    person.see("[n]: ");
    assert!(person.screen.contains(&format!("--force {second}")), "{}", person.screen);
    person.type_line("n");
    let (_, json) = person.finish();
    let (yes, no) = (json.matches("approved").count(), json.matches("denied").count());
    assert_eq!((yes, no), (1, 1), "{first}: {json}");
}

#[test]
fn req_a14_nobody_inside_a_sandbox_can_answer() {
    let home = home("");
    home.write("project/README", "a project");
    let waiter = gateway(&home, "s");
    let id = waiting(&home, 1).remove(0);
    let program =
        std::path::Path::new(asking::COFFERDAM).parent().and_then(|at| at.to_str()).expect("a plain path");
    let answer_inside = ["--", asking::COFFERDAM, "approvals", "allow", &id];
    let mut words = vec!["run", "--workspace", "project", "--read", program];
    words.extend(answer_inside);
    let inside = call(&home, &words).run();
    // It was started, and found nothing to answer.
    assert!(![0, 125, 126, 127].contains(&inside.status()), "{}{}", inside.stdout(), inside.stderr());
    assert_eq!(answer(&home, &["deny", &id]).0, 0, "it still waits");
    assert_eq!(waiter.decided(), "denied");
}
