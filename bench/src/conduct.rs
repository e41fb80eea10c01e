//! Every benchmark runs in a process of its own: one that fails or takes too long does not end the others, and what it
//! had found by then stands.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use cofferdam_bench::entry::{Entry, Found};
use cofferdam_bench::harness::Bench;
use cofferdam_bench::measure::Effort;
use cofferdam_bench::{peer, plot, show};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::BENCHMARKS;

/// The first argument of a process with one benchmark.
pub const ONE: &str = "--one";
const HINT: &str = "hint: bench [NAME…] [--quick] [--json] [--plot FILE]";
/// Passed on to the processes that measure.
const VARIABLES: [&str; 3] = ["COFFERDAM_BENCH_CACHE", PEERS, "HOME"];
const PEERS: &str = "COFFERDAM_BENCH_PEERS";
/// With little time, and for what takes long, these are enough: the others are slower by far.
const NEAREST: &str = "hudsucker,opaque tunnel";

struct Wish {
    names: Vec<&'static str>,
    effort: Effort,
    json: bool,
    plot: Option<PathBuf>,
}

/// The other side of [`all`].
pub fn one(name: &str, effort: &str) -> ExitCode {
    let effort = if effort == "quick" { Effort::Quick } else { Effort::Full };
    let known = BENCHMARKS.iter().find(|(known, _)| *known == name);
    match (known, Bench::new(name, effort)) {
        (Some((_, run)), Ok(mut bench)) => {
            run(&mut bench);
            ExitCode::SUCCESS
        }
        (_, Err(error)) => {
            eprintln!("bench: the cache directory cannot be made: {error}");
            ExitCode::FAILURE
        }
        (None, _) => ExitCode::FAILURE,
    }
}

pub fn all(words: &[&str]) -> ExitCode {
    let wish = match Wish::parse(words) {
        Ok(wish) => wish,
        Err(sentence) => {
            eprintln!("bench: {sentence}\n{HINT}");
            return ExitCode::FAILURE;
        }
    };
    let end = Instant::now() + wish.effort.longest_of_all();
    let mut entries = Vec::new();
    let mut failed = false;
    for name in &wish.names {
        let left = end.saturating_duration_since(Instant::now());
        let (found, ending) = measured(name, &wish, left.min(wish.effort.longest()));
        entries.extend(found);
        failed |= ending == Ending::Failed;
    }
    if wish.json {
        println!("{}", serde_json::to_string_pretty(&entries).expect("plain data"));
    }
    if let Some(file) = &wish.plot {
        match std::fs::write(file, plot::svg(&entries)) {
            Ok(()) => eprintln!("\nthe picture is in {}", file.display()),
            Err(error) => {
                eprintln!("bench: {}: {error}", file.display());
                failed = true;
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

impl Wish {
    fn parse(words: &[&str]) -> Result<Self, String> {
        let mut wish = Self { names: Vec::new(), effort: Effort::Full, json: false, plot: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--quick" => wish.effort = Effort::Quick,
                "--json" => wish.json = true,
                "--plot" => wish.plot = Some(words.next().ok_or("--plot needs a file")?.into()),
                name => match BENCHMARKS.iter().find(|(known, _)| *known == name) {
                    Some((known, _)) => wish.names.push(known),
                    None => {
                        let known: Vec<&str> = BENCHMARKS.iter().map(|(name, _)| *name).collect();
                        return Err(format!("no benchmark “{name}”; there are {}", known.join(", ")));
                    }
                },
            }
        }
        if wish.names.is_empty() {
            wish.names = BENCHMARKS.iter().map(|(name, _)| *name).collect();
        }
        Ok(wish)
    }

    /// Everything for a person goes where it does not disturb what is for a program.
    fn show(&self, text: &str) {
        if self.json { eprint!("{text}") } else { print!("{text}") }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Well,
    Failed,
    OutOfTime,
}

fn measured(name: &str, wish: &Wish, limit: Duration) -> (Vec<Entry>, Ending) {
    let mut child = start(name, wish.effort);
    let lines = lines_of(&mut child);
    let end = Instant::now() + limit;
    let mut entries = Vec::new();
    let mut ending = Ending::Well;
    loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => match serde_json::from_str::<Entry>(&line) {
                Ok(entry) => {
                    wish.show(&show::text(&entry));
                    entries.push(entry);
                }
                Err(_) => wish.show(&format!("{line}\n")),
            },
            Err(error) => {
                if error == std::sync::mpsc::RecvTimeoutError::Timeout {
                    ending = Ending::OutOfTime;
                }
                break;
            }
        }
    }
    end_all(&mut child, &mut ending);
    let why = match ending {
        Ending::Well => return (entries, ending),
        Ending::Failed => "the rest: the benchmark failed; see above".to_owned(),
        Ending::OutOfTime => format!("the rest: {} s were not enough", limit.as_secs()),
    };
    let entry =
        Entry { benchmark: name.to_owned(), title: name.to_owned(), found: Found::NotMeasured { why } };
    wish.show(&show::text(&entry));
    entries.push(entry);
    (entries, ending)
}

/// In a group of its own, so that whatever it has started can be ended with it.
fn start(name: &str, effort: Effort) -> Child {
    let mut command = peer::command(std::env::current_exe().expect("this program"));
    for variable in VARIABLES {
        if let Some(value) = std::env::var_os(variable) {
            command.env(variable, value);
        }
    }
    if std::env::var_os(PEERS).is_none() && (effort == Effort::Quick || name == "growth_tunnels") {
        command.env(PEERS, NEAREST);
    }
    let effort = if effort == Effort::Quick { "quick" } else { "full" };
    peer::in_its_own_group(&mut command)
        .args([ONE, name, effort])
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("this program starts")
}

fn lines_of(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = channel();
    let output = child.stdout.take().expect("a pipe");
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

fn end_all(child: &mut Child, ending: &mut Ending) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if *ending == Ending::OutOfTime
        && let Some(group) = group
    {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let well = child.wait().is_ok_and(|status| status.success());
    if !well && *ending == Ending::Well {
        *ending = Ending::Failed;
        // What a process that panicked had started would stay.
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_understood_or_refused() {
        let wish = Wish::parse(&["gate", "--quick", "--plot", "a.svg"]).unwrap();
        assert_eq!((wish.names.as_slice(), wish.effort, wish.json), (&["gate"][..], Effort::Quick, false));
        assert_eq!(Wish::parse(&[]).unwrap().names.len(), BENCHMARKS.len());
        assert!(Wish::parse(&["gaet"]).is_err() && Wish::parse(&["--plot"]).is_err());
    }
}
