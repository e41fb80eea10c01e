//! What the tree of a sandbox is made of: tables, so that a reviewer reads them in one place.

use crate::plan::Operation;

/// What every sandbox has, whatever is asked for. Its first process builds this while the launcher still makes
/// up the plan.
pub fn fixed() -> Vec<Operation> {
    let link = |(path, to): &(&str, &str)| Operation::Link { path: (*path).into(), to: (*to).into() };
    let keep = PROC.iter().map(|name| (*name).into()).collect();
    let mut files = vec![
        Operation::Processes { path: "/proc".into(), keep },
        Operation::Freeze { path: "/proc/sys".into() },
        Operation::Mask { path: "/proc/sys/kernel/random/boot_id".into() },
    ];
    files.extend(DEVICES.iter().map(|path| Operation::Device { path: (*path).into() }));
    files.extend(DEVICE_LINKS.iter().map(link));
    files.push(Operation::Terminals { path: "/dev/pts".into() });
    files.push(link(&("/var/run", "/run")));
    files.extend(
        ETC_OWN
            .iter()
            .map(|(path, contents)| Operation::File { path: (*path).into(), contents: (*contents).into() }),
    );
    files
}

/// Where a script and its modules stand: in the tree itself, which nobody in it can write to.
pub const OWN: &str = "/cofferdam";

/// Files of the sandbox's own, which tell nothing about the host.
const ETC_OWN: &[(&str, &str)] = &[
    ("/etc/hosts", "127.0.0.1 localhost cofferdam\n::1 localhost\n"),
    ("/etc/hostname", "cofferdam\n"),
    ("/etc/machine-id", "c0ffe4da000000000000000000000000\n"),
    ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\n"),
    ("/etc/resolv.conf", "nameserver 127.0.0.1\n"),
];

/// Directories of the system, shown read-only where they exist. A link on the host is the same link inside.
pub const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store"];

/// The parts of `/etc` that programs need and that hold no secret. Everything else there is absent: a list of
/// what to hide would miss the next file with a password in it. Each is a mount of its own, so what only repeats
/// the defaults of the library that reads it (`gai.conf`, `host.conf`, `magic`, …) is left out.
pub const ETC: &[&str] = &[
    "alternatives",
    "bash.bashrc",
    "crypto-policies",
    "debian_version",
    "fonts",
    "inputrc",
    "java",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "java-25-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "mime.types",
    "os-release",
    "profile",
    "protocols",
    "python3.11",
    "python3.13",
    "redhat-release",
    "services",
    "ssl/openssl.cnf",
    "timezone",
    "xdg",
    "zsh",
];

/// The parts of `/etc` that hold authorities for certificates, shown as well unless a sandbox has one of its own.
pub const TRUST: &[&str] = &["pki/ca-trust", "pki/tls/certs", "ssl/certs"];

/// Where programs look for authorities if nothing tells them: Debian's place, which the others are about to become
/// links to, then those of Red Hat, Alpine and SUSE.
pub const BUNDLES: &[&str] = &[
    BUNDLE,
    "/etc/ssl/cert.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
];

/// The one that variables point to.
pub const BUNDLE: &str = "/etc/ssl/certs/ca-certificates.crt";
pub const JAVA_STORE: &str = "/etc/ssl/certs/java/cacerts";

/// Device files without which programs do not run.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Links that programs expect in `/dev`.
const DEVICE_LINKS: &[(&str, &str)] = &[
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
    ("/dev/ptmx", "pts/ptmx"),
];

/// Of the kernel's own files in `/proc`, those that programs ask about the machine and that name nothing on it.
/// Everything else there is hidden.
const PROC: &[&str] = &[
    "cgroups",
    "cpuinfo",
    "crypto",
    "dma",
    "execdomains",
    "fb",
    "filesystems",
    "loadavg",
    "meminfo",
    "misc",
    "mounts",
    "net",
    "pressure",
    "self",
    "softirqs",
    "stat",
    "sys",
    "thread-self",
    "uptime",
    "version",
    "vmstat",
    "zoneinfo",
];

/// How large a private place may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// As a build needs it.
    Scratch,
    Small,
}

/// Memory that every sandbox has for itself. `/var/tmp` is not a link to the other one: a workspace may lie below it.
pub const PRIVATE: &[(&str, Size)] = &[
    ("/dev/shm", Size::Scratch),
    ("/tmp", Size::Scratch),
    ("/var/tmp", Size::Scratch),
    ("/run", Size::Small),
];

/// Parts of `/sys` that runtimes ask how many processors there are; the rest of it is absent.
pub const SYS: &[&str] = &["/sys/devices/system/cpu"];

/// Directories of tools below the home, shown read-only where they exist.
pub const TOOLS: &[&str] = &[
    ".bun",
    ".cargo",
    ".deno",
    ".dotnet",
    ".elan",
    ".fnm",
    ".ghcup",
    ".goenv",
    ".juliaup",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pnpm",
    ".local/share/uv",
    ".nodenv",
    ".npm-global",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman",
    ".volta",
    "go",
    "miniconda3",
];

/// Directories that a search for secrets does not go into: they are large, made by tools, and made again by them.
/// Where it stops: a secret that someone has put into one of these is not found.
pub const NOT_SEARCHED: &[&str] =
    &[".git", ".hg", ".mypy_cache", ".svn", ".tox", ".venv", "__pycache__", "node_modules", "target", "venv"];

/// Files of package managers that are on the list of secrets because of what some people write into them, and that
/// every project of a kind has. In a workspace they are hidden only when they hold a credential.
pub const OFTEN_HARMLESS: &[&str] = &[".bundle/config", ".gradle/gradle.properties", ".yarnrc.yml"];

/// Names in a workspace whose contents the host runs, now or later. They can be read, not written, and not made
/// where they are missing.
pub const WORKSPACE_PROTECTED: &[&str] = &[
    ".aider.conf.yml",
    ".bazelrc",
    ".cargo/config",
    ".cargo/config.toml",
    ".claude",
    ".codex",
    ".cofferdam.toml",
    ".continue",
    ".cursor",
    ".devcontainer",
    ".devcontainer.json",
    ".direnv",
    ".envrc",
    ".exrc",
    ".gdbinit",
    ".gemini",
    ".gitmodules",
    ".husky",
    ".idea",
    ".kiro",
    ".lldbinit",
    ".mcp.json",
    ".mise",
    ".mise.local.toml",
    ".mise.toml",
    ".npmrc",
    ".nvim.lua",
    ".nvimrc",
    ".opencode",
    ".pnp.cjs",
    ".pnpmfile.cjs",
    ".pre-commit-config.yaml",
    ".roo",
    ".vimrc",
    ".vscode",
    ".windsurf",
    ".yarnrc",
    ".yarnrc.yml",
    ".zed",
    "lefthook.yml",
    "mise.local.toml",
    "mise.toml",
    "opencode.json",
    "sitecustomize.py",
    "usercustomize.py",
];

/// Names in the directory of a repository that make git run something or look for its configuration elsewhere.
pub const REPOSITORY_PROTECTED: &[&str] =
    &["commondir", "config", "config.worktree", "hooks", "info/attributes"];
