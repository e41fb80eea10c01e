//! Frames: the length of the body in four bytes, the most significant first, and then the body.
//!
//! A frame that is too large is passed over without being kept, whatever its length claims, so that its sender is
//! told and goes on.

/// The largest body that is taken in. The largest result of a tool fits, with every character of it escaped.
pub const LARGEST: usize = 1 << 20;
const HEADER: usize = 4;

/// What has arrived.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrived {
    Body(Vec<u8>),
    /// Its body is passed over as it arrives.
    TooLarge {
        length: u32,
    },
}

/// Takes bytes as they come and gives frames.
#[derive(Debug, Default)]
pub struct Decoder {
    kept: Vec<u8>,
    /// Where in `kept` the next frame begins.
    at: usize,
    /// How much of a body that is too large is still to come.
    passing_over: u32,
}

impl Decoder {
    pub fn push(&mut self, bytes: &[u8]) {
        let over = bytes.len().min(self.passing_over as usize);
        self.passing_over -= u32::try_from(over).unwrap_or(self.passing_over);
        if self.at > 0 {
            self.kept.drain(..self.at);
            self.at = 0;
        }
        self.kept.extend_from_slice(&bytes[over..]);
    }

    /// The next frame, if all of it is there.
    pub fn pull(&mut self) -> Option<Arrived> {
        let rest = &self.kept[self.at..];
        let (header, body) = rest.split_first_chunk::<HEADER>()?;
        let length = u32::from_be_bytes(*header);
        if length as usize > LARGEST {
            let over = body.len().min(length as usize);
            self.at += HEADER + over;
            self.passing_over = length - u32::try_from(over).unwrap_or(length);
            return Some(Arrived::TooLarge { length });
        }
        let body = body.get(..length as usize)?.to_vec();
        self.at += HEADER + body.len();
        Some(Arrived::Body(body))
    }

    /// Whether all of a frame is there.
    pub fn has_frame(&self) -> bool {
        let rest = &self.kept[self.at..];
        rest.split_first_chunk::<HEADER>().is_some_and(|(header, body)| {
            let length = u32::from_be_bytes(*header) as usize;
            length > LARGEST || body.len() >= length
        })
    }

    /// Whether a frame has begun and not ended.
    pub fn is_within(&self) -> bool {
        self.passing_over > 0 || self.at < self.kept.len()
    }
}

/// A body as a frame; none for one that nobody would take in.
pub fn encode(body: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= LARGEST)?;
    let mut frame = Vec::with_capacity(HEADER + body.len());
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(body);
    Some(frame)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(decoder: &mut Decoder) -> Vec<Arrived> {
        std::iter::from_fn(|| decoder.pull()).collect()
    }

    #[test]
    fn a_gigabyte_is_passed_over_and_the_next_frame_is_read() {
        let mut decoder = Decoder::default();
        let length: u32 = 1 << 30;
        decoder.push(&length.to_be_bytes());
        assert_eq!(all(&mut decoder), [Arrived::TooLarge { length }]);
        let chunk = vec![b'x'; 1 << 16];
        for _ in 0..(1 << 14) {
            decoder.push(&chunk);
            assert!(decoder.kept.is_empty());
        }
        decoder.push(&encode(b"{}").expect("it is small"));
        assert_eq!(all(&mut decoder), [Arrived::Body(b"{}".to_vec())]);
        assert!(!decoder.is_within());
    }

    #[test]
    fn a_body_of_the_largest_size_goes_and_one_more_does_not() {
        assert!(encode(&vec![0; LARGEST]).is_some());
        assert!(encode(&vec![0; LARGEST + 1]).is_none());
    }

    proptest! {
        #[test]
        fn however_the_bytes_are_cut_the_frames_are_the_same(
            bodies in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..12),
            cuts in proptest::collection::vec(1usize..17, 1..40),
        ) {
            let whole: Vec<u8> = bodies.iter().flat_map(|body| encode(body).expect("it is small")).collect();
            let mut decoder = Decoder::default();
            let (mut got, mut rest, mut cuts) = (Vec::new(), whole.as_slice(), cuts.iter().cycle());
            while !rest.is_empty() {
                let cut = rest.len().min(*cuts.next().expect("a cycle does not end"));
                decoder.push(&rest[..cut]);
                got.extend(all(&mut decoder));
                rest = &rest[cut..];
            }
            let expected: Vec<Arrived> = bodies.into_iter().map(Arrived::Body).collect();
            prop_assert_eq!(got, expected);
        }
    }
}
