//! Containers with a network of their engine's, and the bridge's own address.

use cofferdam_testkit::container::{Engine, ImageTree, Kind, can_have_containers};
use cofferdam_testkit::{Cofferdam, Home};

use cofferdam_testkit::upstream::Reply;

use crate::bed::{self, BINARY, Bed, SECRET};

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

#[test]
fn req_e04_an_address_for_everybody_is_written_by_hand_and_warned_about() {
    if !can_have_containers() {
        return;
    }
    let home = Home::outside_tmp();
    home.write("cofferdam/config.toml", "");
    home.chmod("cofferdam", 0o700);
    let script = format!(
        "ip link set lo up; {BINARY} egress start; {BINARY} egress status --json; {BINARY} egress stop >/dev/null"
    );
    let start = || {
        let call = Cofferdam::new("unshare", &home).args(["--net", "sh", "-c", &script]);
        call.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").run().expect_status(0)
    };
    let usual = start();
    assert!(
        usual.stdout().contains("127.0.0.1:9191") && !usual.stderr().contains("every interface"),
        "{}",
        usual.stdout()
    );
    home.write("cofferdam/config.toml", "[egress]\nlisten = \"0.0.0.0:9191\"\n");
    let told = start().stderr();
    assert!(told.contains("warning: listening on every interface"), "{told}");
}

const ASK: &str = r#"curl -sS -H "Authorization: Bearer $ACME_API_KEY" https://api.example.test/v1"#;

#[test]
fn req_e04_e05_a_container_on_a_bridge_has_a_port_and_tokens_of_its_own() {
    if !can_have_containers() {
        return;
    }
    let bed = Bed::started(Kind::Docker);
    bed.upstream.route("/v1", Reply::Fixed { status: 200, headers: vec![], body: b"hello".to_vec() });
    let run = |script: &str| {
        let words = ["--bridge", "--rm", "-v", "/usr:/usr:ro", bed::IMAGE, "sh", "-c", script];
        bed.on_bridge("run", &words).run()
    };
    let told = run(&format!("{ASK}; echo; echo $ACME_API_KEY $HTTPS_PROXY; id -u; ls /sys/class/net"))
        .expect_status(0);
    let (out, told) = (told.stdout(), told.stderr());
    assert!(told.contains("led to the proxy by its variables"), "{told}");
    assert!(
        out.starts_with("hello\ncfd_") && out.contains("http://172.") && out.contains("\n1000\n"),
        "{out}"
    );
    assert!(out.contains("eth0") && !out.contains(SECRET), "{out}");
    assert_eq!(
        bed.upstream.requests()[0].header("authorization"),
        Some(format!("Bearer {SECRET}").as_bytes())
    );
    // Plain requests on the same port; and a token of another container is worth nothing.
    let stolen = out.lines().nth(1).and_then(|line| line.split(' ').next()).expect("a token");
    let script = format!(
        "curl -sS -o /dev/null -w '%{{http_code}} ' http://evil.example/; curl -sS -H 'Authorization: Bearer {stolen}' \
         -o /dev/null -w '%{{http_code}}' https://api.example.test/v1"
    );
    let told = run(&script).stdout();
    assert!(told.starts_with("403 ") && !told.ends_with("200"), "{told}");
    assert_eq!(bed.upstream.requests().len(), 1);
    for words in [["--network=host"], ["--privileged"], ["--pid=host"]] {
        let words = [&["--bridge"][..], &words, &[bed::IMAGE, "true"]].concat();
        bed.on_bridge("run", &words).run().expect_status(77);
    }
    // A network of the user's own has a bridge of its own.
    bed.engine.call(["network", "create", "mine"]).expect_status(0);
    let words = ["--bridge", "--network=mine", "--rm", "-v", "/usr:/usr:ro", bed::IMAGE, "sh", "-c", ASK];
    assert_eq!(bed.on_bridge("run", &words).run().expect_status(0).stdout(), "hello");
}

#[test]
fn req_e05_the_doctor_looks_from_inside_of_a_container_and_names_the_firewall() {
    if !can_have_containers() {
        return;
    }
    let bed = Bed::started(Kind::Docker);
    let look = || bed.on_bridge("doctor", &[bed::IMAGE]).run();
    let told = look().expect_status(0).stdout();
    assert!(told.contains("the proxy at 172.") && told.contains("is reached from in here"), "{told}");
    let firewall = |words: &[&str]| {
        let network = format!("--net=/proc/{}/ns/net", bed.engine.daemon_pid().expect("a daemon"));
        let call = Cofferdam::new("nsenter", &bed.home).args([network.as_str(), "iptables"]).args(words);
        call.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").run().expect_status(0);
    };
    for (target, words) in
        [(&["DROP"][..], "drops"), (&["REJECT", "--reject-with", "icmp-host-prohibited"], "rejects")]
    {
        let rule = [&["-i", "docker0", "-p", "tcp", "-j"][..], target].concat();
        firewall(&[&["-I", "INPUT"][..], &rule].concat());
        let told = look().expect_status(126).stderr();
        assert!(told.contains("cannot be reached from in here") && told.contains(words), "{told}");
        firewall(&[&["-D", "INPUT"][..], &rule].concat());
    }
    look().expect_status(0);
}
