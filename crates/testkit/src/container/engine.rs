//! Docker and Podman, each with everything it has in a directory of the test's.

use std::ffi::OsStr;
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::ImageTree;
use crate::processes::{marker, wait_until};
use crate::{OnTerminal, Outcome};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Docker,
    Podman,
    /// As somebody who is nobody else than himself: root inside is that user outside, and there are no others.
    RootlessPodman,
}

/// `nobody`, who exists wherever users are mapped at all.
const NOBODY: u32 = 65534;

/// An engine that nobody else uses.
#[derive(Debug)]
pub struct Engine {
    kind: Kind,
    directory: TempDir,
    daemon: Option<Child>,
}

impl Engine {
    pub fn both() -> [Self; 2] {
        [Self::start(Kind::Podman), Self::start(Kind::Docker)]
    }

    /// # Panics
    ///
    /// When the engine is not installed or does not start.
    pub fn start(kind: Kind) -> Self {
        // A short path: a socket's name has room for a hundred bytes.
        let directory = tempfile::Builder::new().prefix("cd-").tempdir_in("/var/tmp").expect("a directory");
        let mut engine = Self { kind, directory, daemon: None };
        if kind == Kind::RootlessPodman {
            chown(engine.directory.path(), Some(NOBODY), Some(NOBODY)).expect("a directory of nobody's");
        }
        if kind == Kind::Docker {
            engine.daemon = Some(engine.start_daemon());
            let answers =
                || engine.command().args(["version"]).output().is_ok_and(|output| output.status.success());
            wait_until("dockerd answers (apt-get install docker.io)", answers);
        }
        engine
    }

    /// In a network namespace of its own, so that its bridge and its firewall rules are not the machine's.
    #[expect(clippy::disallowed_methods, reason = "the tests' way to start an engine")]
    fn start_daemon(&self) -> Child {
        let log = std::fs::File::create(self.place("dockerd.log")).expect("a log");
        let mut command = Command::new("unshare");
        command
            .args(["--net", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh", "dockerd", "--data-root"])
            .arg(self.place("data"));
        command.arg("--exec-root").arg(self.place("exec")).arg("--pidfile").arg(self.place("pid"));
        command.arg("--host").arg(self.socket());
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a copy")).stderr(log);
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.spawn().expect("unshare starts")
    }

    /// The process that holds the engine's own network, if it has one.
    pub fn daemon_pid(&self) -> Option<u32> {
        self.daemon.as_ref().map(Child::id)
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    fn place(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn socket(&self) -> String {
        format!("unix://{}", self.place("docker.sock").display())
    }

    /// The words that come before an engine's own command, in a shell's order: program first.
    pub fn words(&self) -> Vec<String> {
        match self.kind {
            Kind::Docker => vec!["docker".into(), "--host".into(), self.socket()],
            Kind::RootlessPodman => {
                let words = ["setpriv", "--reuid", "nobody", "--regid", "65534", "--clear-groups"];
                words.into_iter().map(str::to_owned).chain(self.podman_words()).collect()
            }
            Kind::Podman => self.podman_words(),
        }
    }

    fn podman_words(&self) -> Vec<String> {
        let place = |name: &str| self.place(name).display().to_string();
        [
            "podman",
            "--root",
            &place("data"),
            "--runroot",
            &place("exec"),
            "--tmpdir",
            &place("tmp"),
            "--storage-driver",
            "vfs",
            "--runtime",
            "runc",
            "--cgroup-manager",
            "cgroupfs",
            "--events-backend",
            "file",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    #[expect(clippy::disallowed_methods, reason = "the tests' way to call an engine")]
    pub fn command(&self) -> Command {
        let words = self.words();
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command
            .env("HOME", self.directory.path())
            .env("XDG_RUNTIME_DIR", self.directory.path())
            .current_dir(self.directory.path());
        command
    }

    /// Calls the engine and waits for its end.
    pub fn call<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Outcome {
        Outcome::of(
            self.command().args(arguments).stdin(Stdio::null()).output().expect("the engine's program"),
        )
    }

    /// Makes an image of a tree.
    #[expect(clippy::disallowed_methods, reason = "the tests' way to start a program of the machine")]
    pub fn import(&self, tree: &ImageTree, name: &str, changes: &[&str]) {
        let archive = self.place("image.tar");
        let mut tar = Command::new("tar");
        if self.kind == Kind::RootlessPodman {
            tar.args(["--owner=0", "--group=0"]);
        }
        let packed = tar.arg("-C").arg(tree.path()).arg("-cf").arg(&archive).arg(".").status();
        assert!(packed.expect("tar runs").success(), "a tree is packed");
        let changes = changes.iter().flat_map(|change| ["--change", change]);
        let words = ["import"].into_iter().chain(changes).map(OsStr::new);
        self.call(words.chain([archive.as_os_str(), OsStr::new(name)])).expect_status(0);
    }

    /// Limits that an engine could not set on a machine where it may not raise them.
    pub fn usual_options(&self) -> &'static [&'static str] {
        match self.kind {
            Kind::Docker => &["--network", "none"],
            Kind::Podman | Kind::RootlessPodman => {
                &["--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"]
            }
        }
    }

    /// A container that does nothing until it is told to.
    pub fn container(&self, options: &[&str], image: &str) -> Container<'_> {
        let name = format!("c{}", marker().replace('.', "-"));
        let mut words = vec!["run", "--detach", "--name", &name];
        words.extend(self.usual_options());
        words.extend(options);
        words.extend([image, "sleep", "100000"]);
        self.call(words).expect_status(0);
        Container { engine: self, name }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Some(daemon) = &mut self.daemon {
            let _ = kill_process(Pid::from_child(daemon), Signal::TERM);
            let _ = daemon.wait();
        }
        // Rootless podman leaves a process behind that keeps its namespace.
        let pause = std::fs::read_to_string(self.place("tmp/pause.pid")).ok();
        if let Some(pid) = pause.and_then(|text| Pid::from_raw(text.trim().parse().ok()?)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        // What ends last (a container's own cleaning up) may still write while the directory is removed.
        for _ in 0..50 {
            let _ = std::fs::remove_dir_all(self.directory.path());
            std::thread::sleep(Duration::from_millis(20));
            if !self.directory.path().exists() {
                break;
            }
        }
    }
}

/// A running container; gone when it is dropped.
#[derive(Debug)]
pub struct Container<'a> {
    engine: &'a Engine,
    name: String,
}

impl Container<'_> {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs a command in the container, with options of `exec`.
    pub fn exec(&self, options: &[&str], command: &[&str]) -> Outcome {
        self.engine.call(["exec"].iter().chain(options).chain([&self.name.as_str()]).chain(command))
    }

    /// The same, typed at a terminal.
    pub fn exec_on_terminal(&self, options: &[&str], command: &[&str]) -> OnTerminal {
        let mut call = self.engine.command();
        call.args(["exec", "-it"]).args(options).arg(&self.name).args(command);
        OnTerminal::start(&call)
    }

    /// The same, left running.
    pub fn exec_in_background(&self, options: &[&str], command: &[&str]) -> Child {
        let mut call = self.engine.command();
        call.arg("exec").args(options).arg(&self.name).args(command);
        call.stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the engine's program")
    }

    pub fn engine(&self) -> &Engine {
        self.engine
    }
}

impl Drop for Container<'_> {
    fn drop(&mut self) {
        let _ = self.engine.call(["rm", "--force", "--time", "0", &self.name]).status() == 0
            || self.engine.call(["rm", "--force", &self.name]).status() == 0;
    }
}
