//! `[[egress.allow]]`.

use super::reader::{Section, Wrong};
use crate::host::{HostPattern, PatternError};
use crate::method::{Method, MethodError};
use crate::mistake::quoted;
use crate::path::PathPattern;
use crate::rules::AllowRule;

pub(super) fn read_all(egress: &Section<'_>) -> Vec<AllowRule> {
    egress.sections("allow").iter().map(read).collect()
}

fn read(section: &Section<'_>) -> AllowRule {
    section.allow_keys(&["hosts", "ports", "methods", "paths"]);
    section.needs("hosts", "must name at least one host");
    for list in ["ports", "methods", "paths"] {
        if section.has(list) {
            section.needs(list, "is an empty list, which would allow nothing; leave it out to allow all");
        }
    }
    let hosts = section.list("hosts", |text| HostPattern::parse_with_port(text).map_err(host_hint));
    if section.has("ports") && hosts.iter().any(|(_, port)| port.is_some()) {
        section.wrong(
            "ports",
            "the ports are given twice, here and after a host",
            Some("keep one of them".into()),
        );
    }
    let ports = section.ports("ports");
    AllowRule {
        hosts,
        ports: if section.has("ports") { ports } else { AllowRule::PORTS.into() },
        methods: section.list("methods", |text| {
            Method::parse(text).map_err(|error| {
                let hint = (error == MethodError::NotUpperCase)
                    .then(|| format!("write {}", quoted(&text.to_ascii_uppercase())));
                (error.to_string(), hint)
            })
        }),
        paths: section.list("paths", |text| {
            let hint =
                "a path begins with /; * stands for a part of one segment, ** for any number of segments";
            PathPattern::parse(text).map_err(|error| (error.to_string(), Some(hint.to_owned())))
        }),
    }
}

pub(super) fn host_hint(error: PatternError) -> Wrong {
    let hint = match error {
        PatternError::Everything => Some("name the hosts, or all names below one as *.example.com"),
        PatternError::Star => Some("*.example.com stands for every name below example.com"),
        PatternError::Url => Some("write the host alone; ports and paths have keys of their own"),
        PatternError::Host(crate::host::HostError::Port) => Some("a port is a number from 1 to 65535"),
        PatternError::Host(crate::host::HostError::AddressSpelling) => {
            Some("write an IPv4 address as four decimal numbers, such as 192.0.2.1")
        }
        PatternError::Host(_) | PatternError::BelowAddress => None,
    };
    (error.to_string(), hint.map(str::to_owned))
}
