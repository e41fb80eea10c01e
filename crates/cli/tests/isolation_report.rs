//! What is enforced is told, and what cannot be enforced starts nothing.

use cofferdam_testkit::processes::{marker, wait_until, with_argument};
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
    for layer in LAYERS.into_iter().chain(["late-secrets"]) {
        assert!(table.lines().any(|line| line.starts_with(layer) && line.contains("works")), "{table}");
        assert!(json.contains(&format!("\"name\": \"{layer}\"")), "{json}");
    }
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn req_i05_doctor_says_where_secrets_that_appear_are_not_watched_for() {
    let home = Home::new();
    std::fs::create_dir(home.path().join("project")).unwrap();
    let table = with_none_of("max_inotify_instances", &home, &["doctor"]).expect_status(0).stdout();
    assert!(
        table.lines().any(|line| line.starts_with("late-secrets") && line.contains("missing")),
        "{table}"
    );
    assert!(table.contains("hint: sysctl fs.inotify.max_user_instances"), "{table}");
}

/// A process in a user namespace whose own limit is none cannot make another.
fn without_namespaces(home: &Home, args: &[&str]) -> cofferdam_testkit::Outcome {
    with_none_of("max_user_namespaces", home, args)
}

fn with_none_of(limit: &str, home: &Home, args: &[&str]) -> cofferdam_testkit::Outcome {
    let script = format!("echo 0 >/proc/sys/user/{limit}; exec \"$@\"");
    Cofferdam::new("/usr/bin/unshare", home)
        .current_dir(&home.path().join("project"))
        .args(["--user", "--map-root-user", "sh", "-c", &script, "sh", BINARY])
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

#[test]
fn req_i05_the_best_effort_runs_without_namespaces_and_names_what_is_missing() {
    let home = Home::new();
    home.write("project/notes", "here");
    home.write(".ssh/id_ed25519", "a key");
    let report = home.path().join("report.json");
    let script =
        "cat notes; echo more > made; mktemp >/dev/null && echo scratch; cat ../.ssh/id_ed25519; exit 7";
    let words = ["run", "--isolation", "best-effort", "--report", &report.display().to_string()];
    let args: Vec<&str> = words.into_iter().chain(["--", "sh", "-c", script]).collect();
    let outcome = without_namespaces(&home, &args).expect_status(7);
    assert_eq!(outcome.stdout(), "herescratch\n", "{}", outcome.stderr());
    assert!(outcome.stderr().contains("id_ed25519: Permission denied"), "{}", outcome.stderr());
    assert!(outcome.stderr().contains("not enforced: namespaces ("), "{}", outcome.stderr());
    assert!(outcome.stderr().contains("not enforced: files ("), "{}", outcome.stderr());
    assert!(home.path().join("project/made").exists());
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(report).unwrap()).expect("a report");
    let enforced = |name: &str| {
        let layers = report["report"]["layers"].as_array().expect("layers");
        layers.iter().find(|layer| layer["name"] == name).expect("the layer")["enforced"].clone()
    };
    for (layer, expected) in [("namespaces", false), ("files", false), ("landlock", true), ("seccomp", true)]
    {
        assert_eq!(enforced(layer), expected, "{layer} in {report}");
    }
    assert_recorded_as_missing(&home, "command");
}

/// The record of what was started in this way names what was missing; where nothing was, it says so too.
#[track_caller]
fn assert_recorded_as_missing(home: &Home, way: &str) {
    let record = Cofferdam::new(BINARY, home).args(["audit", "tail", "--json"]).run();
    let record = record.expect_status(0).stdout();
    let started = record.lines().find(|line| line.contains(&format!("\"way\":\"{way}\"")));
    let started = started.unwrap_or_else(|| panic!("nothing was started as {way} in\n{record}"));
    let missing = started.split("\"missing\":[").nth(1).and_then(|rest| rest.split(']').next());
    let missing = missing.unwrap_or_else(|| panic!("{started}"));
    for layer in ["user-namespace", "pid-namespace", "mount-namespace"] {
        assert!(missing.contains(layer), "{layer} is not in {missing}");
    }
}

/// A filter that refuses mounts lets the namespaces be made and nothing be done in them, as some security modules do.
const NO_MOUNTS: &str = "
import ctypes, os, platform, struct, sys
number = {'x86_64': 165, 'aarch64': 40}[platform.machine()]
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
";

/// The threads that serve a network are there by the time the walls turn out not to hold; so that is found out before.
#[test]
fn req_i05_i14_the_best_effort_is_made_once_where_namespaces_turn_out_to_be_worth_nothing() {
    let home = Home::new();
    home.write("project/README", "");
    let call = |options: &[&str]| {
        Cofferdam::new("/usr/bin/python3", &home)
            .current_dir(&home.path().join("project"))
            .args(["-c", NO_MOUNTS, BINARY, "run"])
            .args(options)
            .args(["--", "sh", "-c", "echo ran"])
            .run()
    };
    let refused = call(&[]).expect_status(125);
    assert!(refused.stdout().is_empty(), "{}", refused.stdout());
    for network in ["none", "proxy"] {
        let outcome = call(&["--isolation", "best-effort", "--network", network]).expect_status(0);
        assert_eq!(outcome.stdout(), "ran\n", "{}", outcome.stderr());
        assert!(outcome.stderr().contains("not enforced: namespaces ("), "{}", outcome.stderr());
    }
    assert_recorded_as_missing(&home, "command");
}

/// A script stands where nobody can write, which only a tree of its own has; so nothing starts.
#[test]
fn req_i02_i05_a_script_is_refused_without_namespaces() {
    let home = Home::new();
    home.write("project/README", "");
    home.write("cofferdam/config.toml", "[approval]\nmode = \"off\"\n");
    home.chmod("cofferdam", 0o700);
    home.write("script.sh", "touch made\n");
    let script = home.path().join("script.sh").display().to_string();
    let words = ["exec-code", "--isolation", "best-effort", "--network", "none", &script];
    let outcome = without_namespaces(&home, &words).expect_status(125);
    assert!(outcome.stderr().contains("needs namespaces"), "{}", outcome.stderr());
    assert!(!home.path().join("project/made").exists());
}

/// Every process that a command has left behind is gone with it, and nothing else is.
#[test]
fn req_i03_i05_without_namespaces_the_whole_tree_ends() {
    let home = Home::new();
    home.write("project/README", "");
    let (inside, outside) = (marker(), marker());
    let mut bystander = Cofferdam::new("/bin/sleep", &home).arg(&outside).spawn();
    let script = format!("setsid sleep {inside} & (setsid sh -c 'trap \"\" TERM; sleep {inside}' &); exit 3");
    let args = ["run", "--isolation", "best-effort", "--", "sh", "-c", &script];
    without_namespaces(&home, &args).expect_status(3);
    wait_until("the tree is gone", || with_argument(&inside).is_empty());
    assert!(!with_argument(&outside).is_empty(), "another process of the person was ended");
    bystander.kill().expect("it was running");
    bystander.wait().expect("its end");
}

/// A layer cannot be laid over the workspace there, so nothing starts.
#[test]
fn req_i05_what_cannot_be_had_without_namespaces_is_refused() {
    let home = Home::new();
    home.write("project/README", "");
    let args = ["run", "--isolation", "best-effort", "--overlay", "--", "touch", "made"];
    let outcome = without_namespaces(&home, &args).expect_status(125);
    assert!(outcome.stderr().contains("a layer for what is written"), "{}", outcome.stderr());
    assert!(!home.path().join("project/made").exists());
}

#[test]
fn req_i02_i05_a_session_without_namespaces_says_what_is_missing() {
    let home = Home::new();
    home.write("project/.env", "a secret");
    let outcome =
        without_namespaces(&home, &["session", "new", "--name", "bare", "--isolation", "best-effort"]);
    let session = |args: &[&str]| {
        Cofferdam::new(BINARY, &home)
            .current_dir(&home.path().join("project"))
            .arg("session")
            .args(args)
            .run()
    };
    let read = session(&["exec", "bare", "--", "cat", ".env"]);
    let (list, json) = (session(&["list"]).stdout(), session(&["list", "--json"]).stdout());
    session(&["kill", "bare"]);
    assert!(
        list.contains("without files, namespaces") || list.contains("without namespaces, files"),
        "{list}"
    );
    assert!(json.contains("\"namespaces\""), "{json}");
    assert_recorded_as_missing(&home, "session");
    assert!(outcome.stderr().contains("not enforced: namespaces ("), "{}", outcome.stderr());
    assert!(read.status() == 1 && read.stderr().contains("Permission denied"), "{}", read.stderr());
}

/// An agent in a container that allows namespaces, with its key in its environment alone.
fn in_container(home: &Home, command: &[&str]) -> cofferdam_testkit::Outcome {
    Cofferdam::new("/usr/bin/unshare", home)
        .current_dir(&home.path().join("project"))
        .env("INNOCENT_NAME", "a-key-of-the-agent")
        .args(["--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", "--ipc", "--uts"])
        .args(command)
        .run()
}

#[test]
fn req_i09_in_a_container_the_agents_environment_stays_closed() {
    const LOOK: &str = "env; cat /proc/[0-9]*/environ; cat /proc/[0-9]*/cmdline; echo seen";
    let home = Home::new();
    home.write("project/README", "");
    let open = in_container(&home, &["sh", "-c", &format!("sh -c '{LOOK}'; exit 7")]).expect_status(7);
    assert!(open.stdout().contains("a-key-of-the-agent"), "without a sandbox it is there to be read");
    let closed = in_container(&home, &[BINARY, "run", "--", "sh", "-c", LOOK]).expect_status(0);
    assert!(closed.stdout().ends_with("seen\n") && !closed.stdout().contains("a-key-of-the-agent"));
}
