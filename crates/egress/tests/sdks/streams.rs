//! Libraries that keep a connection and talk over it.

use cofferdam_testkit::upstream::Reply;
use cofferdam_testkit::{Cofferdam, clients};

use super::ran;
use crate::proxied::{HOST, Proxied, SECRET};
use cofferdam_testkit::upstream::HttpVersion;

fn held(proxied: &Proxied, program: &str, token: &str) -> Cofferdam {
    let (proxy, ca) = (format!("http://{}", proxied.address), proxied.home.path().join("ca.pem"));
    clients::python(&proxied.home, program)
        .env("HTTPS_PROXY", &proxy)
        .env("https_proxy", &proxy)
        .env("SSL_CERT_FILE", &ca)
        .env("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", &ca)
        .env("HOST", HOST)
        .env("TOKEN", token)
}

#[test]
fn req_e26_websockets_in_python_works_unchanged() {
    let proxied = Proxied::tls(&[HttpVersion::Http2, HttpVersion::Http1]);
    proxied.upstream.route("/chat", Reply::Socket);
    let program = r#"
import os
from websockets.sync.client import connect
header = {"Authorization": "Bearer " + os.environ["TOKEN"]}
with connect(f"wss://{os.environ['HOST']}/chat", additional_headers=header) as socket:
    print(socket.recv())
    for text in ["one", "x" * 70000]:
        socket.send(text)
        assert socket.recv() == text
    socket.send(["cut ", "into ", "frames"])
    print(socket.recv())
"#;
    let said = ran(held(&proxied, program, proxied.token(0).expose()), &proxied);
    assert!(said.starts_with(&format!("Bearer {}\n", "*".repeat(SECRET.len()))), "{said}");
    let requests = proxied.upstream.requests();
    assert_eq!(requests[0].header("authorization"), Some(format!("Bearer {SECRET}").as_bytes()));
}

#[test]
fn req_e26_grpc_in_python_works_unchanged() {
    let proxied = Proxied::tls(&[HttpVersion::Http2]);
    proxied.upstream.route("/test.Echo/Once", Reply::Grpc { messages: 1 });
    proxied.upstream.route("/test.Echo/Often", Reply::Grpc { messages: 5 });
    let program = r#"
import os, grpc
channel = grpc.secure_channel(os.environ["HOST"] + ":443", grpc.ssl_channel_credentials())
metadata = (("authorization", "Bearer " + os.environ["TOKEN"]),)
print(channel.unary_unary("/test.Echo/Once")(b"once", metadata=metadata, timeout=60).decode())
for answer in channel.unary_stream("/test.Echo/Often")(b"often", metadata=metadata, timeout=60):
    print(answer.decode())
"#;
    let said = ran(held(&proxied, program, proxied.token(0).expose()), &proxied);
    assert_eq!(said, format!("once\n{}", "often\n".repeat(5)));
    let requests = proxied.upstream.requests();
    assert!(requests.iter().all(|request| {
        request.version == HttpVersion::Http2
            && request.header("authorization") == Some(format!("Bearer {SECRET}").as_bytes())
            && request.header("te") == Some(b"trailers")
    }));
}
