//! `cofferdam exec-code`, as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::approvals::KindArg;
use super::run::SandboxOptions;

/// Run a script in a sandbox, with tools that it can call
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam exec-code analysis.py
  cofferdam exec-code --tools read_file,search_files report.py
  cofferdam exec-code --tools terminal --timeout 10m --max-calls 500 build.py
  echo 'print(6 * 7)' | cofferdam exec-code --language python -
  cofferdam exec-code --json --session-kind gateway --session chat-17 script.py
  cofferdam exec-code --serve

The whole script is asked about once, before anything starts. Python scripts import their tools from
cofferdam_tools, Node scripts from the module of the same name. Built in: terminal, read_file,
write_file, search_files, patch, execute_code.

Prints one JSON object: status (success, error, timeout, interrupted, denied), output, exit_code, calls,
and what was cut. Exit status: the script's own; 124 timeout; 125 the sandbox could not be made; 77 denied.")]
pub struct ExecCode {
    #[command(flatten)]
    pub sandbox: SandboxOptions,

    /// The name of the session that the script belongs to
    #[arg(long, value_name = "NAME", default_value = "command-line")]
    pub session: String,

    /// Who is on the other side of the session
    #[arg(long, value_name = "KIND", default_value = "interactive")]
    pub session_kind: KindArg,

    /// Tools that the script may call; none unless named
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub tools: Vec<String>,

    /// Take further tools from the program that started this one, over an inherited descriptor
    #[arg(long, value_name = "FD", value_parser = clap::value_parser!(i32).range(3..))]
    pub host_tools: Option<i32>,

    /// Calls of tools that the script may make
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    pub max_calls: u64,

    /// What the script is written in [default: by its name or first line]
    #[arg(long, value_enum)]
    pub language: Option<LanguageArg>,

    /// Print events as they happen, one JSON object a line; the last is the result
    #[arg(long)]
    pub json: bool,

    /// Take scripts from programs of this user, over the socket code.sock in the runtime directory
    #[arg(long, exclusive = true)]
    pub serve: bool,

    /// The script; - for standard input
    #[arg(value_name = "FILE", required_unless_present = "serve")]
    pub file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LanguageArg {
    Python,
    Bash,
    Node,
}
