//! What the read guard lets through, as data. The looking is done by `linux_sys::read_guard`.

/// The files directly below `/proc` that tell about the machine and about no process. In a procfs nothing
/// else is readable: a list of what is dangerous there would be out of date with the next kernel.
pub const READABLE_PROC_FILES: &[&str] = &["cpuinfo", "loadavg", "meminfo", "uptime", "version"];

/// The `f_type` of a procfs, from `linux/magic.h`.
pub const PROCFS: u32 = 0x9fa0;

/// A filesystem whose files are not stored anywhere: reading one asks the kernel, another process or a
/// device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelFilesystem {
    magic: u32,
    pub name: &'static str,
}

impl KernelFilesystem {
    /// Finds a kernel filesystem by the `f_type` that `fstatfs` gives.
    pub fn by_magic(magic: u32) -> Option<Self> {
        KERNEL_FILESYSTEMS.iter().copied().find(|filesystem| filesystem.magic == magic)
    }
}

const fn filesystem(magic: u32, name: &'static str) -> KernelFilesystem {
    KernelFilesystem { magic, name }
}

/// Numbers of `linux/magic.h` and, for a few, of the filesystem's own source. A real disk, a tmpfs, an
/// overlay, FUSE and network filesystems are not here: people keep files on them.
const KERNEL_FILESYSTEMS: &[KernelFilesystem] = &[
    filesystem(0x0904_1934, "anon_inode"),
    filesystem(0x5a3c_69f0, "apparmorfs"),
    filesystem(0x6c6f_6f70, "binderfs"),
    filesystem(0x4249_4e4d, "binfmt_misc"),
    filesystem(0xcafe_4a11, "bpf"),
    filesystem(0x0027_e0eb, "cgroup"),
    filesystem(0x6367_7270, "cgroup2"),
    filesystem(0x6265_6570, "configfs"),
    filesystem(0x6462_6720, "debugfs"),
    filesystem(0x454d_444d, "devmem"),
    filesystem(0x0000_1cd1, "devpts"),
    filesystem(0x444d_4142, "dma-buf"),
    filesystem(0xde5e_81e4, "efivarfs"),
    filesystem(0x6573_5543, "fusectl"),
    filesystem(0x9584_58f6, "hugetlbfs"),
    filesystem(0x1980_0202, "mqueue"),
    filesystem(0x6e66_7364, "nfsd"),
    filesystem(0x6e73_6673, "nsfs"),
    filesystem(0x5049_4446, "pidfs"),
    filesystem(0x5049_5045, "pipefs"),
    filesystem(PROCFS, "procfs"),
    filesystem(0x6165_676c, "pstore"),
    filesystem(0x0765_5821, "resctrl"),
    filesystem(0x6759_6969, "rpc_pipefs"),
    filesystem(0x5345_434d, "secretmem"),
    filesystem(0x7363_6673, "securityfs"),
    filesystem(0xf97c_ff8c, "selinuxfs"),
    filesystem(0x4341_5d53, "smackfs"),
    filesystem(0x534f_434b, "sockfs"),
    filesystem(0x6265_6572, "sysfs"),
    filesystem(0x7472_6163, "tracefs"),
    filesystem(0x0000_9fa2, "usbdevfs"),
    filesystem(0xabba_1974, "xenfs"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_each_filesystem_once() {
        for (place, one) in KERNEL_FILESYSTEMS.iter().enumerate() {
            for other in &KERNEL_FILESYSTEMS[place + 1..] {
                assert!(one.magic != other.magic && one.name < other.name, "{} and {}", one.name, other.name);
            }
        }
    }

    #[test]
    fn disks_and_memory_filesystems_are_not_kernel_filesystems() {
        for (name, magic) in [
            ("ext4", 0xef53),
            ("tmpfs", 0x0102_1994),
            ("overlay", 0x794c_7630),
            ("btrfs", 0x9123_683e),
            ("nfs", 0x6969),
            ("fuse", 0x6573_5546),
        ] {
            assert_eq!(KernelFilesystem::by_magic(magic), None, "{name}");
        }
    }
}
