//! Turns the rule files into tables, so that starting the program costs nothing and a malformed rule does
//! not build. Examples stay in the tables' source only for the tests, which judge every one of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use serde::Deserialize;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    rule: Vec<Rule>,
    #[serde(default)]
    wrapper: Vec<Wrapper>,
    #[serde(default)]
    variable: Vec<Variable>,
    #[serde(default)]
    statement: Vec<Statement>,
    #[serde(default)]
    call: Vec<Call>,
    #[serde(default)]
    tool: Vec<Tool>,
    #[serde(default)]
    verb: Vec<Verb>,
    /// Programs whose words are text or names of their own, never verbs.
    #[serde(default)]
    plain: Vec<String>,
}

/// What the subcommands of a program do, as phrases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    names: Vec<String>,
    #[serde(default)]
    deletes: Vec<String>,
    #[serde(default)]
    changes: Vec<String>,
    #[serde(default)]
    sends: Vec<String>,
    #[serde(default)]
    runs: Vec<String>,
    #[serde(default)]
    escalates: Vec<String>,
    #[serde(default)]
    persists: Vec<String>,
    #[serde(default)]
    stops: Vec<String>,
    #[serde(default)]
    reveals: Vec<String>,
    /// Phrases that make all of it harmless.
    #[serde(default)]
    unless: Vec<String>,
    /// Words of which one is said by whoever only looks; whatever says none of them changes something.
    #[serde(default)]
    looks: Vec<String>,
}

/// Words that mean the same to every program that takes subcommands.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Verb {
    /// One of these options makes the word mean what it says; none are asked for where the word says it alone.
    #[serde(default)]
    flags: Vec<String>,
    effect: String,
    words: Vec<String>,
    /// Only together with one of these.
    #[serde(default)]
    with: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    id: String,
    category: String,
    severity: String,
    decision: String,
    sentence: String,
    /// Whether a second opinion may say yes in a person's place.
    #[serde(default)]
    reviewable: bool,
    programs: Vec<String>,
    #[serde(default)]
    sub: Vec<String>,
    #[serde(default)]
    any: Vec<String>,
    #[serde(default)]
    all: Vec<String>,
    #[serde(default)]
    none: Vec<String>,
    #[serde(default)]
    operand: Vec<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    exact: bool,
    /// Copies from elsewhere to here are judged by what they overwrite.
    #[serde(default)]
    unless_download: bool,
    #[serde(default)]
    runs: Vec<String>,
    #[serde(default)]
    unless_runs: Vec<String>,
    /// Commands for which a wrapper is harmless: the program, then one of the words that only look.
    #[serde(default)]
    unless_inner: Vec<String>,
    #[serde(rename = "match")]
    matches: Vec<String>,
    no_match: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrapper {
    names: Vec<String>,
    #[serde(default)]
    sub: Vec<String>,
    #[serde(default)]
    valued: Vec<String>,
    #[serde(default)]
    skip: usize,
    #[serde(default)]
    assigns: bool,
    #[serde(default)]
    after_dashes: bool,
    /// Options whose value is shell text.
    #[serde(default)]
    text_options: Vec<String>,
    /// The operands together are shell text.
    #[serde(default)]
    text: bool,
    /// The commands come on standard input when there are no operands left.
    #[serde(default)]
    stdin_text: bool,
    #[serde(default)]
    elsewhere: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Variable {
    names: Vec<String>,
    category: String,
    sentence: String,
    /// Values that are harmless, as patterns.
    #[serde(default)]
    unless: Vec<String>,
    /// Only these values are dangerous.
    #[serde(default)]
    only: Vec<String>,
    #[serde(default)]
    runs: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Statement {
    id: String,
    severity: String,
    sentence: String,
    starts: Vec<String>,
    #[serde(default)]
    contains: Vec<String>,
    #[serde(default)]
    without: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    languages: Vec<String>,
    names: Vec<String>,
    effect: String,
    /// Only in a program that mentions this.
    #[serde(default)]
    needs: String,
}

fn main() {
    println!("cargo:rerun-if-changed=rules");
    let mut all = File::default();
    let mut paths: Vec<_> =
        fs::read_dir("rules").expect("the rules").map(|entry| entry.expect("a rule file").path()).collect();
    paths.sort();
    for path in paths {
        let text = fs::read_to_string(&path).expect("a readable rule file");
        let file: File = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        all.rule.extend(file.rule);
        all.wrapper.extend(file.wrapper);
        all.variable.extend(file.variable);
        all.statement.extend(file.statement);
        all.call.extend(file.call);
        all.tool.extend(file.tool);
        all.verb.extend(file.verb);
        all.plain.extend(file.plain);
    }
    let target = Path::new(&env::var_os("OUT_DIR").expect("set by cargo")).join("tables.rs");
    fs::write(target, tables(&all)).expect("the tables are written");
}

/// The letters that a word must have for a pattern to fit it, small and capital alike (`names::letters`).
fn letters(pattern: &str) -> u128 {
    let letters = pattern.bytes().filter(|byte| byte.is_ascii() && *byte != b'*');
    letters.fold(0, |set, byte| set | 1 << byte.to_ascii_lowercase())
}

fn tables(all: &File) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "pub static RULES: &[Rule] = &[");
    let mut ids = std::collections::BTreeSet::new();
    for rule in &all.rule {
        assert!(ids.insert(&rule.id), "the rule {} exists twice", rule.id);
        assert!(!rule.matches.is_empty(), "the rule {} has no example", rule.id);
        let _ = writeln!(
            out,
            "Rule {{ id: {:?}, category: Category::{}, severity: Severity::{}, decision: Decision::{}, sentence: {:?}, \
             reviewable: {}, sub: &{:?}, any: &{:?}, any_letters: &{:?}, all: &{:?}, none: &{:?}, operand: &[{}], ignore_case: {}, exact: {}, unless_download: {}, runs: &{:?}, \
             unless_runs: &{:?}, unless_inner: &{:?}, matches: &{:?}, no_match: &{:?} }},",
            rule.id,
            camel(&rule.category),
            camel(&rule.severity),
            camel(&rule.decision),
            rule.sentence,
            rule.reviewable,
            rule.sub,
            rule.any,
            rule.any.iter().map(|pattern| letters(pattern)).collect::<Vec<_>>(),
            rule.all,
            rule.none,
            rule.operand
                .iter()
                .map(|place| format!("Place::{}", camel(place)))
                .collect::<Vec<_>>()
                .join(", "),
            rule.ignore_case,
            rule.exact,
            rule.unless_download,
            rule.runs,
            rule.unless_runs,
            rule.unless_inner,
            rule.matches,
            rule.no_match
        );
    }
    let _ = writeln!(out, "];\npub static WRAPPERS: &[Wrapper] = &[");
    for wrapper in &all.wrapper {
        let _ = writeln!(
            out,
            "Wrapper {{ sub: &{:?}, valued: &{:?}, skip: {}, assigns: {}, after_dashes: {}, \
             text_options: &{:?}, text: {}, stdin_text: {}, elsewhere: {} }},",
            wrapper.sub,
            wrapper.valued,
            wrapper.skip,
            wrapper.assigns,
            wrapper.after_dashes,
            wrapper.text_options,
            wrapper.text,
            wrapper.stdin_text,
            wrapper.elsewhere
        );
    }
    let _ = writeln!(out, "];\npub static VARIABLES: &[Variable] = &[");
    for variable in &all.variable {
        let _ = writeln!(
            out,
            "Variable {{ category: Category::{}, sentence: {:?}, unless: &{:?}, only: &{:?}, runs: {} }},",
            camel(&variable.category),
            variable.sentence,
            variable.unless,
            variable.only,
            variable.runs
        );
    }
    let _ = writeln!(out, "];\npub static STATEMENTS: &[Statement] = &[");
    for statement in &all.statement {
        let _ = writeln!(
            out,
            "Statement {{ id: {:?}, severity: Severity::{}, sentence: {:?}, starts: &{:?}, contains: &{:?}, without: &{:?} }},",
            statement.id,
            camel(&statement.severity),
            statement.sentence,
            statement.starts,
            statement.contains,
            statement.without
        );
    }
    let _ = writeln!(out, "];\npub static CALLS: &[Call] = &[");
    for call in &all.call {
        let languages: Vec<String> =
            call.languages.iter().map(|name| format!("Language::{}", camel(name))).collect();
        for name in &call.names {
            let _ = writeln!(
                out,
                "Call {{ languages: &[{}], name: {name:?}, effect: Effect::{}, needs: {:?} }},",
                languages.join(", "),
                camel(&call.effect),
                call.needs
            );
        }
    }
    out.push_str("];\n");
    tools(&mut out, all);
    index(&mut out, "RULE_INDEX", all.rule.iter().map(|rule| &rule.programs));
    index(&mut out, "WRAPPER_INDEX", all.wrapper.iter().map(|wrapper| &wrapper.names));
    index(&mut out, "VARIABLE_INDEX", all.variable.iter().map(|variable| &variable.names));
    out
}

fn tools(out: &mut String, all: &File) {
    let _ = writeln!(out, "pub static TOOLS: &[Tool] = &[");
    for tool in &all.tool {
        let effects = [
            ("Deletes", &tool.deletes),
            ("Changes", &tool.changes),
            ("Sends", &tool.sends),
            ("Runs", &tool.runs),
            ("Escalates", &tool.escalates),
            ("Persists", &tool.persists),
            ("Stops", &tool.stops),
            ("Reveals", &tool.reveals),
        ];
        let _ = write!(out, "Tool {{ effects: &[");
        for (effect, phrases) in effects.into_iter().filter(|(_, phrases)| !phrases.is_empty()) {
            let _ = write!(out, "(ToolEffect::{effect}, &{phrases:?}),");
        }
        let _ = writeln!(out, "], unless: &{:?}, looks: &{:?} }},", tool.unless, tool.looks);
    }
    let _ = writeln!(out, "];\npub static VERBS: &[Verb] = &[");
    for verb in &all.verb {
        let _ = writeln!(
            out,
            "Verb {{ effect: ToolEffect::{}, words: &{:?}, with: &{:?}, flags: &{:?} }},",
            camel(&verb.effect),
            verb.words,
            verb.with,
            verb.flags
        );
    }
    let _ = writeln!(out, "];");
    let plain: Vec<Vec<String>> = all.plain.iter().map(|name| vec![name.clone()]).collect();
    index(out, "PLAIN", plain.iter());
    index(out, "TOOL_INDEX", all.tool.iter().map(|tool| &tool.names));
}

/// A table of names, found by their sum (`rules::sum`); names with a star go to a short list of their own.
fn index<'a>(out: &mut String, name: &str, entries: impl Iterator<Item = &'a Vec<String>>) {
    let mut exact: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut patterns: Vec<(&str, usize)> = Vec::new();
    for (at, names) in entries.enumerate() {
        for program in names {
            if program.contains('*') {
                patterns.push((program, at));
            } else {
                exact.entry(program).or_default().push(at);
            }
        }
    }
    let _ = writeln!(out, "pub static {name}: Index = Index {{ exact: &[");
    let mut slots = vec![0u16; (exact.len() * 4).next_power_of_two()];
    for (place, (program, at)) in exact.iter().enumerate() {
        let _ = writeln!(out, "({program:?}, &{at:?}),");
        let mut slot = sum(program) % slots.len();
        while slots[slot] != 0 {
            slot = (slot + 1) % slots.len();
        }
        slots[slot] = u16::try_from(place + 1).expect("so many names are not kept");
    }
    let begins = patterns.iter().fold(0u128, |set, (pattern, _)| set | 1 << (pattern.as_bytes()[0] & 127));
    let letters = |(pattern, _): &(&str, usize)| pattern.bytes().filter(|byte| *byte != b'*').count();
    let shortest = patterns.iter().map(letters).min().unwrap_or_default();
    let _ = writeln!(
        out,
        "], slots: &{slots:?}, begins: {begins}, shortest: {shortest}, patterns: &{patterns:?} }};"
    );
}

fn sum(name: &str) -> usize {
    let sum = |sum: u32, byte: u8| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    name.bytes().fold(0x811c_9dc5, sum) as usize
}

/// `file-destruction` as `FileDestruction`.
fn camel(name: &str) -> String {
    name.split('-')
        .map(|part| {
            let mut chars = part.chars();
            chars
                .next()
                .map(|first| first.to_uppercase().chain(chars).collect::<String>())
                .unwrap_or_default()
        })
        .collect()
}
