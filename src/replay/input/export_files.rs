//! Finds out what an input is, and opens its files, whether they are in a folder, in a zip or alone. Nothing is unpacked
//! to disk.

use std::cell::Cell;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context as _;
use flate2::read::MultiGzDecoder;
use serde_json::Value;
use zip::ZipArchive;

use crate::replay::input::{InputFormat, InputWriter, discord, matrix, mattermost, slack};
use crate::replay::json_lines::read_lines;

/// What a compressed input may grow to, whatever its size …
const MIN_UNPACKED_BYTES: u64 = 256 << 20;
/// … and else by this factor. Chat shrinks to a tenth; what shrinks to less than a hundredth is no chat.
const MAX_GROWTH: u64 = 100;
/// A larger export is refused.
const MAX_FILES: usize = 1_000_000;
/// As deep as the files of an export lie in folders.
const MAX_DEPTH: usize = 4;
/// How much of a file is looked at to tell what it is.
const SNIFFED_BYTES: usize = 64 << 10;

/// The files of an export, by their paths below its root.
pub struct ExportFiles {
    place: Place,
    /// Sorted.
    names: Vec<String>,
    /// The folder inside a zip that holds everything, with a trailing slash, or nothing.
    root: String,
    allowance: Allowance,
}

enum Place {
    Folder(PathBuf),
    Zip(Box<ZipArchive<BufReader<File>>>),
}

/// How many bytes may still be unpacked.
#[derive(Clone)]
struct Allowance {
    left: Rc<Cell<u64>>,
    limit: u64,
}

/// What a file holds, by its beginning.
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

/// Reads whatever is there, and says what it was.
pub(super) fn read(path: &Path, writer: &mut InputWriter<'_>) -> anyhow::Result<InputFormat> {
    let shown = path.display();
    let metadata = std::fs::metadata(path).with_context(|| format!("cannot read {shown}"))?;
    if metadata.is_dir() {
        return ExportFiles::folder(path)?
            .read_all(&shown.to_string(), writer)
            .with_context(|| format!("reading {shown}"));
    }
    let file = File::open(path).with_context(|| format!("cannot read {shown}"))?;
    let mut input = BufReader::with_capacity(SNIFFED_BYTES, file);
    let beginning = input.fill_buf().with_context(|| format!("reading {shown}"))?;
    if beginning.starts_with(b"PK\x03\x04") || beginning.starts_with(b"PK\x05\x06") {
        let files = ExportFiles::zip(path, metadata.len());
        let mut files = files.with_context(|| format!("reading {shown}"))?;
        return files
            .read_all(&shown.to_string(), writer)
            .with_context(|| format!("reading {shown}"));
    }
    let is_gzip = beginning.starts_with(&[0x1f, 0x8b]);
    let mut input: Box<dyn BufRead> = match is_gzip {
        true => gunzip(input, metadata.len()),
        false => Box::new(input),
    };
    read_alone(&mut *input, &shown.to_string(), writer).with_context(|| format!("reading {shown}"))
}

/// A file by itself.
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
    read_lines(input, &mut |number, line| match line.and_then(|line| writer.rooms.parse(line)) {
        Ok(message) => writer.add(number, &message),
        Err(problem) => {
            writer.add_bad(number, problem);
            Ok(())
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

impl ExportFiles {
    fn folder(path: &Path) -> anyhow::Result<Self> {
        let mut names = Vec::new();
        list_folder(path, "", 1, &mut names)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Self::new(Place::Folder(path.to_owned()), names, Allowance::new(u64::MAX))
    }

    fn zip(path: &Path, size: u64) -> anyhow::Result<Self> {
        let archive = ZipArchive::new(BufReader::new(File::open(path)?));
        let archive = archive.map_err(|error| anyhow::anyhow!("it is not a whole zip: {error}"))?;
        let allowance = Allowance::for_size(size);
        if let Some(unpacked) = archive.decompressed_size()
            && unpacked > u128::from(allowance.limit)
        {
            return Err(allowance.refusal());
        }
        let names: Result<Vec<String>, _> =
            archive.file_names().map(|name| name.map(String::from)).collect();
        let mut names = names.map_err(|_| anyhow::anyhow!("a name in the zip cannot be read"))?;
        names.retain(|name| !name.ends_with('/'));
        if let Some(name) = names.iter().find(|name| leads_outside(name)) {
            let name = aizuchi_core::chat::to_single_line(name);
            anyhow::bail!(
                "the zip is refused, because a file in it has a path that leads outside: {name}"
            );
        }
        Self::new(Place::Zip(Box::new(archive)), names, allowance)
    }

    fn new(place: Place, names: Vec<String>, allowance: Allowance) -> anyhow::Result<Self> {
        anyhow::ensure!(names.len() <= MAX_FILES, "it has more than {MAX_FILES} files");
        let mut names: Vec<String> = names.into_iter().filter(|name| !is_hidden(name)).collect();
        names.sort();
        let root = common_root(&names);
        for name in &mut names {
            name.drain(..root.len());
        }
        Ok(Self { place, names, root, allowance })
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub fn has(&self, name: &str) -> bool {
        self.names.binary_search_by(|other| other.as_str().cmp(name)).is_ok()
    }

    /// A file's content. It can be read only as far as the limit of the whole export allows.
    pub fn open(&mut self, name: &str) -> anyhow::Result<Box<dyn BufRead + '_>> {
        let path = format!("{}{name}", self.root);
        let opened: Box<dyn Read + '_> = match &mut self.place {
            Place::Folder(folder) => Box::new(
                File::open(folder.join(&path)).with_context(|| format!("cannot read {name}"))?,
            ),
            Place::Zip(archive) => Box::new(
                archive
                    .by_name(&path)
                    .map_err(|error| anyhow::anyhow!("cannot read {name}: {error}"))?,
            ),
        };
        let limited = LimitedRead { inner: opened, allowance: self.allowance.clone() };
        Ok(Box::new(BufReader::with_capacity(SNIFFED_BYTES, limited)))
    }

    fn read_all(
        &mut self,
        shown: &str,
        writer: &mut InputWriter<'_>,
    ) -> anyhow::Result<InputFormat> {
        if slack::is_export(self) {
            slack::read(self, writer)?;
            return Ok(InputFormat::Slack);
        }
        let mut kinds = Vec::new();
        for name in self.names.clone() {
            let is_compressed = name.ends_with(".jsonl.gz");
            if !is_compressed && !name.ends_with(".json") && !name.ends_with(".jsonl") {
                continue;
            }
            let kind = if is_compressed {
                FileKind::JsonLines
            } else {
                sniff(self.open(&name)?.fill_buf()?)
            };
            kinds.push((name, kind));
        }
        let is_known = |kind: FileKind| match kind {
            FileKind::JsonLines | FileKind::Discord | FileKind::Matrix | FileKind::Mattermost => {
                true
            }
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
        discord::read_files(self, &discord, writer)?;
        for (name, kind) in kinds {
            match kind {
                FileKind::Discord => {}
                FileKind::JsonLines if name.ends_with(".gz") => {
                    let size = self.allowance.left.get() / MAX_GROWTH;
                    let mut input = gunzip(self.open(&name)?, size);
                    read_json_lines(&mut *input, &format!("{name}, line "), writer)?;
                }
                FileKind::JsonLines => {
                    read_json_lines(&mut *self.open(&name)?, &format!("{name}, line "), writer)?;
                }
                FileKind::Matrix => {
                    matrix::read(&mut *self.open(&name)?, &format!("{name}, "), writer)?;
                }
                FileKind::Mattermost => {
                    mattermost::read(&mut *self.open(&name)?, &format!("{name}, "), writer)?;
                }
                FileKind::SlackDay | FileKind::Database | FileKind::Unknown => {
                    writer.spool.begin_file(format!("{name}, record "));
                    writer.add_bad(1, "it is not an export that Aizuchi knows");
                }
            }
        }
        Ok(format.format())
    }
}

impl Allowance {
    fn new(limit: u64) -> Self {
        Self { left: Rc::new(Cell::new(limit)), limit }
    }

    fn for_size(size: u64) -> Self {
        Self::new(size.saturating_mul(MAX_GROWTH).max(MIN_UNPACKED_BYTES))
    }

    fn refusal(&self) -> anyhow::Error {
        anyhow::anyhow!(
            "it is refused, because it unpacks to more than {} MB, a hundred times its size",
            self.limit >> 20
        )
    }
}

/// Fails once more has been read than is allowed.
struct LimitedRead<R> {
    inner: R,
    allowance: Allowance,
}

impl<R: Read> Read for LimitedRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.inner.read(buffer)?;
        match self.allowance.left.get().checked_sub(length as u64) {
            Some(left) => self.allowance.left.set(left),
            None => return Err(std::io::Error::other(self.allowance.refusal())),
        }
        Ok(length)
    }
}

fn gunzip<'a>(input: impl BufRead + 'a, size: u64) -> Box<dyn BufRead + 'a> {
    let inner = MultiGzDecoder::new(input);
    let limited = LimitedRead { inner, allowance: Allowance::for_size(size) };
    Box::new(BufReader::with_capacity(SNIFFED_BYTES, limited))
}

/// The files below a folder, without following links.
fn list_folder(
    folder: &Path,
    prefix: &str,
    depth: usize,
    names: &mut Vec<String>,
) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let kind = entry.file_type()?;
        if kind.is_dir() && depth < MAX_DEPTH {
            list_folder(&entry.path(), &format!("{prefix}{name}/"), depth + 1, names)?;
        } else if kind.is_file() && names.len() <= MAX_FILES {
            names.push(format!("{prefix}{name}"));
        }
    }
    Ok(())
}

fn leads_outside(name: &str) -> bool {
    let is_drive = name.as_bytes().get(1) == Some(&b':');
    let is_up = name.split(['/', '\\']).any(|part| part == "..");
    is_drive || is_up || name.starts_with(['/', '\\'])
}

/// What systems leave beside people's files.
fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('.') || part == "__MACOSX")
}

/// The folder that holds every file, if there is one and no export of Slack begins above it.
fn common_root(names: &[String]) -> String {
    let Some((root, _)) = names.first().and_then(|first| first.split_once('/')) else {
        return String::new();
    };
    let root = format!("{root}/");
    match names.iter().all(|name| name.starts_with(&root)) {
        true => root,
        false => String::new(),
    }
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
        if has("room") && has("id") {
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
            ("hello", FileKind::Unknown),
            ("", FileKind::Unknown),
        ] {
            assert_eq!(sniff(beginning.as_bytes()), kind, "{beginning}");
        }
    }

    #[test]
    fn paths_that_lead_outside_are_recognized() {
        for (name, outside) in [
            ("general/2024-01-02.json", false),
            ("a..b/c.json", false),
            ("../x.json", true),
            ("a/../../x.json", true),
            ("a\\..\\x.json", true),
            ("/etc/passwd", true),
            ("C:/x.json", true),
        ] {
            assert_eq!(leads_outside(name), outside, "{name}");
        }
    }
}
