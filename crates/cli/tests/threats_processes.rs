//! Secrets of the parent and of other processes (section A of the threat model), tried from inside.

use cofferdam_testkit::{
    Attack, Who, assert_closed, assert_closed_without_namespaces, assert_open_in_bubblewrap,
};

const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");

const ATTACKS: &[Attack] = &[
    Attack::new(1, "own-environment", &[]),
    Attack::new(2, "environment", &["{victim}"]),
    Attack::new(2, "every-environment", &[]),
    Attack::new(3, "init-files", &[]),
    Attack::new(4, "every-cmdline", &[]),
    Attack::new(5, "handles", &["1"]).for_root(),
    Attack::new(5, "handles", &["{victim}"]),
    Attack::new(6, "ptrace", &["{victim}"]).only_where("this host restricts tracing"),
    Attack::new(7, "trace-child", &[]),
    Attack::new(8, "process-vm-read", &["{victim}"]).only_where("this host restricts tracing"),
    Attack::new(8, "process-vm-write", &["{victim}"]).only_where("this host restricts tracing"),
    Attack::new(9, "steal-descriptor", &["{victim}", "0"]).only_where("this host restricts tracing"),
    Attack::new(10, "signal", &["{victim}"]),
    // Also 12 and 13: the owner of a descriptor, and the calls that look into another process.
    Attack::new(11, "steer-process", &["{victim}"]),
    Attack::new(14, "core-dump", &[]).only_where("whoever started the tests has forbidden core dumps"),
    Attack::new(16, "keyring", &[]).only_where("this kernel has no keyrings"),
    Attack::new(17, "read-file", &["/proc/keys"]).only_where("this kernel has no keyrings"),
    Attack::new(20, "list-directory", &["/run"]),
];

#[test]
fn req_i01_i02_nothing_of_another_process_reaches_a_child_of_root() {
    assert_closed(COFFERDAM, Who::Root, ATTACKS);
}

#[test]
fn req_i01_i02_nothing_of_another_process_reaches_a_child_of_an_ordinary_user() {
    assert_closed(COFFERDAM, Who::Ordinary, ATTACKS);
}

#[test]
fn req_i05_i09_without_namespaces_nothing_of_another_process_is_reached() {
    assert_closed_without_namespaces(COFFERDAM, ATTACKS);
}

#[test]
fn bubblewrap_leaves_some_of_it_open() {
    assert_open_in_bubblewrap(COFFERDAM, ATTACKS, &[3, 7, 16]);
}
