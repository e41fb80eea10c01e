//! What clients ask of a keeper.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Instant;

use cofferdam_linux_sys::exec::Image;
use cofferdam_sandbox::approved_files::{self, ApprovedFile};
use cofferdam_sandbox::channel;
use cofferdam_sandbox::launch::{Answer, Start};
use cofferdam_sandbox::messages::{Last, Window};
use rustix::fs::{CWD, Mode, OFlags};

use super::super::log::Log;
use super::super::process::{self, Process, Role};
use super::{Client, Keeper, Waits, failed, short_way};
use crate::commands::approved_bytes::ApprovedBytes;
use crate::commands::session::protocol::{Cleared, Refusal, Reply, Request, Status, What};

impl Keeper {
    pub(super) fn obey(&mut self, client: u64, request: Request, streams: &[OwnedFd]) -> Result<(), Refusal> {
        // Nothing is taken that was not asked for.
        let expected = if matches!(request, Request::Exec { .. }) { 3 } else { 0 };
        if streams.len() != expected || self.listener.is_none() {
            return Err(Refusal::NotUnderstood);
        }
        match request {
            Request::Exec { what, timeout } => {
                let mut process = Process::new(shown(what.what()), Role::Foreground { client });
                process.deadline = timeout.map(|timeout| Instant::now() + timeout);
                let id = self.start(process, &what, streams)?;
                self.wait_for(client, Waits::Process(id));
            }
            Request::Signal(signal) => {
                if let Some(Client { waits: Waits::Process(process), .. }) = self.clients.get(&client) {
                    self.sandbox.signal(*process, signal).map_err(failed)?;
                }
            }
            Request::Background { what, timeout } => {
                let process =
                    self.start_in_background(&what, timeout.map(|timeout| Instant::now() + timeout))?;
                self.tell(Some(client), &Reply::Background { process }, &[]);
            }
            Request::Attach { what, window } => {
                self.attach(client, what.as_ref(), window)?;
            }
            Request::Send { text } => {
                let process = self.type_in(text.what())?;
                self.tell(Some(client), &Reply::Sent { process }, &[]);
            }
            Request::Status => {
                let status = self.status();
                self.tell(Some(client), &Reply::Status(status), &[]);
            }
            Request::Log { process, from, wait } => {
                let known = self.processes.get(&process).ok_or(Refusal::NoSuchProcess)?;
                let log = known.log().ok_or(Refusal::NoLog)?;
                let nothing_yet = log.end() <= from && known.is_running();
                self.wait_for(client, Waits::Log { process, from });
                if !(wait && nothing_yet) {
                    self.tell_log_to(client, process, from);
                }
            }
            Request::End { process } => {
                // One that has ended may have left something behind, which is its tree still.
                if !self.processes.contains_key(&process) {
                    return Err(Refusal::NoSuchProcess);
                }
                self.sandbox.end(process).map_err(failed)?;
                self.tell(Some(client), &Reply::Done, &[]);
            }
            Request::EndSession => {
                self.wait_for(client, Waits::SessionEnd);
                self.end_session().map_err(failed)?;
            }
        }
        Ok(())
    }

    pub(super) fn wait_for(&mut self, client: u64, waits: Waits) {
        if let Some(client) = self.clients.get_mut(&client) {
            client.waits = waits;
        }
    }

    /// Starts a command with these streams, of which the caller closes its own copies.
    pub(super) fn start(
        &mut self,
        mut process: Process,
        cleared: &Cleared,
        streams: &[OwnedFd],
    ) -> Result<u64, Refusal> {
        self.require_directory(cleared)?;
        process.approved = self.keep_approved(cleared)?;
        let ready = self.left.ready(cleared.what()).map_err(failed)?;
        process.account = ready.account.filter(|_| matches!(process.role, Role::Foreground { .. }));
        let descriptors: Vec<BorrowedFd<'_>> = streams.iter().chain(&ready.beside).map(AsFd::as_fd).collect();
        self.send_start(process, &ready.image, None, (cleared.files(), &descriptors))
    }

    /// What a person has said yes to stays as it was while the command runs. Where there are no namespaces, it is looked at
    /// once more and no further.
    fn keep_approved(&self, cleared: &Cleared) -> Result<Option<Rc<ApprovedBytes>>, Refusal> {
        if !cleared.by_person() || self.namespaces.is_empty() {
            return Ok(None);
        }
        let covers = approved_files::covers(&self.setup.plan, cleared.files());
        if covers.is_empty() {
            return Ok(None);
        }
        let standing = || self.processes.values().filter_map(|process| process.approved.as_ref());
        if let Some(same) = standing().find(|standing| standing.are(&covers)) {
            return Ok(Some(Rc::clone(same)));
        }
        if standing().any(|standing| standing.touch(&covers)) {
            return Err(Refusal::NotKept);
        }
        let put = ApprovedBytes::put(&covers, &self.namespaces);
        put.map(|standing| Some(Rc::new(standing))).map_err(|_| Refusal::NotKept)
    }

    /// While somebody was asked about a command, another one may have gone elsewhere.
    fn require_directory(&self, cleared: &Cleared) -> Result<(), Refusal> {
        let same = self.left.directory.to_string_lossy() == cleared.directory();
        if same { Ok(()) } else { Err(Refusal::Moved) }
    }

    fn send_start(
        &mut self,
        process: Process,
        image: &Image,
        terminal: Option<Window>,
        (approved, descriptors): (&[ApprovedFile], &[BorrowedFd<'_>]),
    ) -> Result<u64, Refusal> {
        // Whoever has given up meanwhile wants nothing started.
        let client = process.client().and_then(|client| self.clients.get(&client));
        if client.is_some_and(Client::has_left) {
            return Err(Refusal::NotUnderstood);
        }
        let id = self.next_process;
        self.next_process += 1;
        let limits = self.setup.plan.limits;
        let (directory, last) = (&self.left.directory, Last::No);
        // One that came by the short way reads nothing but a status, so the sandbox can tell it as well, unless something
        // has to be undone before.
        let by_sandbox = self.answered.is_some() && process.approved.is_none();
        let waiting = client.filter(|client| client.asked.is_some() && by_sandbox);
        let answer = waiting
            .map(|client| Answer { connection: client.channel.as_fd(), head: &short_way::BEFORE_STATUS });
        let start = Start { image, directory, terminal, limits, last, approved, descriptors, answer };
        self.sandbox.start(id, &start).map_err(failed)?;
        self.processes.insert(id, process);
        Ok(id)
    }

    fn start_in_background(&mut self, cleared: &Cleared, deadline: Option<Instant>) -> Result<u64, Refusal> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let null = rustix::fs::openat(CWD, c"/dev/null", flags, Mode::empty()).map_err(failed)?;
        let (output, input) = process::output_pipe().map_err(failed)?;
        let errors = input.try_clone().map_err(failed)?;
        let role = Role::Background { output: Some(output), log: Log::default() };
        let mut process = Process::new(shown(cleared.what()), role);
        process.deadline = deadline;
        self.start(process, cleared, &[null, input, errors])
    }

    fn attach(&mut self, client: u64, cleared: Option<&Cleared>, window: Window) -> Result<(), Refusal> {
        let what = cleared.map(Cleared::what);
        if what.is_none() && self.attach_again(client)? {
            return Ok(());
        }
        cleared.map_or(Ok(()), |cleared| self.require_directory(cleared))?;
        let image = match what {
            Some(what) => self.left.ready(what).map(|ready| ready.image),
            None => self.left.interactive(),
        };
        let command = what.map_or_else(|| "shell".to_owned(), shown);
        let role = Role::Terminal { controller: None, log: Log::default(), client: Some(client) };
        let mut process = Process::new(command, role);
        process.approved = cleared.map_or(Ok(None), |cleared| self.keep_approved(cleared))?;
        let approved = cleared.map_or(&[][..], Cleared::files);
        let id = self.send_start(process, &image.map_err(failed)?, Some(window), (approved, &[]))?;
        self.wait_for(client, Waits::Process(id));
        Ok(())
    }

    /// Types a line into the last terminal; makes one with a shell if there is none.
    fn type_in(&mut self, line: &What) -> Result<u64, Refusal> {
        let What::Shell(text) = line else { return Err(Refusal::NotUnderstood) };
        let mut bytes = text.as_os_str().as_encoded_bytes().to_vec();
        bytes.push(b'\n');
        let terminals = self.processes.iter().rev().filter(|(_, process)| process.is_running());
        let open = terminals.filter_map(|(id, process)| match &process.role {
            Role::Terminal { controller: Some(controller), .. } => Some((*id, controller)),
            _ => None,
        });
        if let Some((id, controller)) = { open }.next() {
            return process::type_all(controller, &bytes).map(|()| id).map_err(|_| Refusal::NotRead);
        }
        let image = self.left.interactive().map_err(failed)?;
        let role = Role::Terminal { controller: None, log: Log::default(), client: None };
        let mut process = Process::new("shell".to_owned(), role);
        process.typed = bytes;
        self.send_start(process, &image, Some(Window { rows: 24, columns: 80 }), (&[], &[]))
    }

    /// Whether there was a terminal to come back to.
    fn attach_again(&mut self, new_client: u64) -> Result<bool, Refusal> {
        let terminals = self.processes.iter_mut().filter(|(_, process)| process.is_running());
        let mut terminals = terminals.filter_map(|(id, process)| match &mut process.role {
            Role::Terminal { controller: Some(controller), log, client } => {
                Some((*id, controller, log, client))
            }
            _ => None,
        });
        let Some((id, controller, log, client)) = terminals.next_back() else { return Ok(false) };
        if client.is_some() {
            return Err(Refusal::AttachedElsewhere);
        }
        let (controller, shown_before) = (controller.try_clone().map_err(failed)?, log.since(0).0);
        *log = Log::default();
        *client = Some(new_client);
        let shown_before = channel::memory_file(&shown_before).map_err(failed)?;
        self.wait_for(new_client, Waits::Process(id));
        let descriptors = [controller.as_fd(), shown_before.as_fd()];
        self.tell(Some(new_client), &Reply::Attached { process: id }, &descriptors);
        Ok(true)
    }

    fn status(&self) -> Status {
        Status {
            name: self.setup.name.clone(),
            pid: rustix::process::getpid().as_raw_nonzero().get(),
            workspace: self.setup.workspace.clone(),
            directory: self.left.directory.as_path().into(),
            started: self.started,
            missing: self.missing.clone(),
            processes: self.processes.iter().map(|(id, process)| process.status(*id)).collect(),
        }
    }
}

/// A command as a person reads it, without anything that a terminal would obey.
pub(super) fn shown(what: &What) -> String {
    match what {
        What::Command(arguments) => arguments.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        What::Shell(text) => text.to_string(),
    }
}
