//! What goes through the shim untouched: arguments, terminal, signals, status, descriptors.

mod shimmed;

use std::io::Read;

use cofferdam_testkit::container::can_have_containers;
use cofferdam_testkit::processes::wait_until;
use shimmed::{in_each_engine, in_podman, tree};

#[test]
fn req_p05_arguments_and_status_pass_through() {
    if !can_have_containers() {
        return;
    }
    in_each_engine(&tree(), &[], |container| {
        let words = ["", "-x", "--", "a b", "$HOME", "*", "äöü", "line\nbreak", "'\"\\"];
        let call: Vec<&str> = ["hermes"].into_iter().chain(words).collect();
        let report = container.exec(&[], &call).expect_status(0).stdout();
        let shown: String = words.iter().map(|word| format!("[{word}]\n")).collect();
        assert!(report.ends_with(&shown), "{report}");
        for status in [0, 1, 3, 77, 125, 126, 127, 200, 255] {
            let exit = format!("exit {status}");
            container.exec(&[], &["as-hermes-sh", "-c", &exit]).expect_status(status);
        }
        container.exec(&[], &["as-hermes-sh", "-c", "kill -9 $$"]).expect_status(137);
        let variables = container
            .exec(&["--env", "A=b=c", "--env", "HOME=/root"], &["as-hermes-sh", "-c", "echo $A $HOME"]);
        assert_eq!(variables.expect_status(0).stdout(), "b=c /home/hermes\n");
    });
}

#[test]
fn req_p05_signals_reach_the_tool_itself() {
    if !can_have_containers() {
        return;
    }
    in_podman(&tree(), &[], |container| {
        let script = "trap 'echo got it; exit 9' TERM; echo $$ > /home/hermes/pid; while :; do sleep 1; done";
        let mut running = container.exec_in_background(&[], &["as-hermes-sh", "-c", script]);
        let pid = || container.exec(&[], &["cat", "/home/hermes/pid"]).stdout().trim().to_owned();
        wait_until("the tool says its number", || !pid().is_empty());
        container.exec(&["--user", "1000:1001"], &["kill", "-TERM", &pid()]).expect_status(0);
        let status = running.wait().expect("an end").code();
        let mut told = String::new();
        running.stdout.take().expect("a pipe").read_to_string(&mut told).expect("text");
        assert_eq!((status, told.as_str()), (Some(9), "got it\n"));
    });
}

#[test]
fn req_p05_a_terminal_belongs_to_the_user_and_works() {
    if !can_have_containers() {
        return;
    }
    in_each_engine(&tree(), &[], |container| {
        let script = "test -t 0 && test -t 1 && echo terminal; stat -L -c owner=%u /proc/self/fd/0; \
                      echo opened > /dev/tty; read line; echo \"read:$line\"; exit 5";
        let mut terminal = container.exec_on_terminal(&[], &["as-hermes-sh", "-c", script]);
        terminal.until("terminal");
        terminal.until("owner=1000");
        terminal.until("opened");
        terminal.type_in("typed\r");
        terminal.until("read:typed");
        let (status, _) = terminal.end();
        assert_eq!(status, 5);
    });
}

#[test]
fn req_p05_the_mask_is_the_one_of_the_configuration() {
    if !can_have_containers() {
        return;
    }
    let tree = tree();
    shimmed::install(&tree, "closed-touch", "/opt/real/touch", &["--umask", "0077"]).expect_status(0);
    in_podman(&tree, &[], |container| {
        container.exec(&[], &["closed-touch", "/home/hermes/closed"]).expect_status(0);
        container.exec(&[], &["as-hermes-touch", "/home/hermes/open"]).expect_status(0);
        let modes = container.exec(&[], &["stat", "-c", "%a", "/home/hermes/closed", "/home/hermes/open"]);
        assert_eq!(modes.stdout(), "600\n644\n");
    });
}
