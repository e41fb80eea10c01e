//! `cofferdam doctor`: makes a throw-away sandbox and tells what the kernel has really enforced.

use std::path::PathBuf;
use std::{fs, io};

use cofferdam_policy::secret_paths::Bases;
use cofferdam_sandbox::diagnosis::Facts;
use cofferdam_sandbox::late::Late;
use cofferdam_sandbox::launch;
use cofferdam_sandbox::plan::{Identity, Isolation, Limits, Network};
use cofferdam_sandbox::planner;
use cofferdam_sandbox::report::{LayerName, Report};
use cofferdam_sandbox::request::{Profile, Request};
use cofferdam_sandbox::survey::Machine;
use serde::Serialize;

use crate::args::doctor::DoctorArgs;
use crate::commands::late_secrets;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::waiting;

#[derive(Serialize)]
struct Findings {
    works: bool,
    #[serde(flatten)]
    report: Report,
    /// Why there is no sandbox at all.
    problem: Option<String>,
    hints: Vec<String>,
}

pub fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    let findings = waiting::during("making a sandbox", examine);
    if args.json {
        output::json(&findings)?;
    } else {
        print(&findings)?;
    }
    Ok(if findings.works { Exit::Success } else { Exit::Found })
}

fn print(findings: &Findings) -> Result<(), Failure> {
    let rows: Vec<Vec<String>> = findings
        .report
        .layers
        .iter()
        .map(|layer| {
            let state = if layer.enforced { "works" } else { "missing" };
            vec![layer.name.to_string(), state.to_owned(), layer.detail.clone()]
        })
        .collect();
    if !rows.is_empty() {
        output::table(&["LAYER", "STATE", "DETAIL"], &rows)?;
    }
    if let Some(problem) = &findings.problem {
        output::text(&format!("no sandbox can be made: {problem}\n"))?;
    }
    findings.hints.iter().try_for_each(|hint| output::text(&format!("hint: {hint}\n")))
}

fn examine() -> Findings {
    match throw_away() {
        Ok(report) => {
            let works = report.lacking().next().is_none();
            let missing = report.layers.iter().filter(|layer| !layer.enforced);
            let hints = missing.flat_map(|layer| hints(layer.name)).collect();
            Findings { works, report, problem: None, hints }
        }
        Err(problem) => Findings {
            works: false,
            report: Report::default(),
            problem: Some(problem),
            hints: Facts::read().hints(),
        },
    }
}

/// What would bring a layer back. The files have no cause of their own.
fn hints(missing: LayerName) -> Vec<String> {
    match missing {
        LayerName::Namespaces => Facts::read().hints(),
        LayerName::Landlock => vec![LANDLOCK.to_owned()],
        LayerName::LateSecrets => vec![WATCHES.to_owned()],
        _ => Vec::new(),
    }
}

const LANDLOCK: &str = "a newer kernel has all of Landlock; where it is switched off, add lsm=landlock to the kernel's command line";

const WATCHES: &str =
    "sysctl fs.inotify.max_user_instances and fs.inotify.max_user_watches say how much you may watch";

/// Builds a sandbox around an empty directory, starts nothing in it, and lets it go.
fn throw_away() -> Result<Report, String> {
    let prepared = launch::prepare().map_err(|error| format!("namespaces: {error}"))?;
    let workspace = empty_directory().map_err(|error| format!("a directory to try it in: {error}"))?;
    let request = Request {
        profile: Profile::Strict,
        workspace: workspace.clone(),
        home: PathBuf::from("/nonexistent"),
        read: Vec::new(),
        write: Vec::new(),
        hide: Vec::new(),
        layer: None,
        own: Vec::new(),
        moved: Bases { home: PathBuf::new(), config: None, data: None, state: None, cache: None },
        network: Network::None,
        further_ports: Vec::new(),
        files: Vec::new(),
        trust: None,
        isolation: Isolation::BestEffort,
        limits: Limits::default(),
    };
    let built = planner::plan(&request, Identity::own(), &Machine::look())
        .map_err(|refusal| refusal.to_string())
        .and_then(|plan| {
            let (sandbox, mut report) = prepared.build(&plan).map_err(|problem| problem.to_string())?;
            match late_secrets::tried(&sandbox, &Late::of(&request, &plan), &workspace.join(".env")) {
                Ok(()) => report.enforced(LayerName::LateSecrets, "hidden as they appear"),
                Err(why) => report.missing(LayerName::LateSecrets, why),
            }
            Ok(report)
        });
    // Whatever happened, the directory was only for this.
    let _ = fs::remove_dir_all(workspace);
    built
}

fn empty_directory() -> io::Result<PathBuf> {
    let directory =
        std::env::temp_dir().canonicalize()?.join(format!("cofferdam-doctor-{}", std::process::id()));
    std::os::unix::fs::DirBuilderExt::mode(&mut fs::DirBuilder::new(), 0o700).create(&directory)?;
    Ok(directory)
}
