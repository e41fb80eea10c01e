//! An attack as a row of a table: which probe, with which words, against which threat, and what it comes to where
//! nothing stops it.

use std::fs;
use std::path::Path;

use crate::probe::{CANARY, Probed};
use crate::scene::{Scene, Who};

/// One row. Words may hold places of the scene in braces, such as `{home}`; see [`Scene`].
#[derive(Debug, Clone, Copy)]
pub struct Attack {
    /// Its number in the threat model.
    pub threat: u16,
    pub probe: &'static str,
    pub words: &'static [&'static str],
    pub closes: Closes,
    pub outside: Outside,
}

/// What shows that a sandbox has stopped the attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closes {
    /// The probe says so.
    Outcome,
    /// The file that the first word names is on the host what it was before, whatever the probe believes.
    Effect,
}

/// What the attack comes to without a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outside {
    Open,
    /// The kernel stops anyone else by itself.
    OpenForRoot,
    /// Not every host has what it takes; what is missing where it is closed.
    OpenWhere(&'static str),
    /// Not tried: it would reach something real that is not the tests' to touch. Which row shows the same probe open.
    Untried(&'static str),
}

impl Attack {
    /// A row whose outcome counts and that is open outside.
    pub const fn new(threat: u16, probe: &'static str, words: &'static [&'static str]) -> Self {
        Self { threat, probe, words, closes: Closes::Outcome, outside: Outside::Open }
    }

    #[must_use]
    pub const fn for_root(self) -> Self {
        Self { outside: Outside::OpenForRoot, ..self }
    }

    #[must_use]
    pub const fn only_where(self, missing: &'static str) -> Self {
        Self { outside: Outside::OpenWhere(missing), ..self }
    }

    #[must_use]
    pub const fn untried_outside(self, instead: &'static str) -> Self {
        Self { outside: Outside::Untried(instead), ..self }
    }

    #[must_use]
    pub const fn by_effect(self) -> Self {
        Self { closes: Closes::Effect, ..self }
    }
}

/// Makes every attack of a table in a sandbox, where it must be closed, and without one, where it must be open.
/// All that is wrong is told at once.
///
/// # Panics
///
/// When one attack gets through, a canary shows, or an attack does not work even where nothing stops it.
#[track_caller]
pub fn assert_closed(binary: &str, who: Who, attacks: &[Attack]) {
    if !who.is_possible() {
        eprintln!("SKIPPED: {who:?} needs to be started by root");
        return;
    }
    let mut wrong = Vec::new();
    for attack in attacks {
        let name = format!("{} {} {:?} as {who:?}", attack.threat, attack.probe, attack.words);
        match try_inside(binary, who, attack) {
            Ok(probed) => eprintln!("closed  {name}: {}", probed.detail),
            Err(why) => wrong.push(format!("{name} in the sandbox: {why}")),
        }
        match try_outside(binary, who, attack) {
            Ok(Some(probed)) => eprintln!("open    {name} (without the sandbox): {}", probed.detail),
            Ok(None) => {}
            Err(why) => wrong.push(format!("{name} without the sandbox: {why}")),
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn try_inside(binary: &str, who: Who, attack: &Attack) -> Result<Probed, String> {
    let scene = Scene::new(binary, who);
    let words = scene.words(attack);
    let before = state_of(attack, &words);
    let outcome = scene.run_inside(attack.probe, &words);
    let printed = outcome.stdout() + &outcome.stderr();
    if printed.contains(CANARY) {
        return Err("a canary was printed".to_owned());
    }
    let told = outcome.stdout();
    let Some(line) = told.lines().next() else {
        return Err(format!("the probe said nothing: {}", outcome.stderr()));
    };
    let probed = Probed::parse(line);
    if let Some(path) = scene.canary_in_workspace() {
        return Err(format!("a canary is in the workspace's {path}"));
    }
    match attack.closes {
        Closes::Outcome if probed.open => Err(format!("open: {}", probed.detail)),
        Closes::Effect if before != state_of(attack, &words) => Err("the host's file has changed".to_owned()),
        _ => Ok(probed),
    }
}

fn try_outside(binary: &str, who: Who, attack: &Attack) -> Result<Option<Probed>, String> {
    if let Outside::Untried(instead) = attack.outside {
        eprintln!("SKIPPED {} {:?} without the sandbox: {instead}", attack.probe, attack.words);
        return Ok(None);
    }
    let scene = Scene::new(binary, who);
    let words = scene.words(attack);
    let before = state_of(attack, &words);
    let outcome = scene.run_outside(attack.probe, &words);
    let told = outcome.stdout();
    let Some(line) = told.lines().next() else {
        return Err(format!("the probe said nothing: {}", outcome.stderr()));
    };
    let probed = Probed::parse(line);
    let open = match attack.closes {
        Closes::Outcome => probed.open,
        Closes::Effect => {
            let after = state_of(attack, &words);
            // What was made outside of the scene would be left behind.
            if let (None, Some(_), Some(path)) = (&before, &after, words.first()) {
                fs::remove_file(path).expect("what the probe has made");
            }
            before != after
        }
    };
    if open {
        return Ok(Some(probed));
    }
    match attack.outside {
        Outside::OpenForRoot if who != Who::Root => {
            eprintln!(
                "SKIPPED {}: the kernel refuses it to an ordinary user: {}",
                attack.probe, probed.detail
            );
            Ok(None)
        }
        Outside::OpenWhere(missing) => {
            eprintln!("SKIPPED {}: {missing}: {}", attack.probe, probed.detail);
            Ok(None)
        }
        Outside::Open | Outside::OpenForRoot | Outside::Untried(_) => {
            Err(format!("closed, so the probe shows nothing: {}", probed.detail))
        }
    }
}

/// What the file that the attack is after is like: its contents and mode, or that there is none.
fn state_of(attack: &Attack, words: &[String]) -> Option<(Option<Vec<u8>>, u32)> {
    use std::os::unix::fs::PermissionsExt;
    let path = words.first().filter(|_| attack.closes == Closes::Effect)?;
    let metadata = fs::symlink_metadata(Path::new(path)).ok()?;
    // Reading a pipe would wait for someone to write.
    let contents = if metadata.is_file() { fs::read(path).ok() } else { None };
    Some((contents, metadata.permissions().mode()))
}
