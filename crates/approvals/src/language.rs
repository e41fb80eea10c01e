//! The languages that program text on a command line is written in, and what their calls can do.

use crate::names::{Names, last_part};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    Javascript,
    Perl,
    Ruby,
    Php,
    Lua,
    Awk,
    Sed,
    R,
    Julia,
    Tcl,
    Vim,
    Emacs,
    Applescript,
    Groovy,
    Erlang,
    M4,
    /// What is compiled before it runs: C, Go, Rust.
    Compiled,
}

/// What a call does to the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Its argument is shell text.
    Shell,
    /// Its arguments are a command.
    Command,
    Delete,
    DeleteTree,
    /// It opens a file, for writing if a mode says so.
    Open,
    Write,
    /// It gives a file another place or name.
    Move,
    /// Its argument is program text.
    Code,
    /// It is asked about whatever its arguments are.
    Ask,
    /// It connects a program to the network by hand.
    Connect,
    /// It stops processes.
    Stop,
    /// It stops or restarts the machine.
    Power,
    /// It goes through a tree; what is deleted on the way lies in it.
    Walk,
    /// It starts another process and goes on.
    Start,
}

/// The names of programs, without the numbers at their end.
#[rustfmt::skip]
const NAMED: &[(Language, &[&str])] = &[
    (Language::Python, &["python", "pypy", "ipython", "jython", "micropython", "python3-intel", "pythonw", "py"]),
    (Language::Javascript, &[
        "node", "nodejs", "bun", "deno", "tsx", "ts-node", "qjs", "d", "mongosh", "mongo", "gjs", "electron",
    ]),
    (Language::Perl, &["perl", "raku", "perl6"]),
    (Language::Ruby, &["ruby", "irb", "jruby", "rails", "crystal"]),
    (Language::Php, &["php", "php-cli"]),
    (Language::Lua, &["lua", "luajit", "texlua"]),
    (Language::Awk, &["awk", "gawk", "mawk", "nawk", "goawk"]),
    (Language::Sed, &["sed", "gsed"]),
    (Language::R, &["Rscript", "R", "littler", "octave", "gnuplot", "octave-cli", "matlab"]),
    (Language::Julia, &["julia"]),
    (Language::Tcl, &["tclsh", "expect", "wish"]),
    (Language::Vim, &["vim", "vi", "nvim", "ex", "view", "vimdiff", "gvim", "rvim"]),
    (Language::Emacs, &[
        "emacs", "emacsclient", "guile", "sbcl", "clisp", "racket", "scheme", "csi", "gosh", "ecl", "chicken",
        "mit-scheme", "ghc", "runghc", "swipl", "ocaml",
    ]),
    (Language::Applescript, &["osascript"]),
    (Language::Groovy, &[
        "swift", "dart", "kotlinc", "nim", "groovy", "groovysh", "jshell", "scala", "kotlin", "clojure", "clj", "bb",
    ]),
    (Language::Erlang, &["erl", "elixir", "iex", "escript"]),
    // `m4` and `gm4`.
    (Language::M4, &["m", "gm"]),
];
/// Nearly every program is none of them.
static BASES: Names = {
    let mut filter = Names::of(&[]);
    let mut at = 0;
    while at < NAMED.len() {
        filter = filter.and(NAMED[at].1);
        at += 1;
    }
    filter
};

impl Language {
    pub fn of(program: &str) -> Option<Self> {
        let name = last_part(program);
        let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        if !BASES.may_contain(base.as_bytes()) {
            return None;
        }
        let known = NAMED.iter().find(|(_, names)| names.contains(&base));
        known.map(|(language, _)| *language).filter(|language| *language != Self::M4 || name.ends_with("m4"))
    }

    pub fn code_flags(self) -> &'static [&'static str] {
        match self {
            Self::Python | Self::Tcl => &["-c"],
            Self::Javascript => &["-e", "-p", "--eval", "--print", "eval", "-pe"],
            Self::Perl => &["-e", "-E"],
            Self::Ruby => &["-e", "eval", "runner"],
            Self::Lua => &["-e"],
            Self::R => &["-e", "--eval", "-batch", "-r"],
            Self::Php => &["-r", "-R", "-B"],
            Self::Awk => &["-e", "--source"],
            Self::Sed => &["-e", "--expression"],
            Self::Julia => &["-e", "-E", "--eval"],
            Self::Vim => &["-c", "--cmd", "-S"],
            Self::Emacs => &["--eval", "-eval", "--execute", "-e", "-c", "-x", "-g"],
            Self::Applescript => &["-e"],
            Self::Groovy => &["-e", "--eval", "-M"],
            Self::Erlang => &["-e", "-eval", "--eval"],
            Self::M4 | Self::Compiled => &[],
        }
    }

    /// The first word that is no option is the program text.
    pub fn code_is_operand(self) -> bool {
        matches!(self, Self::Awk | Self::Sed)
    }

    pub fn reads_stdin(self) -> bool {
        !matches!(self, Self::Awk | Self::Sed | Self::Vim | Self::Emacs)
    }

    pub fn takes_value(self, option: &str) -> bool {
        match self {
            Self::Awk => matches!(option, "-F" | "-v" | "-f" | "--field-separator" | "--assign" | "--file"),
            Self::Python => matches!(option, "-W" | "-X"),
            Self::Javascript => matches!(option, "-r" | "--require" | "--import" | "--loader"),
            Self::Perl => matches!(option, "-I"),
            Self::Sed => matches!(option, "-f" | "-l"),
            Self::Ruby => matches!(option, "-r" | "-I"),
            Self::Vim => matches!(option, "-u" | "-w" | "-W"),
            Self::Applescript => matches!(option, "-l"),
            _ => false,
        }
    }

    /// Languages of which the tables hold only a few calls.
    pub fn little_known(self) -> bool {
        matches!(self, Self::R | Self::Julia | Self::Tcl | Self::Emacs | Self::Groovy | Self::Erlang)
    }

    pub fn comment(self) -> Option<&'static str> {
        match self {
            Self::Python | Self::Perl | Self::Ruby | Self::Awk | Self::R | Self::Julia | Self::Tcl => {
                Some("#")
            }
            Self::Javascript | Self::Php | Self::Groovy | Self::Compiled => Some("//"),
            Self::Lua | Self::Applescript => Some("--"),
            Self::Erlang => Some("%"),
            Self::Emacs => Some(";"),
            Self::Sed | Self::Vim | Self::M4 => None,
        }
    }

    /// Calls may be written without brackets.
    pub fn bare_calls(self) -> bool {
        matches!(
            self,
            Self::Perl
                | Self::Ruby
                | Self::Tcl
                | Self::Applescript
                | Self::Php
                | Self::Lua
                | Self::Vim
                | Self::Emacs
        )
    }

    pub fn interpolates(self, text: &str) -> bool {
        match self {
            Self::Ruby | Self::Erlang => text.contains("#{"),
            Self::Perl | Self::Php | Self::Julia | Self::Tcl | Self::Groovy => {
                text.contains('$') || (self == Self::Perl && text.contains('@'))
            }
            Self::Javascript => text.contains("${"),
            _ => false,
        }
    }
}
