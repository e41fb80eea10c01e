//! The outcome of the demo, for people and for programs.

use std::io::IsTerminal;

use super::{NAME, Outcome};
use crate::failure::Failure;
use crate::output;

const GREEN: &str = "\u{1b}[32m";
const RED: &str = "\u{1b}[31;1m";
const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

pub fn show(outcome: &Outcome, json: bool) -> Result<(), Failure> {
    match json {
        true => output::json(outcome),
        false => output::text(&text(outcome, colours())),
    }
}

fn colours() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn text(outcome: &Outcome, colours: bool) -> String {
    let paint = |colour: &str, text: &str| match colours {
        true => format!("{colour}{text}{PLAIN}"),
        false => text.to_owned(),
    };
    let good = |good: bool, yes: &str, no: &str| match good {
        true => paint(GREEN, &format!("\u{2714} {yes}")),
        false => paint(RED, &format!("\u{2718} {no}")),
    };
    let mut out = format!("{}\n\n", paint(BOLD, "The agent works inside, the keys stay outside."));
    let asked = format!("A command in a sandbox asked {NAME} with a token.");
    let key = good(outcome.host_got_the_key, "the host got the real key", "the host did not get the key");
    let answer =
        good(outcome.command_got_an_answer, "the command got its answer", "the command got no answer");
    out.push_str(&format!("{asked}\n  {key}\n  {answer}\n\nThen it tried to steal the key:\n\n"));
    let name_width = outcome.tries.iter().map(|one| one.name.chars().count()).max().unwrap_or_default();
    for one in &outcome.tries {
        let verdict = good(!one.worked, "kept", "LOST");
        out.push_str(&format!("  {verdict}  {:name_width$}  {}\n", one.name, one.happened));
    }
    let lost = outcome.tries.iter().filter(|one| one.worked).count();
    let (count, tries) = (outcome.tries.len(), "tries");
    let last = match (lost, outcome.is_good()) {
        (0, true) => paint(GREEN, &format!("None of {count} {tries} worked.")),
        (0, false) => paint(RED, "The honest request did not work."),
        (lost, _) => paint(RED, &format!("{lost} of {count} {tries} worked.")),
    };
    out.push_str(&format!("\n{last}\n"));
    out
}
