//! Staying with a line: passing on what is told, answering in the proxy's place while there is none, and coming back.

use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use cofferdam_control::connection::Connection;
use cofferdam_control::messages::egress::{Reply as Answer, Request as Ask, Socket};
use cofferdam_control::messages::{Reply, Request};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};

use super::{Return, Shared, Teller, hand_over};
use crate::outlet::stand_in::StandIn;

/// How often somebody else is looked for.
const EVERY: Duration = Duration::from_millis(200);
/// A daemon that does not answer within this time is not there yet.
const PATIENCE: Duration = Duration::from_secs(5);

pub struct Keeping {
    shared: Arc<Shared>,
    doors: Vec<(Socket, OwnedFd)>,
    way_back: Option<Return>,
    tell: Teller,
    stand_in: StandIn,
}

/// What became of the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Because it was asked to.
    Left,
    Lost,
}

impl Keeping {
    pub fn new(
        shared: Arc<Shared>,
        doors: Vec<(Socket, OwnedFd)>,
        way_back: Option<Return>,
        tell: Teller,
    ) -> Self {
        Self { shared, doors, way_back, tell, stand_in: StandIn::default() }
    }

    pub fn keep(mut self) {
        while self.hear() == End::Lost && !self.leaving() {
            if self.wait_for_another().is_err() {
                return;
            }
        }
    }

    fn leaving(&self) -> bool {
        self.shared.leaving.load(Ordering::SeqCst)
    }

    fn hear(&self) -> End {
        let connection = self.shared.connection();
        loop {
            match connection.next() {
                Ok((Reply::Egress(Answer::Told(line)), _)) => (self.tell)(line),
                Ok((Reply::Egress(Answer::Left), _)) => return End::Left,
                Ok(_) => {}
                Err(_) => return End::Lost,
            }
        }
    }

    fn wait_for_another(&mut self) -> io::Result<()> {
        for (_, door) in &self.doors {
            rustix::io::ioctl_fionbio(door, true)?;
        }
        let mut next = Instant::now();
        while !self.leaving() {
            if next <= Instant::now() {
                let come_back = |way_back| self.come_back(way_back);
                if let Some(connection) = self.way_back.as_ref().and_then(come_back) {
                    let mut known = self.shared.connection.lock().unwrap_or_else(PoisonError::into_inner);
                    *known = Arc::new(connection);
                    drop(known);
                    // Who was let in by us is not seen by the other end.
                    self.stand_in.finish();
                    break;
                }
                next = Instant::now() + EVERY;
            }
            self.answer_until(next)?;
        }
        // Whoever leaves has said so to the one before.
        if self.leaving() { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }

    fn come_back(&self, way_back: &Return) -> Option<Connection> {
        let connection = Connection::open(way_back.runtime.as_path()).ok()?;
        set_socket_timeout(&connection, Timeout::Recv, Some(PATIENCE)).ok()?;
        let (opening, tokens) = (way_back.opening.clone(), way_back.tokens.clone());
        let resumed = connection.ask(&Request::Egress(Ask::Resume { opening, tokens }), &[]).ok()?;
        let Reply::Egress(Answer::Resumed) = resumed.0 else { return None };
        hand_over(&connection, &self.doors, &self.tell).ok()?;
        set_socket_timeout(&connection, Timeout::Recv, None).ok()?;
        Some(connection)
    }

    /// Tells whoever knocks that nobody is there.
    fn answer_until(&mut self, end: Instant) -> io::Result<()> {
        let doors = self.doors.iter().map(|(_, door)| door.as_fd());
        let mut awaited: Vec<PollFd<'_>> = doors
            .chain(self.stand_in.streams())
            .map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN))
            .collect();
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: i64::from(left.subsec_nanos()) };
        match poll(&mut awaited, Some(&left)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let now = Instant::now();
        for (socket, door) in &self.doors {
            let door = door.try_clone()?;
            match socket {
                Socket::DnsPackets => StandIn::answer_names(&UdpSocket::from(door)),
                _ => self.stand_in.accept(&TcpListener::from(door), now),
            }
        }
        self.stand_in.attend(now);
        Ok(())
    }
}
