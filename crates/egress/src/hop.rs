//! What belongs to one connection and not to the message, and what each version of HTTP wants.

use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH,
    CONTENT_RANGE, CONTENT_TYPE, COOKIE, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, MAX_FORWARDS,
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, SET_COOKIE, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
    WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::uri::{PathAndQuery, Scheme, Uri};
use http::{Request, Version, response};

use crate::target::{Protocol, Target};

const ALT_SVC: HeaderName = HeaderName::from_static("alt-svc");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const HTTP2_SETTINGS: HeaderName = HeaderName::from_static("http2-settings");

const NO_TRAILERS: [HeaderName; 14] = [
    ALT_SVC,
    AUTHORIZATION,
    CACHE_CONTROL,
    CONTENT_ENCODING,
    CONTENT_LENGTH,
    CONTENT_RANGE,
    CONTENT_TYPE,
    HOST,
    MAX_FORWARDS,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    SET_COOKIE,
    TRAILER,
    WWW_AUTHENTICATE,
];

/// Takes out what the client said to us and not to the target.
///
/// `Expect` ends here: the client is told to go on as soon as the body is wanted, which the HTTP library does by
/// itself. No encoding is asked for, because an answer has to be looked into; a stream that arrives compressed would
/// have to be taken apart and put together again.
pub(crate) fn clean_request(parts: &mut Parts, switching: bool) {
    let headers = &mut parts.headers;
    let trailers = headers.get(TE).is_some_and(|te| te.as_bytes().eq_ignore_ascii_case(b"trailers"));
    let upgrade = headers.get(UPGRADE).cloned().filter(|_| switching);
    remove_hop_by_hop(headers);
    headers.remove(EXPECT);
    headers.remove(PROXY_AUTHORIZATION);
    headers.remove(HTTP2_SETTINGS);
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    if let Some(upgrade) = upgrade {
        headers.insert(UPGRADE, upgrade);
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    }
}

/// Whether an answer is in chunks at most, and in no other coding that is of one connection: those that compress were not
/// asked for, and nobody does.
pub(crate) fn is_framed_plainly(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let plain = |coding: &HeaderValue| {
        let coding = coding.as_bytes().trim_ascii();
        coding.eq_ignore_ascii_case(b"chunked") || coding.eq_ignore_ascii_case(b"identity")
    };
    codings.next().is_none_or(plain) && codings.next().is_none()
}

/// Takes out what the upstream said to us, and where else it could be reached: HTTP/3 would go past us.
pub(crate) fn clean_response(parts: &mut response::Parts) {
    // Chunks tell the length, and another one beside them is none (RFC 9112, 6.3): passed on, it would cut the body off.
    if parts.headers.contains_key(TRANSFER_ENCODING) {
        parts.headers.remove(CONTENT_LENGTH);
    }
    remove_hop_by_hop(&mut parts.headers);
    parts.headers.remove(PROXY_AUTHENTICATE);
    parts.headers.remove(ALT_SVC);
    parts.version = Version::HTTP_11;
}

/// Takes out what has no place behind a body (RFC 9110, 6.5.1): what says where a message ends, where it goes, who asks, and
/// how it is to be read was needed before it.
pub(crate) fn clean_trailers(trailers: &mut HeaderMap) {
    remove_hop_by_hop(trailers);
    for name in NO_TRAILERS {
        trailers.remove(name);
    }
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        .filter(|name| *name != HOST)
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in [CONNECTION, KEEP_ALIVE, PROXY_CONNECTION, TE, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
}

/// Origin form with one `Host`, and cookies in one line.
pub(crate) fn for_http1<B>(request: &mut Request<B>, target: &Target) {
    *request.version_mut() = Version::HTTP_11;
    let path = request.uri().path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
    *request.uri_mut() = Uri::from(path);
    if !request.headers().contains_key(HOST)
        && let Ok(host) = HeaderValue::from_str(&target.authority())
    {
        request.headers_mut().insert(HOST, host);
    }
    join_cookies(request.headers_mut());
}

/// The target in `:scheme` and `:authority`, and no `Host` beside them.
pub(crate) fn for_http2<B>(request: &mut Request<B>, target: &Target) {
    *request.version_mut() = Version::HTTP_2;
    request.headers_mut().remove(HOST);
    let mut parts = std::mem::take(request.uri_mut()).into_parts();
    parts.scheme = Some(match target.protocol() {
        Protocol::Http => Scheme::HTTP,
        Protocol::Https => Scheme::HTTPS,
    });
    parts.authority = target.authority().parse().ok();
    parts.path_and_query.get_or_insert(PathAndQuery::from_static("/"));
    *request.uri_mut() = Uri::from_parts(parts).unwrap_or_default();
}

/// HTTP/2 clients send each cookie by itself; HTTP/1.1 knows one line.
fn join_cookies(headers: &mut HeaderMap) {
    let cookies: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if cookies.len() > 1
        && let Ok(joined) = HeaderValue::from_bytes(&cookies.join(&b"; "[..]))
    {
        headers.insert(COOKIE, joined);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(headers: &[(&'static str, &str)]) -> Parts {
        let mut request = Request::builder().uri("/p?q=%20");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn names(parts: &Parts) -> Vec<&str> {
        let mut names: Vec<_> = parts.headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn what_belongs_to_the_connection_does_not_go_on() {
        let mut request = parts(&[
            ("host", "a.example"),
            ("connection", "X-Hop, host, keep-alive"),
            ("x-hop", "1"),
            ("keep-alive", "5"),
            ("proxy-authorization", "Basic eA=="),
            ("proxy-connection", "close"),
            ("te", "gzip"),
            ("upgrade", "h2c"),
            ("http2-settings", "AAA"),
            ("expect", "100-continue"),
            ("accept-encoding", "gzip"),
            ("x-end", "1"),
        ]);
        clean_request(&mut request, false);
        assert_eq!(names(&request), ["accept-encoding", "host", "x-end"]);
        assert_eq!(request.headers[ACCEPT_ENCODING], "identity");
        let mut socket = parts(&[("connection", "upgrade"), ("upgrade", "websocket"), ("te", "trailers")]);
        clean_request(&mut socket, true);
        assert_eq!(names(&socket), ["accept-encoding", "connection", "te", "upgrade"]);
    }

    #[test]
    fn each_version_names_the_target_in_its_own_way() {
        let target = Target::of_connect("a.example:8443", Protocol::Https).unwrap();
        let request = || {
            let mut request = Request::new(());
            *request.uri_mut() = "https://a.example:8443/p?q=%20".parse().unwrap();
            request.headers_mut().append(COOKIE, HeaderValue::from_static("a=1"));
            request.headers_mut().append(COOKIE, HeaderValue::from_static("b=2"));
            request
        };
        let mut one = request();
        for_http1(&mut one, &target);
        assert_eq!(
            (one.uri().to_string().as_str(), &one.headers()[HOST]),
            ("/p?q=%20", &"a.example:8443".parse().unwrap())
        );
        assert_eq!(one.headers()[COOKIE], "a=1; b=2");
        for_http2(&mut one, &target);
        assert_eq!(one.uri().to_string(), "https://a.example:8443/p?q=%20");
        assert!(!one.headers().contains_key(HOST));
    }
}
