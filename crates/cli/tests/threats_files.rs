//! Reading files (section C of the threat model), tried from inside.

use cofferdam_testkit::{
    Attack, Who, assert_closed, assert_closed_without_namespaces, assert_open_in_bubblewrap,
};

const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");

const HOME: &[Attack] = &[
    Attack::new(36, "read-file", &["{home}/.ssh/id_ed25519"]),
    Attack::new(36, "list-directory", &["{home}/.ssh"]),
    Attack::new(36, "read-file", &["{home}/.aws/credentials"]),
    Attack::new(36, "read-file", &["{home}/.gnupg/private-keys-v1.d/key"]),
    Attack::new(36, "read-file", &["{home}/.kube/config"]),
    Attack::new(36, "read-file", &["{home}/.docker/config.json"]),
    Attack::new(36, "read-file", &["{home}/.netrc"]),
    Attack::new(36, "read-file", &["{home}/.npmrc"]),
    Attack::new(36, "read-file", &["{home}/.pypirc"]),
    Attack::new(36, "read-file", &["{home}/.config/gh/hosts.yml"]),
    Attack::new(36, "read-file", &["{home}/.config/gcloud/credentials.db"]),
    Attack::new(36, "read-file", &["{home}/.azure/msal_token_cache.json"]),
    Attack::new(36, "read-file", &["{home}/.git-credentials"]),
    Attack::new(36, "read-file", &["{home}/.bash_history"]),
    Attack::new(36, "read-file", &["{home}/.mozilla/firefox/profile/logins.json"]),
    Attack::new(36, "read-file", &["{home}/.hermes/.env"]),
    Attack::new(36, "read-file", &["{home}/.hermes/auth.json"]),
    // In a directory of tools, which is shown.
    Attack::new(36, "read-file", &["{home}/.cargo/credentials.toml"]),
    Attack::new(36, "read-file", &["{home}/cofferdam/config.toml"]),
    Attack::new(48, "path-exists", &["{home}/.ssh/id_ed25519"]),
];

const WORKSPACE: &[Attack] = &[
    Attack::new(37, "read-file", &["{workspace}/.env"]),
    Attack::new(37, "read-file", &["{workspace}/.env.production"]),
    Attack::new(37, "read-file", &["{workspace}/sub/deep/.env"]),
    Attack::new(37, "read-file", &["{workspace}/sub/.aws/credentials"]),
    Attack::new(37, "read-file", &["{workspace}/id_rsa"]),
    Attack::new(37, "read-file", &["{workspace}/server.key"]),
    Attack::new(37, "read-file", &["{workspace}/tls.pem"]),
    Attack::new(37, "read-file", &["{workspace}/.npmrc"]),
    // By what is in it.
    Attack::new(37, "read-file", &["{workspace}/account.json"]),
    // The same file in other words.
    Attack::new(39, "read-file", &["{workspace}/alias.txt"]),
    Attack::new(39, "read-file", &["{workspace}/.env.local"]),
    Attack::new(39, "read-file", &["/proc/self/root{workspace}/.env"]),
    Attack::new(39, "read-file", &["/proc/self/cwd/.env"]),
    Attack::new(39, "read-file", &["{workspace}/sub/../.env"]),
    Attack::new(39, "read-file", &["/proc/self/task/../root{workspace}/sub/deep/../../.env"]),
    Attack::new(39, "hard-link", &["{workspace}/.env", "{workspace}/copy"]),
    Attack::new(41, "rename-and-read", &["{workspace}/.env", "{workspace}/moved", "{workspace}/moved"]),
    Attack::new(
        41,
        "rename-and-read",
        &["{workspace}/sub", "{workspace}/moved", "{workspace}/moved/deep/.env"],
    ),
];

const MACHINE: &[Attack] = &[
    Attack::new(42, "handle-calls", &[]),
    Attack::new(43, "machine-devices", &[]),
    Attack::new(44, "kernel-files", &[]),
    Attack::new(44, "read-file", &["/proc/cmdline"]),
    Attack::new(45, "list-directory", &["/sys/class"]),
    Attack::new(45, "list-directory", &["/sys/kernel"]),
    Attack::new(45, "list-directory", &["/sys/block"]),
    Attack::new(46, "file-holds", &["/proc/sys/kernel/random/boot_id", "{boot-id}"]),
    Attack::new(46, "file-holds", &["/etc/machine-id", "{machine-id}"])
        .only_where("this host has no identity"),
    Attack::new(46, "file-holds", &["/proc/sys/kernel/hostname", "{host-name}"]),
    Attack::new(46, "read-file", &["/etc/shadow"]).for_root(),
    Attack::new(46, "list-directory", &["/home"]).only_where("nobody has a home there"),
    // The mount table names what is shown; the host's root is not.
    Attack::new(47, "file-holds", &["/proc/self/mountinfo", " / / rw"])
        .only_where("the root is read-only here"),
    Attack::new(49, "read-file", &["/proc/swaps"]),
];

#[test]
fn req_i06_secrets_of_the_home_are_out_of_reach_for_a_child_of_root() {
    assert_closed(COFFERDAM, Who::Root, HOME);
}

#[test]
fn req_i06_secrets_of_the_home_are_out_of_reach_for_a_child_of_an_ordinary_user() {
    assert_closed(COFFERDAM, Who::Ordinary, HOME);
}

#[test]
fn req_i06_secrets_of_the_workspace_are_out_of_reach_for_a_child_of_root() {
    assert_closed(COFFERDAM, Who::Root, WORKSPACE);
}

#[test]
fn req_i06_secrets_of_the_workspace_are_out_of_reach_for_a_child_of_an_ordinary_user() {
    assert_closed(COFFERDAM, Who::Ordinary, WORKSPACE);
}

#[test]
fn req_i11_the_machine_is_out_of_sight_for_a_child_of_root() {
    assert_closed(COFFERDAM, Who::Root, MACHINE);
}

#[test]
fn req_i11_the_machine_is_out_of_sight_for_a_child_of_an_ordinary_user() {
    assert_closed(COFFERDAM, Who::Ordinary, MACHINE);
}

/// That a path exists cannot be kept back without a tree of one's own, and the report says so.
#[test]
fn req_i05_i09_without_namespaces_secret_files_stay_closed() {
    for table in [HOME, WORKSPACE, MACHINE] {
        let opened: Vec<Attack> =
            table.iter().filter(|attack| attack.probe != "path-exists").copied().collect();
        assert_closed_without_namespaces(COFFERDAM, &opened);
    }
}

#[test]
fn bubblewrap_leaves_some_of_it_open() {
    assert_open_in_bubblewrap(COFFERDAM, WORKSPACE, &[37, 39, 41]);
    assert_open_in_bubblewrap(COFFERDAM, MACHINE, &[44, 46]);
}
