//! The record: nothing that happened is missing from it, nothing in it is a secret, and it can be followed,
//! searched, counted, exported and shown not to have been altered.

mod record_writer;

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use cofferdam_audit::event::{
    ApprovalDecided, ApprovalReason, Approver, CommandDigest, CredentialInjected, CredentialPlace,
    EgressReason, EgressRequest, Outcome, Verdict,
};
use cofferdam_audit::{HostName, Label, Method, Recorder, RequestPath, Settings};
use cofferdam_testkit::{Cofferdam, Home};
use record_writer::{audit_dir, request, writer, writer_after, writer_in};

fn cofferdam(home: &Home) -> Cofferdam {
    Cofferdam::new(env!("CARGO_BIN_EXE_cofferdam"), home).arg("audit")
}

fn recorder(home: &Home) -> Recorder {
    Recorder::open(&audit_dir(home), Settings::default()).expect("a record")
}

fn record(recorder: &Recorder, host: &str, refused: Option<EgressReason>) {
    let recorded = recorder.record(Some(&Label::new("s-1")), &request(host, refused)).expect("a record");
    assert!(recorded.place().is_ok());
}

/// Ten requests to `h0.example` … `h9.example`; the first line of the file opens it.
fn ten_requests(home: &Home) {
    let recorder = recorder(home);
    (0..10).for_each(|n| record(&recorder, &format!("h{n}.example"), None));
}

fn hosts(json_lines: &str) -> HashSet<String> {
    let host = |line: &str| {
        let record: serde_json::Value = serde_json::from_str(line).expect("a record is JSON");
        record["host"].as_str().map(str::to_owned)
    };
    json_lines.lines().filter_map(host).collect()
}

fn acknowledged(output: &str) -> impl Iterator<Item = String> {
    output.lines().filter_map(|line| line.strip_prefix("ack ")).map(str::to_owned)
}

#[test]
fn req_e15_kill_9_at_any_moment_loses_no_record_that_was_acknowledged() {
    let home = Home::new();
    let mut promised = HashSet::new();
    for round in 0..12_u64 {
        let mut child =
            writer(&home, &format!("r{round}"), 1_000_000).env("WRITER_FILE_BYTES", "60000").spawn();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        // The moment is another one in every round: some hundred records later, in the middle of whatever.
        let mut seen = String::new();
        for _ in 0..100 + round * 37 {
            output.read_line(&mut seen).unwrap();
        }
        child.kill().unwrap();
        std::io::Read::read_to_string(&mut output, &mut seen).unwrap();
        child.wait().unwrap();
        // The last line of the pipe may be a part of one.
        let whole = seen.rfind('\n').map_or("", |end| &seen[..end]);
        promised.extend(acknowledged(whole));
    }
    assert!(promised.len() > 1000);
    let found = hosts(&cofferdam(&home).args(["grep", "--json"]).run().expect_status(0).stdout());
    let missing: Vec<_> = promised.difference(&found).collect();
    assert!(missing.is_empty(), "{missing:?}");
    // A writer that opens it next repairs what the last one may have left.
    writer(&home, "last", 1).run().expect_status(0);
    cofferdam(&home).arg("verify").run().expect_status(0);
}

#[test]
fn req_e15_several_processes_write_one_chain() {
    let home = Home::new();
    let children: Vec<_> = (0..4)
        .map(|n| writer(&home, &format!("w{n}"), 200).env("WRITER_FILE_BYTES", "30000").spawn())
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert_eq!(acknowledged(&String::from_utf8_lossy(&output.stdout)).count(), 200);
    }
    let verified = cofferdam(&home).arg("verify").run().expect_status(0).stdout();
    assert!(verified.contains("as they were written"), "{verified}");
    let all = cofferdam(&home).args(["grep", "--kind", "egress-request", "--json"]).run().expect_status(0);
    assert_eq!(hosts(&all.stdout()).len(), 800);
}

#[test]
fn req_e15_a_full_disk_refuses_and_says_so() {
    let home = Home::new();
    // A limit on the length of files fails a write in the middle, as a full disk does.
    let limited = "trap '' XFSZ; ulimit -f 8";
    let output = writer_after(&home, limited, 60).run().expect_status(0).stdout();
    assert!(acknowledged(&output).count() > 3, "{output}");
    assert!(output.contains("refused: cannot write the record"), "{output}");
    assert!(output.contains("hint: "), "{output}");
    let verified = cofferdam(&home).arg("verify").run().expect_status(0).stdout();
    assert!(!verified.contains("note:"), "no part of a line is left: {verified}");
    let found = hosts(&cofferdam(&home).args(["grep", "--json"]).run().expect_status(0).stdout());
    assert_eq!(found, acknowledged(&output).collect());
}

#[test]
fn req_e15_going_on_without_a_record_is_counted_and_told() {
    let home = Home::new();
    let limited = "trap '' XFSZ; ulimit -f 8";
    let output =
        writer_after(&home, limited, 60).env("WRITER_POLICY", "continue").run().expect_status(0).stdout();
    let written = acknowledged(&output).count();
    assert!(!output.contains("refused"), "{output}");
    let last = output.lines().rfind(|line| line.starts_with("unwritten")).expect("some were not written");
    assert_eq!(last, format!("unwritten {}", 60 - written));
}

#[test]
fn req_e15_a_place_that_cannot_be_written_refuses_the_start() {
    let home = Home::new();
    let plain = home.write("plain", "not a directory");
    for place in ["/sys/cofferdam-audit".into(), plain.join("audit")] {
        let output = writer_in(&home, &place, "w", 1).run().expect_status(0).stdout();
        assert!(output.contains("refused to start: "), "{}: {output}", place.display());
        assert!(output.contains("hint: "), "{output}");
        assert_eq!(acknowledged(&output).count(), 0);
    }
}

#[test]
fn req_e15_neither_a_secret_nor_a_token_has_a_place_in_a_record() {
    let home = Home::new();
    let recorder = recorder(&home);
    let (host, provider) = (HostName::new("api.example"), Label::new("example"));
    let path = RequestPath::new("/botCANARY/send?key=CANARY#CANARY", std::slice::from_ref(&(4..10)));
    let asked = EgressRequest {
        outcome: Outcome::Refused { reason: EgressReason::TokenMisplaced },
        host: host.clone(),
        port: 443,
        method: Method::new("POST"),
        path,
        rule: None,
        provider: Some(provider.clone()),
    };
    let place = CredentialPlace::Path;
    for event in [asked.into(), CredentialInjected { host, provider, place }.into()] {
        assert!(recorder.record(None, &event).unwrap().place().is_ok());
    }
    let stored = home.read("cofferdam/state/audit/00000001.jsonl");
    assert!(stored.contains("\"path\":\"/bot{}/send\""), "{stored}");
    assert!(!stored.contains("CANARY"), "{stored}");
}

#[test]
fn req_e15_a_decision_of_the_gate_is_recorded_with_who_and_why() {
    let home = Home::new();
    let decided = ApprovalDecided {
        outcome: Outcome::Refused { reason: ApprovalReason::TimedOut },
        verdict: Verdict::Ask,
        rule: Label::new("recursive-delete"),
        approver: Approver::Terminal,
        scope: None,
        digest: CommandDigest([7; 32]),
        milliseconds: 300_000,
    };
    assert!(recorder(&home).record(None, &decided.into()).unwrap().place().is_ok());
    let shown = cofferdam(&home).args(["grep", "--kind", "approval-decided"]).run().expect_status(0).stdout();
    for word in ["refused", "timed-out", "verdict=ask", "rule=recursive-delete", "approver=terminal"] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
}

#[test]
fn req_e25_verify_finds_each_kind_of_tampering_and_where() {
    type Change = fn(&mut Vec<String>);
    let table: [(Change, &str); 7] = [
        (|lines| lines[4] = lines[4].replace("h3.", "hX."), "line 5: record 5 was altered"),
        (|lines| drop(lines.remove(4)), "line 5: record 5 was removed before this line"),
        (|lines| lines.swap(4, 5), "line 6: record 5 was moved"),
        (|lines| lines.insert(5, lines[4].clone()), "line 6: a second record 5"),
        (|lines| lines.insert(5, "{}".to_owned()), "line 6: this is not a record"),
        (|lines| lines.truncate(8), "records 9 to 11 were cut off at the end"),
        (|lines| lines.clear(), "records 1 to 11 were cut off at the end"),
    ];
    for (change, expected) in table {
        let home = Home::new();
        ten_requests(&home);
        cofferdam(&home).arg("verify").run().expect_status(0);
        let file = "cofferdam/state/audit/00000001.jsonl";
        let mut lines: Vec<String> = home.read(file).lines().map(str::to_owned).collect();
        change(&mut lines);
        home.write(file, lines.iter().map(|line| format!("{line}\n")).collect::<String>());
        let outcome = cofferdam(&home).arg("verify").run().expect_status(1);
        let expected = match expected.starts_with("line") {
            true => format!("00000001.jsonl: {expected}"),
            false => expected.to_owned(),
        };
        assert!(outcome.stdout().contains(&expected), "{expected}: {}", outcome.stdout());
        let json = cofferdam(&home).args(["verify", "--json"]).run().expect_status(1).stdout();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["findings"].as_array().unwrap().len(), 1, "{json}");
    }
}

#[test]
fn req_e25_a_head_noted_elsewhere_tells_a_record_that_was_written_anew() {
    let home = Home::new();
    ten_requests(&home);
    let head = |home: &Home| {
        let printed = cofferdam(home).arg("verify").run().expect_status(0).stdout();
        printed.lines().find_map(|line| line.strip_prefix("head ")).unwrap().to_owned()
    };
    let noted = head(&home);
    cofferdam(&home).args(["verify", "--against", &noted]).run().expect_status(0);
    fs::remove_dir_all(audit_dir(&home)).unwrap();
    cofferdam(&home).arg("verify").run().expect_status(0);
    cofferdam(&home).args(["verify", "--against", &noted]).run().expect_status(1);
    ten_requests(&home);
    cofferdam(&home).arg("verify").run().expect_status(0);
    let outcome = cofferdam(&home).args(["verify", "--against", &noted]).run().expect_status(1);
    assert!(outcome.stdout().contains("noted elsewhere is not in this record"), "{}", outcome.stdout());
    cofferdam(&home).args(["verify", "--against", "12:xyz"]).run().expect_status(64);
}

#[test]
fn req_e25_an_incomplete_last_line_is_noted_and_repaired_by_the_next_writer() {
    let home = Home::new();
    ten_requests(&home);
    let file = audit_dir(&home).join("00000001.jsonl");
    fs::OpenOptions::new().append(true).open(file).unwrap().write_all(b"{\"v\":1,\"se").unwrap();
    let noted = cofferdam(&home).arg("verify").run().expect_status(0).stdout();
    assert!(noted.contains("note: the last line is incomplete (10 bytes)"), "{noted}");
    ten_requests(&home);
    let verified = cofferdam(&home).arg("verify").run().expect_status(0).stdout();
    assert!(!verified.contains("note:"), "{verified}");
    let told = cofferdam(&home).args(["grep", "--kind", "record-repaired"]).run().expect_status(0).stdout();
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn req_e25_grep_filters_by_everything_that_was_asked_for() {
    let home = Home::new();
    let recorder = recorder(&home);
    for n in 0..20 {
        let refused = (n % 4 == 0).then_some(EgressReason::HostNotAllowed);
        record(&recorder, &format!("h{}.example", n % 5), refused);
    }
    record(&recorder, "other.test", None);
    for (arguments, expected) in [
        (&["h3.example"][..], 4),
        (&["--host", "h3.example"], 4),
        (&["--host", "*.example"], 20),
        (&["--host", "*.test"], 1),
        (&["--decision", "refused"], 5),
        (&["--decision", "refused", "--host", "h0.example"], 1),
        (&["--kind", "egress-request"], 21),
        (&["--kind", "egress-request", "--kind", "record-opened"], 22),
        (&["--session", "s-1"], 21),
        (&["--session", "s-2"], 0),
        (&["--since", "1h"], 22),
        (&["--until", "1h"], 0),
        (&["--since", "2000-01-01", "--until", "2001-01-01T00:00:00Z"], 0),
        (&["--since", "2000-01-01T00:00:00+02:00"], 22),
        (&["host-not-allowed"], 5),
        (&["no such text"], 0),
    ] {
        for json in [&[][..], &["--json"]] {
            let outcome = cofferdam(&home).arg("grep").args(arguments).args(json).run().expect_status(0);
            assert_eq!(outcome.stdout().lines().count(), expected, "{arguments:?}: {}", outcome.stdout());
        }
    }
    for wrong in [&["--since", "yesterday"][..], &["--kind", "egress-requests"], &["--decision", "maybe"]] {
        let outcome = cofferdam(&home).arg("grep").args(wrong).run().expect_status(64);
        assert!(!outcome.stderr().is_empty());
    }
}

#[test]
fn req_e25_tail_shows_the_last_and_follows_through_rotation() {
    let home = Home::new();
    ten_requests(&home);
    let last = cofferdam(&home).args(["tail", "-n", "3", "--json"]).run().expect_status(0).stdout();
    assert_eq!(hosts(&last), ["h7.example", "h8.example", "h9.example"].map(str::to_owned).into());
    let mut child = cofferdam(&home).args(["tail", "-n", "0", "-f", "--json"]).spawn();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    // It has to be at the end before more is written; the first new record tells when it is.
    let (sender, seen) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut line = String::new();
        while output.read_line(&mut line).is_ok_and(|count| count > 0)
            && sender.send(std::mem::take(&mut line)).is_ok()
        {}
    });
    let marks = recorder(&home);
    let mut tries = 0;
    while seen.recv_timeout(Duration::from_millis(200)).is_err() {
        record(&marks, "mark.example", None);
        tries += 1;
        assert!(tries < 100, "nothing is followed");
    }
    writer(&home, "new", 100).env("WRITER_FILE_BYTES", "9000").run().expect_status(0);
    let mut found = Vec::new();
    while found.len() < 100 {
        let line = seen.recv_timeout(Duration::from_secs(20)).expect("every record is followed");
        found.extend(hosts(&line).into_iter().filter(|host| host.starts_with("new-")));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap();
    assert_eq!(found, (0..100).map(|n| format!("new-{n}.example")).collect::<Vec<_>>());
    assert!(audit_dir(&home).join("00000003.jsonl").exists(), "it was rotated");
}

#[test]
fn req_e25_stats_count_and_point_out_first_time_hosts_and_many_refusals() {
    let home = Home::new();
    let recorder = recorder(&home);
    (0..19).for_each(|_| record(&recorder, "usual.example", None));
    record(&recorder, "usual.example", Some(EgressReason::PathNotAllowed));
    let stats = |arguments: &[&str]| {
        let text = cofferdam(&home).args(["stats", "--json"]).args(arguments).run().expect_status(0).stdout();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    };
    let quiet = stats(&[]);
    assert_eq!(quiet["anomalies"], serde_json::json!([]), "one in twenty is not more than 5 %");
    assert_eq!((&quiet["allowed"], &quiet["refused"]), (&19.into(), &1.into()));
    // Everything so far is before this moment, everything after is new.
    std::thread::sleep(Duration::from_millis(2));
    let middle = cofferdam_audit::Moment::now().to_string();
    record(&recorder, "usual.example", None);
    record(&recorder, "drop-box.example", Some(EgressReason::HostNotAllowed));
    let loud = stats(&["--since", &middle]);
    assert_eq!(loud["records"], 2);
    let anomalies = loud["anomalies"].as_array().unwrap();
    assert_eq!(anomalies.len(), 2, "{loud}");
    assert_eq!(anomalies[0]["anomaly"], "first-time-host");
    assert_eq!(anomalies[0]["host"], "drop-box.example");
    assert_eq!(anomalies[1]["anomaly"], "many-refusals");
    let shown = cofferdam(&home).args(["stats", "--since", &middle]).run().expect_status(0).stdout();
    for text in ["first-time host: drop-box.example", "host-not-allowed", "1 of 2 decisions (50.0 %)"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
}

#[test]
fn req_e25_exports_are_valid_and_run_nothing() {
    let home = Home::new();
    let recorder = recorder(&home);
    record(&recorder, "=HYPERLINK(\"http://evil.example\",\"x\")", None);
    record(&recorder, "plain.example", Some(EgressReason::HostNotAllowed));
    let json = cofferdam(&home).args(["export"]).run().expect_status(0).stdout();
    let json: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    assert_eq!(json.len(), 3);
    assert_eq!(json[2]["host"], "plain.example");
    let csv = cofferdam(&home).args(["export", "--format", "csv"]).run().expect_status(0).stdout();
    let lines: Vec<&str> = csv.split_terminator("\r\n").collect();
    assert_eq!(lines.len(), 4, "{csv}");
    assert!(lines[0].starts_with("seq,time,session,kind,decision,reason,host,"), "{csv}");
    assert!(lines[2].contains(",\"'=HYPERLINK(\"\"http://evil.example\"\",\"\"x\"\")\","), "{csv}");
    let empty = cofferdam(&home).args(["export", "--since", "2990-01-01"]).run().expect_status(0).stdout();
    assert_eq!(serde_json::from_str::<Vec<serde_json::Value>>(&empty).unwrap().len(), 0);
}

#[test]
fn req_e25_hostile_text_is_shown_inert_even_if_a_file_was_written_by_hand() {
    let home = Home::new();
    let recorder = recorder(&home);
    record(&recorder, "evil\u{1b}]52;c;x\u{7}\u{202e}\r\nfake", None);
    let file = audit_dir(&home).join("00000001.jsonl");
    let by_hand = "{\"v\":1,\"seq\":9,\"time\":\"2026-01-01T00:00:00.000000Z\",\"kind\":\"dns-query\",\"host\":\"\u{1b}[2J\\u001b\"}\n";
    fs::OpenOptions::new().append(true).open(file).unwrap().write_all(by_hand.as_bytes()).unwrap();
    for arguments in [&["tail"][..], &["grep"], &["stats"], &["export", "--format", "csv"]] {
        let shown = cofferdam(&home).args(arguments).run().expect_status(0).stdout();
        let hostile = |c: char| !matches!(c, '\n' | '\r') && !cofferdam_audit::is_visible(c);
        assert!(!shown.contains(hostile), "{arguments:?}: {shown:?}");
        assert!(shown.contains("\\u{1b}"), "{arguments:?}: {shown}");
    }
}

#[test]
fn req_e25_without_a_record_every_command_says_so() {
    let home = Home::new();
    for command in ["tail", "grep"] {
        let outcome = cofferdam(&home).arg(command).run().expect_status(0);
        assert!(outcome.stderr().contains("there is no record"), "{command}: {}", outcome.stderr());
    }
    assert!(cofferdam(&home).arg("stats").run().expect_status(0).stdout().contains("0 records"));
    assert!(cofferdam(&home).arg("verify").run().expect_status(0).stdout().contains("There is no record"));
    assert!(!audit_dir(&home).exists(), "reading creates nothing");
}
