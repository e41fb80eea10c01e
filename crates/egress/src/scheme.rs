//! Where a credential stands in a request, for headers alone.

use std::borrow::Cow;

use cofferdam_policy::provider::{Scheme, TokenForm};
use cofferdam_secrets::Secret;
use http::request::Parts;
use http::{HeaderName, HeaderValue};
use memchr::memmem::find_iter;
use zeroize::Zeroizing;

/// What stands at the place that a scheme declares.
pub(crate) enum Found<'a> {
    Absent,
    At(Cow<'a, [u8]>),
    Several,
    Malformed,
}

/// Why a credential was not put in its place. The request is left as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InjectError;

pub(crate) fn find<'a>(parts: &'a Parts, scheme: &Scheme) -> Found<'a> {
    let Scheme::Header { name, template } = scheme else { return Found::Absent };
    let (before, after) = template.split_once("{}").unwrap_or((template, ""));
    let mut values = parts.headers.get_all(&**name).iter();
    match (values.next(), values.next()) {
        (None, _) => Found::Absent,
        (Some(_), Some(_)) => Found::Several,
        (Some(value), None) => {
            let value = value.as_bytes();
            let word = value.get(..before.len()).filter(|word| word.eq_ignore_ascii_case(before.as_bytes()));
            let rest = word.and_then(|_| value[before.len()..].strip_suffix(after.as_bytes()));
            rest.map_or(Found::Malformed, |token| Found::At(Cow::Borrowed(token)))
        }
    }
}

/// Replaces the token at the declared place by the secret; the place must hold exactly the token.
pub(crate) fn inject(
    parts: &mut Parts,
    scheme: &Scheme,
    token: &[u8],
    secret: &Secret,
) -> Result<(), InjectError> {
    let Scheme::Header { name, template } = scheme else { return Err(InjectError) };
    match find(parts, scheme) {
        Found::At(there) if *there == *token => {}
        _ => return Err(InjectError),
    }
    let (before, after) = template.split_once("{}").unwrap_or((template, ""));
    let text = Zeroizing::new([before.as_bytes(), secret.expose(), after.as_bytes()].concat());
    let mut value = HeaderValue::from_bytes(&text).map_err(|_| InjectError)?;
    value.set_sensitive(true);
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| InjectError)?;
    parts.headers.insert(name, value);
    Ok(())
}

/// The shapes of all tokens that were handed out.
pub(crate) struct TokenShapes(Vec<TokenForm>);

impl TokenShapes {
    pub fn new<'f>(forms: impl IntoIterator<Item = &'f TokenForm>) -> Self {
        Self(forms.into_iter().cloned().collect())
    }

    /// Whether `is_ours` says yes to some part of the text that has the shape of a token.
    pub fn any(&self, text: &[u8], mut is_ours: impl FnMut(&[u8]) -> bool) -> bool {
        self.0.iter().any(|form| {
            let whole = form.prefix.len() + usize::from(form.length);
            match form.prefix.is_empty() {
                true => text.windows(whole).any(&mut is_ours),
                false => find_iter(text, form.prefix.as_bytes())
                    .any(|at| text.get(at..at + whole).is_some_and(&mut is_ours)),
            }
        })
    }
}

/// Whether `contains` finds a token anywhere in the head but at the declared place.
pub(crate) fn contains_token(
    parts: &Parts,
    declared: Option<&Scheme>,
    contains: &mut dyn FnMut(&[u8]) -> bool,
) -> bool {
    let place = declared.and_then(|scheme| match scheme {
        Scheme::Header { name, .. } => Some(&**name),
        _ => None,
    });
    let target = parts.uri.path_and_query().is_some_and(|target| contains(target.as_str().as_bytes()));
    target
        || parts.headers.iter().any(|(name, value)| {
            !place.is_some_and(|place| name.as_str().eq_ignore_ascii_case(place))
                && contains(value.as_bytes())
        })
}

/// A place whose name says credential, and that is filled.
pub(crate) struct CredentialPlace<'a> {
    pub at: Where<'a>,
}

pub(crate) struct Where<'a>(&'a HeaderName);

impl Where<'_> {
    pub fn belongs_to(&self, scheme: &Scheme) -> bool {
        matches!(scheme, Scheme::Header { name, .. } if self.0.as_str().eq_ignore_ascii_case(name))
    }
}

const NAMES: [&str; 6] =
    ["authorization", "x-api-key", "api-key", "x-goog-api-key", "private-token", "x-auth-token"];

pub(crate) fn credential_places(parts: &Parts) -> Vec<CredentialPlace<'_>> {
    let named = parts.headers.keys().filter(|name| NAMES.contains(&name.as_str()));
    named.map(|name| CredentialPlace { at: Where(name) }).collect()
}
