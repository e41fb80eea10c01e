//! Writing and persistence (section D of the threat model), tried from inside.

use cofferdam_testkit::{Attack, Who, assert_closed, assert_open_in_bubblewrap};

const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");

/// What would run later on the host. The names that are not there yet can be made, and are set aside at the end.
const PERSISTENCE: &[Attack] = &[
    Attack::new(51, "write-file", &["{home}/.bashrc"]).by_effect(),
    Attack::new(51, "write-file", &["{home}/.profile"]).by_effect(),
    Attack::new(51, "write-file", &["/etc/profile"]).for_root(),
    Attack::new(51, "write-file", &["/var/spool/cron/crontabs/root"]).only_where("there is no cron here"),
    Attack::new(52, "write-file", &["{workspace}/.git/hooks/pre-commit"]),
    Attack::new(52, "write-file", &["{workspace}/.git/config"]),
    Attack::new(52, "write-file", &["{workspace}/.git/info/attributes"]),
    Attack::new(52, "write-file", &["{workspace}/.git/commondir"]).by_effect(),
    Attack::new(52, "write-file", &["{workspace}/.git/config.worktree"]).by_effect(),
    Attack::new(52, "write-file", &["{workspace}/nested/.git/config"]),
    Attack::new(52, "write-file", &["{workspace}/nested/.git/hooks"]).by_effect(),
    Attack::new(53, "write-file", &["{workspace}/.claude/settings.json"]),
    Attack::new(53, "write-file", &["{workspace}/tools/claude/settings.json"]),
    Attack::new(53, "write-file", &["{workspace}/.mcp.json"]).by_effect(),
    Attack::new(53, "write-file", &["{workspace}/.codex"]).by_effect(),
    Attack::new(53, "write-file", &["{workspace}/.vscode"]).by_effect(),
    Attack::new(53, "write-file", &["{workspace}/.envrc"]).by_effect(),
    Attack::new(53, "write-file", &["{workspace}/.npmrc"]),
    Attack::new(53, "write-file", &["{workspace}/sitecustomize.py"]).by_effect(),
    Attack::new(53, "write-file", &["{workspace}/.pre-commit-config.yaml"]).by_effect(),
    Attack::new(53, "write-file", &["{workspace}/.cofferdam.toml"]).by_effect(),
    Attack::new(54, "write-file", &["{workspace}/worktree/.git"]),
    Attack::new(41, "rename-and-read", &["{workspace}/.git", "{workspace}/x", "{workspace}/.env"]),
    Attack::new(64, "write-file", &["{home}/cofferdam/config.toml"]).by_effect(),
    Attack::new(64, "write-file", &["{home}/cofferdam-binary-new"]).by_effect(),
];

/// What would hurt whoever reads the workspace next.
const LEFT_BEHIND: &[Attack] = &[
    Attack::new(57, "set-uid", &["{workspace}/README"]),
    Attack::new(57, "set-uid-otherwise", &["{workspace}/made"]),
    Attack::new(58, "make-device", &["{workspace}/device"]).for_root(),
    Attack::new(58, "whiteout", &["{workspace}/white"]).for_root(),
    Attack::new(59, "file-capability", &["{workspace}/capable"]).for_root(),
    Attack::new(60, "link-and-read", &["{home}/.ssh/id_ed25519", "{workspace}/key"]),
    Attack::new(61, "hard-link", &["{home}/.netrc", "{workspace}/netrc"]),
    Attack::new(62, "fill", &["/run/{name}", "32"]).for_root(),
];

#[test]
fn req_i15_nothing_that_runs_later_can_be_planted_by_a_child_of_root() {
    assert_closed(COFFERDAM, Who::Root, PERSISTENCE);
}

#[test]
fn req_i15_nothing_that_runs_later_can_be_planted_by_a_child_of_an_ordinary_user() {
    assert_closed(COFFERDAM, Who::Ordinary, PERSISTENCE);
}

#[test]
fn req_i15_nothing_that_hurts_the_next_reader_is_left_by_a_child_of_root() {
    assert_closed(COFFERDAM, Who::Root, LEFT_BEHIND);
}

#[test]
fn req_i15_nothing_that_hurts_the_next_reader_is_left_by_a_child_of_an_ordinary_user() {
    assert_closed(COFFERDAM, Who::Ordinary, LEFT_BEHIND);
}

#[test]
fn bubblewrap_leaves_some_of_it_open() {
    assert_open_in_bubblewrap(COFFERDAM, PERSISTENCE, &[52, 53, 54]);
    assert_open_in_bubblewrap(COFFERDAM, LEFT_BEHIND, &[57]);
}
