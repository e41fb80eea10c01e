//! Keys and values that people bring from elsewhere, and what they are called here.

/// What to write instead of a key that is not one here. The path is that of the table it stands in; an empty
/// one in this list means any table.
pub(super) fn key(path: &str, name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    KEYS.iter().find(|(at, old, _)| (at.is_empty() || *at == path) && *old == name).map(|(_, _, hint)| *hint)
}

/// What to write instead of a value.
pub(super) fn value(key: &str, text: &str) -> Option<&'static str> {
    VALUES.iter().find(|(at, old, _)| *at == key && old.eq_ignore_ascii_case(text)).map(|(_, _, hint)| *hint)
}

const KEYS: &[(&str, &str, &str)] = &[
    ("egress", "allow_hosts", "write [[egress.allow]] with hosts = [\u{2026}]"),
    ("egress", "allowed_hosts", "write [[egress.allow]] with hosts = [\u{2026}]"),
    ("egress", "allowlist", "write [[egress.allow]] with hosts = [\u{2026}]"),
    ("egress", "whitelist", "write [[egress.allow]] with hosts = [\u{2026}]"),
    ("egress", "allowed_domains", "write [[egress.allow]] with hosts = [\u{2026}]"),
    ("egress", "domains", "write [[egress.allow]] with hosts = [\u{2026}]"),
    ("egress", "rules", "write [[egress.allow]]"),
    ("egress", "deny_hosts", "every host that no rule allows is refused, so there is nothing to deny"),
    ("egress", "denylist", "every host that no rule allows is refused; address ranges are deny_cidrs"),
    ("egress", "deny_ips", "it is called deny_cidrs"),
    ("egress", "deny_ranges", "it is called deny_cidrs"),
    ("egress", "blocked_cidrs", "it is called deny_cidrs"),
    ("egress", "upstream_deny_cidrs", "it is called deny_cidrs"),
    ("egress", "ca_file", "it is a list called upstream_ca_files"),
    ("egress", "upstream_ca", "it is a list called upstream_ca_files"),
    ("egress", "ca_bundle", "it is a list called upstream_ca_files"),
    ("egress", "proxy", "it is called upstream_proxy"),
    ("egress", "port", "the port is part of listen = \"127.0.0.1:9191\""),
    ("egress", "tunnel_port", "the port is part of listen = \"127.0.0.1:9191\""),
    ("egress", "bind", "it is called listen"),
    ("egress", "address", "it is called listen"),
    ("egress", "enforce_on_docker", "it is called enforce, and holds for every sandbox"),
    ("egress", "fail_on_uncovered", "it is called fail_on_uncovered_providers"),
    ("egress", "rate_limit", "write [egress.limits] with requests_per_minute"),
    ("egress.limits", "rpm", "it is called requests_per_minute"),
    ("egress.limits", "max_body", "it is called request_body"),
    ("egress.limits", "max_request_body", "it is called request_body"),
    ("egress.limits", "max_concurrent_requests", "it is called concurrent_requests"),
    ("egress.allow", "host", "it is a list called hosts"),
    ("egress.allow", "domains", "it is called hosts"),
    ("egress.allow", "port", "it is a list called ports"),
    ("egress.allow", "method", "it is a list called methods"),
    ("egress.allow", "path", "it is a list called paths"),
    (
        "provider",
        "env",
        "the variables are a list called variables; where the value comes from is secret = { env = \u{2026} }",
    ),
    ("provider", "env_vars", "it is called variables"),
    ("provider", "id", "it is called name"),
    ("provider", "auth", "it is called scheme"),
    ("provider", "source", "it is called secret"),
    (
        "provider",
        "api_key",
        "a key never stands in the configuration; write secret = { env = \u{2026} }, { file = \u{2026} } or { command = \u{2026} }",
    ),
    (
        "provider",
        "key",
        "a key never stands in the configuration; write secret = { env = \u{2026} }, { file = \u{2026} } or { command = \u{2026} }",
    ),
    ("sandbox", "deny_read", "it is called hide"),
    ("sandbox", "hidden", "it is called hide"),
    ("sandbox", "env_passthrough", "write [sandbox.env] with pass = [\u{2026}]"),
    ("sandbox", "memory", "it belongs into [sandbox.limits]"),
    ("sandbox", "timeout", "write [sandbox.limits] with wall = \"1h\""),
    ("sandbox.env", "passthrough", "it is called pass"),
    ("sandbox.env", "allow", "it is called pass"),
    ("sandbox.limits", "pids", "it is called processes"),
    ("sandbox.limits", "max_processes", "it is called processes"),
    ("sandbox.limits", "timeout", "it is called wall"),
    ("sandbox.limits", "cpu_seconds", "it is called cpu, with a unit: cpu = \"10m\""),
    ("approval", "approval_mode", "it is called mode"),
    ("approval", "yolo", "write mode = \"off\""),
    ("approval", "cron_mode", "it is called cron"),
    ("", "providers", "write [[provider]]"),
    ("", "approvals", "it is called [approval]"),
    ("", "network", "it is called [egress]"),
    ("", "firewall", "it is called [egress]"),
    ("", "log", "it is called [audit]"),
];

const VALUES: &[(&str, &str, &str)] = &[
    ("approval.mode", "yolo", "it is called \"off\""),
    ("approval.mode", "none", "it is called \"off\""),
    ("approval.mode", "auto", "it is called \"smart\" here, or \"off\" for no questions at all"),
    ("approval.mode", "ask", "it is called \"manual\""),
    ("approval.cron", "approve", "it is called \"allow\""),
    ("approval.headless", "approve", "it is called \"allow\""),
    ("sandbox.profile", "read-only", "it is called \"strict\""),
    ("sandbox.profile", "workspace-write", "it is called \"workspace\""),
    ("sandbox.isolation", "optional", "it is called \"best-effort\""),
    ("sandbox.isolation", "best_effort", "it is called \"best-effort\""),
    ("egress.foreign_credentials", "allow", "it is called \"pass\""),
    ("egress.foreign_credentials", "deny", "it is called \"refuse\""),
    ("audit.on_write_failure", "fail_closed", "it is called \"refuse\""),
    ("audit.on_write_failure", "fail_open", "it is called \"continue\""),
];
