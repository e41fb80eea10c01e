//! Tools of the user's own: a command, or a server in a sandbox of its own.

use std::ffi::OsString;
use std::path::PathBuf;

use cofferdam_exec_broker::mcp;
use cofferdam_exec_broker::message::{ErrorKind, ToolError};
use cofferdam_linux_sys::child::{
    self, ChildCommand, ChildError, Input, Keep, Limits, Output, Program, Running,
};
use cofferdam_policy::document::{self, Runs, Tool, ToolTrust};
use cofferdam_policy::environment::{
    self, ChildEnvironment, Credentials, Fixed, HostEnvironment, ProviderVariables, Request, Trust,
};
use cofferdam_policy::mistake::{nearest, quoted};
use cofferdam_policy::provider::Provider;
use cofferdam_policy::registry::Registry;
use serde_json::{Map, Value, json};

use super::granted::Server;
use crate::exit::Exit;
use crate::failure::Failure;

/// Bytes that a command may print.
const LARGEST_RESULT: usize = 512 << 10;
/// Of what it says when it fails, the script is told this much.
const LARGEST_ERROR: usize = 2000;

/// Where configured tools are started from.
pub struct Configured {
    pub providers: Vec<Provider>,
    /// The workspace of the script.
    pub workspace: PathBuf,
    /// What relative paths of the configuration lie beside.
    pub beside: PathBuf,
    pub home: Option<PathBuf>,
}

impl Configured {
    pub fn schema(&self, tool: &Tool) -> Result<Value, Failure> {
        let Some(text) = &tool.schema else { return Ok(json!({"type": "object"})) };
        match serde_json::from_str(text) {
            Ok(Value::Object(schema)) => Ok(Value::Object(schema)),
            Ok(_) => Err(format!("the schema of the tool {} is no JSON object", quoted(&tool.name))),
            Err(error) => Err(format!("the schema of the tool {} is no JSON: {error}", quoted(&tool.name))),
        }
        .map_err(|sentence: String| {
            Failure::new(Exit::Config, sentence)
                .hint("write schema = '{\"type\": \"object\", …}' in config.toml")
        })
    }

    /// Whether the provider that a tool works for is known.
    pub fn check(&self, tool: &Tool) -> Result<(), Failure> {
        let registry = Registry::new(self.providers.clone());
        let Some(provider) = tool.provider.as_deref().filter(|name| registry.by_name(name).is_none()) else {
            return Ok(());
        };
        let sentence =
            format!("the tool {} works for {}, which is no provider", quoted(&tool.name), quoted(provider));
        let failure = Failure::new(Exit::Config, sentence);
        Err(match nearest(provider, registry.iter().map(|provider| provider.name.as_ref())) {
            Some(near) => failure.hint(format!("did you mean {near}?")),
            None => failure.hint("cofferdam providers list shows all of them"),
        })
    }

    /// Runs a command: arguments in, result out, both as JSON.
    pub fn run(&self, tool: &Tool, arguments: Map<String, Value>) -> Result<Value, ToolError> {
        let Runs::Command(argv) = &tool.runs else {
            return Err(ErrorKind::Failed.with("this is no command"));
        };
        let trust = match (tool.trust, &tool.provider) {
            (ToolTrust::Helper, _) => Trust::Helper,
            (ToolTrust::Executor, Some(provider)) => Trust::Executor { provider },
            _ => Trust::Tool,
        };
        let environment = self.environment(trust, tool.provider.as_deref(), &[]);
        let input = Value::Object(arguments).to_string().into_bytes();
        let command =
            command(argv, &environment)?.directory(&self.workspace).input(Input::Bytes(input.into()));
        let limits = Limits {
            timeout: tool.timeout,
            stdout: Keep::UpTo(LARGEST_RESULT),
            stderr: Keep::UpTo(LARGEST_ERROR),
        };
        let captured = child::run_captured(command, limits).map_err(|error| match error {
            ChildError::TimedOut { .. } => ErrorKind::TimedOut.with("the tool did not end in time"),
            other => ErrorKind::Failed.with(other.to_string()),
        })?;
        if !captured.status.success() {
            let said = String::from_utf8_lossy(&captured.stderr.bytes).into_owned();
            let status = captured.status.shell_status();
            return Err(ErrorKind::Failed.with(format!("the tool ended with status {status}: {said}")));
        }
        if captured.stdout.truncated {
            return Err(ErrorKind::TooLarge.with("the tool printed too much"));
        }
        let text = String::from_utf8_lossy(&captured.stdout.bytes);
        Ok(serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.into_owned())))
    }

    /// Starts a server in a sandbox, by starting this very program: whatever a sandbox is, the server has it.
    pub fn start_server(&self, tool: &Tool) -> Result<Server, ToolError> {
        let Runs::Mcp(argv) = &tool.runs else { return Err(ErrorKind::Failed.with("this is no server")) };
        let program = std::env::current_exe().map_err(|error| ErrorKind::Failed.with(error.to_string()))?;
        let mut words: Vec<OsString> = vec![program.into()];
        words.extend(["run", "--no-tty", "--workspace"].map(OsString::from));
        words.push(self.workspace.clone().into());
        for path in &tool.read {
            let path = document::locate(path, &self.beside, self.home.as_deref());
            words.extend(path.into_iter().flat_map(|path| [OsString::from("--read"), path.into()]));
        }
        // Without a provider there is nobody to talk to.
        words.extend(match &tool.provider {
            Some(provider) => ["--provider".into(), OsString::from(provider)],
            None => ["--network".into(), "none".into()],
        });
        words.push("--".into());
        words.extend(argv.iter().map(OsString::from));
        let trust = tool.provider.as_deref().map_or(Trust::Tool, |provider| Trust::Executor { provider });
        // The launcher of the server's sandbox finds its files where this one does; the server does not learn it.
        let own = std::env::var_os("COFFERDAM_HOME").and_then(|home| Fixed::new("COFFERDAM_HOME", home).ok());
        let environment = self.environment(trust, tool.provider.as_deref(), own.as_slice());
        let mut process: Running = command(&words, &environment)?
            .directory(&self.workspace)
            .input(Input::Pipe)
            .stdout(Output::Pipe)
            .spawn()
            .map_err(|error| ErrorKind::Failed.with(error.to_string()))?;
        let (Some(stdout), Some(stdin)) = (process.take_stdout(), process.take_stdin()) else {
            return Err(ErrorKind::Failed.with("it has no streams"));
        };
        let client = mcp::Server::connect(stdout, stdin, tool.timeout)?;
        Ok(Server { client, timeout: tool.timeout, _process: process })
    }

    fn environment(&self, trust: Trust<'_>, provider: Option<&str>, fixed: &[Fixed]) -> ChildEnvironment {
        let host = HostEnvironment::new(std::env::vars_os());
        let registry = Registry::new(self.providers.clone());
        let inherited: Vec<&str> = provider.into_iter().collect();
        let mut request = Request { fixed, ..Request::plain(trust) };
        if matches!(trust, Trust::Executor { .. }) {
            request.credentials = Credentials::Inherit(&inherited);
        }
        environment::build(&host, &request, &ProviderVariables::new(&registry)).environment
    }
}

fn command<'a, S: Into<OsString> + Clone>(
    argv: &[S],
    environment: &'a ChildEnvironment,
) -> Result<ChildCommand<'a>, ToolError> {
    let mut words = argv.iter().cloned().map(Into::into);
    let program: OsString = words.next().ok_or_else(|| ErrorKind::Failed.with("there is no program"))?;
    let program = Program::new(program).map_err(|error| ErrorKind::Failed.with(error.to_string()))?;
    Ok(ChildCommand::new(program, environment).args(words))
}
