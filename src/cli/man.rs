//! `aizuchi man`: the manual pages.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use clap_mangen::Man;

use crate::cli::{help, print};

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write all pages into this folder: one for the program, and one for each command.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl ManArgs {
    pub fn run(self) -> anyhow::Result<()> {
        match &self.dir {
            Some(folder) => write_pages(folder)?,
            None => {
                let mut page = Vec::new();
                Man::new(help::command())
                    .render(&mut page)
                    .context("cannot make the manual page")?;
                print(String::from_utf8_lossy(&page).trim_end())?;
            }
        }
        Ok(())
    }
}

fn write_pages(folder: &Path) -> anyhow::Result<()> {
    let shown = folder.display();
    let cannot_write = || format!("cannot write the manual pages to {shown}");
    std::fs::create_dir_all(folder).with_context(cannot_write)?;
    clap_mangen::generate_to(help::command(), folder).with_context(cannot_write)?;
    print(&format!("The manual pages are in {shown}; `man {shown}/aizuchi.1` shows the first."))
}
