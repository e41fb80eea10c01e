//! What is enforced is told, and what cannot be enforced starts nothing.

use cofferdam_testkit::{Cofferdam, Home};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// Every layer that a sandbox has, as the report names it.
const LAYERS: [&str; 7] =
    ["namespaces", "keyring", "network", "files", "capabilities", "landlock", "seccomp"];

#[test]
fn req_i04_the_report_names_every_layer() {
    let home = Home::new();
    std::fs::create_dir(home.path().join("project")).unwrap();
    let report = home.path().join("report.json");
    Cofferdam::new(BINARY, &home)
        .current_dir(&home.path().join("project"))
        .args(["run", "--report"])
        .arg(&report)
        .args(["--", "sh", "-c", "exit 7"])
        .run()
        .expect_status(7);
    let report = std::fs::read_to_string(report).unwrap();
    for layer in LAYERS {
        assert!(report.contains(&format!("\"name\": \"{layer}\"")), "{layer} is not in\n{report}");
    }
    assert!(report.contains("\"cause\": \"exited\"") && report.contains("\"status\": 7"), "{report}");
}

#[test]
fn req_i05_doctor_tries_every_layer_and_leaves_nothing_behind() {
    let home = Home::new();
    let doctor = |args: &[&str]| {
        Cofferdam::new(BINARY, &home).env("TMPDIR", home.path()).arg("doctor").args(args).run()
    };
    let table = doctor(&[]).expect_status(0).stdout();
    let json = doctor(&["--json"]).expect_status(0).stdout();
    for layer in LAYERS {
        assert!(table.lines().any(|line| line.starts_with(layer) && line.contains("works")), "{table}");
        assert!(json.contains(&format!("\"name\": \"{layer}\"")), "{json}");
    }
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

/// A process in a user namespace whose own limit is none cannot make another.
fn without_namespaces(home: &Home, args: &[&str]) -> cofferdam_testkit::Outcome {
    let script = "echo 0 >/proc/sys/user/max_user_namespaces; exec \"$@\"";
    Cofferdam::new("/usr/bin/unshare", home)
        .current_dir(&home.path().join("project"))
        .args(["--user", "--map-root-user", "sh", "-c", script, "sh", BINARY])
        .args(args)
        .run()
}

#[test]
fn req_i04_where_namespaces_are_refused_nothing_starts_and_the_cause_is_named() {
    let home = Home::new();
    std::fs::create_dir(home.path().join("project")).unwrap();
    let outcome = without_namespaces(&home, &["run", "--", "touch", "made"]).expect_status(125);
    assert!(outcome.stderr().contains("user.max_user_namespaces=15000"), "{}", outcome.stderr());
    assert!(!home.path().join("project/made").exists());
    let doctor = without_namespaces(&home, &["doctor"]).expect_status(1);
    assert!(doctor.stdout().contains("user.max_user_namespaces=15000"), "{}", doctor.stdout());
}
