//! The call of an engine, as data: `docker args` prints it, `docker run` makes it.

use std::net::SocketAddrV4;
use std::path::Path;

use crate::options::{EngineKind, Judged, LABEL, Mount, Typed};

/// Where our files are, inside.
pub const INSIDE: &str = "/cofferdam";
/// The proxy's port on the container's loopback; the door makes it.
pub const PROXY: &str = "127.0.0.1:9191";

/// Names of the files in the directory that is mounted in.
pub const BUNDLE: &str = "ca.pem";
pub const JAVA_STORE: &str = "ca.jks";
pub const DOOR: &str = "door";
/// What the door is called in a container on a bridge.
pub const BRIDGE_DOOR: &str = "bridge-door";
pub const SOCKET: &str = "door.sock";
pub const RESOLVER: &str = "resolv.conf";

/// The resolver of the container is its own.
pub const RESOLVER_TEXT: &str = "nameserver 127.0.0.1\noptions timeout:2 attempts:1\n";

/// Changes when the walls of a container do, so that one with the old ones is not used again.
pub const WALLS_VERSION: &str = "3";

pub const USUAL_MEMORY: &str = "4g";
pub const USUAL_PROCESSES: &str = "512";
/// Memory in the place of what cannot be written.
pub const TMP: &str = "/tmp:rw,nosuid,nodev,mode=1777";
/// From which port on anybody may listen.
pub const PORTS_FOR_ALL: &str = "net.ipv4.ip_unprivileged_port_start";

/// What an image says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image {
    pub entrypoint: Vec<String>,
    pub command: Vec<String>,
    pub user: String,
    /// `NAME=value`.
    pub environment: Vec<String>,
}

/// How a container gets to the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It has a loopback, and the proxy is on it.
    Sealed,
    /// It has a network of its engine's, and the proxy is at the bridge's own address.
    Bridge { proxy: SocketAddrV4 },
}

impl Way {
    pub fn name(self) -> &'static str {
        match self {
            Self::Sealed => "sealed",
            Self::Bridge { .. } => "bridge",
        }
    }

    /// Where the container's runtimes look for the proxy.
    pub fn proxy(self) -> String {
        match self {
            Self::Sealed => PROXY.to_owned(),
            Self::Bridge { proxy } => proxy.to_string(),
        }
    }

    /// The first program of the container.
    pub fn door(self) -> &'static str {
        match self {
            Self::Sealed => DOOR,
            Self::Bridge { .. } => BRIDGE_DOOR,
        }
    }
}

/// What the door becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behind {
    Command,
    /// Nothing: it only looks whether the way out is open.
    Nothing,
}

/// Our side of a container.
#[derive(Debug, Clone, Copy)]
pub struct Outside<'a> {
    /// The directory that is mounted in.
    pub directory: &'a Path,
    /// The variables, for the engine alone; nothing inside has to read the file.
    pub variables: &'a Path,
    pub name: &'a str,
    pub posture: &'a str,
    pub way: Way,
    pub behind: Behind,
}

/// The label that says which settings a container was made with.
pub fn posture_label() -> String {
    format!("{LABEL}posture")
}

/// The label that names a container of ours.
pub fn name_label() -> String {
    format!("{LABEL}container")
}

/// The words behind the engine's program.
pub fn words(
    engine: EngineKind,
    (typed, judged): (&Typed, &Judged),
    image: &Image,
    outside: &Outside<'_>,
) -> Vec<String> {
    let mut words = vec!["run".to_owned()];
    words.extend(judged.passed.iter().cloned());
    // Ours come last: of two that contradict each other the engines take the later one.
    words.extend(walls(engine, judged, outside.way));
    words.extend(wiring(outside));
    words.push(format!("--entrypoint={INSIDE}/{}", outside.way.door()));
    words.push(typed.image.clone());
    words.extend(behind_the_door(typed, judged, image, outside));
    words
}

/// The door's own words, and the command that it becomes.
pub fn behind_the_door(typed: &Typed, judged: &Judged, image: &Image, outside: &Outside<'_>) -> Vec<String> {
    let mut words = Vec::new();
    if let Way::Bridge { proxy } = outside.way {
        words.push(proxy.to_string());
    }
    if outside.behind == Behind::Command {
        words.extend(command(typed, judged, image));
    }
    words
}

/// What a container may not do, unless it was asked for and harmless.
fn walls(engine: EngineKind, judged: &Judged, way: Way) -> Vec<String> {
    let mut words = Vec::new();
    if way == Way::Sealed {
        words.push("--network=none".to_owned());
        // The door makes the resolver's port without being root.
        words.push(format!("--sysctl={PORTS_FOR_ALL}=0"));
    }
    words.extend([
        "--cap-drop=ALL".to_owned(),
        "--security-opt=no-new-privileges".to_owned(),
        format!("--memory={}", judged.memory.as_deref().unwrap_or(USUAL_MEMORY)),
        format!("--pids-limit={}", judged.processes.as_deref().unwrap_or(USUAL_PROCESSES)),
    ]);
    if !judged.writable_root {
        words.push("--read-only=true".to_owned());
        if !judged.mounts.iter().any(|mount: &Mount| mount.target == Path::new("/tmp")) {
            words.push(format!("--tmpfs={TMP}"));
        }
    }
    if engine == EngineKind::Podman {
        words.push("--http-proxy=false".to_owned());
    }
    if let Some(user) = &judged.user {
        words.push(format!("--user={user}"));
    }
    words
}

fn wiring(outside: &Outside<'_>) -> Vec<String> {
    let mut words: Vec<String> =
        volumes(outside).into_iter().map(|volume| format!("--volume={volume}")).collect();
    words.push(format!("--env-file={}", outside.variables.display()));
    words.push(format!("--label={}={}", name_label(), outside.name));
    words.push(format!("--label={}={}", posture_label(), outside.posture));
    words
}

/// What of ours is mounted in.
pub fn volumes(outside: &Outside<'_>) -> Vec<String> {
    let directory = outside.directory.display();
    let mut volumes = vec![format!("{directory}:{INSIDE}:ro")];
    if outside.way == Way::Sealed {
        volumes.push(format!("{directory}/{RESOLVER}:/etc/resolv.conf:ro"));
    }
    volumes
}

/// What the door becomes. An entrypoint that was typed leaves the image's own command out, as the engines do.
fn command(typed: &Typed, judged: &Judged, image: &Image) -> Vec<String> {
    let (entrypoint, usual) = match judged.entrypoint.as_deref() {
        Some("") => (Vec::new(), image.command.clone()),
        Some(typed) => (vec![typed.to_owned()], Vec::new()),
        None => (image.entrypoint.clone(), image.command.clone()),
    };
    let rest = if typed.command.is_empty() { usual } else { typed.command.clone() };
    entrypoint.into_iter().chain(rest).collect()
}

/// A word as a shell would have to be given it.
pub fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=./:,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Reach, judge, parse};

    fn planned(line: &str, image: &Image) -> Vec<String> {
        planned_on(Way::Sealed, line, image)
    }

    fn planned_on(way: Way, line: &str, image: &Image) -> Vec<String> {
        let typed: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let typed = parse(EngineKind::Docker, &typed).unwrap();
        let outside = Outside {
            directory: Path::new("/run/c"),
            variables: Path::new("/run/c.env"),
            name: "n",
            posture: "p",
            way,
            behind: Behind::Command,
        };
        words(EngineKind::Docker, (&typed, &judge(&typed, Reach::of(way))), image, &outside)
    }

    fn image() -> Image {
        Image { entrypoint: vec!["/init".into()], command: vec!["serve".into()], ..Image::default() }
    }

    #[test]
    fn the_door_becomes_what_the_engine_would_have_started() {
        let behind = |line: &str| {
            let words = planned(line, &image());
            let at = words.iter().position(|word| word == "image").unwrap();
            words[at + 1..].join(" ")
        };
        assert_eq!(behind("image"), "/init serve");
        assert_eq!(behind("image other -x"), "/init other -x");
        assert_eq!(behind("--entrypoint sh image"), "sh");
        assert_eq!(behind("--entrypoint sh image -c x"), "sh -c x");
        assert_eq!(behind("--entrypoint= image"), "serve");
    }

    #[test]
    fn walls_are_there_without_being_asked_for_and_come_last() {
        let words = planned("--cap-drop NET_RAW --rm -m 1g image", &image()).join(" ");
        for wall in
            ["--network=none", "--cap-drop=ALL", "--read-only=true", "--security-opt=no-new-privileges"]
        {
            assert!(words.contains(wall), "{words}");
        }
        assert!(words.contains("--memory=1g") && words.contains("--pids-limit=512"), "{words}");
        assert!(words.starts_with("run --cap-drop=NET_RAW --rm=true --network=none"), "{words}");
        let open = planned("--read-only=false image", &image()).join(" ");
        assert!(!open.contains("--read-only") && !open.contains("tmpfs"), "{open}");
        assert!(!planned("--tmpfs /tmp image", &image()).join(" ").contains("mode=1777"));
    }

    #[test]
    fn on_a_bridge_the_network_is_the_engines_and_the_other_walls_stand() {
        let way = Way::Bridge { proxy: "172.17.0.1:4000".parse().unwrap() };
        let words = planned_on(way, "--network mine -p 80:80 image", &image()).join(" ");
        assert!(words.starts_with("run --network=mine --publish=80:80 --cap-drop=ALL"), "{words}");
        assert!(!words.contains("network=none") && !words.contains("resolv.conf"), "{words}");
        assert!(
            words.ends_with("--entrypoint=/cofferdam/bridge-door image 172.17.0.1:4000 /init serve"),
            "{words}"
        );
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("--a=b"), "--a=b");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
