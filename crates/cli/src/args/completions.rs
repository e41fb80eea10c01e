//! `completions`: what a shell needs to complete our commands.

use clap::{Args, ValueEnum};

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cofferdam completions bash > ~/.local/share/bash-completion/completions/cofferdam\n  cofferdam completions zsh > ~/.zfunc/_cofferdam\n  cofferdam completions fish > ~/.config/fish/completions/cofferdam.fish"
)]
pub struct CompletionsArgs {
    /// The shell to complete in
    pub shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}
