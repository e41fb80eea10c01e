//! What is deleted, and where.

use cofferdam_shell_syntax::{FileContent, Shell, Source, Word};

use crate::Category::{Disks, FileDestruction, Permissions};
use crate::call::Call;
use crate::judge::{Judge, Report};
use crate::names::Names;
use crate::place::{Path, Place};

const EVERYTHING: Report = Report::deny(
    "delete-system",
    FileDestruction,
    "It deletes the whole system, or a part that the system cannot do without.",
);
const HOME: Report =
    Report::deny("delete-home", FileDestruction, "It deletes everything in a home directory.");
const SYSTEM: Report = Report::ask("delete-system-file", FileDestruction, "It deletes files of the system.");
const OUTSIDE: Report =
    Report::ask("delete-outside", FileDestruction, "It deletes files outside of the project.");
const PROJECT: Report = Report::ask(
    "delete-project",
    FileDestruction,
    "It deletes the project itself, its history, or a directory that no build makes again.",
);
const UNKNOWN: Report =
    Report::ask("delete-unknown", FileDestruction, "What it deletes is not known before it runs.");
const DEVICE: Report = Report::deny("destroy-disk", Disks, "It destroys the contents of a disk.");

/// A single file in a variable that by its name holds something made to be thrown away.
fn names_scratch(word: &Word) -> bool {
    let scratch = |name: &str| {
        ["tmp", "temp", "lock", "pid", "log"].iter().any(|part| name.to_ascii_lowercase().contains(part))
    };
    !word.sources().is_empty()
        && word.text().chars().count() == 1
        && word.sources().iter().all(|source| matches!(source, Source::Variable(name) if scratch(name)))
}

/// Whether the files directly in a directory are what the system runs on.
fn holds_the_system(path: &str) -> bool {
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let directory = directory.strip_prefix("/usr").unwrap_or(directory);
    matches!(directory, "/bin" | "/sbin" | "/lib" | "/lib64" | "/etc" | "/boot")
}

/// `/$name`, and everything in it: the root itself when the name is empty.
fn is_any_top(path: &str) -> bool {
    let top = path.strip_prefix('/').unwrap_or_default();
    let top = top.strip_suffix("/*").unwrap_or(top);
    !top.is_empty() && top.chars().all(|c| c == cofferdam_shell_syntax::HOLE)
}

/// Programs that only look at a disk, or that have rules of their own.
static READS_DISKS: Names = Names::of(&[
    "[",
    "[[",
    "blkid",
    "blockdev",
    "btrfs",
    "cat",
    "cryptsetup",
    "dd",
    "df",
    "dumpe2fs",
    "e2label",
    "echo",
    "eject",
    "fdisk",
    "file",
    "findfs",
    "findmnt",
    "fsck",
    "fuser",
    "hdparm",
    "iostat",
    "ls",
    "lsblk",
    "lsof",
    "mdadm",
    "mount",
    "ntfsinfo",
    "nvme",
    "parted",
    "partx",
    "printf",
    "readlink",
    "realpath",
    "sdparm",
    "sfdisk",
    "sgdisk",
    "sg_inq",
    "smartctl",
    "stat",
    "test",
    "tune2fs",
    "udevadm",
    "umount",
    "wipefs",
    "xfs_info",
    "zdb",
    "zpool",
    "swaplabel",
    "lsscsi",
    "grep",
    "rg",
    "git",
    "sha256sum",
    "md5sum",
    "hexdump",
    "xxd",
    "od",
    "strings",
    "head",
    "badblocks-ro",
    "gdisk",
    "cfdisk",
    "lvs",
    "pvs",
    "vgs",
    "export",
    "read",
    "diskutil",
]);

impl Judge<'_> {
    /// A disk handed to a program that nobody said only looks at it.
    pub(crate) fn devices(&mut self, program: &str, call: &Call) {
        // `w` writes the table, and `z` among the commands for experts wipes it.
        let typed =
            |text: &str| text.split(['\n', ' ']).any(|line| line == "w" || program == "gdisk" && line == "z");
        if matches!(program, "fdisk" | "gdisk" | "cfdisk" | "parted")
            && call.input.text().is_some_and(|text| typed(text.text()))
        {
            self.report(&DEVICE, call.line());
        }
        if READS_DISKS.contains(program) {
            return;
        }
        let device = |word: &Word| {
            let value = word.text().split_once('=').map_or(word.text(), |(_, value)| value);
            value.starts_with("/dev/")
                && !word.text().contains(char::is_whitespace)
                && crate::place::is_device(value)
        };
        if call.arguments().iter().any(device) {
            self.report(
                &Report::ask("disk-operand", Disks, "It works on a whole disk, past its files."),
                call.line(),
            );
        }
    }

    pub(crate) fn deletions(&mut self, shell: &Shell, program: &str, call: &Call) {
        match program {
            "rm" | "grm" | "srm" | "rmdir" | "unlink" | "shred" | "gshred" | "wipe" | "trash" | "rimraf"
            | "del-cli" | "trash-put" | "scrub" | "rm-rf" => {
                self.remove(shell, program, call);
            }
            "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" | "chcon" | "restorecon" | "gchmod"
            | "gchown" => self.permissions(program, call),
            "rsync" => self.mirrored(call),
            "mv" | "gmv" => self.moved(call),
            "cp" | "install" | "ln"
                if call.operands().any(|word| word.text() == "/dev/null")
                    && call.operands().last().is_some_and(|word| word.text() != "/dev/null") =>
            {
                self.report(
                    &Report::ask("empty-file", FileDestruction, "It throws away the contents of a file."),
                    call.line(),
                );
            }
            "dd" if call.has_word(&["if=/dev/null"]) || self.noise_over_a_document(call) => {
                self.report(
                    &Report::ask("empty-file", FileDestruction, "It throws away the contents of a file."),
                    call.line(),
                );
            }
            "sed" | "gsed"
                if call.texts().any(|text| text.starts_with("-i"))
                    && call.texts().any(|text| matches!(text, "d" | "1,$d" | "1d;$d")) =>
            {
                self.report(
                    &Report::ask("empty-file", FileDestruction, "It throws away the contents of a file."),
                    call.line(),
                );
            }
            "tee"
                if (call.input.text().is_some_and(|text| !text.is_unknown() && text.is_empty())
                    || matches!(&call.input, cofferdam_shell_syntax::Input::File(path) if path.text() == "/dev/null"))
                    && !call.has(&['a'], &["append"]) =>
            {
                self.report(
                    &Report::ask("empty-file", FileDestruction, "It throws away the contents of a file."),
                    call.line(),
                );
            }
            "truncate" => {
                for word in call
                    .operands()
                    .filter(|word| !word.text().starts_with(|c: char| c.is_ascii_digit() || c == '+'))
                {
                    let path = call.path(word, self.context);
                    if matches!(
                        path.place,
                        Place::Inside | Place::Repository | Place::Outside | Place::HomeTop | Place::Unknown
                    ) {
                        self.report(
                            &Report::ask(
                                "empty-file",
                                FileDestruction,
                                "It throws away the contents of a file.",
                            ),
                            call.line(),
                        );
                    }
                }
            }
            _ => {}
        }
    }

    /// Noise or zeros where something other than an image or a test file stands.
    fn noise_over_a_document(&self, call: &Call) -> bool {
        let noise =
            call.texts().any(|text| matches!(text, "if=/dev/urandom" | "if=/dev/random" | "if=/dev/zero"));
        let over = call.texts().filter_map(|text| text.strip_prefix("of=")).any(|target| {
            let name = target.rsplit('/').next().unwrap_or(target).to_ascii_lowercase();
            let image = [
                "img", "bin", "dat", "raw", "iso", "qcow2", "tmp", "test", "swap", "out", "dd", "disk",
                "file",
            ]
            .iter()
            .any(|kind| name.ends_with(kind) || name.starts_with(kind));
            name.contains('.') && !image && !target.starts_with("/dev/")
        });
        noise && over
    }

    fn remove(&mut self, shell: &Shell, program: &str, call: &Call) {
        let recursive = call.has(&['r', 'R'], &["recursive"])
            || matches!(program, "rimraf" | "wipe" | "srm" | "trash" | "trash-put" | "rm-rf");
        let destroys = matches!(program, "shred" | "gshred" | "wipe" | "srm" | "scrub");
        if call.has(&[], &["no-preserve-root"]) {
            self.report(&EVERYTHING, call.line());
        }
        let valued = ["-n", "-s", "--iterations", "--size", "--random-source"];
        let mut skip = false;
        for word in call.operands() {
            if skip {
                skip = false;
                continue;
            }
            skip = destroys && valued.contains(&word.text());
            let mut path = call.path(word, self.context);
            // A link that this text has made stands for what it points to.
            if let Some(FileContent::Same(target)) = shell
                .file(word.text().trim_end_matches('/'))
                .filter(|_| recursive && word.text().ends_with('/'))
            {
                path = Path::of_text(target, None, self.context);
            }
            path = self.unmounted(self.followed_beneath(path));
            self.removed(&path, word, recursive, call);
            if destroys && !matches!(path.place, Place::Temporary | Place::Regenerable | Place::Device) {
                self.report(
                    &Report::ask(
                        "shred",
                        FileDestruction,
                        "It overwrites files so that they cannot be recovered.",
                    ),
                    call.line(),
                );
            }
        }
    }

    fn removed(&mut self, path: &Path, word: &Word, recursive: bool, call: &Call) {
        let sweeping = path.name().contains('*') && path.name().chars().all(|c| "*.?".contains(c));
        match path.place {
            Place::Root | Place::SystemTop if recursive => self.report(&EVERYTHING, call.line()),
            // Every program, or every library: no directory has to be entered for that.
            Place::SystemTop if sweeping && holds_the_system(&path.text) => {
                self.report(&EVERYTHING, call.line());
            }
            // Whatever the name turns out to be, it is the root directory or one that lies directly in it.
            Place::System | Place::Outside if recursive && is_any_top(&path.text) => {
                self.report(&EVERYTHING, call.line());
            }
            Place::Root | Place::SystemTop | Place::System => self.report(&SYSTEM, call.line()),
            Place::Home if recursive => self.report(&HOME, call.line()),
            Place::Device => self.report(&DEVICE, call.line()),
            // In a container or on another machine the project lies elsewhere; its build directory does too.
            Place::Outside if call.elsewhere && crate::place::is_regenerable_path(&path.text) => {}
            Place::Home | Place::HomeTop | Place::Outside => self.report(&OUTSIDE, call.line()),
            // What git leaves behind when it was interrupted, and tells people to remove.
            Place::Repository if !recursive && path.name().ends_with(".lock") && !sweeping => {}
            Place::Project | Place::Repository => self.report(&PROJECT, call.line()),
            Place::Inside
                if recursive || sweeping || (path.name().contains('*') && path.text.contains("/any/")) =>
            {
                self.report(&PROJECT, call.line());
            }
            Place::TemporaryTop if recursive || sweeping => self.report(&OUTSIDE, call.line()),
            Place::Unknown if !recursive && names_scratch(word) => {}
            Place::Unknown => self.report(&UNKNOWN, call.line()),
            Place::Regenerable | Place::Temporary
                if word.is_unknown()
                    && word.text().ends_with(cofferdam_shell_syntax::HOLE)
                    && word.text().contains("/..") =>
            {
                self.report(&UNKNOWN, call.line());
            }
            Place::Inside | Place::Regenerable | Place::Temporary | Place::TemporaryTop => {}
        }
    }

    fn permissions(&mut self, program: &str, call: &Call) {
        let recursive = call.has(&['R'], &["recursive"]);
        let mut operands = call.operands();
        // `chmod -x file`: what looks like an option is the mode.
        let taken = call.texts().find(|text| {
            text.len() > 1 && text.starts_with('-') && text[1..].chars().all(|c| "rwxst".contains(c))
        });
        let mode = match taken {
            Some(taken) if program.ends_with("chmod") => taken.to_owned(),
            _ if program == "setfacl" || call.has(&[], &["reference"]) => String::new(),
            _ => operands.next().map_or("", Word::text).to_owned(),
        };
        let paths: Vec<Path> = operands.map(|word| call.path(word, self.context)).collect();
        for path in &paths {
            match path.place {
                Place::Root | Place::SystemTop if recursive => {
                    self.report(
                        &Report::deny(
                            "permissions-system",
                            Permissions,
                            "It changes owner or permissions of the whole system.",
                        ),
                        call.line(),
                    );
                }
                Place::Root | Place::SystemTop | Place::System | Place::Device => {
                    self.report(
                        &Report::ask(
                            "permissions-system-file",
                            Permissions,
                            "It changes owner or permissions of system files.",
                        ),
                        call.line(),
                    );
                }
                Place::Unknown if recursive => {
                    self.report(
                        &Report::ask(
                            "permissions-unknown",
                            Permissions,
                            "Whose permissions it changes is not known before it runs.",
                        ),
                        call.line(),
                    );
                }
                Place::Home | Place::HomeTop if recursive => {
                    self.report(
                        &Report::ask(
                            "permissions-home",
                            Permissions,
                            "It changes owner or permissions of everything in a home directory.",
                        ),
                        call.line(),
                    );
                }
                _ => {}
            }
            if crate::place::is_own_policy(&path.text) {
                self.report(
                    &Report::deny(
                        "own-policy-file",
                        crate::Category::OwnPolicy,
                        "This changes the rules that this session works under.",
                    ),
                    call.line(),
                );
            }
        }
        if program.ends_with("chmod") {
            self.mode(&mode, &paths, call);
        }
        if program == "chown" || program == "gchown" || program == "chattr" {
            let what = if program == "chattr" {
                "It changes the attributes that protect files."
            } else {
                "It gives files to another user."
            };
            let own = mode.split([':', '.']).next().is_some_and(|user| {
                user == self.context.user || user.is_empty() || mode.contains(cofferdam_shell_syntax::HOLE)
            });
            if !own || program == "chattr" {
                self.report(&Report::ask("ownership", Permissions, what), call.line());
            }
        }
        if program == "setfacl" && !call.has(&[], &["get"]) {
            self.report(
                &Report::ask("access-list", Permissions, "It changes who may use a file."),
                call.line(),
            );
        }
    }

    fn mode(&mut self, mode: &str, paths: &[Path], call: &Call) {
        let octal = u32::from_str_radix(mode, 8).ok();
        let everyone_writes = octal.is_some_and(|mode| mode & 0o002 != 0)
            || mode.split(',').any(|part| {
                part.split_once(['+', '='])
                    .is_some_and(|(who, what)| what.contains('w') && (who.contains('o') || who.contains('a')))
            });
        let sets_identity = octal.is_some_and(|mode| mode & 0o6000 != 0)
            || mode.split(',').any(|part| {
                part.split_once(['+', '='])
                    .is_some_and(|(who, what)| what.contains('s') && !who.is_empty() || what == "s")
            });
        if sets_identity {
            self.report(
                &Report::ask(
                    "set-user-id",
                    crate::Category::Privilege,
                    "It makes a program run with the rights of its owner.",
                ),
                call.line(),
            );
        }
        if everyone_writes {
            self.report(
                &Report::ask(
                    "world-writable",
                    Permissions,
                    "It lets every user of the machine change these files.",
                ),
                call.line(),
            );
        }
        let readable = octal.is_some_and(|mode| mode & 0o044 != 0) || mode.contains("+r");
        if readable && paths.iter().any(|path| crate::place::is_secret(&path.text)) {
            self.report(
                &Report::ask(
                    "secret-readable",
                    crate::Category::Credentials,
                    "It lets others read a file that holds keys.",
                ),
                call.line(),
            );
        }
        let whole = paths.iter().any(|path| {
            matches!(path.place, Place::Home | Place::HomeTop | Place::Project | Place::Repository)
        });
        if matches!(octal, Some(0)) && (whole || call.has(&['R'], &["recursive"])) {
            self.report(
                &Report::ask("permissions-none", Permissions, "It takes all permissions away from files."),
                call.line(),
            );
        }
    }

    fn mirrored(&mut self, call: &Call) {
        if call.has(&['n'], &["dry-run"]) {
            return;
        }
        if !call
            .texts()
            .any(|text| text.starts_with("--delete") || text == "--del" || text == "--remove-source-files")
        {
            return;
        }
        let Some(target) = call.operands().last() else { return };
        let path = call.path(target, self.context);
        match path.place {
            Place::Root | Place::SystemTop | Place::Home => self.report(&EVERYTHING, call.line()),
            Place::Regenerable | Place::Temporary
                if !target.text().contains(':') && !call.has(&[], &["remove-source-files"]) => {}
            _ => self.report(
                &Report::ask(
                    "mirror-deletes",
                    FileDestruction,
                    "It deletes files at the target that the source does not have.",
                ),
                call.line(),
            ),
        }
    }

    fn moved(&mut self, call: &Call) {
        let operands: Vec<&Word> = call.operands().collect();
        let Some((target, sources)) = operands.split_last() else { return };
        if target.text() == "/dev/null" {
            self.report(
                &Report::ask("move-to-nowhere", FileDestruction, "It moves files to where they are lost."),
                call.line(),
            );
        }
        let thrown_away =
            matches!(call.path(target, self.context).place, Place::Temporary | Place::TemporaryTop);
        for source in sources {
            let path = call.path(source, self.context);
            let whole = !path.name().contains('.') || path.name().starts_with('*');
            if thrown_away && whole && path.place == Place::Inside {
                self.report(&PROJECT, call.line());
            }
            match path.place {
                Place::Root | Place::SystemTop | Place::Home => self.report(&EVERYTHING, call.line()),
                Place::System => self.report(&SYSTEM, call.line()),
                Place::Project | Place::Repository if path.text != self.context.project => {
                    self.report(&PROJECT, call.line());
                }
                Place::HomeTop => self.report(&OUTSIDE, call.line()),
                Place::Outside if path.name().starts_with('.') => self.report(&OUTSIDE, call.line()),
                _ => {}
            }
        }
    }
}
