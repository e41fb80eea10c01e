//! Counts and findings in words.

use std::fmt::Write as _;

use cofferdam_audit::stats::{Anomaly, Count, Stats};
use cofferdam_audit::verify::{Finding, Note, Verification, What};

/// As many hosts as fit on a screen; `--json` has all of them.
const HOSTS: usize = 20;

pub fn stats(stats: &Stats) -> String {
    let mut out = String::new();
    let span = match (&stats.first, &stats.last) {
        (Some(first), Some(last)) => format!(", {first} to {last}"),
        _ => String::new(),
    };
    add(&mut out, &format!("{}{span}", number(stats.records, "record")));
    if let Some(percent) = stats.refusal_percent() {
        let decisions = number(stats.allowed + stats.refused, "decision");
        add(
            &mut out,
            &format!("{decisions}: {} allowed, {} refused ({percent:.1} %)", stats.allowed, stats.refused),
        );
    }
    if stats.unreadable > 0 {
        let lines = number(stats.unreadable, "line");
        add(&mut out, &format!("{lines} not readable: see cofferdam audit verify"));
    }
    counts(&mut out, "Kind", &stats.kinds);
    counts(&mut out, "Reason", &stats.reasons);
    hosts(&mut out, stats);
    if !stats.anomalies.is_empty() {
        add(&mut out, "\nWorth a look");
        stats.anomalies.iter().for_each(|anomaly| add(&mut out, &format!("  {}", sentence(anomaly))));
    }
    out
}

fn counts(out: &mut String, heading: &str, counts: &[Count]) {
    if counts.is_empty() {
        return;
    }
    add(out, &format!("\n{heading:<26}  {:>9}", "Records"));
    for Count { name, count } in counts {
        add(out, &format!("{name:<26}  {count:>9}"));
    }
}

fn hosts(out: &mut String, stats: &Stats) {
    if stats.hosts.is_empty() {
        return;
    }
    let shown = &stats.hosts[..stats.hosts.len().min(HOSTS)];
    let width = shown.iter().map(|host| host.host.chars().count()).max().unwrap_or(0).max(26);
    add(out, &format!("\n{:<width$}  {:>9}  {:>9}  First seen", "Host", "Allowed", "Refused"));
    for host in shown {
        let (allowed, refused) = (host.allowed, host.refused);
        add(out, &format!("{:<width$}  {allowed:>9}  {refused:>9}  {}", host.host, host.first_seen));
    }
    if stats.hosts.len() > shown.len() {
        add(
            out,
            &format!(
                "and {} (all with --json)",
                number((stats.hosts.len() - shown.len()) as u64, "more host")
            ),
        );
    }
}

fn sentence(anomaly: &Anomaly) -> String {
    match anomaly {
        Anomaly::FirstTimeHost { host, first_seen, refused: 0 } => {
            format!("first-time host: {host}, first asked for at {first_seen}")
        }
        Anomaly::FirstTimeHost { host, first_seen, refused } => {
            format!("first-time host: {host}, first asked for at {first_seen}, refused {refused} times")
        }
        Anomaly::ManyRefusals { refused, decisions, percent } => {
            format!(
                "many refusals: {refused} of {decisions} decisions ({percent:.1} %), which is more than 5 %"
            )
        }
    }
}

pub fn verification(verification: &Verification) -> String {
    let mut out = String::new();
    for Finding { file, line, what } in &verification.findings {
        let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        add(&mut out, &format!("{}: {line}{}", file.display(), finding(what)));
    }
    for note in &verification.notes {
        add(&mut out, &format!("note: {}", self::note(note)));
    }
    let (records, files) =
        (number(verification.records, "record"), number(verification.files as u64, "file"));
    match verification.findings.len() {
        0 => add(&mut out, &format!("{records} in {files}, as they were written")),
        count => add(&mut out, &format!("{records} in {files}: {}", number(count as u64, "finding"))),
    }
    if verification.removed_through > 0 && verification.findings.is_empty() {
        add(&mut out, &format!("records 1 to {} were removed by rotation", verification.removed_through));
    }
    if let Some(head) = verification.head {
        add(&mut out, &format!("head {}:{}", head.seq, head.hash));
    }
    out
}

fn finding(what: &What) -> String {
    match what {
        What::NotARecord => "this is not a record".to_owned(),
        What::Altered { seq } => format!("record {seq} was altered"),
        What::Removed { from, through } => format!("{} removed before this line", range(*from, *through)),
        What::Moved { seq } => format!("record {seq} was moved: it stands after one that was written later"),
        What::Inserted { seq } => format!("a second record {seq}: one of the two was put in"),
        What::Replaced { seq } => {
            format!("record {seq}, before this line, is not the one this line was written after")
        }
        What::Truncated { from, through } => format!("{} cut off at the end", range(*from, *through)),
        What::HeadDiffers { seq } => {
            format!("record {seq}, the last one, is not the one that the head names")
        }
        What::HeadMissing => "the head is missing, so records may have been cut off at the end".to_owned(),
        What::HeadWasMissing { seq } => {
            format!(
                "when record {seq} was written the head was missing, so records before it may have been cut off"
            )
        }
        What::NotedPlaceMissing => "the head noted elsewhere is not in this record".to_owned(),
    }
}

fn range(from: u64, through: u64) -> String {
    if from == through { format!("record {from} was") } else { format!("records {from} to {through} were") }
}

fn note(note: &Note) -> String {
    match note {
        Note::IncompleteLine { bytes } => {
            format!(
                "the last line is incomplete ({bytes} bytes): a writer died while writing it; the next one repairs it"
            )
        }
        Note::HeadBehind { records } => format!(
            "the head is {} behind: a writer died before it wrote the head; the next one makes up for it",
            number(*records, "record")
        ),
    }
}

fn number(count: u64, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

fn add(out: &mut String, line: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{line}");
}
