//! The names that `approvals.toml` may use.

use crate::RULES;

/// Every rule by its name: those that are data, and those that are code.
pub(crate) fn all() -> Vec<&'static str> {
    RULES.iter().map(|rule| rule.id).chain(IN_CODE.iter().copied()).collect()
}

#[rustfmt::skip]
const IN_CODE: &[&str] = &[
    "access-list", "agent-policy-file", "cloud-metadata", "code-connects", "code-disguised",
    "code-from-memory", "code-reaches-system", "code-runs-code", "code-runs-unknown", "code-sends-data",
    "code-stops-processes", "container-socket", "database-runs", "decoded-code", "delete-home",
    "delete-outside", "delete-project", "delete-request", "delete-system", "delete-system-file",
    "delete-unknown", "destroy-disk", "dump-environment", "editor-runs", "empty-file", "environment",
    "exported-function", "fork-bomb", "kill-by-name", "kill-everything", "kill-found", "kill-group",
    "kill-many", "kill-shell", "mirror-deletes", "misleading-characters", "move-to-nowhere",
    "not-understood", "own-policy-command", "own-policy-file", "own-process", "ownership",
    "pattern-as-command", "permissions-home", "permissions-none", "permissions-system",
    "permissions-system-file", "permissions-unknown", "persistence-file", "print-secret", "raw-connection",
    "read-disk", "read-secret", "remote-code", "remote-command", "reverse-shell", "search-secrets",
    "secret-readable", "sed-runs", "send-data", "service-script", "set-user-id", "shell-socket",
    "shell-startup", "shred", "sysrq", "tool-call", "tool-changes", "tool-deletes", "tool-escalates", "tool-persists",
    "tool-reveals", "tool-runs", "tool-sends", "tool-stops", "debugger-runs", "disk-operand", "fill-disk",
    "mounts-secrets", "unseen-statements", "serve-files", "wrapper-runs", "unknown-code", "unknown-command",
    "world-writable", "whole-script", "write-disk", "write-repository", "write-system-file", "write-unknown",
    "written-scripts", "unchecked-download", "joined-words", "hidden-name", "foreign-package",
    "hidden-program", "input-runs", "remote-patch", "code-stops-machine", "burn-processor",
    "code-persists",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_that_is_code_has_its_name_in_the_list() {
        let sources = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut looked_at = 0;
        for entry in std::fs::read_dir(sources)
            .unwrap()
            .flatten()
            .filter(|entry| entry.path().is_file() && entry.file_name() != "rule_names.rs")
        {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            for part in
                ["Report::ask(", "Report::deny(", "rule: "].iter().flat_map(|mark| text.split(mark).skip(1))
            {
                let Some(name) = part.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next())
                else {
                    continue;
                };
                looked_at += 1;
                assert!(IN_CODE.contains(&name), "{name} in {}", entry.path().display());
            }
        }
        assert!(looked_at > 20, "{looked_at}");
    }
}
