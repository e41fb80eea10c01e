//! What a path is: the difference between `rm -rf ./build` and `rm -rf /`.
//!
//! Decided on the text of the path alone. Links that were there before are not seen; the sandbox is.

use cofferdam_shell_syntax::{HOLE, Word};

use crate::Context;

/// The kind of a place, from the worst to lose to the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The root directory, or everything in it.
    Root,
    /// A disk or a partition.
    Device,
    /// A directory that the system is made of, or everything in it.
    SystemTop,
    /// The home directory, or everything in it.
    Home,
    /// Something within a system directory.
    System,
    /// A directory of the person's own directly within the home.
    HomeTop,
    /// Somewhere else outside of the project.
    Outside,
    /// The project itself, or everything in it.
    Project,
    /// The history of the project.
    Repository,
    /// Something within the project.
    Inside,
    /// Within the project, and made again by a build.
    Regenerable,
    /// The directory for temporary files itself.
    TemporaryTop,
    Temporary,
    /// Not known before it runs.
    Unknown,
}

/// A path made absolute, with what could not be known.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub text: String,
    pub place: Place,
}

const SYSTEM: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "mnt",
    "media",
    "opt",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "snap",
    "System",
    "Library",
    "Applications",
    "Users",
    "Volumes",
    "private",
    "nix",
];

const REGENERABLE: &[&str] = &[
    "build",
    "builds",
    "dist",
    "target",
    "out",
    "output",
    "outputs",
    "bin",
    "obj",
    "node_modules",
    "pycache",
    "venv",
    "virtualenv",
    "cache",
    "caches",
    "coverage",
    "htmlcov",
    "next",
    "nuxt",
    "turbo",
    "parcel",
    "pytest",
    "mypy",
    "ruff",
    "tox",
    "nox",
    "eggs",
    "egg",
    "info",
    "gradle",
    "tmp",
    "temp",
    "tmpdir",
    "logs",
    "log",
    "debug",
    "release",
    "generated",
    "gen",
    "artifacts",
    "artifact",
    "reports",
    "report",
    "results",
    "result",
    "bak",
    "old",
    "orig",
    "swp",
    "pyc",
    "pyo",
    "o",
    "class",
    "scratch",
    "sandbox",
    "bower",
    "jspm",
    "sass",
    "svelte",
    "kit",
    "vite",
    "storybook",
    "site",
    "public",
    "docs_build",
    "stage",
    "staging",
    "snapshots",
    "test",
    "testdata",
    "fixtures",
    "junk",
    "cmake",
    "derived",
    "deriveddata",
    "pods",
    "wheels",
    "egg-info",
    "nyc",
    "profraw",
    ".ds_store",
    ".terraform",
    "thumbs",
    "rej",
    "example",
    "demo",
    "foo",
    "bar",
    "cov",
    "lock",
    "pid",
    "download",
    "downloads",
    "extracted",
    "unpacked",
];

impl Path {
    /// Reads an operand as a path, seen from a directory.
    pub fn of(word: &Word, directory: Option<&str>, context: &Context) -> Self {
        Self::of_text(word.text(), directory, context)
    }

    pub fn of_text(text: &str, directory: Option<&str>, context: &Context) -> Self {
        let text = text.strip_prefix("file://").unwrap_or(text);
        if text.starts_with(HOLE) {
            return Self { text: text.to_owned(), place: Place::Unknown };
        }
        let Some(absolute) = absolute(text, directory) else {
            return Self { text: text.to_owned(), place: Place::Unknown };
        };
        let mut place = classify(&absolute, context);
        // Going up leads out of the project, also where the project lies among temporary files.
        let above = context.project.strip_prefix(&absolute).is_some_and(|rest| rest.starts_with('/'));
        if matches!(place, Place::Temporary | Place::TemporaryTop) && (above || text.starts_with("..")) {
            place = Place::Outside;
        }
        Self { text: absolute, place }
    }

    /// The last component.
    pub fn name(&self) -> &str {
        self.text.rsplit('/').next().unwrap_or(&self.text)
    }
}

fn absolute(text: &str, directory: Option<&str>) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    if !text.starts_with('/') {
        parts.extend(directory?.split('/').filter(|part| !part.is_empty()));
    }
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    Some(format!("/{}", parts.join("/")))
}

/// A component that stands for every name: `*`, `.*`, `?*`, `[!.]*`, `{,.}*`.
fn is_everything(component: &str) -> bool {
    component.contains('*')
        && component
            .trim_start_matches(['.', '?'])
            .trim_start_matches(|c| "[]!^.a-zA-Z0-9_".contains(c) && component.starts_with('['))
            .chars()
            .all(|c| "*.?".contains(c))
}

fn classify(path: &str, context: &Context) -> Place {
    if is_device(path) {
        return Place::Device;
    }
    let within = |base: &str| -> Option<String> {
        let rest = path.strip_prefix(base.trim_end_matches('/'))?;
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/').to_owned())
    };
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() || (parts.len() == 1 && is_everything(parts[0])) {
        return Place::Root;
    }
    // The project first: it lies within the home, or among temporary files, and is the part that is free to
    // change.
    if is_project(context)
        && let Some(rest) = within(&context.project)
    {
        return project(&rest);
    }
    if let Some(rest) = within(&context.home) {
        let components: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
        return match components.as_slice() {
            [] => Place::Home,
            [one] if is_everything(one) => Place::Home,
            [".cache" | ".npm" | ".cargo" | ".gradle" | ".m2", _, ..] => Place::Outside,
            [_] => Place::HomeTop,
            [_, one] if is_everything(one) => Place::HomeTop,
            _ => Place::Outside,
        };
    }
    for temporary in ["/tmp", "/var/tmp", "/dev/shm", "/private/tmp"] {
        if let Some(rest) = within(temporary) {
            return if rest.is_empty() || is_everything(&rest) {
                Place::TemporaryTop
            } else {
                Place::Temporary
            };
        }
    }
    let first = parts[0];
    if SYSTEM.contains(&first) || first.contains(['*', '?', '[']) {
        return match parts.as_slice() {
            [_] => Place::SystemTop,
            [_, one] if is_everything(one) => Place::SystemTop,
            [
                "usr" | "var",
                "bin" | "sbin" | "lib" | "lib64" | "share" | "local" | "log" | "spool" | "www" | "cache"
                | "include",
            ] => Place::SystemTop,
            ["usr" | "var", _, one] if is_everything(one) => Place::SystemTop,
            ["home" | "Users", _] => Place::Home,
            ["home" | "Users", _, one] if is_everything(one) => Place::Home,
            ["home" | "Users", _, ..] => Place::Outside,
            ["root", ..] => Place::System,
            _ => Place::System,
        };
    }
    if parts.len() == 1 { Place::System } else { Place::Outside }
}

/// A working directory is a project unless everything else lies in it too: the root, the home or above it.
fn is_project(context: &Context) -> bool {
    let project = context.project.trim_end_matches('/');
    let above_home =
        context.home.strip_prefix(project).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let top = project.matches('/').count() < 2 && SYSTEM.contains(&project.trim_start_matches('/'));
    !project.is_empty() && !above_home && !top
}

fn project(rest: &str) -> Place {
    let components: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
    match components.as_slice() {
        [] => Place::Project,
        [one] if is_everything(one) => Place::Project,
        [".git", ..] | [.., ".git"] => Place::Repository,
        all => {
            if all.iter().any(|component| is_regenerable(component)) {
                Place::Regenerable
            } else {
                Place::Inside
            }
        }
    }
}

/// Whether some part of a path names what a build makes again.
pub(crate) fn is_regenerable_path(path: &str) -> bool {
    path.split('/').any(|component| !component.is_empty() && is_regenerable(component))
}

fn is_regenerable(component: &str) -> bool {
    let lower = component.to_ascii_lowercase();
    if matches!(
        lower.as_str(),
        "tests" | "test" | "docs" | "src" | "lib" | "public" | "site" | "fixtures" | "snapshots"
    ) {
        return false;
    }
    if REGENERABLE.contains(&lower.as_str()) || lower.ends_with('~') {
        return true;
    }
    lower
        .split(['-', '_', '.', '*'])
        .any(|token| REGENERABLE.contains(&token.trim_end_matches(|c: char| c.is_ascii_digit())))
}

/// Disks, partitions and memory; not the harmless ones such as `/dev/null`.
pub(crate) fn is_device(path: &str) -> bool {
    let Some(name) = path.strip_prefix("/dev/") else {
        return path.starts_with("\\\\.\\PhysicalDrive") || path.starts_with("//./PhysicalDrive");
    };
    let disk = |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.len() <= 12);
    [
        "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "md", "dm-", "sr", "nbd", "zvol", "mtd",
        "sg", "bcache", "zd",
    ]
    .iter()
    .any(|prefix| disk(prefix))
        || ["disk/", "mapper/", "md/", "block/", "vg", "zvol/", "ubi", "loop", "fd0", "mem", "kmem", "port"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// Files that run by themselves later: shell start-up files, timers, services, hooks, keys that open the door.
pub(crate) fn is_startup(path: &str, context: &Context) -> bool {
    let home = path.strip_prefix(&context.home).or_else(|| path.strip_prefix("/root")).or_else(|| {
        let rest = path.strip_prefix("/home/").or_else(|| path.strip_prefix("/Users/"))?;
        rest.find('/').map(|at| &rest[at..])
    });
    if let Some(rest) = home {
        let rest = rest.trim_start_matches('/');
        let files = [
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".bash_aliases",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".kshrc",
            ".cshrc",
            ".tcshrc",
            ".login",
            ".inputrc",
            ".xinitrc",
            ".xprofile",
            ".xsession",
            ".xsessionrc",
            ".pam_environment",
            ".config/fish/config.fish",
            ".gitconfig",
            ".config/git/config",
            ".npmrc",
            ".pypirc",
            ".curlrc",
            ".wgetrc",
            ".vimrc",
            ".exrc",
            ".emacs",
            ".pythonrc",
            ".pdbrc",
            ".gdbinit",
            ".screenrc",
            ".tmux.conf",
            ".netrc",
            ".forward",
            ".lesskey",
            ".rhosts",
            ".shosts",
            ".psqlrc",
            ".irbrc",
            ".Rprofile",
            ".config/nvim/init.vim",
            ".config/nvim/init.lua",
            ".cargo/config.toml",
            ".cargo/config",
            ".gradle/init.gradle",
            ".envrc",
            ".mailcap",
            ".perldb",
        ];
        let directories = [
            ".ssh/",
            ".config/systemd/",
            ".config/autostart/",
            ".local/share/systemd/",
            ".local/bin/",
            "bin/",
            ".config/fish/",
            ".bashrc.d/",
            ".zsh/",
            ".config/environment.d/",
            "Library/LaunchAgents/",
            ".oh-my-zsh/custom/",
            ".config/pip/",
            ".pip/",
            ".local/lib/python",
            ".config/cron",
            ".gnupg/",
        ];
        if files.contains(&rest)
            || directories.iter().any(|directory| rest.starts_with(directory))
            || (rest.starts_with(".ssh") && rest.len() > 4)
        {
            return true;
        }
    }
    let system = [
        "/selinux/",
        "/etc/cron",
        "/var/spool/cron",
        "/etc/systemd/",
        "/lib/systemd/",
        "/usr/lib/systemd/",
        "/run/systemd/",
        "/etc/init.d",
        "/etc/rc",
        "/etc/profile",
        "/etc/bash",
        "/etc/zsh",
        "/etc/environment",
        "/etc/ld.so",
        "/etc/pam.d",
        "/etc/sudoers",
        "/etc/ssh/",
        "/etc/xdg/autostart",
        "/etc/udev/",
        "/etc/apt/",
        "/etc/yum",
        "/etc/inittab",
        "/etc/update-motd.d",
        "/etc/NetworkManager/dispatcher.d",
        "/etc/network/if-",
        "/etc/modules",
        "/etc/modprobe.d",
        "/Library/LaunchDaemons",
        "/Library/LaunchAgents",
        "/usr/local/bin/",
        "/usr/bin/",
        "/usr/sbin/",
        "/bin/",
        "/sbin/",
        "/etc/hosts",
        "/etc/passwd",
        "/etc/shadow",
        "/etc/group",
        "/etc/resolv.conf",
        "/etc/fstab",
        "/etc/crontab",
        "/etc/at.",
        "/etc/logrotate.d",
        "/etc/skel",
        "/etc/default/",
        "/etc/nsswitch",
        "/etc/doas.conf",
        "/proc/sys",
        "/sys/",
    ];
    system.iter().any(|start| path.starts_with(start))
        || path.contains("/.git/hooks/")
        || path.ends_with("/.git/config")
        || path.contains("/.husky/")
        || path.contains("/.github/workflows/")
        || path.ends_with("/sitecustomize.py")
        || path.ends_with("/usercustomize.py")
        || path.contains("/Startup/")
        || path.ends_with("/.envrc")
        || path.ends_with("/.npmrc")
        || path.ends_with("/pip.conf")
        || path.ends_with("/.yarnrc.yml")
        || path.ends_with("/.cargo/config.toml")
}

/// Files that hold keys and passwords.
pub(crate) fn is_secret(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let lower = name.to_ascii_lowercase();
    if lower.ends_with(".pub")
        || lower.ends_with(".example")
        || lower.ends_with(".sample")
        || lower.ends_with(".template")
        || lower.ends_with(".dist")
    {
        return false;
    }
    if name.starts_with("id_")
        && ["rsa", "dsa", "ecdsa", "ed25519", "*"].iter().any(|kind| name[3..].starts_with(kind))
    {
        return true;
    }
    if matches!(
        name,
        ".ssh" | ".gnupg" | ".aws" | ".password-store" | ".kube" | "chat.db" | "TCC.db" | "Keychains"
    ) {
        return true;
    }
    if path.contains("/.ssh/") {
        return !matches!(name, "config" | "known_hosts" | "authorized_keys" | "known_hosts.old");
    }
    let exact = [
        ".env",
        ".netrc",
        "_netrc",
        ".pgpass",
        ".my.cnf",
        ".git-credentials",
        ".npmrc",
        ".pypirc",
        ".dockercfg",
        ".vault-token",
        ".htpasswd",
        "shadow",
        "gshadow",
        "shadow-",
        "credentials.json",
        "service-account.json",
        "service_account.json",
        "secrets.yml",
        "secrets.yaml",
        "secrets.json",
        "secrets.toml",
        "master.key",
        "credentials.yml.enc",
        ".bash_history",
        ".zsh_history",
        ".mysql_history",
        ".psql_history",
        ".python_history",
        ".node_repl_history",
        "login.keychain-db",
        "wallet.dat",
        "key4.db",
        "logins.json",
        "Cookies",
        "Login Data",
        ".terraformrc",
        "terraform.tfstate",
        "kubeconfig",
        "sam",
        "ntds.dit",
        "hosts.yml",
        "keyring.gpg",
        "secring.gpg",
        ".s3cfg",
        ".boto",
        ".authinfo",
        "krb5.keytab",
        ".envrc.local",
        "application_default_credentials.json",
        "access_tokens.db",
        "auth.json",
        ".credentials.json",
        "sudoers",
    ];
    let suffix = [
        ".pem",
        ".key",
        ".p12",
        ".pfx",
        ".jks",
        ".keystore",
        ".kdbx",
        ".ppk",
        ".ovpn",
        ".asc.key",
        ".keytab",
        ".agekey",
    ];
    exact.contains(&name)
        || (lower.starts_with(".env.") || lower.ends_with(".env") && lower.len() > 4 && path.contains('/'))
        || suffix.iter().any(|suffix| lower.ends_with(suffix))
        || [
            "/.aws/credentials",
            "/.aws/*",
            "/.aws/cli/cache",
            "/.aws/sso",
            "/.config/gcloud/",
            "/.azure/",
            "/.kube/config",
            "/.docker/config.json",
            "/.gnupg/",
            "/.password-store/",
            "/.config/gh/hosts.yml",
            "/.cargo/credentials",
            "/.gem/credentials",
            "/.m2/settings.xml",
            "/.config/rclone",
            "/.vault-token",
            "/etc/shadow",
            "/etc/gshadow",
            "/etc/sudoers",
            "/etc/ssl/private",
            "/etc/ssh/ssh_host",
            "/.mozilla/firefox",
            "/.config/google-chrome",
            "/.config/chromium",
            "/.local/share/keyrings",
            "/.config/op/",
            "/var/run/secrets",
            "/run/secrets",
            "/Library/Keychains",
            "/.claude/.credentials",
            "/.codex/auth.json",
            "/.terraform.d/credentials",
            "/.ssh/id",
            "/.config/hub",
            "/.netrc",
            "/var/lib/kubelet",
            "/etc/kubernetes/admin.conf",
            "/etc/kubernetes/pki",
            "/.config/Bitwarden",
            "/.bitcoin",
            "/.ethereum",
            "/.electrum",
            "/.config/solana",
            "/.config/filezilla",
            "/.thunderbird",
            "/.local/share/TelegramDesktop",
            "/.config/Slack",
            "/.config/discord",
        ]
        .iter()
        .any(|part| path.contains(part))
        || (path.starts_with("/proc/")
            && (name == "environ" || name == "mem" || name == "cmdline" && path.contains('*')))
        || path == "/proc/kcore"
        || path == "/dev/mem"
}

/// Cofferdam's own policy, record and socket.
pub(crate) fn is_own_policy(path: &str) -> bool {
    path.contains("/.config/cofferdam")
        || path.contains("/.local/state/cofferdam")
        || path.contains("/cofferdam/approvals.toml")
        || path.contains("/cofferdam/config.toml")
        || path.contains("/etc/cofferdam")
        || path.contains("/run/cofferdam")
        || path.contains("/cofferdam/control.sock")
        || path.ends_with("/approvals.toml")
        || path.contains("/share/cofferdam")
}

/// Files that decide what an agent may do or is told to do.
pub(crate) fn is_agent_policy(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let directory = [
        "/.claude/settings",
        "/.claude/hooks",
        "/.claude/commands",
        "/.claude/agents",
        "/.claude/plugins",
        "/.claude.json",
        "/.claude/skills",
        "/.codex/",
        "/.gemini/",
        "/.cursor/",
        "/.hermes/",
        "/.openclaw/",
        "/.config/goose",
        "/.config/claude",
        "/.qwen/",
        "/.aider",
        "/.continue/",
        "/.windsurf",
        "/.config/opencode",
        "/.opencode/",
        "/.cline",
        "/.roo",
        "/.amp/",
        "/.copilot/",
        "/.config/github-copilot",
        "/.mcp.json",
        "/.vscode/settings.json",
        "/.vscode/tasks.json",
        "/.github/copilot-instructions",
        "/etc/claude-code",
    ];
    directory.iter().any(|part| path.contains(part))
        || matches!(
            name,
            "CLAUDE.md"
                | "CLAUDE.local.md"
                | "AGENTS.md"
                | "GEMINI.md"
                | ".cursorrules"
                | ".windsurfrules"
                | ".clinerules"
                | ".mcp.json"
                | "managed-settings.json"
                | ".claude"
                | ".codex"
                | ".gemini"
                | "SOUL.md"
                | ".hermes"
                | ".cursor"
        )
}
