//! Mounts, as they are written and as they are judged.

use std::path::{Component, Path, PathBuf};

/// Where a mount comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A path of the machine, as it was typed.
    Path(PathBuf),
    /// A volume of the engine's.
    Named(String),
    /// Memory, or a new volume without a name.
    New,
}

/// A mount that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    pub source: Source,
    pub target: PathBuf,
}

/// Why a mount is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MountMistake {
    NoTarget,
    Target(PathBuf),
    Option(String),
    Kind(String),
}

impl MountMistake {
    pub fn words(&self) -> String {
        match self {
            Self::NoTarget => "it names no absolute path inside the container".to_owned(),
            Self::Target(path) => format!("it would stand over what the wiring needs at {}", path.display()),
            Self::Option(option) => format!("its option {option} is not one that is known to be harmless"),
            Self::Kind(kind) => format!("a mount of the type {kind} cannot be looked into"),
        }
    }
}

/// What our own files are at, and what they stand on.
const KEPT: &[&str] =
    &["/cofferdam", "/etc/resolv.conf", "/etc/hosts", "/etc/hostname", "/proc", "/sys", "/dev"];

const FINE: &[&str] = &[
    "",
    "ro",
    "rw",
    "readonly",
    "z",
    "Z",
    "U",
    "private",
    "rprivate",
    "slave",
    "rslave",
    "nocopy",
    "cached",
    "delegated",
    "consistent",
    "noexec",
    "nosuid",
    "nodev",
    "exec",
    "O",
    "rbind",
    "bind",
];

impl Mount {
    /// `-v`: `TARGET`, `SOURCE:TARGET` or `SOURCE:TARGET:OPTIONS`.
    pub fn volume(text: &str) -> Result<Self, MountMistake> {
        let parts: Vec<&str> = text.split(':').collect();
        let (source, target, options) = match parts.as_slice() {
            [target] => (Source::New, *target, ""),
            [source, target] => (source_of(source), *target, ""),
            [source, target, options] => (source_of(source), *target, *options),
            _ => return Err(MountMistake::NoTarget),
        };
        if let Some(option) = options.split(',').find(|option| !FINE.contains(option)) {
            return Err(MountMistake::Option(option.to_owned()));
        }
        Self::new(source, target)
    }

    /// `--tmpfs`: `TARGET` or `TARGET:OPTIONS`.
    pub fn tmpfs(text: &str) -> Result<Self, MountMistake> {
        Self::new(Source::New, text.split(':').next().unwrap_or_default())
    }

    /// `--mount`: `type=bind,source=…,target=…`.
    pub fn words(text: &str) -> Result<Self, MountMistake> {
        let (mut kind, mut source, mut target) = ("volume", None, None);
        for word in text.split(',') {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            match key {
                "type" => kind = value,
                "source" | "src" => source = Some(value),
                "target" | "destination" | "dst" => target = Some(value),
                "bind-propagation" if matches!(value, "private" | "rprivate" | "slave" | "rslave") => {}
                "readonly" | "ro" | "rw" | "relabel" | "volume-nocopy" | "tmpfs-size" | "tmpfs-mode"
                | "consistency" | "bind-nonrecursive" | "bind-recursive" | "chown" | "U" => {}
                other => return Err(MountMistake::Option(other.to_owned())),
            }
        }
        let source = match (kind, source) {
            ("bind", Some(path)) => Source::Path(PathBuf::from(path)),
            ("volume", Some(name)) => source_of(name),
            ("volume" | "tmpfs", None) => Source::New,
            _ => return Err(MountMistake::Kind(kind.to_owned())),
        };
        Self::new(source, target.unwrap_or_default())
    }

    fn new(source: Source, target: &str) -> Result<Self, MountMistake> {
        let target = inside(target).ok_or(MountMistake::NoTarget)?;
        let over = |kept: &Path| kept.starts_with(&target) || target.starts_with(kept);
        // Memory of its own in /dev/shm is what programs ask for.
        let kept = KEPT.iter().map(Path::new).find(|kept| over(kept) && target != Path::new("/dev/shm"));
        match kept {
            Some(kept) => Err(MountMistake::Target(kept.to_owned())),
            None => Ok(Self { source, target }),
        }
    }
}

fn source_of(text: &str) -> Source {
    if text.contains('/') || text.starts_with('.') || text.starts_with('~') {
        Source::Path(PathBuf::from(text))
    } else {
        Source::Named(text.to_owned())
    }
}

/// The path without detours. A link of the image's could still lead somewhere else; the engine follows it inside the
/// container's own tree, where our mounts come last.
fn inside(text: &str) -> Option<PathBuf> {
    let mut path = PathBuf::from("/");
    for part in Path::new(text).is_absolute().then(|| Path::new(text).components())? {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => {
                path.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Some(path)
}

/// Sockets and states of engines: whoever reaches one of them is root on the machine.
const ENGINES: &[&str] = &[
    "/run/docker.sock",
    "/run/docker",
    "/run/containerd",
    "/run/podman",
    "/run/crio",
    "/run/dbus",
    "/run/systemd",
    "/run/user",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/lib/containers",
    "/var/run/docker.sock",
    "/proc",
    "/sys",
    "/dev",
    "/boot",
    "/etc",
    "/root",
];

/// Whether a path of the machine, without links, holds or is something that no container may be given.
pub fn holds_an_engine(path: &Path) -> bool {
    ENGINES.iter().map(Path::new).any(|engine| engine.starts_with(path) || path.starts_with(engine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn req_e18_mounts_over_our_files_are_refused_however_they_are_written() {
        for text in [
            "/x:/cofferdam",
            "/x:/cofferdam/ca.pem:ro",
            "/x:/",
            "/x:/etc",
            "/x:/a/../cofferdam//x",
            "x:/proc/1",
        ] {
            assert!(matches!(Mount::volume(text), Err(MountMistake::Target(_))), "{text}");
        }
        for text in
            ["type=bind,src=/x,dst=/cofferdam", "type=tmpfs,destination=/etc/./resolv.conf", "target=/dev"]
        {
            assert!(matches!(Mount::words(text), Err(MountMistake::Target(_))), "{text}");
        }
        assert!(Mount::tmpfs("/cofferdam:size=1m").is_err());
        assert!(Mount::tmpfs("/dev/shm").is_ok() && Mount::tmpfs("/tmp:rw,size=64m").is_ok());
        assert!(Mount::volume("/work:/work:ro,z").is_ok());
        assert!(Mount::volume("/work:/etcetera").is_ok());
    }

    #[test]
    fn what_cannot_be_looked_into_is_refused() {
        assert_eq!(Mount::volume("/a:/b:shared"), Err(MountMistake::Option("shared".into())));
        assert_eq!(Mount::volume("/a:/b:dev"), Err(MountMistake::Option("dev".into())));
        assert_eq!(Mount::volume("/a:b"), Err(MountMistake::NoTarget));
        assert!(matches!(Mount::words("type=npipe,src=a,dst=/b"), Err(MountMistake::Kind(_))));
        assert!(matches!(
            Mount::words("type=volume,src=a,dst=/b,volume-driver=x"),
            Err(MountMistake::Option(_))
        ));
        assert_eq!(Mount::volume("name:/b").unwrap().source, Source::Named("name".into()));
        assert_eq!(Mount::volume("./a:/b").unwrap().source, Source::Path("./a".into()));
    }

    #[test]
    fn req_e18_the_sockets_of_engines_are_known_from_above_and_below() {
        for path in ["/", "/run", "/var", "/run/docker.sock", "/var/lib/docker/volumes", "/etc/shadow"] {
            assert!(holds_an_engine(Path::new(path)), "{path}");
        }
        for path in ["/srv/data", "/home/me/work", "/var/tmp/x"] {
            assert!(!holds_an_engine(Path::new(path)), "{path}");
        }
    }
}
