//! A04 to A08, A15: which session, in which mode, with which verdict, leads to what.

#[expect(dead_code, reason = "shared with the tests of answers")]
mod asking;

use asking::{ASKED, AtTerminal, ask, call, decided, home};

/// Every kind, mode and backend through the binary. Where a person would be asked there is none, and that is said.
#[test]
fn req_a04_the_binary_goes_by_the_table() {
    for (mode, unattended) in
        [("manual", "deny"), ("smart", "deny"), ("off", "deny"), ("off", "allow"), ("manual", "allow")]
    {
        let config = format!(
            "[approval]\nmode = \"{mode}\"\ntimeout = \"1s\"\ncron = \"{unattended}\"\nheadless = \"{unattended}\"\n"
        );
        let home = home(&config);
        for kind in ["interactive", "gateway", "cron", "headless"] {
            for isolated in [false, true] {
                let mut args = vec!["--session-kind", kind];
                args.extend(isolated.then_some("--isolated"));
                let expected = match (kind, mode) {
                    ("interactive" | "gateway", "off") => "approved",
                    ("interactive", _) => "nobody-asked",
                    ("gateway", _) => "expired",
                    (_, "off") if isolated || unattended == "allow" => "approved",
                    _ => "unattended",
                };
                let case = format!("{kind} {mode} {unattended} {isolated}");
                assert_eq!(decided(&ask(&home, &args).arg(ASKED).run()), expected, "{case}");
                assert_eq!(decided(&ask(&home, &args).arg("ls -l").run()), "approved", "{case}");
                assert_eq!(decided(&ask(&home, &args).arg("rm -rf /").run()), "never-allowed", "{case}");
            }
        }
    }
}

#[test]
fn req_a05_nothing_that_is_stored_lifts_the_floor() {
    let home = home("[approval]\nmode = \"off\"\n");
    home.write(
        "cofferdam/approvals.toml",
        "[[allow]]\nid = \"a\"\nsession = \"interactive\"\ncommand = \"rm -rf /\"\ndirectory = \"/\"\n\n\
         [[allow]]\nid = \"b\"\nsession = \"interactive\"\nrule = \"delete-system\"\n",
    );
    assert_eq!(decided(&ask(&home, &["--directory", "/", "rm -rf /"]).run()), "never-allowed");
    assert_eq!(decided(&ask(&home, &["mkfs.ext4 /dev/sda1"]).run()), "never-allowed");
}

#[test]
fn req_a06_an_unattended_session_runs_what_a_rule_names_and_nothing_beside_it() {
    let home = home("");
    home.write(
        "cofferdam/approvals.toml",
        "[[allow]]\nid = \"n\"\nsession = \"cron\"\nrule = \"git-force-push\"\n",
    );
    assert_eq!(decided(&ask(&home, &["--session-kind", "cron", ASKED]).run()), "approved");
    assert_eq!(decided(&ask(&home, &["--session-kind", "headless", ASKED]).run()), "unattended");
    let both = format!("{ASKED}; sudo reboot-later");
    assert_eq!(decided(&ask(&home, &["--session-kind", "cron", &both]).run()), "unattended");
}

#[test]
fn req_a07_always_is_a_rule_that_covers_what_was_shown_and_can_be_taken_back() {
    let home = home("");
    let mut person = AtTerminal::start(&home, &["approvals", "ask", "--json", ASKED]);
    person.see("[n]: ");
    person.type_line("a");
    assert_eq!(person.finish().0, 0);

    assert_eq!(decided(&ask(&home, &[ASKED]).run()), "approved");
    assert_eq!(decided(&ask(&home, &["git  push '--force'"]).run()), "approved");
    for other in [
        "git push --force origin",
        "git push --force; id",
        "git push --force && git push --force",
        "sudo git push --force",
    ] {
        assert_eq!(decided(&ask(&home, &[other]).run()), "nobody-asked", "{other}");
    }
    assert_eq!(decided(&ask(&home, &["--directory", "/tmp", ASKED]).run()), "nobody-asked");
    assert_eq!(decided(&ask(&home, &["--session-kind", "cron", ASKED]).run()), "unattended");

    let text = home.read("cofferdam/approvals.toml");
    assert!(
        text.contains("command = \"git push --force\"") && text.contains("session = \"interactive\""),
        "{text}"
    );
    home.write(
        "cofferdam/approvals.toml",
        format!("# mine\n{text}\n[[deny]]\nid = \"d\"\nprogram = \"terraform\"\n"),
    );
    let id = text.split("id = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap().to_owned();
    call(&home, &["approvals", "list"]).run().expect_status(0).stdout().find(&id).expect("it is listed");
    call(&home, &["approvals", "revoke", &id]).run().expect_status(0);
    assert_eq!(decided(&ask(&home, &[ASKED]).run()), "nobody-asked");
    let text = home.read("cofferdam/approvals.toml");
    assert!(text.starts_with("# mine\n") && text.contains("terraform") && !text.contains("push"), "{text}");
    let again = call(&home, &["approvals", "revoke", &id]).run().expect_status(1).stderr();
    assert!(again.contains("nothing was changed"), "{again}");
}

#[test]
fn req_a07_a_file_with_a_mistake_is_reported_and_approves_nothing() {
    let home = home("[approval]\nmode = \"off\"\n");
    home.write("cofferdam/approvals.toml", "[[allow]]\nid = \"a\"\nsession = \"interactive\"\nprefix = \"git\"\n[[deny]]\nid = \"b\"\nrule = \"git-force-pusch\"\n");
    let told = ask(&home, &[ASKED]).run().expect_status(78).stderr();
    assert!(told.contains("approvals.toml:4:") && told.contains("prefix"), "{told}");
    assert!(told.contains("approvals.toml:7:") && told.contains("git-force-push"), "{told}");
    home.write("cofferdam/approvals.toml", "");
    home.chmod("cofferdam/approvals.toml", 0o666);
    let told = ask(&home, &[ASKED]).run().expect_status(78).stderr();
    assert!(told.contains("can be changed by other users"), "{told}");
}

#[test]
fn req_a14_a_deny_rule_holds_in_every_mode_and_behind_every_wrapper() {
    let home = home("[approval]\nmode = \"off\"\n");
    let command = "terraform destroy";
    assert_eq!(decided(&ask(&home, &[command]).run()), "approved", "without the rule it runs");
    home.write(
        "cofferdam/approvals.toml",
        "[[deny]]\nid = \"d\"\nprogram = \"terraform\"\narguments = [\"destroy\"]\n",
    );
    for spelling in [
        command,
        "sudo terraform destroy -auto-approve",
        "bash -c 'cd x && terraform destroy'",
        "env A=1 timeout 5 /usr/bin/terraform destroy",
        "x=destroy; terraform $x",
    ] {
        assert_eq!(decided(&ask(&home, &[spelling]).run()), "ruled-out", "{spelling}");
    }
    for other in ["terraform plan", "git commit -m 'terraform destroy'"] {
        assert_eq!(decided(&ask(&home, &[other]).run()), "approved", "{other}");
    }
}

#[test]
fn req_a08_a_mode_that_asks_where_nobody_can_answer_is_pointed_out() {
    let manual = home("");
    assert!(ask(&manual, &["ls"]).run().stderr().contains("nobody can be asked here"));
    let off = home("[approval]\nmode = \"off\"\n");
    assert!(!ask(&off, &["ls"]).run().stderr().contains("nobody can be asked"));
    let told = home("[approval]\nnotify = [\"/bin/true\"]\n");
    assert!(!ask(&told, &["ls"]).run().stderr().contains("nobody can be asked"));
    assert!(
        !ask(&manual, &["--session-kind", "gateway", "ls"]).run().stderr().contains("nobody can be asked")
    );
}

#[test]
fn req_a15_a_script_is_approved_as_it_is_and_not_as_it_becomes() {
    let home = home("");
    home.write("deploy.sh", "echo one\n");
    let command = "sudo bash deploy.sh";
    let mut person = AtTerminal::start(&home, &["approvals", "ask", command]);
    person.see("[n]: ");
    person.type_line("a");
    assert_eq!(person.finish().0, 0);
    assert_eq!(decided(&ask(&home, &[command]).run()), "approved");
    home.write("deploy.sh", "echo two\n");
    assert_eq!(decided(&ask(&home, &[command]).run()), "nobody-asked");
    home.write("deploy.sh", "echo one\n");
    assert_eq!(decided(&ask(&home, &[command]).run()), "approved");
}
