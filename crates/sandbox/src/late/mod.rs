//! Secrets that appear while a sandbox runs.
//!
//! A mount hides what exists. What somebody puts into the workspace afterwards, or into the place of a hidden file by a
//! rename, is seen inside until it is covered as well. So a process outside watches the directories that are shown
//! (`watched`), judges new names as the plan has judged the old ones, and has another process put the same cover over
//! them in the sandbox's own tree (`hand`).
//!
//! Who has made a file is not known, because the kernel does not tell an ordinary user: a secret that was made inside is
//! covered as well. To leave those would leave the file that a command has prepared and the person has filled in.
//!
//! Where it stops: between the appearance of a file and its cover is a moment, and before the watch begins a somewhat
//! longer one. Whoever waits for a name in a loop can win that race. To ask on every open would close it, and would cost
//! every open: permission events are for the host's root alone, and neither a filter nor Landlock knows names.

mod hand;
mod watched;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use cofferdam_linux_sys::footprint;
use cofferdam_policy::secret_paths;
use rustix::event::{PollFd, PollFlags, Timespec};
use serde::{Deserialize, Serialize};

use crate::channel::Channel;
use crate::layout;
use crate::plan::Plan;
use crate::request::{Profile, Request};
use crate::text::Text;
use hand::{Covered, Hand};
use watched::Watched;

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Late {
    /// What the person works on.
    pub workspace: Text,
    /// Trees that are shown besides.
    pub around: Vec<Text>,
    /// Paths in what is shown that are hidden whatever is at them.
    pub names: Vec<Text>,
    /// Names that are left alone, because they are set aside when a command ends: what is covered cannot be renamed.
    pub set_aside: Vec<Text>,
}

impl Late {
    pub fn of(request: &Request, plan: &Plan) -> Self {
        let home = (request.profile == Profile::Home).then_some(&request.home);
        let around: Vec<PathBuf> = request.read.iter().chain(&request.write).chain(home).cloned().collect();
        let tools = layout::TOOLS.iter().map(|name| request.home.join(name));
        let mut shown: Vec<PathBuf> = tools.filter(|_| request.profile == Profile::Workspace).collect();
        shown.extend(around.iter().chain([&request.workspace]).cloned());
        let bases = request.bases();
        let secrets = secret_paths::HOME.iter().flat_map(|secret| secret.below(&bases));
        let names = request.hide.iter().chain(&request.own).cloned().chain(secrets);
        Self {
            workspace: request.workspace.as_path().into(),
            around: around.into_iter().map(Into::into).collect(),
            names: names
                .filter(|path| shown.iter().any(|tree| path.starts_with(tree)))
                .map(Into::into)
                .collect(),
            set_aside: plan.sweep.clone(),
        }
    }
}

/// What whoever holds the sandbox hears of the watch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Told {
    Hidden(Text),
    NotHidden {
        path: Text,
        why: String,
    },
    /// As many again may follow, and are not told of one by one.
    More,
    /// There are more directories than are watched.
    TooMany {
        watched: usize,
    },
    /// There is no watch.
    Unwatched(String),
}

/// Watches for whoever is at the other end, until they are gone. The first message says what, and carries the sandbox's
/// namespaces. This process must have one thread.
pub fn serve(holder: &Channel) -> io::Result<()> {
    let Some((late, namespaces)) = holder.receive::<Late>()? else { return Ok(()) };
    match watch(holder, &late, namespaces) {
        Err(error) => holder.send(&Told::Unwatched(error.to_string()), &[]),
        Ok(()) => Ok(()),
    }
}

fn watch(holder: &Channel, late: &Late, namespaces: Vec<OwnedFd>) -> io::Result<()> {
    let hand = Hand::reach_in(namespaces)?;
    let watched = Watched::begin(late)?;
    let (mut told_too_many, mut at_rest) = (false, false);
    let mut covered = 0;
    let mut appeared = watched.look_over();
    loop {
        if !appeared.is_empty() {
            for told in hand.cover(&appeared)?.into_iter().filter_map(told) {
                covered += 1;
                match covered {
                    1..MOST_TOLD => holder.send(&told, &[])?,
                    MOST_TOLD => holder.send(&Told::More, &[])?,
                    MOST_COVERED => return Err(io::Error::other("too many have appeared")),
                    _ => {}
                }
            }
        }
        if watched.has_missed() && !told_too_many {
            told_too_many = true;
            holder.send(&Told::TooMany { watched: watched.count() }, &[])?;
        }
        match wait(holder, &watched, (!at_rest).then_some(&AT_REST))? {
            Next::Changes => appeared = watched.appeared()?,
            Next::Nothing => {
                at_rest = true;
                appeared = Vec::new();
                footprint::shrink();
            }
            Next::HolderGone => return Ok(()),
        }
    }
}

/// Of more than these it is told that there are more.
const MOST_TOLD: usize = 20;
/// Every cover is a mount. Who makes more secrets than these wants something else.
const MOST_COVERED: usize = 1024;

/// A process in which nothing has happened for this long will wait for longer, and needs little memory for that.
const AT_REST: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

enum Next {
    Changes,
    Nothing,
    HolderGone,
}

fn wait(holder: &Channel, watched: &Watched<'_>, longest: Option<&Timespec>) -> io::Result<Next> {
    let mut ready =
        [PollFd::new(holder, PollFlags::IN), PollFd::from_borrowed_fd(watched.as_fd(), PollFlags::IN)];
    match rustix::event::poll(&mut ready, longest) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let [holder, watched] = ready.map(|ready| !ready.revents().is_empty());
    // Nothing is ever said from the other end, so that its end is all that can be heard.
    Ok(match (holder, watched) {
        (true, _) => Next::HolderGone,
        (false, true) => Next::Changes,
        (false, false) => Next::Nothing,
    })
}

fn told((path, covered): (Text, Covered)) -> Option<Told> {
    match covered {
        Covered::Now => Some(Told::Hidden(path)),
        Covered::Before | Covered::Absent => None,
        Covered::Not(why) => Some(Told::NotHidden { path, why }),
    }
}
