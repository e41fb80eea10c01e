//! Writer and reader together, in one process. What needs processes is tested through the built binary.

use std::fs;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::event::{Decision, DnsQuery, DnsReason, Outcome, RecordClosed};
use crate::verify::{Note, Noted, What};
use crate::*;

struct Room(tempfile::TempDir);

impl Room {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("audit")
    }

    fn file(&self, number: u64) -> PathBuf {
        self.path().join(files::name(number))
    }

    fn recorder(&self) -> Recorder {
        Recorder::open(&self.path(), Settings::default()).unwrap()
    }

    fn small(&self, keep_files: usize) -> Recorder {
        let settings = Settings { file_bytes: 2000, keep_files, ..Settings::default() };
        Recorder::open(&self.path(), settings).unwrap()
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::take(&self.path()).unwrap().unwrap()
    }

    #[track_caller]
    fn findings(&self) -> Vec<What> {
        self.snapshot().verify(None).unwrap().findings.into_iter().map(|finding| finding.what).collect()
    }

    fn selected(&self, selection: Selection) -> Vec<String> {
        let mut text = Vec::new();
        self.snapshot()
            .select(&selection.compile(), |lines| {
                text.extend(lines);
                ControlFlow::Continue(())
            })
            .unwrap();
        String::from_utf8(text).unwrap().lines().map(str::to_owned).collect()
    }
}

fn query(host: &str) -> Event {
    DnsQuery { outcome: Outcome::Allowed, host: HostName::new(host), query_type: 1 }.into()
}

fn refusal(host: &str) -> Event {
    let outcome = Outcome::Refused { reason: DnsReason::HostNotAllowed };
    DnsQuery { outcome, host: HostName::new(host), query_type: 1 }.into()
}

fn write(recorder: &Recorder, count: usize) {
    for n in 0..count {
        let recorded = recorder.record(Some(&Label::new("s")), &query(&format!("h{n}.example"))).unwrap();
        assert!(recorded.place().is_ok());
    }
}

fn edit(path: &Path, change: impl FnOnce(&mut Vec<String>)) {
    let mut lines: Vec<String> = fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect();
    change(&mut lines);
    fs::write(path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
}

#[test]
fn what_is_written_verifies_and_goes_on_after_reopening() {
    let room = Room::new();
    assert!(Snapshot::take(&room.path()).unwrap().is_none());
    write(&room.recorder(), 5);
    write(&room.recorder(), 5);
    let verification = room.snapshot().verify(None).unwrap();
    assert_eq!(verification.findings, []);
    assert_eq!(verification.notes, []);
    // One line opens the file.
    assert_eq!((verification.records, verification.files), (11, 1));
    assert_eq!(verification.head.unwrap().seq, 11);
}

#[test]
fn two_recorders_at_once_write_one_chain() {
    let room = Room::new();
    let (a, b) = (room.small(100), room.small(100));
    for _ in 0..20 {
        write(&a, 3);
        write(&b, 2);
    }
    assert_eq!(room.findings(), []);
    let hosts = room.selected(Selection { kinds: vec![Kind::DnsQuery], ..Selection::default() });
    assert_eq!(hosts.len(), 100);
    assert!(room.snapshot().verify(None).unwrap().files > 5, "the record was rotated");
}

#[test]
fn rotation_keeps_so_many_files_and_the_chain_says_what_went() {
    let room = Room::new();
    write(&room.small(3), 100);
    let verification = room.snapshot().verify(None).unwrap();
    assert_eq!(verification.findings, []);
    assert_eq!(verification.files, 3);
    assert!(verification.removed_through > 50, "{verification:?}");
    fs::remove_file(room.snapshot().files[0].path.clone()).unwrap();
    assert!(matches!(room.findings()[..], [What::Removed { .. }]), "{:?}", room.findings());
}

#[test]
fn old_files_go_by_age() {
    let room = Room::new();
    write(&room.small(100), 30);
    let before = room.snapshot().files.len();
    let age = Some(std::time::Duration::ZERO);
    let settings = Settings { file_bytes: 2000, keep_age: age, ..Settings::default() };
    write(&Recorder::open(&room.path(), settings).unwrap(), 20);
    assert!(before > 3);
    assert!(room.snapshot().files.len() <= 2, "{before}");
    assert_eq!(room.findings(), []);
}

#[test]
fn a_part_of_a_line_is_noted_and_then_repaired() {
    let room = Room::new();
    write(&room.recorder(), 3);
    let mut file = fs::OpenOptions::new().append(true).open(room.file(1)).unwrap();
    file.write_all(b"{\"v\":1,\"seq\":5,\"ti").unwrap();
    let verification = room.snapshot().verify(None).unwrap();
    assert_eq!(verification.findings, []);
    assert_eq!(verification.notes, [Note::IncompleteLine { bytes: 18 }]);
    write(&room.recorder(), 1);
    assert_eq!(room.findings(), []);
    assert_eq!(
        room.selected(Selection { kinds: vec![Kind::RecordRepaired], ..Selection::default() }).len(),
        1
    );
}

#[test]
fn a_record_whose_head_was_not_written_still_counts() {
    let room = Room::new();
    write(&room.recorder(), 3);
    let head = fs::read(room.path().join("head")).unwrap();
    write(&room.recorder(), 2);
    fs::write(room.path().join("head"), head).unwrap();
    let verification = room.snapshot().verify(None).unwrap();
    assert_eq!((verification.findings.len(), verification.notes), (0, vec![Note::HeadBehind { records: 2 }]));
    write(&room.recorder(), 1);
    let verification = room.snapshot().verify(None).unwrap();
    assert_eq!((verification.findings.len(), verification.notes.len(), verification.records), (0, 0, 7));
}

#[test]
fn a_death_in_the_middle_of_a_rotation_is_made_up_for() {
    let room = Room::new();
    let recorder = room.recorder();
    write(&recorder, 3);
    let closed = recorder.record(None, &RecordClosed { next_file: 2 }.into()).unwrap();
    assert!(closed.place().is_ok());
    drop(recorder);
    write(&room.recorder(), 2);
    assert_eq!(room.findings(), []);
    assert_eq!(room.snapshot().files.len(), 2);
}

#[test]
fn each_kind_of_tampering_is_found() {
    type Change = fn(&mut Vec<String>);
    // Line 1 opens the file, so line n holds record n.
    let table: [(&str, Change, &[What]); 9] = [
        ("altered", |l| l[4] = l[4].replace("h3.", "hX."), &[What::Altered { seq: 5 }]),
        ("altered number", |l| l[4] = l[4].replace("\"seq\":5", "\"seq\":50"), &[What::Altered { seq: 5 }]),
        ("removed", |l| drop(l.remove(4)), &[What::Removed { from: 5, through: 5 }]),
        ("several removed", |l| drop(l.drain(3..6)), &[What::Removed { from: 4, through: 6 }]),
        ("first removed", |l| drop(l.remove(0)), &[What::Removed { from: 1, through: 1 }]),
        ("swapped", |l| l.swap(4, 5), &[What::Moved { seq: 5 }]),
        ("repeated", |l| l.insert(5, l[4].clone()), &[What::Inserted { seq: 5 }]),
        ("inserted", |l| l.insert(5, "{\"seq\":5}".to_owned()), &[What::NotARecord]),
        ("cut off", |l| l.truncate(8), &[What::Truncated { from: 9, through: 11 }]),
    ];
    for (name, change, expected) in table {
        let room = Room::new();
        write(&room.recorder(), 10);
        assert_eq!(room.findings(), []);
        edit(&room.file(1), change);
        assert_eq!(room.findings(), expected, "{name}");
    }
}

#[test]
fn a_forged_line_with_its_own_right_hash_is_found() {
    let room = Room::new();
    write(&room.recorder(), 10);
    edit(&room.file(1), |lines| {
        let changed = lines[4].replace("h3.", "hX.");
        let (before, _) = changed.split_once(",\"hash\"").unwrap();
        lines[4] = format!("{before},\"hash\":\"{}\"}}", Hash::of(before.as_bytes()));
    });
    assert_eq!(room.findings(), [What::Replaced { seq: 5 }]);
}

#[test]
fn a_missing_or_older_head_is_found_and_the_record_goes_on() {
    let room = Room::new();
    write(&room.recorder(), 3);
    fs::remove_file(room.path().join("head")).unwrap();
    assert_eq!(room.findings(), [What::HeadMissing]);
    write(&room.recorder(), 1);
    // Lines may have been cut off together with the head, so it stays a finding.
    assert_eq!(room.findings(), [What::HeadWasMissing { seq: 6 }]);
    let told = room.selected(Selection { kinds: vec![Kind::RecordInterrupted], ..Selection::default() });
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("head-missing"));
}

#[test]
fn what_was_cut_off_stays_missing_after_more_was_written() {
    let room = Room::new();
    write(&room.recorder(), 10);
    edit(&room.file(1), |lines| lines.truncate(8));
    write(&room.recorder(), 5);
    assert_eq!(room.findings(), [What::Removed { from: 9, through: 11 }]);
}

#[test]
fn a_running_recorder_goes_on_from_memory_when_its_files_are_taken_away() {
    let room = Room::new();
    let recorder = room.recorder();
    write(&recorder, 10);
    fs::remove_dir_all(room.path()).unwrap();
    write(&recorder, 2);
    assert_eq!(room.findings(), [What::Removed { from: 1, through: 11 }]);
    assert_eq!(room.selected(Selection { kinds: vec![Kind::DnsQuery], ..Selection::default() }).len(), 2);
}

#[test]
fn a_running_recorder_puts_a_removed_head_back() {
    let room = Room::new();
    let recorder = room.recorder();
    write(&recorder, 10);
    fs::remove_file(room.path().join("head")).unwrap();
    write(&recorder, 64);
    write(&room.recorder(), 1);
    assert_eq!(room.findings(), []);
}

#[test]
fn a_whole_new_record_is_told_by_a_noted_head() {
    let room = Room::new();
    write(&room.recorder(), 3);
    let head = room.snapshot().head().unwrap().link;
    let noted = |text: String| Noted::parse(&text).unwrap();
    write(&room.recorder(), 3);
    for text in [head.hash.to_string(), format!("{}:{}", head.seq, head.hash)] {
        assert_eq!(room.snapshot().verify(Some(noted(text))).unwrap().findings, []);
    }
    fs::remove_dir_all(room.path()).unwrap();
    write(&room.recorder(), 6);
    assert_eq!(room.findings(), []);
    let findings = room.snapshot().verify(Some(noted(head.hash.to_string()))).unwrap().findings;
    assert_eq!(findings[0].what, What::NotedPlaceMissing);
    assert_eq!(Noted::parse("12:abc"), None);
}

#[test]
fn a_selection_finds_what_a_plain_look_at_every_line_finds() {
    let room = Room::new();
    let recorder = room.small(1000);
    for n in 0..300 {
        let session = Label::new(format!("s{}", n % 3));
        let host = format!("h{}.example", n % 7);
        let event = if n % 5 == 0 { refusal(&host) } else { query(&host) };
        assert!(recorder.record(Some(&session), &event).unwrap().place().is_ok());
    }
    let host = |host: &str| Selection { host: Some(host.to_owned()), ..Selection::default() };
    let count = |selection: Selection| room.selected(selection).len();
    assert_eq!(count(host("h3.example")), 43);
    assert_eq!(count(host("H3.Example.")), 43);
    assert_eq!(count(host("*.example")), 300);
    assert_eq!(count(host("example")), 0);
    assert_eq!(count(Selection { decision: Some(Decision::Refused), ..Selection::default() }), 60);
    assert_eq!(count(Selection { decision: Some(Decision::Refused), ..host("h0.example") }), 9);
    assert_eq!(count(Selection { session: Some("s1".to_owned()), ..Selection::default() }), 100);
    assert_eq!(count(Selection { text: Some("h6.exam".to_owned()), ..Selection::default() }), 42);
    assert_eq!(count(Selection { text: Some("0000000000000000".to_owned()), ..Selection::default() }), 0);
    let now = Some(Moment::now());
    assert_eq!(count(Selection { since: now, ..Selection::default() }), 0);
    assert_eq!(count(Selection { until: now, kinds: vec![Kind::DnsQuery], ..Selection::default() }), 300);
    let stats = room.snapshot().stats(None, &[]).unwrap();
    assert_eq!((stats.allowed, stats.refused, stats.unreadable, stats.hosts.len()), (240, 60, 0, 7));
    assert!(matches!(
        stats.anomalies[..],
        [stats::Anomaly::ManyRefusals { refused: 60, decisions: 300, .. }]
    ));
}

#[test]
fn a_long_record_is_read_whole_whatever_the_chunks() {
    let room = Room::new();
    let recorder = room.recorder();
    write(&recorder, 9000);
    let snapshot = room.snapshot();
    assert!(snapshot.files[0].size > 2 << 20);
    assert_eq!(snapshot.verify(None).unwrap().records, 9001);
    let all = room.selected(Selection::default());
    assert_eq!(all.join("\n") + "\n", fs::read_to_string(room.file(1)).unwrap());
    let last = snapshot.last(5000, |_| true).unwrap();
    assert_eq!(last.len(), 5000);
    assert!(last.iter().zip(&all[4001..]).all(|(line, expected)| line == expected.as_bytes()));
}

#[test]
fn a_follower_sees_every_line_once_through_rotation() {
    let room = Room::new();
    let mut early = Follower::after(&room.path(), None).unwrap();
    let recorder = room.small(100);
    write(&recorder, 10);
    let mut late = Follower::after(&room.path(), Some(room.snapshot())).unwrap();
    write(&recorder, 50);
    let drain = |follower: &mut Follower| {
        let mut seen = String::new();
        loop {
            let lines = follower.lines().unwrap();
            if lines.is_empty() {
                return seen;
            }
            seen.push_str(std::str::from_utf8(&lines).unwrap());
        }
    };
    let queries = |text: String| text.lines().filter(|line| line.contains("dns-query")).count();
    assert_eq!(queries(drain(&mut early)), 60);
    assert_eq!(queries(drain(&mut late)), 50);
}

#[test]
fn many_threads_share_a_recorder() {
    let room = Room::new();
    let recorder = room.recorder();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| write(&recorder, 100));
        }
    });
    assert_eq!(room.findings(), []);
    assert_eq!(room.snapshot().verify(None).unwrap().records, 401);
}
