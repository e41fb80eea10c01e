//! Files of the state directory are private from their first byte, and nothing planted there is followed.

mod record_writer;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use cofferdam_testkit::{Cofferdam, Home};
use record_writer::{audit_dir, writer, writer_after};

fn verify(home: &Home) -> Cofferdam {
    Cofferdam::new(env!("CARGO_BIN_EXE_cofferdam"), home).args(["audit", "verify"])
}

/// Every directory and file below `path`, with its mode.
fn modes(path: &Path) -> Vec<(PathBuf, u32)> {
    let Ok(data) = fs::symlink_metadata(path) else { return Vec::new() };
    let mut found = vec![(path.to_owned(), data.permissions().mode() & 0o7777)];
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        found.extend(modes(&entry.path()));
    }
    found
}

fn expected(path: &Path) -> u32 {
    if path.is_dir() { 0o700 } else { 0o600 }
}

#[test]
fn req_e06_modes_do_not_depend_on_the_umask() {
    for umask in ["000", "022", "077", "0177", "0777"] {
        let home = Home::new();
        let output = writer_after(&home, &format!("umask {umask}"), 3).run().expect_status(0).stdout();
        assert!(output.contains("ack "), "umask {umask}: {output}");
        let found = modes(&home.path().join("cofferdam"));
        assert!(found.len() >= 5, "{found:?}");
        for (path, mode) in found {
            assert_eq!(mode, expected(&path), "umask {umask}: {}", path.display());
        }
    }
}

#[test]
fn req_e06_at_no_moment_is_a_new_file_open_to_others() {
    let home = Home::new();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut looks = 0_u32;
            while !done.load(Ordering::Relaxed) {
                for (path, mode) in modes(&home.path().join("cofferdam")) {
                    assert_eq!(mode & 0o077, 0, "{}", path.display());
                    looks += 1;
                }
            }
            looks
        });
        // Every few records a new file.
        for _ in 0..5 {
            let writing = writer_after(&home, "umask 000", 40).env("WRITER_FILE_BYTES", "1000");
            writing.run().expect_status(0);
        }
        done.store(true, Ordering::Relaxed);
        assert!(watcher.join().unwrap() > 100);
    });
}

#[test]
fn req_e06_a_planted_link_is_an_error_that_names_the_path() {
    for planted in ["cofferdam", "cofferdam/state", "cofferdam/state/audit"] {
        let home = Home::new();
        let elsewhere = home.path().join("elsewhere");
        fs::create_dir_all(&elsewhere).unwrap();
        fs::set_permissions(&elsewhere, PermissionsExt::from_mode(0o700)).unwrap();
        let link = home.path().join(planted);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&elsewhere, &link).unwrap();
        refuses_link(&home, &link);
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "{planted}: nothing was written through it");
    }
    for planted in ["head", "00000001.jsonl"] {
        let home = Home::new();
        writer(&home, "w", 1).run().expect_status(0);
        let link = audit_dir(&home).join(planted);
        let target = home.write("target", "untouched");
        fs::remove_file(&link).unwrap();
        symlink(&target, &link).unwrap();
        refuses_link(&home, &link);
        assert_eq!(home.read("target"), "untouched", "{planted}");
    }
}

fn refuses_link(home: &Home, link: &Path) {
    let sentence = format!("{} is a symbolic link", link.display());
    let written = writer(home, "w", 1).run().expect_status(0).stdout();
    assert!(written.contains("refused to start") && written.contains(&sentence), "{written}");
    let read = verify(home).run().expect_status(69).stderr();
    assert!(read.contains(&sentence) && read.contains("hint: "), "{read}");
}

#[test]
fn req_e06_what_lies_open_is_refused_with_the_fix_until_it_is_fixed() {
    for (name, open, fixed) in [("", 0o755, 0o700), ("head", 0o644, 0o600), ("00000001.jsonl", 0o660, 0o600)]
    {
        let home = Home::new();
        writer(&home, "w", 1).run().expect_status(0);
        let path = audit_dir(&home).join(name);
        fs::set_permissions(&path, PermissionsExt::from_mode(open)).unwrap();
        let written = writer(&home, "w", 1).run().expect_status(0).stdout();
        assert!(written.contains(&format!("has mode {open:04o}")), "{written}");
        let read = verify(&home).run().expect_status(69).stderr();
        assert!(read.contains(&format!("chmod {fixed:o}")), "{read}");
        fs::set_permissions(&path, PermissionsExt::from_mode(fixed)).unwrap();
        verify(&home).run().expect_status(0);
    }
}

#[test]
fn req_e06_a_foreign_owner_is_refused() {
    let home = Home::new();
    writer(&home, "w", 1).run().expect_status(0);
    let file = audit_dir(&home).join("00000001.jsonl");
    if fs::metadata(&file).unwrap().uid() != 0 {
        // Only root can give a file away. What root reads of others is the same comparison.
        return;
    }
    for path in [file, audit_dir(&home)] {
        std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
        let read = verify(&home).run().expect_status(69).stderr();
        assert!(read.contains("belongs to user 65534"), "{read}");
        std::os::unix::fs::chown(&path, Some(0), None).unwrap();
        verify(&home).run().expect_status(0);
    }
}
