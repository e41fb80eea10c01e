//! What the person is told about the network of a run: in two lines when it is the first, in full on request.

use cofferdam_policy::rules::AllowRule;

use super::wish::Wished;
use crate::args::run::Run;
use crate::outlet::Outlet;

/// Hosts that are named in one line.
const MOST_NAMED: usize = 8;

/// What was found and what is allowed, the first time and whenever it is asked for.
pub fn beginning(verbose: bool, outlet: &Outlet, wished: &Wished) {
    if !outlet.first && !verbose {
        return;
    }
    let providers = match outlet.providers.as_slice() {
        [] => "no keys were found, so the command gets no tokens".to_owned(),
        providers => {
            let names: Vec<_> = providers.iter().map(|provider| provider.name.as_ref()).collect();
            format!("keys found: {}; the command gets tokens in their place", listed(&names, verbose))
        }
    };
    let made = if outlet.first { ", and a certificate authority was made for the sandboxes" } else { "" };
    eprintln!("cofferdam: {providers}{made}");
    let allow = &wished.layered.config.egress.allow;
    let mut hosts: Vec<String> = allow.iter().chain(&wished.allow).flat_map(hosts).collect();
    hosts.extend(outlet.providers.iter().flat_map(|provider| provider.hosts.iter().map(ToString::to_string)));
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    match hosts.as_slice() {
        [] => eprintln!("cofferdam: no host is allowed; --allow HOST lets the command reach one"),
        hosts => eprintln!(
            "cofferdam: hosts allowed: {}; --allow HOST lets the command reach more",
            listed(hosts, verbose)
        ),
    }
}

/// Refusals that had to wait, and what was asked for.
pub fn end(args: &Run, outlet: &Outlet) {
    outlet.notices.tell_rest();
    if args.summary {
        eprint!("{}", outlet.tally.summary());
    }
    if args.learn {
        eprint!("{}", outlet.tally.needed());
    }
}

fn hosts(rule: &AllowRule) -> impl Iterator<Item = String> {
    rule.hosts.iter().map(|(host, port)| match port {
        Some(port) => format!("{host}:{port}"),
        None => host.to_string(),
    })
}

fn listed(names: &[&str], all: bool) -> String {
    match names.len().checked_sub(MOST_NAMED) {
        Some(more) if more > 0 && !all => {
            format!("{} and {more} more", names[..MOST_NAMED].join(", "))
        }
        _ => names.join(", "),
    }
}
