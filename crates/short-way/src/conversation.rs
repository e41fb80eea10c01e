//! With the keeper of the session: one message there, one answer back, and signals meanwhile.
//!
//! There: a zero, which no other message begins with, the version, how many arguments there are, the arguments, and
//! the variables that say where the person's files are; and the three standard streams. Of the environment nothing else is
//! sent: it is full of credentials. Back: the same two bytes, what became of it, the status, and what is to be written to
//! standard error.

use core::ffi::CStr;
use core::mem::ManuallyDrop;

use cofferdam_linux_sys::bare::{
    Descriptor, Laid, Signals, connect_packets, is_unread, open_directory, peer_user, receive, send_with,
    send_with_streams, user_identities, wait, write_all,
};

use crate::call::Call;

const BEGINNING: [u8; 2] = [0, 1];
/// The keeper has done nothing: a person has to be asked, or it cannot tell.
const LONG_WAY: u8 = 0;
const ENDED: u8 = 1;
/// What tells where configuration and record are, and who asks.
const SENT: [&[u8]; 7] = [
    b"COFFERDAM_HOME=",
    b"HOME=",
    b"LOGNAME=",
    b"USER=",
    b"XDG_CONFIG_HOME=",
    b"XDG_RUNTIME_DIR=",
    b"XDG_STATE_HOME=",
];
/// As the long way passes them on; and the one that must not end this process.
const HEARD: [u8; 7] = [HANG_UP, INTERRUPT, QUIT, 10, 12, TERM, PIPE];
const HANG_UP: u8 = 1;
const INTERRUPT: u8 = 2;
const QUIT: u8 = 3;
const TERM: u8 = 15;
/// What comes of writing to one who does not read any more; the command's status is worth more than that.
const PIPE: u8 = 13;
/// For how long a command that was asked to end may go on, and a keeper may leave unread that it should.
const GRACE_SECONDS: u64 = 2;
/// More than any answer has.
const LONGEST_ANSWER: usize = 4096;

pub fn hold(laid: Laid<'_>, call: &Call<'_>) -> Option<u8> {
    let keeper = connect(call)?;
    let mut head = [0; 6];
    head[..2].copy_from_slice(&BEGINNING);
    head[2..].copy_from_slice(&u32::try_from(laid.arguments).ok()?.to_ne_bytes());
    // Before the command can have ended, so that no signal is lost. The long way gets them back as they were.
    let signals = Signals::take_over(&HEARD).ok()?;
    send(&keeper, &head, laid)?;
    let status = outcome(&keeper, &signals, call)?;
    // The process ends with this, and both with it. To close the connection before would let the keeper go first.
    let _ = (ManuallyDrop::new(keeper), ManuallyDrop::new(signals));
    Some(status)
}

fn outcome(keeper: &Descriptor, signals: &Signals, call: &Call<'_>) -> Option<u8> {
    let (mut leaving, mut ending) = (None, None);
    loop {
        let patience = leaving.is_some() || ending.is_some() && is_unread(keeper);
        let ready = wait(keeper, signals, patience.then_some(GRACE_SECONDS));
        if ready.answer {
            // The long way would not hear of a signal that was read here.
            return answer(keeper, call).or(ending.map(|signal| 128 + signal));
        }
        match (leaving, ending) {
            _ if ready.signal => {}
            // Asked to end, the command has not; the end of the connection ends it.
            (Some(signal), _) => return Some(128 + signal),
            // A keeper that reads nothing passes nothing on, and starts nothing for one who is gone.
            (None, Some(signal)) if is_unread(keeper) => return Some(128 + signal),
            _ => {}
        }
        while let Some(signal) = signals.next() {
            pass_on(keeper, signal);
            if matches!(signal, TERM | HANG_UP) {
                leaving.get_or_insert(signal);
            }
            if matches!(signal, TERM | HANG_UP | INTERRUPT | QUIT) {
                ending.get_or_insert(signal);
            }
        }
    }
}

/// All in one packet, from where it lies.
fn send(keeper: &Descriptor, head: &[u8], laid: Laid<'_>) -> Option<()> {
    let mut parts: [&[u8]; 3 + 3 * SENT.len()] = [b""; 3 + 3 * SENT.len()];
    (parts[0], parts[1]) = (head, laid.all_arguments());
    let mut count = 2;
    for name in SENT {
        if let Some(value) = laid.variable(name.strip_suffix(b"=")?) {
            parts[count..count + 3].copy_from_slice(&[name, value, b"\0"]);
            count += 3;
        }
    }
    send_with_streams(keeper, &parts[..count]).ok()
}

/// Nobody but the same user is talked to, and only where nobody else can put a socket.
fn connect(call: &Call<'_>) -> Option<Descriptor> {
    let directory = open_directory(call.directory()?).ok()?;
    let (status, user) = (directory.status().ok()?, user_identities().ok()?.effective);
    if status.owner != user || status.mode & 0o077 != 0 {
        return None;
    }
    let mut address = ShortText::new();
    address.add(b"/proc/self/fd/")?;
    address.number(directory.number())?;
    address.add(b"/")?;
    address.add(call.session)?;
    address.add(b".sock")?;
    let keeper = connect_packets(address.path()?).ok()?;
    (peer_user(&keeper).ok()? == user).then_some(keeper)
}

fn pass_on(keeper: &Descriptor, signal: u8) {
    let mut message = ShortText::new();
    let written = message.add(b"{\"Signal\":").and_then(|()| message.number(u32::from(signal)));
    if written.and_then(|()| message.add(b"}")).is_some() {
        // One who is gone does not want to know.
        let _ = send_with(keeper, message.bytes(), &[]);
    }
}

fn answer(keeper: &Descriptor, call: &Call<'_>) -> Option<u8> {
    let mut answer = [0; LONGEST_ANSWER];
    let length = receive(keeper, &mut answer).unwrap_or(0);
    match answer.get(..length) {
        Some([0, 1, LONG_WAY]) => None,
        Some([0, 1, ENDED, status, told @ ..]) => {
            write_all(2, told);
            Some(*status)
        }
        // Nothing is tried a second time: the command may have run before the connection was lost.
        _ => {
            write_all(2, b"cofferdam: the session ");
            write_all(2, call.session);
            write_all(2, b" was lost\nhint: `cofferdam session list` shows the sessions that are left; ");
            write_all(2, b"one that an older version has made is ended with `cofferdam session kill`\n");
            Some(125)
        }
    }
}

/// A short text, made without memory to be given out.
struct ShortText {
    bytes: [u8; 96],
    length: usize,
}

impl ShortText {
    fn new() -> Self {
        Self { bytes: [0; 96], length: 0 }
    }

    fn add(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.length + bytes.len();
        self.bytes[..95].get_mut(self.length..end)?.copy_from_slice(bytes);
        self.length = end;
        Some(())
    }

    fn number(&mut self, number: u32) -> Option<()> {
        if number >= 10 {
            self.number(number / 10)?;
        }
        self.add(&[b'0' + (number % 10) as u8])
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn path(&self) -> Option<&CStr> {
        CStr::from_bytes_with_nul(self.bytes.get(..=self.length)?).ok()
    }
}
