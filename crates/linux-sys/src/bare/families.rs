//! Which kinds of sockets a command in a container may make, whatever its engine lets it.
//!
//! A container without a network still shares with the machine what belongs to no network: a socket of the hypervisor's
//! (`AF_VSOCK`) leads to the machine below, and older engines let everybody have one. So the few kinds that programs
//! need are let through, and all others do not exist. Sockets can also be made through a ring that no filter looks into,
//! so there are no rings. A list of what to refuse was rejected: the next kind would be missing on it.

use super::Errno;
use super::call::{call, number};

/// One step of the kernel's filter machine (`struct sock_filter`).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Step {
    code: u16,
    yes: u8,
    no: u8,
    value: u32,
}

/// `struct sock_fprog`.
#[repr(C)]
struct Program {
    length: u16,
    steps: *const Step,
}

const PR_SET_SECCOMP: usize = 22;
const MODE_FILTER: usize = 2;

/// Where the machine finds what it is asked about (`struct seccomp_data`).
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;

const ALLOW: u32 = 0x7fff_0000;
const FAILS_WITH: u32 = 0x0005_0000;
const NO_SUCH_CALL: u32 = 38;
const NO_SUCH_FAMILY: u32 = 97;

/// Calls by their numbers of the machine, and of the older one that it also runs programs of.
#[cfg(target_arch = "x86_64")]
mod numbers {
    pub const NATIVE: u32 = 0xc000_003e;
    pub const OLDER: u32 = 0x4000_0003;
    pub const OLDER_SOCKET: u32 = 359;
    /// All calls of sockets in one, with what they are told in memory, where no filter can look.
    pub const OLDER_ALL: u32 = 102;
}

#[cfg(target_arch = "aarch64")]
mod numbers {
    pub const NATIVE: u32 = 0xc000_00b7;
    pub const OLDER: u32 = 0x4000_0028;
    pub const OLDER_SOCKET: u32 = 281;
    /// There is none.
    pub const OLDER_ALL: u32 = u32::MAX;
}

const SOCKET: u32 = number::SOCKET as u32;
/// The same number everywhere.
const RING: u32 = 425;
/// Calls of a third kind, which nobody uses, begin here.
const THIRD_KIND: u32 = 0x4000_0000;

const UNIX: u32 = 1;
const INET: u32 = 2;
const INET6: u32 = 10;
const NETLINK: u32 = 16;

/// Places in the program that are jumped to.
const IN_OLDER: u8 = 7;
const IN_ALL: u8 = 11;
const FAMILY: u8 = 13;
const REFUSED: u8 = 18;
const MISSING: u8 = 19;
const ALLOWED: u8 = 20;

const fn load(at: u32) -> Step {
    Step { code: 0x20, yes: 0, no: 0, value: at }
}

const fn end(value: u32) -> Step {
    Step { code: 0x06, yes: 0, no: 0, value }
}

/// At this place: goes on to one of two others, which are behind it.
const fn equal(here: u8, value: u32, yes: u8, no: u8) -> Step {
    Step { code: 0x15, yes: yes - here - 1, no: no - here - 1, value }
}

const fn at_least(here: u8, value: u32, yes: u8, no: u8) -> Step {
    Step { code: 0x35, yes: yes - here - 1, no: no - here - 1, value }
}

const STEPS: [Step; 21] = [
    load(ARCHITECTURE),
    equal(1, numbers::OLDER, IN_OLDER, 2),
    equal(2, numbers::NATIVE, 3, MISSING),
    load(NUMBER),
    at_least(4, THIRD_KIND, MISSING, 5),
    equal(5, RING, MISSING, 6),
    equal(6, SOCKET, FAMILY, ALLOWED),
    load(NUMBER),
    equal(8, RING, MISSING, 9),
    equal(9, numbers::OLDER_SOCKET, FAMILY, 10),
    equal(10, numbers::OLDER_ALL, IN_ALL, ALLOWED),
    load(FIRST_ARGUMENT),
    equal(12, 1, REFUSED, ALLOWED),
    load(FIRST_ARGUMENT),
    equal(14, UNIX, ALLOWED, 15),
    equal(15, INET, ALLOWED, 16),
    equal(16, INET6, ALLOWED, 17),
    equal(17, NETLINK, ALLOWED, REFUSED),
    end(FAILS_WITH | NO_SUCH_FAMILY),
    end(FAILS_WITH | NO_SUCH_CALL),
    end(ALLOW),
];

/// From here on this process and all that come from it make no other sockets. It must have given up new privileges.
#[expect(unsafe_code, reason = "the kernel reads a program of ours")]
pub fn few_families() -> Result<(), Errno> {
    let program = Program { length: STEPS.len() as u16, steps: STEPS.as_ptr() };
    // SAFETY: the kernel copies the program, whose length is that of the list; both live until the call is back.
    unsafe { call(number::PRCTL, [PR_SET_SECCOMP, MODE_FILTER, &raw const program as usize, 0, 0, 0]) }
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel's machine would answer.
    fn answer(architecture: u32, number: u32, argument: u32) -> u32 {
        let (mut place, mut held) = (0, 0);
        loop {
            let step = STEPS[place];
            let jump = |holds: bool| usize::from(if holds { step.yes } else { step.no });
            place += 1 + match step.code {
                0x20 => {
                    held = match step.value {
                        NUMBER => number,
                        ARCHITECTURE => architecture,
                        _ => argument,
                    };
                    0
                }
                0x15 => jump(held == step.value),
                0x35 => jump(held >= step.value),
                _ => return step.value,
            };
        }
    }

    #[test]
    fn req_i10_only_the_usual_kinds_of_sockets_exist() {
        for (architecture, socket) in [(numbers::NATIVE, SOCKET), (numbers::OLDER, numbers::OLDER_SOCKET)] {
            for family in 0..64 {
                let expected = match family {
                    UNIX | INET | INET6 | NETLINK => ALLOW,
                    _ => FAILS_WITH | NO_SUCH_FAMILY,
                };
                assert_eq!(answer(architecture, socket, family), expected, "{architecture:x} {family}");
            }
            assert_eq!(answer(architecture, RING, 8), FAILS_WITH | NO_SUCH_CALL);
            assert_eq!(answer(architecture, 0, 40), ALLOW, "another call with the same number in it");
        }
        assert_eq!(answer(numbers::NATIVE, THIRD_KIND + SOCKET, INET), FAILS_WITH | NO_SUCH_CALL);
        assert_eq!(answer(0x1234, SOCKET, INET), FAILS_WITH | NO_SUCH_CALL);
        if numbers::OLDER_ALL != u32::MAX {
            assert_eq!(answer(numbers::OLDER, numbers::OLDER_ALL, 1), FAILS_WITH | NO_SUCH_FAMILY);
            assert_eq!(answer(numbers::OLDER, numbers::OLDER_ALL, 3), ALLOW);
        }
    }
}
