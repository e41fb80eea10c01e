//! The shim when privileges cannot be dropped: 126, a remedy, and nothing that ran as root.

mod shimmed;

use cofferdam_testkit::Outcome;
use cofferdam_testkit::container::{Container, Engine, ImageTree, Kind, can_have_containers};
use shimmed::{in_each_engine, in_podman, install, tree};

/// 126, two lines, and the tool has not run.
#[track_caller]
fn assert_refused(outcome: Outcome, words: &str) {
    let outcome = outcome.expect_status(126);
    let told = outcome.stderr();
    assert!(told.contains(words), "{told}");
    assert!(told.contains("cofferdam: ") && told.contains("\nhint: "), "{told}");
    assert_eq!(outcome.stdout(), "");
}

fn configured(tree: &ImageTree, tool: &str, text: &str) {
    tree.copy(&tree.path().join("usr/local/bin/hermes"), &format!("usr/local/bin/{tool}"));
    tree.write(&format!("etc/cofferdam/shim/{tool}"), text, 0o644);
}

#[test]
fn req_p04_without_the_capability_nothing_runs() {
    if !can_have_containers() {
        return;
    }
    let without = |options: &[&str]| {
        in_each_engine(&tree(), options, |container| {
            assert_refused(
                container.exec(&[], &["hermes"]),
                "privileges cannot be dropped to the user hermes",
            );
            // Not root by accident, but by someone's word.
            let kept =
                container.exec(&["--env", "HERMES_KEEP_ROOT=1"], &["hermes"]).expect_status(0).stdout();
            assert!(kept.starts_with("uid=0"), "{kept}");
        });
    };
    without(&["--cap-drop", "ALL"]);
    without(&["--cap-drop", "SETUID"]);
}

#[test]
fn req_p04_a_user_that_is_not_mapped_is_refused() {
    if !can_have_containers() {
        return;
    }
    let rootless = Engine::start(Kind::RootlessPodman);
    rootless.import(&tree(), "cofferdam-test/shimmed", &[]);
    let container = rootless.container(&[], "cofferdam-test/shimmed");
    assert_refused(container.exec(&[], &["hermes"]), "privileges cannot be dropped to the user hermes");
    drop(container);
    let mapped = ["--uidmap", "0:100000:900", "--gidmap", "0:100000:2000"];
    let tree = tree();
    tree.chown("home/hermes", 0);
    in_podman(&tree, &mapped, |container| {
        assert_refused(container.exec(&[], &["hermes"]), "could not set the user: not a valid value here");
    });
}

#[test]
fn req_p04_a_user_that_is_not_there_or_is_root_is_refused() {
    if !can_have_containers() {
        return;
    }
    let tree = tree();
    for (tool, user) in
        [("nobody-known", "ghost"), ("roots", "root"), ("roots-too", "second-root"), ("zero", "0")]
    {
        configured(&tree, tool, &format!("user={user}\ntarget=/opt/hermes/bin/hermes\n"));
    }
    in_podman(&tree, &[], |container| {
        assert_refused(container.exec(&[], &["nobody-known"]), "no such user");
        for tool in ["roots", "roots-too", "zero"] {
            assert_refused(container.exec(&[], &[tool]), "is root");
        }
    });
}

#[test]
fn req_p04_a_configuration_that_is_missing_wrong_or_not_roots_is_refused() {
    if !can_have_containers() {
        return;
    }
    let tree = tree();
    let right = "user=hermes\ntarget=/opt/hermes/bin/hermes\n";
    configured(&tree, "writable", right);
    tree.chmod("etc/cofferdam/shim/writable", 0o666);
    configured(&tree, "groups", right);
    tree.chmod("etc/cofferdam/shim/groups", 0o664);
    configured(&tree, "theirs", right);
    tree.chown("etc/cofferdam/shim/theirs", 1000);
    configured(&tree, "unknown-key", &format!("{right}users=x\n"));
    configured(&tree, "relative", "user=hermes\ntarget=hermes\n");
    tree.copy(&tree.path().join("usr/local/bin/hermes"), "usr/local/bin/without");
    tree.copy(&tree.path().join("usr/local/bin/hermes"), "usr/local/bin/linked");
    tree.link("etc/cofferdam/shim/linked", "hermes");
    in_podman(&tree, &[], |container| {
        for tool in ["writable", "groups", "theirs"] {
            assert_refused(container.exec(&[], &[tool]), "somebody other than root can change");
        }
        assert_refused(container.exec(&[], &["unknown-key"]), "a setting that is not known");
        assert_refused(container.exec(&[], &["relative"]), "absolute path");
        assert_refused(container.exec(&[], &["without"]), "cannot be read: not found");
        assert_refused(container.exec(&[], &["linked"]), "a symbolic link");
        container.exec(&[], &["chmod", "777", "/etc/cofferdam/shim"]).expect_status(0);
        assert_refused(container.exec(&[], &["hermes"]), "somebody other than root can change");
    });
}

#[test]
fn req_p05_the_shim_is_never_its_own_target() {
    if !can_have_containers() {
        return;
    }
    let tree = tree();
    tree.link("opt/link-to-shim", "/usr/local/bin/hermes");
    tree.link("opt/link-to-link", "link-to-shim");
    for (tool, target) in [
        ("itself", "/usr/local/bin/itself"),
        ("linked", "/opt/link-to-link"),
        ("copy", "/usr/local/bin/as-hermes-sh"),
        ("dotted", "/usr/local/../local/bin/./dotted"),
    ] {
        configured(&tree, tool, &format!("user=hermes\ntarget={target}\n"));
    }
    in_podman(&tree, &[], |container| {
        let refused = |options: &[&str], tool: &str| {
            assert_refused(container.exec(options, &[tool]), "is the shim itself");
        };
        for tool in ["itself", "linked", "copy", "dotted"] {
            refused(&[], tool);
            refused(&["--user", "1000:1001"], tool);
        }
    });
}

#[test]
fn req_p05_a_tool_that_cannot_be_started_has_the_status_of_a_shell() {
    if !can_have_containers() {
        return;
    }
    let tree = tree();
    tree.write("opt/not-executable", "x", 0o644);
    tree.write("opt/no-interpreter", "#!/nowhere\n", 0o755);
    for (tool, target) in
        [("gone", "/opt/gone"), ("plain", "/opt/not-executable"), ("lost", "/opt/no-interpreter")]
    {
        configured(&tree, tool, &format!("user=hermes\ntarget={target}\n"));
    }
    configured(&tree, "directory", "user=hermes\ntarget=/opt\n");
    in_podman(&tree, &[], |container: &Container<'_>| {
        container.exec(&[], &["gone"]).expect_status(127);
        container.exec(&[], &["lost"]).expect_status(127);
        container.exec(&[], &["plain"]).expect_status(126);
        container.exec(&[], &["directory"]).expect_status(126);
    });
}

#[test]
fn req_p05_installing_refuses_what_could_not_work() {
    let tree = ImageTree::new();
    tree.write("opt/tool", "#!/bin/sh\n", 0o755);
    tree.write("usr/local/bin/real", "#!/bin/sh\n", 0o755);
    let refused = |tool: &str, target: &str, more: &[&str], words: &str| {
        let told = install(&tree, tool, target, more).expect_status(69).stderr();
        assert!(told.contains(words) && told.contains("\nhint: "), "{told}");
    };
    refused("tool", "/opt/gone", &[], "no tool at /opt/gone");
    refused("tool", "opt/tool", &[], "not an absolute path");
    refused("real", "/usr/local/bin/real", &[], "where the shim would go");
    refused("real", "/opt/tool", &[], "something else at /usr/local/bin/real");
    refused("../tool", "/opt/tool", &[], "not the name of a tool");
    refused("tool", "/opt/tool", &["--umask", "9"], "octal");
    install(&tree, "tool", "/opt/tool", &["--umask", "027"]).expect_status(0);
    // Again is fine: it is the shim that is replaced.
    install(&tree, "tool", "/opt/tool", &[]).expect_status(0);
    tree.link("opt/out", "../../../../../../etc/hostname");
    refused("out", "/opt/out", &[], "no tool at");
}
