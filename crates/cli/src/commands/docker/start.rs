//! `docker run` and `docker args`.

use cofferdam_docker::options::{self, Judged, Misread, Reach};
use cofferdam_docker::plan::{self, Behind};
use cofferdam_policy::registry::Registry;

use super::bridge;
use super::engine::Engine;
use super::keeper::{Caller, Kept, Wished};
use super::objections;
use crate::args::docker::{DoctorArgs, ReachedArgs, StartArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::settings::Settings;
use crate::waiting;

/// Refused by policy.
const REFUSED: Exit = Exit::Command(77);

/// Makes the call.
pub fn run(args: &StartArgs) -> Result<Exit, Failure> {
    let (engine, words) = prepare(args, Caller::ThisProcess, Behind::Command)?;
    Err(engine.replace_by(&words))
}

/// A container that only looks whether the proxy can be reached over the bridge, and says what stands in the way.
pub fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
    let mut words = vec!["--rm".to_owned()];
    words.extend(args.network.iter().map(|network| format!("--network={network}")));
    words.push(args.image.clone());
    let args = StartArgs {
        engine: args.engine.clone(),
        reached: ReachedArgs::default(),
        bridge: true,
        port: args.port,
        words,
    };
    let (engine, words) = prepare(&args, Caller::ThisProcess, Behind::Nothing)?;
    Err(engine.replace_by(&words))
}

/// Prints it, for those who call the engine themselves. The way out waits for the container.
pub fn print(args: &StartArgs) -> Result<Exit, Failure> {
    let (engine, words) = prepare(args, Caller::SomebodyElse, Behind::Command)?;
    let all: Vec<String> = engine.words().chain(words).map(|word| plan::quoted(&word)).collect();
    output::text(&format!("{}\n", all.join(" ")))?;
    Ok(Exit::Success)
}

/// In this order: what was typed is understood and judged before the daemon is asked, and the way out is open before the
/// engine is called.
fn prepare(args: &StartArgs, caller: Caller, behind: Behind) -> Result<(Engine, Vec<String>), Failure> {
    let settings = Settings::load()?;
    let engine = Engine::find(&args.engine)?;
    let typed = options::parse(engine.kind, &args.words).map_err(|misread| misunderstood(&misread))?;
    let image = waiting::during("asking the engine about the image", || engine.image(&typed.image))?;
    let reach = if args.bridge { Reach::EngineNetwork } else { Reach::Loopback };
    let mut judged = options::judge(&typed, reach);
    judged.object_to_root(&image.user);
    refuse_or_warn(&settings, &judged)?;
    let wished = wished(args, &engine, judged.network.as_deref())?;
    let open = || Kept::open(&settings, &args.reached, wished, (&judged, &image));
    let kept = waiting::during("opening the container's way out", open)?;
    let outside = kept.outside(behind);
    let words = plan::words(engine.kind, (&typed, &judged), &image, &outside);
    kept.wait_for_the_container(caller)?;
    Ok((engine, words))
}

/// On a bridge: its own address, read from the kernel, and a word on what such a container is.
fn wished(args: &StartArgs, engine: &Engine, network: Option<&str>) -> Result<Wished, Failure> {
    if !args.bridge {
        return Ok(Wished::Sealed);
    }
    let address = bridge::address_of(&engine.bridge(network)?).map_err(Failure::of_a_start)?;
    eprintln!(
        "cofferdam: warning: a container on a bridge is led to the proxy by its variables; a program that ignores them \
         has the engine's network"
    );
    Ok(Wished::Bridge { address, port: args.port.unwrap_or(0) })
}

pub fn misunderstood(misread: &Misread) -> Failure {
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
pub fn refuse_or_warn(settings: &Settings, judged: &Judged) -> Result<(), Failure> {
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
