//! `egress doctor`: everything on the way of a request, looked at in the order in which it is needed.

mod network;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use cofferdam_control::messages::egress::{Reply, Request, Status};
use cofferdam_linux_sys::private::PrivateDir;
use serde::Serialize;

use super::client::Client;
use super::coverage::{self, Weight};
use crate::args::egress::{DoctorCheck, EgressDoctor};
use crate::daemon::named_tokens;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::proxy_parts;
use crate::secret_sources::SecretSources;
use crate::settings::Settings;
use crate::waiting;

const PATIENCE: Duration = Duration::from_secs(5);
/// A name that no rule allows and no name server knows.
const NOWHERE: &str = "doctor.invalid";

#[derive(Debug, Serialize)]
struct Finding {
    check: DoctorCheck,
    ok: bool,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// What is well, or what is not and what to do.
type Found = Result<String, (String, Option<String>)>;

pub fn doctor(args: &EgressDoctor) -> Result<Exit, Failure> {
    let wanted = |check: &DoctorCheck| {
        let chosen = args.check.is_empty() || args.check.contains(check);
        chosen && !(args.no_network && *check == DoctorCheck::Network)
    };
    let checks = <DoctorCheck as clap::ValueEnum>::value_variants().iter().copied();
    let findings: Vec<Finding> =
        waiting::during("trying the way of a request", || checks.filter(wanted).map(finding).collect());
    if args.json {
        output::json(&findings)?;
    } else {
        print(&findings)?;
    }
    Ok(if findings.iter().all(|finding| finding.ok) { Exit::Success } else { Exit::Found })
}

fn finding(check: DoctorCheck) -> Finding {
    let found = match check {
        DoctorCheck::Config => config(),
        DoctorCheck::Files => files(),
        DoctorCheck::Authority => authority(),
        DoctorCheck::Record => record(),
        DoctorCheck::Sources => sources(),
        DoctorCheck::Coverage => covered(),
        DoctorCheck::Daemon => daemon(),
        DoctorCheck::Port => port(),
        DoctorCheck::Network => network(),
    };
    match found {
        Ok(detail) => Finding { check, ok: true, detail, hint: None },
        Err((detail, hint)) => {
            Finding { check, ok: false, detail, hint: Some(hint.unwrap_or_else(|| remedy(check).to_owned())) }
        }
    }
}

/// Where to look when what failed does not say it itself.
fn remedy(check: DoctorCheck) -> &'static str {
    match check {
        DoctorCheck::Config => "cofferdam config check shows every mistake with its line",
        DoctorCheck::Files | DoctorCheck::Record => {
            "cofferdam audit verify, and the permissions of the path above"
        }
        DoctorCheck::Authority => "cofferdam egress rotate-ca makes another authority",
        DoctorCheck::Sources => "cofferdam secrets check",
        DoctorCheck::Coverage => "add a [[provider]] for it",
        DoctorCheck::Daemon | DoctorCheck::Port => "daemon.log in the state directory says more",
        DoctorCheck::Network => "check the network, or set `upstream_proxy`",
    }
}

fn print(findings: &[Finding]) -> Result<(), Failure> {
    let name = |check: DoctorCheck| {
        serde_json::to_value(check).ok().and_then(|name| Some(name.as_str()?.to_owned()))
    };
    let rows: Vec<Vec<String>> = findings
        .iter()
        .map(|finding| {
            let state = if finding.ok { "ok" } else { "FAILS" };
            vec![name(finding.check).unwrap_or_default(), state.to_owned(), finding.detail.clone()]
        })
        .collect();
    output::table(&["CHECK", "STATE", "DETAIL"], &rows)?;
    let hints = findings.iter().filter_map(|finding| finding.hint.as_ref());
    hints.into_iter().try_for_each(|hint| output::text(&format!("hint: {hint}\n")))
}

fn because(failure: &Failure) -> (String, Option<String>) {
    (failure.sentence().to_owned(), failure.hints())
}

fn config() -> Found {
    let settings = Settings::load().map_err(|failure| because(&failure))?;
    match settings.config.egress.enabled {
        true => Ok(settings.places.config_file().display().to_string()),
        false => Err(("the proxy is switched off".to_owned(), Some("cofferdam egress setup".to_owned()))),
    }
}

fn files() -> Found {
    let places = Settings::load().map_err(|failure| because(&failure))?.places;
    for directory in [&places.state, &places.runtime] {
        PrivateDir::open_or_create(directory).map_err(|error| (error.to_string(), Some(error.fix())))?;
    }
    let tokens =
        named_tokens::read(&places.state).map_err(|error| (error.to_string(), Some(error.hint())))?;
    Ok(format!("private; {} named tokens", tokens.len()))
}

fn authority() -> Found {
    let places = Settings::load().map_err(|failure| because(&failure))?.places;
    let authority = proxy_parts::authority(&places).map_err(|failure| because(&failure))?;
    let left = authority.expires().duration_since(std::time::SystemTime::now()).unwrap_or_default();
    Ok(format!("good for another {} days", left.as_secs() / 86_400))
}

fn record() -> Found {
    let settings = Settings::load().map_err(|failure| because(&failure))?;
    let recorder =
        proxy_parts::recorder(&settings.places, &settings.config).map_err(|failure| because(&failure))?;
    recorder.sync().map_err(|error| (error.to_string(), Some(error.fix())))?;
    Ok("can be written".to_owned())
}

fn sources() -> Found {
    let sources = SecretSources::find().map_err(|failure| because(&failure))?;
    let mut names = Vec::new();
    for provider in sources.kept() {
        let loaded = sources.loader.load(provider);
        // Neither the value nor what a source printed is in the error.
        loaded.map_err(|error| {
            (error.to_string(), Some(format!("cofferdam secrets check {}", provider.name)))
        })?;
        names.push(provider.name.to_string());
    }
    Ok(match names.is_empty() {
        true => "no provider has a credential".to_owned(),
        false => format!("all can be read: {}", names.join(", ")),
    })
}

fn covered() -> Found {
    let settings = Settings::load().map_err(|failure| because(&failure))?;
    let uncovered = coverage::uncovered(&settings.config);
    let names: Vec<&str> = uncovered.iter().map(|uncovered| uncovered.variable.as_str()).collect();
    match uncovered.iter().any(|uncovered| uncovered.weight == Weight::Refuses) {
        true => {
            Err((format!("not covered: {}", names.join(", ")), Some("add a [[provider]] for it".to_owned())))
        }
        false if names.is_empty() => Ok("every credential that is set here is covered".to_owned()),
        false => Ok(format!("not covered, which is allowed: {}", names.join(", "))),
    }
}

fn status() -> Result<Box<Status>, (String, Option<String>)> {
    let settings = Settings::load().map_err(|failure| because(&failure))?;
    let client = Client::required(&settings.places).map_err(|failure| because(&failure))?;
    match client.ask(Request::Status).map_err(|failure| because(&failure))? {
        Reply::Status(status) => Ok(status),
        _ => Err(("it gave another answer".to_owned(), Some("cofferdam egress restart".to_owned()))),
    }
}

fn daemon() -> Found {
    let status = status()?;
    let restart = || Some("cofferdam egress restart".to_owned());
    if status.version != env!("CARGO_PKG_VERSION") {
        return Err((format!("it is of version {}", status.version), restart()));
    }
    match (&status.serving, status.config_mistakes.first()) {
        (None, _) => Err(("its worker is being started again".to_owned(), Some("see daemon.log".to_owned()))),
        (Some(serving), _) if !serving.recording => Err(("it cannot write the record".to_owned(), restart())),
        (Some(_), Some(mistake)) => {
            Err((format!("it goes on without {mistake}"), Some("cofferdam config check".to_owned())))
        }
        (Some(_), None) => Ok(format!("pid {}, {} restarts", status.pid, status.restarts)),
    }
}

/// A request that must be refused, refused by the proxy itself: it listens, it reads, it decides, and it records.
fn port() -> Found {
    let listen = status()?.listen;
    let answer = refused_request(listen).map_err(|error| {
        (format!("{listen} does not answer: {error}"), Some("cofferdam egress restart".to_owned()))
    })?;
    match answer.contains("cofferdam-reason: host-not-allowed") {
        true => Ok(format!("{listen} answers, and refuses what is not allowed")),
        false => Err((
            format!("something else answers on {listen}"),
            Some("choose another `listen` in the section [egress]".to_owned()),
        )),
    }
}

fn refused_request(listen: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&listen, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET http://{NOWHERE}/ HTTP/1.1\r\nhost: {NOWHERE}\r\nconnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(16 << 10).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Whether a host of each provider in use is reached from here, through the proxy. No credential is sent.
fn network() -> Found {
    let settings = Settings::load().map_err(|failure| because(&failure))?;
    let sources = SecretSources::find().map_err(|failure| because(&failure))?;
    let listen = status()?.listen;
    let authority = proxy_parts::authority(&settings.places).map_err(|failure| because(&failure))?;
    let mut reached = Vec::new();
    for (host, port) in sources.kept().filter_map(network::host_of) {
        network::reach(listen, &authority, (host, port))
            .map_err(|(why, hint)| (format!("{host} cannot be reached: {why}"), Some(hint)))?;
        reached.push(host.to_owned());
    }
    Ok(match reached.is_empty() {
        true => "no host to try".to_owned(),
        false => format!("reached through the proxy: {}", reached.join(", ")),
    })
}
