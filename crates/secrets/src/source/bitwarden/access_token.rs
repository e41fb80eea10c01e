//! `0.ID.SECRET:SEED`: who a machine is, how it proves that, and what opens its answer.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_PAD_INDIFFERENT;
use zeroize::Zeroizing;

use super::sealed::Key;

pub(super) struct AccessToken<'t> {
    id: &'t str,
    secret: &'t str,
    pub key: Key,
}

impl<'t> AccessToken<'t> {
    pub fn parse(text: &'t [u8]) -> Option<Self> {
        let (first, seed) = std::str::from_utf8(text).ok()?.split_once(':')?;
        let mut parts = first.split('.');
        let (version, id, secret) = (parts.next()?, parts.next()?, parts.next()?);
        let plain = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        if version != "0" || parts.next().is_some() || !plain(id) || !plain(secret) {
            return None;
        }
        let mut bytes = Zeroizing::new([0; 18]);
        let length = STANDARD_PAD_INDIFFERENT.decode_slice(seed, bytes.as_mut_slice()).ok()?;
        let seed = bytes.get(..length).filter(|seed| seed.len() == 16)?;
        Some(Self { id, secret, key: Key::derive(seed) })
    }

    /// What is posted to log in. Neither part needs an escape.
    pub fn form(&self) -> Zeroizing<Vec<u8>> {
        let parts = [
            "scope=api.secrets&grant_type=client_credentials&client_id=",
            self.id,
            "&client_secret=",
            self.secret,
        ];
        Zeroizing::new(parts.concat().into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_tokens_of_the_known_version_are_read() {
        let whole = "0.ec2c1d46-6a4b-4751-a310-af9601317f2d.C2IgxjjLF7qS:X8vbvA0bduihIDe/qrzIQQ==";
        assert!(AccessToken::parse(whole.as_bytes()).is_some());
        assert!(AccessToken::parse(whole.trim_end_matches('=').as_bytes()).is_some());
        for broken in [
            whole.replacen('0', "1", 1),
            whole.replace(':', "."),
            whole.replace("X8vb", ""),
            whole.replace("C2Ig", "C2I&x="),
            format!("{whole}AAAAAAAA"),
            String::new(),
        ] {
            assert!(AccessToken::parse(broken.as_bytes()).is_none(), "{broken}");
        }
    }
}
