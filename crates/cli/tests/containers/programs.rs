//! Real programs around and in containers: compose, a Java machine, and the engines' own lists of options.

use crate::bed::{Bed, IMAGE, SECRET};
use cofferdam_testkit::container::{Kind, can_have_containers};
use cofferdam_testkit::upstream::Reply;
use cofferdam_testkit::{Cofferdam, Outcome, clients};

fn fixed(body: &str) -> Reply {
    Reply::Fixed { status: 200, headers: vec![], body: body.as_bytes().to_vec() }
}

const PROJECT: &str = r#"
services:
  agent:
    image: cofferdam-test/contained
    command: ["sh", "-c", "curl -sS -H \"Authorization: Bearer $$ACME_API_KEY\" https://api.example.test/v1; echo; ls /sys/class/net; id -u; touch /x || echo closed; curl -sS -o /dev/null -w \"%{http_code}\\n\" http://evil.example/"]
    volumes:
      - {type: bind, source: /usr, target: /usr, read_only: true}
"#;

/// Debian's compose prints YAML, which this makes what newer ones print with `--format json`.
const AS_JSON: &str = "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)";

#[test]
fn req_e17_e18_a_real_compose_program_starts_a_sealed_service() {
    if !can_have_containers() {
        return;
    }
    let bed = Bed::started(Kind::Docker);
    bed.upstream.route("/v1", fixed("hello"));
    bed.home.write("project/compose.yaml", PROJECT);
    let words = bed.engine.words();
    let compose = |words_behind: &[&str]| -> Outcome {
        let call = Cofferdam::new("docker-compose", &bed.home).current_dir(&bed.home.path().join("project"));
        let call = call.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        call.args(&words[1..]).args(["-p", "sealed", "-f", "compose.yaml"]).args(words_behind).run()
    };
    let resolved = compose(&["config"]).expect_status(0).stdout();
    let json = Cofferdam::new("/usr/bin/python3", &bed.home).args(["-I", "-c", AS_JSON]).input(resolved);
    let override_file = bed.compose(&json.run().expect_status(0).stdout()).expect_status(0).stdout();
    assert!(!override_file.contains("cfd_") && !override_file.contains(SECRET), "{override_file}");
    bed.home.write("project/sealed.json", override_file);
    let up = ["-f", "sealed.json", "up", "--no-color", "--abort-on-container-exit"];
    let told = compose(&up);
    let said = told.stdout();
    for line in ["| hello", "| lo", "| 1000", "| closed", "| 403"] {
        assert!(said.contains(line), "{line}: {said}\n{}", told.stderr());
    }
    assert!(!said.contains("eth0"), "{said}");
    compose(&["-f", "sealed.json", "down"]).expect_status(0);
    let requests = bed.upstream.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].header("authorization"), Some(format!("Bearer {SECRET}").as_bytes()));
}

#[test]
fn req_e17_i10_java_in_a_container_works_with_and_without_the_proxy() {
    if !can_have_containers() {
        return;
    }
    let bed = Bed::started(Kind::Podman);
    bed.upstream.route("/v1", fixed("hello"));
    let classes = format!("{}:/classes:ro", clients::installed("java").display());
    let machine = std::fs::canonicalize("/usr/bin/java").expect("a Java machine");
    let machine = machine.to_str().expect("a plain path");
    // Its settings are below /etc, where the image has none, and the machine's own are not mounted.
    bed.home.write("settings/README", "of Java");
    let copy = "cp -rL /etc/java-*-openjdk settings/";
    Cofferdam::new("/bin/sh", &bed.home)
        .current_dir(bed.home.path())
        .args(["-c", copy])
        .run()
        .expect_status(0);
    let settings = std::fs::read_dir(bed.home.path().join("settings")).expect("settings").flatten();
    let settings = settings.map(|entry| (entry.path(), entry.file_name())).filter(|(path, _)| path.is_dir());
    let settings: Vec<String> =
        settings.map(|(from, name)| format!("{}:/etc/{}:ro", from.display(), name.display())).collect();
    let mut words = vec!["--rm", "-v", "/usr:/usr:ro", "-v", &classes];
    words.extend(settings.iter().flat_map(|mount| ["-v", mount]));
    words.extend([IMAGE, machine, "-cp", "/classes", "Client"]);
    words.extend(["https://api.example.test/v1", "https://evil.example/"]);
    let told = bed.docker("run", &words).run();
    let ways = ["connection", "connection, no proxy", "client", "client, no proxy"];
    let expected =
        ["hello", "refused"].iter().flat_map(|answer| ways.map(|way| format!("{way}: {answer}\n")));
    assert_eq!(told.stdout(), expected.collect::<String>(), "{}", told.stderr());
    assert_eq!(bed.upstream.requests().len(), ways.len());
}

#[test]
fn req_e17_a_terminal_goes_through_to_a_sealed_command_and_to_what_is_started_later() {
    if !can_have_containers() {
        return;
    }
    let bed = Bed::started(Kind::Podman);
    let script = "test -t 0 && stty size; echo ready; read word; echo got $word; exit 5";
    let run = ["--rm", "-it", "--name", "typed", "-v", "/usr:/usr:ro", IMAGE, "sh", "-c", script];
    let mut first = bed.docker("run", &run).on_terminal();
    first.until("ready");
    let words = ["--interactive", "--tty", "typed", "sh", "-c", script];
    let later = bed.docker_exec_call(&words).on_terminal();
    // One after the other: the engine forgets how a command has ended with the container that it was in.
    for mut program in [later, first] {
        program.type_in("it\r");
        program.until("got it");
        assert_eq!(program.end().0, 5);
    }
}

/// The options that an engine lists, as they would be typed: those with a kind of value behind them with a value.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let option = |line: &str| {
        let at = line.find("--")?;
        let mut words = line[at..].splitn(2, ' ');
        let name = words.next()?;
        let takes = words.next().is_some_and(|rest| !rest.starts_with("  ") && !rest.is_empty());
        Some(if takes { format!("{name}=1") } else { name.to_owned() })
    };
    lines.filter_map(option).filter(|option| !option.starts_with("--help")).collect()
}

#[test]
fn req_e18_every_option_that_an_engine_lists_is_understood() {
    if !can_have_containers() {
        return;
    }
    for kind in [Kind::Podman, Kind::Docker] {
        let bed = Bed::new(kind);
        let help = bed.engine.call(["run", "--help"]).expect_status(0).stdout();
        let options = listed(&help);
        assert!(options.len() > 80, "{options:?}");
        let mut words: Vec<&str> = options.iter().map(String::as_str).collect();
        words.extend([IMAGE, "true"]);
        let told = bed.docker("run", &words).run().expect_status(77).stderr();
        assert!(told.contains("--privileged is refused") && told.contains("--network is refused"), "{told}");
    }
}
