//! The numbers that were written down, and why they rose.

use std::fmt::Write;
use std::fs;
use std::path::Path as File;

use toml::Table;

use crate::failure::Failure;

/// More than this part above what was written down needs a reason.
const TOLERANCE: f64 = 0.05;
const HEAD: &str = "\
# Instructions that one turn of a hot path takes, in a release build, counted by callgrind: `cargo xtask check-instructions`.
# What a turn is stands in bench/src/counts.rs. A number rises by `--accept PATH \"why\"` alone; the reasons stay here.
";

#[derive(Debug, PartialEq)]
pub struct Baseline {
    pub paths: Vec<Path>,
}

#[derive(Debug, PartialEq)]
pub struct Path {
    pub name: String,
    /// How many turns are counted.
    pub turns: u64,
    /// What it took when it was first counted, if it was.
    first: Option<u64>,
    rises: Vec<Rise>,
}

#[derive(Debug, PartialEq)]
struct Rise {
    to: u64,
    because: String,
}

impl Baseline {
    pub fn read(file: &File) -> Result<Self, Failure> {
        let text = fs::read_to_string(file).map_err(|error| Failure::at(file, error))?;
        Self::parse(&text).map_err(|wrong| Failure::at(file, wrong))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
        let paths = table.iter().map(|(name, value)| path(name, value));
        Ok(Self { paths: paths.collect::<Result<_, _>>()? })
    }

    pub fn write(&self, file: &File) -> Result<(), Failure> {
        fs::write(file, self.text()).map_err(|error| Failure::at(file, error))
    }

    fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for Path { name, turns, first, rises } in &self.paths {
            let _ = write!(text, "\n[{name}]\nturns = {turns}\n");
            if let Some(first) = first {
                let _ = writeln!(text, "first = {first}");
            }
            for Rise { to, because } in rises {
                let _ = write!(text, "[[{name}.rise]]\nto = {to}\nbecause = {because:?}\n");
            }
        }
        text
    }

    pub fn path_mut(&mut self, name: &str) -> Result<&mut Path, Failure> {
        let known: Vec<String> = self.paths.iter().map(|path| path.name.clone()).collect();
        let found = self.paths.iter_mut().find(|path| path.name == name);
        found.ok_or_else(|| {
            Failure::new(format!("no path {name}")).hint(format!("there are {}", known.join(", ")))
        })
    }
}

fn path(name: &str, value: &toml::Value) -> Result<Path, String> {
    let number = |value: Option<&toml::Value>, what: &str| {
        let number = value.and_then(toml::Value::as_integer).and_then(|number| u64::try_from(number).ok());
        number.ok_or_else(|| format!("{name} has no number {what}"))
    };
    let mut rises = Vec::new();
    for rise in value.get("rise").and_then(toml::Value::as_array).into_iter().flatten() {
        let because = rise.get("because").and_then(toml::Value::as_str).unwrap_or_default().trim();
        if because.is_empty() {
            return Err(format!("{name} rose without a reason"));
        }
        rises.push(Rise { to: number(rise.get("to"), "to")?, because: because.to_owned() });
    }
    let turns = number(value.get("turns"), "turns")?;
    let first = value.get("first").map(|first| number(Some(first), "first")).transpose()?;
    Ok(Path { name: name.to_owned(), turns: turns.max(1), first, rises })
}

impl Path {
    /// What it took when it was last written down.
    pub fn allowed(&self) -> Option<u64> {
        self.rises.last().map(|rise| rise.to).or(self.first)
    }

    /// One that was never counted cannot have risen.
    pub fn judge(&self, counted: u64) -> Option<String> {
        let (allowed, counted) = (self.allowed()? as f64, counted as f64);
        let more = (counted / allowed - 1.0) * 100.0;
        (counted > allowed * (1.0 + TOLERANCE))
            .then(|| format!("{}: {counted} instructions, {more:.0} % more than {allowed}", self.name))
    }

    /// Fewer than ever needs no reason: the story begins anew.
    pub fn accept(&mut self, counted: u64, because: &str) {
        if self.first.is_none_or(|first| counted <= first) {
            self.first = Some(counted);
            self.rises.clear();
        } else {
            self.rises.push(Rise { to: counted, because: because.to_owned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> Baseline {
        Baseline::parse("[gate]\nturns = 100\nfirst = 1000\n").unwrap()
    }

    #[test]
    fn more_than_five_percent_more_is_found() {
        let baseline = gate();
        assert_eq!(baseline.paths[0].judge(1050), None);
        assert_eq!(baseline.paths[0].judge(1051).unwrap(), "gate: 1051 instructions, 5 % more than 1000");
        assert_eq!(baseline.paths[0].judge(400), None);
    }

    #[test]
    fn a_number_rises_with_a_reason_that_stays() {
        let mut baseline = gate();
        baseline.path_mut("gate").unwrap().accept(1500, "a \"second\" parser");
        let again = Baseline::parse(&baseline.text()).unwrap();
        assert_eq!(again, baseline);
        assert_eq!((again.paths[0].judge(1500), again.paths[0].judge(1600).is_some()), (None, true));
        assert!(baseline.path_mut("gaet").is_err());
    }

    #[test]
    fn a_new_path_gets_its_first_number() {
        let mut baseline = Baseline::parse("[gate]\nturns = 100\n").unwrap();
        assert_eq!(baseline.paths[0].judge(1_000_000), None);
        baseline.paths[0].accept(700, "new");
        assert!(baseline.paths[0].judge(750).is_some());
        assert_eq!(Baseline::parse(&baseline.text()).unwrap(), baseline);
    }

    #[test]
    fn a_rise_without_a_reason_is_refused() {
        let text = "[gate]\nturns = 100\nfirst = 1000\n[[gate.rise]]\nto = 2000\nbecause = \" \"\n";
        assert_eq!(Baseline::parse(text).unwrap_err(), "gate rose without a reason");
    }

    #[test]
    fn fewer_than_ever_begins_anew() {
        let mut baseline = gate();
        baseline.paths[0].accept(1500, "more");
        baseline.paths[0].accept(900, "less");
        assert_eq!((baseline.paths[0].allowed(), baseline.paths[0].rises.len()), (Some(900), 0));
    }
}
