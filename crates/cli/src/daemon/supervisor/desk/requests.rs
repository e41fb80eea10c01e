//! What those who are connected ask for: answered here, or by the worker.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use cofferdam_control::connection::Hello;
use cofferdam_control::messages::egress::{self, Health, KeptToken, Opening, Socket, Status};
use cofferdam_control::messages::{Refusal, Reply, Request};

use super::{Asked, Desk, What};
use crate::daemon::handover::{Answer, Job};
use crate::daemon::supervisor::clients::Client;

impl Desk {
    pub(super) fn hear(&mut self, connection: u64) {
        let Some(known) = self.connections.get(connection) else { return };
        if !known.greeted {
            let hello = known.channel().receive::<Hello>();
            let fits = hello.is_ok_and(|hello| hello.is_some_and(|(hello, _)| hello.fits()));
            known.greeted = fits && known.channel().send(&Hello::own(), &[]).is_ok();
            if !known.greeted {
                let _ = known.channel().send(&Hello::own(), &[]);
                self.leave(connection);
            }
            return;
        }
        match known.channel().receive::<Request>() {
            Ok(None) => self.leave(connection),
            Err(error) if error.raw_os_error().is_some() => self.leave(connection),
            Err(_) => self.connections.tell(connection, &Reply::Refused(Refusal::NotUnderstood)),
            Ok(Some((Request::Egress(request), descriptors))) => {
                if let Some(reply) = self.request(connection, request, &descriptors) {
                    self.connections.tell(connection, &reply);
                }
            }
        }
    }

    fn leave(&mut self, connection: u64) {
        let client = self.connections.remove(connection).and_then(|connection| connection.client);
        if let Some(client) = client {
            self.clients.remove(&client);
            self.worker.ask(Job::Close { client }, &[]);
        }
    }

    /// What can be answered now; the rest is asked for.
    fn request(
        &mut self,
        connection: u64,
        request: egress::Request,
        descriptors: &[OwnedFd],
    ) -> Option<Reply> {
        let understood = match request {
            egress::Request::Health => {
                let health = Health { serving: self.worker.is_ready(), restarts: self.restarts };
                return Some(Reply::Egress(egress::Reply::Health(health)));
            }
            egress::Request::Status if !self.worker.is_ready() => {
                return Some(Reply::Egress(egress::Reply::Status(Box::new(self.status(None)))));
            }
            egress::Request::Status => Some((Job::Status, What::Status)),
            egress::Request::Metrics => Some((Job::Metrics, What::Metrics)),
            egress::Request::Reload => Some((Job::Reload, What::Reload)),
            egress::Request::Open(opening) => self.open(connection, opening, None),
            egress::Request::Resume { opening, tokens } => self.open(connection, opening, Some(tokens)),
            egress::Request::Leave => self.let_go(connection),
            egress::Request::Serve(sockets) => self.serve_on(connection, sockets, descriptors),
        };
        let Some((job, what)) = understood else { return Some(Reply::Refused(Refusal::NotUnderstood)) };
        let borrowed: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
        match self.worker.ask(job, &borrowed) {
            Some(id) => {
                self.asked.insert(id, Asked::For { connection, what });
                None
            }
            None => Some(self.unanswered(&what)),
        }
    }

    /// What can be said while there is no worker.
    pub(super) fn unanswered(&self, what: &What) -> Reply {
        match what {
            What::Status => Reply::Egress(egress::Reply::Status(Box::new(self.status(None)))),
            What::Leave => Reply::Egress(egress::Reply::Left),
            _ => Reply::Refused(Refusal::Unavailable),
        }
    }

    fn open(
        &mut self,
        connection: u64,
        opening: Opening,
        kept: Option<Vec<KeptToken>>,
    ) -> Option<(Job, What)> {
        let known = self.connections.get(connection)?;
        if known.client.is_some() {
            return None;
        }
        // Never used again, and not those of the connection: a client is opened once.
        let client = connection;
        known.client = Some(client);
        let job = Job::Open { client, opening: opening.clone(), kept: kept.clone() };
        Some((
            job,
            match kept {
                None => What::Open { client, opening },
                Some(tokens) => What::Resume { client, opening, tokens },
            },
        ))
    }

    fn let_go(&mut self, connection: u64) -> Option<(Job, What)> {
        let client = self.connections.get(connection)?.client.take()?;
        self.clients.remove(&client);
        Some((Job::Close { client }, What::Leave))
    }

    fn serve_on(
        &mut self,
        connection: u64,
        sockets: Vec<Socket>,
        descriptors: &[OwnedFd],
    ) -> Option<(Job, What)> {
        let client = self.connections.get(connection)?.client?;
        let known = self.clients.get_mut(&client)?;
        if sockets.len() != descriptors.len() || sockets.is_empty() {
            return None;
        }
        for (kind, descriptor) in sockets.iter().zip(descriptors) {
            known.sockets.push((*kind, descriptor.try_clone().ok()?));
        }
        Some((Job::Serve { client, sockets }, What::Serve))
    }

    pub(super) fn reply(&mut self, connection: u64, what: What, answer: Answer) -> Reply {
        let reply = match (what, answer) {
            (What::Open { client, opening }, Answer::Opened(opened)) => {
                self.clients.insert(client, Client::new(opening, opened.kept.clone()));
                egress::Reply::Opened(opened)
            }
            (What::Resume { client, opening, tokens }, Answer::Done) => {
                self.clients.insert(client, Client::new(opening, tokens));
                egress::Reply::Resumed
            }
            (What::Leave, _) => egress::Reply::Left,
            (What::Open { .. } | What::Resume { .. }, Answer::Failed { sentence, .. }) => {
                if let Some(connection) = self.connections.get(connection) {
                    connection.client = None;
                }
                egress::Reply::NotOpened(sentence)
            }
            (What::Serve, Answer::Done) => egress::Reply::Served,
            (What::Status, Answer::Serving(serving)) => {
                egress::Reply::Status(Box::new(self.status(Some(serving))))
            }
            (What::Reload, answer) => match self.reloaded(&answer) {
                Some(reply) => reply,
                None => return Reply::Refused(Refusal::Unavailable),
            },
            (What::Metrics, Answer::Reply(egress::Reply::Metrics(text))) => {
                egress::Reply::Metrics(text + &self.own_metrics())
            }
            (_, Answer::Failed { sentence, .. }) => return Reply::Refused(Refusal::Failed(sentence)),
            _ => return Reply::Refused(Refusal::Unavailable),
        };
        Reply::Egress(reply)
    }

    fn status(&self, serving: Option<egress::Serving>) -> Status {
        let listen = self.office.shared.local_addr().unwrap_or(self.office.setup.listen);
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            worker: self.worker.pid(),
            restarts: self.restarts,
            uptime: self.since.elapsed().as_secs(),
            listen,
            config: self.office.setup.places().config_file().display().to_string(),
            config_mistakes: self.mistakes.clone(),
            walls: self.office.walls.clone(),
            serving,
        }
    }

    fn own_metrics(&self) -> String {
        format!(
            "# HELP cofferdam_worker_restarts_total How often the worker was started again.\n\
             # TYPE cofferdam_worker_restarts_total counter\ncofferdam_worker_restarts_total {}\n\
             # HELP cofferdam_uptime_seconds Time since the daemon was started.\n\
             # TYPE cofferdam_uptime_seconds gauge\ncofferdam_uptime_seconds {}\n",
            self.restarts,
            self.since.elapsed().as_secs()
        )
    }
}
