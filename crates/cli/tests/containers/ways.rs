//! What a sealed container's programs find: names, ports and trust, whether they know of a proxy or not.

use crate::bed::{BINARY, Bed, IMAGE, SECRET};
use cofferdam_testkit::container::{Engine, ImageTree, Kind, can_have_containers};
use cofferdam_testkit::processes::wait_until;
use cofferdam_testkit::upstream::Reply;
use cofferdam_testkit::{Cofferdam, Home};

fn fixed(body: &str) -> Reply {
    Reply::Fixed { status: 200, headers: vec![], body: body.as_bytes().to_vec() }
}

const ASK: &str = r#"curl -sS -H "Authorization: Bearer $ACME_API_KEY" https://api.example.test/v1"#;
const FORGET: &str =
    "unset HTTPS_PROXY https_proxy HTTP_PROXY http_proxy ALL_PROXY all_proxy NODE_USE_ENV_PROXY;";

#[test]
fn req_i10_e17_programs_that_ignore_proxy_variables_work_in_a_sealed_container_and_are_refused_alike() {
    if !can_have_containers() {
        return;
    }
    for kind in [Kind::Podman, Kind::Docker] {
        let bed = Bed::started(kind);
        bed.upstream.route("/v1", fixed("hello"));
        let node = "const h=require('https');h.get('https://api.example.test/v1',{headers:{Authorization:'Bearer '+\
                    process.env.ACME_API_KEY}},r=>r.pipe(process.stdout))";
        let told = bed.shell(&format!("{FORGET} {ASK}; echo; /usr/bin/node -e \"{node}\"")).expect_status(0);
        assert_eq!(told.stdout(), "hello\nhello", "{}", told.stderr());
        for request in bed.upstream.requests() {
            assert_eq!(request.header("authorization"), Some(format!("Bearer {SECRET}").as_bytes()));
        }
        // A name that nobody allowed does not exist; one that was looked up is no way to another.
        let other = "--connect-to evil.example:443:api.example.test:443 https://evil.example/";
        let told = bed.shell(&format!(
            "{FORGET} curl -sS https://evil.example/; echo $?; curl -sSk -w '%{{http_code}}' -o /dev/null {other}"
        ));
        assert!(told.stdout().starts_with("6\n"), "{}\n{}", told.stdout(), told.stderr());
        assert!(!told.stdout().contains("200"), "{}", told.stdout());
        assert_eq!(bed.upstream.requests().len(), 2);
    }
}

#[test]
fn req_e17_java_finds_the_same_authority_in_its_own_form() {
    if !can_have_containers() {
        return;
    }
    let bed = Bed::started(Kind::Podman);
    let told = bed.shell("echo $JAVA_TOOL_OPTIONS; od -An -tx1 -N8 /cofferdam/ca.jks; cat /cofferdam/ca.pem");
    let told = told.expect_status(0).stdout();
    assert!(told.contains("trustStore=/cofferdam/ca.jks") && told.contains("proxyHost=127.0.0.1"), "{told}");
    // A key store of Java's, of the second version; what is in it is the certificate that is beside it.
    assert!(told.contains(" fe ed fe ed 00 00 00 02") && told.contains("BEGIN CERTIFICATE"), "{told}");
}

#[test]
fn req_e21_e19_a_rotated_authority_leaves_a_running_container_alone_and_a_vanished_one_starts_none() {
    if !can_have_containers() {
        return;
    }
    let bed = Bed::started(Kind::Podman);
    bed.upstream.route("/v1", fixed("hello"));
    let words = ["-d", "--name", "rotated", "-v", "/usr:/usr:ro", IMAGE, "sleep", "10000"];
    bed.docker("run", &words).run().expect_status(0);
    wait_until("the container runs", || bed.engine.call(["exec", "rotated", "true"]).status() == 0);
    let ask = || bed.engine.call(["exec", "rotated", "sh", "-c", ASK]);
    assert_eq!(ask().expect_status(0).stdout(), "hello");
    bed.egress(&["rotate-ca"]).expect_status(0);
    assert_eq!(ask().expect_status(0).stdout(), "hello", "it trusts the old one, which still signs for it");
    let told = bed.docker_exec(&["rotated", "true"]).expect_status(77).stderr();
    assert!(told.contains("before the authority was changed"), "{told}");
    bed.engine.call(["rm", "--force", "rotated"]).expect_status(0);
    assert_eq!(bed.shell(ASK).expect_status(0).stdout(), "hello", "a new one trusts the new one");
    std::fs::remove_dir_all(bed.home.path().join("cofferdam/state/ca")).expect("the authority");
    let told = bed.shell("echo ran").expect_status(125);
    assert!(
        told.stdout().is_empty() && told.stderr().contains("authority is not there"),
        "{}",
        told.stderr()
    );
}

#[test]
fn req_e18_e19_without_a_token_and_without_a_rule_there_is_no_container_unless_enforcement_is_off() {
    if !can_have_containers() {
        return;
    }
    let bed = Bed::new(Kind::Podman);
    bed.home.write("cofferdam/config.toml", "");
    bed.egress(&["start"]).expect_status(0);
    let told = bed.shell("echo ran").expect_status(125);
    assert!(told.stdout().is_empty() && told.stderr().contains("no token"), "{}", told.stderr());
    bed.home.write("cofferdam/config.toml", "this is = not a configuration");
    let told = bed.shell("echo ran").expect_status(78);
    assert!(told.stdout().is_empty(), "{}", told.stderr());
    bed.home.write("cofferdam/config.toml", "[egress]\nenforce = false\n");
    assert_eq!(bed.shell("echo ran").expect_status(0).stdout(), "ran\n");
    // What would be refused is said, and the wiring stands all the same.
    let words = ["--rm", "-e", "HTTPS_PROXY=http://elsewhere", IMAGE, "sh", "-c", "echo $HTTPS_PROXY"];
    let told = bed.docker("run", &words).run().expect_status(0);
    assert!(told.stderr().contains("warning: -e HTTPS_PROXY"), "{}", told.stderr());
    assert_eq!(told.stdout(), "http://127.0.0.1:9191\n");
}

#[test]
fn req_e18_a_secret_deep_in_a_mounted_directory_is_found() {
    if !can_have_containers() {
        return;
    }
    let bed = Bed::started(Kind::Podman);
    bed.home.write("work/a/b/c/.env", "KEY=1");
    bed.home.write("fine/a/b/c/env.txt", "nothing");
    let mount = |name: &str| format!("{}:/work", bed.home.path().join(name).display());
    let told = bed.docker("run", &["--rm", "-v", &mount("work"), IMAGE, "true"]).run().expect_status(77);
    assert!(told.stderr().contains("a/b/c/.env in it holds"), "{}", told.stderr());
    bed.docker("run", &["--rm", "-v", &mount("fine"), IMAGE, "true"]).run().expect_status(0);
}

#[test]
fn req_e18_a_compose_project_is_laid_over_or_refused_with_the_reason() {
    if !can_have_containers() {
        return;
    }
    let bed = Bed::started(Kind::Podman);
    let project = |further: &str| {
        format!(
            "{{\"services\": {{\"agent\": {{\"image\": \"{IMAGE}\", \"command\": [\"env\"]{further}}}}}}}"
        )
    };
    let lay = |further: &str| bed.compose(&project(further));
    let told = lay(", \"privileged\": true").expect_status(77).stderr();
    assert!(told.contains("--privileged is refused"), "{told}");
    let told = lay(", \"environment\": {\"ACME_API_KEY\": \"x\"}").expect_status(77).stderr();
    assert!(told.contains("ACME_API_KEY is refused"), "{told}");
    let text = lay("").expect_status(0).stdout();
    assert!(!text.contains("cfd_") && !text.contains(SECRET), "no token stands in it: {text}");
    let laid: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let agent = &laid["services"]["agent"];
    assert_eq!((&agent["network_mode"], &agent["read_only"]), (&"none".into(), &true.into()));
    // What compose would ask the engine for.
    let word = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let mut words: Vec<String> =
        ["run", "--rm", "--network=none", "--read-only", "--cap-drop=ALL"].map(String::from).into();
    words.extend(["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"].map(String::from));
    words.push("--sysctl=net.ipv4.ip_unprivileged_port_start=0".to_owned());
    words.push(format!("--entrypoint={}", word(&agent["entrypoint"][0])));
    words.push(format!("--env-file={}", word(&agent["env_file"][0])));
    words.extend(
        agent["volumes"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|volume| format!("--volume={}", word(volume))),
    );
    words.push(IMAGE.to_owned());
    words.extend(agent["command"].as_array().expect("a list").iter().map(word));
    let told = bed.engine.call(&words).expect_status(0).stdout();
    assert!(
        told.contains("ACME_API_KEY=cfd_") && told.contains("HTTPS_PROXY=http://127.0.0.1:9191"),
        "{told}"
    );
}

#[test]
fn req_e05_a_rootless_engine_seals_a_container_as_well() {
    if !can_have_containers() {
        return;
    }
    let engine = Engine::start(Kind::RootlessPodman);
    engine.import(&ImageTree::new(), IMAGE, &[]);
    let home = Home::outside_tmp();
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let listen = free.local_addr().expect("an address");
    drop(free);
    let config = format!("[egress]\nlisten = \"{listen}\"\n[[egress.allow]]\nhosts = [\"a.example\"]\n");
    home.write("cofferdam/config.toml", config);
    home.chmod("cofferdam", 0o700);
    let nobody =
        |path: &std::path::Path| std::os::unix::fs::chown(path, Some(65534), Some(65534)).expect("an owner");
    ["", "cofferdam", "cofferdam/config.toml"].iter().for_each(|name| nobody(&home.path().join(name)));
    let mut words = engine.words();
    let at = words.iter().position(|word| word == "podman").expect("its name");
    let own: Vec<String> =
        words.split_off(at + 1).iter().map(|word| format!("--engine-option={word}")).collect();
    words.pop();
    let call = |arguments: &[&str]| {
        let program = Cofferdam::new(&words[0], &home).args(&words[1..]).arg(BINARY).args(arguments);
        program
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("XDG_RUNTIME_DIR", home.path().join("cofferdam"))
    };
    call(&["egress", "start"]).run().expect_status(0);
    let script = "wget -O- http://evil.example/ 2>&1; ls /sys/class/net; id -u";
    let told = call(&["docker", "run", "--engine", "podman"])
        .args(&own)
        .args([
            "--rm",
            "--ulimit",
            "nofile=1024:1024",
            "--ulimit",
            "nproc=1024:1024",
            IMAGE,
            "sh",
            "-c",
            script,
        ])
        .run();
    call(&["egress", "stop"]).run().expect_status(0);
    let told = told.expect_status(0).stdout();
    assert!(told.contains("403 Forbidden") && told.ends_with("lo\n0\n"), "{told}");
}
