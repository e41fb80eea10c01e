//! The record: what one more record costs, and questions to a million of them, next to `jq`. Roughly measured, to a tenth
//! of a million: `jq` takes most of a minute for one round on the whole.

use std::fs;
use std::hint::black_box;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use cofferdam_audit::event::{Decision, EgressReason, EgressRequest, Outcome};
use cofferdam_audit::{Event, HostName, Label, Method, Recorder, RequestPath, Selection, Settings, Snapshot};

use crate::harness::{Bench, Case, Unit};
use crate::peer;

const APPENDED: u32 = 20_000;
const RECORDS: u64 = 1_000_000;
const ROUGHLY: u64 = 100_000;

pub fn run(bench: &mut Bench) {
    append(bench);
    if peer::on_path("jq").is_none() {
        return bench.skip("questions to the record", "jq is not installed");
    }
    let count = if bench.is_quick() { ROUGHLY } else { RECORDS };
    questions(bench, count, &written(bench.cache(), count));
}

/// Next to it: the least that any log does, which is one `write` of a line of the same length.
fn append(bench: &mut Bench) {
    let directory = bench.cache().join("audit-append");
    // Left behind by an earlier run; absent otherwise.
    let _ = fs::remove_dir_all(&directory);
    let recorder = Recorder::open(&directory, Settings::default()).expect("a record in the cache");
    let (session, event) = (Label::new("session-1"), request(1));
    let mut plain = fs::File::create(directory.join("plain.log")).expect("a file in the cache");
    let line = vec![b'x'; 420];
    let chained = move || {
        for _ in 0..APPENDED {
            let recorded = recorder.record(Some(&session), &event).expect("a record");
            assert!(recorded.place().is_ok());
        }
    };
    let bare = move || (0..APPENDED).for_each(|_| plain.write_all(&line).expect("a line"));
    let cases = vec![
        Case { name: "cofferdam, chained".to_owned(), round: Box::new(chained) },
        Case { name: "bare write of a line".to_owned(), round: Box::new(bare) },
    ];
    bench.side_by_side("audit: append one record", Unit::OperationsPerSecond, f64::from(APPENDED), cases);
    let _ = fs::remove_dir_all(&directory);
}

fn questions(bench: &mut Bench, count: u64, record: &Path) {
    let files = &parts(record);
    let amount: u64 = files.iter().map(|file| fs::metadata(file).map_or(0, |data| data.len())).sum();
    let amount = u32::try_from(amount).map_or(f64::from(u32::MAX), f64::from);
    let stats = || drop(black_box(snapshot(record).stats(None, &[]).expect("counts")));
    let grep = || black_box(found(record, "h7.example"));
    let verify = || assert!(snapshot(record).verify(None).expect("a look").findings.is_empty());
    let by_kind = r#"reduce inputs as $r ({}; .[$r.kind] += 1 | .[$r.host // "-"] += 1)"#;
    let select = r#"select(.decision == "refused" and .host == "h7.example")"#;
    let case = |name: &str, round: Box<dyn FnMut()>| Case { name: name.to_owned(), round };
    let cases = vec![
        Case { name: "cofferdam audit stats".to_owned(), round: Box::new(stats) },
        case("jq, counts by kind and host", jq(&["-n", by_kind], files)),
    ];
    bench.side_by_side(&format!("audit: count {count} records"), Unit::BytesPerSecond, amount, cases);
    let cases = vec![
        Case { name: "cofferdam audit grep".to_owned(), round: Box::new(move || drop(grep())) },
        case("jq, select", jq(&["-c", select], files)),
    ];
    bench.side_by_side(
        &format!("audit: find one host's refusals in {count} records"),
        Unit::BytesPerSecond,
        amount,
        cases,
    );
    let cases = vec![
        Case { name: "cofferdam audit verify".to_owned(), round: Box::new(verify) },
        case("sha256sum of the files", tool("sha256sum", &[], files)),
    ];
    bench.side_by_side(&format!("audit: verify {count} records"), Unit::BytesPerSecond, amount, cases);
}

pub fn snapshot(record: &Path) -> Snapshot {
    Snapshot::take(record).expect("a readable record").expect("a record")
}

pub fn found(record: &Path, host: &str) -> Vec<u8> {
    let selection =
        Selection { host: Some(host.to_owned()), decision: Some(Decision::Refused), ..Selection::default() };
    let mut found = Vec::new();
    let each = |lines: Vec<u8>| {
        found.extend(lines);
        ControlFlow::Continue(())
    };
    snapshot(record).select(&selection.compile(), each).expect("a search");
    assert!(!found.is_empty());
    found
}

/// Fifty hosts, one refusal in ten, as an agent at work leaves them.
pub fn request(n: u64) -> Event {
    let outcome = match n % 10 {
        0 => Outcome::Refused { reason: EgressReason::HostNotAllowed },
        _ => Outcome::Allowed,
    };
    EgressRequest {
        outcome,
        host: HostName::new(format!("h{}.example", n / 10 % 50)),
        port: 443,
        method: Method::new("POST"),
        path: RequestPath::new("/v1/chat/completions", &[]),
        rule: Some(Label::new("provider")),
        provider: Some(Label::new("openai")),
    }
    .into()
}

/// Written once and kept: the same bytes in every run.
fn written(cache: &Path, count: u64) -> PathBuf {
    let record = cache.join(format!("audit-{count}"));
    let whole = Snapshot::take(&record).ok().flatten().and_then(|snapshot| snapshot.head());
    if whole.is_none_or(|head| head.link.seq < count) {
        let _ = fs::remove_dir_all(&record);
        let recorder = Recorder::open(&record, Settings::default()).expect("a record in the cache");
        for n in 0..count {
            let session = Label::new(format!("session-{}", n / 1000));
            let recorded = recorder.record(Some(&session), &request(n)).expect("a record");
            assert!(recorded.place().is_ok());
        }
    }
    record
}

fn parts(record: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(record).expect("the record").flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "jsonl")).collect();
    files.sort();
    files
}

fn jq(arguments: &[&str], files: &[PathBuf]) -> Box<dyn FnMut()> {
    tool("jq", arguments, files)
}

fn tool(program: &'static str, arguments: &[&str], files: &[PathBuf]) -> Box<dyn FnMut()> {
    let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
    let files = files.to_vec();
    Box::new(move || peer::finish(peer::command(program).args(&arguments).args(&files)))
}
