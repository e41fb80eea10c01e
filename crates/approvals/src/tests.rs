use super::*;

fn context() -> Context {
    Context::new("/home/me/project", "/home/me", "me")
}

#[track_caller]
fn decision(command: &str) -> Decision {
    judge(command, &context()).decision
}

#[test]
fn every_rule_finds_its_examples_and_not_the_others() {
    let mut wrong = Vec::new();
    for rule in RULES {
        for example in rule.matches {
            if !judge(example, &context()).findings.iter().any(|finding| finding.rule == rule.id) {
                wrong.push(format!("{} misses: {example}", rule.id));
            }
        }
        for example in rule.no_match {
            if judge(example, &context()).findings.iter().any(|finding| finding.rule == rule.id) {
                wrong.push(format!("{} finds: {example}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn req_a05_the_floor_holds_in_every_spelling() {
    for command in [
        "rm -rf /",
        "rm -rf ~",
        "sudo rm -rf /*",
        "mkfs.ext4 /dev/sda1",
        "dd if=/dev/zero of=/dev/sda",
        ":(){ :|:& };:",
        "reboot",
        "kill -9 -1",
    ] {
        assert_eq!(decision(command), Decision::Deny, "{command}");
    }
}

#[test]
fn req_a11_a_mention_is_not_an_act() {
    for command in [
        "grep -r 'rm -rf /' .",
        "git commit -m 'never rm -rf /'",
        "echo 'mkfs.ext4 /dev/sda' > notes.md",
        "ls -la",
    ] {
        let verdict = judge(command, &context());
        assert_eq!(verdict.decision, Decision::Allow, "{command}: {verdict:?}");
    }
}
