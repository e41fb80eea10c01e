//! A proxy in this process, for one sandbox.

use std::io;
use std::sync::Arc;

use cofferdam_audit::Recorder;
use cofferdam_control::messages::egress::{Opened, Opening, Socket};
use cofferdam_egress::service::Service;
use cofferdam_egress::{ClientId, Watcher};
use cofferdam_policy::document::Config;
use cofferdam_secrets::source::HostVariables;
use std::os::fd::OwnedFd;
use tokio::runtime::{Builder, Runtime};

use crate::clientele;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::places::Places;
use crate::proxy_parts::{self, ProxyParts};

/// The fields in the order in which they end.
pub struct Embedded {
    service: Service,
    id: ClientId,
    _runtime: Runtime,
}

/// What it is made from.
pub struct From<'a> {
    pub places: &'a Places,
    pub config: &'a Config,
    pub host: HostVariables,
    pub recorder: Arc<Recorder>,
    pub watcher: Arc<dyn Watcher>,
}

impl Embedded {
    /// What cannot be had is a reason not to start.
    pub fn open(from: From<'_>, opening: Opening) -> Result<(Self, Opened), Failure> {
        let not_started = |why: String| Failure::new(Exit::NotStarted, why);
        let authority = proxy_parts::authority(from.places).map_err(Failure::of_a_start)?;
        let registry = proxy_parts::registry(from.config);
        let opening = clientele::understood(opening, &registry, Some(from.watcher)).map_err(not_started)?;
        let parts = ProxyParts::of(from.places, from.config.clone(), from.host)?;
        let runtime = runtime()?;
        let entered = runtime.enter();
        let (proxy, base) =
            parts.into_proxy(authority.clone(), from.recorder).map_err(Failure::of_a_start)?;
        drop(entered);
        let service = Service::new(proxy, base, runtime.handle().clone());
        let opened = service.open(opening).map_err(|error| not_started(error.to_string()))?;
        let handed = clientele::handed(&service, &opened, authority.certificate_pem());
        Ok((Self { service, id: opened.id, _runtime: runtime }, handed))
    }

    pub fn serve(&self, doors: impl IntoIterator<Item = (Socket, OwnedFd)>) -> io::Result<()> {
        self.service.serve(self.id, clientele::listeners(doors))
    }

    /// The sandbox is gone.
    pub fn close(&self) {
        self.service.close(self.id);
    }
}

/// For names alone; bytes are moved by threads of the proxy's own. One that blocks no signal of its own: the launcher has
/// taken them over before.
fn runtime() -> Result<Runtime, Failure> {
    Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("egress")
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::NotStarted, format!("no threads for the proxy: {error}")))
}
