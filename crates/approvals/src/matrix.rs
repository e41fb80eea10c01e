//! Which session, in which mode, with which verdict, leads to what: one table.
//!
//! The first row that fits decides. Above every row stand the hardline floor and the user's own deny rules
//! ([`crate::Decision::Deny`]); below every row that asks or refuses stand the approvals that were stored for
//! exactly this command.

use cofferdam_policy::document::{Mode, SessionKind, Unattended};

use crate::{Author, Backend, Decision};

/// What is done about a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Run,
    /// A person is asked; silence is a no.
    AskPerson,
    /// The second opinion may say no; otherwise a person is asked.
    SecondOpinion,
    /// Only a stored rule for this kind of session lets it run.
    NeedsRule,
    /// Nobody can let it run.
    Refuse,
}

impl Step {
    pub fn words(self) -> &'static str {
        match self {
            Self::Run => "runs",
            Self::AskPerson => "a person is asked",
            Self::SecondOpinion => "second opinion, then a person",
            Self::NeedsRule => "refused without a stored rule",
            Self::Refuse => "refused",
        }
    }
}

/// One line of the table. `None` stands for any.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub kinds: &'static [SessionKind],
    pub author: Author,
    pub mode: Option<Mode>,
    pub backend: Option<Backend>,
    pub unattended: Option<Unattended>,
    /// What becomes of [`Decision::Ask`]. `Allow` always runs and `Deny` never does.
    pub ask: Step,
}

const ATTENDED: &[SessionKind] = &[SessionKind::Interactive, SessionKind::Gateway];
const UNATTENDED: &[SessionKind] = &[SessionKind::Cron, SessionKind::Headless];

const fn row(kinds: &'static [SessionKind], mode: Mode, ask: Step) -> Row {
    Row { kinds, author: Author::Agent, mode: Some(mode), backend: None, unattended: None, ask }
}

/// The table.
pub const TABLE: &[Row] = &[
    // `cofferdam run -- make deploy`: who typed that has decided already. The floor holds for them too.
    Row {
        kinds: &SessionKind::ALL,
        author: Author::Caller,
        mode: None,
        backend: None,
        unattended: None,
        ask: Step::Run,
    },
    row(ATTENDED, Mode::Manual, Step::AskPerson),
    row(ATTENDED, Mode::Smart, Step::SecondOpinion),
    row(ATTENDED, Mode::Off, Step::Run),
    row(UNATTENDED, Mode::Manual, Step::NeedsRule),
    row(UNATTENDED, Mode::Smart, Step::NeedsRule),
    // Where nobody watches, "off" holds only inside walls, or where the configuration says so for this kind.
    Row { backend: Some(Backend::Isolated), ..row(UNATTENDED, Mode::Off, Step::Run) },
    Row { unattended: Some(Unattended::Allow), ..row(UNATTENDED, Mode::Off, Step::Run) },
    row(UNATTENDED, Mode::Off, Step::NeedsRule),
];

/// What the table is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    pub kind: SessionKind,
    pub author: Author,
    pub mode: Mode,
    pub backend: Backend,
    pub unattended: Unattended,
}

/// Looks a case up. What no row covers is refused.
pub fn step(case: Case, verdict: Decision) -> Step {
    match verdict {
        Decision::Allow => Step::Run,
        Decision::Deny => Step::Refuse,
        Decision::Ask => TABLE
            .iter()
            .find(|row| {
                row.kinds.contains(&case.kind)
                    && row.author == case.author
                    && row.mode.is_none_or(|mode| mode == case.mode)
                    && row.backend.is_none_or(|backend| backend == case.backend)
                    && row.unattended.is_none_or(|unattended| unattended == case.unattended)
            })
            .map_or(Step::Refuse, |row| row.ask),
    }
}

/// The table as it stands in the manual.
pub fn markdown() -> String {
    let mut text =
        String::from("| session | mode | runs in | allow | ask | deny |\n|---|---|---|---|---|---|\n");
    for row in TABLE {
        let kinds: Vec<&str> = row.kinds.iter().map(|kind| kind.name()).collect();
        let mode = match row.mode {
            Some(Mode::Manual) => "manual",
            Some(Mode::Smart) => "smart",
            Some(Mode::Off) => "off",
            None => "any",
        };
        let kinds = match row.author {
            Author::Agent => kinds.join(", "),
            Author::Caller => "the caller\u{2019}s own words".to_owned(),
        };
        let place = match (row.backend, row.unattended) {
            (Some(backend), _) => backend.name().to_owned(),
            (None, Some(Unattended::Allow)) => {
                "anywhere, if the kind is set to \u{201c}allow\u{201d}".to_owned()
            }
            (None, _) => "anywhere".to_owned(),
        };
        text.push_str(&format!(
            "| {} | {mode} | {place} | {} | {} | {} |\n",
            kinds,
            Step::Run.words(),
            row.ask.words(),
            Step::Refuse.words()
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Case> {
        let kinds = SessionKind::ALL.into_iter();
        kinds.flat_map(|kind| {
            [Mode::Manual, Mode::Smart, Mode::Off].into_iter().flat_map(move |mode| {
                [Backend::Host, Backend::Isolated].into_iter().flat_map(move |backend| {
                    [Unattended::Deny, Unattended::Allow].into_iter().flat_map(move |unattended| {
                        [Author::Agent, Author::Caller].into_iter().map(move |author| Case {
                            kind,
                            author,
                            mode,
                            backend,
                            unattended,
                        })
                    })
                })
            })
        })
    }

    #[test]
    fn req_a04_every_case_has_the_answer_that_is_written_here() {
        for case in all() {
            let watched = matches!(case.kind, SessionKind::Interactive | SessionKind::Gateway);
            let expected = match (watched, case.mode) {
                _ if case.author == Author::Caller => Step::Run,
                (true, Mode::Manual) => Step::AskPerson,
                (true, Mode::Smart) => Step::SecondOpinion,
                (true, Mode::Off) => Step::Run,
                (false, Mode::Manual | Mode::Smart) => Step::NeedsRule,
                (false, Mode::Off) if case.backend == Backend::Isolated => Step::Run,
                (false, Mode::Off) if case.unattended == Unattended::Allow => Step::Run,
                (false, Mode::Off) => Step::NeedsRule,
            };
            assert_eq!(step(case, Decision::Ask), expected, "{case:?}");
        }
    }

    #[test]
    fn req_a05_no_case_lifts_the_floor_and_none_stops_what_is_harmless() {
        for case in all() {
            assert_eq!(step(case, Decision::Deny), Step::Refuse, "{case:?}");
            assert_eq!(step(case, Decision::Allow), Step::Run, "{case:?}");
        }
    }

    #[test]
    fn req_a04_the_manual_has_this_table() {
        let manual = include_str!("../../../docs/approval.md");
        assert!(manual.contains(&markdown()), "docs/approval.md must contain:\n{}", markdown());
    }
}
