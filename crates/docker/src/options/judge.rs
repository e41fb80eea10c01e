//! What the options come to: what is passed on, what is set aside for the wiring, and what speaks against it.

use super::mounts::{Mount, MountMistake};
use super::parse::{Given, Typed};
use super::table::{Limit, Meaning, Why};

/// A variable from `-e`: with a value, or the caller's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub value: Option<String>,
}

/// Something that would undo the wiring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objection {
    Option {
        option: &'static str,
        why: Why,
    },
    SecurityOption(String),
    Ipc(String),
    Label(String),
    Mount {
        text: String,
        mistake: MountMistake,
    },
    /// Root was asked for.
    Root,
}

impl Objection {
    pub fn sentence(&self) -> String {
        match self {
            Self::Option { option, why } => format!("--{option} is refused: {}", why.words()),
            Self::SecurityOption(value) => {
                format!(
                    "--security-opt {value} is refused: only no-new-privileges changes nothing for the worse"
                )
            }
            Self::Ipc(value) => format!("--ipc {value} is refused: {}", Why::Namespace.words()),
            Self::Label(name) => format!("the label {name} is Cofferdam's own"),
            Self::Mount { text, mistake } => format!("the mount {text} is refused: {}", mistake.words()),
            Self::Root => "--user root is refused: the image has a user of its own".to_owned(),
        }
    }
}

/// What a container's network may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Its loopback alone.
    Loopback,
    /// A network of its engine's.
    EngineNetwork,
}

impl Reach {
    pub fn of(way: crate::plan::Way) -> Self {
        match way {
            crate::plan::Way::Sealed => Self::Loopback,
            crate::plan::Way::Bridge { .. } => Self::EngineNetwork,
        }
    }

    /// Whether an option is about a network that the container has.
    fn permits(self, given: &Given, why: Why) -> bool {
        let of_network = matches!(given.option.long, "network" | "net");
        let others = given.value.split([':', ',']).next().unwrap_or_default();
        let engines =
            !of_network || !matches!(others, "" | "host" | "none" | "container" | "ns" | "private" | "pod");
        self == Self::EngineNetwork && engines && matches!(why, Why::Network | Why::Names)
    }
}

/// The options, sorted.
#[derive(Debug, Default)]
pub struct Judged {
    /// To be passed on as they are.
    pub passed: Vec<String>,
    pub variables: Vec<Variable>,
    pub mounts: Vec<Mount>,
    pub entrypoint: Option<String>,
    /// The engine's network that was named.
    pub network: Option<String>,
    pub user: Option<String>,
    /// None: ours.
    pub memory: Option<String>,
    pub processes: Option<String>,
    pub writable_root: bool,
    pub objections: Vec<Objection>,
}

/// Our labels begin like this.
pub const LABEL: &str = "io.cofferdam.";

pub fn judge(typed: &Typed, reach: Reach) -> Judged {
    let mut judged = Judged::default();
    for given in &typed.options {
        judged.take(given, reach);
    }
    judged
}

impl Judged {
    fn take(&mut self, given: &Given, reach: Reach) {
        let value = given.value.as_str();
        match given.option.meaning {
            Meaning::Fine => self.passed.push(given.word()),
            Meaning::Never(_) if value == "false" && given.option.takes == super::table::Takes::Switch => {}
            Meaning::Never(why) if reach.permits(given, why) => {
                if matches!(given.option.long, "network" | "net") {
                    self.network = value.split([':', ',']).next().map(str::to_owned);
                }
                self.passed.push(given.word());
            }
            Meaning::Never(why) => self.object(given, Objection::Option { option: given.option.long, why }),
            Meaning::Limit(Limit::Memory) => self.memory = Some(value.to_owned()),
            Meaning::Limit(Limit::Processes) => self.processes = Some(value.to_owned()),
            Meaning::Variable => self.variables.push(variable(value)),
            Meaning::Volume => self.mount(given, Mount::volume(value)),
            Meaning::MountWords => self.mount(given, Mount::words(value)),
            Meaning::Tmpfs => self.mount(given, Mount::tmpfs(value)),
            Meaning::User => self.user = Some(value.to_owned()),
            Meaning::ReadOnly => self.writable_root = value == "false",
            Meaning::Entrypoint => self.entrypoint = Some(value.to_owned()),
            Meaning::Ipc if matches!(value, "private" | "none" | "") => self.passed.push(given.word()),
            Meaning::Ipc => self.object(given, Objection::Ipc(value.to_owned())),
            Meaning::Label if value.starts_with(LABEL) => {
                self.object(given, Objection::Label(value.to_owned()));
            }
            Meaning::Label => self.passed.push(given.word()),
            // Ours anyway.
            Meaning::SecurityOption
                if matches!(
                    value,
                    "no-new-privileges" | "no-new-privileges:true" | "no-new-privileges=true"
                ) => {}
            Meaning::SecurityOption => self.object(given, Objection::SecurityOption(value.to_owned())),
        }
    }

    /// Passed on all the same: where the wiring is not enforced, an objection is a warning.
    fn object(&mut self, given: &Given, objection: Objection) {
        self.passed.push(given.word());
        self.objections.push(objection);
    }

    fn mount(&mut self, given: &Given, mount: Result<Mount, MountMistake>) {
        match mount {
            Ok(mount) => {
                self.mounts.push(mount);
                self.passed.push(given.word());
            }
            Err(mistake) => {
                self.object(given, Objection::Mount { text: given.value.clone(), mistake });
            }
        }
    }

    /// Root in an image that has somebody else.
    pub fn object_to_root(&mut self, images_user: &str) {
        let is_root = |user: &str| matches!(user.split(':').next(), Some("" | "0" | "root"));
        if self.user.as_deref().is_some_and(is_root) && !is_root(images_user) {
            self.objections.push(Objection::Root);
        }
    }
}

fn variable(text: &str) -> Variable {
    match text.split_once('=') {
        Some((name, value)) => Variable { name: name.to_owned(), value: Some(value.to_owned()) },
        None => Variable { name: text.to_owned(), value: None },
    }
}

#[cfg(test)]
mod tests {
    use super::super::{EngineKind, parse};
    use super::*;

    fn judged(engine: EngineKind, line: &str) -> Judged {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        judge(&parse(engine, &words).unwrap(), Reach::Loopback)
    }

    #[test]
    fn req_e18_on_a_bridge_networks_of_the_engine_are_fine_and_others_are_not() {
        let judged = |line: &str| {
            let words: Vec<String> = format!("{line} image").split_whitespace().map(str::to_owned).collect();
            judge(&parse(EngineKind::Docker, &words).unwrap(), Reach::EngineNetwork)
        };
        for line in ["--network mine", "--net=mine", "-p 80:80", "--dns 1.1.1.1", "--add-host a:1.2.3.4"] {
            assert!(judged(line).objections.is_empty(), "{line}");
        }
        assert_eq!(judged("--network mine").network.as_deref(), Some("mine"));
        for line in [
            "--network host",
            "--net=none",
            "--network container:x",
            "--privileged",
            "--pid host",
            "--cap-add ALL",
        ] {
            assert_eq!(judged(line).objections.len(), 1, "{line}");
        }
    }

    #[test]
    fn req_e18_what_would_undo_the_wiring_is_objected_to_in_every_spelling() {
        for line in [
            "--network host",
            "--net=host",
            "--network=none",
            "--privileged",
            "--privileged=true",
            "--cap-add SYS_ADMIN",
            "--cap-add=ALL",
            "--pid host",
            "--pid=container:x",
            "--ipc host",
            "--uts=host",
            "--userns=host",
            "--cgroupns host",
            "--add-host a:1.2.3.4",
            "--dns 1.1.1.1",
            "--device /dev/kvm",
            "--env-file x",
            "--security-opt seccomp=unconfined",
            "--security-opt=apparmor=unconfined",
            "--security-opt no-new-privileges:false",
            "--volumes-from x",
            "--sysctl a=b",
            "--runtime x",
            "--gpus all",
            "-p 80:80",
            "-P",
            "-v /x:/cofferdam",
            "--mount type=bind,src=/x,dst=/etc",
            "--tmpfs /cofferdam",
            "--label io.cofferdam.posture=x",
            "--link a",
            "--annotation a=b",
            "--use-api-socket",
        ] {
            assert_eq!(judged(EngineKind::Docker, &format!("{line} image")).objections.len(), 1, "{line}");
        }
        for line in [
            "--pod x",
            "--env-host",
            "--uidmap 0:0:1",
            "--secret x",
            "--http-proxy",
            "--rootfs",
            "--systemd always",
        ] {
            assert_eq!(judged(EngineKind::Podman, &format!("{line} image")).objections.len(), 1, "{line}");
        }
    }

    #[test]
    fn what_changes_nothing_is_passed_on_and_limits_are_kept() {
        let judged = judged(
            EngineKind::Docker,
            "-it --rm --name a -w /work -v /srv/x:/work -m 1g --pids-limit 9 -e A=b -e C --privileged=false \
             --entrypoint sh --user 5 --security-opt no-new-privileges --ipc private image",
        );
        assert_eq!(judged.objections, []);
        assert_eq!((judged.memory.as_deref(), judged.processes.as_deref()), (Some("1g"), Some("9")));
        assert_eq!((judged.entrypoint.as_deref(), judged.user.as_deref()), (Some("sh"), Some("5")));
        assert_eq!(judged.variables[1], Variable { name: "C".into(), value: None });
        let passed = "--interactive=true --tty=true --rm=true --name=a --workdir=/work --volume=/srv/x:/work --ipc=private";
        assert_eq!(judged.passed.join(" "), passed);
    }

    #[test]
    fn root_is_not_taken_where_the_image_has_somebody_else() {
        let root = |user: &str, image: &str| {
            let mut judged = judged(EngineKind::Docker, &format!("--user={user} image"));
            judged.object_to_root(image);
            !judged.objections.is_empty()
        };
        assert!(root("root", "app") && root("0:0", "1000") && root("0", "app:app"));
        assert!(!root("root", "") && !root("1000", "app") && !root("root", "0"));
    }
}
