//! `docker compose-override`: what is laid over a compose project so that its services are sealed.

use std::fs::File;
use std::io::{self, Read};

use cofferdam_docker::compose::{self, Service};
use cofferdam_docker::options::{self, Reach};
use cofferdam_docker::plan::Behind;
use serde_json::{Map, Value, json};

use super::engine::Engine;
use super::keeper::{Caller, Kept, Wished};
use super::start::{misunderstood, refuse_or_warn};
use crate::args::docker::ComposeArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::settings::Settings;

/// A project in many words.
const LONGEST: u64 = 16 << 20;

/// All services are judged before the way out of the first one is opened.
pub fn run(args: &ComposeArgs) -> Result<Exit, Failure> {
    let settings = Settings::load()?;
    let engine = Engine::find(&args.engine)?;
    let project = match &args.project {
        None => engine.inspect(&["compose", "config", "--format", "json"])?,
        Some(path) => read(path)?,
    };
    let services = compose::services(&project).map_err(|mistakes| {
        Failure::new(Exit::Command(77), mistakes.join("\ncofferdam: "))
            .hint("a service that needs what is refused is not named, and stays as it is: --service NAME")
    })?;
    let wanted = |service: &Service| args.service.is_empty() || args.service.contains(&service.name);
    let mut judged = Vec::new();
    for service in services.into_iter().filter(wanted) {
        let typed = options::parse(engine.kind, &service.words).map_err(|misread| misunderstood(&misread))?;
        let image = engine.image(&typed.image)?;
        let mut all = options::judge(&typed, Reach::Loopback);
        all.object_to_root(&image.user);
        refuse_or_warn(&settings, &all)?;
        judged.push((service.name, typed, all, image));
    }
    if judged.is_empty() {
        return Err(Failure::new(Exit::Usage, "no service of the project has this name"));
    }
    let mut laid = Map::new();
    for (name, typed, all, image) in &judged {
        let kept = Kept::open(&settings, &args.reached, Wished::Sealed, (all, image))?;
        let outside = kept.outside(Behind::Command);
        laid.insert(name.clone(), compose::laid_over((typed, all), image, &outside));
        kept.wait_for_the_container(Caller::SomebodyElse)?;
    }
    output::json(&json!({ "services": laid }))?;
    Ok(Exit::Success)
}

fn read(path: &std::path::Path) -> Result<Value, Failure> {
    let failed = |why: String| {
        Failure::new(Exit::Usage, format!("{}: {why}", path.display()))
            .hint("docker compose config --format json | cofferdam docker compose-override -")
    };
    let from: Box<dyn Read> = match path.to_str() {
        Some("-") => Box::new(io::stdin().lock()),
        _ => Box::new(File::open(path).map_err(|error| failed(error.to_string()))?),
    };
    serde_json::from_reader(from.take(LONGEST)).map_err(|error| failed(format!("it is no JSON: {error}")))
}
