//! Plans for hosts that exist only here.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use cofferdam_policy::secret_paths::Bases;

use super::{Refusal, plan, whole};
use crate::plan::{Access, Identity, Isolation, Limits, Network, Operation, Plan};
use crate::request::{Profile, Request};
use crate::survey::{Entry, Found, Kind, Survey};
use crate::text::Text;

/// A host as a list of paths. Directories above a path exist by themselves.
#[derive(Default)]
pub struct Host {
    things: BTreeMap<PathBuf, Found>,
    contents: BTreeMap<PathBuf, Vec<u8>>,
    same: Vec<(PathBuf, PathBuf)>,
}

impl Host {
    pub fn with(mut self, path: impl AsRef<Path>, found: Found) -> Self {
        let path = path.as_ref();
        for above in path.ancestors().skip(1) {
            self.things.entry(above.to_owned()).or_insert(Found::Directory);
        }
        self.things.insert(path.to_owned(), found);
        self
    }

    pub fn file(self, path: &str, contents: &str) -> Self {
        let mut host = self.with(path, Found::File);
        host.contents.insert(path.into(), contents.as_bytes().to_vec());
        host
    }

    pub fn link(self, path: &str, to: &str) -> Self {
        self.with(path, Found::Link(to.into()))
    }

    pub fn hard_link(mut self, path: &str, other: &str) -> Self {
        self.same.push((path.into(), other.into()));
        self.with(path, Found::File).with(other, Found::File)
    }

    fn follow(&self, path: &Path, links: u32) -> Option<PathBuf> {
        let mut resolved = PathBuf::from("/");
        for part in path.components().skip(1) {
            resolved.push(part);
            if let Found::Link(to) = self.find(&resolved)? {
                resolved.pop();
                resolved = self.follow(&resolved.join(to), links.checked_sub(1)?)?;
            }
        }
        Some(resolved)
    }

    fn inode(&self, path: &Path) -> u64 {
        let path = self.same.iter().find(|(_, other)| other == path).map_or(path, |(first, _)| first);
        self.things.keys().position(|known| known == path).map_or(0, |place| place as u64 + 1)
    }
}

impl Survey for Host {
    fn find(&self, path: &Path) -> Option<Found> {
        self.things.get(path).cloned()
    }

    fn entries(&self, directory: &Path, show: &mut dyn FnMut(Entry<'_>)) {
        for (path, found) in self.things.iter().filter(|(path, _)| path.parent() == Some(directory)) {
            let kind = match found {
                Found::Directory => Kind::Directory,
                Found::File => Kind::File,
                Found::Socket => Kind::Socket,
                Found::Link(_) => Kind::Link,
            };
            let name = path.file_name().unwrap();
            show(Entry { name, kind, inode: self.inode(path) });
        }
    }

    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        self.follow(path, 8)
    }

    fn beginning(&self, path: &Path) -> Vec<u8> {
        self.contents.get(path).cloned().unwrap_or_default()
    }

    fn has_other_names(&self, path: &Path) -> bool {
        self.same.iter().any(|(first, second)| path == first || path == second)
    }

    fn memory(&self) -> u64 {
        8 << 30
    }
}

fn host() -> Host {
    Host::default().with("/usr", Found::Directory).link("/bin", "usr/bin").file("/home/ada/work/README", "")
}

fn request() -> Request {
    Request {
        profile: Profile::Workspace,
        workspace: "/home/ada/work".into(),
        home: "/home/ada".into(),
        read: Vec::new(),
        write: Vec::new(),
        hide: Vec::new(),
        own: vec!["/home/ada/.config/cofferdam".into()],
        moved: Bases::default(),
        layer: None,
        isolation: Isolation::Required,
        network: Network::None,
        further_ports: Vec::new(),
        files: Vec::new(),
        trust: None,
        limits: Limits::default(),
    }
}

const ADA: Identity = Identity { user: 1000, group: 1000 };

fn made(request: &Request, host: &Host) -> Plan {
    plan(request, ADA, host).expect("a plan")
}

fn hides(plan: &Plan, path: &str) -> bool {
    plan.files.contains(&Operation::Mask { path: path.into() })
}

fn binds(plan: &Plan, path: &str, access: Access) -> bool {
    plan.files.contains(&Operation::Bind { path: path.into(), from: path.into(), access })
}

fn sweeps(plan: &Plan, path: &str) -> bool {
    plan.sweep.contains(&Text::from(path))
}

#[test]
fn req_i06_only_what_is_named_is_shown() {
    let host = host()
        .file("/home/ada/.ssh/id_rsa", "")
        .file("/home/ada/.cargo/credentials", "")
        .file("/srv/data", "");
    let plan = whole(&made(&request(), &host), &host);
    let shown: Vec<&Path> = plan
        .files
        .iter()
        .filter_map(|operation| match operation {
            Operation::Bind { path, .. } | Operation::System { path, .. } => Some(path.as_path()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, [Path::new("/usr"), Path::new("/home/ada/.cargo"), Path::new("/home/ada/work")]);
    assert!(hides(&plan, "/home/ada/.cargo/credentials"));
    assert!(!hides(&plan, "/home/ada/.ssh"), "what is not shown needs no mask");
    assert!(plan.files.contains(&Operation::Link { path: "/bin".into(), to: "usr/bin".into() }));
    assert_eq!(plan.files.last(), Some(&Operation::Seal));
}

#[test]
fn req_i06_the_home_is_shown_without_its_secrets() {
    let host = host()
        .file("/home/ada/.ssh/id_rsa", "")
        .file("/home/ada/notes/.env", "")
        .file("/home/ada/.config/cofferdam/config.toml", "")
        .link("/home/ada/.aws", "dotfiles/aws")
        .file("/home/ada/dotfiles/aws/credentials", "")
        .with("/home/ada/.1password/agent.sock", Found::Socket);
    let plan = made(&Request { profile: Profile::Home, ..request() }, &host);
    assert!(binds(&plan, "/home/ada", Access::ReadOnly));
    for path in [
        "/home/ada/.ssh",
        "/home/ada/notes/.env",
        "/home/ada/.config/cofferdam",
        "/home/ada/.aws",
        "/home/ada/dotfiles/aws",
        "/home/ada/.1password/agent.sock",
    ] {
        assert!(hides(&plan, path), "{path}");
    }
    assert!(!plan.writable.contains(&Text::from("/home/ada")));
}

#[test]
fn req_i06_secrets_are_found_by_name_by_content_and_under_other_names() {
    let host = host()
        .file("/home/ada/work/.env", "")
        .file("/home/ada/work/.env.example", "")
        .file("/home/ada/work/a/b/c/id_ed25519", "")
        .file("/home/ada/work/ca.pem", "-----BEGIN CERTIFICATE-----\n")
        .file("/home/ada/work/both.pem", "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n")
        .file("/home/ada/work/data.json", r#"{"type":"service_account","private_key":"x"}"#)
        .file("/home/ada/work/package.json", r#"{"name":"x"}"#)
        .file("/home/ada/work/.yarnrc.yml", "nodeLinker: node-modules")
        .file("/home/ada/work/app/.yarnrc.yml", "npmAuthToken: x")
        .file("/home/ada/work/node_modules/x/.env", "")
        .hard_link("/home/ada/work/.netrc", "/home/ada/work/harmless")
        .with("/home/ada/work/run/tmux", Found::Socket);
    let plan = made(&request(), &host);
    for (name, hidden) in [
        (".env", true),
        (".env.example", false),
        ("a/b/c/id_ed25519", true),
        ("ca.pem", false),
        ("both.pem", true),
        ("data.json", true),
        ("package.json", false),
        (".yarnrc.yml", false),
        ("app/.yarnrc.yml", true),
        (".netrc", true),
        ("harmless", true),
        ("run/tmux", true),
        // Where the search stops.
        ("node_modules/x/.env", false),
    ] {
        assert_eq!(hides(&plan, &format!("/home/ada/work/{name}")), hidden, "{name}");
    }
}

#[test]
fn req_i15_what_runs_later_is_fixed_or_set_aside() {
    let host = host()
        .file("/home/ada/work/.git/config", "")
        .with("/home/ada/work/.git/info", Found::Directory)
        .file("/home/ada/work/.git/modules/lib/config", "")
        .file("/home/ada/work/sub/.git", "gitdir: ../.git/modules/lib")
        .link("/home/ada/work/.claude", "tools/claude")
        .file("/home/ada/work/tools/claude/settings.json", "")
        .link("/home/ada/work/.codex", "later")
        .link("/home/ada/work/.cursor", "/etc/cursor")
        .file("/home/ada/work/.envrc", "");
    let plan = made(&request(), &host);
    let at = |name: &str| format!("/home/ada/work/{name}");
    for name in
        [".git/config", ".git/modules/lib/config", "sub/.git", ".claude", "tools/claude", ".codex", ".cursor"]
    {
        assert!(binds(&plan, &at(name), Access::ReadOnly), "{name}");
    }
    // What holds something protected cannot be renamed away.
    for name in [".git", ".git/info", ".git/modules", ".git/modules/lib"] {
        assert!(binds(&plan, &at(name), Access::Writable), "{name}");
    }
    for name in
        [".git/hooks", ".git/commondir", ".git/info/attributes", ".mcp.json", ".cargo/config.toml", "later"]
    {
        assert!(sweeps(&plan, &at(name)), "{name}");
    }
    // It is a secret too, and hidden stays hidden.
    let protected = plan.files.iter().position(
        |operation| matches!(operation, Operation::Bind { path, .. } if path.as_path().ends_with(".envrc")),
    );
    let hidden =
        plan.files.iter().position(|operation| *operation == Operation::Mask { path: at(".envrc").into() });
    assert!(protected < hidden, "{protected:?} {hidden:?}");
}

#[test]
fn req_i15_a_project_without_a_repository_cannot_be_given_one() {
    assert!(sweeps(&made(&request(), &host()), "/home/ada/work/.git"));
}

#[test]
fn req_i06_our_own_state_in_the_workspace_can_be_neither_read_nor_made() {
    let own = || Request { own: vec!["/home/ada/work/state".into()], ..request() };
    assert!(sweeps(&made(&own(), &host()), "/home/ada/work/state"));
    let host = host().file("/home/ada/work/state/config.toml", "");
    assert!(hides(&made(&own(), &host), "/home/ada/work/state"));
}

#[test]
fn req_i06_a_wish_that_cannot_be_granted_is_refused_with_its_reason() {
    let host = host().file("/home/ada/.ssh/id_rsa", "").file("/home/ada/.config/cofferdam/config.toml", "");
    let host = host.link("/home/link", "ada/work").file("/srv/data", "");
    let path = PathBuf::from;
    let refusals: Vec<(Request, Refusal)> = vec![
        (Request { workspace: path("/home/ada"), ..request() }, Refusal::WorkspaceIsHome(path("/home/ada"))),
        (Request { workspace: path("/"), ..request() }, Refusal::WorkspaceIsSystem(path("/"))),
        (Request { workspace: path("/usr"), ..request() }, Refusal::WorkspaceIsSystem(path("/usr"))),
        (Request { workspace: path("/nowhere"), ..request() }, Refusal::Missing(path("/nowhere"))),
        (Request { workspace: path("/srv/data"), ..request() }, Refusal::NotADirectory(path("/srv/data"))),
        (
            Request { workspace: path("/home/ada/.ssh"), ..request() },
            Refusal::IsHidden(path("/home/ada/.ssh")),
        ),
        (
            Request { read: vec![path("/home/ada/.ssh/id_rsa")], ..request() },
            Refusal::IsHidden(path("/home/ada/.ssh/id_rsa")),
        ),
        (
            Request { write: vec![path("/home/ada/.config/cofferdam")], ..request() },
            Refusal::IsHidden(path("/home/ada/.config/cofferdam")),
        ),
        (Request { read: vec![path("/")], ..request() }, Refusal::IsSystem(path("/"))),
        (Request { read: vec![path("/proc/1")], ..request() }, Refusal::IsSystem(path("/proc/1"))),
        (Request { read: vec![path("/nowhere")], ..request() }, Refusal::Missing(path("/nowhere"))),
        (
            Request { hide: vec![path("/srv")], write: vec![path("/srv/data")], ..request() },
            Refusal::IsHidden(path("/srv/data")),
        ),
    ];
    for (request, refusal) in refusals {
        assert_eq!(plan(&request, ADA, &host), Err(refusal));
    }
}

#[test]
fn a_home_that_is_the_system_is_none() {
    let plan = made(&Request { home: "/".into(), ..request() }, &host());
    assert!(!plan.files.iter().any(
        |operation| matches!(operation, Operation::Private { path, .. } if path.as_path() == Path::new("/"))
    ));
    assert!(!plan.writable.contains(&Text::from("/")));
}

#[test]
fn names_of_any_bytes_travel() {
    let odd = Path::new("/home/ada/work").join(OsStr::from_bytes(b"a\n\xff.p12"));
    let plan = made(&request(), &host().with(&odd, Found::File));
    assert!(plan.files.contains(&Operation::Mask { path: odd.into() }));
    let text = serde_json::to_string(&plan).expect("JSON");
    assert_eq!(serde_json::from_str::<Plan>(&text).expect("the same plan"), plan);
    assert!(plan.to_string().lines().all(|line| !line.chars().any(char::is_control)));
}

#[test]
fn links_that_lead_in_circles_stop_nothing() {
    let host = host().link("/home/ada/work/.envrc", ".envrc").link("/home/ada/work/.env", "nowhere");
    made(&request(), &host);
}
