//! The allowlist: what programs need to run at all, each name spelt out.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::credential_value;

/// What an allowed variable is for. Kinds of children differ in which of these they get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Where programs are, and which language and time they speak.
    Basic,
    /// The person, the terminal, the directories of that person.
    Session,
    /// Where compilers and package managers live.
    Toolchain,
    /// Which certificates the host trusts.
    Roots,
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Basic => "what every program needs",
            Self::Session => "person and terminal",
            Self::Toolchain => "toolchains",
            Self::Roots => "trusted certificates",
        })
    }
}

/// What the value of an allowed variable may look like. A variable that is fine by name is still no way to carry
/// something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A short word or list of words, without a run that looks random.
    Word,
    /// Longer text on one line.
    Line,
    /// One path from the root.
    Directory,
    /// Paths from the root with colons between them; others are left out, because they would mean another
    /// directory after every `cd`.
    Directories,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Operational {
    pub purpose: Purpose,
    form: Form,
}

/// Rows of names that share purpose and form.
const ALLOWLIST: &[(Purpose, Form, &[&str])] = &[
    (Purpose::Basic, Form::Directories, &["PATH"]),
    (
        Purpose::Basic,
        Form::Word,
        &[
            "LANG",
            "LANGUAGE",
            "LC_ADDRESS",
            "LC_ALL",
            "LC_COLLATE",
            "LC_CTYPE",
            "LC_IDENTIFICATION",
            "LC_MEASUREMENT",
            "LC_MESSAGES",
            "LC_MONETARY",
            "LC_NAME",
            "LC_NUMERIC",
            "LC_PAPER",
            "LC_TELEPHONE",
            "LC_TIME",
            "PYTHONIOENCODING",
            "PYTHONUTF8",
            "TZ",
        ],
    ),
    (Purpose::Basic, Form::Directory, &["LOCALE_ARCHIVE"]),
    (
        Purpose::Session,
        Form::Directory,
        &[
            "HOME",
            "SHELL",
            "TERMINFO",
            "TMPDIR",
            "XDG_CACHE_HOME",
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
            "XDG_STATE_HOME",
        ],
    ),
    (
        Purpose::Session,
        Form::Word,
        &[
            "CI",
            "CLICOLOR",
            "CLICOLOR_FORCE",
            "COLORTERM",
            "COLUMNS",
            "DEBIAN_FRONTEND",
            "FORCE_COLOR",
            "LINES",
            "LOGNAME",
            "NO_COLOR",
            "TERM",
            "TERM_PROGRAM",
            "TERM_PROGRAM_VERSION",
            "USER",
        ],
    ),
    (Purpose::Session, Form::Line, &["LS_COLORS"]),
    (
        Purpose::Toolchain,
        Form::Directory,
        &[
            "ANDROID_HOME",
            "ASDF_DATA_DIR",
            "ASDF_DIR",
            "BUN_INSTALL",
            "CARGO_HOME",
            "CONDA_PREFIX",
            "DENO_DIR",
            "DENO_INSTALL",
            "DOTNET_ROOT",
            "FNM_DIR",
            "GOBIN",
            "GOCACHE",
            "GOMODCACHE",
            "GOROOT",
            "GRADLE_HOME",
            "GRADLE_USER_HOME",
            "JAVA_HOME",
            "M2_HOME",
            "MAVEN_HOME",
            "MISE_DATA_DIR",
            "NVM_BIN",
            "NVM_DIR",
            "PIP_CACHE_DIR",
            "PNPM_HOME",
            "POETRY_HOME",
            "PYENV_ROOT",
            "RBENV_ROOT",
            "RUSTUP_HOME",
            "SDKMAN_DIR",
            "UV_CACHE_DIR",
            "VIRTUAL_ENV",
            "VOLTA_HOME",
        ],
    ),
    (Purpose::Toolchain, Form::Directories, &["GOPATH"]),
    (
        Purpose::Toolchain,
        Form::Word,
        &[
            "CARGO_TERM_COLOR",
            "CONDA_DEFAULT_ENV",
            "NODE_ENV",
            "PYENV_VERSION",
            "PYTHONDONTWRITEBYTECODE",
            "PYTHONUNBUFFERED",
            "RUSTUP_TOOLCHAIN",
            "RUST_BACKTRACE",
            "SOURCE_DATE_EPOCH",
        ],
    ),
    (
        Purpose::Roots,
        Form::Directory,
        &[
            "AWS_CA_BUNDLE",
            "CARGO_HTTP_CAINFO",
            "CURL_CA_BUNDLE",
            "DENO_CERT",
            "GIT_SSL_CAINFO",
            "NIX_SSL_CERT_FILE",
            "NODE_EXTRA_CA_CERTS",
            "PIP_CERT",
            "REQUESTS_CA_BUNDLE",
            "SSL_CERT_FILE",
        ],
    ),
    (Purpose::Roots, Form::Directories, &["SSL_CERT_DIR"]),
];

/// Exactly this name, in exactly this case.
pub(super) fn find(name: &str) -> Option<Operational> {
    ALLOWLIST
        .iter()
        .find(|(_, _, names)| names.contains(&name))
        .map(|&(purpose, form, _)| Operational { purpose, form })
}

impl Operational {
    /// The value as the child gets it, or nothing if it is not fit.
    pub fn admit<'a>(&self, value: &'a OsStr) -> Option<Cow<'a, OsStr>> {
        let bytes = value.as_bytes();
        if bytes.iter().any(u8::is_ascii_control) {
            return None;
        }
        match self.form {
            Form::Word => (bytes.len() <= 256 && !credential_value::has_random_run(bytes))
                .then_some(Cow::Borrowed(value)),
            Form::Line => (bytes.len() <= 16 * 1024).then_some(Cow::Borrowed(value)),
            Form::Directory => bytes.starts_with(b"/").then_some(Cow::Borrowed(value)),
            Form::Directories => from_the_root(value),
        }
    }
}

fn from_the_root(list: &OsStr) -> Option<Cow<'_, OsStr>> {
    let bytes = list.as_bytes();
    if bytes.split(|&byte| byte == b':').all(|entry| entry.starts_with(b"/")) {
        return Some(Cow::Borrowed(list));
    }
    let kept: Vec<&[u8]> =
        bytes.split(|&byte| byte == b':').filter(|entry| entry.starts_with(b"/")).collect();
    (!kept.is_empty()).then(|| Cow::Owned(OsString::from_vec(kept.join(&b':'))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(name: &str, value: &str) -> Option<String> {
        let operational = find(name).expect("a name on the allowlist");
        operational.admit(OsStr::new(value)).map(|value| value.to_string_lossy().into_owned())
    }

    #[test]
    fn no_name_stands_on_two_rows() {
        let mut names: Vec<&str> = ALLOWLIST.iter().flat_map(|(_, _, names)| *names).copied().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn a_search_path_keeps_what_starts_at_the_root() {
        assert_eq!(admitted("PATH", "/usr/bin:/bin").as_deref(), Some("/usr/bin:/bin"));
        assert_eq!(admitted("PATH", ":/usr/bin::./x:bin:/bin:.").as_deref(), Some("/usr/bin:/bin"));
        assert_eq!(admitted("PATH", ".:bin"), None);
        assert_eq!(admitted("PATH", ""), None);
    }

    #[test]
    fn a_word_carries_no_random_run_and_no_second_line() {
        assert_eq!(admitted("TERM", "xterm-256color").as_deref(), Some("xterm-256color"));
        assert_eq!(
            admitted("TZ", "CET-1CEST,M3.5.0,M10.5.0/3").as_deref(),
            Some("CET-1CEST,M3.5.0,M10.5.0/3")
        );
        assert_eq!(admitted("TERM", "xterm\nEVIL=1"), None);
        assert_eq!(admitted("USER", "pX7kQ2mZ9vT4bN8cR1wL6yH3"), None);
        assert_eq!(admitted("HOME", "relative"), None);
    }
}
