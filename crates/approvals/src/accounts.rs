//! Processes that are stopped.

use cofferdam_shell_syntax::{Shell, Source};

use crate::Category::{OwnPolicy, Services};
use crate::call::Call;
use crate::judge::{Judge, Report};

pub(crate) const EVERY: Report = Report::deny(
    "kill-everything",
    Services,
    "It stops every process, or the first one, and with it the system.",
);
const DAEMONS: &[&str] = &[
    "sshd",
    "systemd",
    "init",
    "dbus",
    "cron",
    "crond",
    "rsyslogd",
    "auditd",
    "firewalld",
    "ufw",
    "dockerd",
    "containerd",
    "kubelet",
    "nginx",
    "mysqld",
    "postgres",
    "gdm",
    "Xorg",
    "wayland",
    "NetworkManager",
    "falco",
    "osqueryd",
    "clamd",
    "crowdstrike",
    "falcon-sensor",
    "fail2ban",
    "snort",
    "suricata",
    "wazuh",
    "syslog",
    "cofferdam",
    "Finder",
    "loginwindow",
    "apache2",
    "httpd",
    "redis-server",
    "mongod",
    "bash",
    "zsh",
    "gnome-shell",
];
const DATABASE_PORTS: &[u16] = &[1433, 1521, 3306, 5432, 6379, 9042, 9200, 11211, 27017];

/// Names that stand in the command line of everybody's programs.
const INTERPRETERS: &[&str] =
    &["python", "python3", "node", "java", "ruby", "perl", "php", "sh", "ssh", "docker"];

/// Whoever holds an unprivileged port is a development server, unless it is where databases listen.
fn is_served(port: u16) -> bool {
    port < 1024 || DATABASE_PORTS.contains(&port)
}

/// `lsof -ti:80,443`: a port among the words that is not one for development.
fn names_served_port(argv: &[cofferdam_shell_syntax::Word]) -> bool {
    argv[1..]
        .iter()
        .filter_map(|word| word.text().rsplit_once(':'))
        .any(|(_, ports)| ports.split([',', '-']).any(|port| port.parse().is_ok_and(is_served)))
}

impl Judge<'_> {
    pub(crate) fn accounts(&mut self, shell: &Shell, program: &str, call: &Call) {
        match program {
            "kill" => self.kill(shell, call),
            "killall5" => self.report(&EVERY, call.line()),
            "pkill" | "killall" | "skill" | "pgrep-kill" | "xkill" | "taskkill" | "fuser" => {
                self.kill_by_name(program, call);
            }
            _ => {}
        }
    }

    /// A service that is started or stopped through its own script.
    pub(crate) fn service_script(&mut self, call: &Call) {
        if call.argv[0].text().starts_with("/etc/init.d/") && !call.has_word(&["status"]) {
            self.report(
                &Report::ask("service-script", Services, "It changes which services run."),
                call.line(),
            );
        }
    }

    /// Processes that are found by other commands.
    fn kill_found(&mut self, shell: &Shell, call: &Call) {
        let hard = call.texts().any(|text| matches!(text, "-9" | "-KILL" | "-SIGKILL"));
        for source in call.arguments().iter().flat_map(cofferdam_shell_syntax::Word::sources) {
            match source {
                Source::Variable(name) if name == "$" && hard => {
                    self.report(
                        &Report::ask(
                            "kill-shell",
                            Services,
                            "It ends the shell before it can keep a record.",
                        ),
                        call.line(),
                    );
                }
                Source::Variable(_) => {}
                Source::Commands(range) => {
                    if lists_every_process(shell.commands().get(range.clone()).unwrap_or_default()) {
                        self.report(&EVERY, call.line());
                    }
                    for command in shell.commands().get(range.clone()).unwrap_or_default() {
                        if command.argv.iter().any(|word| word.text().contains("cofferdam")) {
                            self.report(
                                &Report::deny("own-process", OwnPolicy, "It stops what guards this session."),
                                call.line(),
                            );
                        }
                        let name = command.argv.first().map_or("", |word| word.text());
                        if hard && matches!(name, "lsof" | "ss" | "fuser") && names_served_port(&command.argv)
                        {
                            self.report(
                                &Report::ask(
                                    "kill-found",
                                    Services,
                                    "It stops what serves a port that belongs to the system or a database.",
                                ),
                                call.line(),
                            );
                        }
                        if matches!(name, "pidof" | "pgrep") {
                            self.kill_by_name("pkill", &call.with_argv(command.argv.clone()));
                        }
                        // A whole command line leaves little doubt about what is meant; `pkill -f` is judged by it too.
                        let told = name == "pgrep"
                            && command.argv.iter().any(|word| word.text() == "-f")
                            && command.argv.iter().skip(1).any(|word| {
                                word.as_known().is_some_and(|text| {
                                    text.len() > 5
                                        && text.contains(' ')
                                        && !text.contains(['*', '[', '(', '|', '?', '+', '^', '$', '\\'])
                                        && !text.contains(" .")
                                        && !text.contains(". ")
                                })
                            });
                        if hard && !told && matches!(name, "ps" | "pidof" | "pgrep") {
                            self.report(&Report::ask("kill-found", Services, "It stops processes that are not known before it runs, without giving them time."), call.line());
                        }
                    }
                }
            }
        }
    }

    fn kill(&mut self, shell: &Shell, call: &Call) {
        self.kill_found(shell, call);
        let words: Vec<&str> = call.texts().collect();
        // The first word that starts with a dash is the signal, unless it stands alone.
        let mut targets = words.as_slice();
        if let [first, rest @ ..] = targets
            && first.starts_with('-')
            && (!rest.is_empty() || *first != "-1")
        {
            targets = if matches!(*first, "-s" | "-n" | "--signal") {
                rest.get(1..).unwrap_or_default()
            } else {
                rest
            };
        }
        let targets = targets.strip_prefix(&["--"]).unwrap_or(targets);
        let any_number =
            |target: &&str| target.contains('*') && target.chars().all(|c| "[]0-9*?+".contains(c));
        if targets.iter().any(|target| matches!(*target, "-1" | "1" | "-0") || any_number(target))
            && !matches!(words.first(), Some(&"-0" | &"-l" | &"-L"))
        {
            self.report(&EVERY, call.line());
        }
        if targets.contains(&"0")
            && words.first().is_some_and(|signal| matches!(*signal, "-9" | "-KILL" | "-SIGKILL"))
        {
            self.report(
                &Report::ask(
                    "kill-group",
                    Services,
                    "It stops the whole group of processes that it runs in.",
                ),
                call.line(),
            );
        }
    }

    fn kill_by_name(&mut self, program: &str, call: &Call) {
        if program == "fuser" && !call.has(&['k'], &["kill"]) {
            return;
        }
        let port = |word: &cofferdam_shell_syntax::Word| {
            word.text().split_once('/').is_some_and(|(port, protocol)| {
                matches!(protocol, "tcp" | "udp") && port.parse().is_ok_and(|port| !is_served(port))
            })
        };
        if program == "fuser" && call.operands().all(port) {
            return;
        }
        if program == "fuser" && call.has(&['m'], &["mount"]) {
            self.report(&EVERY, call.line());
            return;
        }
        // Signals by which programs are told to look again, not to end.
        if call
            .texts()
            .any(|text| matches!(text, "-HUP" | "-SIGHUP" | "-1" | "-USR1" | "-USR2" | "-0" | "-CONT"))
        {
            return;
        }
        let hard = call.texts().any(|text| {
            matches!(
                text,
                "-9" | "-KILL"
                    | "-SIGKILL"
                    | "--signal=KILL"
                    | "KILL"
                    | "9"
                    | "/F"
                    | "/f"
                    | "-k"
                    | "-STOP"
                    | "-SIGSTOP"
            )
        });
        // `-f 'node server.js'` says which program; `-f python` could be anybody's.
        let specific = call.has(&['f'], &["full"])
            && call
                .operands()
                .all(|word| word.text().contains([' ', '/', '.', '-']) && word.text().len() > 5);
        let hard = hard && !specific;
        let users = call
            .texts()
            .any(|text| matches!(text, "-u" | "-U" | "--euid" | "--user" | "-G") || text.starts_with("-u"));
        let daemon = call.operands().any(|word| {
            DAEMONS.iter().any(|daemon| word.text() == *daemon || word.text().starts_with(daemon))
        });
        // Half of what runs on a machine has the name of its interpreter somewhere in its command line.
        let daemon = daemon
            || call.has(&['f'], &["full"]) && call.operands().any(|word| INTERPRETERS.contains(&word.text()));
        let everything = call.operands().any(|word| matches!(word.text(), "." | ".*" | "*" | ""));
        let unknown =
            call.operands().any(|word| word.text().chars().all(|c| c == cofferdam_shell_syntax::HOLE));
        let root = users && call.operands().any(|word| word.text() == "root");
        if hard && (everything || root) {
            self.report(&EVERY, call.line());
        } else if everything || (users && hard) {
            self.report(
                &Report::ask("kill-many", Services, "It stops every process of a user or of the machine."),
                call.line(),
            );
        } else if hard || users || daemon || unknown || program == "taskkill" {
            self.report(
                &Report::ask(
                    "kill-by-name",
                    Services,
                    "It stops processes by name, without giving them time or telling whose they are.",
                ),
                call.line(),
            );
        }
    }
}

/// `ps -e -o pid=` with nothing behind it that would pick some of them.
fn lists_every_process(commands: &[cofferdam_shell_syntax::SimpleCommand]) -> bool {
    let mut listed = false;
    for command in commands.iter().filter(|command| !command.argv.is_empty()) {
        let words: Vec<&str> = command.argv.iter().map(cofferdam_shell_syntax::Word::text).collect();
        match words[0] {
            "ps" => {
                let every = |word: &&str| {
                    matches!(
                        *word,
                        "-e" | "-A" | "ax" | "aux" | "-ef" | "-eo" | "-Ao" | "axo" | "-axo" | "-aux"
                    )
                };
                listed |=
                    words.iter().any(every) && !words.iter().any(|word| matches!(*word, "-C" | "-u" | "-p"));
            }
            "pgrep" => listed |= words[1..].iter().any(|word| matches!(*word, "." | ".*" | "")),
            "tail" | "tr" | "sort" | "cut" | "column" | "cat" | "xargs" => {}
            // Of a table, one column.
            "awk"
                if words.iter().any(|word| {
                    let program: String = word.chars().filter(|c| !c.is_whitespace()).collect();
                    program.starts_with("{print$") || program.starts_with("NR>1{print$")
                }) => {}
            _ => return false,
        }
    }
    listed
}
