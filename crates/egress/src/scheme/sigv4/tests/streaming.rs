//! The examples of Amazon's documentation for bodies in signed chunks. There the example key is the client's;
//! here the stand-in takes its part and the example key is the real one.

use proptest::prelude::*;

use super::*;
use crate::scheme::sigv4::key::{Scope, SigningKey};

const SEED: &str = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9";
const CHUNKS: [&str; 3] = [
    "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
    "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
    "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
];
const TRAILER_SEED: &str = "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e";
const TRAILER_CHUNKS: [&str; 3] = [
    "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
    "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
    "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992",
];
const TRAILER: &str = "d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435";

fn scope() -> Scope {
    Scope {
        timestamp: "20130524T000000Z".to_owned(),
        region: "us-east-1".to_owned(),
        service: "s3".to_owned(),
    }
}

fn data(sizes: &[usize]) -> Vec<Vec<u8>> {
    sizes.iter().map(|size| vec![b'a'; *size]).collect()
}

/// A naive signer of chunks: the body, with what its signatures are.
struct Naive {
    key: SigningKey,
    before: String,
    body: Vec<u8>,
}

impl Naive {
    fn new(secret: &str, seed: &str) -> Self {
        let key = SigningKey::derive(secret.as_bytes(), &scope());
        Self { key, before: seed.to_owned(), body: Vec::new() }
    }

    fn sign(&mut self, kind: &str, covered: &str) -> String {
        let text = format!(
            "{kind}\n20130524T000000Z\n20130524/us-east-1/s3/aws4_request\n{}\n{covered}",
            self.before
        );
        self.before = String::from_utf8(self.key.sign(text.as_bytes()).to_vec()).expect("digits");
        self.before.clone()
    }

    fn sha(data: &[u8]) -> String {
        String::from_utf8(BodyDigest::of(data).0.to_vec()).expect("digits")
    }

    fn chunk(&mut self, data: &[u8]) {
        let covered = format!("{}\n{}", Self::sha(b""), Self::sha(data));
        let signature = self.sign("AWS4-HMAC-SHA256-PAYLOAD", &covered);
        self.body.extend(format!("{:x};chunk-signature={signature}\r\n", data.len()).bytes());
        self.body.extend(data);
    }

    fn plain(mut self, chunks: &[Vec<u8>]) -> Vec<u8> {
        for data in chunks.iter().map(Vec::as_slice).chain([&b""[..]]) {
            self.chunk(data);
            self.body.extend(b"\r\n");
        }
        self.body
    }

    fn with_trailer(mut self, chunks: &[Vec<u8>], line_end: &str) -> Vec<u8> {
        for data in chunks {
            self.chunk(data);
            self.body.extend(b"\r\n");
        }
        self.chunk(b"");
        let signature =
            self.sign("AWS4-HMAC-SHA256-TRAILER", &Self::sha(b"x-amz-checksum-crc32c:sOO8/Q==\n"));
        let trailer =
            format!("x-amz-checksum-crc32c:sOO8/Q=={line_end}x-amz-trailer-signature:{signature}\r\n\r\n");
        self.body.extend(trailer.bytes());
        self.body
    }
}

fn resigner(seeds: [&str; 2], trailer: bool) -> ChunkResigner {
    let keys = [STAND_IN.1, REAL.1].map(|secret| SigningKey::derive(secret.as_bytes(), &scope()));
    ChunkResigner::new(
        scope(),
        keys,
        seeds.map(|seed| hex(&unhex(seed.as_bytes()).expect("digits"))),
        trailer,
    )
}

fn stand_in_seed() -> String {
    "5".repeat(64)
}

/// Passed through in pieces of the given sizes, the rest in one.
fn passed(mut resigner: ChunkResigner, body: &[u8], cuts: &[usize]) -> Result<Vec<u8>, ChunkError> {
    let (mut out, mut rest) = (Vec::new(), body);
    for cut in cuts {
        let (piece, after) = rest.split_at((*cut).min(rest.len()));
        resigner.push(piece, &mut out)?;
        rest = after;
    }
    resigner.push(rest, &mut out)?;
    resigner.finish()?;
    Ok(out)
}

#[test]
fn req_e07_chunks_get_the_signatures_of_amazons_example() {
    let chunks = data(&[65536, 1024]);
    let body = Naive::new(STAND_IN.1, &stand_in_seed()).plain(&chunks);
    let out = passed(resigner([&stand_in_seed(), SEED], false), &body, &[]).expect("signed");
    let text = String::from_utf8(out.clone()).expect("text");
    for (size, signature) in ["10000", "400", "0"].iter().zip(CHUNKS) {
        assert!(text.contains(&format!("{size};chunk-signature={signature}\r\n")), "{size}");
    }
    assert_eq!((out.len(), body.len()), (66824, 66824));
}

#[test]
fn req_e07_chunks_with_a_trailer_get_the_signatures_of_amazons_example() {
    for line_end in ["\r\n", "\n\r\n"] {
        let chunks = data(&[65536, 1024]);
        let body = Naive::new(STAND_IN.1, &stand_in_seed()).with_trailer(&chunks, line_end);
        let out = passed(resigner([&stand_in_seed(), TRAILER_SEED], true), &body, &[]).expect("signed");
        let text = String::from_utf8(out).expect("text");
        for signature in TRAILER_CHUNKS {
            assert!(text.contains(&format!(";chunk-signature={signature}\r\n")));
        }
        assert!(text.ends_with(&format!("{line_end}x-amz-trailer-signature:{TRAILER}\r\n\r\n")));
    }
}

#[test]
fn req_e07_a_head_with_signed_chunks_gets_the_seed_of_amazons_example() {
    let head = [
        ("host", "s3.amazonaws.com"),
        ("x-amz-date", "20130524T000000Z"),
        ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ("x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"),
        ("content-encoding", "aws-chunked"),
        ("x-amz-decoded-content-length", "66560"),
        ("content-length", "66824"),
    ];
    let mut headers = head.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let names = "content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;\
                 x-amz-decoded-content-length;x-amz-storage-class";
    let url = "https://s3.amazonaws.com/examplebucket/chunkObject.txt";
    let unsigned = format!(
        "AWS4-HMAC-SHA256 Credential={}/20130524/us-east-1/s3/aws4_request,SignedHeaders={names},Signature=",
        STAND_IN.0
    );
    headers.push(("authorization".to_owned(), unsigned.clone() + &"0".repeat(64)));
    let mut parts = request("PUT", url, &headers);
    let presented = Presented::read(&parts).expect("signed");
    assert_eq!(presented.payload(), Payload::Chunks);
    let seed = presented.signature_with(&parts, STAND_IN.1.as_bytes(), None).expect("declared");
    parts.headers.insert("authorization", (unsigned + &seed).parse().unwrap());

    let chunks = resigned(&mut parts, b"", None).expect("signed").expect("chunks to sign");
    assert!(parts.headers["authorization"].to_str().unwrap().ends_with(SEED));
    let body = Naive::new(STAND_IN.1, &seed).plain(&data(&[65536, 1024]));
    let wanted = Naive::new(REAL.1, SEED).plain(&data(&[65536, 1024]));
    assert_eq!(passed(chunks, &body, &[1000, 70]).expect("signed"), wanted);
}

#[test]
fn req_e29_a_body_that_was_changed_is_cut_off() {
    let body = Naive::new(STAND_IN.1, &stand_in_seed()).plain(&data(&[100, 50]));
    let outcome = |body: &[u8]| passed(resigner([&stand_in_seed(), SEED], false), body, &[]).err();
    let changed = |at: usize, byte: u8| {
        let mut body = body.clone();
        body[at] = byte;
        outcome(&body)
    };
    assert_eq!(outcome(&body), None);
    assert_eq!(changed(120, b'b'), Some(ChunkError::Invalid));
    assert_eq!(changed(0, b'g'), Some(ChunkError::Malformed));
    assert_eq!(changed(3, b' '), Some(ChunkError::Malformed));
    assert_eq!(outcome(&body[..body.len() - 1]), Some(ChunkError::Truncated));
    assert_eq!(outcome(&[&body[..], b"x"].concat()), Some(ChunkError::Malformed));
    let huge = format!("ffffffff;chunk-signature={}\r\n", "0".repeat(64));
    assert_eq!(outcome(huge.as_bytes()), Some(ChunkError::TooLarge));
    assert_eq!(outcome(&[b'1'; 300]), Some(ChunkError::TooLarge));
    let other = Naive::new("another-secret", &stand_in_seed()).plain(&data(&[100]));
    assert_eq!(outcome(&other), Some(ChunkError::Invalid));
}

proptest! {
    #[test]
    fn where_the_body_is_cut_makes_no_difference(
        sizes in prop::collection::vec(1_usize..300, 0..4),
        cuts in prop::collection::vec(0_usize..200, 0..12),
        trailer in any::<bool>(),
    ) {
        let body = |secret, seed: &str| {
            let naive = Naive::new(secret, seed);
            if trailer { naive.with_trailer(&data(&sizes), "\r\n") } else { naive.plain(&data(&sizes)) }
        };
        let out = passed(resigner([&stand_in_seed(), SEED], trailer), &body(STAND_IN.1, &stand_in_seed()), &cuts);
        prop_assert_eq!(out, Ok(body(REAL.1, SEED)));
    }
}
