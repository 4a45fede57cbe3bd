//! `aizuchi config`: what can be set.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::cli::print;
use crate::config;

#[derive(Debug, Args)]
pub struct Config {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print every setting with its default and what it is for: a config file to begin with.
    Example,
    /// Print the JSON Schema of the config, with which editors complete and check it.
    Schema,
}

impl Config {
    pub fn obey(self) -> anyhow::Result<ExitCode> {
        match self.what {
            What::Example => print(config::EXAMPLE.trim_end())?,
            What::Schema => print(&serde_json::to_string_pretty(&config::schema::schema())?)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
