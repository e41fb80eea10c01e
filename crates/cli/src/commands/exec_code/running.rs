//! The run itself: the sandbox is built around the approved bytes, watched, and accounted for.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cofferdam_approvals::{Revocation, SessionContext};
use cofferdam_audit::event::RunWay;
use cofferdam_audit::{CommandText, Label};
use cofferdam_exec_broker::limits::{Clock, Limits};
use cofferdam_exec_broker::{Broker, Door, Language, Peers, module};
use cofferdam_linux_sys::signals::Signals;
use cofferdam_sandbox::late::Late;
use cofferdam_sandbox::launch::{News, Prepared, Sandbox, Start};
use cofferdam_sandbox::layout;
use cofferdam_sandbox::messages::{Ended, Last};
use cofferdam_sandbox::plan::{Access, Operation, Plan};
use cofferdam_sandbox::report::LayerName;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use super::commands::Commands;
use super::configured::Configured;
use super::file_tools::PROGRAM;
use super::granted::{Granted, Wanted};
use super::outcome::{Cut, Outcome, Status, Teller};
use super::passing::admit_server;
use super::script::Script;
use super::streams::Capture;
use super::toolbox::{SCRIPT, Shared, Toolbox};
use crate::commands::late_secrets::LateSecrets;
use crate::commands::run::supervise::{GRACE, PASSED_ON, TERM};
use crate::commands::run::wish::Wished;
use crate::commands::run::{outcome as run_outcome, record};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::gatekeeper::Gatekeeper;
use crate::known_secrets::KnownSecrets;
use crate::outlet::{Outlet, Server, Telling};

const PLACE: &str = layout::OWN;
/// How often the watch looks up when nothing happens.
const LOOK: Duration = Duration::from_millis(250);

/// Everything that a run is made of.
pub struct Job {
    pub script: Script,
    pub wanted: Wanted,
    pub limits: Limits,
    pub wished: Wished,
    pub variables: Vec<OsString>,
    pub keeper: Arc<Gatekeeper>,
    pub context: SessionContext,
    /// How the session stood before the script was asked about.
    pub session: Revocation,
    pub teller: Teller,
}

pub fn run(job: Job, prepared: Prepared, began: Instant) -> Result<Outcome, Failure> {
    let failed = |error: io::Error| Failure::new(Exit::NotStarted, format!("the sandbox was lost: {error}"));
    if let Some(problem) = prepared.refused() {
        return Err(needs_namespaces(&problem.error));
    }
    let signals = Signals::take_over(&PASSED_ON).map_err(failed)?;
    let mut secrets = KnownSecrets::load()?;
    let Job { script, wanted, limits, mut wished, mut variables, keeper, context, session, teller } = job;
    let configured = Configured {
        providers: wished.providers(),
        workspace: wished.request.workspace.clone(),
        beside: wished.beside().to_owned(),
        home: Some(wished.request.home.clone()),
    };
    let granted = wanted.start(configured, |server| admit_server(&keeper, &context, server))?;
    let mut outlet = wished.open_outlet(&context.session, Telling::AsTheyHappen, Server::DaemonOrThis)?;
    secrets.leave(outlet.iter().flat_map(Outlet::tokens));
    let mut plan = wished.plan()?;
    place(&mut plan, &script, &granted).map_err(failed)?;
    variables.push(python_path(&script, &wished));
    let null: OwnedFd = File::options().read(true).write(true).open("/dev/null").map_err(failed)?.into();
    let (stream, inherited_stream) = stream().map_err(failed)?;
    let (door, inherited_door) = Door::pair().map_err(failed)?;
    let (stdout, stdout_end) = Capture::begin(limits.stdout, &secrets).map_err(failed)?;
    let (stderr, stderr_end) = Capture::begin(limits.stderr, &secrets).map_err(failed)?;
    let image = wished.image(&variables, &words(script.language), outlet.as_ref())?;
    let start = Start {
        image: &image,
        directory: &wished.request.workspace,
        terminal: None,
        limits: plan.limits,
        last: Last::Yes,
        // Its bytes are in the plan.
        approved: &[],
        descriptors: &[
            null.as_fd(),
            stdout_end.as_fd(),
            stderr_end.as_fd(),
            inherited_stream.as_fd(),
            inherited_door.as_fd(),
        ],
        answer: None,
    };
    let built = prepared.build_for(&plan, SCRIPT, &start);
    let (mut sandbox, report) = built.map_err(|problem| run_outcome::not_built(&problem))?;
    if let Some(outlet) = &mut outlet {
        outlet.serve(sandbox.take_doors()).map_err(failed)?;
    }
    // A security module may take the rights in namespaces away that it let be made.
    if let Some(layer) =
        report.layers.iter().find(|layer| layer.name == LayerName::Namespaces && !layer.enforced)
    {
        return Err(needs_namespaces(&layer.detail));
    }
    run_outcome::tell_missing(&report);
    let text = CommandText::already_redacted(format!("{} script {}", script.language.name(), script.sha256));
    let walls = (wished.request.profile, wished.request.network);
    let started = record::started(&report, walls, (RunWay::Script, text));
    record::write(&keeper.recorder, &Label::new(&context.session), &started)?;
    drop((stdout_end, stderr_end, inherited_stream));
    let tools = granted.tools.clone();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    teller.started(&names);
    let sandbox = Arc::new(sandbox);
    let toolbox = Arc::new(Toolbox {
        commands: Commands::new(Arc::clone(&sandbox), plan.limits, null, inherited_door),
        clock: Clock::start(limits.time),
        wished,
        outlet,
        variables,
        keeper,
        context,
        secrets,
        limits,
        teller: teller.clone(),
        granted,
        files: Default::default(),
        made: Default::default(),
        refusals: Default::default(),
    });
    let peers = Peers::one_sandbox().map_err(failed)?;
    let broker = Broker::new(tools, limits.calls, peers, Box::new(Shared(Arc::clone(&toolbox))));
    broker.serve_stream(stream);
    let at_door = Arc::clone(&broker);
    thread::spawn(move || at_door.serve_door(&door));
    let late = (LateSecrets::new(), Late::of(&toolbox.wished.request, &plan));
    let end = Watch { sandbox: &sandbox, toolbox: &toolbox, how: None, deadline: None, session, late }
        .watch(&signals)
        .map_err(failed)?;
    broker.end();
    toolbox.commands.all_ended();
    let mut outcome = Outcome::new(Status::Success, &script, began.elapsed(), teller);
    let ((output, output_cut), (errors, errors_cut)) = (stdout.finish(), stderr.finish());
    outcome.output = output;
    outcome.stderr = errors;
    outcome.calls_made = broker.tally().calls();
    outcome.frames_refused = broker.tally().refused();
    outcome.calls = toolbox.calls_made();
    outcome.cut = Cut {
        output_bytes: output_cut,
        stderr_bytes: errors_cut,
        calls: outcome.calls_made.saturating_sub(outcome.calls.len() as u64),
    };
    end.describe(&mut outcome, limits.time);
    Ok(outcome)
}

/// The best effort is not enough here: what was approved, and the tools, are put into a tree that nobody inside can write
/// to, and who calls is known by the namespace of its process.
fn needs_namespaces(why: &str) -> Failure {
    Failure::new(Exit::NotStarted, format!("a script with tools needs namespaces, and there are none: {why}"))
        .hint("`cofferdam doctor` says what this machine needs")
        .hint("cofferdam run --isolation best-effort runs a file without tools")
}

/// The connection that is there from the beginning. The kernel says who speaks on it.
fn stream() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_passcred(&ours, true)?;
    Ok((ours, theirs))
}

/// Puts the approved bytes, the modules and what the file tools need into the plan.
fn place(plan: &mut Plan, script: &Script, granted: &Granted) -> io::Result<()> {
    let file = |name: &str, contents: String| Operation::File {
        path: format!("{PLACE}/{name}").as_str().into(),
        contents: contents.into(),
    };
    let mut files = vec![
        file(script.language.file_name(), script.text.clone()),
        file("cofferdam_tools.py", module::python(&granted.tools)),
        file("node_modules/cofferdam_tools/index.js", module::node(&granted.tools)),
    ];
    if granted.works_on_files() {
        let from = std::env::current_exe()?;
        files.push(Operation::Bind {
            path: PROGRAM.into(),
            from: from.as_path().into(),
            access: Access::ReadOnly,
        });
    }
    // In front of the step with which the tree becomes read-only.
    let at =
        plan.files.iter().rposition(|operation| *operation == Operation::Seal).unwrap_or(plan.files.len());
    plan.files.splice(at..at, files);
    Ok(())
}

/// A script finds its tools, and what lies beside it as if it had been started there.
fn python_path(script: &Script, wished: &Wished) -> OsString {
    let beside = script.beside.as_ref().unwrap_or(&wished.request.workspace);
    let mut variable = OsString::from(format!("PYTHONPATH={PLACE}:"));
    variable.push(beside);
    variable
}

fn words(language: Language) -> Vec<OsString> {
    let script = format!("{PLACE}/{}", language.file_name());
    language.interpreter().iter().map(|word| OsString::from(*word)).chain([script.into()]).collect()
}

fn tell(line: Option<String>) {
    if let Some(line) = line {
        eprintln!("cofferdam: {line}");
    }
}

/// Why the script is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Ended(Ended),
    NotStarted,
    TimedOut,
    Interrupted(i32),
    /// Whoever it runs for was taken the right to.
    Revoked,
    Lost,
}

struct Watch<'a> {
    sandbox: &'a Sandbox,
    toolbox: &'a Toolbox,
    /// The first reason counts.
    how: Option<How>,
    /// After it was asked to end: when nobody asks any more.
    deadline: Option<Instant>,
    /// How the session stood when the script was approved.
    session: Revocation,
    /// The watch for secrets that appear, and what it is about.
    late: (LateSecrets, Late),
}

impl Watch<'_> {
    fn watch(mut self, signals: &Signals) -> io::Result<How> {
        loop {
            let left = match self.deadline {
                Some(deadline) => deadline.saturating_duration_since(Instant::now()),
                None => self.toolbox.clock.left(),
            };
            if left.is_zero() {
                self.time_is_up();
            }
            if self.how.is_none() && self.toolbox.revocation().as_ref() != Some(&self.session) {
                self.ask_to_end(How::Revoked);
            }
            self.late.0.go_on(self.sandbox);
            let wait = left.min(LOOK).min(self.late.0.wait().unwrap_or(LOOK));
            let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
            let mut ready = vec![
                PollFd::new(self.sandbox, PollFlags::IN),
                PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
            ];
            ready.extend(self.late.0.descriptor().map(|late| PollFd::from_borrowed_fd(late, PollFlags::IN)));
            match rustix::event::poll(&mut ready, Some(&wait)) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other?,
            };
            let ready: Vec<bool> = ready.iter().map(|ready| !ready.revents().is_empty()).collect();
            let (news, signalled) = (ready[0], ready[1]);
            if ready.get(2) == Some(&true) {
                tell(self.late.0.hear());
            }
            while let (true, Some(signal)) = (signalled, signals.next()?) {
                self.ask_to_end(How::Interrupted(signal));
            }
            if news && self.hear()? {
                return Ok(self.how.unwrap_or(How::Lost));
            }
        }
    }

    /// `true` when the sandbox is gone.
    fn hear(&mut self) -> io::Result<bool> {
        match self.sandbox.news()? {
            (_, News::Gone { ended, held, .. }) => {
                if let Some(how) = ended {
                    self.over(How::Ended(how));
                }
                for held in held {
                    eprintln!(
                        "cofferdam: the script made a file that your own tools would run; it is now {held}"
                    );
                }
                return Ok(true);
            }
            (_, News::Namespaces(namespaces)) => {
                tell(self.late.0.begin(&self.late.1, &namespaces));
            }
            (SCRIPT, News::Ended { how, .. }) => self.over(How::Ended(how)),
            (SCRIPT, News::NotStarted(_)) => self.over(How::NotStarted),
            (id, news) => self.toolbox.commands.heard(id, news),
        }
        Ok(false)
    }

    /// From here on the sandbox ends by itself.
    fn over(&mut self, how: How) {
        self.how.get_or_insert(how);
        self.deadline = Some(Instant::now() + GRACE);
    }

    fn ask_to_end(&mut self, how: How) {
        if self.how.is_none() {
            self.over(how);
            // A sandbox that is gone already has left word of it.
            let _ = self.sandbox.signal(SCRIPT, TERM);
        }
    }

    fn time_is_up(&mut self) {
        if self.deadline.is_some() {
            self.deadline = Some(Instant::now() + LOOK);
            let _ = self.sandbox.finish();
        } else {
            self.ask_to_end(How::TimedOut);
        }
    }
}

impl How {
    fn describe(self, outcome: &mut Outcome, time: Duration) {
        let (status, code, error) = match self {
            Self::Ended(Ended::Exited(0)) => (Status::Success, Some(0), None),
            Self::Ended(Ended::Exited(code)) => {
                (Status::Error, Some(code), Some(format!("the script ended with status {code}")))
            }
            Self::Ended(Ended::Killed(signal)) => {
                (Status::Error, Some(128 + signal), Some(format!("the script was ended by signal {signal}")))
            }
            Self::NotStarted => {
                (Status::Error, Some(127), Some("the interpreter was not found in the sandbox".to_owned()))
            }
            Self::TimedOut => (
                Status::Timeout,
                None,
                Some(format!("the script was ended after {} seconds", time.as_secs_f64())),
            ),
            Self::Interrupted(signal) => (
                Status::Interrupted,
                Some(128 + signal),
                Some(format!("it was interrupted by signal {signal}")),
            ),
            Self::Revoked => (Status::Interrupted, None, Some("its session was revoked".to_owned())),
            Self::Lost => (Status::Interrupted, None, Some("the sandbox was ended from outside".to_owned())),
        };
        outcome.status = status;
        outcome.exit_code = code;
        outcome.error = error;
    }
}
