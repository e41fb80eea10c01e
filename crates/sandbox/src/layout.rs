//! What the tree of a sandbox is made of: tables, so that a reviewer reads them in one place.

/// Directories of the system, shown read-only where they exist. A link on the host is the same link inside.
pub const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store"];

/// The parts of `/etc` that programs need and that hold no secret. Everything else there is absent: a list of
/// what to hide would miss the next file with a password in it.
pub const ETC: &[&str] = &[
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "host.conf",
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
    "magic",
    "magic.mime",
    "mime.types",
    "networks",
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
    "shells",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    "vim",
    "xdg",
    "zsh",
];

/// Device files without which programs do not run.
pub const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];

/// Links that programs expect in `/dev`.
pub const DEVICE_LINKS: &[(&str, &str)] = &[
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
    ("/dev/ptmx", "pts/ptmx"),
];

/// Of the kernel's own files in `/proc`, those that programs ask about the machine and that name nothing on it.
/// Everything else there is hidden.
pub const PROC: &[&str] = &[
    "cpuinfo",
    "filesystems",
    "loadavg",
    "meminfo",
    "mounts",
    "net",
    "self",
    "stat",
    "sys",
    "thread-self",
    "uptime",
    "version",
    "vmstat",
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
