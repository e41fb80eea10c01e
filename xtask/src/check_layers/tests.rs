use serde_json::{Value, json};

use super::*;

/// Metadata as cargo writes it, from `(crate, layer, needs)`; a crate without a layer is somebody else's.
fn graph(crates: &[(&str, Option<&str>, &[&str])]) -> Graph {
    let packages: Vec<Value> = crates
        .iter()
        .map(
            |(name, layer, _)| json!({"id": name, "name": name, "metadata": {"cofferdam": {"layer": layer}}}),
        )
        .collect();
    let nodes: Vec<Value> = crates
        .iter()
        .map(|(name, _, needs)| {
            let deps: Vec<Value> = needs
                .iter()
                .map(|need| match need.strip_prefix("dev:") {
                    Some(name) => json!({"pkg": name, "dep_kinds": [{"kind": "dev"}]}),
                    None => json!({"pkg": need, "dep_kinds": [{"kind": null}]}),
                })
                .collect();
            json!({"id": name, "deps": deps})
        })
        .collect();
    let members: Vec<&str> =
        crates.iter().filter(|(_, layer, _)| layer.is_some()).map(|(name, ..)| *name).collect();
    Graph::parse(&json!({"packages": packages, "workspace_members": members, "resolve": {"nodes": nodes}}))
}

const POLICY: (&str, Option<&str>, &[&str]) = ("cofferdam-policy", Some("pure"), &[]);
const SYSTEM: (&str, Option<&str>, &[&str]) = ("cofferdam-linux-sys", Some("system"), &["cofferdam-policy"]);
const SECRETS: (&str, Option<&str>, &[&str]) =
    ("cofferdam-secrets", Some("service"), &["cofferdam-linux-sys"]);
const TESTKIT: (&str, Option<&str>, &[&str]) = ("cofferdam-testkit", Some("dev"), &["cofferdam-secrets"]);

/// The crates above and one more.
fn with(name: &str, layer: &str, needs: &[&str]) -> Vec<String> {
    arrows(&graph(&[
        POLICY,
        SYSTEM,
        SECRETS,
        TESTKIT,
        ("tokio", None, &[]),
        ("libc", None, &[]),
        ("memchr", None, &[]),
        ("middle", None, &["libc", "tokio"]),
        (name, Some(layer), needs),
    ]))
}

#[test]
fn arrows_that_point_down_are_fine() {
    let fine: &[(&str, &str, &[&str])] = &[
        ("cofferdam-audit", "service", &["cofferdam-linux-sys", "cofferdam-policy", "libc"]),
        ("cofferdam-egress", "engine", &["cofferdam-secrets", "tokio"]),
        ("cofferdam", "top", &["cofferdam-secrets", "cofferdam-policy", "dev:cofferdam-testkit"]),
        ("cofferdam-shim", "top", &["cofferdam-linux-sys"]),
        ("cofferdam-shell-syntax", "pure", &["memchr", "dev:libc", "dev:cofferdam-testkit"]),
        ("cofferdam-bench", "dev", &["cofferdam-testkit", "cofferdam-secrets"]),
    ];
    for (name, layer, needs) in fine {
        assert_eq!(with(name, layer, needs), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn every_wrong_arrow_is_found() {
    let wrong: &[(&str, &str, &[&str], &str)] = &[
        ("cofferdam-control", "service", &["cofferdam-secrets"], "points sideways"),
        ("cofferdam-shell-syntax", "pure", &["cofferdam-policy"], "points sideways"),
        ("cofferdam-shell-syntax", "pure", &["cofferdam-linux-sys"], "points up (Pure \u{2192} System)"),
        ("cofferdam", "top", &["cofferdam-testkit"], "what ships does not use what tests it"),
        ("cofferdam-audit", "service", &["cofferdam-secrets"], "the record cannot hold what it cannot name"),
        ("cofferdam-sandbox", "engine", &["cofferdam-secrets"], "what sets the walls up holds no key"),
        ("cofferdam-sandbox", "engine", &["middle"], "cofferdam-sandbox \u{2192} middle \u{2192} tokio"),
        ("cofferdam-docker", "engine", &["cofferdam-secrets"], "may name a secret"),
        (
            "cofferdam-shell-syntax",
            "pure",
            &["middle"],
            "cofferdam-shell-syntax \u{2192} middle \u{2192} libc",
        ),
        ("cofferdam-shim", "top", &["cofferdam-policy"], "cofferdam-linux-sys and nothing else"),
        ("cofferdam-shim", "top", &["libc"], "cofferdam-linux-sys and nothing else"),
        ("cofferdam-new", "middle", &[], "there is no layer \u{201c}middle\u{201d}"),
    ];
    for (name, layer, needs, finding) in wrong {
        let findings = with(name, layer, needs);
        assert!(
            findings.iter().any(|found| found.contains(finding)),
            "{name}: {finding} not in {findings:?}"
        );
    }
}

#[test]
fn a_crate_without_a_layer_is_found() {
    let metadata =
        json!({"packages": [{"id": "x", "name": "x", "metadata": null}], "workspace_members": ["x"]});
    assert_eq!(arrows(&Graph::parse(&metadata)), ["x: no layer in [package.metadata.cofferdam]"]);
}

#[test]
fn a_pure_source_says_nothing_that_reaches_out() {
    let source =
        "use std::net::IpAddr; // std::fs\nlet now = SystemTime::now();\n#[cfg(test)]\nmod tests { std::fs }";
    assert_eq!(impure_words("x.rs", source), ["x.rs:2: a pure crate does not say `SystemTime::now`"]);
}
