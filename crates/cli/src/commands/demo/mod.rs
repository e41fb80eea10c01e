//! `cofferdam demo`: the main job shown on a machine with no keys and no internet.
//!
//! It runs the program as a person would, with `run`, in a home of its own. Whether a try worked is decided out here,
//! by looking for the key in what the try brought back, and at the host for what arrived there.

mod host;
mod inside;
mod shown;
mod tls;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cofferdam_linux_sys::child::{ChildCommand, Keep, Limits, Program, run_captured};
use cofferdam_policy::environment::{self, Fixed, HostEnvironment, ProviderVariables, Request, Trust};
use cofferdam_policy::registry::Registry;
use serde::{Deserialize, Serialize};

use crate::args::demo::DemoArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::waiting;
use host::Host;

/// A name that leads nowhere but to the host of the demo.
const NAME: &str = "api.demo.test";
const VARIABLE: &str = "DEMO_API_KEY";
/// Far more than it takes.
const TIMEOUT: Duration = Duration::from_secs(60);
const MOST_OUTPUT: usize = 4 << 20;

/// What the command inside is told, which is what any command could find out.
#[derive(Debug, Serialize, Deserialize)]
struct Facts {
    /// The port of the host on this machine's loopback.
    port: u16,
    /// Where the configuration and the authority's key are.
    state: PathBuf,
}

/// One try, as the command inside tells it.
#[derive(Debug, Serialize, Deserialize)]
struct Try {
    name: String,
    /// In a few words.
    happened: String,
    /// All that it brought back.
    got: String,
    /// It reached something that it must not reach.
    reached: bool,
}

/// What became of it.
#[derive(Debug, Serialize)]
struct Outcome {
    host_got_the_key: bool,
    command_got_an_answer: bool,
    tries: Vec<Judged>,
}

#[derive(Debug, Serialize)]
struct Judged {
    name: String,
    happened: String,
    worked: bool,
}

impl Outcome {
    fn is_good(&self) -> bool {
        self.host_got_the_key && self.command_got_an_answer && self.tries.iter().all(|one| !one.worked)
    }
}

pub fn run(args: &DemoArgs) -> Result<Exit, Failure> {
    if let Some(facts) = &args.inside {
        return inside::run(facts);
    }
    let failed = |error: io::Error| {
        Failure::new(Exit::NotStarted, format!("the demo cannot be set up: {error}"))
            .hint("cofferdam doctor says what is missing on this machine")
    };
    let home = Home::make().map_err(failed)?;
    let key = format!("sk-demo-{}", random().map_err(failed)?);
    let host = Host::start(NAME, &key).map_err(failed)?;
    home.write("cofferdam/config.toml", &configuration(host.port)).map_err(failed)?;
    home.write("cofferdam/host.pem", &host.authority).map_err(failed)?;
    let facts = Facts { port: host.port, state: home.0.join("cofferdam/state") };
    let facts = serde_json::to_string(&facts).map_err(|error| failed(error.into()))?;
    home.write("project/facts.json", &facts).map_err(failed)?;
    let output = waiting::during("trying to steal a key", || run_command(&home, &key)).map_err(failed)?;
    let outcome = judge(&output, &key, &host)?;
    shown::show(&outcome, args.json)?;
    Ok(if outcome.is_good() { Exit::Success } else { Exit::Found })
}

/// The same program, as somebody would start an agent with it.
fn run_command(home: &Home, key: &str) -> io::Result<String> {
    let program = std::env::current_exe()?;
    let variables = [
        ("HOME", home.0.as_os_str().to_owned()),
        ("COFFERDAM_HOME", home.0.join("cofferdam").into_os_string()),
        (VARIABLE, OsString::from(key)),
    ];
    let fixed: Vec<Fixed> = variables
        .into_iter()
        .map(|(name, value)| Fixed::new(name, value).map_err(io::Error::other))
        .collect::<io::Result<_>>()?;
    let registry = Registry::new(Vec::new());
    let host = HostEnvironment::new(std::env::vars_os());
    let request = Request { fixed: &fixed, ..Request::plain(Trust::Helper) };
    let environment = environment::build(&host, &request, &ProviderVariables::new(&registry)).environment;
    let project = home.0.join("project");
    let shown = program.as_os_str();
    let words = ["run", "--no-tty", "--timeout", "50s", "--read"].map(OsString::from);
    let words = words.into_iter().chain([shown.to_owned(), "--".into(), shown.to_owned()]);
    let words = words.chain(["demo", "--inside", "facts.json"].map(OsString::from));
    let command = ChildCommand::new(Program::new(shown).map_err(io::Error::other)?, &environment)
        .args(words)
        .directory(project);
    let keep = Keep::UpTo(MOST_OUTPUT);
    let limits = Limits { timeout: TIMEOUT, stdout: keep, stderr: Keep::UpTo(MOST_OUTPUT) };
    let captured = run_captured(command, limits).map_err(io::Error::other)?;
    let told = String::from_utf8_lossy(&captured.stderr.bytes).into_owned();
    match captured.status.success() {
        true => Ok(String::from_utf8_lossy(&captured.stdout.bytes).into_owned()),
        false => Err(io::Error::other(format!("the command in the sandbox failed: {}", told.trim()))),
    }
}

/// The first line is the answer to the honest request, every other one a try.
fn judge(output: &str, key: &str, host: &Host) -> Result<Outcome, Failure> {
    let strange =
        || Failure::new(Exit::NotStarted, "the command in the sandbox said what nobody understands");
    let mut lines = output.lines();
    let answer = lines.next().ok_or_else(strange)?;
    let tries: Vec<Try> = lines.map(serde_json::from_str).collect::<Result<_, _>>().map_err(|_| strange())?;
    if tries.is_empty() {
        return Err(strange());
    }
    let judged = |one: Try| {
        let stolen = one.got.contains(key);
        let happened = if stolen { "the key was in what came back".to_owned() } else { one.happened };
        Judged { worked: stolen || one.reached, name: one.name, happened }
    };
    let mut tries: Vec<Judged> = tries.into_iter().map(judged).collect();
    // What the command says of itself is one thing, what arrived at the host another.
    let strangers = host.strange_requests();
    if !strangers.is_empty() {
        let happened = format!("the host was asked for {}", strangers.join(", "));
        tries.push(Judged { name: "anything past the rules".to_owned(), happened, worked: true });
    }
    Ok(Outcome { host_got_the_key: host.got_the_key(), command_got_an_answer: answer == host::ANSWER, tries })
}

fn configuration(port: u16) -> String {
    format!(
        r#"[egress]
upstream_ca_files = ["host.pem"]
[egress.resolve]
"{NAME}:443" = "127.0.0.1:{port}"
[[provider]]
name = "demo"
hosts = ["{NAME}"]
variables = ["{VARIABLE}"]
scheme = {{ header = "Authorization", template = "Bearer {{}}" }}
"#
    )
}

fn random() -> io::Result<String> {
    let mut bytes = [0; 16];
    io::Read::read_exact(&mut fs::File::open("/dev/urandom")?, &mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A home that is gone when it is dropped.
struct Home(PathBuf);

impl Home {
    fn make() -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        // Not in /tmp, where a sandbox has a directory of its own.
        let directory = Path::new("/var/tmp").join(format!("cofferdam-demo-{}", random()?));
        let mut builder = fs::DirBuilder::new();
        builder.mode(0o700).create(&directory)?;
        let home = Self(directory);
        for below in ["project", "cofferdam"] {
            builder.create(home.0.join(below))?;
        }
        Ok(home)
    }

    fn write(&self, relative: &str, contents: &str) -> io::Result<()> {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;
        let path = self.0.join(relative);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(contents.as_bytes())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(tries: &[Try]) -> Outcome {
        let host = Host::start(NAME, "the-key").expect("a host");
        let lines = tries.iter().map(|one| serde_json::to_string(one).expect("plain data"));
        let output: Vec<String> = std::iter::once(host::ANSWER.to_owned()).chain(lines).collect();
        judge(&output.join("\n"), "the-key", &host).expect("tries")
    }

    fn one(got: &str, reached: bool) -> Try {
        Try { name: "a try".to_owned(), happened: "nothing".to_owned(), got: got.to_owned(), reached }
    }

    #[test]
    fn a_key_that_comes_back_or_a_place_that_is_reached_counts_as_lost() {
        let worked = |tries: &[Try]| judged(tries).tries.iter().filter(|one| one.worked).count();
        assert_eq!(worked(&[one("", false), one("a token", false)]), 0);
        assert_eq!(worked(&[one("", false), one("it is the-key", false), one("", true)]), 2);
        // No try worked, and neither did the honest request: that is no success either.
        assert!(!judged(&[one("", false)]).is_good());
    }
}
