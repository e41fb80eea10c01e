//! The compiled filter against an interpreter, and the emitter against what its rules say.

use proptest::prelude::*;

use super::emit::{Action, Condition, Exception, Half, Step, Test as Question, program};

/// Runs a program as the kernel does.
fn run(steps: &[Step], architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
    let load = |offset: u32| match offset {
        0 => number,
        4 => architecture,
        _ => {
            let (index, high) = ((offset - 16) / 8, (offset - 16) % 8 == 4);
            let argument = arguments[index as usize];
            if high { (argument >> 32) as u32 } else { argument as u32 }
        }
    };
    let (mut position, mut accumulator) = (0usize, 0u32);
    loop {
        let (code, if_true, if_false, value) = steps[position];
        position += 1;
        match code {
            0x20 => accumulator = load(value),
            0x54 => accumulator &= value,
            0x05 => position += value as usize,
            0x15 => position += usize::from(if accumulator == value { if_true } else { if_false }),
            0x35 => position += usize::from(if accumulator >= value { if_true } else { if_false }),
            0x06 => return value,
            other => panic!("the emitter does not use {other:#x}"),
        }
    }
}

/// What the rules say, without a program.
fn expected(unknown: u16, calls: &[(u32, Action)], number: u32, arguments: [u64; 6]) -> u32 {
    let refuse = |errno: u16| 0x5_0000 | u32::from(errno);
    let holds = |condition: &Condition| {
        let argument = arguments[condition.argument as usize];
        let half = match condition.half {
            Half::Low => argument as u32,
            Half::High => (argument >> 32) as u32,
        };
        let value = half & condition.mask;
        match &condition.test {
            Question::Is(values) => values.contains(&value),
            Question::IsNot(values) => !values.contains(&value),
            Question::HasAny => value != 0,
        }
    };
    match calls.iter().find(|(call, _)| *call == number).map(|(_, action)| action) {
        None => refuse(unknown),
        Some(Action::Allow) => 0x7fff_0000,
        Some(Action::Refuse(errno)) => refuse(*errno),
        Some(Action::Except(exceptions)) => exceptions
            .iter()
            .find(|exception| exception.when.iter().all(holds))
            .map_or(0x7fff_0000, |exception| refuse(exception.errno)),
    }
}

fn condition() -> impl Strategy<Value = Condition> {
    let values = || prop::collection::vec(0u32..6, 1..4);
    let test = prop_oneof![
        values().prop_map(Question::Is),
        values().prop_map(Question::IsNot),
        Just(Question::HasAny)
    ];
    let half = prop_oneof![3 => Just(Half::Low), 1 => Just(Half::High)];
    (0u32..6, half, prop_oneof![Just(u32::MAX), 1u32..8], test)
        .prop_map(|(argument, half, mask, test)| Condition { argument, half, mask, test })
}

fn action() -> impl Strategy<Value = Action> {
    let exception = (1u16..40, prop::collection::vec(condition(), 1..4))
        .prop_map(|(errno, when)| Exception { errno, when });
    prop_oneof![
        Just(Action::Allow),
        (1u16..40).prop_map(Action::Refuse),
        prop::collection::vec(exception, 1..4).prop_map(Action::Except),
    ]
}

proptest! {
    #[test]
    fn a_program_does_what_its_rules_say(
        calls in prop::collection::btree_map(0u32..500, action(), 0..200),
        number in 0u32..520,
        arguments in prop::array::uniform6(0u64..8),
        high in 0u32..8,
    ) {
        let calls: Vec<_> = calls.into_iter().collect();
        let steps = program(7, 38, &calls);
        // The high half of an argument changes nothing unless it is asked for.
        let arguments = arguments.map(|argument| argument | u64::from(high) << 32);
        prop_assert_eq!(run(&steps, 7, number, arguments), expected(38, &calls, number, arguments));
        prop_assert_eq!(run(&steps, 8, number, arguments), 0x8000_0000);
        prop_assert_eq!(run(&steps, 7, number | 0x4000_0000, arguments), 0x5_0000 | 38);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn req_i11_the_filter_refuses_what_its_data_names() {
    let steps: Vec<Step> =
        super::FILTER.iter().map(|step| (step.code, step.if_true, step.if_false, step.value)).collect();
    let answer = |number, arguments| run(&steps, 0xc000_003e, number, arguments);
    let (allow, eperm, enosys) = (0x7fff_0000, 0x5_0001, 0x5_0026);
    let table: &[(&str, u32, [u64; 6], u32)] = &[
        ("read", 0, [0; 6], allow),
        ("ptrace", 101, [0; 6], eperm),
        ("clone3", 435, [0; 6], enosys),
        ("io_uring_setup", 425, [0; 6], enosys),
        ("clone of a thread", 56, [0x3d_0f00, 0, 0, 0, 0, 0], allow),
        ("clone with a user namespace", 56, [0x1000_0000, 0, 0, 0, 0, 0], eperm),
        ("TIOCSTI", 16, [0, 0x5412, 0, 0, 0, 0], eperm),
        ("TIOCSTI with bit 32 set", 16, [0, 0x1_0000_5412, 0, 0, 0, 0], eperm),
        ("TCGETS", 16, [0, 0x5401, 0, 0, 0, 0], allow),
        ("AF_UNIX", 41, [1, 1, 0, 0, 0, 0], allow),
        ("TCP", 41, [2, 1, 6, 0, 0, 0], allow),
        ("AF_VSOCK", 41, [40, 1, 0, 0, 0, 0], 0x5_0000 | 97),
        ("AF_VSOCK with high bits", 41, [0x5_0000_0028, 1, 0, 0, 0, 0], 0x5_0000 | 97),
        ("netlink route", 41, [16, 3, 0, 0, 0, 0], allow),
        ("netlink generic", 41, [16, 3, 16, 0, 0, 0], 0x5_0000 | 93),
        ("raw IPv4", 41, [2, 3, 6, 0, 0, 0], eperm),
        ("ICMP datagrams", 41, [2, 2, 1, 0, 0, 0], 0x5_0000 | 93),
        ("open for reading with a stray mode", 257, [0, 0, 0, 0o4755, 0, 0], allow),
        ("open that makes a set-user-id file", 257, [0, 0, 0o100 | 1, 0o4755, 0, 0], eperm),
        ("mknod of a pipe", 133, [0, 0o1_0644, 0, 0, 0, 0], allow),
        ("mknod of a device", 133, [0, 0o2_0644, 0, 0, 0, 0], eperm),
        ("mknod of a set-user-id file", 133, [0, 0o10_4755, 0, 0, 0, 0], eperm),
        ("a pair of Unix sockets", 53, [1, 1, 0, 0, 0, 0], allow),
        ("a pair of TIPC sockets", 53, [30, 1, 0, 0, 0, 0], 0x5_0000 | 97),
        ("SCTP by its type", 41, [2, 5, 0, 0, 0, 0], eperm),
        ("out-of-band data", 44, [3, 0, 1, 1, 0, 0], 0x5_0000 | 95),
        ("MSG_NOSIGNAL", 44, [3, 0, 1, 0x4000, 0, 0], allow),
        ("reading the limit of core files", 302, [0, 4, 0, 0x7fff_0000_0000, 0, 0], allow),
        ("setting the limit of core files", 302, [0, 4, 0x1234, 0, 0, 0], 0x5_0000),
        ("setting it from a page at 4 GiB", 302, [0, 4, 0x1_0000_0000, 0, 0, 0], 0x5_0000),
        ("setting the limit of open files", 302, [0, 7, 0x1234, 0, 0, 0], allow),
        ("a call of the future", 600, [0; 6], enosys),
    ];
    for (name, number, arguments, verdict) in table {
        assert_eq!(answer(*number, *arguments), *verdict, "{name}");
    }
}
