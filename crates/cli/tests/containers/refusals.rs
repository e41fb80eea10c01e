//! What would undo the wiring of a container is refused, and without a way out there is no container.

use crate::bed::{Bed, IMAGE, SECRET};
use cofferdam_testkit::container::{Kind, can_have_containers};
use cofferdam_testkit::processes::wait_until;

#[test]
fn req_e18_options_that_undo_the_wiring_are_refused_with_the_reason() {
    if !can_have_containers() {
        return;
    }
    let bed = Bed::started(Kind::Podman);
    bed.home.write("work/.env", "KEY=1");
    bed.home.write("fine/file", "x");
    let work = format!("{}:/work", bed.home.path().join("work").display());
    let own = format!("{}:/own", bed.home.path().join("cofferdam").display());
    for (words, reason) in [
        (&["-eHTTPS_PROXY=http://elsewhere"][..], "HTTPS_PROXY"),
        (&["--env", "https_proxy="], "https_proxy"),
        (&["-e", "SSL_CERT_FILE=/x"], "trust somebody else"),
        (&["-e", "ACME_API_KEY"], "ACME_API_KEY is refused"),
        (&["--env=ACME_API_KEY=x"], "ACME_API_KEY is refused"),
        (&["-e", "NODE_EXTRA_CA_CERTS=/x"], "trust somebody else"),
        (&["-e", "NODE_OPTIONS=--use-bundled-ca"], "trust somebody else"),
        (&["--env-file", "/dev/null"], "--env-file is refused"),
        (&["--network=host"], "--network is refused"),
        (&["--net", "bridge"], "--net is refused"),
        (&["--privileged"], "--privileged is refused"),
        (&["--cap-add", "NET_ADMIN"], "--cap-add is refused"),
        (&["--pid=host"], "--pid is refused"),
        (&["--add-host=a:1.1.1.1"], "--add-host is refused"),
        (&["-v", "/run:/run2"], "leads out of any container"),
        (&["-v", "/:/host:ro"], "leads out of any container"),
        (&["-v", &work], "dotenv"),
        (&["-v", &own], "Cofferdam's own files"),
        (&["-v", "/usr:/cofferdam"], "what the wiring needs"),
        (&["--user", "root"], "the image has a user of its own"),
    ] {
        let words: Vec<&str> = words.iter().copied().chain([IMAGE, "true"]).collect();
        let told = bed.docker("run", &words).run().expect_status(77).stderr();
        assert!(
            told.contains(reason) && told.contains("\nhint: ") && !told.contains(SECRET),
            "{words:?}: {told}"
        );
    }
    let told = bed.docker("run", &["--new-option", IMAGE]).run().expect_status(64).stderr();
    assert!(told.contains("'--new-option' found") && told.contains("docker args"), "{told}");
    // What is harmless is not.
    let fine = format!("{}:/work:ro", bed.home.path().join("fine").display());
    let run = bed.docker(
        "run",
        &["--rm", "-v", &fine, "-w", "/work", "-e", "EDITOR=vi", IMAGE, "sh", "-c", "ls; echo $EDITOR"],
    );
    assert_eq!(run.run().expect_status(0).stdout(), "file\nvi\n");
}

#[test]
fn req_e19_without_a_daemon_there_is_no_container() {
    if !can_have_containers() {
        return;
    }
    let bed = Bed::new(Kind::Podman);
    let run = bed.docker("run", &["--rm", IMAGE, "echo", "ran"]).run().expect_status(125);
    assert!(
        run.stderr().contains("not running") && run.stderr().contains("egress start"),
        "{}",
        run.stderr()
    );
    assert_eq!(run.stdout(), "");
    bed.egress(&["start"]).expect_status(0);
    let run = bed.docker("run", &["--rm", IMAGE, "echo", "ran"]).run().expect_status(0);
    assert_eq!(run.stdout(), "ran\n");
    // A container whose way out has gone does not start again.
    let printed = bed.docker("args", &["--rm", IMAGE, "echo", "ran"]).run().expect_status(0).stdout();
    assert!(printed.contains("--network=none") && !printed.contains("cfd_"), "{printed}");
    bed.egress(&["stop"]).expect_status(0);
    let words: Vec<&str> = printed.split_whitespace().skip(bed.engine.words().len()).collect();
    let late = bed.engine.call(&words);
    assert_ne!(late.status(), 0);
    assert_eq!(late.stdout(), "");
}

#[test]
fn req_e17_the_walls_of_a_container_are_tight() {
    if !can_have_containers() {
        return;
    }
    for kind in [Kind::Podman, Kind::Docker] {
        let bed = Bed::started(kind);
        let script = "touch /x 2>/dev/null || echo read-only; touch /tmp/x && echo tmp; grep -E 'CapEff|CapBnd|NoNewPrivs' \
                      /proc/self/status; ls /sys/class/net; cat /etc/resolv.conf; exit 7";
        let run = bed.docker("run", &["--rm", IMAGE, "sh", "-c", script]).run().expect_status(7);
        let told = run.stdout();
        assert!(told.starts_with("read-only\ntmp\n"), "{told}");
        assert!(
            told.contains("CapEff:\t0000000000000000") && told.contains("CapBnd:\t0000000000000000"),
            "{told}"
        );
        assert!(told.contains("NoNewPrivs:\t1") && told.contains("nameserver 127.0.0.1"), "{told}");
        assert!(told.contains("\nlo\n") && !told.contains("eth0"), "{told}");
    }
}

#[test]
fn req_e19_nothing_is_left_when_the_engine_does_not_start_the_container() {
    if !can_have_containers() {
        return;
    }
    let bed = Bed::started(Kind::Podman);
    let containers = bed.home.path().join("cofferdam/run/containers");
    let failed = bed.docker("run", &["--rm", "--cpuset-cpus", "9999", IMAGE, "true"]).run();
    assert_ne!(failed.status(), 0);
    wait_until("the way out is closed", || {
        std::fs::read_dir(&containers).is_ok_and(|mut all| all.next().is_none())
    });
}
