//! `docker exec`: one more command in a wired container, past the gate and with the variables that it was made with.

use std::collections::BTreeMap;

use cofferdam_approvals::Backend;
use cofferdam_docker::{plan, posture};

use super::engine::Engine;
use super::way_out;
use crate::args::approvals::KindArg;
use crate::args::docker::ExecArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::gatekeeper::{self, Gatekeeper, warn_if_nobody};
use crate::settings::Settings;

/// Refused by policy.
const REFUSED: Exit = Exit::Command(77);

/// The container is looked at before anybody is asked: nobody should say yes to what is refused afterwards.
pub fn run(args: &ExecArgs) -> Result<Exit, Failure> {
    let settings = Settings::load()?;
    let engine = Engine::find(&args.engine)?;
    let (name, door) = reusable(&settings, &engine, &args.container)?;
    approved(args, &name)?;
    let mut words = vec!["exec".to_owned()];
    words.extend(args.interactive.then(|| "--interactive".to_owned()));
    words.extend(args.tty.then(|| "--tty".to_owned()));
    words.extend(args.workdir.iter().map(|directory| format!("--workdir={directory}")));
    words.push(args.container.clone());
    // By the door, which gives it the limits of the first command.
    words.extend([format!("{}/{door}", plan::INSIDE), "--beside".to_owned()]);
    words.extend(args.command.iter().cloned());
    Err(engine.replace_by(&words))
}

/// The name of a container of ours whose way out is open and whose settings are those of now, and its door.
fn reusable(
    settings: &Settings,
    engine: &Engine,
    container: &str,
) -> Result<(String, &'static str), Failure> {
    let words = ["container", "inspect", "--format", "{{json .Config.Labels}}", "--", container];
    let labels: Option<BTreeMap<String, String>> = engine.inspect(&words)?;
    let labels = labels.unwrap_or_default();
    let refused = |why: &str| {
        Failure::new(REFUSED, format!("the container {container} {why}"))
            .hint("start it anew with cofferdam docker run")
    };
    let name =
        labels.get(&plan::name_label()).ok_or_else(|| refused("was not started by cofferdam docker"))?;
    let fine = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !fine || !settings.places.runtime.join("containers").join(name).is_dir() {
        return Err(refused("has no way out any more"));
    }
    let authorities = way_out::authorities(&settings.places)?;
    let made = labels.get(&plan::posture_label());
    let mut ways = [("sealed", plan::DOOR), ("bridge", plan::BRIDGE_DOOR)].into_iter();
    let way = ways.find(|(way, _)| made == Some(&posture::of(&authorities, way)));
    let (_, door) =
        way.ok_or_else(|| refused("was made with other settings, or before the authority was changed"))?;
    Ok((name.clone(), door))
}

fn approved(args: &ExecArgs, name: &str) -> Result<(), Failure> {
    let keeper = Gatekeeper::open()?;
    let directory = args.workdir.as_deref().unwrap_or("/");
    let context =
        keeper.context(name.to_owned(), KindArg::Interactive, directory.as_ref(), Backend::Isolated);
    let approver = keeper.at_terminal(&context);
    warn_if_nobody(&context, &approver);
    let line: Vec<String> = args.command.iter().map(|word| plan::quoted(word)).collect();
    let _shown = gatekeeper::waiting_for(&approver);
    match keeper.gate(None).decide(&line.join(" "), &context, &approver) {
        Ok(_) => Ok(()),
        Err(refusal) => Err(Failure::new(REFUSED, refusal.sentence())),
    }
}
