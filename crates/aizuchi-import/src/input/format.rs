//! Reads an input with the reader of its format.

use std::io::{BufRead, Read};
use std::path::Path;

use aizuchi_model::input_file;
use anyhow::Context as _;

use crate::export_lines::LineKind;
use crate::input::export_files::{ExportFiles, JSON_ENDINGS, has_ending};
use crate::input::file_kind::{FileKind, READ};
use crate::input::{InputFormat, InputWriter, discord, slack};
use crate::json_lines::{MAX_LINE_BYTES, read_lines};

/// The endings of files that may hold chat. Those of other files are not looked at.
const ENDINGS: [&str; 11] =
    [".json", ".jsonl", ".ndjson", ".gz", ".txt", ".log", ".csv", ".tsv", ".html", ".bson", ".db"];

/// Reads an input of any format, and returns the format.
pub(super) fn read(path: &Path, writer: &mut InputWriter<'_>) -> anyhow::Result<InputFormat> {
    let shown = path.display().to_string();
    let cannot_read = || format!("cannot read {shown}");
    if let Some(mut files) = open_several(path).with_context(cannot_read)? {
        return read_all(&mut files, &shown, writer).with_context(cannot_read);
    }
    let mut input = input_file::open_stream(path).with_context(cannot_read)?;
    read_alone(&mut *input, &shown, writer).with_context(cannot_read)
}

/// The files of a folder or a zip. `None` if it is another file.
fn open_several(path: &Path) -> anyhow::Result<Option<ExportFiles>> {
    let metadata = std::fs::metadata(path)?;
    if metadata.is_dir() {
        return ExportFiles::folder(path).map(Some);
    }
    let mut input = input_file::open_stream(path)?;
    let beginning = input.fill_buf()?;
    let is_zip = beginning.starts_with(b"PK\x03\x04") || beginning.starts_with(b"PK\x05\x06");
    is_zip.then(|| ExportFiles::zip(path, metadata.len())).transpose()
}

/// Reads a single file.
pub(super) fn read_alone(
    input: &mut dyn BufRead,
    shown: &str,
    writer: &mut InputWriter<'_>,
) -> anyhow::Result<InputFormat> {
    let (kind, line) = sniff(input)?;
    let format = kind.format().with_context(|| kind.refusal(shown))?;
    read_file(&mut line.chain(input), format, "", writer)?;
    Ok(format)
}

/// Detects what a file is, and returns what was read of it for that.
fn sniff(input: &mut dyn BufRead) -> std::io::Result<(FileKind, Vec<u8>)> {
    let (beginning, mut line) = (input.fill_buf()?, Vec::new());
    let mut kind = FileKind::sniff(beginning);
    // The first line may be longer than what is buffered.
    if kind == FileKind::Unknown && beginning.starts_with(b"{") {
        input.take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
        kind = FileKind::sniff(&line);
    }
    Ok((kind, line))
}

/// Reads a file that is not of Slack's own export. `label` precedes the number of a record in errors.
fn read_file(
    input: &mut dyn BufRead,
    format: InputFormat,
    label: &str,
    writer: &mut InputWriter<'_>,
) -> anyhow::Result<()> {
    match format {
        InputFormat::JsonLines => read_json_lines(input, &format!("{label}line "), writer),
        InputFormat::Discord => discord::read_file(input, label, &|channel| channel.name(), writer),
        // Neither is a file by itself.
        InputFormat::Slack | InputFormat::Database => Ok(()),
    }
}

fn read_json_lines(
    input: &mut dyn BufRead,
    label: &str,
    writer: &mut InputWriter<'_>,
) -> anyhow::Result<()> {
    writer.begin_file(label.to_owned());
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
    let kinds = sniff_all(files)?;
    let known = kinds.iter().find_map(|(_, kind)| kind.format());
    let format = known.with_context(|| refusal(&kinds, shown))?;
    let discord: Vec<String> = kinds
        .iter()
        .filter(|(_, kind)| *kind == FileKind::Discord)
        .map(|(name, _)| name.clone())
        .collect();
    discord::read_files(files, &discord, writer)?;
    for (name, kind) in kinds {
        match kind.format() {
            Some(InputFormat::Discord) => {}
            // Only exports have ids of their own.
            Some(InputFormat::JsonLines) if writer.lines.is_some() => {
                writer.add_unrecognized(&name)
            }
            Some(format) => {
                let label = format!("{name}, ");
                read_file(&mut *files.open(&name)?, format, &label, writer)?;
            }
            None if kind == FileKind::Unknown && !has_ending(&name, &JSON_ENDINGS) => {}
            None => writer.add_unrecognized(&name),
        }
    }
    Ok(format)
}

/// Detects the kind of each file that may hold chat.
fn sniff_all(files: &mut ExportFiles) -> anyhow::Result<Vec<(String, FileKind)>> {
    let names: Vec<String> = files.names().map(str::to_owned).collect();
    let mut kinds = Vec::new();
    for name in names.into_iter().filter(|name| has_ending(name, &ENDINGS)) {
        let sniffed = files.open(&name).and_then(|mut input| {
            let is_empty = input.fill_buf()?.is_empty();
            Ok((!is_empty).then_some(sniff(&mut *input)?.0))
        });
        match sniffed {
            // Some other file beside an export does not keep it from being read.
            Err(_) if !has_ending(&name, &JSON_ENDINGS) => {
                kinds.push((name, FileKind::Foreign("a file that cannot be read")));
            }
            sniffed => kinds.extend(sniffed?.map(|kind| (name, kind))),
        }
    }
    Ok(kinds)
}

fn refusal(kinds: &[(String, FileKind)], shown: &str) -> String {
    let is_named = |kind: FileKind| kind != FileKind::Unknown;
    match kinds.iter().find(|(_, kind)| is_named(*kind)) {
        Some((name, kind)) => format!("{name} in it: {}", kind.refusal(name)),
        None => format!("{shown} holds no export that Aizuchi knows; {READ}"),
    }
}

/// Returns the format of an input that can be read.
pub fn recognize(path: &Path) -> anyhow::Result<Option<InputFormat>> {
    if let Some(mut files) = open_several(path)? {
        let is_slack = slack::is_export(&files);
        let kinds = if is_slack { Vec::new() } else { sniff_all(&mut files)? };
        let known = kinds.iter().find_map(|(_, kind)| kind.format());
        return Ok(known.or(is_slack.then_some(InputFormat::Slack)));
    }
    Ok(sniff(&mut *input_file::open_stream(path)?)?.0.format())
}
