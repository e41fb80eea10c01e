//! Paths that matter whatever is done to them: disks, files that run by themselves, and the rules that an agent works
//! under. Lists of names, compared as text.

use crate::Context;
use crate::names::{self, Names};

/// Disks, partitions and memory; not the harmless ones such as `/dev/null`.
pub(crate) fn is_device(path: &str) -> bool {
    let Some(name) = path.strip_prefix("/dev/") else {
        return path.starts_with("\\\\.\\PhysicalDrive") || path.starts_with("//./PhysicalDrive");
    };
    // A name out of a list of disks: `/dev/$d`.
    if !name.is_empty() && name.chars().all(|c| c == cofferdam_shell_syntax::HOLE) {
        return true;
    }
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

/// Programs that somebody would put another in front of.
static EVERYDAY: Names = Names::of(&[
    "ls",
    "cat",
    "cp",
    "mv",
    "rm",
    "sudo",
    "su",
    "doas",
    "git",
    "ssh",
    "scp",
    "python",
    "python3",
    "pip",
    "pip3",
    "node",
    "npm",
    "npx",
    "docker",
    "kubectl",
    "make",
    "gcc",
    "cc",
    "curl",
    "wget",
    "bash",
    "sh",
    "zsh",
    "fish",
    "grep",
    "sed",
    "awk",
    "find",
    "vim",
    "vi",
    "nano",
    "less",
    "man",
    "tar",
    "env",
    "which",
    "ps",
    "top",
    "systemctl",
    "apt",
    "brew",
    "cargo",
    "rustc",
    "go",
    "java",
    "claude",
    "codex",
    "gemini",
    "gpg",
    "pass",
    "aws",
    "gcloud",
    "az",
    "terraform",
    "helm",
    "code",
    "op",
    "bw",
    "vault",
    "yarn",
    "pnpm",
    "tmux",
    "cd",
    "echo",
    "passwd",
    "login",
]);

/// Files that run by themselves later: shell start-up files, timers, services, hooks, keys that open the door.
pub(crate) fn is_startup(path: &str, context: &Context) -> bool {
    let home = path.strip_prefix(&context.home).or_else(|| path.strip_prefix("/root")).or_else(|| {
        let rest = path.strip_prefix("/home/").or_else(|| path.strip_prefix("/Users/"))?;
        rest.find('/').map(|at| &rest[at..])
    });
    // Everything that is looked for there is hidden, or lies in `Library` or `bin`.
    const BEGINS: [char; 3] = ['.', 'L', 'b'];
    let hides = |rest: &&str| rest.starts_with(BEGINS);
    if let Some(rest) = home.map(|rest| rest.trim_start_matches('/')).filter(hides) {
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
            ".emacs.d/",
            ".config/emacs/",
            ".config/nvim/",
            ".vim/",
            ".config/plasma-workspace/",
            ".config/autostart-scripts/",
            ".kde/Autostart/",
            ".kde4/Autostart/",
            ".config/i3/",
            ".config/sway/",
            ".config/hypr/",
            ".config/openbox/",
            ".config/nushell/",
            ".config/powershell/",
            ".config/direnv/",
            ".local/share/dbus-1/services/",
            ".local/share/applications/",
            ".local/share/nautilus/scripts/",
            ".ipython/profile_default/startup/",
            ".jupyter/",
            ".julia/config/",
            ".mozilla/native-messaging-hosts/",
            ".config/google-chrome/NativeMessagingHosts/",
            ".config/containers/systemd/",
            ".config/wezterm/",
            ".config/kitty/",
            ".config/tmux/",
            ".termux/boot/",
            "Library/Application Scripts/",
        ];
        debug_assert!(files.iter().chain(&directories).all(|name| name.starts_with(BEGINS)));
        let shadowed = rest
            .strip_prefix(".local/bin/")
            .or_else(|| rest.strip_prefix("bin/"))
            .is_some_and(|name| EVERYDAY.contains(name) || name.contains('*'));
        if files.contains(&rest)
            || shadowed
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
    debug_assert!(!system.iter().any(|start| start.starts_with("/h")));
    let begins = !path.starts_with("/h") && system.iter().any(|start| path.starts_with(start));
    begins
        || has_hidden(path)
            && (path.contains("/.git/hooks/")
                || path.contains("/.husky/")
                || path.contains("/.github/workflows/")
                || path.contains("/.vim/autoload/")
                || path.contains("/.vim/plugin/"))
        || path.ends_with("/.git/config")
        || path.ends_with("/direnvrc")
        || path.ends_with("/.m2/settings.xml")
        || path.ends_with("/sitecustomize.py")
        || path.ends_with("/usercustomize.py")
        || names::contains(path, "/Startup/")
        || path.ends_with("/.envrc")
        || path.ends_with("/.npmrc")
        || path.ends_with("/pip.conf")
        || path.ends_with("/.yarnrc.yml")
        || path.ends_with("/.cargo/config.toml")
}

/// Whether something on the way is hidden.
fn has_hidden(path: &str) -> bool {
    path.as_bytes().windows(2).any(|pair| pair == b"/.")
}

/// Cofferdam's own policy, record and socket.
pub(crate) fn is_own_policy(path: &str) -> bool {
    if !names::contains(path, "cofferdam") && !path.ends_with("/approvals.toml") {
        return false;
    }
    path.contains("/.config/cofferdam")
        || path.contains("/.local/state/cofferdam")
        || path.contains("/cofferdam/approvals.toml")
        || path.contains("/cofferdam/config.toml")
        || path.contains("/etc/cofferdam")
        || path.contains("/run/cofferdam")
        || path.contains("/cofferdam/") && path.ends_with(".sock")
        || path.ends_with("/approvals.toml")
        || path.contains("/share/cofferdam")
}

/// Files that decide what an agent may do or is told to do.
pub(crate) fn is_agent_policy(path: &str) -> bool {
    let name = names::last_part(path);
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
        "/Code/User/settings.json",
        "/.vscode/tasks.json",
        "/.github/copilot-instructions",
        "/etc/claude-code",
    ];
    (has_hidden(path) || path.starts_with("/etc/")) && directory.iter().any(|part| path.contains(part))
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
