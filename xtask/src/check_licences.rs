//! Licences and sources of everything that is built from.
//!
//! `cargo deny` does this and more, but takes minutes to build on a new machine. So the two questions that
//! cargo itself can answer are always asked, from the lists in `deny.toml`, and the whole of `cargo deny`
//! runs where it is installed.

use crate::failure::{Done, Failure, none_of};
use crate::licence::is_met;
use crate::metadata::{Graph, Package};
use crate::root::Root;

/// The only place that dependencies come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// What `deny.toml` allows.
#[derive(Debug)]
struct Allowed {
    everywhere: Vec<String>,
    /// `(crate, licences)`
    exceptions: Vec<(String, Vec<String>)>,
}

pub fn run(root: &Root) -> Done {
    let allowed = Allowed::read(&root.toml("deny.toml")?)?;
    let mut findings = Vec::new();
    let mut count = 0;
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
        let graph = Graph::read(root, manifest)?;
        count += graph.packages().count();
        findings.extend(graph.packages().filter_map(|(_, package)| allowed.finding(package)));
    }
    findings.sort();
    findings.dedup();
    none_of(findings, "a dependency is not of a kind that deny.toml allows")?;
    println!("licences: {count} packages, all allowed");
    Ok(())
}

impl Allowed {
    fn read(deny: &toml::Table) -> Result<Self, Failure> {
        let licences = deny.get("licenses").ok_or_else(|| Failure::new("deny.toml: no [licenses]"))?;
        let exceptions = licences.get("exceptions").and_then(toml::Value::as_array);
        let exceptions = exceptions.into_iter().flatten().filter_map(|entry| {
            Some((entry.get("crate")?.as_str()?.to_owned(), strings(entry.get("allow"))))
        });
        Ok(Self { everywhere: strings(licences.get("allow")), exceptions: exceptions.collect() })
    }

    fn finding(&self, package: &Package) -> Option<String> {
        let who = format!("{} {}", package.name, package.version);
        match package.source.as_deref() {
            None | Some(REGISTRY) => {}
            Some(other) => return Some(format!("{who}: comes from {other}")),
        }
        let Some(licence) = &package.licence else {
            return Some(format!("{who}: names no licence"));
        };
        let met = is_met(licence, &|name| {
            self.everywhere.iter().any(|allowed| allowed == name)
                || self
                    .exceptions
                    .iter()
                    .any(|(of, also)| *of == package.name && also.iter().any(|it| it == name))
        });
        (!met).then(|| format!("{who}: {licence}"))
    }
}

fn strings(value: Option<&toml::Value>) -> Vec<String> {
    let list = value.and_then(toml::Value::as_array).into_iter().flatten();
    list.filter_map(|entry| entry.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, licence: Option<&str>, source: &str) -> Package {
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            licence: licence.map(str::to_owned),
            source: Some(source.to_owned()),
            ..Package::default()
        }
    }

    #[test]
    fn licence_and_source_are_both_asked_for() {
        let deny = "[licenses]\nallow = [\"MIT\"]\nexceptions = [{ crate = \"odd\", allow = [\"NCSA\"] }]";
        let allowed = Allowed::read(&deny.parse().unwrap()).unwrap();
        assert_eq!(allowed.finding(&package("a", Some("MIT"), REGISTRY)), None);
        assert_eq!(allowed.finding(&package("odd", Some("MIT AND NCSA"), REGISTRY)), None);
        for bad in [
            package("a", Some("MIT AND NCSA"), REGISTRY),
            package("a", None, REGISTRY),
            package("a", Some("MIT"), "git+https://example.com/a"),
            package("a", Some("AGPL-3.0"), REGISTRY),
        ] {
            assert!(allowed.finding(&bad).is_some(), "{bad:?}");
        }
    }
}
