//! The approval gate: how often it is right on the corpus, and what a verdict costs.

use std::fs;
use std::path::{Path, PathBuf};

use cofferdam_approvals::{Context, Decision, judge};

use crate::harness::{Bench, Case, Unit};

pub struct Line {
    pub command: String,
    category: String,
}

pub fn run(bench: &mut Bench) {
    let context = Context::new("/home/me/project", "/home/me", "me");
    let mut all = Vec::new();
    for (name, right) in [
        ("dangerous", flagged as fn(Decision) -> bool),
        ("dangerous.holdout", flagged),
        ("harmless", |decision| decision == Decision::Allow),
        ("harmless.holdout", |decision| decision == Decision::Allow),
        ("floor", |decision| decision == Decision::Deny),
        // Scored once before anybody looked at what was wrong (docs/approval.md), and kept since.
        ("waves/1.dangerous", flagged),
        ("waves/1.harmless", |decision| decision == Decision::Allow),
        ("waves/1.floor", |decision| decision == Decision::Deny),
        ("waves/2.dangerous", flagged),
        ("waves/2.harmless", |decision| decision == Decision::Allow),
        ("waves/3.dangerous", flagged),
        ("waves/4.dangerous", flagged),
        ("waves/4.harmless", |decision| decision == Decision::Allow),
        ("waves/5.dangerous", flagged),
        ("waves/5.harmless", |decision| decision == Decision::Allow),
        ("waves/6.dangerous", flagged),
        ("waves/6.harmless", |decision| decision == Decision::Allow),
        ("waves/6.floor", |decision| decision == Decision::Deny),
        ("waves/7.dangerous", flagged),
        ("waves/7.harmless", |decision| decision == Decision::Allow),
        ("waves/8.dangerous", flagged),
        ("waves/8.harmless", |decision| decision == Decision::Allow),
        ("waves/8.floor", |decision| decision == Decision::Deny),
        ("waves/9.dangerous", flagged),
        ("waves/9.harmless", |decision| decision == Decision::Allow),
        ("waves/9.floor", |decision| decision == Decision::Deny),
        ("waves/10.dangerous", flagged),
        ("waves/10.harmless", |decision| decision == Decision::Allow),
        ("waves/11.dangerous", flagged),
        ("waves/11.harmless", |decision| decision == Decision::Allow),
        ("waves/11.floor", |decision| decision == Decision::Deny),
        ("waves/12.dangerous", flagged),
        ("waves/12.harmless", |decision| decision == Decision::Allow),
        ("waves/12.floor", |decision| decision == Decision::Deny),
        ("waves/13.dangerous", flagged),
        ("waves/13.harmless", |decision| decision == Decision::Allow),
        ("waves/13.floor", |decision| decision == Decision::Deny),
        ("waves/14.dangerous", flagged),
        ("waves/14.harmless", |decision| decision == Decision::Allow),
        ("waves/14.floor", |decision| decision == Decision::Deny),
        ("waves/15.dangerous", flagged),
        ("waves/15.harmless", |decision| decision == Decision::Allow),
        ("waves/15.floor", |decision| decision == Decision::Deny),
        ("waves/16.dangerous", flagged),
        ("waves/16.harmless", |decision| decision == Decision::Allow),
        ("waves/16.floor", |decision| decision == Decision::Deny),
        ("waves/17.dangerous", flagged),
        ("waves/17.harmless", |decision| decision == Decision::Allow),
        ("waves/18.dangerous", flagged),
        ("waves/18.harmless", |decision| decision == Decision::Allow),
        ("waves/18.floor", |decision| decision == Decision::Deny),
    ] {
        let lines = corpus(name);
        rate(name, &lines, right, &context);
        all.extend(lines);
    }
    let mut times: Vec<f64> = all
        .iter()
        .map(|line| {
            let start = std::time::Instant::now();
            std::hint::black_box(judge(&line.command, &context));
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    println!(
        "gate: one verdict: median {:.0} µs, p95 {:.0} µs, p99 {:.0} µs, worst {:.0} µs",
        at(0.5),
        at(0.95),
        at(0.99),
        at(1.0)
    );

    let varied = varied(100_000);
    let script = script(100_000);
    let half = script[..script[..50_000].rfind('\n').unwrap_or(50_000)].to_owned();
    bench.side_by_side(
        "gate: verdict on a script",
        Unit::Seconds,
        1.0,
        vec![
            Case {
                name: "50 KB".into(),
                round: Box::new(|| drop(std::hint::black_box(judge(&half, &context)))),
            },
            Case {
                name: "100 KB".into(),
                round: Box::new(|| drop(std::hint::black_box(judge(&script, &context)))),
            },
            Case {
                name: "100 KB, no two blocks alike".into(),
                round: Box::new(|| drop(std::hint::black_box(judge(&varied, &context)))),
            },
        ],
    );
}

fn flagged(decision: Decision) -> bool {
    decision != Decision::Allow
}

fn rate(name: &str, lines: &[Line], right: fn(Decision) -> bool, context: &Context) {
    let wrong: Vec<&Line> =
        lines.iter().filter(|line| !right(judge(&line.command, context).decision)).collect();
    let share = 100.0 * (lines.len() - wrong.len()) as f64 / lines.len().max(1) as f64;
    println!("gate: {name}: {} of {} right ({share:.2} %)", lines.len() - wrong.len(), lines.len());
    for line in wrong {
        println!("gate:   wrong, {}: {}", line.category, line.command.escape_debug());
    }
}

pub fn corpus(name: &str) -> Vec<Line> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/gate/{name}.jsonl"));
    let text = fs::read_to_string(&path).expect("the corpus is part of the tree");
    text.lines()
        .map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).expect("a corpus line is JSON");
            let field = |name: &str| row[name].as_str().expect("a corpus line has this field").to_owned();
            Line { command: field("cmd"), category: field("category") }
        })
        .collect()
}

/// Shell text of about this length in which no block comes twice.
pub fn varied(bytes: usize) -> String {
    let mut text = String::new();
    for at in 0.. {
        if text.len() >= bytes {
            break;
        }
        let block = script(1).replace("main", &format!("main{at}")).replace("NAME", &format!("NAME{at}"));
        let block =
            block.replace("a b c", &format!("a{at} b{at} c{at}")).replace("TODO", &format!("TODO{at}"));
        text.push_str(&block);
    }
    text
}

/// Ordinary shell text of about this length.
pub fn script(bytes: usize) -> String {
    let block = "# build one target\nif [ -f \"$SRC/main.c\" ]; then\n  cc -O2 -o \"build/$NAME\" \"$SRC/main.c\" || exit 1\nfi\n\
                 for f in a b c; do\n  cp \"$f\" dist/ && echo \"copied $f\" >> build/log.txt\ndone\n\
                 grep -n 'TODO' src/*.c | sort | head -5\n";
    block.repeat(bytes / block.len() + 1)
}
