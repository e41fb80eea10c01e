//! Names that a line gives to git commands, and uses at once.

use cofferdam_shell_syntax::{Shell, Word};

use crate::call::Call;
use crate::judge::Judge;

impl Judge<'_> {
    /// `git -c alias.x='reset --hard' x`, or `git config alias.x …` first and `git x` later.
    pub(crate) fn git_aliases(&mut self, shell: &mut Shell, program: &str, call: &Call) {
        if program != "git" {
            return;
        }
        let words: Vec<&str> = call.texts().collect();
        for (at, word) in words.iter().enumerate() {
            let Some(name) = word.strip_prefix("alias.") else { continue };
            let pair = name.split_once('=').or_else(|| Some((name, *words.get(at + 1)?)));
            if let Some((name, value)) = pair {
                self.git_names.push((name.to_owned(), value.to_owned()));
            }
        }
        if self.git_names.is_empty() || words.first() == Some(&"config") {
            return;
        }
        let mut skip = false;
        let command = words.iter().position(|word| {
            let taken = std::mem::replace(&mut skip, matches!(*word, "-c" | "-C"));
            !taken && !word.starts_with('-')
        });
        let Some(at) = command else { return };
        let Some((_, value)) = self.git_names.iter().rev().find(|(name, _)| name == words[at]).cloned()
        else {
            return;
        };
        if let Some(text) = value.strip_prefix('!') {
            shell.run_child(text, Vec::new(), &call.input, self);
            return;
        }
        let mut argv = vec![Word::known("git")];
        argv.extend(value.split_whitespace().map(Word::known));
        argv.extend(call.arguments()[at + 1..].iter().cloned());
        // A name that stands for itself is asked once.
        let names = std::mem::take(&mut self.git_names);
        self.inspect(shell, &call.with_argv(argv));
        self.git_names = names;
    }
}
