// From rules about system calls to a program of classic BPF. Included by the build script, which runs it
// once, and by the tests, which run what it makes against an interpreter.

/// What happens to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Allow,
    /// The call fails with this error number.
    Refuse(u16),
    /// The first exception whose conditions all hold refuses it; otherwise it is allowed.
    Except(Vec<Exception>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    pub errno: u16,
    pub when: Vec<Condition>,
}

/// A question about one half of one argument: the low one, because the kernel looks at no more of most arguments,
/// unless it is asked about a pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    pub argument: u32,
    pub half: Half,
    pub mask: u32,
    pub test: Test,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    Low,
    High,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// Equal to one of these.
    Is(Vec<u32>),
    /// Equal to none of these.
    IsNot(Vec<u32>),
    /// Some bit that the mask leaves is set.
    HasAny,
}

/// One instruction: code, distance if true, distance if false, value.
pub type Step = (u16, u8, u8, u32);

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

const KILL_PROCESS: u32 = 0x8000_0000;
const ERRNO: u32 = 0x0005_0000;
const ALLOWED: u32 = 0x7fff_0000;

/// The whole program. `calls` maps numbers to actions, in rising order; every other number fails with `unknown`.
/// A call made through another architecture's entry ends the process: its numbers mean something else. Those of the x32
/// interface of the same architecture are above all others, and unknown.
pub fn program(architecture: u32, unknown: u16, calls: &[(u32, Action)]) -> Vec<Step> {
    let mut steps = vec![
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL_PROCESS),
        (LOAD, 0, 0, NUMBER),
    ];
    steps.extend(tree(&runs(unknown, calls)));
    loop {
        let shorter = shortened(&steps);
        if shorter.len() == steps.len() {
            return steps;
        }
        steps = shorter;
    }
}

/// The same program with as few ends as jumps can reach: the kernel takes time for every step when the filter is put up,
/// and somebody waits for that at every start.
fn shortened(steps: &[Step]) -> Vec<Step> {
    let mut kept = std::collections::BTreeSet::new();
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
    // From the back, so that an end which a later jump has chosen is there for the earlier ones.
    for (at, &(code, if_true, if_false, value)) in steps.iter().enumerate().rev() {
        next[at] = match code {
            RETURN => Vec::new(),
            JUMP => vec![at + 1 + value as usize],
            JUMP_EQUAL | JUMP_AT_LEAST => [if_true, if_false]
                .map(|distance| {
                    let target = at + 1 + usize::from(distance);
                    if steps[target].0 != RETURN {
                        return target;
                    }
                    let same = |end: &usize| steps[*end] == steps[target];
                    let within = target..steps.len().min(at + 257);
                    let there = kept.range(at + 1..=at + 256).rev().copied().find(same);
                    let end = there.or_else(|| within.rev().find(same)).unwrap_or(target);
                    kept.insert(end);
                    end
                })
                .into(),
            _ => vec![at + 1],
        };
    }
    // Nothing jumps back, so one look from the front finds all that is reached.
    let mut reached = vec![false; steps.len()];
    reached[0] = true;
    for at in 0..steps.len() {
        for target in next[at].iter().filter(|_| reached[at]).copied().collect::<Vec<_>>() {
            reached[target] = true;
        }
    }
    let mut before = 0;
    let place: Vec<usize> = reached
        .iter()
        .map(|reached| {
            before += usize::from(*reached);
            before - usize::from(*reached)
        })
        .collect();
    let distance = |at: usize, which: usize| place[next[at][which]] - place[at] - 1;
    let short =
        |at: usize, which: usize| u8::try_from(distance(at, which)).expect("it was no further before");
    let moved = |at: usize| match steps[at] {
        (JUMP, ..) => (JUMP, 0, 0, distance(at, 0) as u32),
        (code @ (JUMP_EQUAL | JUMP_AT_LEAST), _, _, value) => (code, short(at, 0), short(at, 1), value),
        other => other,
    };
    (0..steps.len()).filter(|at| reached[*at]).map(moved).collect()
}

fn refuse(errno: u16) -> Step {
    (RETURN, 0, 0, ERRNO | u32::from(errno))
}

/// Neighbouring numbers with the same action as one run; each run goes on until the next begins.
fn runs(unknown: u16, calls: &[(u32, Action)]) -> Vec<(u32, Action)> {
    let mut runs: Vec<(u32, Action)> = Vec::new();
    let mut add = |start: u32, action: Action| {
        if runs.last().is_none_or(|(_, last)| *last != action) {
            runs.push((start, action));
        }
    };
    let mut next = 0;
    for (number, action) in calls {
        if *number > next {
            add(next, Action::Refuse(unknown));
        }
        add(*number, action.clone());
        next = number + 1;
    }
    add(next, Action::Refuse(unknown));
    runs
}

/// A balanced tree of comparisons: a call costs as many steps as the logarithm of the number of runs.
fn tree(runs: &[(u32, Action)]) -> Vec<Step> {
    if let [(_, action)] = runs {
        return leaf(action);
    }
    let (left, right) = runs.split_at(runs.len() / 2);
    let (left_steps, right_steps) = (tree(left), tree(right));
    let mut steps = Vec::new();
    // Jumps reach 255 steps; a plain jump reaches further.
    match u8::try_from(left_steps.len()) {
        Ok(distance) => steps.push((JUMP_AT_LEAST, distance, 0, right[0].0)),
        Err(_) => {
            steps.push((JUMP_AT_LEAST, 0, 1, right[0].0));
            steps.push((JUMP, 0, 0, left_steps.len() as u32));
        }
    }
    steps.extend(left_steps);
    steps.extend(right_steps);
    steps
}

fn leaf(action: &Action) -> Vec<Step> {
    match action {
        Action::Allow => vec![(RETURN, 0, 0, ALLOWED)],
        Action::Refuse(errno) => vec![refuse(*errno)],
        Action::Except(exceptions) => {
            let mut steps: Vec<Step> = exceptions.iter().flat_map(exception).collect();
            steps.push((RETURN, 0, 0, ALLOWED));
            steps
        }
    }
}

/// Falls through to what follows as soon as one condition does not hold.
fn exception(exception: &Exception) -> Vec<Step> {
    let mut steps = vec![refuse(exception.errno)];
    for condition in exception.when.iter().rev() {
        // Both architectures are little-endian: the low half comes first.
        let half = match condition.half {
            Half::Low => 0,
            Half::High => 4,
        };
        let mut before = vec![(LOAD, 0, 0, ARGUMENTS + 8 * condition.argument + half)];
        if condition.mask != u32::MAX {
            before.push((AND, 0, 0, condition.mask));
        }
        // A short exception keeps every distance below 256; the build checks that by the conversion.
        let rest = u8::try_from(steps.len()).expect("an exception of at most 255 steps");
        match &condition.test {
            Test::HasAny => before.push((JUMP_EQUAL, rest, 0, 0)),
            Test::Is(values) => {
                let count = u8::try_from(values.len()).expect("an exception of at most 255 values");
                for (position, value) in (0u8..).zip(values) {
                    let last = position + 1 == count;
                    before.push((JUMP_EQUAL, count - 1 - position, if last { rest } else { 0 }, *value));
                }
            }
            Test::IsNot(values) => {
                let count = u8::try_from(values.len()).expect("an exception of at most 255 values");
                for (position, value) in (0u8..).zip(values) {
                    before.push((JUMP_EQUAL, rest + (count - 1 - position), 0, *value));
                }
            }
        }
        before.extend(steps);
        steps = before;
    }
    steps
}
