//! Dependencies point down only.
//!
//! Every crate names its row in `[package.metadata.cofferdam] layer`. What follows from the rows, and the
//! promises that go beyond them, are data below; the check itself only compares.

use std::collections::BTreeMap;
use std::path::Path;

use crate::failure::{Done, Failure, none_of};
use crate::metadata::{Graph, Package};
use crate::root::Root;
use crate::rust_text::{code_only, line_of};

/// The rows, lowest first. A crate may use the rows below its own, and nothing beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Pure,
    System,
    Service,
    Engine,
    Top,
    /// Tools and test harness: may use everything, and nothing that ships may use them.
    Dev,
}

impl Row {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "pure" => Self::Pure,
            "system" => Self::System,
            "service" => Self::Service,
            "engine" => Self::Engine,
            "top" => Self::Top,
            "dev" => Self::Dev,
            _ => return None,
        })
    }
}

/// Whom a rule is about.
enum Whom {
    Crate(&'static str),
    Row(Row),
}

/// What must never be reached, near or far, and why.
struct Never {
    whom: Whom,
    reaches: &'static [&'static str],
    because: &'static str,
}

/// Crates that touch the world: files, sockets, clocks, processes, or a runtime that does.
const WORLDLY: &[&str] = &[
    "async-std",
    "cap-std",
    "dirs",
    "getrandom",
    "hyper",
    "libc",
    "mio",
    "nix",
    "polling",
    "rand",
    "rustix",
    "smol",
    "socket2",
    "tempfile",
    "tokio",
    "walkdir",
    "which",
];

const NEVER: &[Never] = &[
    Never {
        whom: Whom::Crate("cofferdam-audit"),
        reaches: &["cofferdam-secrets"],
        because: "the record cannot hold what it cannot name",
    },
    Never {
        whom: Whom::Crate("cofferdam-sandbox"),
        reaches: &["cofferdam-secrets"],
        because: "what sets the walls up holds no key",
    },
    Never {
        whom: Whom::Crate("cofferdam-sandbox"),
        reaches: &["tokio", "async-std", "smol"],
        because: "between clone and exec there may be no other thread",
    },
    Never { whom: Whom::Row(Row::Pure), reaches: WORLDLY, because: "a pure crate decides and does nothing" },
];

/// Crates whose list of dependencies is closed, with all of it.
const ONLY: &[(&str, &[&str])] =
    &[("cofferdam-shim", &["cofferdam-linux-sys"]), ("cofferdam-short-way", &["cofferdam-linux-sys"])];

/// The crates that may name a secret.
const HOLDERS: (&str, &[&str]) = ("cofferdam-secrets", &["cofferdam-egress", "cofferdam"]);

/// The one crate whose lints are its own, so that it can expect unsafe code.
const UNSAFE: &str = "cofferdam-linux-sys";

/// What the code of a pure crate does not say. Addresses of `std::net` and the bytes of an `OsStr` are values
/// and are fine.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::env",
    "std::process",
    "std::thread",
    "std::os::fd",
    "std::os::unix::fs",
    "std::os::unix::net",
    "std::os::unix::process",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "UnixStream",
    "ToSocketAddrs",
    "SystemTime::now",
    "Instant::now",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "println!",
];

/// Words that a file of a pure crate says all the same, and why it stays pure.
const PURE_ALL_THE_SAME: &[(&str, &str)] = &[
    // A larger stack for a parser that recurses, and the pieces of one text side by side: what comes out is the same.
    ("crates/shell-syntax/src/second.rs", "std::thread"),
];

/// Arrows of other people's crates that lead to nothing that is called: brush-parser names a tool of its tests
/// among its ordinary dependencies.
const LEADS_NOWHERE: &[&str] = &["brush-parser \u{2192} insta"];

pub fn run(root: &Root) -> Done {
    let graph = Graph::read(root, "Cargo.toml")?;
    let mut findings = arrows(&graph);
    findings.extend(unsafe_code(root, &graph)?);
    findings.extend(impure_sources(root, &graph)?);
    none_of(findings, "the layers do not hold")?;
    println!("layers: {} crates, every arrow points down", graph.members().count());
    Ok(())
}

/// Every arrow of the graph that should not be there.
fn arrows(graph: &Graph) -> Vec<String> {
    let mut findings = Vec::new();
    let mut rows = BTreeMap::new();
    for (id, package) in graph.members() {
        match package.layer.as_deref().map(|name| (name, Row::named(name))) {
            Some((_, Some(row))) => {
                rows.insert(id, row);
            }
            Some((name, None)) => {
                findings.push(format!("{}: there is no layer \u{201c}{name}\u{201d}", package.name));
            }
            None => findings.push(format!("{}: no layer in [package.metadata.cofferdam]", package.name)),
        }
    }
    for (&id, &row) in &rows {
        let Some(package) = graph.get(id) else { continue };
        findings.extend(direct(graph, package, row, &rows));
        findings.extend(far(graph, id, package, row));
    }
    findings
}

/// What the rows and the closed lists say about a crate's own dependencies.
fn direct(graph: &Graph, package: &Package, row: Row, rows: &BTreeMap<&str, Row>) -> Vec<String> {
    let mut findings = Vec::new();
    for id in &package.needs {
        let Some(needed) = graph.get(id) else { continue };
        let arrow = format!("{} \u{2192} {}", package.name, needed.name);
        match rows.get(id.as_str()) {
            Some(Row::Dev) if row != Row::Dev => {
                findings.push(format!("{arrow}: what ships does not use what tests it"));
            }
            Some(&below) if row != Row::Dev && below >= row => {
                let direction = if below == row { "sideways" } else { "up" };
                findings.push(format!("{arrow}: points {direction} ({row:?} \u{2192} {below:?})"));
            }
            _ => {}
        }
        if needed.name == HOLDERS.0 && row != Row::Dev && !HOLDERS.1.contains(&package.name.as_str()) {
            findings.push(format!("{arrow}: only {} may name a secret", HOLDERS.1.join(" and ")));
        }
        if let Some((_, only)) = ONLY.iter().find(|(name, _)| *name == package.name)
            && !only.contains(&needed.name.as_str())
        {
            findings.push(format!("{arrow}: it may use {} and nothing else", only.join(", ")));
        }
    }
    findings
}

/// What must not be reached over any number of steps.
fn far(graph: &Graph, id: &str, package: &Package, row: Row) -> Vec<String> {
    let rules = NEVER.iter().filter(|rule| match rule.whom {
        Whom::Crate(name) => name == package.name,
        Whom::Row(of) => of == row,
    });
    let reach = graph.reach(id);
    let mut findings = Vec::new();
    for rule in rules {
        for (id, way) in &reach {
            if LEADS_NOWHERE.iter().any(|arrow| way.contains(arrow)) {
                continue;
            }
            if graph.get(id).is_some_and(|found| rule.reaches.contains(&found.name.as_str())) {
                findings.push(format!("{way}: {}", rule.because));
            }
        }
    }
    findings
}

/// Crates that take themselves out of `unsafe_code = "forbid"`.
fn unsafe_code(root: &Root, graph: &Graph) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    let workspace = root.toml("Cargo.toml")?;
    let lint =
        workspace.get("workspace").and_then(|table| table.get("lints")?.get("rust")?.get("unsafe_code"));
    if lint.and_then(toml::Value::as_str) != Some("forbid") {
        findings.push("Cargo.toml: [workspace.lints.rust] does not forbid unsafe_code".to_owned());
    }
    for (_, package) in graph.members().filter(|(_, package)| package.name != UNSAFE) {
        let text = std::fs::read_to_string(&package.manifest)
            .map_err(|error| Failure::at(Path::new(&package.manifest), error))?;
        let manifest: toml::Table =
            text.parse().map_err(|error| Failure::at(Path::new(&package.manifest), error))?;
        let inherits = manifest.get("lints").and_then(|lints| lints.get("workspace")?.as_bool());
        if inherits != Some(true) {
            findings.push(format!(
                "{}: does not take the workspace's lints, so unsafe code is not forbidden",
                package.name
            ));
        }
    }
    Ok(findings)
}

/// Words in the sources of pure crates that reach out. Tests of a pure crate may read a file.
fn impure_sources(root: &Root, graph: &Graph) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    let files = root.sources()?;
    for (_, package) in graph.members().filter(|(_, package)| package.layer.as_deref() == Some("pure")) {
        let directory = Path::new(&package.manifest).parent().unwrap_or(root.path());
        let source = directory.strip_prefix(root.path()).unwrap_or(directory).join("src");
        for file in files.iter().filter(|file| Path::new(file).starts_with(&source) && !is_test(file)) {
            findings.extend(impure_words(file, &root.read(file)?));
        }
    }
    Ok(findings)
}

fn is_test(file: &str) -> bool {
    file.ends_with("/tests.rs") || file.contains("/tests/")
}

fn impure_words(file: &str, source: &str) -> Vec<String> {
    let code = code_only(source);
    // By convention the tests are the end of a file.
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut findings = Vec::new();
    for word in IMPURE.iter().filter(|word| !PURE_ALL_THE_SAME.contains(&(file, word))) {
        for (at, _) in code.match_indices(word) {
            findings.push(format!("{file}:{}: a pure crate does not say `{word}`", line_of(code, at)));
        }
    }
    findings
}

#[cfg(test)]
mod tests;
