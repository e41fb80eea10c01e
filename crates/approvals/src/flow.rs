//! Where text that is run as code comes from.

use cofferdam_shell_syntax::{Input, Shell, SimpleCommand, Source, Word};

use crate::Category;
use crate::call::Call;
use crate::judge::{Judge, Report};
use crate::names::Names;
use crate::place::Place;

static DOWNLOADERS: Names = Names::of(&[
    "curl",
    "wget",
    "fetch",
    "aria2c",
    "http",
    "https",
    "xh",
    "lynx",
    "links",
    "elinks",
    "w3m",
    "GET",
    "lwp-request",
    "nc",
    "ncat",
    "netcat",
    "socat",
    "ftp",
    "tftp",
    "scp",
    "sftp",
    "rsync",
    "ssh",
    "dig",
    "nslookup",
    "host",
    "telnet",
    "openssl",
    "gsutil",
    "aws",
    "axel",
    "curlie",
    "httpie",
    "hg",
    "svn",
    "iwr",
    "irm",
    "Invoke-WebRequest",
    "certutil",
    "bitsadmin",
    "invoke-webrequest",
    "wget2",
    "gh",
    "ipfs",
    "snarf",
    "drill",
    "busybox",
    "kdig",
    "doh",
    "s3cmd",
    "rclone",
]);
static DECODERS: Names = Names::of(&[
    "base64", "base32", "basenc", "xxd", "openssl", "gunzip", "zcat", "gzip", "bzcat", "bunzip2", "xzcat",
    "unxz", "zstdcat", "zstd", "uudecode", "rev", "tr", "od", "hexdump", "gpg", "perl", "python", "python3",
    "ruby", "php", "node", "awk", "sed", "printf", "dd", "cut", "tac", "iconv", "strings", "unzip", "tar",
    "7z", "lz4", "brotli", "age", "sops", "jq", "head", "tail", "ascii85", "qprint",
]);
/// Programs that turn text which nobody can read into text which a shell can run.
static VEILS: Names = Names::of(&[
    "base64",
    "base32",
    "base58",
    "basenc",
    "xxd",
    "openssl",
    "gunzip",
    "zcat",
    "gzip",
    "bzcat",
    "bunzip2",
    "bzip2",
    "xzcat",
    "unxz",
    "xz",
    "zstdcat",
    "zstd",
    "unzstd",
    "uudecode",
    "rev",
    "od",
    "hexdump",
    "gpg",
    "iconv",
    "lz4",
    "brotli",
    "age",
    "sops",
    "ascii85",
    "qprint",
    "tr",
    "rot13",
    "caesar",
    "lzcat",
    "unlzma",
    "7z",
    "ansible-vault",
]);
/// Words that ask a program for text to be evaluated.
static HOOK_WORDS: Names = Names::of(&[
    "completion",
    "completions",
    "completion-script",
    "--completion",
    "shellenv",
    "init",
    "hook",
    "env",
    "activate",
    "shell",
    "--print-completion",
    "generate-shell-completion",
    "shell-init",
    "docker-env",
    "podman-env",
    "--bash",
    "--zsh",
    "--shell",
    "-s",
    "--script",
    "config-env",
    "aliases",
    "--alias",
    "load",
    "setup",
    "virtualenv-init",
    "--init",
    "signin",
    "export",
    "--sh",
    "-c",
    "--eval",
    "path",
    "--path",
    "--shellinit",
    "gen-completions",
    "hook-env",
    "shell-hook",
    "shell.bash",
    "--shell-init",
    "login",
]);
/// Programs that print nothing else.
static PLAIN_HOOKS: Names = Names::of(&[
    "ssh-agent",
    "dircolors",
    "keychain",
    "resize",
    "tset",
    "lesspipe",
    "locale",
    "thefuck",
    "gpg-agent",
    "gnome-keyring-daemon",
    "register-python-argcomplete",
    "modulecmd",
    "lmod",
    "zoxide",
    "fasd",
    "hub",
    "starship",
    "direnv",
    "brew",
    "rbenv",
    "pyenv",
    "nodenv",
    "jenv",
    "goenv",
    "fnm",
    "atuin",
]);
/// Programs whose output is meant to be evaluated by a shell.
static HOOKS: Names = Names::of(&[
    "ssh-agent",
    "direnv",
    "pyenv",
    "rbenv",
    "nodenv",
    "goenv",
    "jenv",
    "brew",
    "conda",
    "mamba",
    "micromamba",
    "starship",
    "fnm",
    "mise",
    "opam",
    "dircolors",
    "zoxide",
    "minikube",
    "docker-machine",
    "keychain",
    "asdf",
    "thefuck",
    "luarocks",
    "register-python-argcomplete",
    "rustup",
    "nvm",
    "volta",
    "tfenv",
    "kubectl",
    "helm",
    "poetry",
    "pip",
    "pipenv",
    "npm",
    "gh",
    "resize",
    "lesspipe",
    "gpg-agent",
    "gnome-keyring-daemon",
    "atuin",
    "fzf",
    "saml2aws",
    "aws-vault",
    "podman",
    "fasd",
    "hub",
    "perl",
    "locale",
    "tset",
    "zellij",
    "op",
    "doppler",
    "uv",
    "just",
    "pixi",
    "devbox",
    "spack",
    "lmod",
    "modulecmd",
    "swiftenv",
    "ng",
    "pdm",
    "hatch",
]);

fn program(command: &SimpleCommand) -> &str {
    let mut words = command.argv.iter().map(Word::text).filter(|text| {
        !matches!(*text, "sudo" | "command" | "env" | "timeout" | "nohup" | "exec" | "builtin")
            && !text.starts_with('-')
            && !text.contains('=')
    });
    let name = words.next().unwrap_or_default();
    name.rsplit('/').next().unwrap_or(name)
}

/// A program that prints settings for a shell, asked for them.
fn prints_settings(command: &SimpleCommand) -> bool {
    let name = program(command);
    PLAIN_HOOKS.contains(name)
        || (HOOKS.contains(name)
            && command.argv[1..].iter().any(|word| {
                let text = word.text().split('=').next().unwrap_or_default();
                HOOK_WORDS.contains(text) || text.contains("local::lib") || text.contains("complet")
            }))
}

fn is_veil(command: &SimpleCommand) -> bool {
    let name = program(command);
    let escapes = |text: &str| {
        text.as_bytes().windows(2).any(|pair| pair[0] == b'\\' && matches!(pair[1], b'x' | b'0'..=b'7'))
    };
    VEILS.contains(name)
        || (matches!(name, "printf" | "echo") && command.argv[1..].iter().any(|word| escapes(word.text())))
}

fn is_veiled(shell: &Shell, sources: &[Source]) -> bool {
    sources.iter().any(|source| match source {
        Source::Commands(range) => {
            shell.commands().get(range.clone()).unwrap_or_default().iter().any(is_veil)
        }
        Source::Variable(_) => false,
    })
}

impl Judge<'_> {
    /// Whether something comes from the network, and whether it was decoded on the way.
    pub(crate) fn origin(&self, shell: &Shell, sources: &[Source]) -> (bool, bool) {
        let (mut network, mut decoded) = (false, false);
        for source in sources {
            if let Source::Commands(range) = source {
                for command in shell.commands().get(range.clone()).unwrap_or_default() {
                    let name = program(command);
                    network |= DOWNLOADERS.contains(name)
                        || command
                            .redirects
                            .iter()
                            .any(|redirect| redirect.target.text().starts_with("/dev/tcp/"));
                    decoded |= DECODERS.contains(name);
                }
            }
        }
        (network, decoded)
    }

    /// Whether something comes from the network, or from text that nobody can read.
    pub(crate) fn is_strange(&self, shell: &Shell, sources: &[Source]) -> bool {
        self.origin(shell, sources).0 || is_veiled(shell, sources)
    }

    /// Text run as code that is not known.
    pub(crate) fn unknown_script(&mut self, shell: &Shell, text: &Word, call: &Call) {
        if matches!(call.program(), Some("eval" | "source" | ".")) && self.is_hook(shell, text.sources()) {
            return;
        }
        let report = match self.origin(shell, text.sources()) {
            (true, _) => {
                Report::ask("remote-code", Category::RemoteCode, "What it downloads is run as code, unseen.")
            }
            (false, true) => Report::ask(
                "decoded-code",
                Category::HiddenExecution,
                "Text that is decoded or assembled on the way is run as code.",
            ),
            (false, false) => Report::ask(
                "unknown-code",
                Category::NotUnderstood,
                "Text that is not known before it runs is run as code.",
            ),
        };
        self.report(&report, call.line());
    }

    fn is_hook(&self, shell: &Shell, sources: &[Source]) -> bool {
        let ranges: Vec<_> = sources
            .iter()
            .filter_map(|source| match source {
                Source::Commands(range) => Some(range.clone()),
                Source::Variable(_) => None,
            })
            .collect();
        ranges.len() == sources.len()
            && !ranges.is_empty()
            && ranges.iter().all(|range| {
                let mut commands = shell.commands()[range.clone()]
                    .iter()
                    .filter(|command| !command.argv.is_empty())
                    .peekable();
                commands.peek().is_some() && commands.all(prints_settings)
            })
    }

    /// Text that is known and run as code, but that a person could not read where it stands.
    pub(crate) fn veiled(&mut self, shell: &Shell, sources: &[Source], call: &Call) {
        if is_veiled(shell, sources) {
            self.report(
                &Report::ask(
                    "decoded-code",
                    Category::HiddenExecution,
                    "Text that is decoded or assembled on the way is run as code.",
                ),
                call.line(),
            );
        }
    }

    /// An interpreter that reads its program from standard input.
    pub(crate) fn stdin_script(&mut self, shell: &mut Shell, call: &Call) {
        match &call.input {
            Input::Inherited => {}
            Input::File(path) => {
                let own = matches!(
                    call.path(path, self.context).place,
                    Place::Inside | Place::Regenerable | Place::Temporary
                ) && path.text().ends_with("sh");
                if path.text().starts_with("/dev/tcp/") || !own {
                    self.report(
                        &Report::ask(
                            "remote-code",
                            Category::RemoteCode,
                            "What it reads from elsewhere is run as code.",
                        ),
                        call.line(),
                    );
                }
            }
            Input::Text(text) | Input::Pipe { output: text, .. } => {
                let text = text.clone();
                if let (false, Input::Pipe { from, .. }) = (text.is_unknown(), &call.input) {
                    self.veiled(shell, &[Source::Commands(from.clone())], call);
                }
                if text.is_unknown() {
                    let mut origin = text.clone();
                    if let Input::Pipe { from, .. } = &call.input {
                        origin = Word::unknown(Some(Source::Commands(from.clone()))).into();
                    }
                    self.unknown_script(shell, &origin, call);
                }
                let mut inner = call.clone();
                inner.input = Input::Inherited;
                if text.text().chars().any(|c| c != cofferdam_shell_syntax::HOLE && !c.is_whitespace()) {
                    shell.run_child(text.text(), Vec::new(), &Input::Inherited, self);
                }
            }
        }
    }
}
