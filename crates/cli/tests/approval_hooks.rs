//! The agents' own hooks, in the agents' own words.

#[expect(dead_code, reason = "shared with the tests of answers")]
mod asking;

use asking::{ASKED, call, home, waiting};
use cofferdam_testkit::{Home, Outcome};

fn event(agent: &str) -> &'static str {
    if agent == "gemini" { "BeforeTool" } else { "PreToolUse" }
}

fn input(home: &Home, agent: &str, tool: &str, tool_input: &str) -> String {
    format!(
        "{{\"session_id\":\"abc\",\"transcript_path\":null,\"cwd\":\"{}\",\"hook_event_name\":\"{}\",\"permission_mode\":\"default\",\
         \"tool_name\":\"{tool}\",\"tool_input\":{tool_input},\"tool_use_id\":\"t\"}}",
        home.path().display(),
        event(agent)
    )
}

fn shell(agent: &str) -> &'static str {
    if agent == "gemini" { "run_shell_command" } else { "Bash" }
}

fn hook(home: &Home, agent: &str, input: &str) -> Outcome {
    call(home, &["hook", agent, "--wait", "1s"]).input(input).run()
}

fn runs(home: &Home, agent: &str, command: &str) -> Outcome {
    hook(home, agent, &input(home, agent, shell(agent), &format!("{{\"command\":\"{command}\"}}")))
}

const AGENTS: [&str; 3] = ["claude-code", "codex", "gemini"];

#[test]
fn req_a01_a_catastrophe_is_denied_in_each_agents_form() {
    let home = home("");
    for agent in AGENTS {
        let said = runs(&home, agent, "rm -rf /").expect_status(0).stdout();
        let form = match agent {
            "gemini" => "\"decision\":\"deny\"",
            _ => "\"permissionDecision\":\"deny\"",
        };
        assert!(said.contains(form), "{agent}: {said}");
        assert!(said.contains("nobody can approve it"), "{agent}: {said}");
        if agent != "gemini" {
            assert!(
                said.contains("\"hookEventName\":\"PreToolUse\"") && said.contains("\"hookSpecificOutput\""),
                "{said}"
            );
        }
    }
}

#[test]
fn req_a11_what_is_harmless_is_left_to_the_agents_own_rules() {
    let home = home("");
    for (agent, nothing) in [("claude-code", ""), ("codex", ""), ("gemini", "{}\n")] {
        assert_eq!(runs(&home, agent, "ls -l").expect_status(0).stdout(), nothing, "{agent}");
        for tool in ["WebSearch", "mcp__server__anything", "Task"] {
            let said = hook(&home, agent, &input(&home, agent, tool, "{\"x\":1}")).expect_status(0).stdout();
            assert_eq!(said, nothing, "{agent} {tool}");
        }
    }
}

#[test]
fn req_a03_claude_code_asks_its_own_user_and_the_others_wait_for_an_answer() {
    let home = home("");
    let said = runs(&home, "claude-code", ASKED).expect_status(0).stdout();
    assert!(said.contains("\"permissionDecision\":\"ask\"") && said.contains("overwrites history"), "{said}");
    for agent in ["codex", "gemini"] {
        let said = runs(&home, agent, ASKED).expect_status(0).stdout();
        assert!(said.contains("deny") && said.contains("Expired"), "{agent}: {said}");
        assert!(!said.contains("\"ask\""), "{agent} does not know that word: {said}");
    }
}

#[test]
fn req_a03_an_agent_that_would_not_ask_is_not_told_to() {
    let home = home("");
    let call = input(&home, "claude-code", "Bash", &format!("{{\"command\":\"{ASKED}\"}}"));
    for mode in ["bypassPermissions", "dontAsk"] {
        let said = hook(&home, "claude-code", &call.replace("\"default\"", &format!("\"{mode}\"")))
            .expect_status(0)
            .stdout();
        assert!(said.contains("\"permissionDecision\":\"deny\""), "{mode}: {said}");
    }
}

#[test]
fn req_a07_an_answer_from_another_terminal_lets_the_call_through() {
    let home = home("");
    for (agent, allowed) in [("codex", ""), ("gemini", "{\"decision\":\"allow\"}\n")] {
        let text = input(&home, agent, shell(agent), &format!("{{\"command\":\"{ASKED}\"}}"));
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| call(&home, &["hook", agent]).input(text.as_str()).run());
            let id = waiting(&home, 1).remove(0);
            call(&home, &["approvals", "allow", &id, "--for", "session"]).run().expect_status(0);
            assert_eq!(asking.join().unwrap().expect_status(0).stdout(), allowed, "{agent}");
        });
        assert_eq!(
            runs(&home, agent, ASKED).expect_status(0).stdout(),
            allowed,
            "{agent}: it holds for the session"
        );
    }
}

#[test]
fn req_a03_whatever_goes_wrong_blocks_with_status_2() {
    let good = home("");
    for agent in AGENTS {
        let right = input(&good, agent, shell(agent), "{\"command\":\"ls\"}");
        hook(&good, agent, &right).expect_status(0);
        let mut wrong = vec![
            String::new(),
            "{".into(),
            "[]".into(),
            "null".into(),
            "\u{0}".into(),
            right[..right.len() - 1].to_owned(),
        ];
        for key in ["session_id", "cwd", "hook_event_name", "tool_name", "tool_input"] {
            wrong.push(right.replace(&format!("\"{key}\""), "\"other\""));
        }
        wrong.push(right.replace("{\"command\":\"ls\"}", "{\"command\":[\"ls\"]}"));
        wrong.push(right.replace("{\"command\":\"ls\"}", "{}"));
        wrong.push(right.replace("{\"command\":\"ls\"}", "\"ls\""));
        wrong.push(right.replace(event(agent), "PostToolUse"));
        for text in wrong {
            let outcome = hook(&good, agent, &text);
            assert_eq!(outcome.status(), 2, "{agent}: {text}");
            assert!(outcome.stdout().is_empty() && outcome.stderr().contains("Blocked"), "{agent}: {text}");
        }
        call(&good, &["hook", agent, "--no-such-option"]).run().expect_status(2);
        let broken = home("[approval]\nmode = \"offf\"\n");
        let outcome = runs(&broken, agent, "ls").expect_status(2);
        assert!(outcome.stdout().is_empty(), "{agent}");
    }
    call(&good, &["hook", "claude"]).run().expect_status(2);
}

#[test]
fn req_a14_files_go_through_the_guards_too() {
    let home = home("");
    home.write("notes.txt", "hello");
    for (agent, read, write) in [("claude-code", "Read", "Write"), ("gemini", "read_file", "write_file")] {
        let path = |path: &str| format!("{{\"file_path\":\"{path}\"}}");
        let said = hook(&home, agent, &input(&home, agent, read, &path("/proc/self/environ")))
            .expect_status(0)
            .stdout();
        assert!(said.contains("deny"), "{agent}: {said}");
        let said =
            hook(&home, agent, &input(&home, agent, read, &path("notes.txt"))).expect_status(0).stdout();
        assert!(!said.contains("deny"), "{agent}: {said}");
        let said =
            hook(&home, agent, &input(&home, agent, write, &path("notes.txt"))).expect_status(0).stdout();
        assert!(!said.contains("deny") && !said.contains("ask"), "{agent}: {said}");
        let own = format!("{}/.claude/settings.json", home.path().display());
        let said = hook(&home, agent, &input(&home, agent, write, &path(&own))).expect_status(0).stdout();
        assert!(said.contains("deny") || said.contains("ask"), "{agent}: {said}");
    }
    let patch =
        "{\"command\":\"*** Begin Patch\\n*** Update File: /etc/passwd\\n@@\\n-a\\n+b\\n*** End Patch\"}";
    let said = hook(&home, "codex", &input(&home, "codex", "apply_patch", patch)).expect_status(0).stdout();
    assert!(said.contains("deny"), "{said}");
}

#[test]
fn req_a18_no_answer_tells_where_the_switch_is() {
    let home = home("");
    for command in ["rm -rf /", ASKED, "sudo id"] {
        let said = runs(&home, "codex", command).expect_status(0).stdout().to_lowercase();
        assert!(said.contains("deny"), "{said}");
        for word in ["approval.mode", "config.toml", "approvals.toml", "mode = ", "cofferdam approvals"] {
            assert!(!said.contains(word), "{word}: {said}");
        }
    }
}
