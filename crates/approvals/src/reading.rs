//! What is read that is secret.

use cofferdam_shell_syntax::{Input, Shell, Source, Word};

use crate::Category::{Credentials, OwnPolicy};
use crate::call::Call;
use crate::judge::{Judge, Report};
use crate::names::{Names, Needles, letters};
use crate::place;

const SECRET: Report = Report::ask(
    "read-secret",
    Credentials,
    "It reads a file that holds keys, passwords or a private history.",
);
/// Programs that look at a file from the outside, or that use a key for what it is for.
static OUTSIDE: Names = Names::of(&[
    "ls",
    "stat",
    "test",
    "[",
    "[[",
    "file",
    "du",
    "wc",
    "chmod",
    "chown",
    "mkdir",
    "touch",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "ssh",
    "ssh-add",
    "ssh-keygen",
    "ssh-copy-id",
    "sftp",
    "source",
    ".",
    "echo",
    "printf",
    "git",
    "rm",
    "cd",
    "which",
    "exa",
    "eza",
    "tree",
    "export",
    "unset",
    "mktemp",
    "sha256sum",
    "md5sum",
    "shasum",
    "sha1sum",
    "b2sum",
    "cksum",
    "lsattr",
    "getfacl",
    "namei",
    "true",
    "false",
    "shred",
    "kubectl",
    "helm",
    "mosh",
    "certbot",
    "nginx",
    "docker",
    "docker-compose",
    "podman",
    "chgrp",
    "pushd",
    "fd",
    "locate",
    "rmdir",
    "find",
    "mkcert",
    "alias",
    "grep-none",
    "npm",
    "yarn",
    "pnpm",
    "terraform",
    "ansible-playbook",
    "ansible",
    "dotenv",
    "doppler",
    "sops",
    "cargo",
    "make",
    "node",
    "pytest",
    "keytool",
    "gpg",
    "age-keygen",
    "exiftool",
]);

pub(crate) fn is_secret_name(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let public =
        ["PUBLIC", "KEYBOARD", "KEYMAP", "TOKENIZER", "TOKENIZERS_PARALLELISM", "KEYWORDS", "AUTHOR"];
    if public.iter().any(|word| upper.contains(word)) || name != upper {
        return false;
    }
    [
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "API_KEY",
        "APIKEY",
        "PRIVATE_KEY",
        "ACCESS_KEY",
        "CREDENTIAL",
        "DATABASE_URL",
        "DSN",
        "WEBHOOK",
        "_PAT",
        "AUTH",
        "_KEY",
        "_PASS",
    ]
    .iter()
    .any(|word| upper.contains(word))
        || upper == "PGPASSWORD"
}

/// Variables with names of secrets that a word is made from.
pub(crate) fn secret_variable(word: &Word) -> bool {
    word.sources().iter().any(|source| matches!(source, Source::Variable(name) if is_secret_name(name)))
}

impl Judge<'_> {
    pub(crate) fn reads(&mut self, shell: &Shell, program: &str, call: &Call) {
        self.policy_operands(program, call);
        if !OUTSIDE.contains(program) {
            self.secret_operands(program, call);
        }
        match program {
            "echo" | "printf" | "printenv" | "export" | "declare" | "set" | "cat" => {
                let printed = (program == "cat" && call.input.text().is_some_and(secret_variable))
                    || call.arguments().iter().any(|word| {
                        secret_variable(word) || (program == "printenv" && is_secret_name(word.text()))
                    });
                if printed && program != "export" && program != "declare" {
                    self.report(
                        &Report::ask("print-secret", Credentials, "It prints a secret from the environment."),
                        call.line(),
                    );
                }
            }
            "git"
                if call.operands().next().is_some_and(|word| {
                    matches!(word.text(), "show" | "cat-file" | "diff" | "log" | "blame")
                }) =>
            {
                for word in call.operands().skip(1) {
                    let path = word.text().rsplit(':').next().unwrap_or_default();
                    self.secret_text(path, call);
                }
            }
            "grep" | "egrep" | "rg" | "ag" | "fgrep" | "awk" | "sed" => self.searched(shell, program, call),
            "find" | "fd" | "fdfind" | "bfs" => self.looked_for(call),
            "docker" | "podman" | "nerdctl" | "kubectl" | "oc" if call.has_word(&["cp"]) => {
                for word in call.operands() {
                    if let Some((_, path)) = word.text().split_once(':') {
                        self.secret_text(path, call);
                    }
                }
            }
            "docker" | "node" | "npm" | "make" => {
                for word in call.operands() {
                    let path = call.path(word, self.context);
                    if !matches!(path.place, place::Place::Inside | place::Place::Regenerable) {
                        self.secret_word(word, call);
                    }
                }
            }
            _ => {}
        }
    }

    fn policy_operands(&mut self, program: &str, call: &Call) {
        let harmless = matches!(
            program,
            "ls" | "cat"
                | "head"
                | "tail"
                | "grep"
                | "rg"
                | "stat"
                | "less"
                | "more"
                | "wc"
                | "diff"
                | "file"
                | "find"
                | "test"
                | "["
                | "echo"
                | "printf"
                | "git"
                | "jq"
                | "bat"
                | "cd"
                | "tree"
                | "cp"
                | "ln"
                | "tee"
                | "touch"
                | "sort"
                | "awk"
                | "cut"
                | "md5sum"
                | "sha256sum"
                | "mkdir"
                | "code"
                | "python3"
                | "python"
                | "node"
                | "realpath"
                | "basename"
                | "dirname"
                | "export"
                | "yq"
                | "source"
                | "."
                | "nl"
                | "curl"
                | "wget"
                | "prettier"
                | "markdownlint"
                | "claude"
                | "codex"
                | "gemini"
                | "sed"
                | "cofferdam"
        );
        if harmless {
            return;
        }
        let mut path = String::new();
        for word in call.operands() {
            place::Path::text_into(&mut path, word.text(), call.directory.as_deref(), self.context);
            if place::is_own_policy(&path) {
                self.report(
                    &Report::deny(
                        "own-policy-file",
                        OwnPolicy,
                        "This touches the rules that this session works under.",
                    ),
                    call.line(),
                );
            } else if place::is_agent_policy(&path)
                && matches!(
                    program,
                    "rm" | "mv"
                        | "unlink"
                        | "shred"
                        | "truncate"
                        | "chmod"
                        | "chown"
                        | "rmdir"
                        | "ed"
                        | "patch"
                        | "rsync"
                        | "install"
                        | "chattr"
                        | "dd"
                        | "sponge"
                )
            {
                self.report(
                    &Report::ask(
                        "agent-policy-file",
                        OwnPolicy,
                        "It changes what an agent is told or allowed to do.",
                    ),
                    call.line(),
                );
            }
        }
    }

    fn secret_operands(&mut self, program: &str, call: &Call) {
        if program == "chmod"
            || program == "mkdir"
            || program == "sed" && crate::editors::only_substitutes(call)
        {
            return;
        }
        let pattern_first = matches!(
            program,
            "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" | "awk" | "sed" | "jq" | "gawk"
        );
        let pattern = pattern_first && call.value(&["-e", "--regexp", "-f"]).is_none();
        let operands = || call.operands().skip(usize::from(pattern));
        let inverted = matches!(program, "cp" | "mv" | "install" | "ln") && operands().count() == 2;
        // Certificates are public; keys in files of the same kind are not, and only these commands show them.
        let certificate = program == "openssl"
            && (call.has_word(&["-pubout", "-pubin", "-modulus"])
                || !call.has_word(&["enc", "base64", "rsa", "ec", "pkey", "pkcs8", "pkcs12"]));
        // A key that is made here is written, not read.
        const MADE: [&str; 3] = ["-keyout", "-out", "--out"];
        let makes = call.has_word(&MADE);
        let made: Vec<&Word> =
            MADE.iter().filter(|_| makes).filter_map(|option| call.value(&[option])).collect();
        for word in operands()
            .filter(|word| !made.contains(word))
            .filter(|word| !(certificate && word.text().ends_with(".pem")))
            .take(if inverted { 1 } else { usize::MAX })
        {
            let address = word.text().bytes().any(|byte| byte == b':') && word.text().contains("://");
            if inverted && operands().next().is_some_and(|first| first.text().contains("example"))
                || address && !word.text().starts_with("file://")
            {
                continue;
            }
            self.secret_word(word, call);
        }
        for word in call.arguments() {
            let text = word.text();
            if text.bytes().any(|byte| byte == b'@')
                && let Some(path) =
                    text.split_once("=@").map(|(_, path)| path).or_else(|| text.strip_prefix('@'))
            {
                self.secret_text(path, call);
            }
            if text.starts_with("--")
                && let Some((option, path)) = text.split_once('=')
                && !matches!(
                    option,
                    "--env-file"
                        | "--exclude"
                        | "--cert"
                        | "--key"
                        | "--cacert"
                        | "--identity"
                        | "--exclude-from"
                        | "--include"
                        | "--from-file"
                )
            {
                self.secret_text(path, call);
            }
        }
    }

    pub(crate) fn secret_word(&mut self, word: &Word, call: &Call) {
        self.secret_text(word.text(), call);
    }

    pub(crate) fn secret_text(&mut self, text: &str, call: &Call) {
        if self.links.is_empty() {
            let mut path = std::mem::take(&mut self.whole);
            let known = place::Path::text_into(&mut path, text, call.directory.as_deref(), self.context);
            let secret = place::is_secret(if known { &path } else { text });
            self.whole = path;
            if secret {
                self.report(&SECRET, call.line());
            }
            return;
        }
        let expanded = text.strip_prefix("~/").map(|rest| format!("{}/{rest}", self.context.home));
        let path = place::Path::of_text(
            expanded.as_deref().unwrap_or(text),
            call.directory.as_deref(),
            self.context,
        );
        let path = self.followed(path);
        let path = if path.place == place::Place::Unknown { text } else { &path.text };
        if place::is_secret(path) {
            self.report(&SECRET, call.line());
        }
    }

    /// Directories of keys that a container is given.
    pub(crate) fn mounted(&mut self, program: &str, call: &Call) {
        if !matches!(program, "docker" | "podman" | "nerdctl") || !call.has_word(&["run", "create"]) {
            return;
        }
        for word in call.arguments() {
            let text = word.text();
            let value = text.strip_prefix("-v").filter(|value| !value.is_empty()).unwrap_or(text);
            let value =
                value.split_once("=").filter(|_| value.starts_with("--")).map_or(value, |(_, value)| value);
            let source = value
                .split(',')
                .find_map(|part| part.strip_prefix("source=").or_else(|| part.strip_prefix("src=")))
                .or_else(|| value.split_once(':').map(|(source, _)| source))
                .filter(|source| source.contains('/') || source.starts_with('~'));
            let Some(source) = source else { continue };
            let kept = [
                ".ssh",
                ".aws",
                ".gnupg",
                ".kube",
                ".docker",
                ".config",
                ".azure",
                ".netrc",
                ".password-store",
            ];
            if kept.iter().any(|name| source.trim_end_matches('/').ends_with(name)) {
                self.report(
                    &Report::ask("mounts-secrets", Credentials, "It hands keys of yours to a container."),
                    call.line(),
                );
            }
            self.secret_text(source, call);
        }
    }

    /// Names of keys looked for everywhere.
    fn looked_for(&mut self, call: &Call) {
        let everywhere = call.operands().any(|word| {
            let path = call.path(word, self.context);
            matches!(path.place, place::Place::Root | place::Place::SystemTop | place::Place::System)
        });
        let secret = call.texts().any(|text| {
            !text.starts_with(['-', '/']) && place::is_secret(&format!("/x/{}", text.trim_start_matches('*')))
        });
        if everywhere && secret {
            self.report(
                &Report::ask("search-secrets", Credentials, "It looks for passwords and keys."),
                call.line(),
            );
        }
    }

    /// Looking for secrets in what another command prints, or in every file there is.
    fn searched(&mut self, shell: &Shell, program: &str, call: &Call) {
        // What is left out is not looked for.
        if call.has_word(&["--invert-match", "-v", "-vi", "-iv", "-vE", "-Ev", "-vF"]) {
            return;
        }
        static WORDS: Needles<22> = Needles::of([
            "ghp_",
            "gho_",
            "github_pat",
            "sk_live",
            "sk-ant",
            "xox",
            "glpat",
            "password",
            "passwd",
            "secret",
            "token",
            "api_key",
            "apikey",
            "api-key",
            "private_key",
            "private key",
            "credential",
            "aws_",
            "akia",
            "begin rsa",
            "begin openssh",
            "_key",
        ]);
        static PIPED: Needles<2> = Needles::of(["key", "pass"]);
        let mut pattern = String::with_capacity(call.texts().map(|text| text.len() + 1).sum());
        for text in call.texts() {
            pattern.push_str(text);
            pattern.push(' ');
        }
        if pattern.is_ascii() {
            pattern.make_ascii_lowercase();
        } else {
            pattern = pattern.to_lowercase();
        }
        let of = letters(pattern.as_bytes());
        let piped = matches!(&call.input, Input::Pipe { .. }) && PIPED.any_in(&pattern, of);
        if !piped && !WORDS.any_in(&pattern, of) {
            return;
        }
        let from_environment = match &call.input {
            Input::Pipe { from, .. } => shell.commands()[from.clone()].iter().any(|command| {
                command.argv.first().is_some_and(|word| {
                    matches!(
                        word.text(),
                        "env" | "printenv" | "set" | "export" | "declare" | "history" | "compgen" | "typeset"
                    )
                }) || command.argv.len() > 2
                    && command.argv.iter().any(|word| matches!(word.text(), "env" | "printenv" | "inspect"))
            }),
            _ => false,
        };
        let everywhere = matches!(program, "grep" | "rg" | "egrep" | "ag")
            && call.operands().skip(1).any(|word| {
                let path = call.path(word, self.context);
                matches!(
                    path.place,
                    place::Place::Root | place::Place::Home | place::Place::SystemTop | place::Place::HomeTop
                ) || path.text.starts_with("/proc")
                    || path.text.starts_with("/etc")
            })
            && (call.has(&['r', 'R'], &["recursive"]) || program == "rg" || program == "ag");
        if from_environment || everywhere {
            self.report(
                &Report::ask("search-secrets", Credentials, "It looks for passwords and keys."),
                call.line(),
            );
        }
    }
}
