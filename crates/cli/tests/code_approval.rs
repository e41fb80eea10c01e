//! A01, A02, A03, A15, A16: a script is asked about once, as it is, and its calls in the name of its session.

#[expect(dead_code, reason = "whoever asks here is a script")]
mod asking;
mod scripts;

use std::io::{BufRead, BufReader};
use std::process::Child;

use asking::{AtTerminal, call, waiting};
use scripts::{OFF, Project, printed, result};
use serde_json::Value;

const GATEWAY: [&str; 4] = ["--session-kind", "gateway", "--session", "chat"];

struct Running(Child);

impl Running {
    /// Starts a script and leaves it waiting.
    fn start(project: &Project, args: &[&str], text: &str) -> Self {
        project.home.write("project/script.py", text);
        let args: Vec<&str> = args.iter().copied().chain(["script.py"]).collect();
        Self(project.call(&args).spawn())
    }

    fn finish(self) -> (i32, Value) {
        let output = self.0.wait_with_output().expect("it ends");
        (output.status.code().unwrap_or(-1), result(&String::from_utf8_lossy(&output.stdout)))
    }
}

fn answer(project: &Project, args: &[&str]) {
    call(&project.home, &["approvals"]).args(args).run().expect_status(0);
}

#[test]
fn req_a03_the_whole_script_is_shown_and_the_default_is_no() {
    let project = Project::new("");
    let body = "open('ran', 'w')\n".to_owned() + &"x = 1\n".repeat(300) + "print('the last line')\n";
    project.home.write("project/s.py", &body);
    let script = "cd project && exec \"$0\" exec-code s.py";
    let script = script.replace("$0", scripts::COFFERDAM);
    let mut person = AtTerminal::script(&project.home, &script);
    person.see("[n]: ");
    for shown in ["open('ran', 'w')", "print('the last line')", "whole script"] {
        assert!(person.screen.contains(shown), "{shown}:\n{}", person.screen);
    }
    assert_eq!(person.screen.matches("x = 1").count(), 300);
    person.type_line("");
    let (status, json) = person.finish();
    assert_eq!((status, &result(&json)["status"]), (77, &"denied".into()));
    assert!(!project.workspace.join("ran").exists());
    let mut person = AtTerminal::script(&project.home, &script);
    person.see("[n]: ");
    person.type_line("y");
    let (status, json) = person.finish();
    assert_eq!((status, result(&json)["status"].as_str()), (0, Some("success")), "{json}");
    assert!(project.workspace.join("ran").exists());
}

#[test]
fn req_a03_whatever_goes_wrong_with_asking_blocks() {
    let crashed = "[approval]\nnotify = [\"/bin/false\"]\n";
    let expired = "[approval]\ntimeout = \"1s\"\n";
    for (config, kind, says) in [
        ("", "interactive", "nobody could be asked"),
        ("", "cron", "nobody watches"),
        ("", "headless", "nobody watches"),
        (crashed, "interactive", "nobody could be asked"),
        (crashed, "gateway", "nobody could be asked"),
        (expired, "gateway", "not answered in time"),
    ] {
        let project = Project::new(config);
        let outcome = project
            .call(&["--session-kind", kind, "--language", "bash", "-"])
            .input("touch ran\n")
            .run()
            .expect_status(77);
        let result = result(&outcome.stdout());
        assert_eq!(result["status"], "denied", "{kind}");
        assert!(result["error"].as_str().expect("a reason").contains(says), "{kind}: {result:#}");
        assert!(!project.workspace.join("ran").exists(), "{kind}");
    }
}

#[test]
fn req_a06_an_unattended_script_runs_where_a_rule_names_it() {
    let project = Project::new("");
    let run = |kind: &str| {
        project.call(&["--session-kind", kind, "--language", "bash", "-"]).input("echo hi\n").run()
    };
    run("cron").expect_status(77);
    project.home.write(
        "cofferdam/approvals.toml",
        "[[allow]]\nid = \"nightly\"\nrule = \"whole-script\"\nsession = \"cron\"\n",
    );
    assert_eq!(printed(&result(&run("cron").expect_status(0).stdout())), "hi\n");
    run("headless").expect_status(77);
}

#[test]
fn req_a05_a_script_that_would_destroy_the_machine_is_never_run() {
    let project = Project::new(OFF);
    for (language, text) in [
        ("bash", "touch ran; rm -rf /"),
        ("python", "import os\nopen('ran', 'w')\nos.system('rm -rf /')\n"),
        ("node", "require('fs').writeFileSync('ran', ''); require('child_process').execSync('rm -rf /')"),
    ] {
        project.call(&["--language", language, "-"]).input(text).run().expect_status(77);
        assert!(!project.workspace.join("ran").exists(), "{language}");
    }
}

#[test]
fn req_a16_what_was_approved_runs_whatever_becomes_of_the_file() {
    let project = Project::new("");
    let running = Running::start(
        &project,
        &GATEWAY,
        "print('approved')\nprint(open(__file__).read().count('ot' + 'her'))\n",
    );
    let id = waiting(&project.home, 1).remove(0);
    project.home.write("project/script.py", "print('other')\n");
    answer(&project, &["allow", &id]);
    let (status, result) = running.finish();
    assert_eq!((status, printed(&result).as_str()), (0, "approved\n0\n"));
}

#[test]
fn req_a16_nobody_in_the_sandbox_can_change_the_script_or_its_tools() {
    let project = Project::new(OFF);
    let text = "
import os
for name in ['script.py', 'cofferdam_tools.py', 'new.py']:
    for act in [lambda p: open(p, 'a'), os.unlink, lambda p: os.rename('x.py', p), lambda p: os.chmod(p, 0o777)]:
        try:
            act('/cofferdam/' + name)
        except OSError:
            continue
        print('changed', name)
print('done')
";
    project.home.write("project/x.py", "");
    assert_eq!(printed(&project.python(&[], text)), "done\n");
}

#[test]
fn req_a01_a_command_of_a_tool_passes_the_gate_in_the_name_of_its_session() {
    let project = Project::new("");
    let text = "
import cofferdam_tools as t
print(t.terminal('echo harmless')['output'], end='')
for command in ['git push --force', 'rm -rf /']:
    try:
        print(t.terminal(command))
    except t.Denied as error:
        print('denied:', str(error).splitlines()[0])
";
    let args: Vec<&str> = GATEWAY.into_iter().chain(["--tools", "terminal"]).collect();
    let running = Running::start(&project, &args, text);
    answer(&project, &["allow", &waiting(&project.home, 1)[0]]);
    // The script is approved and gone; what waits now is the command.
    let json = loop {
        let json = call(&project.home, &["approvals", "list", "--json"]).run().stdout();
        if json.contains("git push --force") {
            break json;
        }
    };
    assert!(json.contains("\"session\": \"chat\"") && json.contains("\"kind\": \"gateway\""), "{json}");
    let said = ["--comment", "not today"];
    answer(&project, &["deny", &waiting(&project.home, 1)[0], said[0], said[1]]);
    let (_, result) = running.finish();
    let printed = printed(&result);
    assert!(printed.starts_with("harmless\n"), "{printed}");
    assert!(printed.contains("not today") && printed.contains("never allowed"), "{printed}");
    let verdicts: Vec<&str> = result["calls"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|call| call["verdict"].as_str())
        .collect();
    assert_eq!(verdicts, ["ok", "denied", "denied"]);
}

#[test]
fn req_a01_a_file_that_governs_the_session_is_not_written_by_a_tool() {
    let project = Project::new("");
    project.home.write(
        "cofferdam/approvals.toml",
        "[[allow]]\nid = \"s\"\nrule = \"whole-script\"\nsession = \"interactive\"\n",
    );
    let text = "
import cofferdam_tools as t
for path in ['.claude/settings.json', 'plain.txt']:
    for act in [lambda: t.write_file(path, 'x'), lambda: t.patch(diff=f'--- /dev/null\\n+++ {path}\\n@@ -0,0 +1 @@\\n+x\\n')]:
        try:
            act()
            print('written', path)
        except t.ToolError as error:
            print(error.kind)
";
    let printed = printed(&project.python(&["--tools", "write_file,patch"], text));
    assert_eq!(printed, "denied\ndenied\nwritten plain.txt\nfailed\n");
    assert!(!project.workspace.join(".claude/settings.json").exists());
}

#[test]
fn req_a02_two_sessions_at_once_never_meet() {
    let project = Project::new("");
    let text = "
import cofferdam_tools as t, sys
try:
    t.terminal('git push --force')
    print('allowed')
except t.Denied:
    print('denied')
";
    let start = |session: &str| {
        Running::start(
            &project,
            &["--session-kind", "gateway", "--session", session, "--tools", "terminal"],
            text,
        )
    };
    let (one, two) = (start("one"), start("two"));
    for id in waiting(&project.home, 2) {
        answer(&project, &["allow", &id]);
    }
    let pending = |session: &str| loop {
        let json = result(&call(&project.home, &["approvals", "list", "--json"]).run().stdout());
        let asked = json["pending"]
            .as_array()
            .expect("a list")
            .iter()
            .find(|pending| pending["session"] == session && pending["command"] == "git push --force");
        if let Some(asked) = asked {
            break asked["id"].as_str().expect("an id").to_owned();
        }
    };
    // The same command in both: a yes for the session of one is none for the other.
    answer(&project, &["allow", &pending("one"), "--for", "session"]);
    answer(&project, &["deny", &pending("two")]);
    assert_eq!(printed(&one.finish().1), "allowed\n");
    assert_eq!(printed(&two.finish().1), "denied\n");
}

#[test]
fn req_a02_a_script_within_a_script_is_asked_about_for_the_same_session() {
    let project = Project::new("");
    let text = "
import cofferdam_tools as t
inner = 'import cofferdam_tools as t\\nprint(t.read_file(\"note\")[\"content\"])\\ntry:\\n  t.call(\"terminal\", command=\"ls\")\\nexcept t.UnknownTool: print(\"no terminal\")'
print(t.execute_code(inner)['output'])
try:
    t.execute_code('print(2)')
except t.Denied:
    print('denied')
";
    project.home.write("project/note", "from the workspace");
    let args: Vec<&str> = GATEWAY.into_iter().chain(["--tools", "execute_code,read_file"]).collect();
    let running = Running::start(&project, &args, text);
    for verdict in ["allow", "allow", "deny"] {
        let id = waiting(&project.home, 1).remove(0);
        answer(&project, &[verdict, &id]);
        // The next question has another id.
        while waiting_ids(&project).contains(&id) {}
    }
    let (_, result) = running.finish();
    assert_eq!(printed(&result), "from the workspace\nno terminal\n\ndenied\n");
    assert_eq!(result["calls_made"], 3);
}

fn waiting_ids(project: &Project) -> Vec<String> {
    let json = result(&call(&project.home, &["approvals", "list", "--json"]).run().stdout());
    let pending = json["pending"].as_array().expect("a list").iter();
    pending.filter_map(|pending| Some(pending["id"].as_str()?.to_owned())).collect()
}

#[test]
fn req_a02_revoking_a_session_ends_its_scripts_and_no_others() {
    let project = Project::new(OFF);
    let start = |session: &str| {
        let text = "import time\nprint('begun', flush=True)\ntime.sleep(1000)\n";
        Running::start(&project, &["--session", session, "--json"], text)
    };
    let (mut one, two) = (start("one"), start("two"));
    let mut events = BufReader::new(one.0.stdout.take().expect("a pipe")).lines();
    while !events.next().expect("an event").expect("a line").contains("\"start\"") {}
    call(&project.home, &["approvals", "revoke", "--session", "one"]).run().expect_status(0);
    let last = events.map(|line| line.expect("a line")).last().expect("a result");
    let result = result(&last);
    assert_eq!(
        (&result["status"], &result["error"]),
        (&"interrupted".into(), &"its session was revoked".into())
    );
    one.0.wait().expect("it ends");
    let mut two = two.0;
    assert!(two.try_wait().expect("a process").is_none(), "the other session goes on");
    two.kill().expect("it can be killed");
    two.wait().expect("it ends");
}
