//! What keys look like, as data: the second net, for secrets that nobody told us about.
//!
//! A shape is a beginning that hardly occurs elsewhere and a run of characters after it. It is a heuristic with
//! both kinds of error; the first net does not depend on it.

use super::by_shape::Alphabet;
use Alphabet::{Alphanumeric, Base64Url, Hex, Jwt, PemBody, UpperAlphanumeric};

/// One known shape. Immutable data; the whole list is [`SHAPES`].
pub struct Shape {
    /// What is shown in its place.
    pub(super) label: &'static str,
    pub(super) parts: &'static [Part],
    /// What goes on being swallowed once all parts were seen, however long it is.
    pub(super) tail: Alphabet,
}

pub(super) struct Part {
    pub(super) literal: &'static [u8],
    pub(super) alphabet: Alphabet,
    pub(super) least: usize,
    /// Bounds what is kept back while the next part is awaited; without meaning in the last part.
    pub(super) most: usize,
}

impl Shape {
    pub fn label(&self) -> &'static str {
        self.label
    }
}

macro_rules! shapes {
    ($($label:literal $literal:literal $alphabet:ident $least:literal)*) => {
        [$(Shape {
            label: $label,
            parts: &[Part { literal: $literal, alphabet: $alphabet, least: $least, most: 0 }],
            tail: $alphabet,
        }),*]
    };
}

/// Label, beginning, alphabet of the rest and its least length. Where one beginning starts another, both are tried.
const KEYS: [Shape; 58] = shapes! {
    "anthropic-key" b"sk-ant-" Base64Url 16
    "openai-key" b"sk-proj-" Base64Url 20
    "openai-key" b"sk-svcacct-" Base64Url 20
    "openai-key" b"sk-admin-" Base64Url 20
    "openrouter-key" b"sk-or-" Base64Url 20
    "langfuse-key" b"sk-lf-" Base64Url 20
    "secret-key" b"sk-" Alphanumeric 32
    "stripe-key" b"sk_live_" Alphanumeric 16
    "stripe-key" b"sk_test_" Alphanumeric 16
    "stripe-key" b"rk_live_" Alphanumeric 16
    "stripe-key" b"rk_test_" Alphanumeric 16
    "webhook-secret" b"whsec_" Alphanumeric 24
    "github-token" b"ghp_" Alphanumeric 36
    "github-token" b"gho_" Alphanumeric 36
    "github-token" b"ghu_" Alphanumeric 36
    "github-token" b"ghs_" Alphanumeric 36
    "github-token" b"ghr_" Alphanumeric 36
    "github-token" b"github_pat_" Base64Url 40
    "gitlab-token" b"glpat-" Base64Url 20
    "gitlab-token" b"gldt-" Base64Url 20
    "gitlab-token" b"glrt-" Base64Url 20
    "gitlab-token" b"glptt-" Hex 40
    "aws-access-key" b"AKIA" UpperAlphanumeric 16
    "aws-access-key" b"ASIA" UpperAlphanumeric 16
    "slack-token" b"xoxb-" Base64Url 20
    "slack-token" b"xoxp-" Base64Url 20
    "slack-token" b"xoxa-" Base64Url 20
    "slack-token" b"xoxr-" Base64Url 20
    "slack-token" b"xoxs-" Base64Url 20
    "slack-token" b"xapp-" Base64Url 20
    "google-key" b"AIza" Base64Url 35
    "google-token" b"ya29." Base64Url 20
    "google-secret" b"GOCSPX-" Base64Url 20
    "huggingface-token" b"hf_" Alphanumeric 30
    "npm-token" b"npm_" Alphanumeric 36
    "pypi-token" b"pypi-" Base64Url 50
    "sendgrid-key" b"SG." Jwt 60
    "groq-key" b"gsk_" Alphanumeric 40
    "xai-key" b"xai-" Alphanumeric 60
    "perplexity-key" b"pplx-" Alphanumeric 40
    "replicate-token" b"r8_" Alphanumeric 30
    "tavily-key" b"tvly-" Base64Url 20
    "nvidia-key" b"nvapi-" Base64Url 40
    "digitalocean-token" b"dop_v1_" Hex 64
    "linear-key" b"lin_api_" Alphanumeric 32
    "notion-token" b"ntn_" Alphanumeric 40
    "databricks-token" b"dapi" Hex 32
    "docker-token" b"dckr_pat_" Base64Url 20
    "vault-token" b"hvs." Base64Url 24
    "shopify-token" b"shpat_" Hex 32
    "private-key" b"-----BEGIN PRIVATE KEY-----" PemBody 16
    "private-key" b"-----BEGIN RSA PRIVATE KEY-----" PemBody 16
    "private-key" b"-----BEGIN EC PRIVATE KEY-----" PemBody 16
    "private-key" b"-----BEGIN DSA PRIVATE KEY-----" PemBody 16
    "private-key" b"-----BEGIN OPENSSH PRIVATE KEY-----" PemBody 16
    "private-key" b"-----BEGIN ENCRYPTED PRIVATE KEY-----" PemBody 16
    "private-key" b"-----BEGIN PGP PRIVATE KEY BLOCK-----" PemBody 16
    "age-key" b"AGE-SECRET-KEY-1" UpperAlphanumeric 40
};

/// Two of its three parts make a JSON web token certain; the rest is swallowed with it.
const WEB_TOKEN: [Shape; 1] = [Shape {
    label: "web-token",
    parts: &[
        Part { literal: b"eyJ", alphabet: Base64Url, least: 10, most: 512 },
        Part { literal: b".eyJ", alphabet: Base64Url, least: 10, most: 0 },
    ],
    tail: Jwt,
}];

/// All known shapes.
pub static SHAPES: [&[Shape]; 2] = [&KEYS, &WEB_TOKEN];
