//! The shim in real containers: root's call becomes the user's, and anybody else's stays what it is.

mod shimmed;

use cofferdam_testkit::container::can_have_containers;
use shimmed::{in_each_engine, in_podman, tree};

const ROOTS_REPORT: &str = "uid=0 gid=0";
const HERMES_REPORT: &str = "uid=1000 gid=1001 groups=1001 29 1500";

#[test]
fn req_p01_what_root_writes_through_the_shim_is_the_services() {
    if !can_have_containers() {
        return;
    }
    in_each_engine(&tree(), &[], |container| {
        let script = "mkdir -p /home/hermes/state/deep; echo x > /home/hermes/state/deep/file; \
                      ln -s file /home/hermes/state/deep/link; : > /home/hermes/state/empty";
        container.exec(&[], &["as-hermes-sh", "-c", script]).expect_status(0);
        let found = container
            .exec(&[], &["find", "/home/hermes/state", "-exec", "stat", "-c", "%u:%g %n", "{}", ";"]);
        let listing = found.expect_status(0).stdout();
        assert_eq!(listing.lines().count(), 5, "{listing}");
        assert!(listing.lines().all(|line| line.starts_with("1000:1001 ")), "{listing}");
        // The twin: without the shim they are root's.
        container.exec(&[], &["sh", "-c", "echo x > /home/hermes/state/roots"]).expect_status(0);
        let owner = container.exec(&[], &["stat", "-c", "%u", "/home/hermes/state/roots"]).stdout();
        assert_eq!(owner.trim(), "0");
        let mine = container.exec(&["--user", "1000:1001"], &["cat", "/home/hermes/state/deep/file"]);
        assert_eq!(mine.expect_status(0).stdout(), "x\n");
    });
}

#[test]
fn req_p01_root_becomes_the_user_with_everything_that_belongs_to_it() {
    if !can_have_containers() {
        return;
    }
    in_each_engine(&tree(), &[], |container| {
        let report = container.exec(&[], &["hermes"]).expect_status(0).stdout();
        assert!(report.starts_with(HERMES_REPORT), "{report}");
        assert!(
            report.contains("home=/home/hermes user=hermes logname=hermes shell=/bin/sh umask=0022"),
            "{report}"
        );
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert!(report.contains(&format!("{set}:\t0000000000000000")), "{set}: {report}");
        }
        assert!(report.contains("NoNewPrivs:\t1"), "{report}");
        assert!(report.contains("Uid:\t1000\t1000\t1000\t1000"), "{report}");
        assert!(report.contains("Gid:\t1001\t1001\t1001\t1001"), "{report}");
        // Not the shim: root has capabilities there.
        let direct = container.exec(&[], &["/opt/hermes/bin/hermes"]).expect_status(0).stdout();
        assert!(
            direct.starts_with(ROOTS_REPORT) && !direct.contains("CapEff:\t0000000000000000"),
            "{direct}"
        );
    });
}

#[test]
fn req_p02_anybody_else_passes_straight_through_unchanged() {
    if !can_have_containers() {
        return;
    }
    in_each_engine(&tree(), &[], |container| {
        for user in [&["--user", "1002:1002"][..], &["--user", "1000:44"], &["--user", "777:0"]] {
            let facts = |tool: &str| container.exec(user, &[tool, "one", "two"]).expect_status(0).stdout();
            let (through, direct) = (facts("hermes"), facts("/opt/hermes/bin/hermes"));
            assert_eq!(through, direct, "{user:?}");
            assert!(through.contains("NoNewPrivs:\t0"), "{through}");
        }
    });
}

#[test]
fn req_p02_a_set_user_id_bit_on_the_shim_makes_nobody_root() {
    if !can_have_containers() {
        return;
    }
    let tree = tree();
    tree.chmod("usr/local/bin/hermes", 0o6755);
    in_podman(&tree, &[], |container| {
        let report = container.exec(&["--user", "1002:1002"], &["hermes"]).expect_status(0).stdout();
        assert!(report.contains("Uid:\t1002\t1002\t1002\t1002"), "{report}");
        assert!(report.contains("Gid:\t1002\t1002\t1002\t1002"), "{report}");
    });
}

#[test]
fn req_p03_only_three_words_keep_root() {
    if !can_have_containers() {
        return;
    }
    let yes = ["1", "true", "TRUE", "True", "tRUE", "yes", "YES", "Yes", "yEs"];
    let no = [
        "", "0", "false", "FALSE", "no", "No", "2", "garbage", "on", "y", " 1", "1 ", "true ", "11", "yes\n",
        "-1",
    ];
    in_each_engine(&tree(), &[], |container| {
        let report = |value: &str| {
            let variable = format!("HERMES_KEEP_ROOT={value}");
            container.exec(&["--env", &variable], &["hermes"]).expect_status(0).stdout()
        };
        for value in yes {
            assert!(report(value).starts_with(ROOTS_REPORT), "{value:?} keeps root");
        }
        for value in no {
            assert!(report(value).starts_with(HERMES_REPORT), "{value:?} does not");
        }
        // Another variable, and a tool without an opt-out, keep nothing.
        let other = container.exec(&["--env", "KEEP_ROOT=1"], &["hermes"]).expect_status(0).stdout();
        assert!(other.starts_with(HERMES_REPORT), "{other}");
        let without = container.exec(&["--env", "HERMES_KEEP_ROOT=1"], &["as-hermes-sh", "-c", "id -u"]);
        assert_eq!(without.expect_status(0).stdout(), "1000\n");
    });
}

#[test]
fn req_p05_in_a_container_without_new_privileges_the_drop_still_works() {
    if !can_have_containers() {
        return;
    }
    in_each_engine(&tree(), &["--security-opt", "no-new-privileges"], |container| {
        let report = container.exec(&[], &["hermes"]).expect_status(0).stdout();
        assert!(report.starts_with(HERMES_REPORT), "{report}");
    });
}

#[test]
fn req_p05_set_user_id_bits_give_nothing_back() {
    if !can_have_containers() {
        return;
    }
    let tree = tree();
    // An applet that does not work without its bit, and says so.
    tree.copy(&tree.path().join("bin/busybox"), "opt/real/crontab");
    tree.chmod("opt/real/crontab", 0o4755);
    shimmed::install(&tree, "as-hermes-crontab", "/opt/real/crontab", &[]).expect_status(0);
    in_podman(&tree, &[], |container| {
        let through = container.exec(&[], &["as-hermes-crontab", "-l"]);
        assert!(through.stderr().contains("must be suid"), "{}", through.stderr());
        // The twin: without the shim the bit works, and another thing is missing.
        let direct = container.exec(&["--user", "1000:1001"], &["/opt/real/crontab", "-l"]);
        assert!(!direct.stderr().contains("must be suid") && direct.status() != 0, "{}", direct.stderr());
    });
}
