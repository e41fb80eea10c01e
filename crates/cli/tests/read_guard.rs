//! I07: what the read guard refuses, and what it lets through, tried on the real `/proc`.
//!
//! Every refused form is first shown to be readable without the guard.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use cofferdam_testkit::{Cofferdam, Home, Outcome};

const GUARD: &str = env!("CARGO_BIN_EXE_cofferdam");

/// How a form is shown to work without the guard.
#[derive(Debug, Clone, Copy)]
enum Proof {
    /// `cat` prints something.
    Cat,
    /// It can be opened; reading it would never end, or needs an offset.
    Open,
    /// It is a directory with something in it.
    List,
}

struct Form {
    path: String,
    proof: Proof,
    reason: &'static str,
}

fn form(path: impl Into<String>, proof: Proof, reason: &'static str) -> Form {
    Form { path: path.into(), proof, reason }
}

#[track_caller]
fn assert_refused(home: &Home, form: &Form) {
    let Form { path, proof, reason } = form;
    let plain = match proof {
        Proof::Cat => Cofferdam::new("/bin/cat", home).arg(path),
        Proof::List => Cofferdam::new("/bin/ls", home).args(["-A", path]),
        Proof::Open => Cofferdam::new("/bin/sh", home).args(["-c", "exec 3<\"$1\" && echo open", "sh", path]),
    };
    let plain = plain.input("canary").run();
    assert_eq!(plain.status(), 0, "{path} cannot be read without the guard: {}", plain.stderr());
    assert!(!plain.stdout().is_empty(), "{path} shows nothing without the guard");

    let guarded = guard(home, path);
    assert_eq!(guarded.status(), 3, "{path}: {}{}", guarded.stdout(), guarded.stderr());
    assert!(guarded.stdout().contains(&format!("\"reason\": \"{reason}\"")), "{path}: {}", guarded.stdout());

    let printed = Cofferdam::new(GUARD, home).args(["read-guard", "--print", path]).input("canary").run();
    assert_eq!((printed.status(), printed.stdout().as_str()), (3, ""), "{path} was printed");
}

fn guard(home: &Home, path: &str) -> Outcome {
    Cofferdam::new(GUARD, home).args(["read-guard", "--json", path]).input("canary").run()
}

#[track_caller]
fn assert_allowed(home: &Home, path: impl AsRef<Path>, contents: &[u8]) {
    let printed = Cofferdam::new(GUARD, home).args(["read-guard", "--print"]).arg(path.as_ref()).run();
    assert_eq!(printed.expect_status(0).stdout_bytes(), contents, "{}", path.as_ref().display());
}

#[test]
fn req_i07_refuses_what_processes_show_of_themselves() {
    let home = Home::new();
    let pid = std::process::id();
    let task = format!("/proc/{pid}/task/{pid}");
    let mut forms = Vec::new();
    for base in [format!("/proc/{pid}"), task.clone(), "/proc/self".into(), "/proc/thread-self".into()] {
        for file in ["environ", "cmdline", "maps", "smaps", "auxv", "status", "stat", "comm", "limits"] {
            forms.push(form(format!("{base}/{file}"), Proof::Cat, "process"));
        }
        forms.push(form(format!("{base}/mem"), Proof::Open, "process"));
        forms.push(form(base, Proof::List, "process"));
    }
    forms.push(form(format!("/proc/{pid}/task"), Proof::List, "process"));
    forms.push(form("/proc", Proof::List, "process"));
    for file in ["cmdline", "mounts", "net/tcp", "stat", "sys/kernel/random/boot_id", "filesystems"] {
        forms.push(form(format!("/proc/{file}"), Proof::Cat, "process"));
    }
    for form in &forms {
        assert_refused(&home, form);
    }
}

#[test]
fn req_i07_refuses_the_handles_of_procfs() {
    let home = Home::new();
    let pid = std::process::id();
    for form in [
        form("/proc/self/fd/0", Proof::Cat, "magic-link"),
        form("/proc/thread-self/fd/0", Proof::Cat, "magic-link"),
        form("/dev/fd/0", Proof::Cat, "magic-link"),
        form("/dev/stdin", Proof::Cat, "magic-link"),
        form(format!("/proc/{pid}/cwd/Cargo.toml"), Proof::Cat, "magic-link"),
        form(format!("/proc/{pid}/root/etc/passwd"), Proof::Cat, "magic-link"),
        form(format!("/proc/{pid}/root/proc/{pid}/environ"), Proof::Cat, "magic-link"),
        form(format!("/proc/{pid}/task/{pid}/root/etc/passwd"), Proof::Cat, "magic-link"),
        form(format!("/proc/{pid}/exe"), Proof::Cat, "magic-link"),
        form("/proc/self/ns/user", Proof::Open, "magic-link"),
        form("/proc/self/fd", Proof::List, "process"),
    ] {
        assert_refused(&home, &form);
    }
}

#[test]
fn req_i07_refuses_every_spelling_and_every_link() {
    let home = Home::new();
    let pid = std::process::id();
    let at = |name: &str| home.path().join(name).to_str().expect("a plain path").to_owned();
    symlink(format!("/proc/{pid}/environ"), at("link")).unwrap();
    symlink("link", at("second")).unwrap();
    symlink(at("second"), at("third")).unwrap();
    symlink("/proc", at("directory")).unwrap();
    symlink("/proc/self", at("self")).unwrap();
    symlink("/dev/fd", at("descriptors")).unwrap();
    let up = "../".repeat(home.path().components().count() + 3);
    for path in [
        format!("//proc//{pid}///environ"),
        format!("/proc/./{pid}/./environ"),
        format!("/proc/{pid}/../{pid}/environ"),
        format!("/../proc/{pid}/environ"),
        format!("/etc/../proc/{pid}/environ"),
        format!("/proc/self/../{pid}/environ"),
        format!("/proc/{pid}/task/../environ"),
        format!("{up}proc/{pid}/environ"),
        at("link"),
        at("second"),
        at("third"),
        "third".to_owned(),
        at(&format!("directory/{pid}/environ")),
        at("self/environ"),
        at("self/task/../environ"),
    ] {
        assert_refused(&home, &form(path, Proof::Cat, "process"));
    }
    assert_refused(&home, &form(at("descriptors/0"), Proof::Cat, "magic-link"));
}

#[test]
fn req_i07_refuses_devices_pipes_sockets_and_kernel_files() {
    let home = Home::new();
    let at = |name: &str| home.path().join(name).to_str().expect("a plain path").to_owned();
    symlink("/dev/zero", at("zeros")).unwrap();
    for path in ["/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/null", "/dev/ptmx"] {
        assert_refused(&home, &form(path, Proof::Open, "device"));
    }
    assert_refused(&home, &form(at("zeros"), Proof::Open, "device"));
    assert_refused(&home, &form("/sys/devices/system/cpu/online", Proof::Cat, "kernel-filesystem"));
    assert_refused(&home, &form("/", Proof::List, "directory"));

    let shared = tempfile_in_shared_memory();
    fs::write(&shared, "canary").unwrap();
    let refused = form(shared.to_str().expect("a plain path"), Proof::Cat, "shared-memory");
    assert_refused(&home, &refused);
    fs::remove_file(shared).unwrap();

    // These two would keep `cat` waiting, or cannot be opened by it at all.
    let listener = UnixListener::bind(at("socket")).unwrap();
    assert!(guard(&home, &at("socket")).expect_status(3).stdout().contains("\"reason\": \"socket\""));
    drop(listener);
    Cofferdam::new("/usr/bin/mkfifo", &home).arg("fifo").run().expect_status(0);
    assert!(guard(&home, &at("fifo")).expect_status(3).stdout().contains("\"reason\": \"fifo\""));
}

fn tempfile_in_shared_memory() -> std::path::PathBuf {
    Path::new("/dev/shm").join(format!("cofferdam-test-{}", std::process::id()))
}

#[test]
fn req_i07_what_tells_about_the_machine_stays_readable() {
    let home = Home::new();
    for name in ["cpuinfo", "meminfo", "uptime", "version", "loadavg"] {
        for path in [format!("/proc/{name}"), format!("/proc/self/../{name}"), format!("//proc/./{name}")] {
            let printed = Cofferdam::new(GUARD, &home).args(["read-guard", "--print", &path]).run();
            assert!(!printed.expect_status(0).stdout().is_empty(), "{path} is empty");
        }
    }
    assert_allowed(&home, "/proc/version", &fs::read("/proc/version").unwrap());
}

#[test]
fn req_i07_ordinary_files_stay_readable() {
    let home = Home::new();
    let large = b"0123456789abcdef".repeat(1 << 18);
    home.write("empty", "");
    home.write("large", &large);
    home.write("notes.txt", "-----BEGIN CERTIFICATE-----\n");
    home.write("code.rs", "// -----BEGIN PRIVATE KEY-----\n");
    home.write(".env.example", "KEY=\n");
    symlink("notes.txt", home.path().join("link")).unwrap();
    symlink("link", home.path().join("second")).unwrap();
    symlink(".", home.path().join("here")).unwrap();
    assert_allowed(&home, "empty", b"");
    assert_allowed(&home, "large", &large);
    assert_allowed(&home, "second", b"-----BEGIN CERTIFICATE-----\n");
    assert_allowed(&home, home.path().join("here/here/link"), b"-----BEGIN CERTIFICATE-----\n");
    assert_allowed(&home, "code.rs", b"// -----BEGIN PRIVATE KEY-----\n");
    assert_allowed(&home, ".env.example", b"KEY=\n");
    assert_allowed(&home, "/etc/passwd", &fs::read("/etc/passwd").unwrap());
}

#[test]
fn req_i06_the_guard_refuses_the_places_of_secrets() {
    let home = Home::new();
    for (path, reason) in [
        (".ssh/id_ed25519", "private-key"),
        (".aws/credentials", "cloud-credentials"),
        (".config/gcloud/access_tokens.db", "cloud-credentials"),
        (".kube/config", "cloud-credentials"),
        (".docker/config.json", "registry-credentials"),
        (".netrc", "git-credentials"),
        (".npmrc", "registry-credentials"),
        (".pypirc", "registry-credentials"),
        (".git-credentials", "git-credentials"),
        (".hermes/.env", "agent-state"),
        (".hermes/auth.json", "agent-state"),
        (".mozilla/firefox/x.default/logins.json", "browser-profile"),
        (".local/share/keyrings/login.keyring", "keyring"),
        (".bash_history", "shell-history"),
        ("project/.env", "dotenv"),
        ("project/.env.production", "dotenv"),
        ("cofferdam/state/tokens.json", "own-state"),
        ("cofferdam/config.toml", "own-state"),
    ] {
        home.write(path, "canary");
        let path = home.path().join(path);
        assert_refused(&home, &form(path.to_str().expect("a plain path"), Proof::Cat, reason));
    }
    home.write("plain.pem", "-----BEGIN RSA PRIVATE KEY-----\nMII\n");
    assert_refused(&home, &form("plain.pem", Proof::Cat, "private-key"));
}

#[test]
fn req_i06_another_name_for_a_secret_is_refused_as_well() {
    let home = Home::new();
    home.write(".netrc", "canary");
    home.write(".ssh/known_hosts", "canary");
    fs::hard_link(home.path().join(".netrc"), home.path().join("hard")).unwrap();
    symlink(".netrc", home.path().join("soft")).unwrap();
    symlink(".ssh", home.path().join("keys")).unwrap();
    for (path, reason) in
        [("hard", "git-credentials"), ("soft", "git-credentials"), ("keys/known_hosts", "private-key")]
    {
        assert_refused(&home, &form(path, Proof::Cat, reason));
    }
}

/// A limit that `linux_sys::read_guard` names: when this fails, the limit is gone and its words can go too.
#[test]
fn known_gap_a_hard_link_to_a_file_inside_a_listed_directory_is_not_recognised() {
    let home = Home::new();
    home.write(".aws/credentials", "aws_secret_access_key = x\n");
    fs::hard_link(home.path().join(".aws/credentials"), home.path().join("innocent")).unwrap();
    assert_allowed(&home, "innocent", b"aws_secret_access_key = x\n");
}

/// Runs a script in a mount namespace of its own; `None`, loudly, where the kernel gives none.
fn in_own_mounts(home: &Home, script: &str) -> Option<String> {
    let isolate = ["--user", "--map-root-user", "--mount", "--pid", "--fork"];
    let unshare = || Cofferdam::new("/usr/bin/unshare", home).args(isolate);
    let possible = unshare().args(["sh", "-c", "mkdir p && mount -t proc proc p"]).run();
    if possible.status() != 0 {
        eprintln!("SKIPPED: no mount namespace here: {}", possible.stderr());
        return None;
    }
    let outcome =
        unshare().args(["sh", "-euc", script]).env("GUARD", GUARD).env("CANARY", "canary-in-environ").run();
    Some(outcome.expect_status(0).stdout())
}

#[test]
fn req_i07_bind_mounts_and_a_second_procfs_change_nothing() {
    let home = Home::new();
    home.write("ordinary", "ordinary\n");
    home.write(".ssh/known_hosts", "canary-in-ssh\n");
    let script = r#"
        judge() {
            plain=$(cat "$1" | tr '\0' '\n' | grep -c . || true)
            status=0; "$GUARD" read-guard "$1" >/dev/null 2>&1 || status=$?
            echo "$2 $status $([ "$plain" -gt 0 ] && echo readable || echo empty)"
        }
        mount -t proc proc /proc
        mkdir elsewhere again keys; touch file machine
        mount --bind /proc/$$/environ file;        judge file bound-environ
        mount --bind /proc/version machine;        judge machine bound-version
        mount --bind /proc again;                  judge again/$$/environ bound-procfs
        mount -t proc proc elsewhere;              judge elsewhere/$$/environ second-procfs
                                                   judge elsewhere/self/cmdline second-self
                                                   judge elsewhere/version second-version
        mount --bind .ssh keys;                    judge keys/known_hosts bound-secret
        mount --bind /proc/$$/environ /proc/version; judge /proc/version covered-by-environ
        umount /proc/version
        mount --bind ordinary /proc/version;       judge /proc/version covered-by-ordinary
    "#;
    let Some(seen) = in_own_mounts(&home, script) else { return };
    let expected = [
        ("bound-environ", 3),
        ("bound-version", 0),
        ("bound-procfs", 3),
        ("second-procfs", 3),
        ("second-self", 3),
        ("second-version", 0),
        ("bound-secret", 3),
        ("covered-by-environ", 3),
        ("covered-by-ordinary", 0),
    ];
    let expected: Vec<String> =
        expected.iter().map(|(form, status)| format!("{form} {status} readable")).collect();
    assert_eq!(seen.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn req_i07_without_a_procfs_nothing_is_judged_readable() {
    let home = Home::new();
    home.write("ordinary", "ordinary\n");
    let script = r#"
        mount -t tmpfs none /proc
        status=0; "$GUARD" read-guard ordinary 2>/dev/null || status=$?; echo "$status"
    "#;
    let Some(seen) = in_own_mounts(&home, script) else { return };
    assert_eq!(seen, "69\n");
}

#[test]
fn req_i15_what_is_printed_is_what_was_judged() {
    let home = Home::new();
    home.write("ordinary", "ordinary\n");
    let link = home.path().join("link");
    symlink("ordinary", &link).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let mut outcomes = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for target in ["/proc/self/environ", "ordinary"].into_iter().cycle() {
                let next = home.path().join("next");
                symlink(target, &next).unwrap();
                fs::rename(&next, &link).unwrap();
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    return;
                }
            }
        });
        // Nothing is judged in here: a panic would leave the other thread running, and the test waiting for it.
        for _ in 0..2000 {
            let printed = Cofferdam::new(GUARD, &home)
                .env("CANARY", "canary-in-environ")
                .args(["read-guard", "--print", "link"])
                .run();
            outcomes.push((printed.status(), printed.stdout()));
            if [0, 3].iter().all(|status| outcomes.iter().any(|(seen, _)| seen == status)) {
                break;
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let mut seen = [false; 2];
    for (status, stdout) in outcomes {
        match status {
            0 => assert_eq!(stdout, "ordinary\n"),
            3 => assert_eq!(stdout, ""),
            other => panic!("status {other}"),
        }
        seen[usize::from(status == 3)] = true;
    }
    assert_eq!(seen, [true; 2], "the link was never exchanged in time");
}

#[test]
fn the_guard_fails_apart_from_refusing() {
    let home = Home::new();
    symlink("loop", home.path().join("loop")).unwrap();
    for path in ["missing", "loop", "loop/x"] {
        assert_eq!(guard(&home, path).expect_status(69).stdout(), "");
    }
    Cofferdam::new(GUARD, &home).arg("read-guard").run().expect_status(64);
    let odd = Cofferdam::new(GUARD, &home).args(["read-guard", "\u{1b}[31mred\u{202e}"]).run();
    assert!(odd.stderr().contains("\\u{1b}[31mred\\u{202e}"), "{}", odd.stderr());
}
