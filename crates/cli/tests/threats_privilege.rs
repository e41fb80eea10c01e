//! Namespaces and privilege (section E of the threat model), tried from inside.

use cofferdam_testkit::{
    Attack, Who, assert_closed, assert_closed_without_namespaces, assert_open_in_bubblewrap,
};

const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");

const ATTACKS: &[Attack] = &[
    Attack::new(67, "user-namespace", &[]).only_where("this host refuses user namespaces"),
    Attack::new(68, "namespace-calls", &[]),
    Attack::new(69, "join-namespace", &[]).for_root(),
    Attack::new(70, "mount-calls", &[]),
    Attack::new(71, "new-privileges", &[]),
    Attack::new(72, "capabilities", &[]),
    Attack::new(73, "control-groups", &[]).only_where("no control groups are mounted here"),
    Attack::new(74, "machine-calls", &[]),
    Attack::new(75, "write-kernel-files", &[]),
];

#[test]
fn req_i11_no_privilege_can_be_raised_by_a_child_of_root() {
    assert_closed(COFFERDAM, Who::Root, ATTACKS);
}

#[test]
fn req_i11_no_privilege_can_be_raised_by_a_child_of_an_ordinary_user() {
    assert_closed(COFFERDAM, Who::Ordinary, ATTACKS);
}

#[test]
fn req_i05_i09_without_namespaces_no_privilege_is_gained() {
    assert_closed_without_namespaces(COFFERDAM, ATTACKS);
}

#[test]
fn bubblewrap_leaves_some_of_it_open() {
    assert_open_in_bubblewrap(COFFERDAM, ATTACKS, &[67, 68]);
}
