//! What one shell leaves to the next: directory, variables, functions.
//!
//! The shell writes it, as its last act, into a file without a name that nothing but this session's commands can
//! have open; what a command prints is never looked at. A command can write to that file itself, and changes with
//! it what the next command of its own session starts with, which it could do anyway. To the keeper it is bytes:
//! they are bounded, split at their zeros, and given back to commands of the same sandbox and to nobody else.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use cofferdam_linux_sys::exec::Image;
use cofferdam_sandbox::channel;
use rustix::fs::{MemfdFlags, SealFlags, SeekFrom};

use super::exported;
use crate::commands::session::protocol::What;

/// The most that a shell can leave behind.
const MOST: u64 = 1 << 20;
/// The last thing a shell writes: without it the account is not whole.
const WHOLE: &[u8] = b"\0\0whole\0";
/// Variables that describe a shell rather than belong to the session.
const OWN_OF_A_SHELL: &[&[u8]] = &[b"_=", b"SHLVL="];

/// Text runs after what the last shell has left was read (4), and leaves its own account (3) when it ends. The text
/// is evaluated, because only then does it see the aliases.
const BASH: &str = r#"shopt -s expand_aliases
__cofferdam_shopt=$BASHOPTS
. /dev/fd/4 2>/dev/null
exec {__cofferdam_account}>&3 3>&- 4<&-
trap '
{
  __cofferdam_flags=$- __cofferdam_options=$SHELLOPTS
  set +aefuvxC +o pipefail
  declare -p; declare -f; declare -Fx; alias -p
  [[ $BASHOPTS = "$__cofferdam_shopt" ]] || shopt -p
  for __cofferdam_name in a e f u x C E T; do
    case $__cofferdam_flags in *$__cofferdam_name*) echo "set -$__cofferdam_name";; esac
  done
  case :$__cofferdam_options: in *:pipefail:*) echo "set -o pipefail";; esac
  printf "\0%s\0" "$PWD"
  export -p
  printf "\0\0whole\0"
} >&"$__cofferdam_account" 2>/dev/null
' EXIT
eval "shift
$1""#;

/// The same for a shell that cannot list its functions: the environment of a program that it starts tells what it
/// exports.
const SH: &str = r#". /dev/fd/4 2>/dev/null
exec 9>&3 3>&- 4<&-
trap '
{
  set
  printf "\0%s\0" "$PWD"
  /bin/cat /proc/self/environ
  printf "\0\0whole\0"
} >&9 2>/dev/null
' EXIT
eval "shift
$1""#;

/// What the next command of the session starts with.
#[derive(Debug)]
pub struct Left {
    pub directory: PathBuf,
    variables: Vec<Vec<u8>>,
    /// For a shell: everything that is not in its environment.
    script: Vec<u8>,
    shell: Shell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shell {
    Bash,
    Sh,
}

/// A command, ready to start, and the file that its account will be in.
pub struct Ready {
    pub image: Image,
    /// Further descriptors, after the three standard streams.
    pub beside: Vec<OwnedFd>,
    pub account: Option<OwnedFd>,
}

impl Left {
    /// A session in which nothing has run yet.
    pub fn new(directory: PathBuf, first: &Image) -> Self {
        let shell = if Path::new("/bin/bash").exists() || Path::new("/usr/bin/bash").exists() {
            Shell::Bash
        } else {
            Shell::Sh
        };
        let variables = first.variables().map(|variable| variable.to_bytes().to_vec()).collect();
        Self { directory, variables, script: Vec::new(), shell }
    }

    pub fn ready(&self, what: &What) -> io::Result<Ready> {
        let text = match what {
            What::Command(arguments) => {
                let arguments: Vec<Vec<u8>> =
                    arguments.iter().map(|argument| argument.as_os_str().as_bytes().to_vec()).collect();
                let image = Image::of_session(&arguments, &self.variables)?;
                return Ok(Ready { image, beside: Vec::new(), account: None });
            }
            What::Shell(text) => text.as_os_str().as_bytes().to_vec(),
        };
        let (name, options, program): (&str, &[&str], &str) = match self.shell {
            Shell::Bash => ("bash", &["--noprofile", "--norc"], BASH),
            Shell::Sh => ("sh", &[], SH),
        };
        let mut arguments = vec![format!("/bin/{name}").into_bytes()];
        arguments.extend(options.iter().map(|option| option.as_bytes().to_vec()));
        arguments.extend([b"-c".to_vec(), program.as_bytes().to_vec(), name.as_bytes().to_vec(), text]);
        let account = account()?;
        let beside = vec![account.try_clone()?, channel::memory_file(&self.script)?];
        Ok(Ready { image: Image::of_session(&arguments, &self.variables)?, beside, account: Some(account) })
    }

    /// An interactive shell, for a terminal.
    pub fn interactive(&self) -> io::Result<Image> {
        let name: &[u8] = match self.shell {
            Shell::Bash => b"/bin/bash",
            Shell::Sh => b"/bin/sh",
        };
        Image::of_session(&[name.to_vec()], &self.variables)
    }

    /// Takes over what a shell has left. An account that is not whole changes nothing.
    pub fn take(&mut self, account: OwnedFd) {
        if let Ok(bytes) = read(account)
            && let Some((script, directory, variables)) = parse(&bytes, self.shell)
        {
            self.script = script;
            self.directory = directory;
            self.variables = variables;
        }
    }
}

/// A file of a fixed size: a shell can neither let it grow nor take it away under the keeper.
fn account() -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create(c"account", flags)?;
    rustix::fs::ftruncate(&file, MOST)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file)
}

/// What was written: the shell and the keeper share the place up to which it was.
fn read(account: OwnedFd) -> io::Result<Vec<u8>> {
    let written = rustix::fs::seek(account.as_fd(), SeekFrom::Current(0))?.min(MOST);
    let mut bytes = vec![0; usize::try_from(written).map_err(io::Error::other)?];
    File::from(account).read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

type Account = (Vec<u8>, PathBuf, Vec<Vec<u8>>);

fn parse(bytes: &[u8], shell: Shell) -> Option<Account> {
    let bytes = bytes.strip_suffix(WHOLE)?;
    let mut parts = bytes.splitn(3, |byte| *byte == 0);
    let script = parts.next()?.to_vec();
    let directory = PathBuf::from(std::ffi::OsString::from_vec(parts.next()?.to_vec()));
    let exported = parts.next()?;
    let mut variables = match shell {
        Shell::Bash => exported::variables(exported)?,
        Shell::Sh => exported.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect(),
    };
    variables.retain(|variable| {
        variable.iter().position(|byte| *byte == b'=').is_some_and(|equals| equals > 0)
            && !OWN_OF_A_SHELL.iter().any(|own| variable.starts_with(own))
    });
    directory.is_absolute().then_some((script, directory, variables))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_taken_whole_or_not_at_all() {
        let whole = b"script\0/work\0A=1\0B=two lines\nhere\0_=/bin/cat\0SHLVL=1\0\0\0whole\0";
        let (script, directory, variables) = parse(whole, Shell::Sh).unwrap();
        assert_eq!((script.as_slice(), directory.to_str()), (&b"script"[..], Some("/work")));
        assert_eq!(variables, [b"A=1".to_vec(), b"B=two lines\nhere".to_vec()]);
        for broken in [&whole[..whole.len() - 1], b"", b"\0\0whole\0", b"s\0relative\0A=1\0\0\0whole\0"] {
            assert!(parse(broken, Shell::Sh).is_none(), "{broken:?}");
        }
    }

    #[test]
    fn an_account_cannot_outgrow_its_file() {
        let file = account().unwrap();
        assert!(File::from(file.try_clone().unwrap()).write_at(b"x", MOST).is_err());
        assert!(rustix::fs::ftruncate(&file, 0).is_err());
    }
}
