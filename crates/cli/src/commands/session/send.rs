//! `session send`: a line typed into the terminal of a session, past the gate like any other command.

use super::client::Client;
use super::protocol::{Cleared, Reply, Request, What};
use crate::admission::{self, Line};
use crate::args::session::SessionSend;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

pub fn send(args: &SessionSend) -> Result<Exit, Failure> {
    if args.text.as_encoded_bytes().iter().any(u8::is_ascii_control) {
        return Err(Failure::new(Exit::Usage, "what is typed must be one line without control characters")
            .hint(
                "send the lines one by one; to interrupt a program, `cofferdam session kill NAME PROCESS`",
            ));
    }
    let client = Client::connect(&args.session)?;
    let admitted = client.admit(Line::Text(&args.text), &args.behalf)?;
    // The shell that reads it runs already.
    admission::still_holds(admitted.approved())?;
    let text = Cleared::new(What::Shell(args.text.as_os_str().into()), admitted.approved());
    match client.ask(&Request::Send { text })?.0 {
        Reply::Sent { process } => output::text(&format!("{process}\n")).map(|()| Exit::Success),
        _ => Err(client.confused()),
    }
}
