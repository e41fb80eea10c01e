//! A mistake in what was typed, told the way every other failure is: one sentence, then what to do.

use clap::Error;
use clap::error::ErrorKind;
use cofferdam_policy::units;

use crate::exit::Exit;
use crate::failure::Failure;

/// Takes what the parser says apart: its first paragraph is the sentence, its tips and possible values are
/// hints, and the usage line is one as well.
pub fn failure(error: &Error) -> Failure {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Failure::new(Exit::Usage, "a command is missing").hint("see what there is: cofferdam --help");
    }
    let text = error.render().to_string();
    let mut lines = text.lines().map(str::trim);
    let first = lines.next().unwrap_or_default();
    let mut sentence = first.strip_prefix("error: ").unwrap_or(first).to_owned();
    let mut hints = Vec::new();
    for line in lines.filter(|line| !line.is_empty()) {
        if let Some(tip) = line.strip_prefix("tip: ") {
            hints.push(tip.to_owned());
        } else if let Some(values) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            hints.push(values.to_owned());
        } else if let Some(usage) = line.strip_prefix("Usage: ") {
            hints.push(format!("usage: {usage}"));
        } else if !line.starts_with("For more information") {
            // What is missing, one a line, after a sentence that ends in a colon.
            sentence.push(' ');
            sentence.push_str(line);
        }
    }
    // The word for the value is the same for every option that takes one of the kind.
    if error.kind() == ErrorKind::ValueValidation && sentence.contains("<TIME>") {
        hints.push(format!("a time is a number with its unit: {}", units::DURATION_UNITS));
    }
    if error.kind() == ErrorKind::ValueValidation && sentence.contains("<SIZE>") {
        hints.push(format!("a size is a number with its unit: {}", units::SIZE_UNITS));
    }
    if hints.is_empty() {
        hints.push("see how it is written: add --help".to_owned());
    }
    let failure = Failure::new(Exit::Usage, inert(&sentence));
    hints.iter().fold(failure, |failure, hint| failure.hint(inert(hint)))
}

/// What was typed comes back in the sentence; nothing in it may act on the terminal.
fn inert(text: &str) -> String {
    let mut shown = String::new();
    for letter in text.chars() {
        if letter.is_control() {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}
