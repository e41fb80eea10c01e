//! System calls and kernel surface (section F of the threat model), tried from inside.

use cofferdam_testkit::{
    Attack, Who, assert_closed, assert_closed_without_namespaces, assert_open_in_bubblewrap,
};

const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");

const ATTACKS: &[Attack] = &[
    Attack::new(78, "io-uring", &[]).only_where("this host refuses io_uring itself"),
    Attack::new(79, "kernel-calls", &[]),
    Attack::new(80, "old-entry", &[]).only_where("this kernel runs no 32-bit programs"),
    Attack::new(80, "x32-entry", &[]).only_where("this kernel has no x32"),
    Attack::new(82, "unknown-calls", &[]),
    // Whatever may be started, and from wherever, is in the same walls.
    Attack::new(83, "from-memory", &["read-file", "{home}/.ssh/id_ed25519"]),
    Attack::new(86, "splice-file", &["{home}/.ssh/id_ed25519"]),
    Attack::new(84, "own-filter", &[]).only_where("this host refuses io_uring itself"),
    Attack::new(87, "socket-families", &[]).only_where("this kernel has no other families"),
    Attack::new(87, "socket-pairs", &[]),
    Attack::new(87, "socket-protocols", &[]).only_where("this kernel has no other protocols"),
    Attack::new(87, "netlink-protocols", &[]),
    Attack::new(88, "out-of-band", &[]),
];

#[test]
fn req_i11_most_of_the_kernel_does_not_exist_for_a_child_of_root() {
    assert_closed(COFFERDAM, Who::Root, ATTACKS);
}

#[test]
fn req_i11_most_of_the_kernel_does_not_exist_for_a_child_of_an_ordinary_user() {
    assert_closed(COFFERDAM, Who::Ordinary, ATTACKS);
}

#[test]
fn req_i05_i09_without_namespaces_the_kernel_is_as_small() {
    assert_closed_without_namespaces(COFFERDAM, ATTACKS);
}

#[test]
fn bubblewrap_leaves_some_of_it_open() {
    assert_open_in_bubblewrap(COFFERDAM, ATTACKS, &[78, 79, 87, 88]);
}
