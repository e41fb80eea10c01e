//! Calls that a sandbox has no use for, as a closed table: nobody outside can make a row, so none can be made that
//! hurts. Every pointer is null or the address 1, which is never mapped; where a call does something when it is
//! made like that by root, another argument is one that the kernel refuses.

use std::io;

use libc::c_long;

/// What the calls of a row are good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Mounts and the root.
    Mounts,
    /// Namespaces by the newest interface.
    Namespaces,
    /// The asynchronous interface that goes around filters.
    IoUring,
    /// Keys, filters, counters, modules, clocks, names: large parts of the kernel.
    Kernel,
    /// The processor itself, and the protections of memory.
    Machine,
    /// Files by handle, past every path.
    Handles,
    /// Watching whole file systems.
    Watching,
    /// Newer than the list of what is allowed.
    Unknown,
}

/// One call with its arguments.
#[derive(Debug, Clone, Copy)]
pub struct KernelCall {
    pub name: &'static str,
    pub group: Group,
    number: c_long,
    arguments: [usize; 6],
}

const fn call(group: Group, name: &'static str, number: c_long, first: [usize; 3]) -> KernelCall {
    let [a, b, c] = first;
    KernelCall { name, group, number, arguments: [a, b, c, 0, 0, 0] }
}

/// No descriptor has this number.
const NONE: usize = usize::MAX;
/// No address is mapped here.
const NOWHERE: usize = 1;
const N: [usize; 3] = [0; 3];

#[rustfmt::skip]
pub const KERNEL_CALLS: &[KernelCall] = &[
    call(Group::Mounts, "mount", libc::SYS_mount, [NOWHERE, NOWHERE, NOWHERE]),
    call(Group::Mounts, "umount2", libc::SYS_umount2, [NOWHERE, 0, 0]),
    call(Group::Mounts, "pivot_root", libc::SYS_pivot_root, [NOWHERE, NOWHERE, 0]),
    call(Group::Mounts, "chroot", libc::SYS_chroot, [NOWHERE, 0, 0]),
    call(Group::Mounts, "open_tree", libc::SYS_open_tree, [NONE, NOWHERE, 0]),
    call(Group::Mounts, "move_mount", libc::SYS_move_mount, [NONE, NOWHERE, NONE]),
    call(Group::Mounts, "mount_setattr", libc::SYS_mount_setattr, [NONE, NOWHERE, 0]),
    call(Group::Mounts, "fsopen", libc::SYS_fsopen, [NOWHERE, 0, 0]),
    call(Group::Mounts, "fsconfig", libc::SYS_fsconfig, [NONE, 0, 0]),
    call(Group::Mounts, "fsmount", libc::SYS_fsmount, [NONE, 0, 0]),
    call(Group::Mounts, "fspick", libc::SYS_fspick, [NONE, NOWHERE, 0]),
    call(Group::Mounts, "swapon", libc::SYS_swapon, [NOWHERE, 0, 0]),
    call(Group::Mounts, "swapoff", libc::SYS_swapoff, [NOWHERE, 0, 0]),
    call(Group::Namespaces, "clone3", libc::SYS_clone3, [NOWHERE, 88, 0]),
    call(Group::Namespaces, "setns", libc::SYS_setns, [NONE, 0, 0]),
    call(Group::IoUring, "io_uring_setup", libc::SYS_io_uring_setup, [1, NOWHERE, 0]),
    call(Group::IoUring, "io_uring_enter", libc::SYS_io_uring_enter, [NONE, 0, 0]),
    call(Group::IoUring, "io_uring_register", libc::SYS_io_uring_register, [NONE, 0, 0]),
    call(Group::Kernel, "add_key", libc::SYS_add_key, [NOWHERE, NOWHERE, 0]),
    call(Group::Kernel, "request_key", libc::SYS_request_key, [NOWHERE, NOWHERE, 0]),
    call(Group::Kernel, "keyctl", libc::SYS_keyctl, N),
    call(Group::Kernel, "bpf", libc::SYS_bpf, N),
    call(Group::Kernel, "perf_event_open", libc::SYS_perf_event_open, [NOWHERE, 0, 0]),
    call(Group::Kernel, "userfaultfd", libc::SYS_userfaultfd, [NONE, 0, 0]),
    call(Group::Kernel, "init_module", libc::SYS_init_module, [NOWHERE, 0, NOWHERE]),
    call(Group::Kernel, "finit_module", libc::SYS_finit_module, [NONE, NOWHERE, 0]),
    call(Group::Kernel, "delete_module", libc::SYS_delete_module, [NOWHERE, 0, 0]),
    call(Group::Kernel, "kexec_load", libc::SYS_kexec_load, [0, NONE, 0]),
    call(Group::Kernel, "kexec_file_load", libc::SYS_kexec_file_load, [NONE, NONE, NONE]),
    call(Group::Kernel, "quotactl", libc::SYS_quotactl, [NONE, NOWHERE, 0]),
    call(Group::Kernel, "acct", libc::SYS_acct, [NOWHERE, 0, 0]),
    call(Group::Kernel, "reboot", libc::SYS_reboot, N),
    call(Group::Kernel, "syslog", libc::SYS_syslog, [10, 0, 0]),
    call(Group::Kernel, "settimeofday", libc::SYS_settimeofday, [NOWHERE, 0, 0]),
    call(Group::Kernel, "clock_settime", libc::SYS_clock_settime, [0, NOWHERE, 0]),
    call(Group::Kernel, "adjtimex", libc::SYS_adjtimex, [NOWHERE, 0, 0]),
    call(Group::Kernel, "sethostname", libc::SYS_sethostname, [NOWHERE, NONE, 0]),
    call(Group::Kernel, "setdomainname", libc::SYS_setdomainname, [NOWHERE, NONE, 0]),
    call(Group::Machine, "personality", libc::SYS_personality, [0x0040_0000, 0, 0]),
    #[cfg(target_arch = "x86_64")]
    call(Group::Machine, "modify_ldt", libc::SYS_modify_ldt, N),
    #[cfg(target_arch = "x86_64")]
    call(Group::Machine, "iopl", libc::SYS_iopl, N),
    #[cfg(target_arch = "x86_64")]
    call(Group::Machine, "ioperm", libc::SYS_ioperm, N),
    call(Group::Handles, "name_to_handle_at", libc::SYS_name_to_handle_at, [NONE, NOWHERE, NOWHERE]),
    call(Group::Handles, "open_by_handle_at", libc::SYS_open_by_handle_at, [NONE, NOWHERE, 0]),
    call(Group::Watching, "fanotify_init", libc::SYS_fanotify_init, [NONE, 0, 0]),
    call(Group::Watching, "fanotify_mark", libc::SYS_fanotify_mark, [NONE, 0, 0]),
    call(Group::Unknown, "statmount", 457, [NOWHERE, NOWHERE, 0]),
    call(Group::Unknown, "listmount", 458, [NOWHERE, NOWHERE, 1]),
    call(Group::Unknown, "lsm_get_self_attr", 459, [0, NOWHERE, NOWHERE]),
    call(Group::Unknown, "lsm_list_modules", 461, [NOWHERE, NOWHERE, 0]),
    call(Group::Unknown, "open_tree_attr", 467, [NONE, NOWHERE, 0]),
    call(Group::Unknown, "file_getattr", 468, [NONE, NOWHERE, 0]),
    call(Group::Unknown, "file_setattr", 469, [NONE, NOWHERE, 0]),
    call(Group::Unknown, "470", 470, [NONE; 3]),
    call(Group::Unknown, "480", 480, [NONE; 3]),
    call(Group::Unknown, "500", 500, [NONE; 3]),
    call(Group::Unknown, "600", 600, [NONE; 3]),
];

impl KernelCall {
    /// Makes the call. `EPERM` and `ENOSYS` mean that it was not reached, anything else that it was.
    pub fn make(&self) -> io::Result<()> {
        make(self.number, self.arguments)
    }
}

/// A question about, or a change to, another process that leaves it as it is.
#[derive(Debug, Clone, Copy)]
pub struct ProcessCall {
    pub name: &'static str,
    number: c_long,
    /// Where the process number goes, once or twice.
    places: &'static [usize],
    arguments: [usize; 6],
}

const fn about(
    name: &'static str,
    number: c_long,
    place: &'static [usize],
    first: [usize; 3],
) -> ProcessCall {
    let [a, b, c] = first;
    ProcessCall { name, number, places: place, arguments: [a, b, c, 0, 0, 0] }
}

#[rustfmt::skip]
pub const PROCESS_CALLS: &[ProcessCall] = &[
    about("getpriority", libc::SYS_getpriority, &[1], N),
    about("sched_getaffinity", libc::SYS_sched_getaffinity, &[0], [0, 8, NOWHERE]),
    about("sched_getscheduler", libc::SYS_sched_getscheduler, &[0], N),
    about("prlimit64", libc::SYS_prlimit64, &[0], [0, 7, 0]),
    about("ioprio_get", libc::SYS_ioprio_get, &[1], [1, 0, 0]),
    about("migrate_pages", libc::SYS_migrate_pages, &[0], N),
    about("move_pages", libc::SYS_move_pages, &[0], N),
    about("kcmp", libc::SYS_kcmp, &[0, 1], N),
    about("get_robust_list", libc::SYS_get_robust_list, &[0], [0, NOWHERE, NOWHERE]),
    about("tgkill", libc::SYS_tgkill, &[0, 1], N),
    about("getsid", libc::SYS_getsid, &[0], N),
    about("F_SETOWN", libc::SYS_fcntl, &[2], [0, 8, 0]),
];

impl ProcessCall {
    /// Makes the call about this process. `ESRCH`, `EPERM` and `ENOSYS` mean that it does not exist for us.
    pub fn make(&self, pid: u32) -> io::Result<()> {
        let mut arguments = self.arguments;
        for &place in self.places {
            arguments[place] = pid as usize;
        }
        make(self.number, arguments)
    }
}

fn make(number: c_long, [a, b, c, d, e, f]: [usize; 6]) -> io::Result<()> {
    #[expect(unsafe_code, reason = "calls without a wrapper")]
    // SAFETY: only the rows above come here: their pointers are null or not mapped, so the kernel reads and writes
    // no memory of this process, and they hold no call that changes its mappings, threads or descriptors.
    super::done(unsafe { libc::syscall(number, a, b, c, d, e, f) })
}
