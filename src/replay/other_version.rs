//! Replays the same messages with another version of the program, in a separate process.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::replay::ReplaySettings;
use crate::replay::difference::{TreatmentWriter, Treatments};
use crate::replay::history::ChannelSource;
use aizuchi_core::chat::to_single_line;
use aizuchi_core::persona::Language;

pub struct OtherVersion<'a> {
    pub program: &'a Path,
}

impl OtherVersion<'_> {
    /// Returns the version that the program prints, or else its path.
    pub fn version(&self) -> anyhow::Result<String> {
        let output = Command::new(self.program).arg("--version").stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("cannot run {}", self.program.display()))?;
        let version = String::from_utf8_lossy(&output.stdout);
        let version = to_single_line(version.lines().next().unwrap_or_default().trim());
        let is_named = output.status.success() && !version.is_empty();
        Ok(if is_named { version } else { self.program.display().to_string() })
    }

    /// Runs a replay of these channels, which the program reads from a file in a private temporary folder.
    pub fn replay(
        &self,
        channels: &dyn ChannelSource,
        judge: &str,
        policy: Option<&Path>,
        language: Language,
        settings: &ReplaySettings,
    ) -> anyhow::Result<Treatments> {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let messages = folder.path().join("messages.jsonl");
        let events = folder.path().join("events.jsonl");
        write_messages(channels, &messages)
            .context("cannot write the messages for another version")?;
        let mut command = Command::new(self.program);
        command.arg("replay").arg(&messages).args(["--judge", judge]);
        command.arg("--latency").arg(settings.latency_ms.to_string());
        command.arg("--seed").arg(settings.seed.to_string());
        command.arg("--events").arg(&events);
        match policy {
            Some(policy) => command.arg("--policy").arg(policy),
            None => command.args(["--language", language.tag()]),
        };
        let shown = self.program.display();
        let output = command.stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("cannot run {shown}"))?;
        anyhow::ensure!(output.status.success(), "{shown} {}", why_it_failed(&output.stderr));
        // These may be warnings about what it could not judge.
        for line in String::from_utf8_lossy(&output.stderr).lines() {
            // Nobody may be reading stderr, and `eprintln!` would panic.
            let _ = writeln!(std::io::stderr(), "{shown}: {}", to_single_line(line));
        }
        let written = File::open(&events).with_context(|| format!("{shown} wrote no events"))?;
        let mut writer = TreatmentWriter::default();
        for line in BufReader::new(written).lines() {
            let line = line.with_context(|| format!("cannot read the events of {shown}"))?;
            writeln!(writer, "{line}")
                .with_context(|| format!("{shown} wrote an event that cannot be read"))?;
        }
        Ok(std::mem::take(&mut writer.treatments().lock()))
    }
}

fn write_messages(channels: &dyn ChannelSource, path: &Path) -> anyhow::Result<()> {
    let mut output = BufWriter::new(File::create_new(path)?);
    for index in 0..channels.channel_count() {
        channels.channel(index)?.each_message(&mut |message| {
            serde_json::to_writer(&mut output, &message)?;
            Ok(output.write_all(b"\n")?)
        })?;
    }
    Ok(output.flush()?)
}

/// Describes a failure by the last line that the program printed.
fn why_it_failed(stderr: &[u8]) -> String {
    let stderr = String::from_utf8_lossy(stderr);
    match stderr.lines().rfind(|line| !line.trim().is_empty()) {
        Some(line) => format!("cannot replay them: {}", to_single_line(line.trim())),
        None => "failed without saying why".to_owned(),
    }
}
