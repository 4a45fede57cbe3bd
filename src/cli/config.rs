//! `aizuchi config`: the documentation and the schema of the config file, and the conversion of kotonoha's settings.

use std::path::{Path, PathBuf};

use aizuchi_config::environment::Environment;
use aizuchi_import::kotonoha::{self, VariableSource};
use aizuchi_model::input_file::{self, MAX_WRITTEN_BYTES};
use anyhow::Context as _;
use clap::{Args, Subcommand};

use crate::cli::{print, print_json};

#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print a config file to start from: every setting, its default, and what it does.
    Example,
    /// Print the settings of kotonoha, another Discord bot, as a config file.
    FromEnv {
        /// The file with kotonoha's variables. If omitted: .env in the current folder, else the environment.
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Print the JSON Schema of the config. Editors use it to complete and check a config.
    Schema,
}

impl ConfigArgs {
    pub fn run(self) -> anyhow::Result<()> {
        match self.command {
            ConfigCommand::Example => print(aizuchi_config::EXAMPLE.trim_end()),
            ConfigCommand::FromEnv { file } => {
                let (environment, source) = load_variables(file.as_deref())?;
                print(&kotonoha::from_env(environment.variables(), source)?)
            }
            ConfigCommand::Schema => print_json(&aizuchi_config::schema::schema()),
        }
    }
}

fn load_variables(file: Option<&Path>) -> anyhow::Result<(Environment, VariableSource)> {
    let default = Path::new(".env");
    let Some(file) = file.or_else(|| default.exists().then_some(default)) else {
        return Ok((Environment::from_process(Path::new(""))?, VariableSource::Process));
    };
    let file_name = file.display().to_string();
    let text = input_file::read_text(file, MAX_WRITTEN_BYTES)
        .with_context(|| format!("cannot read {file_name}"))?;
    Ok((Environment::new([], &text, &file_name)?, VariableSource::File))
}
