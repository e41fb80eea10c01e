//! One run with the sealed network: what works unchanged, what is refused at once, and what the person is told.

use std::io::{BufRead, BufReader, Read, Write};

use cofferdam_testkit::{Cofferdam, Home};

use crate::bed::{ASK, Bed, COFFERDAM, HOST, SECRET, WITHOUT_PROXY, fixed};

#[test]
fn req_e01_e17_a_command_reaches_its_provider_with_a_token_and_never_holds_the_key() {
    Bed::each(|bed| {
        bed.upstream.route("/v1", fixed("hello"));
        let run = bed.shell(&[], &format!("{ASK}; echo; env; cat /proc/self/environ"));
        let run = run.expect_status(0);
        assert!(run.stdout().starts_with("hello\n"), "{}", run.stdout());
        assert!(!run.stdout().contains(SECRET) && run.stdout().contains("ACME_API_KEY=cfd_"));
        let asked = &bed.upstream.requests()[0];
        assert_eq!(asked.header("authorization"), Some(format!("Bearer {SECRET}").as_bytes()));
        let record = bed.record();
        assert!(
            record.contains("\"egress-request\"") && !record.contains(SECRET) && !record.contains("cfd_")
        );
    });
}

#[test]
fn req_i10_programs_that_ignore_proxy_variables_work_and_are_refused_alike() {
    Bed::each(|bed| {
        bed.upstream.route("/v1", fixed("hello"));
        let run = bed.shell(&[], &format!("{WITHOUT_PROXY} {ASK}")).expect_status(0);
        assert_eq!(run.stdout(), "hello");
        let asked = &bed.upstream.requests()[0];
        assert_eq!(asked.header("authorization"), Some(format!("Bearer {SECRET}").as_bytes()));
        for script in ["", WITHOUT_PROXY] {
            let refused = bed.shell(&[], &format!("{script} curl -sS https://evil.example/"));
            assert_ne!(refused.status(), 0);
            assert!(refused.stderr().contains("--allow evil.example"), "{}", refused.stderr());
        }
        // With its own trust, its own name and its own idea of where the host is.
        let by_hand = "import socket, ssl\n\
            c = ssl.create_default_context()\n\
            s = c.wrap_socket(socket.create_connection(('plain.example.test', 443)), server_hostname='plain.example.test')\n\
            s.sendall(b'GET /v1 HTTP/1.1\\r\\nHost: plain.example.test\\r\\nConnection: close\\r\\n\\r\\n')\n\
            print(s.makefile('rb').read().decode()[:15])";
        let run = bed.run(&[], &["/usr/bin/python3", "-I", "-c", by_hand]).run().expect_status(0);
        assert_eq!(run.stdout(), "HTTP/1.1 200 OK\n");
    });
}

#[test]
fn req_i10_everything_else_is_refused_at_once() {
    Bed::each(everything_else_is_refused_at_once);
}

fn everything_else_is_refused_at_once(bed: &Bed) {
    let script = r#"
import socket, time
def attempt(name, call):
    start = time.monotonic()
    try:
        call()
        word = 'open'
    except OSError as error:
        word = type(error).__name__
    print(name, word, 'late' if time.monotonic() - start > 1 else 'at once')
def tcp(*address):
    return lambda: socket.create_connection(address, timeout=5).close()
def udp(family, address):
    def call():
        s = socket.socket(family, socket.SOCK_DGRAM)
        s.settimeout(5)
        s.connect(address)
        s.send(b'x')
        s.recv(1)
    return call
attempt('smtp', tcp('192.0.2.1', 25))
attempt('ssh', tcp('2001:db8::1', 22))
attempt('dot', tcp('9.9.9.9', 853))
attempt('quic', udp(socket.AF_INET, ('192.0.2.1', 443)))
attempt('quic6', udp(socket.AF_INET6, ('2001:db8::1', 443)))
attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt('sctp', lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132).connect(('192.0.2.1', 9)))
attempt('name', lambda: socket.getaddrinfo('secret.evil.example', 443))
attempt('privileged', lambda: socket.socket().bind(('127.0.0.1', 85)))
"#;
    let run = bed.run(&[], &["/usr/bin/python3", "-I", "-c", script]).run().expect_status(0);
    for line in run.stdout().lines() {
        assert!(line.ends_with("at once") && !line.contains(" open "), "{line}");
    }
    assert_eq!(run.stdout().lines().count(), 9);
    let record = bed.record();
    assert_eq!(record.matches("\"secret.evil.example\"").count(), 1, "a refused name is on record once");
    assert!(bed.upstream.connections().is_empty());
}

#[test]
fn req_i10_the_sandboxs_own_servers_are_its_own() {
    let bed = Bed::new();
    let script = "cd /tmp && echo mine > index.html && python3 -m http.server 8000 >/dev/null 2>&1 & \
        for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do \
            curl -s http://localhost:8000/index.html && exit 0; sleep 0.2; done; exit 1";
    let run = bed.shell(&[], script).expect_status(0);
    assert_eq!(run.stdout(), "mine\n");
    assert!(!bed.record().contains("egress-request"), "nobody was asked");
}

#[test]
fn req_e02_allowed_names_and_ports_are_reached_and_the_others_are_told_with_the_flag() {
    Bed::each(|bed| {
        bed.upstream.route("/", fixed("typed"));
        let ask = "curl -sS https://typed.example.test/";
        let refused = bed.shell(&[], ask);
        assert!(refused.stderr().contains("--allow typed.example.test"), "{}", refused.stderr());
        assert_eq!(refused.stderr().matches("--allow typed.example.test").count(), 1);
        assert_eq!(bed.shell(&["--allow", "typed.example.test"], ask).expect_status(0).stdout(), "typed");
        let ask = "curl -sS https://typed.example.test:8443/";
        let allowed = ["--allow", "typed.example.test:8443"];
        assert_eq!(bed.shell(&allowed, ask).expect_status(0).stdout(), "typed");
        assert_eq!(bed.shell(&allowed, &format!("{WITHOUT_PROXY} {ask}")).expect_status(0).stdout(), "typed");
        let wrong = bed.shell(&["--allow", "https://typed.example.test/"], "true").expect_status(64);
        assert!(wrong.stderr().contains("hint:"), "{}", wrong.stderr());
    });
}

#[test]
fn names_in_the_handshake_and_in_the_request_must_be_the_one_that_was_dialled() {
    Bed::each(|bed| {
        let front = "curl -sSi --noproxy '*' -H 'Host: evil.example' https://plain.example.test/";
        assert!(bed.shell(&[], front).stdout().contains("cofferdam-reason: target-mismatch"));
        let other = "curl -sS --noproxy '*' --connect-to ::plain.example.test: https://api.example.test/";
        assert_ne!(bed.shell(&[], other).status(), 0, "the address of one name with the name of another");
        let record = bed.record();
        assert!(record.contains("target-mismatch"), "{record}");
        assert!(bed.upstream.requests().is_empty());
    });
}

#[test]
fn req_e23_two_sandboxes_cannot_use_each_others_tokens() {
    Bed::each(|bed| {
        bed.upstream.route("/v1", fixed("hello"));
        let mut one = bed.run(&[], &["/bin/sh", "-c", "echo $ACME_API_KEY; read go; exit 0"]).spawn();
        let mut token = String::new();
        BufReader::new(one.stdout.as_mut().expect("a pipe")).read_line(&mut token).expect("a line");
        let token = token.trim();
        assert!(token.starts_with("cfd_"), "{token}");
        let stolen = ASK.replace("$ACME_API_KEY", token).replace("-sS", "-sSi");
        let refused = bed.shell(&[], &stolen).expect_status(0);
        // The daemon knows whose it is; a proxy of one sandbox knows that it is none of its own.
        let reasons = ["token-wrong-client", "credential-foreign"];
        let told = |text: &str| reasons.iter().any(|reason| text.contains(reason));
        assert!(told(&refused.stdout()), "{}", refused.stdout());
        assert!(bed.upstream.requests().is_empty());
        assert!(told(&bed.record()));
        one.stdin.take().expect("a pipe").write_all(b"go\n").expect("a line");
        one.wait().expect("its end");
    });
}

#[test]
fn req_e18_a_variable_that_would_undo_the_wiring_is_refused() {
    let bed = Bed::new();
    let wishes = [
        "HTTPS_PROXY=http://elsewhere",
        "no_proxy=*",
        "SSL_CERT_FILE=/tmp/mine.pem",
        "NODE_OPTIONS=--use-bundled-ca",
        "ACME_API_KEY",
        "ACME_API_KEY=real",
    ];
    for wish in wishes {
        let run = bed.run(&["--env", wish], &["echo", "started"]).run().expect_status(77);
        assert!(run.stdout().is_empty() && run.stderr().contains("hint:"), "{wish}: {}", run.stderr());
    }
    let kept = bed.run(&["--env", "NODE_OPTIONS=--trace-warnings"], &["printenv", "NODE_OPTIONS"]);
    assert_eq!(kept.run().expect_status(0).stdout(), "--trace-warnings --use-openssl-ca\n");
    let lax = Bed::with("enforce = false");
    let run = lax.run(&["--env", "HTTPS_PROXY=http://elsewhere"], &["printenv", "HTTPS_PROXY"]).run();
    assert_eq!(run.stdout(), "http://127.0.0.1:919\n");
    assert!(run.stderr().contains("warning"), "{}", run.stderr());
}

#[test]
fn req_e19_without_a_working_way_out_nothing_starts() {
    let started = |bed: &Bed| bed.run(&[], &["echo", "started"]).run();
    let bed = Bed::new();
    started(&bed).expect_status(0);
    bed.home.write("cofferdam/state/ca/ca.key", "not a key");
    let run = started(&bed).expect_status(125);
    assert!(run.stdout().is_empty() && run.stderr().contains("ca.key"), "{}", run.stderr());
    let bed = Bed::with("listne = 1");
    assert!(started(&bed).expect_status(78).stdout().is_empty());
    let bed = Bed::new();
    bed.home.write("cofferdam/state/audit", "a file where the record belongs");
    assert!(started(&bed).expect_status(125).stdout().is_empty());
    let lax = Bed::with("enforce = false");
    lax.home.write("cofferdam/state/ca/ca.key", "not a key");
    lax.home.chmod("cofferdam/state/ca", 0o700);
    lax.home.chmod("cofferdam/state", 0o700);
    let run = lax.shell(&[], "echo started; curl -s https://plain.example.test/ || echo nothing");
    assert_eq!(run.stdout(), "started\nnothing\n", "{}", run.stderr());
}

#[test]
fn credentials_are_handed_over_by_name_only_shown_and_recorded() {
    let bed = Bed::new();
    let run = bed.run(&["--inherit-credentials", "acme"], &["printenv", "ACME_API_KEY"]).run();
    assert_eq!(run.stdout(), format!("{SECRET}\n"));
    assert!(run.stderr().contains("the real key of acme"), "{}", run.stderr());
    assert!(bed.record().contains("\"inherited_credentials\":[\"acme\"]"));
    bed.run(&["--inherit-credentials", "nobody"], &["true"]).run().expect_status(64);
    let run = bed.run(&["--provider", "openai-api"], &["true"]).run().expect_status(125);
    assert!(run.stderr().contains("OPENAI_API_KEY"), "{}", run.stderr());
}

#[test]
fn the_first_run_says_in_two_lines_what_it_did_and_the_next_one_nothing() {
    let home = Home::new();
    let run = || Cofferdam::new(COFFERDAM, &home).current_dir(home.path());
    std::fs::create_dir(home.path().join("project")).expect("a directory");
    let project = home.path().join("project");
    let first = run().current_dir(&project).env("OPENAI_API_KEY", SECRET).args(["run", "--", "true"]).run();
    assert_eq!(first.stderr().lines().count(), 2, "{}", first.stderr());
    assert!(first.stderr().contains("openai-api") && first.stderr().contains("api.openai.com"));
    let second = run().current_dir(&project).env("OPENAI_API_KEY", SECRET).args(["run", "--", "true"]).run();
    assert_eq!(second.stderr(), "");
}

#[test]
fn what_was_asked_for_is_summed_up_and_the_configuration_for_it_printed() {
    let bed = Bed::new();
    bed.upstream.route("/", fixed("hello"));
    let script = "curl -s https://plain.example.test/; curl -s https://more.example/; curl -s https://evil.example:8443/";
    let run = bed.shell(&["--summary", "--learn"], script);
    let told = run.stderr();
    assert!(told.contains("requests  refused"), "{told}");
    let learnt = told.split("already\n").nth(1).expect("a configuration");
    assert!(learnt.contains("\"more.example\"") && learnt.contains("\"evil.example:8443\""), "{learnt}");
    home_accepts(&bed, learnt);
}

/// What `--learn` prints is configuration.
fn home_accepts(bed: &Bed, learnt: &str) {
    let config = bed.home.read("cofferdam/config.toml");
    bed.home.write("cofferdam/config.toml", format!("{config}\n{learnt}"));
    Cofferdam::new(COFFERDAM, &bed.home).args(["config", "check"]).run().expect_status(0);
}

#[test]
fn a_stream_arrives_as_it_is_sent() {
    Bed::each(|bed| {
        let stream = bed.upstream.stream("/events", "text/event-stream");
        let script = format!("curl -sSN https://{HOST}/events");
        let mut child = bed.run(&[], &["/bin/sh", "-c", &script]).spawn();
        let mut output = child.stdout.take().expect("a pipe");
        for number in 0..3 {
            let event = format!("data: {number}\n\n");
            stream.send(event.as_bytes());
            let mut arrived = vec![0; event.len()];
            output.read_exact(&mut arrived).expect("an event");
            assert_eq!(arrived, event.as_bytes());
        }
        drop(stream);
        assert!(child.wait().expect("its end").success());
    });
}

#[test]
fn req_e23_with_a_daemon_running_it_serves_the_sandbox_and_the_token_ends_with_it() {
    let bed = Bed::with("listen = \"127.0.0.1:39191\"");
    bed.upstream.route("/v1", fixed("hello"));
    let egress = |word: &str| {
        Cofferdam::new(COFFERDAM, &bed.home).env("ACME_API_KEY", SECRET).args(["egress", word]).run()
    };
    egress("start").expect_status(0);
    // The key is the daemon's: the one who runs the command has none.
    let run = |script: &str| {
        Cofferdam::new(COFFERDAM, &bed.home)
            .current_dir(&bed.home.path().join("project"))
            .args(["run", "--", "/bin/sh", "-c", script])
            .run()
    };
    let first = run(&format!("{WITHOUT_PROXY} {ASK}; echo; echo $ACME_API_KEY"));
    let (told, refused) = (first.stdout(), first.stderr());
    let token = told.lines().nth(1).unwrap_or_default().to_owned();
    let stolen = run(&ASK.replace("$ACME_API_KEY", &token).replace("-sS", "-sSi"));
    egress("stop").expect_status(0);
    assert!(told.starts_with("hello\n") && token.starts_with("cfd_"), "{told}{refused}");
    let asked = &bed.upstream.requests()[0];
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {SECRET}").as_bytes()));
    assert!(stolen.stdout().contains("cofferdam-reason: "), "{}", stolen.stdout());
    assert_eq!(bed.upstream.requests().len(), 1);
}
