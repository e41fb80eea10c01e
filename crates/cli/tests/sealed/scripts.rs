//! Scripts with tools: the same way out, whoever serves it.

use serde_json::Value;

use crate::bed::{Bed, SECRET, fixed};

#[test]
fn req_i10_i02_a_script_and_its_tools_reach_what_is_allowed_with_a_token_and_nothing_else() {
    Bed::each(|bed| {
        bed.upstream.route("/v1", fixed("hello"));
        let text = "
import os, urllib.request as u, urllib.error, cofferdam_tools as t
def ask(url, **headers):
    try: return u.urlopen(u.Request(url, headers=headers), timeout=20).read().decode()
    except urllib.error.HTTPError as error: return error.code
    except OSError as error: return type(error).__name__
token = os.environ['ACME_API_KEY']
print(token)
print(ask('https://api.example.test/v1', Authorization='Bearer ' + token))
print(t.terminal('curl -sS -H \"Authorization: Bearer $ACME_API_KEY\" https://api.example.test/v1')['output'])
print(ask('https://evil.example/'))
";
        let script = bed.home.write("project/s.py", text);
        let call =
            bed.call().args(["exec-code", "--session-kind", "gateway", "--tools", "terminal"]).arg(script);
        // What is tested is the way out, not the asking.
        let config = std::fs::read_to_string(bed.home.path().join("cofferdam/config.toml")).expect("a file");
        bed.home.write("cofferdam/config.toml", config + "[approval]\nmode = \"off\"\n");
        let result: Value = serde_json::from_str(&call.run().expect_status(0).stdout()).expect("a result");
        let printed: Vec<&str> = result["output"].as_str().expect("a text").lines().collect();
        // A token is no secret: the script may say what it holds.
        assert!(printed[0].starts_with("cfd_"), "{result:#}");
        assert_eq!(printed[1..], ["hello", "hello", "URLError"], "{result:#}");
        assert!(!result.to_string().contains(SECRET));
        for request in bed.upstream.requests() {
            assert_eq!(request.header("authorization"), Some(format!("Bearer {SECRET}").as_bytes()));
        }
    });
}
