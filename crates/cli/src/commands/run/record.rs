//! What is kept of a run: what was started, in which walls, and how it ended.

use std::time::Instant;

use cofferdam_audit::event::{EndCause, Layer, NetworkMode, RunWay, SandboxEnded, SandboxStarted};
use cofferdam_audit::{CommandText, Event, Label, Recorder};
use cofferdam_sandbox::launch::Exceeded;
use cofferdam_sandbox::messages::Ended;
use cofferdam_sandbox::plan::Network;
use cofferdam_sandbox::report::{LayerName, Report};
use cofferdam_sandbox::request::Profile;

use super::supervise::How;
use crate::admission::Admitted;
use crate::exit::Exit;
use crate::failure::Failure;

/// One run in the record.
pub struct Entry<'a> {
    admitted: &'a Admitted,
    profile: Profile,
    network: Network,
    began: Instant,
}

impl<'a> Entry<'a> {
    pub fn new(admitted: &'a Admitted, profile: Profile, network: Network) -> Self {
        Self { admitted, profile, network, began: Instant::now() }
    }

    /// The command runs from now on; if that cannot be written down, it must not.
    pub fn started(&self, report: &Report) -> Result<(), Failure> {
        let command = CommandText::already_redacted(self.admitted.redacted());
        self.write(&started(report, (self.profile, self.network), (RunWay::Command, command)))
    }

    pub fn ended(&self, how: How) -> Result<(), Failure> {
        let milliseconds = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.write(&SandboxEnded { cause: cause(how), milliseconds }.into())
    }

    fn write(&self, event: &Event) -> Result<(), Failure> {
        write(self.admitted.recorder(), &Label::new("run"), event)
    }
}

pub fn write(recorder: &Recorder, session: &Label, event: &Event) -> Result<(), Failure> {
    recorder.record(Some(session), event).map(drop).map_err(|error| {
        Failure::new(Exit::Unavailable, format!("the run cannot be recorded: {error}")).hint(error.fix())
    })
}

/// What is running from now on, in which walls, and which of them are missing.
pub fn started(
    report: &Report,
    (profile, network): (Profile, Network),
    (way, command): (RunWay, CommandText),
) -> Event {
    let layers = |enforced: bool| {
        let named = report.layers.iter().filter(move |layer| layer.enforced == enforced);
        named.flat_map(|layer| parts(layer.name)).copied().collect()
    };
    let profile = match profile {
        Profile::Strict => "strict",
        Profile::Workspace => "workspace",
        Profile::Home => "home",
    };
    let network = match network {
        Network::None => NetworkMode::None,
        Network::Proxy => NetworkMode::Proxy,
        Network::Host => NetworkMode::Host,
    };
    let profile = Label::new(profile);
    let event =
        SandboxStarted { command, profile, way, network, layers: layers(true), missing: layers(false) };
    event.into()
}

fn cause(how: How) -> EndCause {
    let narrow = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
    match how {
        How::Ended(Ended::Exited(status)) => EndCause::Exited { status: narrow(status) },
        How::Ended(Ended::Killed(signal)) => EndCause::Signalled { signal: narrow(signal) },
        How::NotStarted(_) => EndCause::NotStarted { layer: None },
        How::Exceeded(exceeded, _) => match exceeded {
            Exceeded::Memory => EndCause::MemoryLimit,
            Exceeded::Processes => EndCause::ProcessLimit,
        },
        How::TimedOut => EndCause::TimedOut,
        How::Lost => EndCause::Killed,
    }
}

fn parts(layer: LayerName) -> &'static [Layer] {
    match layer {
        LayerName::Namespaces => &[
            Layer::UserNamespace,
            Layer::PidNamespace,
            Layer::IpcNamespace,
            Layer::UtsNamespace,
            Layer::CgroupNamespace,
        ],
        LayerName::Files => &[Layer::MountNamespace],
        LayerName::Network => &[Layer::NetworkNamespace],
        LayerName::Capabilities => &[Layer::Capabilities, Layer::NoNewPrivileges],
        LayerName::Landlock => &[Layer::Landlock],
        LayerName::Seccomp => &[Layer::Seccomp],
        LayerName::Keyring | LayerName::LateSecrets => &[],
        LayerName::Limits => &[Layer::Limits],
    }
}
