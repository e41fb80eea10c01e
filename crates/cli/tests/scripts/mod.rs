//! Scripts that are run with `exec-code`, in a project of their own.

use std::fs;
use std::path::PathBuf;

use cofferdam_testkit::{Cofferdam, Home};
use serde_json::Value;

pub const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");
/// Asks nobody: what is tested is not the asking.
pub const OFF: &str = "[approval]\nmode = \"off\"\n";

pub struct Project {
    pub home: Home,
    pub workspace: PathBuf,
}

impl Project {
    pub fn new(config: &str) -> Self {
        let home = Home::new();
        home.write("cofferdam/config.toml", config);
        home.chmod("cofferdam", 0o700);
        let workspace = home.path().join("project");
        fs::create_dir(&workspace).expect("a directory");
        Self { home, workspace }
    }

    /// `exec-code` in a session without a terminal, whatever runs the tests.
    pub fn call(&self, args: &[&str]) -> Cofferdam {
        Cofferdam::new("/usr/bin/setsid", &self.home)
            .args(["-w", COFFERDAM, "exec-code"])
            .args(args)
            .current_dir(&self.workspace)
    }

    /// Runs a Python text and gives the result.
    pub fn python(&self, args: &[&str], text: &str) -> Value {
        let args: Vec<&str> = args.iter().copied().chain(["--language", "python", "-"]).collect();
        result(&self.call(&args).input(text).run().stdout())
    }
}

#[track_caller]
pub fn result(stdout: &str) -> Value {
    serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
}

/// What the script printed, if all went well.
#[track_caller]
pub fn printed(result: &Value) -> String {
    assert_eq!(result["status"], "success", "{result:#}");
    result["output"].as_str().expect("a text").to_owned()
}
