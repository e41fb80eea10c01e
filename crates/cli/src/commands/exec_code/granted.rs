//! What was granted, and who does it: built in, configured, or offered by the host.

use std::collections::BTreeMap;
use std::time::Duration;

use cofferdam_exec_broker::message::{ErrorKind, ToolError};
use cofferdam_exec_broker::tool::{BuiltIn, Tool};
use cofferdam_exec_broker::{HostTools, Unstarted, mcp};
use cofferdam_linux_sys::child::Running;
use cofferdam_linux_sys::descriptors;
use cofferdam_policy::document::{self, Runs};
use cofferdam_policy::mistake::{nearest, quoted};
use serde_json::{Map, Value};

use super::configured::Configured;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Settings;

/// How long a host's tool may take.
const HOST_TIMEOUT: Duration = Duration::from_secs(600);

/// What was asked for, before anything is started.
pub struct Wanted {
    built_in: Vec<BuiltIn>,
    commands: Vec<document::Tool>,
    /// A server, and which of its tools; none: all.
    servers: Vec<(document::Tool, Option<Vec<String>>)>,
    host: Option<Host>,
}

/// A program that this one works for, and what it offers.
pub struct Host {
    pub tools: Vec<Tool>,
    pub connection: Unstarted,
    /// What is done when it hangs up.
    pub gone: fn(),
}

impl Host {
    /// Whoever has started this program and let it inherit a descriptor.
    pub fn inherited(number: i32) -> Result<Self, Failure> {
        let (tools, connection) = descriptors::inherited(number)
            .map_err(|error| error.to_string())
            .and_then(HostTools::offered)
            .map_err(|why| {
                Failure::new(
                    Exit::Usage,
                    format!("the host's tools cannot be read from descriptor {number}: {why}"),
                )
                .hint("docs/embedding.md says what is expected there")
            })?;
        Ok(Self { tools, connection, gone: || {} })
    }

    pub fn is_gone(&self) -> bool {
        self.connection.wire().is_gone()
    }
}

/// Everything that a script can call.
pub struct Granted {
    pub tools: Vec<Tool>,
    doers: BTreeMap<String, Doer>,
    configured: Configured,
    host: Option<HostTools>,
}

pub enum Doer {
    BuiltIn(BuiltIn),
    Command(Box<document::Tool>),
    Server { server: std::sync::Arc<Server>, tool: String, asks: bool },
    Host,
}

/// A server that runs for as long as the script does.
pub struct Server {
    pub client: mcp::Server,
    pub timeout: Duration,
    pub _process: Running,
}

impl Wanted {
    /// Finds the tools by their names. No tools granted means none; what the host offers it has granted.
    pub fn read(names: &[String], host: Option<Host>) -> Result<Self, Failure> {
        let configured = Settings::load()?.config.tools;
        let mut wanted = Self { built_in: Vec::new(), commands: Vec::new(), servers: Vec::new(), host };
        for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
            wanted.add(name, &configured)?;
        }
        Ok(wanted)
    }

    /// Whether the program that this one works for has hung up.
    pub fn host_is_gone(&self) -> bool {
        self.host.as_ref().is_some_and(Host::is_gone)
    }

    fn add(&mut self, name: &str, configured: &[document::Tool]) -> Result<(), Failure> {
        if let Some(tool) = BuiltIn::named(name) {
            if !self.built_in.contains(&tool) {
                self.built_in.push(tool);
            }
            return Ok(());
        }
        let (whole, part) = name.split_once('.').map_or((name, None), |(server, tool)| (server, Some(tool)));
        let Some(tool) = configured.iter().find(|tool| tool.name == whole) else {
            return Err(unknown(name, configured));
        };
        match (&tool.runs, part) {
            (Runs::Command(_), None) => self.commands.push(tool.clone()),
            (Runs::Command(_), Some(_)) => return Err(unknown(name, configured)),
            (Runs::Mcp(_), part) => {
                match self.servers.iter_mut().find(|(server, _)| server.name == tool.name) {
                    Some((_, parts)) => match (parts, part) {
                        (Some(parts), Some(part)) => parts.push(part.to_owned()),
                        (parts, _) => *parts = None,
                    },
                    None => self.servers.push((tool.clone(), part.map(|part| vec![part.to_owned()]))),
                }
            }
        }
        Ok(())
    }

    /// Starts the servers, each by leave of the gate, and asks what they have.
    pub fn start(
        self,
        configured: Configured,
        admit: impl Fn(&document::Tool) -> Result<(), Failure>,
    ) -> Result<Granted, Failure> {
        let mut granted = Granted { tools: Vec::new(), doers: BTreeMap::new(), configured, host: None };
        let (offered, connection) = match self.host {
            Some(host) => (host.tools, Some(host.connection.start(host.gone))),
            None => (Vec::new(), None),
        };
        granted.host = connection;
        for tool in self.built_in {
            granted.add(tool.tool(), Doer::BuiltIn(tool));
        }
        for tool in self.commands {
            granted.configured.check(&tool)?;
            let schema = granted.configured.schema(&tool)?;
            let offered = Tool { name: tool.name.clone(), description: tool.description.clone(), schema };
            granted.add(offered, Doer::Command(Box::new(tool)));
        }
        for (tool, parts) in self.servers {
            granted.configured.check(&tool)?;
            admit(&tool)?;
            granted.add_server(&tool, parts.as_deref())?;
        }
        for tool in offered {
            granted.add(tool, Doer::Host);
        }
        Ok(granted)
    }
}

impl Granted {
    fn add(&mut self, tool: Tool, doer: Doer) {
        // Whoever comes first keeps the name: no server and no host takes the place of a built-in tool.
        if !self.doers.contains_key(&tool.name) {
            self.doers.insert(tool.name.clone(), doer);
            self.tools.push(tool);
        }
    }

    fn add_server(&mut self, tool: &document::Tool, parts: Option<&[String]>) -> Result<(), Failure> {
        let failed = |error: ToolError| {
            Failure::new(
                Exit::Unavailable,
                format!("the server {} cannot be used: {}", quoted(&tool.name), error.message),
            )
            .hint("try its command in `cofferdam run`")
        };
        let server = std::sync::Arc::new(self.configured.start_server(tool).map_err(failed)?);
        let offered = server.client.tools(tool.timeout).map_err(failed)?;
        if let Some(missing) =
            parts.unwrap_or_default().iter().find(|part| offered.iter().all(|offered| offered.name != **part))
        {
            return Err(Failure::new(
                Exit::Usage,
                format!("the server {} has no tool {}", quoted(&tool.name), quoted(missing)),
            ));
        }
        for offered in offered {
            if parts.is_some_and(|parts| !parts.contains(&offered.name)) {
                continue;
            }
            let (server, name) = (std::sync::Arc::clone(&server), offered.name.clone());
            let doer = Doer::Server { server, tool: name, asks: tool.ask };
            self.add(Tool { name: format!("{}.{}", tool.name, offered.name), ..offered }, doer);
        }
        Ok(())
    }

    pub fn doer(&self, name: &str) -> Option<&Doer> {
        self.doers.get(name)
    }

    pub fn built_in(&self, name: &str) -> Option<BuiltIn> {
        match self.doers.get(name) {
            Some(Doer::BuiltIn(tool)) => Some(*tool),
            _ => None,
        }
    }

    pub fn works_on_files(&self) -> bool {
        self.doers.values().any(|doer| matches!(doer, Doer::BuiltIn(tool) if tool.works_on_files()))
    }

    /// Calls a tool that is not built in.
    pub fn call(&self, name: &str, arguments: Map<String, Value>) -> Result<Value, ToolError> {
        match self.doers.get(name) {
            Some(Doer::Command(tool)) => self.configured.run(tool, arguments),
            Some(Doer::Server { server, tool, .. }) => server.client.call(tool, &arguments, server.timeout),
            Some(Doer::Host) => match &self.host {
                Some(host) => host.call(name, arguments, HOST_TIMEOUT),
                None => Err(ErrorKind::Failed.with("there is no host")),
            },
            Some(Doer::BuiltIn(_)) | None => Err(ErrorKind::UnknownTool.with("there is no such tool")),
        }
    }
}

fn unknown(name: &str, configured: &[document::Tool]) -> Failure {
    let known: Vec<&str> = BuiltIn::ALL
        .map(BuiltIn::name)
        .into_iter()
        .chain(configured.iter().map(|tool| tool.name.as_str()))
        .collect();
    let failure = Failure::new(Exit::Usage, format!("there is no tool {}", quoted(name)));
    match nearest(name, known.iter().copied()) {
        Some(near) => failure.hint(format!("did you mean {near}?")),
        None => failure.hint(format!("there are {}; others are [[tool]] in config.toml", known.join(", "))),
    }
}
