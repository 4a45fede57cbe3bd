//! `aizuchi completions`: prints a shell's completion script.

use clap::Args;
use clap_complete::Shell;

use crate::cli::{help, print};

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsArgs {
    pub fn run(self) -> anyhow::Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut help::command(), "aizuchi", &mut script);
        print(String::from_utf8_lossy(&script).trim_end())
    }
}
