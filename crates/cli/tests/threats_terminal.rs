//! The terminal (section H of the threat model), tried from inside.

use cofferdam_testkit::{Attack, Who, assert_closed};

const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");

const ATTACKS: &[Attack] = &[
    Attack::new(102, "terminal-requests", &[]),
    Attack::new(102, "controlling-terminal", &[])
        .fine_on_terminal("it is the sandbox's own")
        .only_where("the tests run without a terminal"),
];

#[test]
fn req_i11_no_terminal_can_be_typed_into_by_a_child_of_root() {
    assert_closed(COFFERDAM, Who::Root, ATTACKS);
}

#[test]
fn req_i11_no_terminal_can_be_typed_into_by_a_child_of_an_ordinary_user() {
    assert_closed(COFFERDAM, Who::Ordinary, ATTACKS);
}
