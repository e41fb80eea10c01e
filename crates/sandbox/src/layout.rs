//! What the tree of a sandbox is made of: tables, so that a reviewer reads them in one place.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::plan::Operation;

const MIB: u64 = 1 << 20;
/// Private memory for `/tmp` and the home: large enough for a build, far from the whole machine.
pub const SCRATCH: u64 = 4096 * MIB;

/// What every sandbox has, whatever is asked for. Its first process builds this while the launcher still makes
/// up the plan.
pub fn fixed() -> Vec<Operation> {
    let private = |path: &str, bytes| Operation::Private { path: path.into(), bytes };
    let link = |(path, to): &(&str, &str)| Operation::Link { path: (*path).into(), to: (*to).into() };
    let mask = |path: &&str| Operation::Mask { path: (*path).into() };
    let mut files = vec![Operation::Processes { path: "/proc".into() }];
    files.extend(MASKED_PROC.iter().map(mask));
    files.push(Operation::Freeze { path: "/proc/sys".into() });
    files.push(mask(&"/proc/sys/kernel/random/boot_id"));
    files.push(private("/dev", MIB));
    files.extend(DEVICES.iter().map(|path| Operation::Device { path: (*path).into() }));
    files.extend(DEVICE_LINKS.iter().map(link));
    files.push(Operation::Terminals { path: "/dev/pts".into() });
    files.extend([private("/dev/shm", SCRATCH), private("/tmp", SCRATCH), private("/run", 16 * MIB)]);
    files.extend([("/var/tmp", "/tmp"), ("/var/run", "/run")].iter().map(link));
    files.extend(
        ETC_OWN.iter().map(|(path, contents)| Operation::File {
            path: (*path).into(),
            contents: (*contents).to_owned(),
        }),
    );
    files
}

/// Files of the sandbox's own, which tell nothing about the host.
const ETC_OWN: &[(&str, &str)] = &[
    ("/etc/hosts", "127.0.0.1 localhost cofferdam\n::1 localhost\n"),
    ("/etc/hostname", "cofferdam\n"),
    ("/etc/machine-id", "c0ffe4da000000000000000000000000\n"),
    ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\n"),
    ("/etc/resolv.conf", ""),
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
    "pki/ca-trust",
    "pki/tls/certs",
    "profile",
    "protocols",
    "python3",
    "python3.11",
    "python3.13",
    "redhat-release",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    "vim",
    "xdg",
    "zsh",
];

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

/// Parts of `/proc` that speak of the machine or of the kernel instead of the sandbox's own processes, or that
/// change the machine when written to.
const MASKED_PROC: &[&str] = &[
    "/proc/acpi",
    "/proc/bus",
    "/proc/config.gz",
    "/proc/driver",
    "/proc/fs",
    "/proc/iomem",
    "/proc/ioports",
    "/proc/irq",
    "/proc/kallsyms",
    "/proc/kcore",
    "/proc/key-users",
    "/proc/keys",
    "/proc/kmsg",
    "/proc/kpagecgroup",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/latency_stats",
    "/proc/mtrr",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/slabinfo",
    "/proc/swaps",
    "/proc/sysrq-trigger",
    "/proc/sysvipc",
    "/proc/timer_list",
    "/proc/vmallocinfo",
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

/// Files with credentials inside the directories above.
pub const TOOL_CREDENTIALS: &[&str] = &[
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".bun/install/auth",
    ".sdkman/etc/config",
    ".npm-global/etc/npmrc",
];

/// Names in the workspace that hold secrets. `*` stands for any characters.
pub const WORKSPACE_SECRETS: &[&str] = &[
    ".env",
    ".env.*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    "credentials.json",
    "service-account*.json",
];

/// Names that look like the ones above and are made to be shared.
pub const WORKSPACE_EXAMPLES: &[&str] =
    &[".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults"];

/// Names in the workspace whose contents the host runs, now or later. They can be read, not written, and not
/// made where they are missing.
pub const WORKSPACE_PROTECTED: &[&str] = &[
    ".claude",
    ".codex",
    ".cofferdam.toml",
    ".cursor",
    ".devcontainer",
    ".direnv",
    ".envrc",
    ".gemini",
    ".git/config",
    ".git/config.worktree",
    ".git/hooks",
    ".git/info/attributes",
    ".gitmodules",
    ".husky",
    ".idea",
    ".mcp.json",
    ".mise.toml",
    ".opencode",
    ".pre-commit-config.yaml",
    ".vscode",
    ".zed",
    "lefthook.yml",
    "mise.toml",
];

/// Whether a file of this name in the workspace holds secrets.
pub fn is_secret(name: &OsStr) -> bool {
    let matches =
        |patterns: &[&str]| patterns.iter().any(|pattern| matches(pattern.as_bytes(), name.as_bytes()));
    matches(WORKSPACE_SECRETS) && !matches(WORKSPACE_EXAMPLES)
}

/// Whether a name fits a pattern in which one `*` stands for any bytes.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.iter().position(|&byte| byte == b'*') {
        None => pattern == name,
        Some(star) => {
            let (before, after) = (&pattern[..star], &pattern[star + 1..]);
            name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
        }
    }
}
