//! `audit`: what was typed.

use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser as _;
use clap::{Args, Subcommand, ValueEnum};
use cofferdam_audit::event::Decision;
use cofferdam_audit::verify::Noted;
use cofferdam_audit::{Kind, Moment, Selection};

/// Follow, search, count, export and check the record of every decision
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam audit tail -f
  cofferdam audit grep --decision refused --since 1h
  cofferdam audit stats --since 24h
  cofferdam audit export --format csv > record.csv
  cofferdam audit verify")]
pub struct AuditArgs {
    #[command(subcommand)]
    pub command: AuditCommand,
}

#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    Tail(TailArgs),
    Grep(GrepArgs),
    Stats(StatsArgs),
    Export(ExportArgs),
    Verify(VerifyArgs),
}

/// Show the last records, and new ones as they come
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam audit tail
  cofferdam audit tail -n 100 --decision refused
  cofferdam audit tail -f --json | jq .host")]
pub struct TailArgs {
    /// How many of the last records to show
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    pub lines: usize,
    /// Go on showing records as they are written
    #[arg(short, long)]
    pub follow: bool,
    #[command(flatten)]
    pub filter: Filter,
    /// Print records as they are stored, one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// Find records
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam audit grep api.example.com
  cofferdam audit grep --host '*.example.com' --since 30m
  cofferdam audit grep --kind egress-request --decision refused --since 2026-01-31
  cofferdam audit grep --session s-1 --json")]
pub struct GrepArgs {
    /// Text that stands anywhere in a record, as it is: not a regular expression
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
    #[command(flatten)]
    pub filter: Filter,
    /// Print records as they are stored, one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// Count records by kind, host and reason, and point out what is unusual
#[derive(Debug, Args)]
#[command(after_help = "Unusual is a host that was not asked for before the time that is looked at (without
--since: before the last 24 hours), and more than 5 % refusals.

Examples:
  cofferdam audit stats
  cofferdam audit stats --since 7d --json")]
pub struct StatsArgs {
    /// Only records since then: a duration (30m, 12h, 7d) or a time (2026-01-31, 2026-01-31T12:00Z)
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub since: Option<Moment>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Which are counted; none: all of them
    #[arg(skip)]
    pub kinds: Vec<Kind>,
}

/// Write records for other programs
#[derive(Debug, Args)]
#[command(
    after_help = "In CSV, a cell that a spreadsheet would take for a formula begins with an apostrophe.

Examples:
  cofferdam audit export > record.json
  cofferdam audit export --format csv --since 7d --decision refused > refused.csv"
)]
pub struct ExportArgs {
    #[arg(long, value_enum, default_value_t = Format::Json)]
    pub format: Format,
    #[command(flatten)]
    pub filter: Filter,
}

/// Check that no record was altered, removed, moved, put in or cut off
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 if the record is as it was written, 1 if it is not.

Whoever can write your files as you can also write a whole new record. To be sure against that,
note the head that this command prints somewhere else, and give it to --against later.

Examples:
  cofferdam audit verify
  cofferdam audit verify --json
  cofferdam audit verify --against 1041:5f0c…")]
pub struct VerifyArgs {
    /// A head that was noted elsewhere, as HASH or NUMBER:HASH; it must be in the record
    #[arg(long, value_name = "HEAD", value_parser = noted)]
    pub against: Option<Noted>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One array of records
    Json,
    /// One line a record, for spreadsheets
    Csv,
}

#[derive(Debug, Args)]
pub struct Filter {
    /// Only records since then: a duration (30m, 12h, 7d) or a time (2026-01-31, 2026-01-31T12:00Z)
    #[arg(long, value_name = "WHEN", value_parser = when)]
    since: Option<Moment>,
    /// Only records before then
    #[arg(long, value_name = "WHEN", value_parser = when)]
    until: Option<Moment>,
    /// Only records of this kind; may be given more than once
    #[arg(long, value_name = "KIND", value_parser = kinds(), hide_possible_values = true)]
    kind: Vec<Kind>,
    /// Only records about this host; *.example.com means every host below it
    #[arg(long)]
    host: Option<String>,
    /// Only what was decided like this
    #[arg(long, value_parser = decisions())]
    decision: Option<Decision>,
    /// Only records of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

impl AuditCommand {
    /// Looks at these kinds alone, unless others were typed.
    #[must_use]
    pub fn about(mut self, kinds: &[Kind]) -> Self {
        let filter = match &mut self {
            Self::Tail(args) => &mut args.filter,
            Self::Grep(args) => &mut args.filter,
            Self::Export(args) => &mut args.filter,
            Self::Stats(args) => {
                args.kinds = kinds.to_vec();
                return self;
            }
            Self::Verify(_) => return self,
        };
        if filter.kind.is_empty() {
            filter.kind = kinds.to_vec();
        }
        self
    }
}

impl Filter {
    pub fn selection(self, text: Option<String>) -> Selection {
        let Self { since, until, kind: kinds, host, decision, session } = self;
        Selection { since, until, kinds, decision, host, session, text }
    }
}

fn kinds() -> impl clap::builder::TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.iter().map(|kind| kind.name()))
        .try_map(|name| Kind::from_name(&name).ok_or("unknown kind"))
}

fn decisions() -> impl clap::builder::TypedValueParser<Value = Decision> {
    PossibleValuesParser::new(Decision::ALL.iter().map(|decision| decision.name()))
        .try_map(|name| Decision::from_name(&name).ok_or("unknown decision"))
}

fn when(text: &str) -> Result<Moment, String> {
    if let Some(ago) = duration(text) {
        return Ok(Moment::now().before(ago));
    }
    Moment::parse(text)
        .ok_or_else(|| "write a duration such as 30m, or a time such as 2026-01-31T12:00Z".to_owned())
}

fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.find(|c: char| !c.is_ascii_digit())?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        "w" => 7 * 24 * 60 * 60,
        _ => return None,
    };
    Some(Duration::from_secs(number.parse::<u64>().ok()?.checked_mul(seconds)?))
}

fn noted(text: &str) -> Result<Noted, String> {
    Noted::parse(text)
        .ok_or_else(|| "write the 64 hexadecimal digits that verify prints, or NUMBER:DIGITS".to_owned())
}
