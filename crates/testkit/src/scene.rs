//! A place for attacks: a person's home with canaries wherever secrets are, services of the host to reach, another
//! process to look into, and a project to work on.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{DirEntryExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicI32, Ordering};

use cofferdam_linux_sys::probe::{MessageQueue, SharedMemory};

use crate::attack::Attack;
use crate::probe::{CANARY, probe_binary};
use crate::program::copy_program;
use crate::{Cofferdam, Home, OnTerminal, Outcome};

/// Who attacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Root,
    Ordinary,
}

/// A number that no account has: nothing on the machine belongs to it.
const ORDINARY: u32 = 54_321;

impl Who {
    /// Whoever runs the tests as an ordinary user can only be that.
    pub fn is_possible(self) -> bool {
        self == Self::Ordinary || rustix::process::geteuid().is_root()
    }

    pub fn of_this_process() -> Self {
        if rustix::process::geteuid().is_root() { Self::Root } else { Self::Ordinary }
    }

    /// The words before a command that make its user this one.
    fn prefix(self) -> Vec<String> {
        if self == Self::Root || !rustix::process::geteuid().is_root() {
            return Vec::new();
        }
        let user = [format!("--reuid={ORDINARY}"), format!("--regid={ORDINARY}")];
        let mut words = vec!["/usr/bin/setpriv".to_owned()];
        words.extend(user);
        words.extend(["--clear-groups", "--inh-caps=-all", "--"].map(str::to_owned));
        words
    }
}

/// Files with a canary in the home and below the project, each a secret by one rule or another.
const SECRETS: &[&str] = &[
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".gnupg/private-keys-v1.d/key",
    ".kube/config",
    ".docker/config.json",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".config/gh/hosts.yml",
    ".config/gcloud/credentials.db",
    ".azure/msal_token_cache.json",
    ".git-credentials",
    ".bash_history",
    ".mozilla/firefox/profile/logins.json",
    ".hermes/.env",
    ".hermes/auth.json",
    ".cargo/credentials.toml",
    "stdin.txt",
    "project/.env",
    "project/.env.production",
    "project/sub/deep/.env",
    "project/id_rsa",
    "project/server.key",
    "project/tls.pem",
    "project/.npmrc",
    "project/sub/.aws/credentials",
];

const SERVICE_ACCOUNT: &str = r#"{ "type": "service_account", "private_key": "CANARY" }"#;

/// Everything is gone when it is dropped.
#[derive(Debug)]
pub struct Scene {
    home: Home,
    who: Who,
    cofferdam: PathBuf,
    key: i32,
    name: String,
    tcp: TcpListener,
    udp: UdpSocket,
    victim: Child,
    _streams: Vec<UnixListener>,
    _datagram: UnixDatagram,
    _memory: SharedMemory,
    _queue: Option<MessageQueue>,
    posix_memory: PathBuf,
    /// The files of the workspace as they were, by their numbers.
    planted: Vec<u64>,
}

impl Scene {
    /// `binary` is the built `cofferdam`.
    pub fn new(binary: &str, who: Who) -> Self {
        static NEXT: AtomicI32 = AtomicI32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("cofferdam-test-{}-{number}", std::process::id());
        let key = i32::try_from(std::process::id() % 100_000).expect("a small number") * 1000 + number + 1;
        let home = Home::outside_tmp();
        plant_files(&home);
        let at = |relative: &str| home.path().join(relative);
        link_or_copy(Path::new(binary), &at("cofferdam-binary"));
        let abstract_address = SocketAddr::from_abstract_name(&name).expect("a plain name");
        let streams = vec![
            UnixListener::bind_addr(&abstract_address).expect("an abstract socket"),
            UnixListener::bind(at("agent.sock")).expect("a socket"),
            UnixListener::bind(at("project/service.sock")).expect("a socket"),
        ];
        let datagram = UnixDatagram::bind(at("log.sock")).expect("a socket");
        let posix_memory = Path::new("/dev/shm").join(&name);
        fs::write(&posix_memory, format!("{CANARY}posix")).expect("a file in /dev/shm");
        fs::set_permissions(&posix_memory, fs::Permissions::from_mode(0o644)).expect("its mode");
        hand_over(home.path(), who);
        let victim = victim(&home, who);
        Self {
            who,
            cofferdam: at("cofferdam-binary"),
            key,
            tcp: TcpListener::bind("127.0.0.1:0").expect("a port"),
            udp: UdpSocket::bind("127.0.0.1:0").expect("a port"),
            victim,
            _streams: streams,
            _datagram: datagram,
            _memory: SharedMemory::plant(key, format!("{CANARY}system-v").as_bytes()).expect("shared memory"),
            _queue: MessageQueue::plant(&format!("/{name}")).ok(),
            posix_memory,
            planted: inodes(&at("project")),
            name,
            home,
        }
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn workspace(&self) -> PathBuf {
        self.home.path().join("project")
    }

    /// The words of an attack with the places of this scene in them.
    pub fn words(&self, attack: &Attack) -> Vec<String> {
        let host = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let places = [
            ("{home}", self.home().display().to_string()),
            ("{workspace}", self.workspace().display().to_string()),
            ("{victim}", self.victim.id().to_string()),
            ("{tcp}", self.tcp.local_addr().expect("an address").to_string()),
            ("{tcp-port}", self.tcp.local_addr().expect("an address").port().to_string()),
            ("{udp}", self.udp.local_addr().expect("an address").to_string()),
            ("{name}", self.name.clone()),
            ("{key}", self.key.to_string()),
            ("{posix-memory}", self.posix_memory.display().to_string()),
            ("{boot-id}", host("/proc/sys/kernel/random/boot_id")),
            ("{machine-id}", host("/etc/machine-id")),
            ("{host-name}", host("/proc/sys/kernel/hostname")),
        ];
        let fill = |word: &&str| {
            places.iter().fold((*word).to_owned(), |word, (name, value)| word.replace(name, value))
        };
        attack.words.iter().map(fill).collect()
    }

    /// A script that runs a command. It does not name it, so that the gate does not refuse what the walls are to.
    pub(crate) fn write_script(&self, command: &[String]) -> String {
        self.home.write("project/words", command.join("\0") + "\0");
        self.home.write("script.sh", "mapfile -d '' words <words; \"${words[@]}\"\n");
        for name in ["project/words", "script.sh"] {
            self.home.chmod(name, 0o644);
        }
        self.home.path().join("script.sh").display().to_string()
    }

    pub fn run_inside(&self, probe: &str, words: &[String]) -> Outcome {
        self.run_confined(&[], &self.probe_words(probe, words))
    }

    /// Any command in the sandbox, with more options of `cofferdam run`.
    pub fn run_confined(&self, options: &[&str], command: &[String]) -> Outcome {
        let mut all = vec![self.cofferdam(), "run".to_owned()];
        all.extend(options.iter().map(|option| (*option).to_owned()));
        all.push("--".to_owned());
        all.extend(command.iter().cloned());
        self.launch(&all)
    }

    /// Where the built program is, for the one who attacks.
    pub(crate) fn cofferdam(&self) -> String {
        self.cofferdam.display().to_string()
    }

    pub fn run_outside(&self, probe: &str, words: &[String]) -> Outcome {
        self.answer_datagrams();
        self.launch(&self.probe_words(probe, words))
    }

    pub fn probe_words(&self, probe: &str, words: &[String]) -> Vec<String> {
        let mut all = vec![self.workspace().join("probe").display().to_string(), probe.to_owned()];
        all.extend(words.iter().cloned());
        all
    }

    /// The same launch for all: as the same user, with secrets in the environment and descriptors left open.
    pub(crate) fn launch(&self, command: &[String]) -> Outcome {
        self.prepared(r#"exec 9<"$1" 50<"$2" 1000<"$1" <"$1"; shift 2; exec "$@""#, command).run()
    }

    /// As before, on a terminal.
    pub(crate) fn launch_on_terminal(&self, command: &[String]) -> OnTerminal {
        self.prepared(r#"exec 9<"$1" 50<"$2" 1000<"$1"; shift 2; exec "$@""#, command).on_terminal()
    }

    fn prepared(&self, open: &str, command: &[String]) -> Cofferdam {
        let canary = |name: &str| format!("{CANARY}{name}");
        let home = self.home().display().to_string();
        let mut words = self.who.prefix();
        words.extend(["/bin/bash", "-c", open, "bash"].map(str::to_owned));
        words.extend([format!("{home}/stdin.txt"), home.clone()]);
        words.extend(command.iter().cloned());
        let mut run = Cofferdam::new(&words[0], &self.home)
            .args(&words[1..])
            .current_dir(&self.workspace())
            .env("OPENAI_API_KEY", canary("obvious"))
            .env("GITHUB_TOKEN", canary("obvious-too"))
            .env("COLOUR_OF_THE_DAY", canary("innocent"));
        for name in ["SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"]
        {
            run = run.env(name, format!("{home}/agent.sock"));
        }
        run
    }

    /// One datagram is answered, so that whoever has sent it knows that it came.
    fn answer_datagrams(&self) {
        let socket = self.udp.try_clone().expect("a second handle");
        socket.set_read_timeout(Some(std::time::Duration::from_secs(3))).expect("a timeout");
        std::thread::spawn(move || {
            let mut buffer = [0; 16];
            if let Ok((length, from)) = socket.recv_from(&mut buffer) {
                let _ = socket.send_to(&buffer[..length], from);
            }
        });
    }

    /// A file of the workspace that holds a canary and was not planted with it, whatever it is called now.
    pub fn canary_in_workspace(&self) -> Option<String> {
        let mut directories = vec![self.workspace()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
                if kind.is_dir() {
                    directories.push(path);
                } else if kind.is_file() && !self.planted.contains(&entry.ino()) {
                    let contents = fs::read(&path).unwrap_or_default();
                    if contents.windows(CANARY.len()).any(|window| window == CANARY.as_bytes()) {
                        return Some(path.display().to_string());
                    }
                }
            }
        }
        None
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.posix_memory);
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

fn plant_files(home: &Home) {
    for path in SECRETS {
        home.write(path, format!("{CANARY}{}\n", path.replace('/', "-")));
    }
    // Nobody is there to be asked about a script.
    home.write("cofferdam/config.toml", format!("# {CANARY}config\n[approval]\nmode = \"off\"\n"));
    home.write("project/account.json", SERVICE_ACCOUNT.replace("CANARY", &format!("{CANARY}account")));
    home.write("project/README", "a project\n");
    home.write("project/.git/config", "[core]\n\trepositoryformatversion = 0\n");
    home.write("project/.git/HEAD", "ref: refs/heads/main\n");
    home.write("project/.git/hooks/pre-commit.sample", "");
    home.write("project/.git/info/attributes", "");
    home.write("project/nested/.git/config", "");
    home.write("project/worktree/.git", "gitdir: ../.git/worktrees/one\n");
    home.write("project/tools/claude/settings.json", "{}\n");
    home.write(".bashrc", "# as it was\n");
    let at = |relative: &str| home.path().join(relative);
    fs::create_dir_all(at("project/.git/objects")).expect("a directory");
    fs::create_dir_all(at("project/.git/refs")).expect("a directory");
    fs::hard_link(at("project/.env"), at("project/alias.txt")).expect("a hard link");
    std::os::unix::fs::symlink("tools/claude", at("project/.claude")).expect("a link");
    std::os::unix::fs::symlink("alias.txt", at("project/.env.local")).expect("a link");
    link_or_copy(probe_binary(), &at("project/probe"));
}

/// The same file under a path that the one who attacks can reach: the build directory may be closed to them.
fn link_or_copy(from: &Path, to: &Path) {
    if fs::hard_link(from, to).is_err() {
        copy_program(from, to);
    }
}

fn inodes(directory: &Path) -> Vec<u64> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let below = |entry: &fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => inodes(&entry.path()),
        _ => vec![entry.ino()],
    };
    entries.flat_map(|entry| below(&entry)).collect()
}

/// Gives all of it to the one who attacks.
fn hand_over(path: &Path, who: Who) {
    if who == Who::Root || !rustix::process::geteuid().is_root() {
        return;
    }
    // The programs are the ones that were built; they stay root's, and everybody may start them.
    if !["probe", "cofferdam-binary"].iter().any(|program| path.ends_with(program)) {
        std::os::unix::fs::lchown(path, Some(ORDINARY), Some(ORDINARY)).expect("a new owner");
    }
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).expect("a directory of ours").flatten() {
            hand_over(&entry.path(), who);
        }
    }
}

/// A process with a canary in its environment and in its arguments, which waits until it is ended.
fn victim(home: &Home, who: Who) -> Child {
    let canary = format!("{CANARY}victim");
    let mut words = who.prefix();
    words.extend(["/bin/cat", "-", &canary].map(str::to_owned));
    let mut child = Cofferdam::new(&words[0], home).args(&words[1..]).env("SECRET", &canary).spawn();
    // Once a byte came back it runs, with the environment that it was given.
    child.stdin.as_mut().expect("a pipe").write_all(b"x").expect("a byte");
    child.stdout.as_mut().expect("a pipe").read_exact(&mut [0]).expect("the byte");
    child
}
