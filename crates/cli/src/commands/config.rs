//! `config check`: reads a configuration and says what is wrong with it.

use std::path::{Path, PathBuf};

use cofferdam_policy::document::{Config, Project};
use cofferdam_policy::mistake::Mistake;
use serde::Serialize;

use crate::args::ConfigCommand;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::places::Places;
use crate::settings::{self, Settings};

pub fn run(command: ConfigCommand) -> Result<Exit, Failure> {
    match command {
        ConfigCommand::Check { json: true, file } => check_as_json(file),
        ConfigCommand::Check { json: false, file: Some(path) } => {
            let text = settings::read_text(&path)?;
            let summary = parse(&path, &text).map_err(|mistakes| settings::report(&path, &mistakes))?;
            say(&path, &summary)
        }
        ConfigCommand::Check { json: false, file: None } => {
            let Settings { places, config } = Settings::load()?;
            let path = places.config_file();
            let summary = if path.exists() { summary(&config) } else { ABSENT.to_owned() };
            say(&path, &summary)
        }
    }
}

const ABSENT: &str = "does not exist, so the defaults hold";

fn say(path: &Path, summary: &str) -> Result<Exit, Failure> {
    output::text(&format!("{} {summary}\n", path.display()))?;
    Ok(Exit::Success)
}

/// What a valid document holds, in a few words.
fn parse(path: &Path, text: &str) -> Result<String, Vec<Mistake>> {
    let shown = path.display().to_string();
    if path.file_name().is_none_or(|name| name != settings::PROJECT_FILE) {
        return Config::parse(&shown, text).map(|config| summary(&config));
    }
    let Project { allow, hide, .. } = Project::parse(&shown, text)?;
    let allow = allow.map_or("nothing about hosts".to_owned(), |allow| rules(allow.len()));
    let hidden = counted(hide.len(), "hidden path", "hidden paths");
    Ok(format!("is valid for a project: {allow}, {hidden}"))
}

fn summary(config: &Config) -> String {
    let providers = counted(config.providers.len(), "provider of your own", "providers of your own");
    format!("is valid: {}, {providers}", rules(config.egress.allow.len()))
}

fn rules(count: usize) -> String {
    counted(count, "allow rule", "allow rules")
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[derive(Serialize)]
struct Report {
    file: String,
    valid: bool,
    mistakes: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    line: usize,
    column: usize,
    sentence: String,
    hint: Option<String>,
}

fn check_as_json(file: Option<PathBuf>) -> Result<Exit, Failure> {
    let (path, text) = match file {
        Some(path) => {
            let text = settings::read_text(&path)?;
            (path, text)
        }
        None => {
            let path = Places::find()?.config_file();
            let text = settings::read_own(&path)?.unwrap_or_default();
            (path, text)
        }
    };
    let mistakes = parse(&path, &text).err().unwrap_or_default();
    let valid = mistakes.is_empty();
    let line = |mistake| {
        let Mistake { line, column, sentence, hint, .. } = mistake;
        Line { line, column, sentence, hint }
    };
    let mistakes = mistakes.into_iter().map(line).collect();
    output::json(&Report { file: path.display().to_string(), valid, mistakes })?;
    Ok(if valid { Exit::Success } else { Exit::Config })
}
