//! What programs with subcommands do: by what is known of each, and by verbs that mean the same everywhere.
//!
//! Nobody can list every program that deletes something in a cloud. But `delete`, `destroy` and `purge` as a
//! subcommand are a promise that its author kept, and so they are believed.

use crate::Category;
use crate::call::Call;
use crate::check::VALUED;
use crate::judge::{Judge, Report};
use crate::names::{Few, Names};
use crate::rules::{PLAIN, TOOL_INDEX, TOOLS, Tool, ToolEffect, VERBS, fits};

/// A verb is looked for among this many words.
const DEEPEST_VERB: usize = 4;
static HARMLESS: Names = Names::of(&[
    "--help",
    "-h",
    "help",
    "--version",
    "--dry-run",
    "--dryrun",
    "--dry-run=client",
    "--dry-run=server",
    "--what-if",
    "--whatif",
    "--simulate",
    "--check",
    "--noop",
    "can-i",
]);

/// Options whose value is code to be loaded.
static LOADS: Names = Names::of(&[
    "require",
    "import",
    "loader",
    "experimental-loader",
    "plugin",
    "plugins",
    "load-plugins",
    "preload",
    "setup",
    "globalSetup",
    "globalTeardown",
    "setupFiles",
    "setupFilesAfterEnv",
    "testEnvironment",
    "runner",
    "resolver",
    "transform",
    "init-script",
    "initscript",
    "extension",
    "load-extension",
    "load",
    "rulesdir",
    "hooks-path",
    "shell",
    "script-shell",
    "node-options",
    "python",
    "with",
    "exec",
    "pre-script",
    "post-script",
    "hook",
    "wrapper",
    "compiler",
]);

/// Words within the name of an option that say the same.
const LOAD_WORDS: &[&str] = &[
    "plugin",
    "plugins",
    "preload",
    "loader",
    "hook",
    "hooks",
    "wrapper",
    "compiler",
    "launcher",
    "linker",
    "engine",
    "modulepath",
    "extension",
    "extensions",
    "rcfile",
    "initfile",
    "interpreter",
    "pager",
    "editor",
    "runner",
    "toolchain",
    "agent",
    "processorpath",
    "rsh",
    "ext",
];

/// Programs whose configuration is code, or names programs to run.
static CONFIGURED: Names = Names::of(&[
    "vim",
    "nvim",
    "vi",
    "gvim",
    "emacs",
    "nano",
    "nginx",
    "apachectl",
    "httpd",
    "webpack",
    "vite",
    "rollup",
    "jest",
    "vitest",
    "mocha",
    "eslint",
    "prettier",
    "mypy",
    "pytest",
    "pylint",
    "flake8",
    "tox",
    "nox",
    "pre-commit",
    "cargo",
    "gradle",
    "gradlew",
    "mvn",
    "ant",
    "make",
    "ninja",
    "cmake",
    "meson",
    "bazel",
    "ansible",
    "ansible-playbook",
    "logrotate",
    "tmux",
    "screen",
    "mutt",
    "gdb",
    "lldb",
    "ssh",
    "scp",
    "sftp",
    "git",
    "npm",
    "yarn",
    "pnpm",
    "npx",
    "babel",
    "tsc",
    "karma",
    "gulp",
    "grunt",
    "rake",
    "bundle",
    "fab",
    "invoke",
    "just",
    "task",
    "supervisord",
    "haproxy",
    "sshd",
    "crond",
    "vagrant",
    "packer",
    "terraform",
    "tofu",
    "ltrace",
    "lynx",
    "mpv",
    "fluentd",
    "envoy",
    "postfix",
    "dovecot",
    "redis-server",
    "mongod",
    "mysqld",
    "postgres",
    "php",
    "ruby",
    "julia",
    "R",
    "octave",
    "playwright",
    "cypress",
    "nodemon",
    "pm2",
    "forever",
    "sphinx-build",
    "mkdocs",
    "jupyter",
    "ipython",
    "blender",
    "ctags",
    "yum",
    "dnf",
    "ghci",
    "irb",
    "wireshark",
    "weechat",
    "irssi",
    "neomutt",
    "newsboat",
    "rtorrent",
    "i3",
    "sway",
    "picom",
]);
static CONFIGURES: Names = Names::of(&[
    "c",
    "f",
    "u",
    "F",
    "l",
    "x",
    "S",
    "config",
    "config-file",
    "configuration",
    "rcfile",
    "conf",
    "conf-file",
    "file",
    "config-dir",
    "rc",
    "exec-path",
    "resolve-plugins-relative-to",
    "plugin-dir",
    "userconfig",
    "globalconfig",
    "use-yarnrc",
    "settings",
    "makefile",
    "build-file",
    "editor",
    "init-file",
    "rootdir",
    "env-file",
    "C",
    "directory",
    "D",
    "options",
    "ghci-script",
]);

/// Options that switch off the check of who is on the other side, or of what was signed.
static UNCHECKED: Names = Names::of(&[
    "--insecure-skip-tls-verify",
    "--no-verify-ssl",
    "--skip-tls-verify",
    "--disable-content-trust",
    "--allow-untrusted",
    "--nogpgcheck",
    "--no-gpg-checks",
    "--allow-unauthenticated",
    "--nosignature",
    "--no-verify-hashes",
    "--tls-verify=false",
    "--no-gpg-check",
    "--skip-verify",
    "--no-check-certificate",
    "--insecure-registry",
]);
/// Options by which what is otherwise hidden is shown.
static SHOWS: Names = Names::of(&[
    "--show-secrets",
    "--show-secret",
    "--reveal",
    "--reveal-secrets",
    "--show-token",
    "--show-tokens",
    "--show-password",
    "--show-passwords",
    "--with-secrets",
    "--include-secrets",
    "--unmask",
    "--no-redact",
]);
static INSTALLS: Names = Names::of(&[
    "install",
    "add",
    "i",
    "get",
    "require",
    "localinstall",
    "add-repo",
    "remote-add",
    "addrepo",
    "ar",
    "repo-add",
    "develop",
    "fetch-plugin",
]);
/// Where packages are kept.
const REGISTRIES: &[&str] = &[
    "pypi.org",
    "pythonhosted.org",
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "rubygems.org",
    "crates.io",
    "proxy.golang.org",
    "packagist.org",
    "download.pytorch.org",
    "dl.google.com",
    "flathub.org",
    "repo.maven.apache.org",
    "conda.anaconda.org",
    "hex.pm",
    "charts.bitnami.com",
    "npm.pkg.github.com",
    "jsr.io",
    "deno.land",
    "localhost",
    "127.0.0.1",
];

/// Subcommands that only look.
static LOOKS: Names = Names::of(&[
    "get", "list", "ls", "show", "describe", "status", "info", "view", "logs", "log", "search", "explain",
    "history", "inspect", "top", "events", "diff", "help", "version", "find", "query", "tail",
]);

impl ToolEffect {
    const fn report(self) -> Report {
        match self {
            Self::Deletes => Report::ask(
                "tool-deletes",
                Category::FileDestruction,
                "It deletes something that it manages.",
            ),
            Self::Changes => Report::ask(
                "tool-changes",
                Category::SystemControl,
                "It changes something that others depend on.",
            ),
            Self::Sends => {
                Report::ask("tool-sends", Category::Exfiltration, "It sends or shows data to somebody else.")
            }
            Self::Runs => Report::ask(
                "tool-runs",
                Category::HiddenExecution,
                "It runs something that this line does not show.",
            ),
            Self::Escalates => {
                Report::ask("tool-escalates", Category::Privilege, "It gives somebody more rights.")
            }
            Self::Persists => {
                Report::ask("tool-persists", Category::Persistence, "It makes something run again later.")
            }
            Self::Stops => {
                Report::ask("tool-stops", Category::Services, "It stops something that is running.")
            }
            Self::Reveals => Report::ask("tool-reveals", Category::Credentials, "It shows secrets."),
        }
    }
}

impl Judge<'_> {
    pub(crate) fn tools(&mut self, program: &str, call: &Call) {
        let words: Few<'_> = call.texts().collect();
        let operands = operands(&words);
        let options = words.iter().any(|word| word.starts_with('-'));
        if options && words.iter().any(|word| matches!(*word, "--help" | "-help")) {
            return;
        }
        if options {
            self.loaded(call);
        }
        self.installed(program, &words, &operands, call);
        let throwaway = crate::throwaway::is_throwaway(program, &words);
        for at in TOOL_INDEX.find(program) {
            if let Some(effect) = effect_of(&TOOLS[at], &words, &operands).filter(|_| !throwaway) {
                self.report(&effect.report(), call.line());
            }
        }
        if words.iter().any(|word| HARMLESS.contains(word)) || PLAIN.has(program) {
            return;
        }
        // A script of the project's own is its author's business.
        let own = call.argv[0].text();
        if own.contains('/') && !own.starts_with('/') {
            return;
        }
        if options && words.iter().any(|word| UNCHECKED.contains(word.split('=').next().unwrap_or_default()))
        {
            self.report(&ToolEffect::Changes.report(), call.line());
        }
        if let Some(effect) = verb_of(&words, &operands).filter(|_| !throwaway) {
            self.report(&effect.report(), call.line());
        }
        // Some programs have the verb in their own name: `lxc-destroy`.
        let own_verb = program.rsplit_once('-').map_or("", |(_, verb)| verb);
        if matches!(own_verb, "destroy" | "delete" | "purge" | "wipe" | "erase" | "nuke") && !words.is_empty()
        {
            self.report(&ToolEffect::Deletes.report(), call.line());
        }
        if words.iter().any(|word| word.starts_with("--") && SHOWS.contains(word)) {
            self.report(&ToolEffect::Reveals.report(), call.line());
        }
        let flags = ["--delete", "--purge", "--destroy", "--wipe", "--erase", "--drop", "--delete-all"];
        if options && words.iter().any(|word| flags.contains(word)) {
            self.report(&ToolEffect::Deletes.report(), call.line());
        }
    }
}

impl Judge<'_> {
    /// Code that an option makes a program load from where anybody could have put it.
    fn loaded(&mut self, call: &Call) {
        let mut words = call.arguments().iter().peekable();
        while let Some(word) = words.next() {
            let Some(option) = word.text().strip_prefix('-') else { continue };
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, value),
                None => (option, words.peek().map_or("", |word| word.text())),
            };
            let fetched = value.starts_with("http://") || value.starts_with("https://");
            let strange = fetched
                || value.starts_with("/dev/shm/")
                || value.starts_with("/tmp/")
                || value.starts_with("/var/tmp/");
            if !strange {
                continue;
            }
            let name = name.trim_start_matches('-');
            let configured = call.program().is_some_and(|program| CONFIGURED.contains(program));
            let loads = |name: &str| {
                LOADS.contains(name)
                    || name
                        .split(['-', '_', '.'])
                        .any(|part| LOAD_WORDS.iter().any(|word| part.eq_ignore_ascii_case(word)))
            };
            if loads(name) || configured && CONFIGURES.contains(name) {
                self.report(&ToolEffect::Runs.report(), call.line());
            }
        }
    }
}

impl Judge<'_> {
    /// Something installed from a place that is not where such things are kept.
    fn installed(&mut self, program: &str, words: &[&str], operands: &[&str], call: &Call) {
        if program == "git" || !operands.iter().take(3).any(|word| INSTALLS.contains(word)) {
            return;
        }
        let strange = words.iter().any(|word| {
            let address = word.contains("git+") || word.starts_with("github:") || word.contains("://");
            let known = REGISTRIES.iter().any(|registry| word.contains(registry))
                || program == "helm" && word.starts_with("https://");
            address && !known
        });
        // `npm install somebody/something` is a repository, not a package; directories are written with a dot in front.
        let repository = |word: &&str| {
            word.split_once('/').is_some_and(|(owner, name)| {
                let plain = |part: &str| {
                    !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.#".contains(c))
                };
                plain(owner) && plain(name) && !owner.starts_with('.')
            })
        };
        let short = matches!(program, "npm" | "yarn" | "pnpm" | "bun")
            && operands
                .iter()
                .skip_while(|word| !INSTALLS.contains(word))
                .any(|word| repository(word) && !word.ends_with(".tgz"));
        if strange || short {
            self.report(
                &Report::ask(
                    "foreign-package",
                    Category::SupplyChain,
                    "It installs something from a place that is not where such packages are kept.",
                ),
                call.line(),
            );
        }
    }
}

/// The words that are no options and no values of the options that everybody has.
fn operands<'w>(words: &[&'w str]) -> Few<'w> {
    let mut skip = false;
    words
        .iter()
        .copied()
        .filter(|word| {
            let taken = std::mem::replace(&mut skip, VALUED.contains(word));
            !taken && !word.starts_with('-')
        })
        .collect()
}

fn effect_of(tool: &Tool, words: &[&str], operands: &[&str]) -> Option<ToolEffect> {
    if tool.unless.iter().any(|phrase| says(phrase, words, operands)) {
        return None;
    }
    tool.effects
        .iter()
        .find(|(_, phrases)| phrases.iter().any(|phrase| says(phrase, words, operands)))
        .map(|(effect, _)| *effect)
        .or_else(|| {
            (!words.iter().any(|word| HARMLESS.contains(word)) && changes_unseen(tool, operands))
                .then_some(ToolEffect::Changes)
        })
}

/// Whether a program of which the harmless words are known is told none of them.
fn changes_unseen(tool: &Tool, operands: &[&str]) -> bool {
    !tool.looks.is_empty()
        && !operands.is_empty()
        && !operands.iter().take(DEEPEST_VERB + 1).any(|word| tool.looks.iter().any(|look| fits(look, word)))
}

/// Whether a phrase is said: its plain words in the order of the operands from the first on, its options
/// anywhere.
fn says(phrase: &str, words: &[&str], operands: &[&str]) -> bool {
    let mut at = 0;
    phrase.split(' ').all(|part| {
        if part.starts_with(['-', '=']) {
            return part.split('|').any(|part| words.iter().any(|word| option_fits(part, word)));
        }
        let found = operands.get(at).is_some_and(|word| part.split('|').any(|part| fits(part, word)));
        at += 1;
        found
    })
}

fn option_fits(pattern: &str, word: &str) -> bool {
    let pattern = pattern.strip_prefix('=').unwrap_or(pattern);
    fits(pattern, word) || word.split_once('=').is_some_and(|(option, _)| option == pattern)
}

fn verb_of(all: &[&str], operands: &[&str]) -> Option<ToolEffect> {
    let plain = |word: &&&str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c))
    };
    let words: Vec<&str> = operands.iter().take(DEEPEST_VERB).take_while(plain).copied().collect();
    let said = |word: &str, verb: &str| {
        word.strip_prefix(verb).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_', ':']))
            || word.strip_suffix(verb).is_some_and(|rest| rest.ends_with(['-', '_', ':']))
    };
    // Whoever only looks names what is looked at: `get deploy delete-worker` deletes nothing, `logs delete` does.
    let looked = words.iter().position(|word| LOOKS.contains(word)).unwrap_or(words.len());
    let counts =
        |at: usize, word: &str, verb: &str| said(word, verb) && (at < looked || looked > 0 && word == verb);
    VERBS.iter().find_map(|verb| {
        // What is cheap to see is looked at first: most calls have neither the options nor the objects that a verb needs.
        let meant = || {
            // A cache is there to be thrown away.
            verb.flags.is_empty()
                || all.iter().any(|word| word.starts_with('-') && verb.flags.contains(word))
                    && !words.iter().any(|word| word.contains("cache"))
        };
        let about = || {
            verb.with.is_empty()
                || words.iter().any(|word| word.split(['-', '_', ':']).any(|part| verb.with.contains(&part)))
        };
        let spoken = || {
            verb.words.iter().any(|wanted| {
                words.iter().take(3).enumerate().any(|(at, word)| {
                    if verb.with.is_empty() { counts(at, word, wanted) } else { said(word, wanted) }
                })
            })
        };
        (meant() && about() && spoken()).then_some(verb.effect)
    })
}
