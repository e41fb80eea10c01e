//! Options as programs read them: `-uc'text'` is `-u -c 'text'`, and `--comm=text` is `--command text`.
//!
//! What looks at a call knows an option by its own word and its value by the next one. Programs also take the value joined
//! to the option, the option within a cluster, and any beginning of a long name. Such a call is judged a second time, spelt
//! out. It is judged as it stands as well, so no beginning of `--dry-run` can excuse anything.

use cofferdam_shell_syntax::{Shell, Word};

use crate::Finding;
use crate::call::Call;
use crate::judge::{Judge, not_understood};
use crate::language::Language;

/// A beginning of a long name is read as that name from so many letters on.
const SHORTEST: usize = 3;
/// Calls within calls are spelt out this deep; beyond, it is asked about, as each looks at what is inside once more.
const DEEPEST: usize = 2;

/// How a program reads its options.
struct Spelling {
    /// Its letters as for `getopt`: `x` alone, `x:` with a value, `x::` with a value that is always joined, `x#` with digits
    /// that are always joined.
    short: &'static str,
    /// Its long names, `name=` with a value; the first that a word begins is meant.
    long: &'static [&'static str],
    /// Whether the first word that is no option ends them.
    ends: bool,
    /// The letters behind whose value there are no options either: it is program text, and what follows is the program's.
    text: &'static str,
    /// Whether rules know its letters only by themselves, so that every cluster is taken apart.
    apart: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    Joined,
    Digits,
}

impl Spelling {
    const fn of(short: &'static str, long: &'static [&'static str]) -> Self {
        Self { short, long, ends: false, text: "", apart: false }
    }

    const fn ending(short: &'static str, long: &'static [&'static str]) -> Self {
        Self { ends: true, ..Self::of(short, long) }
    }

    const fn apart(short: &'static str, long: &'static [&'static str]) -> Self {
        Self { apart: true, ..Self::of(short, long) }
    }

    fn letter(&self, letter: u8) -> Option<Takes> {
        if !letter.is_ascii_alphanumeric() {
            return None;
        }
        let at = self.short.bytes().position(|known| known == letter)?;
        Some(match &self.short.as_bytes()[at + 1..] {
            [b':', b':', ..] => Takes::Joined,
            [b':', ..] => Takes::Value,
            [b'#', ..] => Takes::Digits,
            _ => Takes::Nothing,
        })
    }

    /// The whole name that a name stands for, and whether it takes a value.
    fn name(&self, name: &str) -> Option<(&'static str, bool)> {
        let parts = |known: &&'static str| match known.strip_suffix('=') {
            Some(known) => (known, true),
            None => (*known, false),
        };
        let mut known = self.long.iter().map(parts);
        known
            .clone()
            .find(|(known, _)| *known == name)
            .or_else(|| known.find(|(known, _)| name.len() >= SHORTEST && known.starts_with(name)))
    }
}

impl Judge<'_> {
    /// The same call with its options spelt out.
    pub(crate) fn inspect_spelt(&mut self, shell: &mut Shell, call: &Call, spelt: &Call) {
        if self.spelt >= DEEPEST {
            let finding = not_understood("it hides behind too many wrappers", &call.line());
            if !self.findings.contains(&finding) {
                self.findings.push(finding);
            }
            return;
        }
        self.spelt += 1;
        let before = self.findings.len();
        self.inspect_inner(shell, spelt);
        self.spelt -= 1;
        // What was said of the call as it stands is not said of it again.
        if self.findings.len() > before {
            let (line, spelt) = (call.line(), spelt.line());
            let more = self.findings.split_off(before);
            let said = |new: &Finding| {
                let same = |known: &Finding| known.rule == new.rule && known.decision == new.decision;
                self.findings.iter().any(|known| same(known) && known.words == line)
            };
            let more: Vec<_> = more.into_iter().filter(|new| new.words != spelt || !said(new)).collect();
            self.findings.extend(more);
        }
    }
}

impl Call {
    /// The call with its options spelt out; none if they are already, or if nothing is known of them.
    pub fn spelt_out(&self) -> Option<Self> {
        let program = self.program()?;
        let possible = |word: &Word| matches!(word.text().as_bytes(), [b'-', _, _, ..]);
        if !self.arguments().iter().any(possible) && program != "tar" {
            return None;
        }
        let (spelling, from) = self.spelling(program)?;
        let mut changed = false;
        let mut argv: Vec<Word> = Vec::new();
        let mut words = self.argv[from..].iter().enumerate();
        while let Some((at, word)) = words.next() {
            let text = word.text();
            if text == "--" {
                argv.push(word.clone());
                break;
            }
            let after = if let Some(long) = text.strip_prefix("--") {
                spelling.long(long, word, &mut argv, &mut changed)
            } else if let Some(cluster) = text.strip_prefix('-').filter(|cluster| !cluster.is_empty()) {
                spelling.cluster(cluster, word, &mut argv, &mut changed)
            } else if program == "tar" && at == 0 && text.contains('/') {
                spelling.cluster(text, word, &mut argv, &mut changed)
            } else {
                argv.push(word.clone());
                After { value: false, ends: spelling.ends && !text.contains('=') }
            };
            if after.value {
                argv.extend(words.next().map(|(_, value)| value.clone()));
            }
            if after.ends {
                break;
            }
        }
        if !changed {
            return None;
        }
        argv.extend(words.map(|(_, word)| word.clone()));
        let mut all = self.argv[..from].to_vec();
        all.append(&mut argv);
        Some(self.with_argv(all))
    }

    /// How the program reads its options, and from which word on.
    fn spelling(&self, program: &str) -> Option<(&'static Spelling, usize)> {
        if program == "git" {
            let mut at = 1;
            while self.argv.get(at)?.text().starts_with('-') {
                at += if matches!(self.argv[at].text(), "-C" | "-c" | "--git-dir" | "--work-tree") {
                    2
                } else {
                    1
                };
            }
            return Some((of_git(self.argv[at].text())?, at + 1));
        }
        of_program(program).or_else(|| of_language(Language::of(program)?)).map(|spelling| (spelling, 1))
    }
}

/// What stands behind a word.
#[derive(Default)]
struct After {
    /// Its value.
    value: bool,
    /// No further option.
    ends: bool,
}

impl Spelling {
    fn long(&self, long: &str, word: &Word, argv: &mut Vec<Word>, changed: &mut bool) -> After {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        let Some((whole, valued)) = self.name(name) else {
            argv.push(word.clone());
            return After::default();
        };
        *changed |= whole != name || valued && value.is_some();
        match value {
            Some(value) if valued => {
                argv.push(Word::known(format!("--{whole}")));
                argv.push(word.with_text(value));
                After::default()
            }
            Some(value) => {
                argv.push(word.with_text(format!("--{whole}={value}")));
                After::default()
            }
            None => {
                argv.push(Word::known(format!("--{whole}")));
                After { value: valued, ends: false }
            }
        }
    }

    /// Letters behind one dash. A letter that is not known leaves the word as it is.
    fn cluster(&self, cluster: &str, word: &Word, argv: &mut Vec<Word>, changed: &mut bool) -> After {
        let before = argv.len();
        let mut at = 0;
        while let Some(&letter) = cluster.as_bytes().get(at) {
            let Some(takes) = self.letter(letter) else {
                argv.truncate(before);
                argv.push(word.clone());
                return After::default();
            };
            let start = at;
            at += 1;
            match takes {
                Takes::Nothing => {}
                Takes::Digits => {
                    at += cluster.bytes().skip(at).take_while(u8::is_ascii_digit).count();
                }
                Takes::Joined => at = cluster.len(),
                Takes::Value => {
                    argv.push(Word::known(format!("-{}", char::from(letter))));
                    let value = &cluster[at..];
                    *changed |= start > 0 || !value.is_empty();
                    if !value.is_empty() {
                        argv.push(word.with_text(value));
                    }
                    return After { value: value.is_empty(), ends: self.text.contains(char::from(letter)) };
                }
            }
            argv.push(Word::known(format!("-{}", &cluster[start..at])));
            *changed |= start > 0 && self.apart;
        }
        After::default()
    }
}

fn of_language(language: Language) -> Option<&'static Spelling> {
    static PYTHON: Spelling =
        Spelling { text: "cm", ..Spelling::ending("bBdEhiIOPqRsSuvVx3tc:m:W:X:Q:", &[]) };
    static PERL: Spelling = Spelling::ending("acnpsStTuUvwWXfge:E:I:F::M::m::i::x::C::D::d::V::0#l#", &[]);
    static RUBY: Spelling = Spelling::ending("aclnpsSvwUhye:I:r:C:E:F::i::T::W::x::K::0#", &[]);
    static PHP: Spelling = Spelling::ending(
        "anqislwmvHhCr:R:B:E:F:f:d:c:z:S:t:",
        &["run=", "process-begin=", "process-code=", "process-end=", "define="],
    );
    static SED: Spelling =
        Spelling::of("nErsuzbe:f:l:i::", &["expression=", "file=", "in-place", "line-length="]);
    static AWK: Spelling = Spelling::ending(
        "bcCghkMnNOPrsStVF:v:f:e:i:E:l:d::D::L::o::p::",
        &["source=", "file=", "assign=", "field-separator=", "include=", "load=", "exec="],
    );
    static NODE: Spelling = Spelling::ending("cihvpe:r:C:", &["eval=", "require=", "import="]);
    static LUA: Spelling = Spelling::ending("ivEWe:l:", &[]);
    Some(match language {
        Language::Python => &PYTHON,
        Language::Perl => &PERL,
        Language::Ruby => &RUBY,
        Language::Php => &PHP,
        Language::Sed => &SED,
        Language::Awk => &AWK,
        Language::Javascript => &NODE,
        Language::Lua => &LUA,
        _ => return None,
    })
}

fn of_program(program: &str) -> Option<&'static Spelling> {
    static PSQL: Spelling = Spelling::of(
        "aAbeEHlnqsStVwWxXz01c:d:f:F:h:L:o:p:P:R:T:U:v:",
        &["command=", "file=", "host=", "dbname=", "output=", "log-file=", "username=", "port="],
    );
    static MYSQL: Spelling = Spelling::of(
        "ABbCcEfGHiILnNoqrstTUVvwWXp::e:h:P:u:D:S:",
        &["execute=", "host=", "database=", "init-command=", "user=", "port=", "socket=", "tee=", "pager"],
    );
    static CLICKHOUSE: Spelling = Spelling::of(
        "mnEtVq:h:d:u:C:f:",
        &["query=", "queries-file=", "host=", "database=", "user=", "port=", "multiquery="],
    );
    static SQLCMD: Spelling = Spelling::of(
        "EeIkLNCRrWXxpbQ:q:S:U:P:d:i:o:v:t:l:h:s:w:m:V:H:a:c:",
        &["query=", "initial-query=", "input-file=", "output-file="],
    );
    static EXECUTES: Spelling =
        Spelling::of("e:f:c:k:u:", &["execute=", "eval=", "command=", "file=", "host="]);
    static SCRIPT: Spelling = Spelling::of(
        "aefqhVc:E:I:O:B:T:m:o:t::",
        &["command=", "log-out=", "log-in=", "log-io=", "log-timing="],
    );
    static NPX: Spelling = Spelling::ending("yqhvc:p:w:", &["call=", "package=", "workspace="]);
    static DOPPLER: Spelling = Spelling::of("p:c:t:", &["command=", "project=", "config=", "token="]);
    static NETCAT: Spelling = Spelling::of(
        "46bCDdFhklNnrStUuvZze:c:g:G:i:I:M:m:O:o:P:p:q:s:T:V:w:X:x:",
        &["exec=", "sh-exec=", "lua-exec=", "output="],
    );
    static CURL: Spelling = Spelling::of(
        "012346aBfgGiIjJklLMnNOpqRsSvVZA:b:c:C:d:D:e:E:F:h::H:K:m:o:P:Q:r:t:T:u:U:w:x:X:y:Y:z:",
        &[
            "upload-file=",
            "data=",
            "data-binary=",
            "data-raw=",
            "data-urlencode=",
            "data-ascii=",
            "form=",
            "json=",
        ],
    );
    static WGET: Spelling = Spelling::of(
        "46bcdEFhHkKLmNpqrSvVxP:O:o:a:e:i:B:t:T:w:Q:U:A:R:D:I:X:l:",
        &[
            "directory-prefix=",
            "output-document=",
            "output-file=",
            "append-output=",
            "post-file=",
            "post-data=",
            "body-file=",
            "body-data=",
            "execute=",
            "use-askpass=",
            "no-check-certificate",
        ],
    );
    static TAR: Spelling = Spelling::of(
        "AcdrtuxkUWOnpsSvwzZjJahmMPiBRlof:C:T:X:I:b:H:g:F:K:L:N:V:",
        &[
            "to-command=",
            "directory=",
            "checkpoint-action=",
            "use-compress-program=",
            "rsh-command=",
            "rmt-command=",
            "info-script=",
            "new-volume-script=",
            "files-from=",
            "file=",
            "absolute-names",
            "remove-files",
            "extract",
            "create",
            "checkpoint",
        ],
    );
    static COPY: Spelling = Spelling::of(
        "abdDfFiHlLnPpRrsTuvxZt:S:",
        &["target-directory=", "suffix=", "symbolic-link", "link", "recursive", "force"],
    );
    static INSTALL: Spelling =
        Spelling::of("bcCdDpsTvZg:m:o:t:S:", &["target-directory=", "mode=", "owner=", "group=", "suffix="]);
    static REMOVE: Spelling = Spelling::of("dfiIrRv", &["recursive", "no-preserve-root", "force"]);
    static MODE: Spelling = Spelling::of("", &["recursive", "reference="]);
    static SORT: Spelling = Spelling::of(
        "bdfghiMnrRVcCmsuzk:o:S:t:T:",
        &["output=", "compress-program=", "files0-from=", "temporary-directory="],
    );
    static ENV: Spelling = Spelling::ending("i0vu:C:S:P:", &["split-string=", "chdir=", "unset="]);
    static RSYNC: Spelling = Spelling::of(
        "vqcahHrRbudDglLkKopPtxSyzCAXEWnOJ0iUN468Fse:B:f:T:M:",
        &["rsh=", "rsync-path=", "delete", "remove-source-files"],
    );
    static CONTAINER: Spelling = Spelling::of(
        "dDiPqta:c:e:h:l:m:p:u:v:w:",
        &["entrypoint=", "volume=", "mount=", "privileged", "workdir=", "user="],
    );
    Some(match program {
        "psql" | "pgcli" => &PSQL,
        "mysql" | "mariadb" | "mycli" => &MYSQL,
        "clickhouse-client" | "clickhouse" | "clickhouse-local" => &CLICKHOUSE,
        "sqlcmd" => &SQLCMD,
        "cockroach" | "cqlsh" | "mongosh" | "mongo" | "duckdb" => &EXECUTES,
        "script" => &SCRIPT,
        "npx" | "bunx" | "pnpx" => &NPX,
        "doppler" => &DOPPLER,
        "nc" | "ncat" | "netcat" => &NETCAT,
        "curl" => &CURL,
        "wget" => &WGET,
        "tar" | "gtar" | "bsdtar" => &TAR,
        "cp" | "mv" | "ln" | "gcp" | "gmv" | "gln" => &COPY,
        "install" | "ginstall" => &INSTALL,
        "rm" | "grm" => &REMOVE,
        "chmod" | "chown" | "chgrp" => &MODE,
        "sort" | "gsort" => &SORT,
        "env" | "genv" => &ENV,
        "rsync" => &RSYNC,
        "docker" | "podman" | "nerdctl" => &CONTAINER,
        _ => return None,
    })
}

fn of_git(command: &str) -> Option<&'static Spelling> {
    static PUSH: Spelling = Spelling::apart(
        "dfnquv46o:",
        &[
            "delete",
            "mirror",
            "force",
            "prune",
            "all",
            "receive-pack=",
            "exec=",
            "repo=",
            "force-with-lease",
            "force-if-includes",
        ],
    );
    static RESET: Spelling = Spelling::of("", &["hard", "merge", "keep"]);
    static CHECKOUT: Spelling =
        Spelling::apart("fqmdlptb:B:", &["force", "orphan=", "merge", "ours", "theirs"]);
    static SWITCH: Spelling =
        Spelling::apart("fqmdtc:C:", &["force", "discard-changes", "force-create=", "orphan="]);
    static BRANCH: Spelling = Spelling::apart("dDfmMcCrvaqlitu:", &["delete", "force", "move"]);
    static REBASE: Spelling = Spelling::of(
        "fivqnmrkSx:s:X:C:",
        &["exec=", "onto=", "strategy=", "strategy-option=", "interactive", "root"],
    );
    static CLONE: Spelling = Spelling::of(
        "lnqsvu:o:b:c:j:",
        &["upload-pack=", "config=", "template=", "origin=", "branch=", "reference="],
    );
    static FETCH: Spelling = Spelling::of("", &["upload-pack=", "exec=", "force", "prune"]);
    static CLEAN: Spelling = Spelling::of("dfinqxXe:", &["force", "exclude="]);
    static GREP: Spelling = Spelling::of("", &["open-files-in-pager"]);
    static DIFFTOOL: Spelling = Spelling::of("dgyx:t:", &["extcmd=", "tool="]);
    static ARCHIVE: Spelling = Spelling::of("lvo:", &["exec=", "remote=", "output="]);
    static FORCED: Spelling = Spelling::of("", &["delete", "force", "prune"]);
    Some(match command {
        "push" => &PUSH,
        "reset" => &RESET,
        "checkout" => &CHECKOUT,
        "switch" => &SWITCH,
        "branch" => &BRANCH,
        "rebase" => &REBASE,
        "clone" => &CLONE,
        "fetch" | "pull" | "ls-remote" | "fetch-pack" | "send-pack" => &FETCH,
        "clean" => &CLEAN,
        "grep" => &GREP,
        "difftool" => &DIFFTOOL,
        "archive" => &ARCHIVE,
        "tag" | "rm" | "worktree" | "gc" | "stash" | "submodule" => &FORCED,
        _ => return None,
    })
}
