//! A test in a network and with mounts of its own, as the root of a user namespace.

use cofferdam_testkit::{Cofferdam, Home};

const INSIDE: &str = "COFFERDAM_TEST_APART";

/// Does `test` apart from everything else: the addresses are those of its loopback, nothing leads out of its network, and
/// names are looked up at its own port 53. `name` is its place among the tests, because it is started again inside.
#[track_caller]
pub fn apart(addresses: &[&str], name: &str, test: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return test();
    }
    let home = Home::new();
    home.write("resolv.conf", "nameserver 127.0.0.1\noptions timeout:20 attempts:1\n");
    let mut prepare = "ip link set lo up || exit 1\n".to_owned();
    for address in addresses {
        let (bits, at_once) = if address.contains(':') { (128, " nodad") } else { (32, "") };
        // What cannot be an address of an interface is none that anything could be reached at.
        prepare += &format!("ip addr add {address}/{bits} dev lo{at_once} 2>/dev/null\n");
    }
    prepare += "mount --bind resolv.conf /etc/resolv.conf && exec \"$@\"\n";
    let own = std::env::current_exe().expect("this test");
    let outcome = Cofferdam::new("/usr/bin/unshare", &home)
        .args(["--user", "--map-root-user", "--mount", "--net", "sh", "-c", &prepare, "sh"])
        .arg(own)
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .run();
    let told = outcome.stdout() + &outcome.stderr();
    assert!(outcome.status() == 0 && told.contains("1 passed"), "{told}");
}
