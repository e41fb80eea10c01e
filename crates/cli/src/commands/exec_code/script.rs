//! The script: its bytes, read once.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use cofferdam_approvals::ScriptLanguage;
use cofferdam_exec_broker::Language;
use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};

use crate::args::exec_code::LanguageArg;
use crate::exit::Exit;
use crate::failure::Failure;

/// Nobody reads more than this before saying yes.
const LONGEST: u64 = 1 << 20;

#[derive(Debug)]
pub struct Script {
    pub text: String,
    pub language: Language,
    pub sha256: String,
    /// The directory that the script lies in; none for one that came by standard input.
    pub beside: Option<PathBuf>,
}

impl Script {
    pub fn read(file: &Path, language: Option<LanguageArg>) -> Result<Self, Failure> {
        let from_input = file.as_os_str() == "-";
        let shown = if from_input { "standard input".to_owned() } else { file.display().to_string() };
        let unreadable = |error: io::Error| {
            Failure::new(Exit::NotStarted, format!("cannot read {shown}: {error}"))
                .hint("name a script, or - for standard input")
        };
        let bytes = if from_input { taken(io::stdin().lock()) } else { open(file).and_then(taken) };
        let bytes = bytes.map_err(unreadable)?;
        if bytes.len() as u64 > LONGEST {
            return Err(Failure::new(
                Exit::NotStarted,
                format!("{shown} is larger than {} KiB", LONGEST >> 10),
            )
            .hint("a script is shown whole before it runs; put data into a file of its own"));
        }
        let text = String::from_utf8(bytes).map_err(|_| {
            Failure::new(Exit::NotStarted, format!("{shown} is not UTF-8 text, so it cannot be shown"))
        })?;
        let beside = if from_input {
            None
        } else {
            file.canonicalize().ok().and_then(|file| Some(file.parent()?.to_owned()))
        };
        Self::given(&shown, text, language, beside)
    }

    /// A script whose text is here already, under the name that it is shown by.
    pub fn given(
        shown: &str,
        text: String,
        language: Option<LanguageArg>,
        beside: Option<PathBuf>,
    ) -> Result<Self, Failure> {
        let language = language
            .map(|language| match language {
                LanguageArg::Python => Language::Python,
                LanguageArg::Bash => Language::Bash,
                LanguageArg::Node => Language::Node,
            })
            .or_else(|| Language::of(shown, &text))
            .ok_or_else(|| {
                Failure::new(Exit::Usage, format!("the language of {shown} is not known"))
                    .hint("say it with --language python, bash or node")
            })?;
        Ok(Self { sha256: sha256(&text), text, language, beside })
    }

    pub fn approval_language(&self) -> ScriptLanguage {
        approval_language(self.language)
    }
}

pub fn approval_language(language: Language) -> ScriptLanguage {
    match language {
        Language::Python => ScriptLanguage::Python,
        Language::Bash => ScriptLanguage::Bash,
        Language::Node => ScriptLanguage::Node,
    }
}

pub fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Opens without waiting, so that a pipe in the place of the file cannot hold the program up.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

fn taken(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(LONGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
