//! `egress disable`, and the one key of the configuration that a command changes.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use cofferdam_policy::document::Config;

use super::stop;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::places::Places;
use crate::settings::{Settings, read_own};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    On,
    Off,
}

pub fn disable() -> Result<Exit, Failure> {
    let settings = Settings::load()?;
    switch(&settings.places, Switch::Off)?;
    stop::stop_if_running(&settings.places, stop::GRACE)?;
    output::text("the proxy is stopped and switched off; `cofferdam egress setup` switches it on again\n")?;
    if settings.config.egress.enforce {
        output::text("`enforce` is on, so nothing that needs the proxy starts until then\n")?;
    }
    Ok(Exit::Success)
}

/// Changes `enabled`, and not a byte of anything else. What comes out is read again before it is put in place.
pub fn switch(places: &Places, switch: Switch) -> Result<(), Failure> {
    let path = places.config_file();
    let text = read_own(&path)?.unwrap_or_default();
    let changed = with_enabled(&text, switch == Switch::On);
    let shown = path.display().to_string();
    let failed = |why: String| {
        Failure::new(Exit::Config, format!("{shown} could not be changed: {why}"))
            .hint(format!("write `enabled = {}` in its section [egress]", switch == Switch::On))
    };
    match Config::parse(&shown, &changed) {
        Ok(config) if config.egress.enabled == (switch == Switch::On) => {}
        _ => return Err(failed("its form is not understood".to_owned())),
    }
    let temporary = path.with_extension("toml.new");
    let written = fs::create_dir_all(&places.config).and_then(|()| {
        let _ = fs::remove_file(&temporary);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        file.write_all(changed.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, &path)
    });
    written.map_err(|error| failed(error.to_string()))
}

fn with_enabled(text: &str, enabled: bool) -> String {
    let line = format!("enabled = {enabled}");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let Some(start) = lines.iter().position(|line| line.trim() == "[egress]") else {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return format!("{text}{gap}[egress]\n{line}\n");
    };
    let end = lines[start + 1..].iter().position(|line| line.trim_start().starts_with('['));
    let end = end.map_or(lines.len(), |end| start + 1 + end);
    let is_key = |line: &String| {
        line.trim_start().strip_prefix("enabled").is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    match lines[start..end].iter().position(is_key) {
        Some(at) => lines[start + at] = line,
        None => lines.insert(start + 1, line),
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::with_enabled;

    #[test]
    fn one_key_is_changed_and_nothing_else() {
        assert_eq!(with_enabled("", false), "[egress]\nenabled = false\n");
        let text = "# mine\n[egress]\nlisten = \"127.0.0.1:1\" # here\nenabled = true\n[audit]\n";
        let expected = text.replace("enabled = true", "enabled = false");
        assert_eq!(with_enabled(text, false), expected);
        let without = "[egress]\n[egress.limits]\n[sandbox]\nhide = [\"enabled\"]\n";
        assert_eq!(
            with_enabled(without, false),
            without.replacen("[egress]\n", "[egress]\nenabled = false\n", 1)
        );
    }
}
