//! Directories that are handed out to whoever asks.

use cofferdam_shell_syntax::Word;

use crate::Category;
use crate::call::Call;
use crate::judge::{Judge, Report};
use crate::place::Place;

impl Judge<'_> {
    /// Programs that serve files, and what they serve.
    pub(crate) fn file_servers(&mut self, program: &str, call: &Call) {
        let serves = match program {
            "http-server" | "serve" | "live-server" | "miniserve" | "darkhttpd" | "simple-http-server"
            | "sfz" | "dufs" | "webfsd" | "thttpd" | "gohttpserver" | "filebrowser" | "servor" | "updog"
            | "httplz" | "pyftpdlib" | "tftpd" | "tcpsvd" | "httpd" => true,
            "php" => call.has_word(&["-S"]),
            "caddy" => call.has_word(&["file-server"]),
            "ruby" => call.has_word(&["-run"]),
            "rclone" => call.has_word(&["serve"]),
            _ => false,
        };
        if serves {
            self.served(call);
        }
    }

    pub(crate) fn served(&mut self, call: &Call) {
        let named = call.value(&["--directory", "-d", "-t", "-h", "--root", "-r", "--dir"]).cloned();
        let directory = named
            .filter(|word| !word.text().starts_with('-'))
            .or_else(|| {
                let mut paths = call.operands().filter(|word| word.text().starts_with(['/', '~', '.']));
                paths.next().cloned()
            })
            .unwrap_or_else(|| Word::known("."));
        if matches!(
            call.path(&directory, self.context).place,
            Place::Root | Place::Home | Place::SystemTop | Place::System | Place::HomeTop | Place::Outside
        ) {
            self.report(
                &Report::ask(
                    "serve-files",
                    Category::Exfiltration,
                    "It hands out files of yours to whoever asks.",
                ),
                call.line(),
            );
        }
    }
}
