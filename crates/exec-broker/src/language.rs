//! The languages that a script can be in.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    Python,
    Bash,
    Node,
}

impl Language {
    pub const ALL: [Self; 3] = [Self::Python, Self::Bash, Self::Node];

    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Bash => "bash",
            Self::Node => "node",
        }
    }

    /// By the ending of a file's name; a first line that names an interpreter counts as well.
    pub fn of(name: &str, text: &str) -> Option<Self> {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending);
        match ending {
            Some("py") => return Some(Self::Python),
            Some("sh" | "bash") => return Some(Self::Bash),
            Some("js" | "mjs" | "cjs") => return Some(Self::Node),
            _ => {}
        }
        let first = text.lines().next().filter(|line| line.starts_with("#!"))?;
        let program = first.rsplit(['/', ' ']).next()?;
        [("python", Self::Python), ("bash", Self::Bash), ("sh", Self::Bash), ("node", Self::Node)]
            .into_iter()
            .find_map(|(begins, language)| program.starts_with(begins).then_some(language))
    }

    /// The name of the script in its sandbox.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Python => "script.py",
            Self::Bash => "script.sh",
            Self::Node => "script.js",
        }
    }

    /// The words before the name of the script.
    pub fn interpreter(self) -> &'static [&'static str] {
        match self {
            // Output that waits in a buffer is lost when the time is up.
            Self::Python => &["python3", "-u"],
            Self::Bash => &["bash"],
            Self::Node => &["node"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_told_by_name_or_first_line() {
        for (name, text, language) in [
            ("a.py", "", Some(Language::Python)),
            ("a.b.sh", "", Some(Language::Bash)),
            ("a.mjs", "", Some(Language::Node)),
            ("-", "#!/usr/bin/env python3\n", Some(Language::Python)),
            ("x", "#!/bin/sh", Some(Language::Bash)),
            ("x", "#!/usr/bin/node", Some(Language::Node)),
            ("x", "print(1)", None),
        ] {
            assert_eq!(Language::of(name, text), language, "{name} {text}");
        }
    }
}
