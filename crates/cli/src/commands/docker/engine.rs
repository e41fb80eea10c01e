//! The engine that is called: which one, with which environment, and what it says about an image.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use cofferdam_docker::options::EngineKind;
use cofferdam_docker::plan::Image;
use cofferdam_linux_sys::child::{ChildCommand, Keep, Limits, Program, run_captured};
use cofferdam_linux_sys::exec;
use cofferdam_policy::environment::{
    self, ChildEnvironment, HostEnvironment, Origin, ProviderVariables, Request, Trust, Wish,
};
use cofferdam_policy::registry::Registry;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::args::docker::{EngineArg, EngineArgs};
use crate::exit::Exit;
use crate::failure::Failure;

/// What the engines' own programs are told by, besides what every tool gets.
const VARIABLES: &[&str] = &[
    "CONTAINER_HOST",
    "CONTAINERS_CONF",
    "CONTAINERS_STORAGE_CONF",
    "DOCKER_CERT_PATH",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_HOST",
    "DOCKER_TLS_VERIFY",
    "XDG_RUNTIME_DIR",
];

/// An engine that answers does so long before this.
const PATIENCE: Duration = Duration::from_secs(60);
const LONGEST: usize = 4 << 20;

pub struct Engine {
    pub kind: EngineKind,
    program: PathBuf,
    options: Vec<String>,
    environment: ChildEnvironment,
}

impl Engine {
    /// The one that was named, or the first of docker and podman that is installed.
    pub fn find(args: &EngineArgs) -> Result<Self, Failure> {
        let environment = environment();
        let all = [(EngineKind::Docker, "docker"), (EngineKind::Podman, "podman")];
        let wanted = |kind: EngineKind| match args.engine {
            None => true,
            Some(EngineArg::Docker) => kind == EngineKind::Docker,
            Some(EngineArg::Podman) => kind == EngineKind::Podman,
        };
        for (kind, name) in all.into_iter().filter(|(kind, _)| wanted(*kind)) {
            let found = Program::new(name).and_then(|program| program.resolve(&environment));
            if let Ok(program) = found {
                return Ok(Self { kind, program, options: args.engine_option.clone(), environment });
            }
        }
        Err(Failure::new(Exit::Unavailable, "there is no docker and no podman on the path")
            .hint("install one of them, or name the one that you have with --engine"))
    }

    pub fn name(&self) -> &'static str {
        match self.kind {
            EngineKind::Docker => "docker",
            EngineKind::Podman => "podman",
        }
    }

    /// The words before the engine's own command.
    pub fn words(&self) -> impl Iterator<Item = String> {
        [self.name().to_owned()].into_iter().chain(self.options.clone())
    }

    pub fn image(&self, name: &str) -> Result<Image, Failure> {
        let inspected: ImageConfig =
            self.inspect(&["image", "inspect", "--format", "{{json .Config}}", "--", name])?;
        Ok(Image {
            entrypoint: inspected.entrypoint.unwrap_or_default(),
            command: inspected.cmd.unwrap_or_default(),
            user: inspected.user,
            environment: inspected.env.unwrap_or_default(),
        })
    }

    /// The bridge of one of the engine's networks, by the name of its interface.
    pub fn bridge(&self, network: Option<&str>) -> Result<String, Failure> {
        let usual = match self.kind {
            EngineKind::Docker => "bridge",
            EngineKind::Podman => "podman",
        };
        let name = match network {
            None | Some("bridge" | "default") => usual,
            Some(name) => name,
        };
        let networks: Vec<Network> = self.inspect(&["network", "inspect", name])?;
        let network = networks.first().ok_or_else(|| failed(&format!("there is no network {name}")))?;
        if network.driver != "bridge" {
            return Err(failed(&format!("the network {name} is no bridge; its kind is {}", network.driver)));
        }
        let named =
            network.options.as_ref().and_then(|options| options.get("com.docker.network.bridge.name"));
        Ok(match (&network.interface, named) {
            (Some(interface), _) => interface.clone(),
            (None, Some(named)) => named.clone(),
            (None, None) => format!("br-{}", network.id.get(..12).unwrap_or(&network.id)),
        })
    }

    /// What the engine says about something, as JSON.
    pub fn inspect<T: DeserializeOwned>(&self, words: &[&str]) -> Result<T, Failure> {
        let program = Program::new(&self.program).map_err(|error| failed(&error.to_string()))?;
        let words = self.options.iter().map(String::as_str).chain(words.iter().copied());
        let command = ChildCommand::new(program, &self.environment).args(words);
        let limits = Limits { timeout: PATIENCE, stdout: Keep::UpTo(LONGEST), stderr: Keep::UpTo(4096) };
        let captured = run_captured(command, limits).map_err(|error| failed(&error.to_string()))?;
        if !captured.status.success() {
            let told = String::from_utf8_lossy(&captured.stderr.bytes).trim().to_owned();
            return Err(failed(&crate::output::inert(told.as_ref())));
        }
        serde_json::from_slice(&captured.stdout.bytes)
            .map_err(|_| failed(&format!("{} answered something else than JSON", self.name())))
    }

    /// Becomes the engine's program, so that terminal, signals and status are its own.
    pub fn replace_by(&self, words: &[String]) -> Failure {
        let all: Vec<String> = self.words().chain(words.iter().cloned()).collect();
        let image = exec::Image::new(&all, &self.environment);
        let path = CString::new(self.program.as_os_str().as_bytes());
        match (image, path) {
            (Ok(image), Ok(path)) => {
                let error = exec::exec(&path, &image);
                failed(&format!("{} could not be started: {error}", self.program.display()))
            }
            _ => failed("a word holds a zero byte"),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ImageConfig {
    #[serde(default)]
    entrypoint: Option<Vec<String>>,
    #[serde(default)]
    cmd: Option<Vec<String>>,
    #[serde(default)]
    user: String,
    #[serde(default)]
    env: Option<Vec<String>>,
}

/// In the words of both engines.
#[derive(Deserialize)]
struct Network {
    #[serde(alias = "Driver")]
    driver: String,
    #[serde(alias = "Id", default)]
    id: String,
    #[serde(rename = "Options", default)]
    options: Option<BTreeMap<String, String>>,
    #[serde(rename = "network_interface", default)]
    interface: Option<String>,
}

fn environment() -> ChildEnvironment {
    let host = HostEnvironment::new(std::env::vars_os());
    let set = VARIABLES.iter().filter(|name| host.get(name).is_some());
    let wishes: Vec<Wish> = set.filter_map(|name| Wish::pass(*name, Origin::CommandLine).ok()).collect();
    let request = Request { wishes: &wishes, ..Request::plain(Trust::Tool) };
    environment::build(&host, &request, &ProviderVariables::new(&Registry::new(Vec::new()))).environment
}

fn failed(why: &str) -> Failure {
    Failure::new(Exit::NotStarted, why.to_owned())
        .hint("the engine must be running and the image must be here: pull it first, or name the other with --engine")
}
