//! The promises of the project, and the tests that show them.

mod table;
mod tests_in_source;

pub use table::{Line, Promise, Status, Table};
pub use tests_in_source::{Shown, find};

/// How many promises there are of each kind. A new one is added here and in the table.
pub const PROMISES: &[(char, u8)] = &[('I', 15), ('A', 18), ('E', 34), ('P', 6), ('S', 6)];

/// All ids: `I01` to `S06`.
pub fn ids() -> impl Iterator<Item = String> {
    PROMISES.iter().flat_map(|&(letter, last)| (1..=last).map(move |number| format!("{letter}{number:02}")))
}
