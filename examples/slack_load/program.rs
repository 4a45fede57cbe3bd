//! Runs the program and measures its resources.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::Context as _;
use serde::Serialize;

use crate::Options;

/// The kernel's clock ticks in `/proc/<pid>/stat`.
const TICKS_PER_SECOND: f64 = 100.0;

pub struct Program {
    child: Child,
    folder: PathBuf,
    began: Instant,
}

/// The program's resources at one time.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Since the start.
    pub seconds: f64,
    pub resident_bytes: u64,
    /// The maximum of `resident_bytes` so far.
    pub peak_bytes: u64,
    /// Allocated memory, without mapped files.
    pub anonymous_bytes: u64,
    pub cpu_seconds: f64,
    pub open_files: usize,
    /// The memory of this example, including the fake Slack.
    pub own_resident_bytes: u64,
}

impl Program {
    pub fn start(
        options: &Options,
        folder: &Path,
        slack: SocketAddr,
        model: SocketAddr,
    ) -> anyhow::Result<Self> {
        fs::create_dir_all(folder).context("making the folder")?;
        let database = folder.join("load.db");
        let config = format!(
            "storage:\n  url: sqlite://{}\nhttp:\n  listen: 127.0.0.1:0\nresponse:\n  \
             min_wait_seconds: {}\nslack:\n  bot_token: xoxb-dev\n  app_token: xapp-dev\n  \
             api_base: http://{slack}/api\nagents:\n  response:\n    model_id: openai/mute\n    \
             client_args: {{api_key: sk-load, api_base: 'http://{model}/v1'}}\n",
            database.display(),
            options.wait,
        );
        let file = folder.join("config.yaml");
        fs::write(&file, config).context("writing the config")?;
        let log = File::create(folder.join("log")).context("making the log")?;
        let program = options.program.clone().map_or_else(beside, Ok)?;
        let child = Command::new(&program)
            .arg("--config")
            .arg(file)
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        Ok(Self { child, folder: folder.to_owned(), began: Instant::now() })
    }

    pub fn database(&self) -> PathBuf {
        self.folder.join("load.db")
    }

    pub fn sample(&self) -> anyhow::Result<Sample> {
        let process = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = status(&process)?;
        let times = fs::read_to_string(process.join("stat")).context("reading its times")?;
        // The fields after the name, which is in parentheses and may contain anything.
        let times = times.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: f64 = times.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
        Ok(Sample {
            seconds: self.began.elapsed().as_secs_f64(),
            resident_bytes: bytes(&status, "VmRSS:"),
            peak_bytes: bytes(&status, "VmHWM:"),
            anonymous_bytes: bytes(&status, "RssAnon:"),
            cpu_seconds: ticks / TICKS_PER_SECOND,
            open_files: fs::read_dir(process.join("fd")).context("counting its files")?.count(),
            own_resident_bytes: bytes(&self::status(Path::new("/proc/self"))?, "VmRSS:"),
        })
    }

    pub fn log_lines(&self) -> anyhow::Result<usize> {
        let log = fs::read_to_string(self.folder.join("log")).context("reading the log")?;
        Ok(log.lines().count())
    }

    /// Includes the write-ahead log.
    pub fn database_bytes(&self) -> u64 {
        let files = ["load.db", "load.db-wal"].map(|name| fs::metadata(self.folder.join(name)));
        files.into_iter().flatten().map(|file| file.len()).sum()
    }

    /// Stops the program with SIGTERM, as a service manager does.
    pub fn stop(mut self) -> anyhow::Result<()> {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status().context("asking it to stop")?;
        let ended = self.child.wait().context("waiting for its end")?;
        anyhow::ensure!(ended.success(), "it ended badly: {ended}");
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Fails if `stop` has ended it already, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program that was built with this example.
fn beside() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("finding the program")?;
    let folder = own.ancestors().nth(2).context("finding the program's folder")?;
    Ok(folder.join("aizuchi"))
}

fn status(process: &Path) -> anyhow::Result<String> {
    fs::read_to_string(process.join("status")).context("reading what it needs")
}

fn bytes(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}
