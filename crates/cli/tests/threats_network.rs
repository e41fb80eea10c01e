//! The network (section G of the threat model) behind the proxy, tried from inside.

use cofferdam_testkit::{Attack, Who, assert_closed, assert_closed_without_namespaces};

const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");

/// The tests do not knock at services of the machine they run on; threat 89 shows that the probe connects.
const METADATA: &str = "a metadata service may be there";
/// Threat 87 shows that the family can be opened.
const HYPERVISOR: &str = "a hypervisor may be there";

const ATTACKS: &[Attack] = &[
    Attack::new(89, "tcp", &["{tcp}"]),
    Attack::new(89, "tcp", &["[::ffff:127.0.0.1]:{tcp-port}"]),
    Attack::new(90, "tcp", &["0.0.0.0:{tcp-port}"]),
    Attack::new(91, "http", &["169.254.169.254:80"]).untried_outside(METADATA),
    Attack::new(91, "http", &["[fd00:ec2::254]:80"]).untried_outside(METADATA),
    Attack::new(91, "http", &["168.63.129.16:80"]).untried_outside(METADATA),
    Attack::new(91, "http", &["100.100.100.200:80"]).untried_outside(METADATA),
    Attack::new(94, "udp", &["{udp}"]),
    Attack::new(94, "raw-socket", &[]).for_root(),
    Attack::new(98, "vsock", &["2", "1024"]).untried_outside(HYPERVISOR),
    Attack::new(101, "change-network", &[]).for_root(),
];

#[test]
fn req_i10_no_network_reaches_a_child_of_root() {
    assert_closed(COFFERDAM, Who::Root, ATTACKS);
}

#[test]
fn req_i10_no_network_reaches_a_child_of_an_ordinary_user() {
    assert_closed(COFFERDAM, Who::Ordinary, ATTACKS);
}

#[test]
fn req_i05_i09_without_namespaces_nothing_is_reached_over_the_network() {
    assert_closed_without_namespaces(COFFERDAM, ATTACKS);
}
