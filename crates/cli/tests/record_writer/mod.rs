//! A process that writes records, for tests that kill it, starve it, or run several at once: the test program
//! itself, started again to run one ignored test.

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cofferdam_audit::event::{EgressReason, EgressRequest, Outcome};
use cofferdam_audit::{Event, HostName, Label, Method, OnWriteFailure, Recorder, RequestPath, Settings};
use cofferdam_testkit::{Cofferdam, Home};

pub fn audit_dir(home: &Home) -> PathBuf {
    home.path().join("cofferdam/state/audit")
}

pub fn request(host: &str, refused: Option<EgressReason>) -> Event {
    let outcome = refused.map_or(Outcome::Allowed, |reason| Outcome::Refused { reason });
    EgressRequest {
        outcome,
        host: HostName::new(host),
        port: 443,
        method: Method::new("GET"),
        path: RequestPath::new("/v1/things", &[]),
        rule: Some(Label::new("test")),
        provider: None,
    }
    .into()
}

/// The arguments that make the test program run [`child`] and nothing else.
pub const CHILD: [&str; 4] = ["record_writer::child", "--exact", "--ignored", "--nocapture"];

/// A writer of `count` records in a process of its own. It prints `ack HOST` after each.
pub fn writer(home: &Home, name: &str, count: usize) -> Cofferdam {
    writer_in(home, &audit_dir(home), name, count)
}

pub fn writer_in(home: &Home, directory: &Path, name: &str, count: usize) -> Cofferdam {
    let program = env::current_exe().expect("the path of the test program");
    configured(Cofferdam::new(program.to_str().expect("a path in UTF-8"), home).args(CHILD), directory)
        .env("WRITER_NAME", name)
        .env("WRITER_COUNT", count.to_string())
}

/// The same in a shell, which first does what `before` says.
pub fn writer_after(home: &Home, before: &str, count: usize) -> Cofferdam {
    let program = env::current_exe().expect("the path of the test program");
    let script = format!("{before}\nexec \"$0\" \"$@\"");
    let shell = Cofferdam::new("/bin/sh", home).args(["-c", &script]).arg(program).args(CHILD);
    configured(shell, &audit_dir(home)).env("WRITER_NAME", "w").env("WRITER_COUNT", count.to_string())
}

fn configured(call: Cofferdam, directory: &Path) -> Cofferdam {
    call.env("WRITER_DIRECTORY", directory)
}

#[test]
#[ignore = "a process that other tests start"]
fn child() {
    let Some(directory) = env::var_os("WRITER_DIRECTORY") else { return };
    let setting = |name: &str| env::var(name).ok();
    let number = |name: &str, otherwise: u64| setting(name).map_or(otherwise, |text| text.parse().unwrap());
    let settings = Settings {
        file_bytes: number("WRITER_FILE_BYTES", 64 << 20),
        keep_files: 1000,
        on_write_failure: match setting("WRITER_POLICY").as_deref() {
            Some("continue") => OnWriteFailure::Continue,
            _ => OnWriteFailure::Refuse,
        },
        ..Settings::default()
    };
    let mut out = io::stdout().lock();
    let recorder = match Recorder::open(Path::new(&directory), settings) {
        Ok(recorder) => recorder,
        Err(error) => return writeln!(out, "refused to start: {error}\nhint: {}", error.fix()).unwrap(),
    };
    let name = setting("WRITER_NAME").unwrap_or_default();
    for n in 0..number("WRITER_COUNT", 0) {
        let host = format!("{name}-{n}.example");
        match recorder.record(Some(&Label::new(&name)), &request(&host, None)) {
            Ok(recorded) if recorded.place().is_ok() => writeln!(out, "ack {host}").unwrap(),
            Ok(_) => writeln!(out, "unwritten {}", recorder.unwritten()).unwrap(),
            Err(error) => writeln!(out, "refused: {error}\nhint: {}", error.fix()).unwrap(),
        }
        out.flush().unwrap();
    }
}
