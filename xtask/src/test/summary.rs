//! What was done, how it ended, and how long it took.

use std::time::{Duration, Instant};

use crate::failure::{Done, Failure};

#[derive(Debug)]
enum Ending {
    Passed(Duration),
    Failed(Duration),
    LeftOut(&'static str),
}

/// The steps so far.
#[derive(Debug)]
pub struct Summary {
    keep_going: bool,
    steps: Vec<(&'static str, Ending)>,
}

impl Summary {
    pub fn new(keep_going: bool) -> Self {
        Self { keep_going, steps: Vec::new() }
    }

    /// Takes a step. A failure ends everything, unless it was asked to keep going.
    pub fn step(&mut self, name: &'static str, work: impl FnOnce() -> Done) -> Done {
        println!("\n==> {name}");
        let start = Instant::now();
        let done = work();
        let took = start.elapsed();
        let result = if done.is_ok() { Ending::Passed(took) } else { Ending::Failed(took) };
        self.steps.push((name, result));
        let Err(failure) = done else { return Ok(()) };
        if self.keep_going {
            failure.report();
            return Ok(());
        }
        self.print();
        Err(failure)
    }

    pub fn left_out(&mut self, name: &'static str, why: &'static str) {
        self.steps.push((name, Ending::LeftOut(why)));
    }

    pub fn end(&self) -> Done {
        self.print();
        let failed: Vec<&str> = self
            .steps
            .iter()
            .filter(|(_, result)| matches!(result, Ending::Failed(_)))
            .map(|(name, _)| *name)
            .collect();
        if failed.is_empty() {
            return Ok(());
        }
        Err(Failure::new(format!("failed: {}", failed.join(", "))))
    }

    fn print(&self) {
        let width = self.steps.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        println!("\n==> summary");
        for (name, result) in &self.steps {
            match result {
                Ending::Passed(took) => println!("{name:width$}  passed    {:6.1} s", took.as_secs_f64()),
                Ending::Failed(took) => println!("{name:width$}  FAILED    {:6.1} s", took.as_secs_f64()),
                Ending::LeftOut(why) => println!("{name:width$}  left out  {why}"),
            }
        }
    }
}
