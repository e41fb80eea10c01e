//! What takes longer than half a second is shown to a person at a terminal, and to nobody else.

use cofferdam_testkit::{Cofferdam, Home, OnTerminal};

const CLEAR: &str = "\r\u{1b}[K";

/// A home with a credential whose source answers when a file is there.
fn slow_source() -> Home {
    let home = Home::new();
    home.write(
        "source",
        "#!/bin/sh\nwhile ! [ -e \"$HOME/go\" ]; do sleep 0.05; done\necho a-key-of-some-length\n",
    );
    home.chmod("source", 0o700);
    let source = home.path().join("source").display().to_string();
    let config = format!(
        "[[provider]]\nname = \"acme\"\nhosts = [\"api.acme.test\"]\nvariables = [\"ACME_API_KEY\"]\n\
         scheme = {{ header = \"x-api-key\" }}\nsecret = {{ command = [\"{source}\"], timeout = \"60s\" }}\n"
    );
    home.write("cofferdam/config.toml", config);
    home
}

fn check(home: &Home) -> Cofferdam {
    Cofferdam::new(env!("CARGO_BIN_EXE_cofferdam"), home).args(["secrets", "check", "acme"])
}

/// Lets the source answer once a person has seen these words, and gives all that the terminal got.
fn seen(home: &Home, mut program: OnTerminal, words: &[&str]) -> String {
    let mut shown: String = words.iter().map(|word| program.until(word)).collect();
    home.write("go", "");
    let (status, rest) = program.end();
    shown.push_str(&rest);
    assert_eq!(status, 0, "{shown}");
    shown
}

#[test]
fn a_slow_source_is_waited_for_with_a_line_that_moves_and_is_gone_at_the_end() {
    let home = slow_source();
    // Two pictures, and the second has taken the place of the first.
    let shown =
        seen(&home, check(&home).on_terminal(), &["| reading credentials", CLEAR, "/ reading credentials"]);
    let (during, after) = shown.rsplit_once(CLEAR).expect("the line is cleared");
    assert!(during.ends_with(" s") && !during.contains('\n'), "{during:?}");
    assert!(after.starts_with("ok: acme") && !after.contains('\u{1b}'), "{after:?}");
    assert!(!shown.contains("\u{1b}[3") && !shown.contains("\u{1b}[1"), "no colour in it: {shown:?}");
}

#[test]
fn a_terminal_that_cannot_go_back_in_a_line_gets_one_plain_line() {
    let home = slow_source();
    let shown =
        seen(&home, check(&home).env("TERM", "dumb").on_terminal(), &["cofferdam: reading credentials\r\n"]);
    assert!(!shown.contains('\u{1b}') && shown.matches("reading").count() == 1, "{shown:?}");
}

#[test]
fn nothing_of_it_goes_into_a_pipe() {
    let home = slow_source();
    home.write("source", "#!/bin/sh\nsleep 1\necho a-key-of-some-length\n");
    home.chmod("source", 0o700);
    assert_eq!(check(&home).run().expect_status(0).stderr(), "");
}

#[test]
fn who_waits_for_an_approval_sees_that() {
    let home = slow_source();
    let answer = "#!/bin/sh\nwhile ! [ -e \"$HOME/go\" ]; do sleep 0.05; done\n\
        sed -E 's/.*\"digest\":\"([^\"]*)\".*/{\"answer\": \"allow\", \"digest\": \"\\1\"}/'\n";
    home.write("messenger", answer);
    home.chmod("messenger", 0o700);
    let messenger = home.path().join("messenger").display().to_string();
    home.write("cofferdam/config.toml", format!("[approval]\nnotify = [\"{messenger}\"]\n"));
    let ask = Cofferdam::new(env!("CARGO_BIN_EXE_cofferdam"), &home);
    let ask = ask.args(["approvals", "ask", "--session-kind", "gateway", "rm -rf ./build"]);
    let shown = seen(&home, ask.on_terminal(), &["waiting for an approval"]);
    assert!(shown.ends_with(&format!("{CLEAR}approved\r\n")), "{shown:?}");
}
