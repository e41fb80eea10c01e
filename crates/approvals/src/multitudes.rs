//! Program text that does something without end, or to everything: processes, and trees of files.

use cofferdam_shell_syntax::{Shell, Word};

use crate::accounts::EVERY;
use crate::call::Call;
use crate::inline::mentions;
use crate::judge::{FLOODS, Judge};
use crate::literal::inside;
use crate::place::{Path, Place};
use crate::program_text::{Argument, Program};

impl Judge<'_> {
    /// Processes without end, or the end of all processes.
    pub(crate) fn multitudes(&mut self, name: &str, masked: &str, at: usize, call: &Call) {
        // Who looks at what becomes of a process has an end in mind.
        let watched = ["wait", "exit", "join"].iter().any(|word| masked.contains(word));
        if name.contains("fork") && (loops(masked) || recurs(masked)) && !watched {
            self.report(&FLOODS, call.line());
        }
        // Other processes are started in loops for good reasons, so that this one must have no end in sight.
        let calm = ["sleep", "break", "return", "communicate", "await", "input(", "accept", "get("];
        if !name.contains("fork")
            && endless(masked)
            && !watched
            && !calm.iter().any(|word| masked.contains(word))
        {
            self.report(&FLOODS, call.line());
        }
        let statement = masked[at..].split([';', '\n', '}']).next().unwrap_or_default();
        let mut words = statement.split(|c: char| c.is_whitespace() || "(),".contains(c));
        if name.ends_with("kill") && words.any(|word| word == "-1") {
            self.report(&EVERY, call.line());
        }
    }

    /// A tree that is gone through by a program that deletes: told where it is one that nothing may delete.
    pub(crate) fn walked(
        &mut self,
        shell: &mut Shell,
        tree: Option<&Argument>,
        program: &Program<'_>,
        start: usize,
        call: &Call,
    ) {
        const DELETES: &[&str] = &[
            "unlink",
            "rmtree",
            "rmdir",
            "os.remove",
            "remove_tree",
            "rm_rf",
            "rm_r",
            "rmSync",
            "File.delete",
            "removeSync",
            "RemoveAll",
            "remove_dir_all",
            ".rm(",
        ];
        let tree =
            match tree {
                Some(Argument::Text(text)) => Some(text.clone()),
                Some(_) => program.strings.iter().find(|(from, ..)| *from > start).and_then(
                    |&(from, end, constant)| constant.then(|| inside(&program.code[from..end]).to_owned()),
                ),
                None => program.string_before(start),
            };
        let Some(tree) = tree.filter(|_| DELETES.iter().any(|name| mentions(program.code, name))) else {
            return;
        };
        let place = Path::of_text(&tree, call.directory.as_deref(), self.context).place;
        if matches!(place, Place::Root | Place::SystemTop | Place::Home) {
            let argv = ["rm", "-r", &tree].map(Word::known).to_vec();
            self.inspect(shell, &call.with_argv(argv));
        }
    }
}

/// Whether something is done again and again.
fn loops(masked: &str) -> bool {
    [
        "while",
        "until",
        "loop",
        "for(;;)",
        "for (;;)",
        "redo",
        "setInterval",
        "setImmediate",
        "iter(int",
        "count()",
        "cycle",
    ]
    .iter()
    .any(|word| mentions(masked, word))
}

/// Whether something is done for ever.
fn endless(masked: &str) -> bool {
    let tight: String = masked.chars().filter(|c| !c.is_whitespace()).collect();
    [
        "whileTrue",
        "while1",
        "while(1)",
        "while(true)",
        "for(;;)",
        "whiletrue",
        "loop{",
        "loopdo",
        "untilfalse",
        "initer(int,",
        "initertools.count(",
        "initertools.repeat(",
        "initertools.cycle(",
        ";redo",
        ",redo",
    ]
    .iter()
    .any(|loop_| tight.contains(loop_))
}

/// Whether a function calls itself: it is named where it is made, in itself, and where it is called first.
fn recurs(masked: &str) -> bool {
    ["def ", "function ", "sub "].iter().any(|make| {
        masked.match_indices(make).any(|(at, _)| {
            let rest = &masked[at + make.len()..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let name = &rest[..end];
            !name.is_empty()
                && rest
                    .match_indices(name)
                    .filter(|(at, _)| rest[at + end..].starts_with(['(', ';', ' ', '}']))
                    .count()
                    >= 3
        })
    })
}
