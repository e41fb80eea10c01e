//! Program text that writes what runs by itself later.

use crate::Category;
use crate::call::Call;
use crate::judge::{Judge, Report};
use crate::program_text::Program;

impl Judge<'_> {
    /// Paths are mostly put together by the program itself, so that only their ends are known.
    pub(crate) fn written_for_later(&mut self, program: &Program<'_>, call: &Call) {
        let says = |words: &[&str]| words.iter().any(|word| program.code.contains(word));
        let writes = || {
            says(&[
                "'w'",
                "\"w\"",
                "'a'",
                "\"a\"",
                "write_text(",
                "writeFile",
                "'wb'",
                "\"wb\"",
                "write_bytes(",
            ])
        };
        let python = says(&[".pth'", ".pth\"", ".pth`"])
            && says(&["sitepackages", "site-packages", "dist-packages", "usersite", "user-site"])
            || says(&["sitecustomize.py", "usercustomize.py"]);
        let package = says(&["postinstall", "preinstall"]) && says(&["package.json"]) && says(&["scripts"]);
        let emptied = says(&["write_text('')", "write_text(\"\")", ".truncate(0)", "writeFileSync(f, '')"])
            && says(&["rglob(", "glob(", "os.walk(", "listdir(", "readdirSync("]);
        if emptied {
            self.report(
                &Report::ask(
                    "empty-file",
                    Category::FileDestruction,
                    "It throws away the contents of files.",
                ),
                call.line(),
            );
        }
        if (python || package) && writes() {
            self.report(
                &Report::ask(
                    "code-persists",
                    Category::Persistence,
                    "The program text writes something that runs by itself later.",
                ),
                call.line(),
            );
        }
    }
}
