//! Messages between two processes, with descriptors beside them.

use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::MemfdFlags;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Descriptors that one message may carry.
pub const MAX_DESCRIPTORS: usize = 32;
/// What fits into one packet; longer messages travel as a file in memory.
const INLINE: usize = 32 << 10;
/// The longest message. No plan, script or record comes near it.
pub const LONGEST: usize = 64 << 20;

/// A message, the bytes behind it, and the descriptors beside it.
pub type WithBytes<T> = (T, Vec<u8>, Vec<OwnedFd>);

/// One end of the connection. Packets keep their borders, so a message is read whole or not at all.
#[derive(Debug)]
pub struct Channel(OwnedFd);

impl Channel {
    pub fn pair() -> io::Result<(Self, Self)> {
        let (a, b) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Self(a), Self(b)))
    }

    /// An end that somebody else has made: of packets, and connected.
    pub fn from_connected(socket: OwnedFd) -> Self {
        Self(socket)
    }

    pub fn send(&self, message: &impl Serialize, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let body = serde_json::to_vec(message)?;
        if body.len() > LONGEST {
            return Err(io::Error::other("a message that is too long"));
        }
        if body.len() <= INLINE {
            return self.send_packet(&body, descriptors);
        }
        let file = memory_file(&body)?;
        let mut all = vec![file.as_fd()];
        all.extend(descriptors);
        self.send_packet(b"", &all)
    }

    /// A message with bytes behind it, in one packet. Whether they fit is told: if not, nothing was sent.
    pub fn send_with_bytes(
        &self,
        message: &impl Serialize,
        bytes: &[u8],
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<bool> {
        let mut body = serde_json::to_vec(message)?;
        // No message has a zero in it.
        body.push(0);
        body.extend_from_slice(bytes);
        if body.len() > INLINE {
            return Ok(false);
        }
        self.send_packet(&body, descriptors).map(|()| true)
    }

    fn send_packet(&self, body: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fits = descriptors.len() <= MAX_DESCRIPTORS
            && (descriptors.is_empty() || control.push(SendAncillaryMessage::ScmRights(descriptors)));
        if !fits {
            return Err(io::Error::other("a message with too many descriptors"));
        }
        retry_on_intr(|| {
            rustix::net::sendmsg(&self.0, &[IoSlice::new(body)], &mut control, SendFlags::NOSIGNAL)
        })?;
        Ok(())
    }

    /// Waits for the next packet and tells how long it is; nought when the other end is gone.
    fn next_length(&self) -> io::Result<usize> {
        let flags = RecvFlags::PEEK | RecvFlags::TRUNC;
        let (_, length) = despite_reset(|| rustix::net::recv(&self.0, &mut [0_u8; 0], flags))?;
        // A packet that is longer is refused below, by what it would not fit into.
        Ok(length.min(INLINE))
    }

    /// The next message; none when the other end is gone.
    pub fn receive<T: DeserializeOwned>(&self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        let Some((body, descriptors)) = self.receive_bytes()? else { return Ok(None) };
        Ok(Some((serde_json::from_slice(&body)?, descriptors)))
    }

    /// The next message with the bytes behind it, if there are any; none when the other end is gone.
    pub fn receive_with_bytes<T: DeserializeOwned>(&self) -> io::Result<Option<WithBytes<T>>> {
        let Some((mut body, descriptors)) = self.receive_bytes()? else { return Ok(None) };
        let end = body.iter().position(|byte| *byte == 0);
        let bytes = end.map(|end| body.split_off(end + 1));
        body.truncate(end.unwrap_or(body.len()));
        Ok(Some((serde_json::from_slice(&body)?, bytes.unwrap_or_default(), descriptors)))
    }

    /// The next message as it came, for whoever is talked to in more than one language.
    pub fn receive_bytes(&self) -> io::Result<Option<(Vec<u8>, Vec<OwnedFd>)>> {
        // Its length first: a buffer for the longest would be filled with zeros, page by page, for every message.
        let mut body = vec![0; self.next_length()?];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut body)];
        let received = despite_reset(|| {
            rustix::net::recvmsg(&self.0, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)
        })?;
        // Taken out first, so that they are closed whatever is wrong with the rest.
        let mut descriptors = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                descriptors.extend(received);
            }
        }
        if received.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message that is too long"));
        }
        if received.bytes > 0 {
            body.truncate(received.bytes);
        } else if descriptors.is_empty() {
            return Ok(None);
        } else {
            body = read_memory_file(descriptors.remove(0))?;
        }
        Ok(Some((body, descriptors)))
    }

    /// Sends bytes that are no message of ours, to one who does not read those.
    pub fn send_bytes(&self, body: &[u8]) -> io::Result<()> {
        self.send_packet(body, &[])
    }
}

impl From<Channel> for OwnedFd {
    fn from(channel: Channel) -> Self {
        channel.0
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// An end that was closed with something unread is told of first, whenever that happens; what it had said before comes
/// after that.
fn despite_reset<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    match retry_on_intr(&mut call) {
        Err(Errno::CONNRESET) => retry_on_intr(call),
        other => other,
    }
}

/// Bytes as a file without a name.
pub fn memory_file(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = std::fs::File::from(rustix::fs::memfd_create(c"message", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

/// What was sent as a file, from where it stands. Something else than a file, which could keep the reader waiting,
/// and one that is too long are refused.
pub fn read_memory_file(descriptor: OwnedFd) -> io::Result<Vec<u8>> {
    let file = std::fs::File::from(descriptor);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message in something that is no file"));
    }
    // Room for all of it, and for seeing that there is no more: read in two calls instead of one for each doubling.
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0).min(LONGEST) + 1);
    file.take(LONGEST as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message that is too long"));
    }
    Ok(bytes)
}
