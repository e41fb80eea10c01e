//! `env`: what a child would get, and why.

use std::ffi::OsString;
use std::str::FromStr;

use clap::{Args, Subcommand};

/// Show the environment that a child would get, and the rule behind each variable
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cofferdam env show\n  cofferdam env explain OPENAI_API_KEY")]
pub struct EnvArgs {
    #[command(subcommand)]
    pub command: EnvCommand,
}

#[derive(Debug, Subcommand)]
pub enum EnvCommand {
    /// Show every variable: what is passed with its value, what is not with the reason
    ///
    /// The value of a variable that is not passed is never shown, nor is that of a credential.
    #[command(
        after_help = "Examples:\n  cofferdam env show\n  cofferdam env show --trust executor=openai-api\n  cofferdam env show --env EDITOR --env DEBUG=1 --json"
    )]
    Show(ChildArgs),
    /// Say which rule decides about one variable, and what would pass it: status 0 if it is passed, 1 if not
    #[command(
        after_help = "Examples:\n  cofferdam env explain PATH\n  cofferdam env explain LD_PRELOAD --trust tool\n  cofferdam env explain --json GITHUB_TOKEN"
    )]
    Explain {
        /// The variable
        name: OsString,
        #[command(flatten)]
        child: ChildArgs,
    },
}

/// Which child is meant.
#[derive(Debug, Args)]
pub struct ChildArgs {
    /// The kind of child: helper, tool, unknown, or executor=PROVIDER
    #[arg(long, value_name = "KIND", default_value = "unknown")]
    pub trust: TrustArg,
    /// Pass a variable of this host, or set one; as for `run`
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub env: Vec<OsString>,
    /// Hand the real credential of a provider to the child; as for `run`
    #[arg(long, value_name = "PROVIDER")]
    pub inherit_credentials: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustArg {
    Helper,
    Executor(String),
    Tool,
    Unknown,
}

impl FromStr for TrustArg {
    type Err = &'static str;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        match (typed, typed.strip_prefix("executor=")) {
            ("helper", _) => Ok(Self::Helper),
            ("tool", _) => Ok(Self::Tool),
            ("unknown", _) => Ok(Self::Unknown),
            (_, Some(provider)) if !provider.is_empty() => Ok(Self::Executor(provider.to_owned())),
            _ => Err("use helper, tool, unknown, or executor=PROVIDER"),
        }
    }
}
