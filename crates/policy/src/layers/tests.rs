use super::*;
use crate::host::HostPattern;

fn config(text: &str) -> Layered {
    Layered::new(Config::parse("config.toml", text).unwrap())
}

fn project(text: &str) -> Project {
    Project::parse(".cofferdam.toml", text).unwrap()
}

fn allow(hosts: &[&str]) -> Vec<AllowRule> {
    let pattern = |host: &&str| HostPattern::parse(host).unwrap();
    hosts.iter().map(|host| AllowRule::whole_host(pattern(host), None)).collect()
}

fn ask(reach: &Reach, host: &str, method: &str) -> Result<Grant, Refused> {
    let host = Host::parse(host).unwrap();
    assert_eq!(reach.reaches(&host, 443), reach.knows(&host));
    reach.check(&Question { host: &host, port: 443, method, path: None })
}

const USER: &str = "[[egress.allow]]\nhosts = [\"*.example\"]\n";

#[test]
fn a_project_narrows_the_users_hosts_and_adds_none() {
    let layered = config(USER)
        .narrow(project("[[egress.allow]]\nhosts = [\"a.example\", \"evil.test\"]\nmethods = [\"GET\"]\n"));
    let reach = layered.reach(&[]);
    assert_eq!(ask(&reach, "a.example", "GET"), Ok(Grant::User { rule: 0 }));
    assert_eq!(ask(&reach, "a.example", "POST"), Err(Refused::Project(Refusal::Method)));
    assert_eq!(ask(&reach, "b.example", "GET"), Err(Refused::Project(Refusal::Host)));
    assert_eq!(ask(&reach, "evil.test", "GET"), Err(Refused::User(Refusal::Host)));
}

#[test]
fn a_project_that_is_silent_changes_nothing_and_an_empty_list_leaves_nothing() {
    assert!(ask(&config(USER).narrow(project("")).reach(&[]), "b.example", "GET").is_ok());
    let none = config(USER).narrow(project("[egress]\nallow = []")).reach(&[]);
    assert_eq!(ask(&none, "b.example", "GET"), Err(Refused::Project(Refusal::Host)));
}

#[test]
fn what_is_typed_widens_past_the_project() {
    let run = RunOptions { allow: allow(&["typed.test"]), ..RunOptions::default() };
    let reach = config(USER)
        .narrow(project("[egress]\nallow = []"))
        .overridden_by(run)
        .reach(&allow(&["model.test"]));
    assert_eq!(ask(&reach, "model.test", "POST"), Ok(Grant::Run { rule: 0 }));
    assert_eq!(ask(&reach, "typed.test", "POST"), Ok(Grant::Run { rule: 1 }));
    assert!(ask(&reach, "a.example", "GET").is_err());
}

#[test]
fn of_two_limits_the_lower_holds_until_the_person_says_otherwise() {
    let user = "[egress.limits]\nrequests_per_minute = 100\n[sandbox.limits]\nmemory = \"1GiB\"\n[sandbox]\nhide = [\"/a\"]\n";
    let narrow = "[egress.limits]\nrequests_per_minute = 900\nrequest_body = \"1MiB\"\n\
                  [sandbox]\nprofile = \"home\"\nhide = [\"/b\"]\n[sandbox.limits]\nmemory = \"2GiB\"\nprocesses = 9\n";
    let layered = config(user).narrow(project(narrow));
    assert_eq!(layered.config.egress.limits.requests_per_minute, Some(100));
    assert_eq!(layered.config.egress.limits.request_body, Some(1 << 20));
    assert_eq!(layered.config.sandbox.limits.memory, Some(1 << 30));
    assert_eq!(layered.config.sandbox.limits.processes, Some(9));
    assert_eq!(layered.config.sandbox.profile, Profile::Workspace);
    assert_eq!(layered.config.sandbox.hide, ["/a", "/b"]);

    let limits = SandboxLimits { memory: Some(8 << 30), ..SandboxLimits::default() };
    let run = RunOptions { limits, profile: Some(Profile::Home), ..RunOptions::default() };
    let layered = layered.overridden_by(run);
    assert_eq!(layered.config.sandbox.limits.memory, Some(8 << 30));
    assert_eq!(layered.config.sandbox.limits.processes, Some(9));
    assert_eq!(layered.config.sandbox.profile, Profile::Home);
}

#[test]
fn a_project_can_make_the_profile_stricter() {
    let layered = config("").narrow(project("[sandbox]\nprofile = \"strict\""));
    assert_eq!(layered.config.sandbox.profile, Profile::Strict);
}
