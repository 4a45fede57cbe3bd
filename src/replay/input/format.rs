//! Detects the format of an input, and reads it with the reader of that format.

use std::io::BufRead;
use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;

use crate::replay::export_lines::LineKind;
use crate::replay::input::export_files::ExportFiles;
use crate::replay::input::{InputFormat, InputWriter, discord, matrix, mattermost, slack};
use crate::replay::json_lines::read_lines;
use aizuchi_core::input_file;

/// The kind of a file, detected from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    JsonLines,
    Discord,
    Matrix,
    Mattermost,
    SlackDay,
    Database,
    Unknown,
}

/// Reads an input of any format, and returns the format.
pub(super) fn read(path: &Path, writer: &mut InputWriter<'_>) -> anyhow::Result<InputFormat> {
    let shown = path.display();
    let metadata = std::fs::metadata(path).with_context(|| format!("cannot read {shown}"))?;
    if metadata.is_dir() {
        return read_all(&mut ExportFiles::folder(path)?, &shown.to_string(), writer)
            .with_context(|| format!("cannot read {shown}"));
    }
    let input = input_file::open_stream(path);
    let mut input = input.with_context(|| format!("cannot read {shown}"))?;
    let beginning = input.fill_buf().with_context(|| format!("cannot read {shown}"))?;
    if beginning.starts_with(b"PK\x03\x04") || beginning.starts_with(b"PK\x05\x06") {
        let files = ExportFiles::zip(path, metadata.len());
        let mut files = files.with_context(|| format!("cannot read {shown}"))?;
        return read_all(&mut files, &shown.to_string(), writer)
            .with_context(|| format!("cannot read {shown}"));
    }
    read_alone(&mut *input, &shown.to_string(), writer)
        .with_context(|| format!("cannot read {shown}"))
}

/// Reads a single file.
pub(super) fn read_alone(
    input: &mut dyn BufRead,
    shown: &str,
    writer: &mut InputWriter<'_>,
) -> anyhow::Result<InputFormat> {
    let kind = sniff(input.fill_buf()?);
    match kind {
        FileKind::JsonLines | FileKind::Unknown => read_json_lines(input, "line ", writer)?,
        FileKind::Discord => discord::read_file(input, "", &|channel| channel.name(), writer)?,
        FileKind::Matrix => matrix::read(input, "", writer)?,
        FileKind::Mattermost => mattermost::read(input, "", writer)?,
        FileKind::SlackDay => anyhow::bail!(
            "it is a part of a Slack export; name the folder or the zip that has channels.json"
        ),
        FileKind::Database => anyhow::bail!(
            "it is a database; if it is Aizuchi's, replay it with --from-store sqlite://{shown}"
        ),
    }
    Ok(kind.format())
}

fn read_json_lines(
    input: &mut dyn BufRead,
    label: &str,
    writer: &mut InputWriter<'_>,
) -> anyhow::Result<()> {
    writer.spool.begin_file(label.to_owned());
    read_lines(input, &mut |number, line| {
        match line.as_ref().map_or(LineKind::Message, |line| LineKind::from_line(line)) {
            LineKind::Message => {}
            LineKind::Withheld => {
                writer.left_out.withheld += 1;
                return Ok(());
            }
            LineKind::Other => return Ok(()),
        }
        match line.and_then(|line| writer.channel_names.parse(line)) {
            Ok(line) if !writer.takes_line(&line) => Ok(()),
            Ok(line) => writer.add(number, &line.message),
            Err(problem) => {
                writer.add_bad(number, problem);
                Ok(())
            }
        }
    })
}

impl FileKind {
    fn format(self) -> InputFormat {
        match self {
            FileKind::JsonLines | FileKind::Unknown | FileKind::Database => InputFormat::JsonLines,
            FileKind::Discord => InputFormat::Discord,
            FileKind::Matrix => InputFormat::Matrix,
            FileKind::Mattermost => InputFormat::Mattermost,
            FileKind::SlackDay => InputFormat::Slack,
        }
    }
}

/// Reads every file of an export.
fn read_all(
    files: &mut ExportFiles,
    shown: &str,
    writer: &mut InputWriter<'_>,
) -> anyhow::Result<InputFormat> {
    if slack::is_export(files) {
        slack::read(files, writer)?;
        return Ok(InputFormat::Slack);
    }
    let mut kinds = Vec::new();
    for name in files.names().to_vec() {
        let is_compressed = name.ends_with(".jsonl.gz");
        if !is_compressed && !name.ends_with(".json") && !name.ends_with(".jsonl") {
            continue;
        }
        let kind =
            if is_compressed { FileKind::JsonLines } else { sniff(files.open(&name)?.fill_buf()?) };
        kinds.push((name, kind));
    }
    let is_known = |kind: FileKind| match kind {
        FileKind::JsonLines | FileKind::Discord | FileKind::Matrix | FileKind::Mattermost => true,
        FileKind::SlackDay | FileKind::Database | FileKind::Unknown => false,
    };
    let known = kinds.iter().map(|(_, kind)| *kind).find(|kind| is_known(*kind));
    let format = known.with_context(|| {
        format!(
            "{shown} holds no export that Aizuchi knows: neither Slack's channels.json, nor files of \
             DiscordChatExporter, Element or Mattermost, nor JSON Lines"
        )
    })?;
    let discord: Vec<String> = kinds
        .iter()
        .filter(|(_, kind)| *kind == FileKind::Discord)
        .map(|(name, _)| name.clone())
        .collect();
    discord::read_files(files, &discord, writer)?;
    for (name, kind) in kinds {
        match kind {
            FileKind::Discord => {}
            FileKind::JsonLines if name.ends_with(".gz") => {
                let label = format!("{name}, line ");
                read_json_lines(&mut *files.open_compressed(&name)?, &label, writer)?;
            }
            FileKind::JsonLines => {
                read_json_lines(&mut *files.open(&name)?, &format!("{name}, line "), writer)?;
            }
            FileKind::Matrix => {
                matrix::read(&mut *files.open(&name)?, &format!("{name}, "), writer)?;
            }
            FileKind::Mattermost => {
                mattermost::read(&mut *files.open(&name)?, &format!("{name}, "), writer)?;
            }
            FileKind::SlackDay | FileKind::Database | FileKind::Unknown => {
                writer.spool.begin_file(format!("{name}, record "));
                writer.add_bad(1, "it is not an export that Aizuchi knows");
            }
        }
    }
    Ok(format.format())
}

fn sniff(beginning: &[u8]) -> FileKind {
    if beginning.starts_with(b"SQLite format 3\0") {
        return FileKind::Database;
    }
    let beginning = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning);
    let text = beginning.trim_ascii_start();
    if text.starts_with(b"[") {
        return FileKind::SlackDay;
    }
    let first_line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if let Ok(Value::Object(line)) = serde_json::from_slice::<Value>(first_line) {
        let has = |key: &str| line.contains_key(key);
        if line.get("type").is_some_and(|kind| kind == "version") && has("version") {
            return FileKind::Mattermost;
        }
        if has("room") && has("id") || has("kind") && has("workspace") {
            return FileKind::JsonLines;
        }
    }
    let key = text.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    let starts_with = |name: &[u8]| key.is_some_and(|key| key.starts_with(name));
    if starts_with(b"\"guild\"") {
        return FileKind::Discord;
    }
    if starts_with(b"\"room_name\"") {
        return FileKind::Matrix;
    }
    FileKind::Unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart_by_their_beginning() {
        for (beginning, kind) in [
            ("{\"room\":\"a\",\"id\":\"1\"}\n{", FileKind::JsonLines),
            ("\u{feff}{\n  \"guild\": {\n", FileKind::Discord),
            ("{\"guild\":{\"id\":\"1\"},\"channel\":", FileKind::Discord),
            ("{\n \"room_name\": \"Porch\",", FileKind::Matrix),
            ("{\"type\":\"version\",\"version\":1}\n{\"type\"", FileKind::Mattermost),
            ("[\n {\"type\": \"message\"", FileKind::SlackDay),
            ("SQLite format 3\0\x10", FileKind::Database),
            ("{\"guild\":1,\"room\":\"a\",\"id\":\"1\"}\n", FileKind::JsonLines),
            ("{\"kind\":\"channel\",\"workspace\":\"w\"}\n", FileKind::JsonLines),
            ("hello", FileKind::Unknown),
            ("", FileKind::Unknown),
        ] {
            assert_eq!(sniff(beginning.as_bytes()), kind, "{beginning}");
        }
    }
}
