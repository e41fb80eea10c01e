//! Scripts over the socket of `exec-code --serve`: the same protocol on one connection, for programs of this user.

#[expect(dead_code, reason = "shared with the tests of scripts")]
mod scripts;

use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use cofferdam_testkit::Cofferdam;
use cofferdam_testkit::processes::{marker, wait_until, with_argument};
use scripts::{OFF, Project, result};
use serde_json::{Value, json};

/// `exec-code --serve`, until the test ends.
struct Served {
    child: Child,
    socket: PathBuf,
}

impl Served {
    fn start(project: &Project) -> Self {
        let child = project.call(&["--serve"]).spawn();
        let socket = project.home.path().join("cofferdam/run/code.sock");
        wait_until("the socket is served", || UnixStream::connect(&socket).is_ok());
        Self { child, socket }
    }

    /// A connection on which a script was asked for.
    fn asked(&self, start: &Value) -> Connection {
        let stream = UnixStream::connect(&self.socket).expect("it is served");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
        let mut connection = Connection(stream);
        connection.send(start);
        connection
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Connection(UnixStream);

impl Connection {
    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let length = u32::try_from(body.len()).expect("it is short");
        self.0
            .write_all(&length.to_be_bytes())
            .and_then(|()| self.0.write_all(body.as_bytes()))
            .expect("sent");
    }

    fn receive(&mut self) -> Value {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).expect("a frame");
        let mut body = vec![0; u32::from_be_bytes(length) as usize];
        self.0.read_exact(&mut body).expect("the whole frame");
        result(&String::from_utf8(body).expect("text"))
    }

    /// The next event of this kind; calls in between are answered with the tool's name.
    fn event(&mut self, kind: &str) -> Value {
        loop {
            let message = self.receive();
            if message["event"] == kind {
                return message;
            }
            if let Some(id) = message.get("id") {
                self.send(&json!({"id": id, "result": message["tool"]}));
            }
        }
    }
}

fn python(code: &str) -> Value {
    let schema = json!({"type": "object", "properties": {}});
    let tool = json!({"name": "mine", "description": "The host's own.", "schema": schema});
    json!({"options": ["--language", "python"], "code": code, "tools": [tool]})
}

#[test]
fn events_calls_and_the_result_go_over_one_connection() {
    let project = Project::new(OFF);
    let served = Served::start(&project);
    assert_eq!(std::fs::metadata(&served.socket).expect("it is there").permissions().mode() & 0o777, 0o600);
    let code = "import cofferdam_tools as t\nprint(t.TOOLS, t.mine())";
    let (mut one, mut two) = (served.asked(&python(code)), served.asked(&python(code)));
    for connection in [&mut two, &mut one] {
        assert_eq!(connection.event("start")["tools"], json!(["mine"]));
        let result = connection.event("result");
        assert_eq!((&result["status"], &result["output"]), (&json!("success"), &json!("['mine'] mine\n")));
    }
}

#[test]
fn the_example_of_the_guide_does_what_it_says() {
    let guide = include_str!("../../../docs/embedding.md");
    let mut examples = guide.split("```python\n").skip(1).filter_map(|rest| rest.split("```").next());
    let example = examples.find(|example| example.contains("code.sock")).expect("the guide has an example");
    let project = Project::new(OFF);
    let _served = Served::start(&project);
    // The guide's runtime directory is that of a user; the tests' lies in their own home.
    symlink(project.home.path().join("cofferdam/run"), project.workspace.join("cofferdam")).expect("a link");
    let outcome = Cofferdam::new("/usr/bin/env", &project.home)
        .args(["python3", "-c", example])
        .env("XDG_RUNTIME_DIR", &project.workspace)
        .run()
        .expect_status(0);
    let last = outcome.stdout();
    let last = last.lines().last().unwrap_or_default();
    assert!(last.contains("'status': 'success', 'output': '5\\n'"), "{last}");
}

#[test]
fn what_is_no_start_is_told_so_and_harms_nobody() {
    let project = Project::new(OFF);
    let served = Served::start(&project);
    let mut wrong = vec![json!({"begin": "x"}), json!({"code": "true", "options": ["--no-such-option"]})];
    wrong.push(json!({"code": "true", "options": ["--language", "bash", "--host-tools", "3"]}));
    wrong.push(json!({"code": "true", "options": ["--serve"]}));
    for start in wrong {
        let told = served.asked(&start).event("error");
        assert_eq!(told["status"], 64, "{start}: {told}");
    }
    let mut huge = UnixStream::connect(&served.socket).expect("it is served");
    huge.write_all(&[0xff; 64]).expect("sent");
    let fine = json!({"code": "echo fine", "options": ["--language", "bash"]});
    assert_eq!(served.asked(&fine).event("result")["output"], "fine\n");
}

#[test]
fn req_a03_nobody_asked_is_a_no_over_the_socket_too() {
    let project = Project::new("");
    let served = Served::start(&project);
    let start = json!({"code": "touch ran", "options": ["--language", "bash", "--session-kind", "headless"]});
    let told = served.asked(&start).event("result");
    assert_eq!(told["status"], "denied", "{told}");
    assert!(!project.workspace.join("ran").exists());
}

#[test]
fn req_i03_a_host_that_hangs_up_ends_its_script() {
    let project = Project::new(OFF);
    let served = Served::start(&project);
    let long = marker();
    let code = format!("import subprocess\nsubprocess.run(['sleep', '{long}'])");
    let mut connection = served.asked(&python(&code));
    connection.event("start");
    wait_until("the script runs", || !with_argument(&long).is_empty());
    drop(connection);
    wait_until("the script is gone", || with_argument(&long).is_empty());
}
