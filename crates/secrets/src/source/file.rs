//! A file that is a secret, or a JSON document with a secret in it.

use std::path::Path;

use zeroize::Zeroizing;

use super::{SourceError, json, private_file, without_line_end};

pub(crate) fn read(path: &Path, key: Option<&str>) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    let contents = private_file::read(path)?;
    let Some(key) = key else { return Ok(without_line_end(contents)) };
    json::string_at(&contents, key).map_err(|mistake| SourceError::Json {
        path: path.to_owned(),
        key: key.to_owned(),
        mistake,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use tempfile::TempDir;

    use super::*;

    fn directory_with(contents: &[u8]) -> TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("key");
        fs::write(&file, contents).expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("chmod");
        directory
    }

    fn failure(path: &Path) -> SourceError {
        read(path, None).expect_err("refused")
    }

    #[test]
    fn one_line_end_is_cut_and_no_more() {
        for (contents, value) in
            [("abc", "abc"), ("abc\n", "abc"), ("abc\r\n", "abc"), ("abc\n\n", "abc\n"), ("", "")]
        {
            let directory = directory_with(contents.as_bytes());
            let read = read(&directory.path().join("key"), None).expect("read");
            assert_eq!(*read, value.as_bytes());
        }
    }

    #[test]
    fn req_e10_a_file_open_to_others_is_refused() {
        let directory = directory_with(b"sk-canary");
        let file = directory.path().join("key");
        for mode in [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o666] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("chmod");
            assert!(matches!(failure(&file), SourceError::OpenToOthers { mode: found, .. } if found == mode));
        }
        fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).expect("chmod");
        assert!(read(&file, None).is_ok());
    }

    #[test]
    fn what_is_not_a_file_is_refused_without_waiting() {
        let directory = directory_with(b"sk-canary");
        let fifo = directory.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .expect("mkfifo");
        assert!(matches!(failure(&fifo), SourceError::NotARegularFile { .. }));
        let socket = directory.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
        assert!(matches!(failure(&socket), SourceError::NotARegularFile { .. }));
        assert!(matches!(failure(directory.path()), SourceError::NotARegularFile { .. }));
        assert!(matches!(failure(Path::new("/dev/zero")), SourceError::NotARegularFile { .. }));
        assert!(matches!(failure(&directory.path().join("absent")), SourceError::FileNotOpened { .. }));
    }

    #[test]
    fn links_are_followed_to_a_private_file_only() {
        let directory = directory_with(b"sk-canary");
        let link = |name: &str, target: &str| {
            let path = directory.path().join(name);
            symlink(target, &path).expect("a link");
            path
        };
        link("first", "key");
        let second = link("second", directory.path().join("first").to_str().expect("text"));
        assert_eq!(*read(&second, None).expect("read"), b"sk-canary");
        assert!(matches!(failure(&link("loop", "loop")), SourceError::TooManyLinks { .. }));
        assert!(matches!(failure(&link("passwd", "/etc/passwd")), SourceError::OpenToOthers { .. }));
    }

    #[test]
    fn a_link_or_file_of_somebody_else_is_refused() {
        if !rustix::process::geteuid().is_root() {
            // Only root can make one; the same test runs as root in a container.
            return;
        }
        let directory = directory_with(b"sk-canary");
        let link = directory.path().join("link");
        symlink("key", &link).expect("a link");
        std::os::unix::fs::lchown(&link, Some(4242), None).expect("chown");
        assert!(matches!(failure(&link), SourceError::ForeignLink { owner: 4242, .. }));
        let file = directory.path().join("key");
        std::os::unix::fs::chown(&file, Some(4242), None).expect("chown");
        assert!(matches!(failure(&file), SourceError::ForeignFile { owner: 4242, .. }));
    }

    #[test]
    fn a_large_file_is_refused() {
        let directory = directory_with(&vec![b'x'; 1024 * 1024 + 1]);
        assert!(matches!(failure(&directory.path().join("key")), SourceError::FileTooLarge { .. }));
    }
}
