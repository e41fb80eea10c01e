//! `cofferdam run`: one command in a sandbox, from the wish to the exit status.

pub mod outcome;
pub mod publish;
pub mod record;
mod report_file;
pub mod supervise;
mod told;
pub mod wish;

use std::io;
use std::os::fd::AsFd;

use cofferdam_approvals::Backend;
use cofferdam_sandbox::approved_files;
use cofferdam_sandbox::launch::{self, Prepared, Start};
use cofferdam_sandbox::messages::Last;
use cofferdam_sandbox::plan::Network;
use cofferdam_sandbox::planner;
use cofferdam_sandbox::survey::Machine;

use crate::admission::{self, Line, Where};
use crate::args::run::Run;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::outlet::{Server, Telling};
use crate::output;
use crate::terminal::{self, Filtering};
use publish::Published;
use record::Entry;
use report_file::ReportFile;
use supervise::Rules;
use wish::Wished;

/// A sandbox that has begun, or why none could.
pub type Begun = io::Result<Prepared>;

/// Begins a sandbox as a copy of this process. Before what was typed is looked at, there is least to copy; if it turns
/// out not to be wanted, it ends with this value.
pub fn begin() -> Begun {
    launch::prepare()
}

pub fn run(args: &Run, begun: Begun) -> Result<Exit, Failure> {
    if args.dry_run {
        let plan = Wished::read(&args.sandbox)?.plan()?;
        let plan = planner::whole(&plan, &Machine::look());
        let printed = if args.json { output::json(&plan) } else { output::text(&plan.to_string()) };
        return printed.map(|()| Exit::Success);
    }
    let prepared = begun.map_err(|error| outcome::not_begun(&error))?;
    let published = Published::listen(&args.publish)?;
    let mut wished = Wished::read(&args.sandbox)?;
    let report_file = args.report.as_deref().map(|path| ReportFile::choose(path, &wished.request.workspace));
    let report_file = report_file.transpose()?;
    let prepared = wished.settled(prepared).map_err(|error| outcome::not_begun(&error))?;
    let place = Where {
        directory: &wished.request.workspace,
        workspace: &wished.request.workspace,
        session: "run",
        backend: backend(wished.request.network),
    };
    let admitted = admission::admit(admission::gate()?, Line::Words(&args.command), &args.behalf, place)?;
    let interactive = args.tty || !args.no_tty && terminal::is_interactive();
    // Before there is another thread, which would get the signals that are meant for this one.
    let signals = supervise::take_signals(interactive)?;
    let telling = if interactive { Telling::AtTheEnd } else { Telling::AsTheyHappen };
    // What is summed up has to be known here.
    let server = if args.summary || args.learn { Server::This } else { Server::DaemonOrThis };
    let mut outlet = wished.open_outlet(&session_name(), telling, server)?;
    let entry = Entry::new(&admitted, wished.request.profile, wished.request.network);
    let layer = if args.overlay { Some(wished.add_layer(&args.command)?) } else { None };
    let mut plan = wished.plan()?;
    if admitted.approved().by_person() {
        approved_files::cover(&mut plan, &admitted.files());
    }
    if plan.looked.unfinished {
        eprintln!(
            "cofferdam: {} names were looked through for secrets, and there are more; name others with --hide",
            plan.looked.names
        );
    }
    let image = wished.image(&args.sandbox.env, &args.command, outlet.as_ref())?;
    if let Some(outlet) = &outlet {
        told::beginning(args.verbose, outlet, &wished);
    }
    if args.verbose {
        eprint!("{}", planner::whole(&plan, &Machine::look()));
    }
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let streams = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
    let start = Start {
        image: &image,
        directory: &wished.request.workspace,
        terminal: interactive.then(terminal::window),
        limits: plan.limits,
        last: Last::Yes,
        approved: &admitted.files(),
        // The person's own terminal is never handed in.
        descriptors: if interactive { &[] } else { &streams },
        answer: None,
    };
    let filtering = if args.danger_raw_terminal { Filtering::Off } else { Filtering::On };
    let (timeout, wish) = (wished.timeout, &wished.request);
    let rules = Rules { timeout, filtering, published, signals, outlet: outlet.as_mut(), wish };
    let ended = supervise::supervise(prepared, &plan, &start, rules, &entry);
    if let Some(outlet) = &outlet {
        outlet.close();
        told::end(args, outlet);
    }
    if let Some(layer) = layer {
        outcome::tell_layer(layer);
    }
    let (report, end) = ended?;
    outcome::tell_rest(&end);
    entry.ended(end.how)?;
    if plan.network != Network::Host {
        outcome::tell_missing(&report);
    }
    for held in &end.held {
        eprintln!("cofferdam: the command made a file that your own tools would run; it is now {held}");
    }
    if let Some(file) = report_file {
        outcome::write_report(file, &report, &end)?;
    }
    outcome::exit(&end, &args.command)
}

/// How a run is called in the record.
fn session_name() -> String {
    format!("run-{}", std::process::id())
}

/// A command with the host's network reaches what the host reaches.
pub fn backend(network: Network) -> Backend {
    if network == Network::Host { Backend::Host } else { Backend::Isolated }
}
