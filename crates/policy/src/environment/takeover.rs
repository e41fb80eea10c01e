//! Variables with which somebody else's code, socket or server gets into a child: the loader and interpreters
//! run what they name, tools call what they name, agents and desktops answer to who holds them.
//!
//! None of them would be on the allowlist anyway. They are named so that a mistake in the allowlist cannot let
//! one in, and so that a person who asks is told what the variable could do.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takeover {
    Loader,
    Interpreter,
    Command,
    BuildTool,
    Agent,
    Display,
    Control,
    Proxy,
}

impl fmt::Display for Takeover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loader => "makes the loader or the C library run or read other files",
            Self::Interpreter => "makes an interpreter run code when it starts",
            Self::Command => "names a command that other programs run",
            Self::BuildTool => "changes what a build or package tool runs or where it downloads",
            Self::Agent => "leads to an agent or a service of the user's session",
            Self::Display => "leads to the user's screen and keyboard",
            Self::Control => "leads to what controls containers, clusters or Cofferdam itself",
            Self::Proxy => "a proxy setting; the network of a child is Cofferdam's to wire",
        })
    }
}

/// Beginnings of names. To keep something out a prefix is safe, unlike to let something in.
const PREFIXES: &[(Takeover, &[&str])] = &[
    (Takeover::Loader, &["LD_", "DYLD_", "MALLOC_", "OPENSSL_"]),
    (Takeover::Interpreter, &["BASH_FUNC_", "LUA_", "CORECLR_", "COR_", "PERL5", "PHP_INI_"]),
    (Takeover::Command, &["GIT_CONFIG", "FZF_DEFAULT_"]),
    (
        Takeover::BuildTool,
        &[
            "BUNDLE_",
            "CARGO_BUILD_",
            "CARGO_REGISTRIES_",
            "CARGO_TARGET_",
            "CGO_",
            "CMAKE_",
            "NPM_CONFIG_",
            "UV_INDEX",
            "YARN_",
        ],
    ),
    (Takeover::Agent, &["DBUS_", "LISTEN_", "VSCODE_", "WATCHDOG_"]),
    (Takeover::Control, &["COFFERDAM_", "KUBERNETES_", "PODMAN_"]),
];

const LOADER: &[&str] = &[
    "GCONV_PATH",
    "GETCONF_DIR",
    "GIO_EXTRA_MODULES",
    "GIO_MODULE_DIR",
    "GLIBC_TUNABLES",
    "GTK_MODULES",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "LOCPATH",
    "NLSPATH",
    "QT_PLUGIN_PATH",
    "RESOLV_HOST_CONF",
    "RES_OPTIONS",
];

const INTERPRETER: &[&str] = &[
    "BASHOPTS",
    "BASH_ENV",
    "BASH_LOADABLES_PATH",
    "BASH_XTRACEFD",
    "BUN_OPTIONS",
    "CDPATH",
    "CLASSPATH",
    "DOTNET_STARTUP_HOOKS",
    "ELIXIR_ERL_OPTIONS",
    "EMACSLOADPATH",
    "ENV",
    "ERL_AFLAGS",
    "ERL_FLAGS",
    "ERL_ZFLAGS",
    "EXINIT",
    "FPATH",
    "GEM_HOME",
    "GEM_PATH",
    "GLOBIGNORE",
    "GRADLE_OPTS",
    "GUILE_LOAD_PATH",
    "GVIMINIT",
    "IFS",
    "JAVA_OPTS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "JULIA_LOAD_PATH",
    "MAVEN_ARGS",
    "MAVEN_OPTS",
    "MYVIMRC",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_EXTERNAL_MODULE",
    "PERLLIB",
    "PERL_MB_OPT",
    "PERL_MM_OPT",
    "PHPRC",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "PYTHONBREAKPOINT",
    "PYTHONEXECUTABLE",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONPLATLIBDIR",
    "PYTHONPYCACHEPREFIX",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONWARNINGS",
    "RUBYLIB",
    "RUBYOPT",
    "R_ENVIRON",
    "R_ENVIRON_USER",
    "R_PROFILE",
    "R_PROFILE_USER",
    "SBT_OPTS",
    "SHELLOPTS",
    "TCLLIBPATH",
    "VIMINIT",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
];

const COMMAND: &[&str] = &[
    "AWS_PAGER",
    "BAT_PAGER",
    "BROWSER",
    "CVS_RSH",
    "DELTA_PAGER",
    "EDITOR",
    "FCEDIT",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ASKPASS",
    "GIT_DIR",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_TEMPLATE_DIR",
    "GIT_WORK_TREE",
    "HGEDITOR",
    "KUBE_EDITOR",
    "LESS",
    "LESSCLOSE",
    "LESSKEY",
    "LESSOPEN",
    "MANPAGER",
    "MANROFFOPT",
    "PAGER",
    "PSQL_EDITOR",
    "PSQL_PAGER",
    "RIPGREP_CONFIG_PATH",
    "RSYNC_CONNECT_PROG",
    "RSYNC_RSH",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "SVN_EDITOR",
    "SVN_SSH",
    "SYSTEMD_EDITOR",
    "SYSTEMD_PAGER",
    "TAR_OPTIONS",
    "VISUAL",
];

const BUILD_TOOL: &[&str] = &[
    "AR",
    "CC",
    "CFLAGS",
    "CPP",
    "CXX",
    "CXXFLAGS",
    "GNUMAKEFLAGS",
    "GOENV",
    "GOFLAGS",
    "GOINSECURE",
    "GONOSUMCHECK",
    "GONOSUMDB",
    "GOPRIVATE",
    "GOPROXY",
    "GOSUMDB",
    "GOTOOLCHAIN",
    "LD",
    "LDFLAGS",
    "MAKEFILES",
    "MAKEFLAGS",
    "MFLAGS",
    "PIP_CONFIG_FILE",
    "PIP_CONSTRAINT",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_INDEX_URL",
    "PIP_REQUIREMENT",
    "PIP_TRUSTED_HOST",
    "RUSTC",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTDOC",
    "RUSTDOCFLAGS",
    "RUSTFLAGS",
    "UV_DEFAULT_INDEX",
    "UV_EXTRA_INDEX_URL",
];

const AGENT: &[&str] = &[
    "ALACRITTY_SOCKET",
    "GNOME_KEYRING_CONTROL",
    "GNUPGHOME",
    "GPG_AGENT_INFO",
    "JOURNAL_STREAM",
    "KITTY_LISTEN_ON",
    "KRB5CCNAME",
    "KRB5_CONFIG",
    "NOTIFY_SOCKET",
    "NVIM",
    "NVIM_LISTEN_ADDRESS",
    "PIPEWIRE_REMOTE",
    "PULSE_SERVER",
    "SSH_AGENT_PID",
    "SSH_AUTH_SOCK",
    "STY",
    "TMUX",
    "TMUX_PANE",
    "WEZTERM_UNIX_SOCKET",
    "WSL_INTEROP",
    "XDG_RUNTIME_DIR",
];

const DISPLAY: &[&str] = &[
    "DESKTOP_STARTUP_ID",
    "DISPLAY",
    "ICEAUTHORITY",
    "SESSION_MANAGER",
    "WAYLAND_DISPLAY",
    "WAYLAND_SOCKET",
    "XAUTHORITY",
];

const CONTROL: &[&str] = &[
    "CONTAINERD_ADDRESS",
    "CONTAINER_HOST",
    "DOCKER_CERT_PATH",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_HOST",
    "DOCKER_TLS_VERIFY",
    "KUBECONFIG",
    "LIBVIRT_DEFAULT_URI",
];

const NAMES: &[(Takeover, &[&str])] = &[
    (Takeover::Loader, LOADER),
    (Takeover::Interpreter, INTERPRETER),
    (Takeover::Command, COMMAND),
    (Takeover::BuildTool, BUILD_TOOL),
    (Takeover::Agent, AGENT),
    (Takeover::Display, DISPLAY),
    (Takeover::Control, CONTROL),
];

/// `name` in capitals. Case does not count: some programs (npm, curl, everything that knows proxies) read both.
pub(super) fn of(name: &[u8]) -> Option<Takeover> {
    if name.ends_with(b"_PROXY") {
        return Some(Takeover::Proxy);
    }
    let begins = |prefix: &&str| name.starts_with(prefix.as_bytes());
    if let Some((takeover, _)) = PREFIXES.iter().find(|(_, prefixes)| prefixes.iter().any(begins)) {
        return Some(*takeover);
    }
    let holds = |names: &[&str]| names.binary_search_by(|known| known.as_bytes().cmp(name)).is_ok();
    NAMES.iter().find(|(_, names)| holds(names)).map(|(takeover, _)| *takeover)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::operational;

    #[test]
    fn nothing_that_takes_over_is_on_the_allowlist() {
        for name in NAMES.iter().flat_map(|(_, names)| *names) {
            assert_eq!(operational::find(name), None, "{name}");
        }
    }

    #[test]
    fn the_names_can_be_searched() {
        for (_, names) in NAMES {
            assert!(names.is_sorted(), "{names:?}");
        }
    }

    #[test]
    fn prefixes_and_proxies() {
        assert_eq!(of(b"LD_AUDIT"), Some(Takeover::Loader));
        assert_eq!(of(b"BASH_FUNC_LS%%"), Some(Takeover::Interpreter));
        assert_eq!(of(b"NPM_CONFIG_REGISTRY"), Some(Takeover::BuildTool));
        assert_eq!(of(b"HTTPS_PROXY"), Some(Takeover::Proxy));
        assert_eq!(of(b"HTTP_PROXY"), Some(Takeover::Proxy));
        assert_eq!(of(b"LANG"), None);
        assert_eq!(of(b"LD"), Some(Takeover::BuildTool));
        assert_eq!(of(b""), None);
    }
}
