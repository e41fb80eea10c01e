//! The terminal's modes that a program may set, and the way back from them.

use std::collections::BTreeSet;

/// A change of one private mode (`ESC [ ? number h` or `l`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub number: u16,
    pub on: bool,
}

/// Modes that change how things look or what keys and the mouse send, to the program and to nobody else.
const KNOWN: &[u16] = &[
    1, 5, 6, 7, 12, 25, 45, 47, 66, 69, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1034, 1036, 1039,
    1047, 1048, 1049, 2004, 2026,
];

/// Modes that are on when nobody has touched them.
const ON_AT_FIRST: &[u16] = &[7, 25, 1007, 1034, 1036];

/// Without a meaning of their own when they are undone: they save or restore the cursor at that moment.
const NOT_UNDONE: &[u16] = &[12, 1048];

pub fn is_known(number: u16) -> bool {
    KNOWN.contains(&number)
}

/// The modes that are not as they were at first.
#[derive(Debug, Default)]
pub struct Modes {
    changed: BTreeSet<u16>,
}

impl Modes {
    pub fn note(&mut self, change: Change) {
        if change.on == ON_AT_FIRST.contains(&change.number) {
            self.changed.remove(&change.number);
        } else {
            self.changed.insert(change.number);
        }
    }

    pub fn undo(&self) -> Vec<u8> {
        let back = self.changed.iter().filter(|number| !NOT_UNDONE.contains(number));
        let sequence = |number: &u16| {
            let letter = if ON_AT_FIRST.contains(number) { 'h' } else { 'l' };
            format!("\x1b[?{number}{letter}")
        };
        // The other screen first, so that what follows happens on the one the person gets back.
        let mut sequences: Vec<String> = back.rev().map(sequence).collect();
        if !sequences.is_empty() {
            sequences.push("\x1b[0m".to_owned());
        }
        sequences.concat().into_bytes()
    }
}
