//! `egress config`.

use cofferdam_policy::address::DenyList;
use cofferdam_policy::document::{Egress, ForeignCredentials};

use crate::args::egress::EgressConfig;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::settings::Settings;

pub fn config(args: &EgressConfig) -> Result<Exit, Failure> {
    let settings = Settings::load()?;
    let rows = rows(&settings.config.egress);
    if args.json {
        let map: serde_json::Map<String, serde_json::Value> =
            rows.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect();
        output::json(&map)?;
    } else {
        let width = rows.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
        let lines: Vec<String> = rows.iter().map(|(key, value)| format!("{key:width$}  {value}\n")).collect();
        output::text(&lines.concat())?;
    }
    Ok(Exit::Success)
}

fn rows(egress: &Egress) -> Vec<(&'static str, String)> {
    let limit = |limit: Option<u64>| limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string());
    let proxy = egress.upstream_proxy.as_ref();
    vec![
        ("enabled", egress.enabled.to_string()),
        ("listen", egress.listen.to_string()),
        ("metrics", egress.metrics.map_or_else(|| "control socket only".to_owned(), |at| at.to_string())),
        ("enforce", egress.enforce.to_string()),
        ("fail_on_uncovered_providers", egress.fail_on_uncovered_providers.to_string()),
        ("allow_env_fallback", egress.allow_env_fallback.to_string()),
        (
            "foreign_credentials",
            match egress.foreign_credentials {
                ForeignCredentials::Refuse => "refuse".to_owned(),
                ForeignCredentials::Pass => "pass".to_owned(),
            },
        ),
        (
            "deny_cidrs",
            match &egress.deny {
                DenyList::BuiltIn => "built in".to_owned(),
                DenyList::BuiltInAnd(more) => format!("built in, and {} more", more.len()),
                DenyList::Off => "off".to_owned(),
            },
        ),
        ("upstream_ca_files", egress.upstream_ca_files.join(", ")),
        ("upstream_proxy", proxy.map_or_else(|| "none".to_owned(), |(host, port)| format!("{host}:{port}"))),
        ("limits.requests_per_minute", limit(egress.limits.requests_per_minute.map(u64::from))),
        ("limits.concurrent_requests", limit(egress.limits.concurrent_requests.map(u64::from))),
        ("limits.connections", limit(egress.limits.connections.map(u64::from))),
        ("limits.request_body", limit(egress.limits.request_body)),
        ("allow", format!("{} rules", egress.allow.len())),
    ]
}
