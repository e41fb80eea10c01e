//! Descriptors and local services (section B of the threat model), tried from inside.

use cofferdam_testkit::{
    Attack, Who, assert_closed, assert_closed_without_namespaces, assert_open_in_bubblewrap,
};

const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");

const ATTACKS: &[Attack] = &[
    Attack::new(21, "inherited-descriptors", &[]).fine_in_script("its tools are behind two of them"),
    Attack::new(22, "inherited-directories", &[]),
    Attack::new(23, "reopen-stdin", &[])
        .fine_on_terminal("a terminal is read and written")
        .fine_in_script("it is given /dev/null"),
    Attack::new(77, "reopen-with-own-rules", &[])
        .fine_on_terminal("a terminal is read and written")
        .fine_in_script("it is given /dev/null"),
    Attack::new(24, "abstract-socket", &["{name}"]),
    Attack::new(25, "unix-socket", &["{home}/agent.sock"]),
    // In the workspace, which is shown: what listens there is a process of the host.
    Attack::new(25, "unix-socket", &["{workspace}/service.sock"]),
    Attack::new(25, "unix-socket", &["/run/dbus/system_bus_socket"]).only_where("no system bus runs here"),
    Attack::new(25, "unix-socket", &["/var/run/docker.sock"]).only_where("no docker runs here"),
    Attack::new(26, "unix-datagram", &["{home}/log.sock"]),
    Attack::new(26, "unix-datagram", &["/dev/log"]).only_where("no log daemon runs here"),
    Attack::new(29, "shared-memory", &["{key}"]),
    Attack::new(30, "read-file", &["{posix-memory}"]),
    Attack::new(30, "message-queue", &["/{name}"]).for_root(),
    Attack::new(31, "write-file", &["/tmp/{name}"]).by_effect(),
    Attack::new(32, "make-fifo", &["/var/tmp/{name}"]).by_effect(),
    Attack::new(32, "make-fifo", &["/dev/shm/{name}-fifo"]).by_effect(),
    Attack::new(33, "desktop-variables", &[]),
    Attack::new(35, "watching-calls", &[]),
];

#[test]
fn req_i01_i02_no_descriptor_and_no_local_service_reaches_a_child_of_root() {
    assert_closed(COFFERDAM, Who::Root, ATTACKS);
}

#[test]
fn req_i01_i02_no_descriptor_and_no_local_service_reaches_a_child_of_an_ordinary_user() {
    assert_closed(COFFERDAM, Who::Ordinary, ATTACKS);
}

#[test]
fn req_i05_i09_without_namespaces_nothing_of_the_host_can_be_talked_to() {
    assert_closed_without_namespaces(COFFERDAM, ATTACKS);
}

#[test]
fn bubblewrap_leaves_some_of_it_open() {
    assert_open_in_bubblewrap(COFFERDAM, ATTACKS, &[21, 22, 25]);
}
