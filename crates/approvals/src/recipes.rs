//! Recipes that this very text has written, and that a build or test tool then runs.

use cofferdam_shell_syntax::{FileContent, Input, Shell, Word};

use crate::Category;
use crate::call::Call;
use crate::judge::{Judge, Report};
use crate::language::Language;

const WRITTEN: Report = Report::ask(
    "written-scripts",
    Category::HiddenExecution,
    "It runs scripts that this very command has written.",
);

/// How compiled languages start a command.
const STARTS: &[&str] = &[
    "system(",
    "popen(",
    "execl",
    "execv",
    "Command::new(",
    "exec.Command(",
    "ProcessBuilder(",
    ".exec(",
    "Process.Start(",
    "posix_spawn",
];

impl Judge<'_> {
    pub(crate) fn recipes(&mut self, shell: &mut Shell, program: &str, call: &Call) {
        match program {
            "make" | "gmake" => self.written_makefile(shell, call),
            "npm" | "yarn" | "pnpm" | "bun" => self.written_package(shell, call),
            "pytest" | "py.test" | "tox" | "nox" => self.written_python(shell, &["conftest.py"], call),
            "pip" | "pip3" | "uv" | "poetry" => self.written_python(shell, &["setup.py"], call),
            "cargo" => self.written_source(shell, "build.rs", call),
            "gcc" | "cc" | "clang" | "g++" | "c++" | "clang++" | "tcc" | "rustc" | "go" | "javac"
            | "java" | "zig" | "ghc" | "gfortran" | "nim" | "swiftc" | "kotlinc" | "scalac" | "csc"
            | "mcs" => {
                for word in call.arguments() {
                    match call.input.text().filter(|_| word.text() == "-") {
                        Some(text) => self.source_text(shell, text.text()),
                        None => self.written_source(shell, word.text(), call),
                    }
                }
            }
            _ => {}
        }
    }

    /// Recipes of a makefile that this very text has written.
    fn written_makefile(&mut self, shell: &mut Shell, call: &Call) {
        let name = call.value(&["-f", "--file"]).map_or("Makefile", Word::text).to_owned();
        let text = match shell.file(&name) {
            Some(FileContent::Text(text)) => text.text().to_owned(),
            _ => match call.input.text() {
                Some(text) if matches!(name.as_str(), "-" | "/dev/stdin") => text.text().to_owned(),
                _ => return,
            },
        };
        // Recipes are only shown then, but for those that say that they run in any case.
        let shown = call.texts().any(|text| matches!(text, "-n" | "--dry-run" | "--just-print" | "--recon"));
        let runs = |recipe: &str| {
            !shown || recipe.trim_start_matches(['@', '-', ' ']).starts_with('+') || recipe.contains("MAKE")
        };
        // What a makefile computes is run whenever it is read.
        for computed in text.split("$(shell ").skip(1).take(64) {
            let end = computed.find([')', '\n']).unwrap_or(computed.len());
            shell.run_child(&computed[..end].replace("$$", "$"), Vec::new(), &Input::Inherited, self);
        }
        for line in text.lines() {
            let recipe = line.strip_prefix('\t').or_else(|| line.split_once(";").map(|(_, recipe)| recipe));
            if let Some(recipe) = recipe.filter(|recipe| runs(recipe)) {
                shell.run_child(
                    &recipe.trim().trim_start_matches(['@', '-', '+']).replace("$$", "$"),
                    Vec::new(),
                    &Input::Inherited,
                    self,
                );
            }
        }
    }

    /// The scripts of a package: those that it is told to run, and those that an installation runs unasked.
    fn written_package(&mut self, shell: &mut Shell, call: &Call) {
        let Some(FileContent::Text(text)) = shell.file("package.json").cloned() else { return };
        let package: serde_json::Value = match text.as_known().map(serde_json::from_str) {
            Some(Ok(package)) => package,
            _ if text.text().contains("scripts") => return self.report(&WRITTEN, call.line()),
            _ => return,
        };
        for (name, script) in package["scripts"].as_object().into_iter().flatten() {
            if name.contains("install") {
                self.report(&WRITTEN, call.line());
            }
            if let Some(script) = script.as_str() {
                shell.run_child(script, Vec::new(), &Input::Inherited, self);
            }
        }
    }

    /// Python that a tool loads because of its name.
    fn written_python(&mut self, shell: &mut Shell, names: &[&str], call: &Call) {
        for name in names {
            if let Some(FileContent::Text(text)) = shell.file(name).cloned() {
                self.code(shell, Language::Python, &text, call);
            }
        }
    }

    /// A program in a compiled language that this very text has written.
    fn written_source(&mut self, shell: &mut Shell, name: &str, call: &Call) {
        if let Some(FileContent::Text(text)) = shell.file(name)
            && !matches!(call.argv.get(1).map(Word::text), Some("fmt" | "vet"))
        {
            let text = text.text().to_owned();
            self.source_text(shell, &text);
        }
    }

    /// The commands that such a program starts: the constant words of each statement that starts one.
    fn source_text(&mut self, shell: &mut Shell, text: &str) {
        for statement in text.split(';').filter(|part| STARTS.iter().any(|name| part.contains(name))).take(64)
        {
            let words: Vec<&str> = statement.split('"').skip(1).step_by(2).collect();
            shell.run_child(&words.join(" "), Vec::new(), &Input::Inherited, self);
        }
    }
}
