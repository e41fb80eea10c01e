//! `docker shim install`: the shim into an image's tree, in front of the real tool.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use crate::programs::SHIM;
use crate::tree::Tree;

/// Where the shim looks for what is behind a name.
const CONFIGURATION: &str = "/etc/cofferdam/shim";

/// What is to be installed.
#[derive(Debug, Clone)]
pub struct Installation {
    /// The name that people call.
    pub tool: String,
    /// Where the shim goes, inside; it must come before the real tool on the path.
    pub directory: PathBuf,
    pub user: String,
    /// The real tool, inside.
    pub target: PathBuf,
    pub opt_out: Option<String>,
    pub umask: Option<String>,
}

/// Why nothing was installed.
#[derive(Debug)]
pub enum NotInstalled {
    NameOfTool(String),
    RelativeTarget(PathBuf),
    RelativeDirectory(PathBuf),
    /// The shim would be its own target.
    TargetIsShim(PathBuf),
    NoTarget(PathBuf, io::Error),
    NoUser(String),
    UserIsRoot(String),
    OptOut(String),
    Umask(String),
    /// Something that is not a shim has the name already.
    InTheWay(PathBuf),
    Failed(PathBuf, io::Error),
}

/// Where the two files are, inside.
#[derive(Debug)]
pub struct Installed {
    pub shim: PathBuf,
    pub configuration: PathBuf,
}

impl Installation {
    /// Everything is checked before the first file is written. What a running container would refuse is refused here.
    pub fn into_tree(&self, root: &Path) -> Result<Installed, NotInstalled> {
        self.check_words()?;
        let tree = Tree::open(root).map_err(|error| NotInstalled::Failed(root.to_owned(), error))?;
        let shim = self.directory.join(&self.tool);
        let configuration = Path::new(CONFIGURATION).join(&self.tool);
        self.check_tree(&tree, &shim)?;
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| NotInstalled::Failed(path, error)
        };
        tree.make_directories(Path::new(CONFIGURATION)).map_err(failed(Path::new(CONFIGURATION)))?;
        tree.make_directories(&self.directory).map_err(failed(&self.directory))?;
        // In this order: a shim without its file refuses, and until now the name meant the real tool.
        tree.put(&configuration, self.text().as_bytes(), 0o644).map_err(failed(&configuration))?;
        tree.put(&shim, SHIM, 0o755).map_err(failed(&shim))?;
        Ok(Installed { shim, configuration })
    }

    fn check_words(&self) -> Result<(), NotInstalled> {
        if !is_name(&self.tool) {
            return Err(NotInstalled::NameOfTool(self.tool.clone()));
        }
        if !self.target.is_absolute() || self.target.to_str().is_none_or(|path| path.contains('\n')) {
            return Err(NotInstalled::RelativeTarget(self.target.clone()));
        }
        if !self.directory.is_absolute() {
            return Err(NotInstalled::RelativeDirectory(self.directory.clone()));
        }
        if let Some(name) = self.opt_out.as_ref().filter(|name| !is_name(name)) {
            return Err(NotInstalled::OptOut(name.clone()));
        }
        let octal = |mask: &str| u32::from_str_radix(mask, 8).is_ok_and(|mask| mask <= 0o777);
        match self.umask.as_ref().filter(|mask| !octal(mask) || mask.starts_with('+')) {
            Some(mask) => Err(NotInstalled::Umask(mask.clone())),
            None => Ok(()),
        }
    }

    fn check_tree(&self, tree: &Tree, shim: &Path) -> Result<(), NotInstalled> {
        let target = match tree.status(&self.target) {
            Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile => found,
            Ok(_) => {
                return Err(NotInstalled::NoTarget(self.target.clone(), io::ErrorKind::InvalidInput.into()));
            }
            Err(error) => return Err(NotInstalled::NoTarget(self.target.clone(), error)),
        };
        let users = tree.read(Path::new("/etc/passwd")).unwrap_or_default();
        match find_user(&String::from_utf8_lossy(&users), &self.user) {
            None => return Err(NotInstalled::NoUser(self.user.clone())),
            Some(0) => return Err(NotInstalled::UserIsRoot(self.user.clone())),
            Some(_) => {}
        }
        let there = match tree.status(shim) {
            Ok(there) => there,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(NotInstalled::Failed(shim.to_owned(), error)),
        };
        if (there.st_dev, there.st_ino) == (target.st_dev, target.st_ino) {
            return Err(NotInstalled::TargetIsShim(self.target.clone()));
        }
        let bytes = tree.read(shim).map_err(|error| NotInstalled::Failed(shim.to_owned(), error))?;
        if is_shim(&bytes) { Ok(()) } else { Err(NotInstalled::InTheWay(shim.to_owned())) }
    }

    fn text(&self) -> String {
        let mut text = format!("user = {}\ntarget = {}\n", self.user, self.target.display());
        for (key, value) in [("opt-out", &self.opt_out), ("umask", &self.umask)] {
            if let Some(value) = value {
                text += &format!("{key} = {value}\n");
            }
        }
        text
    }
}

/// The rule of the shim itself for names.
fn is_name(name: &str) -> bool {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'+');
    !name.is_empty() && name.len() <= 128 && !name.starts_with('.') && name.bytes().all(fine)
}

/// A shim of whatever version, by the mark that is in each.
fn is_shim(bytes: &[u8]) -> bool {
    const MARK: &[u8] = b"cofferdam-shim, not for itself\x01\x02";
    bytes.windows(MARK.len()).any(|window| window == MARK)
}

fn find_user(users: &str, wanted: &str) -> Option<u32> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let number: u32 = fields.nth(1)?.parse().ok()?;
        (name == wanted || wanted.parse() == Ok(number)).then_some(number)
    })
}

impl NotInstalled {
    pub fn sentence(&self) -> String {
        match self {
            Self::NameOfTool(name) => format!("\u{201c}{name}\u{201d} is not the name of a tool"),
            Self::RelativeTarget(path) => format!("the target {} is not an absolute path", path.display()),
            Self::RelativeDirectory(path) => {
                format!("the directory {} is not an absolute path", path.display())
            }
            Self::TargetIsShim(path) => format!("the target {} is where the shim would go", path.display()),
            Self::NoTarget(path, error) => format!("the image has no tool at {}: {error}", path.display()),
            Self::NoUser(user) => format!("the image's /etc/passwd has no user {user}"),
            Self::UserIsRoot(user) => format!("the user {user} is root"),
            Self::OptOut(name) => format!("\u{201c}{name}\u{201d} is not the name of a variable"),
            Self::Umask(mask) => format!("\u{201c}{mask}\u{201d} is not an octal mask up to 0777"),
            Self::InTheWay(path) => format!("the image has something else at {}", path.display()),
            Self::Failed(path, error) => format!("{}: {error}", path.display()),
        }
    }

    pub fn hint(&self) -> &'static str {
        match self {
            Self::NameOfTool(_) => "letters, digits, and . - _ + after the first character",
            Self::RelativeTarget(_) | Self::RelativeDirectory(_) => {
                "write it as it is inside the container, from /"
            }
            Self::TargetIsShim(_) | Self::InTheWay(_) => {
                "move the real tool elsewhere and name it by --target, or put the shim elsewhere on the path by --directory"
            }
            Self::NoTarget(..) => "install the tool first, and name it by its path inside the container",
            Self::NoUser(_) | Self::UserIsRoot(_) => {
                "name the user that the service runs as, and add it first"
            }
            Self::OptOut(_) => "for example HERMES_KEEP_ROOT",
            Self::Umask(_) => "for example 0022",
            Self::Failed(..) => "is it the root of an image's tree, and yours to write to?",
        }
    }
}
