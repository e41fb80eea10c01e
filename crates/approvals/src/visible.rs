//! A command as a person gets to see it: all of it, and nothing in it that could make it look like another one.

use cofferdam_audit::is_visible;

/// More of the same in a row is counted instead of shown, so that padding cannot push anything out of sight.
const LONGEST_RUN: usize = 8;

/// The lines to show. Control, direction and invisible characters are spelt out; only a line break is one.
pub fn lines(text: &str) -> Vec<String> {
    let mut shown = Vec::new();
    let mut blank = 0_usize;
    for line in text.split('\n') {
        if line.trim().is_empty() {
            blank += 1;
            continue;
        }
        end_blank(&mut blank, &mut shown);
        shown.push(one_line(line));
    }
    end_blank(&mut blank, &mut shown);
    if shown.is_empty() {
        shown.push(String::new());
    }
    shown
}

fn end_blank(blank: &mut usize, shown: &mut Vec<String>) {
    match std::mem::take(blank) {
        0 => {}
        count @ 1..=2 => shown.extend(std::iter::repeat_n(String::new(), count)),
        count => shown.push(format!("\u{27e8}{count} empty lines\u{27e9}")),
    }
}

/// Text in one line, with everything spelt out that does not show as itself.
pub fn one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        if character.is_whitespace() {
            let mut count = 1;
            while rest.next_if_eq(&character).is_some() {
                count += 1;
            }
            white(character, count, &mut shown);
        } else if is_visible(character) {
            shown.push(character);
        } else {
            shown.push_str(&format!("\\u{{{:x}}}", u32::from(character)));
        }
    }
    shown
}

fn white(character: char, count: usize, shown: &mut String) {
    match character {
        ' ' if count <= LONGEST_RUN => shown.extend(std::iter::repeat_n(' ', count)),
        ' ' => shown.push_str(&format!("\u{27e8}{count} spaces\u{27e9}")),
        '\t' if count == 1 => shown.push_str("\\t"),
        '\t' => shown.push_str(&format!("\u{27e8}{count} tabs\u{27e9}")),
        _ => (0..count.min(LONGEST_RUN))
            .for_each(|_| shown.push_str(&format!("\\u{{{:x}}}", u32::from(character)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn req_a10_nothing_hides_in_what_is_shown() {
        assert_eq!(one_line("ls\r\u{1b}[2Krm"), "ls\\u{d}\\u{1b}[2Krm");
        assert_eq!(one_line("a\u{202e}b\u{200b}c"), "a\\u{202e}b\\u{200b}c");
        assert_eq!(one_line(&format!("ls{};rm", " ".repeat(400))), "ls\u{27e8}400 spaces\u{27e9};rm");
        assert_eq!(
            lines(&format!("ls{}rm x", "\n".repeat(90))),
            ["ls", "\u{27e8}89 empty lines\u{27e9}", "rm x"]
        );
        assert_eq!(lines("a\n\nb"), ["a", "", "b"]);
        assert_eq!(one_line("a\u{a0}b\u{3000}c"), "a\\u{a0}b\\u{3000}c");
    }
}
