//! The probe, for tests of other packages: where the built program is, and what it said.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

/// How every canary begins; the probe looks for this and never prints what follows.
pub const CANARY: &str = "cofferdam-canary-";

/// What one probe came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probed {
    pub probe: String,
    pub open: bool,
    pub detail: String,
}

impl Probed {
    /// Reads the probe's line.
    ///
    /// # Panics
    ///
    /// When it is not such a line: a probe that could not run proves nothing.
    #[track_caller]
    pub fn parse(line: &str) -> Self {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line:?}"));
        let text =
            |name: &str| value[name].as_str().unwrap_or_else(|| panic!("no {name} in {line:?}")).to_owned();
        let open = match text("outcome").as_str() {
            "open" => true,
            "closed" => false,
            other => panic!("the outcome {other}"),
        };
        Self { probe: text("probe"), open, detail: text("detail") }
    }
}

/// The built probe. Only the tests of this package are told by cargo where it is; other tests find it beside the
/// directory of their own binary, or ask cargo for it, once.
pub fn probe_binary() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| beside_this_test().unwrap_or_else(build))
}

/// With the whole workspace built, it is there; where cargo is not at hand, it must be.
fn beside_this_test() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    Some(test.parent()?.parent()?.join("cofferdam-probe")).filter(|probe| probe.is_file())
}

#[expect(clippy::disallowed_methods, reason = "cargo is asked in the tests' own environment")]
fn build() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--quiet", "--package", env!("CARGO_PKG_NAME"), "--bin", "cofferdam-probe"])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let messages = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut executables = messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    executables.next_back().unwrap_or_else(|| panic!("no probe: {}", String::from_utf8_lossy(&output.stderr)))
}
