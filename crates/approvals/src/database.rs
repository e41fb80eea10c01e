//! Statements given to databases.

use cofferdam_shell_syntax::Shell;

use crate::call::Call;
use crate::judge::{Judge, Report};
use crate::names::Names;
use crate::rules::STATEMENTS;
use crate::{Category, Decision};

const UNSEEN: Report = Report::ask(
    "unseen-statements",
    Category::Databases,
    "Statements that this line does not show are run, and by their name or origin they may destroy something.",
);
const TOO_LONG: Report = Report::ask(
    "unseen-statements",
    Category::Databases,
    "There are more statements on this line than are looked at.",
);
/// Words in the name of a file of such statements.
const DESTROYS: &[&str] =
    &["drop", "down", "reset", "truncate", "wipe", "destroy", "purge", "nuke", "teardown", "rollback"];

pub(crate) static CLIENTS: Names = Names::of(&[
    "mysql",
    "mariadb",
    "psql",
    "sqlite3",
    "sqlite",
    "duckdb",
    "cqlsh",
    "clickhouse-client",
    "clickhouse",
    "sqlcmd",
    "bq",
    "cockroach",
    "snowsql",
    "sqlplus",
    "isql",
    "impala-shell",
    "hive",
    "beeline",
    "pgcli",
    "mycli",
    "litecli",
    "usql",
    "trino",
    "presto",
    "influx",
    "bcp",
    "osql",
    "tsql",
    "isql-fb",
    "fbsql",
    "vsql",
    "db2",
    "wrangler",
    "turso",
    "supabase",
    "mysqlsh",
    "sqlite-utils",
    "dbmate",
    "rqlite",
    "surreal",
    "psql15",
    "hdbsql",
    "iredis",
    "neo4j",
    "cypher-shell",
    "redis-cli",
    "valkey-cli",
    "mongosh",
    "mongo",
    "spark-sql",
    "hbase",
    "snow",
    "arangosh",
    "pscale",
    "ksql",
    "phoenix-sqlline",
    "sqlline",
    "mclient",
    "monetdb",
    "questdb",
    "athenacli",
]);

/// Whether statements are a variable and nothing else, which may hold anything.
fn is_somebodys_variable(text: &cofferdam_shell_syntax::Word) -> bool {
    let variable = |source| matches!(source, &cofferdam_shell_syntax::Source::Variable(_));
    text.is_unread() && !text.sources().is_empty() && text.sources().iter().all(variable)
}

impl Judge<'_> {
    pub(crate) fn databases(&mut self, shell: &mut Shell, program: &str, call: &Call) {
        if !CLIENTS.contains(program) {
            return;
        }
        if let cofferdam_shell_syntax::Input::Pipe { from, output } = &call.input
            && output.is_unknown()
            && self.origin(shell, &[cofferdam_shell_syntax::Source::Commands(from.clone())]).0
        {
            self.report(
                &Report::ask(
                    "remote-code",
                    Category::RemoteCode,
                    "What it downloads is run as code, unseen.",
                ),
                call.line(),
            );
        }
        self.unseen(shell, call);
        let mut texts: Vec<String> = call.texts().map(str::to_owned).collect();
        if call.arguments().iter().chain(call.input.text()).any(cofferdam_shell_syntax::Word::is_cut) {
            self.report(&TOO_LONG, call.line());
        }
        if call.input.text().is_some_and(is_somebodys_variable) {
            self.unknown_script(shell, &cofferdam_shell_syntax::Word::unknown(None), call);
        }
        if let Some(input) = call.input.text() {
            texts.push(input.text().to_owned());
        }
        // A file that this very text has written holds what it says.
        let named = call.value(&["-f", "--file"]).map(cofferdam_shell_syntax::Word::text);
        let fed = match &call.input {
            cofferdam_shell_syntax::Input::File(path) => Some(path.text()),
            _ => None,
        };
        for path in named.into_iter().chain(fed) {
            if let Some(cofferdam_shell_syntax::FileContent::Text(text)) = shell.file(path) {
                if text.is_cut() {
                    self.report(&TOO_LONG, call.line());
                }
                texts.push(text.text().to_owned());
            }
        }
        for text in &texts {
            for line in text.lines() {
                let line = line.trim();
                let command = ["\\!", ".shell", ".system", "system ", "\\system", "!"]
                    .iter()
                    .find_map(|mark| line.strip_prefix(mark));
                if let Some(command) = command.filter(|command| {
                    !command.trim().is_empty() && (line.starts_with(['\\', '.']) || line.contains(' '))
                }) {
                    self.report(
                        &Report::ask(
                            "database-runs",
                            Category::HiddenExecution,
                            "The database client is told to run a command of the system.",
                        ),
                        call.line(),
                    );
                    shell.run_child(
                        command.trim(),
                        Vec::new(),
                        &cofferdam_shell_syntax::Input::Inherited,
                        self,
                    );
                }
            }
            for statement in statements(text) {
                self.statement(&statement, call);
            }
        }
    }

    /// A string of a program that is handed to a database.
    pub(crate) fn statements_in(&mut self, text: &str, call: &Call) {
        for statement in statements(text) {
            self.statement(&statement, call);
        }
    }

    /// A file of statements that nobody has looked at, run on another machine.
    fn unseen(&mut self, shell: &Shell, call: &Call) {
        let file = call.texts().any(|text| matches!(text, "-f" | "--file") || text.starts_with("--file="))
            || matches!(&call.input, cofferdam_shell_syntax::Input::File(_))
            || matches!(&call.input, cofferdam_shell_syntax::Input::Pipe { output, .. } if output.is_unknown());
        let host = call.value(&["-h", "--host", "-H"]).map(cofferdam_shell_syntax::Word::text);
        let away = host.is_some_and(|host| {
            !matches!(host, "localhost" | "127.0.0.1" | "::1" | "db" | "postgres" | "mysql")
                && !host.starts_with('/')
        });
        let live = call.operands().any(|word| {
            word.text()
                .split(|c: char| !c.is_alphanumeric())
                .any(|part| matches!(part, "prod" | "production"))
        });
        // What it is called is all that is known of it.
        let path = match &call.input {
            cofferdam_shell_syntax::Input::File(path) => Some(path),
            _ => call.value(&["-f", "--file"]),
        };
        let named = path.is_some_and(|path| {
            let name = path.text().rsplit('/').next().unwrap_or_default();
            name.split(|c: char| !c.is_alphanumeric()).any(|part| DESTROYS.contains(&part))
        });
        // One client writes the statements of the other.
        let made = matches!(&call.input, cofferdam_shell_syntax::Input::Pipe { from, output } if output.is_unknown()
        && shell.commands().get(from.clone()).unwrap_or_default().iter().any(|command| {
            command.argv.first().is_some_and(|name| CLIENTS.contains(name.text()))
        })) && !call.texts().any(|text| matches!(text, "-c" | "-e" | "--command" | "--execute"));
        if file && (named || made) {
            self.report(&UNSEEN, call.line());
        }
        if file && live {
            self.report(
                &Report::ask(
                    "unseen-statements",
                    Category::Databases,
                    "Statements that this line does not show are run on what is called production.",
                ),
                call.line(),
            );
        }
        if file && away {
            self.report(
                &Report::ask(
                    "unseen-statements",
                    Category::Databases,
                    "Statements that this line does not show are run on another machine.",
                ),
                call.line(),
            );
        }
    }

    fn statement(&mut self, statement: &str, call: &Call) {
        for known in STATEMENTS {
            let begins = known.starts.is_empty()
                || known.starts.iter().any(|start| {
                    statement
                        .strip_prefix(start)
                        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
                });
            let contains =
                known.contains.is_empty() || known.contains.iter().any(|part| statement.contains(part));
            if begins && contains && !known.without.iter().any(|part| statement.contains(part)) {
                let report = Report {
                    rule: known.id,
                    category: Category::Databases,
                    severity: known.severity,
                    decision: Decision::Ask,
                    sentence: known.sentence,
                };
                self.report(&report, call.line());
            }
        }
    }
}

/// Single statements in lower case with single spaces, comments and the insides of strings left out.
fn statements(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut rest = text.chars().peekable();
    let mut quoted = false;
    while let Some(character) = rest.next() {
        let Some(current) = all.last_mut() else { break };
        match character {
            '\'' => quoted = !quoted,
            _ if quoted => {}
            '-' if rest.peek() == Some(&'-') => {
                while rest.peek().is_some_and(|c| *c != '\n') {
                    rest.next();
                }
            }
            '/' if rest.peek() == Some(&'*') => {
                rest.next();
                let mut before = ' ';
                for inside in rest.by_ref() {
                    if before == '*' && inside == '/' {
                        break;
                    }
                    before = inside;
                }
                current.push(' ');
            }
            ';' => all.push(String::new()),
            c if c.is_whitespace() => {
                if !current.ends_with(' ') && !current.is_empty() {
                    current.push(' ');
                }
            }
            c => current.extend(c.to_lowercase()),
        }
    }
    all.retain(|statement| !statement.trim().is_empty());
    all
}
