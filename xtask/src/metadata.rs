//! What cargo knows about the workspace: crates, and what each of them needs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::failure::Failure;
use crate::process::Tool;
use crate::root::Root;

/// One package of the resolved graph.
#[derive(Debug, Clone, Default)]
pub struct Package {
    pub name: String,
    pub version: String,
    pub manifest: String,
    /// `[package.metadata.cofferdam] layer`.
    pub layer: Option<String>,
    pub licence: Option<String>,
    /// Where it comes from; a package of the tree itself has none.
    pub source: Option<String>,
    pub member: bool,
    /// What it is built from, as ids. What only its tests need is not part of it.
    pub needs: BTreeSet<String>,
}

/// Packages by cargo's own id.
#[derive(Debug, Default)]
pub struct Graph(BTreeMap<String, Package>);

impl Graph {
    /// The graph of a manifest for the machine it is built on: what only other systems need is not part of it.
    pub fn read(root: &Root, manifest: &str) -> Result<Self, Failure> {
        let text = Tool::cargo()
            .args(["metadata", "--format-version", "1", "--filter-platform", &host()?])
            .arg("--manifest-path")
            .arg(root.join(manifest))
            .within(root.path())
            .output()?;
        let metadata =
            serde_json::from_str(&text).map_err(|error| Failure::new(format!("cargo metadata: {error}")))?;
        Ok(Self::parse(&metadata))
    }

    pub fn parse(metadata: &Value) -> Self {
        let members: BTreeSet<&str> = strings(&metadata["workspace_members"]).collect();
        let mut packages = BTreeMap::new();
        for package in list(&metadata["packages"]) {
            let id = text(&package["id"]);
            let entry = Package {
                name: text(&package["name"]),
                version: text(&package["version"]),
                manifest: text(&package["manifest_path"]),
                layer: package["metadata"]["cofferdam"]["layer"].as_str().map(str::to_owned),
                licence: package["license"].as_str().map(str::to_owned),
                source: package["source"].as_str().map(str::to_owned),
                member: members.contains(id.as_str()),
                needs: BTreeSet::new(),
            };
            packages.insert(id, entry);
        }
        for node in list(&metadata["resolve"]["nodes"]) {
            if let Some(package) = packages.get_mut(&text(&node["id"])) {
                package.needs = list(&node["deps"])
                    .filter(|needed| list(&needed["dep_kinds"]).any(|kind| kind["kind"] != "dev"))
                    .map(|needed| text(&needed["pkg"]))
                    .collect();
            }
        }
        Self(packages)
    }

    pub fn packages(&self) -> impl Iterator<Item = (&str, &Package)> {
        self.0.iter().map(|(id, package)| (id.as_str(), package))
    }

    pub fn members(&self) -> impl Iterator<Item = (&str, &Package)> {
        self.packages().filter(|(_, package)| package.member)
    }

    pub fn get(&self, id: &str) -> Option<&Package> {
        self.0.get(id)
    }

    /// Everything a package is built from, near or far, each with the names of one way that leads there.
    pub fn reach(&self, id: &str) -> BTreeMap<&str, String> {
        let mut ways = BTreeMap::new();
        let start = self.get(id).map_or("", |package| package.name.as_str());
        let mut waiting = vec![(id, start.to_owned())];
        while let Some((id, way)) = waiting.pop() {
            for needed in self.get(id).into_iter().flat_map(|package| &package.needs) {
                let Some((key, package)) = self.0.get_key_value(needed) else { continue };
                if !ways.contains_key(key.as_str()) {
                    let way = format!("{way} \u{2192} {}", package.name);
                    ways.insert(key.as_str(), way.clone());
                    waiting.push((key, way));
                }
            }
        }
        ways
    }
}

/// The name of this machine's target, as the compiler says it.
fn host() -> Result<String, Failure> {
    let printed =
        Tool::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("-vV").output()?;
    printed
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .ok_or_else(|| Failure::new("rustc does not say which machine this is"))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    list(value).filter_map(Value::as_str)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
