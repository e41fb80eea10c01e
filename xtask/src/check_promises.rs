//! `docs/promises.md` tells how far the project is, and this makes sure that it tells the truth.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::failure::{Done, Failure};
use crate::promises::{Line, Promise, Shown, Status, Table, find, ids};
use crate::root::Root;

const DOCUMENT: &str = "docs/promises.md";

pub fn run(root: &Root) -> Done {
    let table = read(root)?;
    let wrong = Failure::new(format!("{DOCUMENT} does not tell the truth"))
        .hint("`cargo xtask check-promises --write` fills in the tests that carry an id in their name");
    let findings = findings(&table, &find(root)?);
    if !findings.is_empty() {
        return Err(wrong.findings(findings));
    }
    let count = |status| table.promises().filter(|promise| promise.status == status).count();
    println!(
        "promises: {} kept, {} partly, {} planned",
        count(Status::Kept),
        count(Status::Partly),
        count(Status::Planned)
    );
    Ok(())
}

/// Fills in the tests from the sources. The words stay as they are, and so does the status, except that a
/// promise with a test is no longer merely planned; whether it is kept, a person decides.
pub fn write(root: &Root) -> Done {
    let table = read(root)?;
    let filled = filled(&table, &find(root)?);
    let path = root.join(DOCUMENT);
    fs::write(&path, filled.write()).map_err(|error| Failure::at(&path, error))?;
    run(root)
}

fn read(root: &Root) -> Result<Table, Failure> {
    Table::parse(&root.read(DOCUMENT)?)
        .map_err(|mistakes| Failure::new(format!("{DOCUMENT} cannot be read")).findings(mistakes))
}

/// Everything that is not true.
fn findings(table: &Table, tests: &[Shown]) -> Vec<String> {
    let mut findings = ids_that_are_wrong(table);
    let there: BTreeMap<String, &Shown> = tests.iter().map(|test| (test.path(), test)).collect();
    for promise in table.promises() {
        findings.extend(about(promise, &there));
    }
    findings.extend(not_listed(table, tests));
    findings
}

fn ids_that_are_wrong(table: &Table) -> Vec<String> {
    let mut findings = Vec::new();
    let known: BTreeSet<String> = ids().collect();
    let mut seen = BTreeSet::new();
    for promise in table.promises() {
        if !known.contains(&promise.id) {
            findings.push(format!("{}: no such promise", promise.id));
        }
        if !seen.insert(&promise.id) {
            findings.push(format!("{}: there twice", promise.id));
        }
    }
    findings.extend(known.iter().filter(|id| !seen.contains(id)).map(|id| format!("{id}: missing")));
    findings
}

fn about(promise: &Promise, there: &BTreeMap<String, &Shown>) -> Vec<String> {
    let Promise { id, status, tests, .. } = promise;
    let mut findings = Vec::new();
    for test in tests {
        match there.get(test) {
            None => findings.push(format!("{id}: there is no test {test}")),
            Some(test) if test.ignored => findings.push(format!("{id}: {} is never run", test.path())),
            Some(_) => {}
        }
    }
    match (status, tests.is_empty()) {
        (Status::Kept | Status::Partly, true) => {
            findings.push(format!("{id}: said to be {}, and no test shows it", status.name()));
        }
        (Status::Planned, false) => findings.push(format!("{id}: has tests, so it is more than planned")),
        _ => {}
    }
    findings
}

/// Tests that carry an id and are missing from its row, or carry none that exists.
fn not_listed(table: &Table, tests: &[Shown]) -> Vec<String> {
    let mut findings = Vec::new();
    for test in tests.iter().filter(|test| test.is_about_a_promise()) {
        let path = test.path();
        let ids = test.ids();
        if ids.is_empty() {
            findings.push(format!("{path}: names no promise (req_s02_\u{2026})"));
        }
        for id in ids {
            match table.promises().find(|promise| promise.id == id) {
                None => findings.push(format!("{path}: there is no promise {id}")),
                Some(promise) if !promise.tests.contains(&path) => {
                    findings.push(format!("{id}: {path} is not listed"));
                }
                Some(_) => {}
            }
        }
    }
    findings
}

/// The table with the tests that carry an id in their name, besides those that a person listed and that are
/// still there.
fn filled(table: &Table, tests: &[Shown]) -> Table {
    let lines = table.0.iter().map(|line| match line {
        Line::Text(text) => Line::Text(text.clone()),
        Line::Promise(promise) => {
            let shows = |test: &&Shown| {
                !test.ignored && (test.ids().contains(&promise.id) || promise.tests.contains(&test.path()))
            };
            let tests: Vec<String> = tests.iter().filter(shows).map(Shown::path).collect();
            let status = match promise.status {
                Status::Planned if !tests.is_empty() => Status::Partly,
                status => status,
            };
            Line::Promise(Promise { status, tests, ..promise.clone() })
        }
    });
    Table(lines.collect())
}

#[cfg(test)]
mod tests;
