//! Every scheme: found, replaced, and everything else left as it was.

mod bodies;
mod heads;
mod minting;
mod properties;
mod tokens;

use cofferdam_policy::provider::{BasicPart, Scheme};
use cofferdam_secrets::Secret;
use http::Request;
use http::request::Parts;
use zeroize::Zeroizing;

use super::*;

const TOKEN: &str = "cfd_0123456789abcdefghijABCDEFGHIJ0123456789";
const SECRET: &str = "sk-real/value+with=odd:chars";

fn secret(text: &str) -> Secret {
    Secret::take(Zeroizing::new(text.as_bytes().to_vec())).expect("a fine secret")
}

fn head(uri: &str, headers: &[(&str, &str)]) -> Parts {
    let mut builder = Request::builder().method("POST").uri(uri);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(()).expect("a fine request").into_parts().0
}

fn header(name: &'static str, template: &'static str) -> Scheme {
    Scheme::Header { name: name.into(), template: template.into() }
}

fn at(text: &str) -> Found<'_> {
    Found::At(Cow::Borrowed(text.as_bytes()))
}
