use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn room() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn creates_what_is_missing_for_the_owner_alone() {
    let room = room();
    let path = room.path().join("home/state/audit");
    let directory = PrivateDir::open_or_create(&path).unwrap();
    directory.create_new("a").unwrap();
    directory.open_append("b").unwrap();
    directory.write_atomically("c", b"text").unwrap();
    for part in ["home", "home/state", "home/state/audit"] {
        assert_eq!(mode(&room.path().join(part)), 0o700, "{part}");
    }
    for name in ["a", "b", "c"] {
        assert_eq!(mode(&path.join(name)), 0o600, "{name}");
    }
    assert_eq!(directory.read("c", 4).unwrap(), b"text");
    let mut names = directory.names().unwrap();
    names.sort();
    assert_eq!(names, ["a", "b", "c"], "no temporary file is left");
}

#[test]
fn a_link_is_refused_at_every_level_and_its_target_stays_as_it_was() {
    let room = room();
    let target = room.path().join("target");
    std::fs::create_dir(&target).unwrap();
    std::fs::set_permissions(&target, PermissionsExt::from_mode(0o700)).unwrap();
    let link = room.path().join("state");
    symlink(&target, &link).unwrap();
    for path in [link.clone(), link.join("audit")] {
        let error = PrivateDir::open_or_create(&path).unwrap_err();
        assert!(matches!(error.problem(), Problem::SymbolicLink), "{error}");
        assert_eq!(error.path(), link);
    }
    assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0);
}

#[test]
fn a_link_in_place_of_a_file_is_refused_by_every_way_of_opening() {
    let room = room();
    let directory = PrivateDir::open_or_create(&room.path().join("state")).unwrap();
    let target = room.path().join("target");
    std::fs::write(&target, "before").unwrap();
    std::fs::set_permissions(&target, PermissionsExt::from_mode(0o600)).unwrap();
    for (name, place) in [("whole", target.as_path()), ("dangling", Path::new("nowhere"))] {
        symlink(place, directory.path().join(name)).unwrap();
        let errors = [
            directory.open_append(name).unwrap_err(),
            directory.open_update(name).unwrap_err(),
            directory.open_read(name).unwrap_err(),
            directory.create_new(name).unwrap_err(),
            directory.write_atomically(name, b"after").unwrap_err(),
            directory.read(name, 10).unwrap_err(),
            directory.lock(name).unwrap_err(),
            directory.try_lock(name).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error.problem(), Problem::SymbolicLink), "{name}: {error}");
            assert_eq!(error.path(), directory.path().join(name));
            assert!(!error.fix().is_empty());
        }
    }
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "before");
    assert!(!directory.path().join("nowhere").exists());
}

#[test]
fn what_others_can_reach_is_refused_with_its_mode_and_the_fix() {
    let room = room();
    let path = room.path().join("state");
    let directory = PrivateDir::open_or_create(&path).unwrap();
    directory.write_atomically("file", b"x").unwrap();
    let file = path.join("file");
    for open in [0o640, 0o604, 0o666, 0o620] {
        std::fs::set_permissions(&file, PermissionsExt::from_mode(open)).unwrap();
        for error in [
            directory.open_append("file").unwrap_err(),
            directory.read("file", 9).unwrap_err(),
            directory.write_atomically("file", b"y").unwrap_err(),
        ] {
            assert!(matches!(error.problem(), Problem::TooOpen { mode, .. } if *mode == open), "{error}");
            assert!(error.fix().contains("chmod 600"), "{}", error.fix());
        }
    }
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    let error = PrivateDir::open_or_create(&path).unwrap_err();
    assert!(matches!(error.problem(), Problem::TooOpen { mode: 0o755, expected: 0o700 }), "{error}");
    assert!(PrivateDir::open(&path).is_err());
}

#[test]
fn a_foreign_owner_is_refused() {
    if !geteuid().is_root() {
        // Nobody else can give a file away; the same comparison is made for every owner.
        return;
    }
    let room = room();
    let directory = PrivateDir::open_or_create(&room.path().join("state")).unwrap();
    directory.write_atomically("file", b"x").unwrap();
    std::os::unix::fs::chown(directory.path().join("file"), Some(65534), None).unwrap();
    let error = directory.open_append("file").unwrap_err();
    assert!(matches!(error.problem(), Problem::WrongOwner { owner: 65534, expected: 0 }), "{error}");
    std::os::unix::fs::chown(directory.path(), Some(65534), None).unwrap();
    let error = PrivateDir::open(directory.path()).unwrap_err();
    assert!(matches!(error.problem(), Problem::WrongOwner { .. }), "{error}");
}

#[test]
fn a_pipe_or_a_directory_is_not_taken_for_a_file() {
    let room = room();
    let directory = PrivateDir::open_or_create(&room.path().join("state")).unwrap();
    fs::mkfifoat(&directory.directory, "pipe", Mode::from_raw_mode(0o600)).unwrap();
    std::fs::create_dir(directory.path().join("directory")).unwrap();
    for name in ["pipe", "directory"] {
        let error = directory.open_read(name).unwrap_err();
        assert!(matches!(error.problem(), Problem::WrongKind { .. }), "{error}");
    }
    std::fs::write(room.path().join("plain"), "").unwrap();
    let error = PrivateDir::open_or_create(&room.path().join("plain")).unwrap_err();
    assert!(matches!(error.problem(), Problem::WrongKind { expected: Expected::Directory }), "{error}");
}

#[test]
fn names_sizes_and_absence_are_checked() {
    let room = room();
    assert!(PrivateDir::open(&room.path().join("absent/deeper")).unwrap().is_none());
    let directory = PrivateDir::open_or_create(&room.path().join("state")).unwrap();
    for name in ["", ".", "..", "a/b", "../a", "/a", "a\0b"] {
        assert!(matches!(directory.open_append(name).unwrap_err().problem(), Problem::NotAName), "{name:?}");
    }
    directory.write_atomically("file", b"12345").unwrap();
    assert!(matches!(directory.read("file", 4).unwrap_err().problem(), Problem::TooLarge { limit: 4 }));
    assert_eq!(directory.read("none", 4).unwrap_err().io_kind(), Some(std::io::ErrorKind::NotFound));
    assert!(PrivateDir::open_or_create(Path::new("/")).is_err());
}

#[test]
fn a_lock_is_held_once_and_given_back() {
    let room = room();
    let directory = PrivateDir::open_or_create(&room.path().join("state")).unwrap();
    let held = directory.lock("lock").unwrap();
    assert!(directory.try_lock("lock").unwrap().is_none());
    drop(held);
    assert!(directory.try_lock("lock").unwrap().is_some());
}
