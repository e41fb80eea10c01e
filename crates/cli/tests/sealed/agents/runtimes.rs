//! Runtimes that bring their own idea of proxies, names and trust: Java and Go, with the settings honoured and ignored.

use cofferdam_testkit::clients;

use crate::bed::{Bed, HOST, SECRET, fixed};

const ALLOWED: &str = "https://api.example.test/v1";
const REFUSED: &str = "https://evil.example/";

/// Every way of a client gets its answer from the allowed host and none from the other, and the upstream gets the key
/// from all of them.
#[track_caller]
fn asks(bed: &Bed, options: &[&str], command: &[&str], ways: &[&str]) {
    bed.upstream.route("/v1", fixed("hello"));
    let before = bed.upstream.requests().len();
    let run = bed.run(options, &[command, &[ALLOWED, REFUSED]].concat()).run();
    let said = |answer: &str| ways.iter().map(|way| format!("{way}: {answer}\n")).collect::<String>();
    let expected = said("hello") + &said("refused");
    assert_eq!(run.stdout(), expected, "{}", run.stderr());
    assert!(run.stderr().contains("--allow evil.example"), "{}", run.stderr());
    let requests = &bed.upstream.requests()[before..];
    assert_eq!(requests.len(), ways.len());
    let key = format!("Bearer {SECRET}");
    assert!(requests.iter().all(|request| request.header("authorization") == Some(key.as_bytes())));
    assert!(requests.iter().all(|request| request.header("host").is_none_or(|host| host == HOST.as_bytes())));
}

#[test]
fn req_e17_i10_java_trusts_a_store_that_no_java_made_and_works_with_and_without_the_proxy() {
    let classes = clients::installed("java").display().to_string();
    let ways = ["connection", "connection, no proxy", "client", "client, no proxy"];
    Bed::each(|bed| {
        // A user's own options stay, ours are behind them.
        let options = ["--read", &classes, "--env", "JAVA_TOOL_OPTIONS=-Xshare:auto -Dmine=kept"];
        asks(bed, &options, &["java", "-cp", &classes, "Client"], &ways);
        let options = ["--env", "JAVA_TOOL_OPTIONS=-Dmine=kept"];
        let run = bed.run(&options, &["java", "-XshowSettings:properties", "-version"]).run();
        assert!(run.stderr().contains("mine = kept"), "{}", run.stderr());
    });
}

#[test]
fn req_e17_i10_go_works_with_and_without_the_proxy_by_its_own_resolver_and_by_the_systems() {
    let program = clients::installed("go").join("client").display().to_string();
    let ways = ["client", "client, no proxy"];
    Bed::each(|bed| {
        for resolver in ["GODEBUG=netdns=go", "GODEBUG=netdns=cgo"] {
            asks(bed, &["--read", &program, "--env", resolver], &[&program], &ways);
        }
    });
}
