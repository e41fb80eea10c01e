//! An attack as a row of a table: which probe, with which words, against which threat, and what it comes to where
//! nothing stops it.

use std::fs;
use std::path::Path;

use crate::probe::{CANARY, Probed};
use crate::scene::{Scene, Who};
use crate::way::{Running, Way};

/// One row. Words may hold places of the scene in braces, such as `{home}`; see [`Scene`].
#[derive(Debug, Clone, Copy)]
pub struct Attack {
    /// Its number in the threat model.
    pub threat: u16,
    pub probe: &'static str,
    pub words: &'static [&'static str],
    pub closes: Closes,
    pub outside: Outside,
    /// Why it is no attack for a command with a terminal, which is the sandbox's own.
    pub fine_on_terminal: Option<&'static str>,
    /// Why it is no attack for a script.
    pub fine_in_script: Option<&'static str>,
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
        Self {
            threat,
            probe,
            words,
            closes: Closes::Outcome,
            outside: Outside::Open,
            fine_on_terminal: None,
            fine_in_script: None,
        }
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
    pub const fn fine_on_terminal(self, why: &'static str) -> Self {
        Self { fine_on_terminal: Some(why), ..self }
    }

    #[must_use]
    pub const fn fine_in_script(self, why: &'static str) -> Self {
        Self { fine_in_script: Some(why), ..self }
    }

    fn is_meant_for(&self, way: Way) -> bool {
        match way {
            Way::Terminal | Way::SessionAttach => self.fine_on_terminal.is_none(),
            Way::Script => self.fine_in_script.is_none(),
            _ => true,
        }
    }

    #[must_use]
    pub const fn by_effect(self) -> Self {
        Self { closes: Closes::Effect, ..self }
    }
}

/// Makes every attack of a table in a sandbox, in every way of running, where it must be closed, and without one, where
/// it must be open. All that is wrong is told at once.
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
        let name = name(attack, who, Way::OneShot);
        let scene = Scene::new(binary, who);
        match try_inside(&Running::begin(&scene, Way::OneShot), &scene, attack) {
            Ok(probed) => eprintln!("closed  {name}: {}", probed.detail),
            Err(why) => wrong.push(format!("{name} in the sandbox: {why}")),
        }
        match try_outside(binary, who, attack) {
            Ok(Some(probed)) => eprintln!("open    {name} (without the sandbox): {}", probed.detail),
            Ok(None) => {}
            Err(why) => wrong.push(format!("{name} without the sandbox: {why}")),
        }
    }
    for way in Way::OTHERS {
        wrong.extend(try_all(binary, who, way, attacks).into_iter().filter_map(|(_, tried)| tried.err()));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Makes every attack of a table where the machine refuses namespaces. Each must be closed there as well, or not even
/// begin because what it looks into is refused.
///
/// # Panics
///
/// When one attack gets through.
#[track_caller]
pub fn assert_closed_without_namespaces(binary: &str, attacks: &[Attack]) {
    let refused = |why: &str| why.contains(SAID_NOTHING) && why.contains("Permission denied (os error 13)");
    let tried = try_all(binary, Who::of_this_process(), Way::WithoutNamespaces, attacks);
    let wrong: Vec<String> =
        tried.into_iter().filter_map(|(_, tried)| tried.err()).filter(|why| !refused(why)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Makes every attack of a table in bubblewrap with the nearest flags, for reference, and tells what each comes to.
/// Of those against each of these threats, at least one must get through there.
///
/// # Panics
///
/// When bubblewrap withstands more than is said of it.
#[track_caller]
pub fn assert_open_in_bubblewrap(binary: &str, attacks: &[Attack], threats: &[u16]) {
    let mut open = Vec::new();
    // Its network is closed; a socket of the hypervisor is not, and is not the tests' to touch.
    let attacks: Vec<Attack> =
        attacks.iter().filter(|attack| !matches!(attack.outside, Outside::Untried(_))).copied().collect();
    for (attack, tried) in try_all(binary, Who::of_this_process(), Way::Bubblewrap, &attacks) {
        match tried {
            Ok(probed) => eprintln!("closed  {} {:?}: {}", attack.threat, attack.words, probed.detail),
            Err(why) => {
                eprintln!("open    {why}");
                open.push(attack.threat);
            }
        }
    }
    let closed: Vec<&u16> = threats.iter().filter(|threat| !open.contains(threat)).collect();
    assert!(closed.is_empty(), "bubblewrap withstands {closed:?}");
}

const SAID_NOTHING: &str = "the probe said nothing";

fn name(attack: &Attack, who: Who, way: Way) -> String {
    format!("{} {} {:?} as {who:?}, {way:?}", attack.threat, attack.probe, attack.words)
}

/// Makes all attacks in one scene.
fn try_all<'a>(
    binary: &str,
    who: Who,
    way: Way,
    attacks: &'a [Attack],
) -> Vec<(&'a Attack, Result<Probed, String>)> {
    let scene = Scene::new(binary, who);
    let running = Running::begin(&scene, way);
    let tried = attacks.iter().filter(|attack| attack.is_meant_for(way)).map(|attack| {
        let tried = try_inside(&running, &scene, attack);
        (attack, tried.map_err(|why| format!("{}: {why}", name(attack, who, way))))
    });
    tried.collect()
}

fn try_inside(running: &Running<'_>, scene: &Scene, attack: &Attack) -> Result<Probed, String> {
    let words = scene.words(attack);
    let before = state_of(attack, &words);
    let printed = running.run(&scene.probe_words(attack.probe, &words));
    if printed.contains(CANARY) {
        return Err("a canary was printed".to_owned());
    }
    let Some(line) = printed.lines().find(|line| line.starts_with("{\"")) else {
        return Err(format!("{SAID_NOTHING}: {printed}"));
    };
    let probed = Probed::parse(line.trim_end());
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
