//! The tools: what each call does, once it has passed.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cofferdam_approvals::{Revocation, SessionContext};
use cofferdam_exec_broker::limits::{Clock, Limits};
use cofferdam_exec_broker::message::{ErrorKind, ToolError};
use cofferdam_exec_broker::output::shortened;
use cofferdam_exec_broker::tool::BuiltIn;
use cofferdam_exec_broker::{Call, Called, Language, Tools, module};
use cofferdam_linux_sys::exec::Image;
use cofferdam_sandbox::channel::memory_file;
use cofferdam_sandbox::messages::{Ended, NotStarted};
use serde_json::{Map, Value, json};

use super::commands::{Commands, Finished};
use super::file_tools::{FileTools, PROGRAM};
use super::granted::Granted;
use super::outcome::{CallMade, Teller};
use super::passing::{Passed, language};
use super::streams::Capture;
use crate::admission::approved_files;
use crate::commands::run::wish::Wished;
use crate::gatekeeper::Gatekeeper;
use crate::known_secrets::KnownSecrets;
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
    /// Refused calls that are in the record.
    pub refusals: AtomicUsize,
}

/// The toolbox as the broker gets it.
pub struct Shared(pub Arc<Toolbox>);

impl Tools for Shared {
    fn call(&self, call: &Call<'_>, arguments: Map<String, Value>) -> Result<Value, ToolError> {
        self.0.call(call, arguments)
    }

    fn refused(&self, tool: &str, error: &ToolError) {
        self.0.record_refusal(tool, error.kind);
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
        self.teller.calling(call.number, &call.tool.name, || self.about(&arguments));
        // In the record before it is done; what cannot be recorded is not done.
        let passed = self.pass(call.tool, &arguments);
        self.record(call, &passed)?;
        let passed = passed?;
        match self.granted.built_in(&call.tool.name) {
            Some(BuiltIn::Terminal) => self.terminal(&passed, &arguments),
            Some(BuiltIn::ExecuteCode) => self.execute_code(&passed, &arguments),
            Some(BuiltIn::ReadFile | BuiltIn::SearchFiles | BuiltIn::WriteFile | BuiltIn::Patch) => {
                self.on_files(call, arguments)
            }
            None => self.outside(&passed, &call.tool.name, arguments),
        }
    }

    /// What a person is told of a call.
    fn about(&self, arguments: &Map<String, Value>) -> String {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let about = text("command").or(text("path")).or(text("pattern")).unwrap_or_default();
        let about: String = about.chars().take(80).flat_map(char::escape_debug).collect();
        self.secrets.redacted(&about)
    }

    /// A tool that works outside of the sandbox: what it gives is looked through before the script sees it.
    fn outside(
        &self,
        passed: &Passed,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Value, ToolError> {
        passed.still_holds()?;
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
            self.commands.start(&image, &self.wished.request.workspace, &[], &descriptors).map(drop)
        })
    }

    /// A command line in the sandbox of the script.
    fn terminal(&self, passed: &Passed, arguments: &Map<String, Value>) -> Result<Value, ToolError> {
        let words: [OsString; 3] = ["bash".into(), "-c".into(), passed.approved.command().into()];
        let timeout = arguments.get("timeout").and_then(Value::as_f64);
        self.run(&words, passed, None, timeout)
    }

    /// Another script in the same sandbox, with the same tools.
    fn execute_code(&self, passed: &Passed, arguments: &Map<String, Value>) -> Result<Value, ToolError> {
        let words: Vec<OsString> = match language(arguments) {
            Language::Python => ["python3", "-u", "-"].map(OsString::from).into(),
            Language::Bash => ["bash", "/dev/fd/0"].map(OsString::from).into(),
            Language::Node => ["node", "-"].map(OsString::from).into(),
        };
        self.run(&words, passed, Some(passed.approved.command()), None)
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
        passed: &Passed,
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
        let directory = Path::new(passed.approved.directory());
        let approved = approved_files(&passed.approved);
        let (id, news) = commands.start(&image, directory, &approved, &descriptors).map_err(failed)?;
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
            Finished::NotStarted(why) => Err(not_started(why, directory)),
            Finished::Lost => Err(ErrorKind::Ended.with("the script is being ended")),
        }
    }
}

fn not_started(why: NotStarted, directory: &Path) -> ToolError {
    let failed = |message: String| ErrorKind::Failed.with(message);
    match why {
        NotStarted::NotApproved => {
            ErrorKind::Denied.with("a file that it runs was changed after it was approved")
        }
        NotStarted::NotFound => failed("the program is not there".to_owned()),
        NotStarted::Directory(_) => failed(format!("the directory {} is not there", directory.display())),
        NotStarted::NotExecutable(errno) | NotStarted::Other(errno) => {
            failed(io::Error::from_raw_os_error(errno).to_string())
        }
    }
}

pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
