//! Containers with a network of their engine's, and the bridge's own address.

use cofferdam_testkit::container::{Engine, ImageTree, Kind, can_have_containers};
use cofferdam_testkit::{Cofferdam, Home};

use crate::bed::BINARY;

const IMAGE: &str = "cofferdam-test/bridged";

/// A call in the network namespace that the engine of the test has for itself.
fn within(engine: &Engine, home: &Home, words: &[&str]) -> Cofferdam {
    let network = format!("--net=/proc/{}/ns/net", engine.daemon_pid().expect("a daemon"));
    Cofferdam::new("nsenter", home).args([&network, BINARY]).args(words)
}

#[test]
fn req_e04_e05_a_container_on_a_bridge_reaches_the_proxy_at_the_bridges_own_address() {
    if !can_have_containers() {
        return;
    }
    let engine = Engine::start(Kind::Docker);
    engine.import(&ImageTree::new(), IMAGE, &[]);
    let home = Home::outside_tmp();
    home.write("cofferdam/config.toml", "");
    home.chmod("cofferdam", 0o700);
    let told = within(&engine, &home, &["docker", "bridge", "--json"]).run().expect_status(0).stdout();
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let listen = told["listen"].as_str().expect("an address").to_owned();
    assert!(listen.starts_with("172.") && listen.ends_with(":9191"), "{listen}");
    home.write("cofferdam/config.toml", format!("[egress]\nlisten = \"{listen}\"\n"));
    within(&engine, &home, &["egress", "start"]).run().expect_status(0);
    let proxy = format!("http_proxy=http://{listen}");
    let tunnel = format!(
        "printf 'CONNECT evil.example:443 HTTP/1.1\\r\\nHost: evil.example:443\\r\\n\\r\\n' | nc {} | head -n 1",
        listen.replace(':', " ")
    );
    let script = format!("wget -O /dev/null http://evil.example/ 2>&1; {tunnel}");
    let told = engine.call(["run", "--rm", "--env", &proxy, IMAGE, "sh", "-c", &script]).stdout();
    within(&engine, &home, &["egress", "stop"]).run().expect_status(0);
    assert!(told.contains("403 Forbidden") && told.contains("HTTP/1.1 403"), "{told}");
}

#[test]
fn req_e04_what_is_no_bridge_or_has_no_private_address_is_refused() {
    let home = Home::new();
    for name in ["lo", "no-such-bridge", "../x", ""] {
        let told = Cofferdam::new(BINARY, &home).args(["docker", "bridge", name]).run().expect_status(69);
        assert!(told.stderr().contains("is no bridge"), "{}", told.stderr());
    }
    if !can_have_containers() {
        return;
    }
    for (address, words) in
        [("8.8.8.1/24", "public"), ("169.254.7.1/24", "link-local"), ("127.9.0.1/24", "loopback")]
    {
        let script = format!(
            "ip link add br9 type bridge && ip addr add {address} dev br9 && ip link set br9 up && exec {BINARY} docker bridge br9"
        );
        let told = Cofferdam::new("unshare", &home)
            .args(["--net", "sh", "-c", &script])
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        let told = told.run().expect_status(77).stderr();
        assert!(told.contains(words) && told.contains("\nhint: "), "{told}");
    }
}
