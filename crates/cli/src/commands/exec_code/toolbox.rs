//! The tools: what each call does, on whose behalf, and who is asked first.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cofferdam_approvals::{Approved, Refused, Revocation, SessionContext, Weighed};
use cofferdam_exec_broker::limits::{Clock, Limits};
use cofferdam_exec_broker::message::{ErrorKind, ToolError};
use cofferdam_exec_broker::output::shortened;
use cofferdam_exec_broker::tool::BuiltIn;
use cofferdam_exec_broker::{Call, Called, Language, Tools, module};
use cofferdam_linux_sys::exec::Image;
use cofferdam_sandbox::channel::memory_file;
use cofferdam_sandbox::launch::{News, Sandbox, Start};
use cofferdam_sandbox::messages::{Ended, Last, NotStarted};
use cofferdam_sandbox::plan::Limits as KernelLimits;
use serde_json::{Map, Value, json};

use super::file_tools::{FileTools, PROGRAM};
use super::granted::Granted;
use super::known_secrets::KnownSecrets;
use super::outcome::{CallMade, Teller};
use super::script::approval_language;
use super::streams::Capture;
use crate::commands::run::wish::Wished;
use crate::gatekeeper::Gatekeeper;
use crate::outlet::Outlet;

/// The number of the script itself among the commands of its sandbox.
pub const SCRIPT: u64 = 1;
/// Calls that are listed in the result; the others are counted.
const MOST_LISTED: usize = 1000;

/// What the calls of one script share.
pub struct Toolbox {
    pub commands: Commands,
    pub clock: Clock,
    pub wished: Wished,
    pub outlet: Option<Outlet>,
    pub variables: Vec<OsString>,
    pub keeper: Arc<Gatekeeper>,
    /// Whoever started the script: every call is made in this name.
    pub context: SessionContext,
    pub secrets: KnownSecrets,
    pub limits: Limits,
    pub teller: Teller,
    pub granted: Granted,
    pub files: FileTools,
    pub made: Mutex<Vec<CallMade>>,
}

/// The toolbox as the broker gets it.
pub struct Shared(pub Arc<Toolbox>);

impl Tools for Shared {
    fn call(&self, call: &Call<'_>, arguments: Map<String, Value>) -> Result<Value, ToolError> {
        self.0.call(call, arguments)
    }

    fn answered(&self, called: &Called) {
        self.0.teller.called(called);
        let mut made = locked(&self.0.made);
        if made.len() < MOST_LISTED {
            made.push(CallMade::of(called));
        }
    }
}

impl Toolbox {
    fn call(&self, call: &Call<'_>, arguments: Map<String, Value>) -> Result<Value, ToolError> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let about = text("command").or(text("path")).or(text("pattern")).unwrap_or_default();
        let about: String = about.chars().take(80).flat_map(char::escape_debug).collect();
        self.teller.calling(call.number, &call.tool.name, &self.secrets.redacted(&about));
        match self.granted.built_in(&call.tool.name) {
            Some(BuiltIn::Terminal) => self.terminal(&arguments),
            Some(BuiltIn::ExecuteCode) => self.execute_code(&arguments),
            Some(BuiltIn::ReadFile | BuiltIn::SearchFiles) => self.on_files(call, arguments),
            Some(BuiltIn::WriteFile | BuiltIn::Patch) => {
                self.approved(&writing(&arguments), &self.context)?;
                self.on_files(call, arguments)
            }
            None => self.outside(&call.tool.name, arguments),
        }
    }

    /// A tool that works outside of the sandbox: what it gives is looked through before the script sees it.
    fn outside(&self, name: &str, arguments: Map<String, Value>) -> Result<Value, ToolError> {
        match self.granted.call(name, arguments) {
            Ok(mut value) => {
                self.redact(&mut value);
                let bytes = value.to_string().len();
                match value {
                    Value::String(text) => Ok(shortened(&text, self.limits.result).0.into()),
                    value if bytes <= self.limits.result => Ok(value),
                    _ => Err(ErrorKind::TooLarge.with(format!("the result has {bytes} bytes"))),
                }
            }
            Err(error) => {
                let message = shortened(&self.secrets.redacted(&error.message), 10_000).0;
                Err(ToolError { message, ..error })
            }
        }
    }

    fn redact(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.secrets.redacted(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.redact(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// How the session stands now; what cannot be read counts as taken back.
    pub fn revocation(&self) -> Option<Revocation> {
        self.keeper.broker.revocation(&self.context.session).ok()
    }

    pub fn calls_made(&self) -> Vec<CallMade> {
        locked(&self.made).clone()
    }

    fn on_files(&self, call: &Call<'_>, arguments: Map<String, Value>) -> Result<Value, ToolError> {
        self.files.call(&call.tool.name, arguments, |door| {
            let image = self.image(&[PROGRAM.into(), "file-tools".into()])?;
            let null = self.commands.null.as_fd();
            let descriptors = [null, null, null, door.as_fd()];
            self.commands.start(&image, &self.wished.request.workspace, &descriptors).map(drop)
        })
    }

    /// A command line, through the gate, in the sandbox of the script.
    fn terminal(&self, arguments: &Map<String, Value>) -> Result<Value, ToolError> {
        let command = arguments.get("command").and_then(Value::as_str).unwrap_or_default();
        let mut directory = self.wished.request.workspace.clone();
        directory.extend(arguments.get("directory").and_then(Value::as_str));
        let mut context = self.context.clone();
        context.place.directory = directory.to_string_lossy().into_owned();
        let approved = self.approved(command, &context)?;
        let words: [OsString; 3] = ["bash".into(), "-c".into(), approved.command().into()];
        approved.still_holds().map_err(|changed| {
            ErrorKind::Denied.with(format!("{} was changed after it was approved", changed.path))
        })?;
        let timeout = arguments.get("timeout").and_then(Value::as_f64);
        self.run(&words, &directory, None, timeout)
    }

    /// Another script in the same sandbox, with the same tools, asked about like the first.
    fn execute_code(&self, arguments: &Map<String, Value>) -> Result<Value, ToolError> {
        let code = arguments.get("code").and_then(Value::as_str).unwrap_or_default();
        let language = match arguments.get("language").and_then(Value::as_str) {
            Some("bash") => Language::Bash,
            Some("node") => Language::Node,
            _ => Language::Python,
        };
        let approver = self.keeper.at_terminal(&self.context);
        let gate = self.keeper.gate(None);
        match gate.weigh_script(approval_language(language), code, &self.context) {
            Weighed::Approved(_) => {}
            Weighed::Refused(refused) => return Err(denied(&refused)),
            Weighed::Ask(question) => {
                let _waiting = self.clock.wait();
                question.put(&approver).map_err(|refused| denied(&refused))?;
            }
        }
        let words: Vec<OsString> = match language {
            Language::Python => ["python3", "-u", "-"].map(OsString::from).into(),
            Language::Bash => ["bash", "/dev/fd/0"].map(OsString::from).into(),
            Language::Node => ["node", "-"].map(OsString::from).into(),
        };
        self.run(&words, &self.wished.request.workspace, Some(code), None)
    }

    /// Passes the gate in the name of the session that started the script. Waiting for a person takes none of the
    /// script's time.
    fn approved(&self, command: &str, context: &SessionContext) -> Result<Approved, ToolError> {
        let gate = self.keeper.gate(None);
        match gate.weigh(command, context) {
            Weighed::Approved(approved) => Ok(approved),
            Weighed::Refused(refused) => Err(denied(&refused)),
            Weighed::Ask(question) => {
                let approver = self.keeper.at_terminal(context);
                let _waiting = self.clock.wait();
                question.put(&approver).map_err(|refused| denied(&refused))
            }
        }
    }

    fn image(&self, words: &[OsString]) -> io::Result<Image> {
        self.wished
            .image(&self.variables, words, self.outlet.as_ref())
            .map_err(|_| io::Error::other("the command cannot be started"))
    }

    /// Runs a command to its end, or to its time.
    fn run(
        &self,
        words: &[OsString],
        directory: &std::path::Path,
        input: Option<&str>,
        timeout: Option<f64>,
    ) -> Result<Value, ToolError> {
        let failed = |error: io::Error| ErrorKind::Failed.with(format!("it could not be started: {error}"));
        let image = self.image(words).map_err(failed)?;
        let (output, end) = Capture::begin(self.limits.result, &self.secrets).map_err(failed)?;
        let input = input.map(|input| memory_file(input.as_bytes())).transpose().map_err(failed)?;
        let commands = &self.commands;
        let stdin = input.as_ref().map_or(commands.null.as_fd(), AsFd::as_fd);
        // At the number of the first connection there is nothing; whoever needs one opens it by the door.
        let descriptors = [stdin, end.as_fd(), end.as_fd(), commands.null.as_fd(), commands.door.as_fd()];
        debug_assert_eq!(descriptors.len() as i32, module::DOOR + 1);
        let (id, news) = commands.start(&image, directory, &descriptors).map_err(failed)?;
        drop(end);
        let ended =
            commands.wait(id, &news, timeout.map(|seconds| Duration::from_secs_f64(seconds.min(1e9))));
        let (text, cut) = output.finish();
        match ended {
            Finished::Ended(ended) => {
                let code = match ended {
                    Ended::Exited(code) => code,
                    Ended::Killed(signal) => 128 + signal,
                };
                Ok(json!({"output": text, "exit_code": code, "cut_bytes": cut}))
            }
            Finished::TimedOut => {
                Err(ErrorKind::TimedOut
                    .with(format!("it was ended when its time was up; it printed: {text}")))
            }
            Finished::NotStarted(why) => Err(ErrorKind::Failed.with(match why {
                NotStarted::NotFound => "the program is not there".to_owned(),
                NotStarted::Directory(_) => format!("the directory {} is not there", directory.display()),
                NotStarted::NotExecutable(errno) | NotStarted::Other(errno) => {
                    io::Error::from_raw_os_error(errno).to_string()
                }
            })),
            Finished::Lost => Err(ErrorKind::Ended.with("the script is being ended")),
        }
    }
}

/// The command that does what a writing tool does, for the gate to judge.
fn writing(arguments: &Map<String, Value>) -> String {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let quoted = |path: &str| format!("cat > '{}'", path.replace('\'', "'\\''"));
    match (text("path"), text("diff")) {
        (Some(path), _) => quoted(path),
        (None, Some(diff)) => {
            let names = cofferdam_exec_broker::files::named_in_diff(diff);
            names.iter().map(|path| quoted(path)).collect::<Vec<_>>().join("; ")
        }
        (None, None) => "true".to_owned(),
    }
}

fn denied(refused: &Refused) -> ToolError {
    ErrorKind::Denied.with(refused.sentence())
}

/// Commands in the sandbox besides the script.
pub struct Commands {
    sandbox: Arc<Sandbox>,
    limits: KernelLimits,
    pub null: OwnedFd,
    /// The side of the door that is inherited.
    pub door: OwnedFd,
    next: AtomicU64,
    /// Those that are waited for; none any more when the sandbox is gone.
    waiting: Mutex<Option<HashMap<u64, Sender<News>>>>,
}

enum Finished {
    Ended(Ended),
    NotStarted(NotStarted),
    TimedOut,
    Lost,
}

impl Commands {
    pub fn new(sandbox: Arc<Sandbox>, limits: KernelLimits, null: OwnedFd, door: OwnedFd) -> Self {
        let waiting = Mutex::new(Some(HashMap::new()));
        Self { sandbox, limits, null, door, next: AtomicU64::new(SCRIPT + 1), waiting }
    }

    fn start(
        &self,
        image: &Image,
        directory: &std::path::Path,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<(u64, Receiver<News>)> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (tell, news) = mpsc::channel();
        match locked(&self.waiting).as_mut() {
            Some(waiting) => waiting.insert(id, tell),
            None => return Err(io::Error::other("the sandbox is gone")),
        };
        let directory = PathBuf::from(directory);
        let start = Start {
            image,
            directory: &directory,
            terminal: None,
            limits: self.limits,
            last: Last::No,
            descriptors,
        };
        self.sandbox.start(id, &start)?;
        Ok((id, news))
    }

    /// Waits for the end; with a time, everything that the command has started is ended by then.
    fn wait(&self, id: u64, news: &Receiver<News>, timeout: Option<Duration>) -> Finished {
        let mut timed_out = false;
        let mut timeout = timeout;
        loop {
            let heard = match timeout {
                Some(timeout) => news.recv_timeout(timeout),
                None => news.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match heard {
                Ok(News::Ended { .. }) if timed_out => return Finished::TimedOut,
                Ok(News::Ended { how, .. }) => return Finished::Ended(how),
                Ok(News::NotStarted(why)) => return Finished::NotStarted(why),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => {
                    timed_out = true;
                    timeout = None;
                    if self.sandbox.end(id).is_err() {
                        return Finished::Lost;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Finished::Lost,
            }
        }
    }

    /// Passes on what the sandbox tells about a command.
    pub fn heard(&self, id: u64, news: News) {
        let over = matches!(news, News::Ended { .. } | News::NotStarted(_));
        if let Some(waiting) = locked(&self.waiting).as_mut() {
            if let Some(tell) = waiting.get(&id) {
                // Nobody waits for the file tools.
                let _ = tell.send(news);
            }
            if over {
                waiting.remove(&id);
            }
        }
    }

    /// Nothing is heard of any of them again.
    pub fn all_ended(&self) {
        locked(&self.waiting).take();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
