//! What the privilege-drop shim costs: a tool called directly, through the shim, and through what else drops to a user.
//! The limit is the direct call; a shim adds one exec and the reading of three small files.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::harness::{Bench, Case, Unit};
use crate::peer;

const TITLE: &str = "a tool behind the shim";

pub fn run(bench: &mut Bench) {
    let (Some(cofferdam), Some(busybox)) = (peer::cofferdam(), peer::on_path("busybox")) else {
        bench.skip(TITLE, "needs the program beside this one (`cargo xtask bench`) and busybox-static");
        return;
    };
    let root = bench.cache().join("shim-root");
    if let Err(error) = prepare(&root, &busybox, &cofferdam) {
        bench.skip(TITLE, &format!("no tree could be made: {error}"));
        return;
    }
    if !peer::command(&busybox)
        .arg("chroot")
        .arg(&root)
        .arg("/bin/true")
        .status()
        .is_ok_and(|status| status.success())
    {
        bench.skip(TITLE, "only root can change the root directory");
        return;
    }
    let size = fs::metadata(root.join("usr/local/bin/tool")).map_or(0, |metadata| metadata.len());
    let case = |name: &str, words: &'static [&str]| {
        let (root, busybox) = (root.clone(), busybox.clone());
        let round = move || peer::finish(peer::command(&busybox).arg("chroot").arg(&root).args(words));
        Case { name: name.to_owned(), round: Box::new(round) }
    };
    let mut cases = vec![
        case("directly, as root", &["/bin/true"]),
        case("through the shim", &["/usr/local/bin/tool"]),
        case("busybox su", &["/bin/su", "hermes", "-c", "true"]),
    ];
    if let Some(gosu) = peer::on_path("gosu")
        && fs::copy(gosu, root.join("bin/gosu")).is_ok()
    {
        cases.push(case("gosu", &["/bin/gosu", "hermes", "/bin/true"]));
    }
    bench.side_by_side(&format!("{TITLE} ({size} bytes)"), Unit::Seconds, 1.0, cases);
}

fn prepare(root: &Path, busybox: &Path, cofferdam: &PathBuf) -> io::Result<()> {
    if root.exists() {
        fs::remove_dir_all(root)?;
    }
    for directory in ["bin", "etc", "usr/local/bin"] {
        fs::create_dir_all(root.join(directory))?;
    }
    fs::copy(busybox, root.join("bin/busybox"))?;
    fs::set_permissions(root.join("bin/busybox"), fs::Permissions::from_mode(0o755))?;
    for applet in ["true", "su", "sh"] {
        symlink("busybox", root.join("bin").join(applet))?;
    }
    fs::write(root.join("etc/passwd"), "root:x:0:0::/:/bin/sh\nhermes:x:1000:1000::/:/bin/sh\n")?;
    fs::write(root.join("etc/group"), "root:x:0:\nhermes:x:1000:\n")?;
    let mut install = peer::command(cofferdam);
    install.args([
        "docker",
        "shim",
        "install",
        "--tool",
        "tool",
        "--user",
        "hermes",
        "--target",
        "/bin/true",
        "--root",
    ]);
    peer::finish(install.arg(root).env("HOME", root));
    Ok(())
}
