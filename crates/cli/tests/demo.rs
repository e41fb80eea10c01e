//! `cofferdam demo`: what a person sees first.

use cofferdam_testkit::{Cofferdam, Home};

const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");

#[test]
fn req_e01_the_demo_shows_the_key_used_and_every_try_to_steal_it_failing() {
    let home = Home::new();
    let run = Cofferdam::new(COFFERDAM, &home).arg("demo").run().expect_status(0);
    assert!(run.stdout().contains("the host got the real key"), "{}", run.stdout());
    assert!(run.stdout().contains("None of 14 tries worked."), "{}", run.stdout());
    assert!(!run.stdout().contains('\u{1b}'), "no colours into a file");
    let run = Cofferdam::new(COFFERDAM, &home).args(["demo", "--json"]).run().expect_status(0);
    assert!(run.stdout().contains("\"worked\": false") && !run.stdout().contains("\"worked\": true"));
}

#[test]
fn the_same_tries_work_where_there_are_no_walls() {
    let home = Home::outside_tmp();
    let key = "sk-demo-canary-5f4e3d2c1b0a";
    let host = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = host.local_addr().expect("an address").port();
    home.write("cofferdam/config.toml", key);
    home.write("cofferdam/state/ca/ca.key", key);
    let state = home.path().join("cofferdam/state");
    home.write("facts.json", format!("{{\"port\": {port}, \"state\": {state:?}}}"));
    let run = Cofferdam::new(COFFERDAM, &home).current_dir(home.path()).env("DEMO_API_KEY", key);
    let run = run.args(["demo", "--inside", "facts.json"]).run().expect_status(0);
    let tries: Vec<serde_json::Value> =
        run.stdout().lines().skip(1).map(|line| serde_json::from_str(line).expect("a try")).collect();
    let worked = |name: &str| {
        let one = tries.iter().find(|one| one["name"] == name).expect(name);
        one["reached"] == true || one["got"].as_str().is_some_and(|got| got.contains(key))
    };
    for name in [
        "look into its own environment",
        "read the configuration",
        "read the authority's key",
        "dial the host past the proxy",
    ] {
        assert!(worked(name), "{name}: {tries:#?}");
    }
}
