//! A01, A02: tools of the user's own pass the gate as well, and every call is in the record with its session.

#[expect(dead_code, reason = "whoever asks here is a script")]
mod asking;
mod scripts;

use std::os::unix::fs::PermissionsExt;

use asking::{call, waiting};
use scripts::{OFF, Project, printed, result};

/// A tool that leaves a mark when it runs.
fn marking(project: &Project, further: &str) -> String {
    let path = project.home.write("mark", "#!/bin/sh\ncat >> ran\necho '\"marked\"'\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("a mode");
    format!("[[tool]]\nname = \"mark\"\ncommand = [\"{}\"]\n{further}", path.display())
}

fn record(project: &Project) -> Vec<serde_json::Value> {
    let text = call(&project.home, &["audit", "export", "--format", "json"]).run().expect_status(0).stdout();
    result(&text).as_array().expect("a list").clone()
}

/// What the record says about tools: session, tool, decision and reason.
fn calls(project: &Project) -> Vec<[String; 4]> {
    let word = |event: &serde_json::Value, key: &str| event[key].as_str().unwrap_or("-").to_owned();
    let of_tools = record(project).into_iter().filter(|event| event["kind"] == "tool-call");
    of_tools.map(|event| ["session", "tool", "decision", "reason"].map(|key| word(&event, key))).collect()
}

const TRY: &str = "
import cofferdam_tools as t
for call in [lambda: t.call('mark', n=1), lambda: t.call('terminal', command='true')]:
    try: print(call())
    except t.ToolError as error: print(error.kind)
";

#[test]
fn req_a01_a02_every_call_is_in_the_record_in_the_name_of_its_session() {
    let project = Project::new(OFF);
    project.home.write("cofferdam/config.toml", format!("{OFF}{}", marking(&project, "")));
    project.home.write("project/note", "a note");
    let text = format!("{TRY}t.read_file('note')\nt.write_file('new', 'x')\n");
    let args = ["--session", "chat-7", "--tools", "mark,read_file,write_file", "--language", "python", "-"];
    let outcome = result(&project.call(&args).input(text).run().stdout());
    assert_eq!(printed(&outcome), "marked\nunknown-tool\n");
    let expected = [
        ["chat-7", "mark", "allowed", "-"],
        ["chat-7", "terminal", "refused", "not-granted"],
        ["chat-7", "read_file", "allowed", "-"],
        ["chat-7", "write_file", "allowed", "-"],
    ];
    assert_eq!(calls(&project), expected.map(|words| words.map(str::to_owned)));
    call(&project.home, &["audit", "verify"]).run().expect_status(0);
}

#[test]
fn req_a01_what_cannot_be_recorded_is_not_done() {
    let project = Project::new(OFF);
    project.home.write("cofferdam/config.toml", format!("{OFF}{}", marking(&project, "")));
    let text = "
import cofferdam_tools as t, time, os
print(t.call('mark', n=1), flush=True)
open('go', 'w')
while os.path.exists('go'): time.sleep(0.01)
try: print(t.call('mark', n=2))
except t.Denied as error: print(error)
";
    project.home.write("project/s.py", text);
    let running = project.call(&["--tools", "mark", "s.py"]).spawn();
    let go = project.workspace.join("go");
    while !go.exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // Somebody takes the record away, and there cannot be a new one.
    let record = project.home.path().join("cofferdam/state/audit");
    std::fs::remove_dir_all(&record).expect("a directory");
    std::fs::write(&record, "in its place").expect("a file");
    std::fs::remove_file(&go).expect("a file");
    let output = running.wait_with_output().expect("it ends");
    let printed = printed(&result(&String::from_utf8_lossy(&output.stdout)));
    assert!(printed.starts_with("marked\n") && printed.contains("recorded"), "{printed}");
    assert_eq!(std::fs::read_to_string(project.workspace.join("ran")).expect("a mark"), "{\"n\":1}");
}

#[test]
fn req_a01_a_tool_that_asks_waits_for_the_person_of_its_session() {
    let project = Project::new("");
    project.home.write("cofferdam/config.toml", marking(&project, "ask = true\n"));
    project.home.write("project/s.py", "import cofferdam_tools as t\nfor n in [1, 2]:\n  try: print(t.call('mark', n=n))\n  except t.Denied as e: print('denied')\n");
    let args = ["--session-kind", "gateway", "--session", "chat", "--tools", "mark", "s.py"];
    let running = project.call(&args).spawn();
    for verdict in ["allow", "allow", "deny"] {
        let id = waiting(&project.home, 1).remove(0);
        let json = call(&project.home, &["approvals", "list", "--json"]).run().stdout();
        assert!(json.contains("\"session\": \"chat\""), "{json}");
        call(&project.home, &["approvals", verdict, &id]).run().expect_status(0);
        while call(&project.home, &["approvals", "list", "--json"]).run().stdout().contains(&id) {}
    }
    let output = running.wait_with_output().expect("it ends");
    assert_eq!(printed(&result(&String::from_utf8_lossy(&output.stdout))), "marked\ndenied\n");
    assert_eq!(std::fs::read_to_string(project.workspace.join("ran")).expect("a mark"), "{\"n\":1}");
    assert_eq!(calls(&project).last().expect("a call")[2..], ["refused", "gate-refused"]);
}

#[test]
fn req_a01_a_deny_rule_and_the_floor_hold_for_tools_of_the_users_own() {
    let project = Project::new(OFF);
    project.home.write("cofferdam/config.toml", format!("{OFF}{}", marking(&project, "")));
    let text = "import cofferdam_tools as t\ntry: print(t.mark())\nexcept t.Denied: print('denied')\n";
    let run = || printed(&project.python(&["--tools", "mark"], text));
    assert_eq!(run(), "marked\n");
    let deny = "[[deny]]\nid = \"no\"\nprogram = \"mark\"\n";
    project.home.write("cofferdam/approvals.toml", deny);
    assert_eq!(run(), "denied\n");
    project.home.write("cofferdam/approvals.toml", "");
    // It ends before it comes to the part that nobody may approve.
    let floor = "[[tool]]\nname = \"mark\"\ncommand = [\"sh\", \"-c\", \"touch floor; exit 0; rm -rf /\"]\n";
    project.home.write("cofferdam/config.toml", format!("{OFF}{floor}"));
    assert_eq!(run(), "denied\n");
    assert!(!project.workspace.join("floor").exists());
}

#[test]
fn req_a01_a_server_is_not_started_against_a_deny_rule() {
    let project = Project::new(OFF);
    let server = "[[tool]]\nname = \"demo\"\nmcp = [\"sh\", \"-c\", \"touch started\"]\n";
    project.home.write("cofferdam/config.toml", format!("{OFF}{server}"));
    project.home.write("cofferdam/approvals.toml", "[[deny]]\nid = \"no\"\nprogram = \"touch\"\n");
    let run = || project.call(&["--tools", "demo", "--language", "bash", "-"]).run();
    run().expect_status(77);
    assert!(!project.workspace.join("started").exists());
    project.home.write("cofferdam/approvals.toml", "");
    run().expect_status(69);
    assert!(project.workspace.join("started").exists(), "without the rule it is started");
}
