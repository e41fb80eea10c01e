//! `docker run` and `docker args`.

use cofferdam_docker::options::{self, Judged, Misread};
use cofferdam_docker::plan::{self, Outside};
use cofferdam_policy::registry::Registry;

use super::engine::Engine;
use super::keeper::{Caller, Kept};
use super::objections;
use crate::args::docker::StartArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::settings::Settings;

/// Refused by policy.
const REFUSED: Exit = Exit::Command(77);

/// Makes the call.
pub fn run(args: &StartArgs) -> Result<Exit, Failure> {
    let (engine, words) = prepare(args, Caller::ThisProcess)?;
    Err(engine.replace_by(&words))
}

/// Prints it, for those who call the engine themselves. The way out waits for the container.
pub fn print(args: &StartArgs) -> Result<Exit, Failure> {
    let (engine, words) = prepare(args, Caller::SomebodyElse)?;
    let all: Vec<String> = engine.words().chain(words).map(|word| plan::quoted(&word)).collect();
    output::text(&format!("{}\n", all.join(" ")))?;
    Ok(Exit::Success)
}

/// In this order: what was typed is understood and judged before the daemon is asked, and the way out is open before the
/// engine is called.
fn prepare(args: &StartArgs, caller: Caller) -> Result<(Engine, Vec<String>), Failure> {
    let settings = Settings::load()?;
    let engine = Engine::find(&args.engine)?;
    let typed = options::parse(engine.kind, &args.words).map_err(|misread| misunderstood(&misread))?;
    let image = engine.image(&typed.image)?;
    let mut judged = options::judge(&typed);
    judged.object_to_root(&image.user);
    refuse_or_warn(&settings, &judged)?;
    let kept = Kept::open(&settings, args, (&judged, &image))?;
    let outside = Outside {
        directory: &kept.directory,
        variables: &kept.variables,
        name: &kept.name,
        posture: &kept.posture,
    };
    let words = plan::words(engine.kind, (&typed, &judged), &image, &outside);
    kept.wait_for_the_container(caller)?;
    Ok((engine, words))
}

fn misunderstood(misread: &Misread) -> Failure {
    let failure = Failure::new(Exit::Usage, misread.sentence());
    match misread {
        Misread::Unknown(_) => failure
            .hint("an engine's option that is not known is not passed on")
            .hint("`cofferdam docker args` prints the call; add it there if you know what it does"),
        Misread::NoImage => failure.hint("cofferdam docker run [OPTIONS] IMAGE [COMMAND…]"),
        _ => failure,
    }
}

/// With enforcement off what speaks against an option is only said.
fn refuse_or_warn(settings: &Settings, judged: &Judged) -> Result<(), Failure> {
    let registry = Registry::new(settings.config.providers.clone());
    let mut all: Vec<String> = judged.objections.iter().map(options::Objection::sentence).collect();
    all.extend(judged.mounts.iter().filter_map(|mount| objections::to_mount(mount, &settings.places)));
    all.extend(judged.variables.iter().filter_map(|variable| objections::to_variable(variable, &registry)));
    if all.is_empty() {
        return Ok(());
    }
    if settings.config.egress.enforce {
        let hint = "leave it out; the container then has everything that it needs to reach what is allowed";
        return Err(Failure::new(REFUSED, all.join("\ncofferdam: ")).hint(hint));
    }
    for objection in all {
        eprintln!("cofferdam: warning: {objection}; enforcement is off");
    }
    Ok(())
}
