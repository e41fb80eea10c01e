//! Google's metadata server, as far as its clients need it to find out that there is an account and to get a token.

use std::time::Duration;

use http::{HeaderMap, StatusCode};

use crate::scheme::oauth2::stand_in_answer;

pub(super) const FLAVOR: &str = "metadata-flavor";
const ACCOUNT: &str = "/computeMetadata/v1/instance/service-accounts/";
/// What a sandbox is told about its account; whose it really is, is nobody's business inside.
const EMAIL: &str = "stand-in@cofferdam.invalid";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// What is answered at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Page {
    Text(String),
    Json(String),
    Token,
    Nothing(StatusCode),
}

/// A real one wants the flavour header of all but its front page, so that a page in a browser cannot ask, and
/// refuses what was forwarded.
pub(super) fn page(path: &str, query: Option<&str>, headers: &HeaderMap) -> Page {
    let recursive =
        query.is_some_and(|query| query.split('&').any(|pair| pair.eq_ignore_ascii_case("recursive=true")));
    let flavoured = headers.get(FLAVOR).is_some_and(|value| value == "Google");
    if path == "/" {
        return Page::Text("computeMetadata/\n".to_owned());
    }
    if !flavoured || headers.contains_key("x-forwarded-for") {
        return Page::Nothing(StatusCode::FORBIDDEN);
    }
    let Some(rest) = path.strip_prefix(ACCOUNT) else {
        return Page::Nothing(StatusCode::NOT_FOUND);
    };
    let account = serde_json::json!({ "aliases": ["default"], "email": EMAIL, "scopes": [SCOPE] });
    let (owner, field) = rest.split_once('/').unwrap_or((rest, ""));
    match (owner, field) {
        ("", _) if recursive => {
            Page::Json(serde_json::json!({ "default": account, EMAIL: account }).to_string())
        }
        ("", _) => Page::Text(format!("default/\n{EMAIL}/\n")),
        ("default" | EMAIL, "") if recursive => Page::Json(account.to_string()),
        ("default" | EMAIL, "") => Page::Text("aliases\nemail\nscopes\ntoken\n".to_owned()),
        ("default" | EMAIL, "email") => Page::Text(EMAIL.to_owned()),
        ("default" | EMAIL, "aliases") => Page::Text("default".to_owned()),
        ("default" | EMAIL, "scopes") => Page::Text(format!("{SCOPE}\n")),
        ("default" | EMAIL, "token") => Page::Token,
        _ => Page::Nothing(StatusCode::NOT_FOUND),
    }
}

pub(super) fn token(token: &str, left: Duration) -> String {
    stand_in_answer(token, left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn req_e07_the_metadata_server_says_what_clients_ask_for_and_no_more() {
        let mut headers = HeaderMap::new();
        let token = "/computeMetadata/v1/instance/service-accounts/default/token";
        assert_eq!(page(token, None, &headers), Page::Nothing(StatusCode::FORBIDDEN));
        assert!(matches!(page("/", None, &headers), Page::Text(_)));
        headers.insert(FLAVOR, "Google".parse().unwrap());
        assert_eq!(page(token, None, &headers), Page::Token);
        let account = "/computeMetadata/v1/instance/service-accounts/default/";
        let Page::Json(text) = page(account, Some("recursive=true"), &headers) else { panic!("a document") };
        assert!(text.contains(EMAIL));
        for absent in [
            "/computeMetadata/v1/instance/attributes/ssh-keys",
            "/latest/meta-data/",
            "/computeMetadata/v1/instance/service-accounts/default/identity",
        ] {
            assert_eq!(page(absent, None, &headers), Page::Nothing(StatusCode::NOT_FOUND), "{absent}");
        }
        headers.insert("x-forwarded-for", "10.0.0.1".parse().unwrap());
        assert_eq!(page(token, None, &headers), Page::Nothing(StatusCode::FORBIDDEN));
    }
}
