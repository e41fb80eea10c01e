//! Program text that does something to each of a few things that it lists.

use cofferdam_shell_syntax::{HOLE, Shell, Word};

use crate::call::Call;
use crate::judge::Judge;
use crate::literal::inside;
use crate::program_text::{Argument, Program};

/// More of them are not tried.
const MOST: usize = 8;
/// In longer programs nothing is tried, which is asked about in any case: each call goes through all of it.
pub(crate) const LONGEST: usize = 16 * 1024;
/// How far in front of one of them its list may begin.
const FARTHEST: usize = 400;

impl Judge<'_> {
    /// `for d in ["/"]: rmtree(d)` deletes what it lists.
    pub(crate) fn deletes_each(
        &mut self,
        shell: &mut Shell,
        program: &Program<'_>,
        start: usize,
        call: &Call,
    ) {
        if !program.is_given_a_name(start) {
            return;
        }
        for thing in program.listed() {
            let argv = ["rm", "-r", &thing].map(Word::known).to_vec();
            self.inspect(shell, &call.with_argv(argv));
        }
    }

    /// `[os.system('rm -r ' + d) for d in ("/",)]`.
    pub(crate) fn runs_each(
        &mut self,
        shell: &mut Shell,
        program: &Program<'_>,
        first: &Argument,
        call: &Call,
    ) {
        let Argument::Text(text) = first else { return };
        if text.matches(HOLE).count() == 1 {
            for thing in program.listed() {
                self.run_at(shell, &text.replace(HOLE, &thing), call);
            }
        }
    }
}

impl Program<'_> {
    /// Whether the call that begins here is given a variable and nothing made of one.
    fn is_given_a_name(&self, start: usize) -> bool {
        let Some((_, arguments)) = self.masked.get(start..).and_then(|rest| rest.split_once('(')) else {
            return false;
        };
        let name = arguments.split([',', ')']).next().unwrap_or_default().trim();
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
    }

    /// The texts of a list that is gone through.
    fn listed(&self) -> Vec<String> {
        if self.masked.len() > LONGEST {
            return Vec::new();
        }
        let turns = ["for ", "for(", "foreach", ".each", "forEach", ".map(", "map("];
        if !turns.iter().any(|turn| self.masked.contains(turn)) {
            return Vec::new();
        }
        let listed = self.strings.iter().filter(|(from, _, constant)| *constant && self.is_in_list(*from));
        listed.map(|&(from, end, _)| inside(&self.code[from..end]).to_owned()).take(MOST).collect()
    }

    /// Whether what stands here is an element of a list, and neither a key nor the argument of a call.
    fn is_in_list(&self, at: usize) -> bool {
        let bytes = self.masked.as_bytes();
        let mut open = 0;
        for index in (at.saturating_sub(FARTHEST)..at).rev() {
            match bytes[index] {
                b')' | b']' => open += 1,
                b'(' | b'[' if open > 0 => open -= 1,
                b'[' => {
                    return index == 0
                        || !(bytes[index - 1].is_ascii_alphanumeric() || b"_)]".contains(&bytes[index - 1]));
                }
                b'(' => {
                    let before = self.masked.get(..index).unwrap_or_default().trim_end();
                    return before.ends_with(" in")
                        || before.rfind("for").is_some_and(|word| !before[word..].contains(['(', ';', '{']));
                }
                _ => {}
            }
        }
        false
    }
}
