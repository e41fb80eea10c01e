//! The first bytes of a handshake, cut anywhere: no input makes the reader fail, and a name that comes out of it is the
//! host that is gone to, or no host at all.

#![no_main]

use cofferdam_egress::target::Target;
use libfuzzer_sys::fuzz_target;
use rustls::server::Acceptor;

fuzz_target!(|input: (Vec<u8>, u16, bool)| {
    let (bytes, cut, framed) = input;
    let bytes = if framed { record(&bytes) } else { bytes };
    let cut = usize::from(cut).min(bytes.len());
    let mut acceptor = Acceptor::default();
    for mut piece in [&bytes[..cut], &bytes[cut..]] {
        while !piece.is_empty() {
            if !matches!(acceptor.read_tls(&mut piece), Ok(1..)) {
                return;
            }
            match acceptor.accept() {
                Ok(Some(accepted)) => {
                    let hello = accepted.client_hello();
                    let name = hello.server_name();
                    if let Ok(target) = Target::of_handshake(name, None, 443) {
                        assert_eq!(target.confirmed_by(name), Ok(()));
                        assert_eq!(target.port(), 443);
                    }
                    return;
                }
                Ok(None) => {}
                Err(_) => return,
            }
        }
    }
});

/// A record of a handshake with a message of the right type and length around what was made up.
fn record(body: &[u8]) -> Vec<u8> {
    let body = &body[..body.len().min(16_000)];
    let (inner, outer) = (body.len() as u16, body.len() as u16 + 4);
    [&[0x16, 3, 1][..], &outer.to_be_bytes(), &[1, 0], &inner.to_be_bytes(), body].concat()
}
