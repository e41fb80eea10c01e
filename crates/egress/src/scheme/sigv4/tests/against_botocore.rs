//! A table of requests signed by botocore with both keys; see the script beside it.

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Line {
    name: String,
    method: String,
    body: String,
    session: Option<String>,
    stand_in: Sent,
    real: Sent,
}

#[derive(Deserialize)]
struct Sent {
    url: String,
    headers: Vec<(String, String)>,
}

fn lines() -> Vec<Line> {
    let table = include_str!("../../../../tests/data/sigv4_botocore.jsonl");
    table.lines().map(|line| serde_json::from_str(line).expect("a line of the table")).collect()
}

fn sorted(headers: impl Iterator<Item = (String, String)>) -> Vec<(String, String)> {
    let mut headers: Vec<_> = headers.collect();
    headers.sort();
    headers
}

#[test]
fn req_e07_what_botocore_signs_with_the_stand_in_becomes_what_it_signs_with_the_real_key() {
    let lines = lines();
    assert!(lines.len() >= 68);
    for line in lines {
        let mut parts = request(&line.method, &line.stand_in.url, &line.stand_in.headers);
        let done = resigned(&mut parts, line.body.as_bytes(), line.session.as_deref());
        assert!(matches!(done, Ok(None)), "{}: {:?}", line.name, done.err());
        assert_eq!(parts.uri.to_string(), line.real.url, "{}", line.name);
        let ours = parts
            .headers
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), value.to_str().expect("visible").to_owned()));
        let theirs =
            line.real.headers.into_iter().map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()));
        let ours = ours.map(|(name, value)| (name, value.trim().to_owned()));
        assert_eq!(sorted(ours), sorted(theirs), "{}", line.name);
    }
}

#[test]
fn req_e29_the_table_is_refused_with_any_other_secret() {
    for line in lines() {
        let parts = request(&line.method, &line.stand_in.url, &line.stand_in.headers);
        let digest = Some(BodyDigest::of(line.body.as_bytes()));
        let other = Presented::read(&parts).and_then(|read| read.verify(&parts, b"another-secret", digest));
        assert_eq!(other.err(), Some(SignatureError::Invalid), "{}", line.name);
    }
}
