//! The files of an export, in a folder or in a zip. Nothing is unpacked to disk.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use aizuchi_model::input_file::{self, ByteAllowance, MAX_STREAMED_BYTES};
use anyhow::Context as _;
use flate2::read::MultiGzDecoder;
use zip::ZipArchive;

/// An export with more files is refused.
const MAX_FILES: usize = 1_000_000;
/// The maximum depth of the folders that hold an export's files.
const MAX_DEPTH: usize = 6;
/// The endings of files that count as not recognized if no reader knows them, whatever they hold.
pub const JSON_ENDINGS: [&str; 5] = [".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz"];

/// The files of an export, by their paths relative to its root.
pub struct ExportFiles {
    container: ExportContainer,
    /// The names, sorted, and the place of each file in the container. A name has `/` between its parts, whatever
    /// system wrote it.
    files: Vec<(String, usize)>,
    allowance: ByteAllowance,
}

enum ExportContainer {
    /// The paths of its files.
    Folder(Vec<PathBuf>),
    Zip(Box<ZipArchive<BufReader<File>>>),
}

impl ExportFiles {
    pub fn folder(path: &Path) -> anyhow::Result<Self> {
        let mut names = Vec::new();
        list_folder(path, "", 1, &mut names)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let allowance = ByteAllowance::new(MAX_STREAMED_BYTES);
        let paths = names.iter().map(|name| path.join(name)).collect();
        Self::new(ExportContainer::Folder(paths), names, allowance)
    }

    pub fn zip(path: &Path, size: u64) -> anyhow::Result<Self> {
        let archive = ZipArchive::new(BufReader::new(input_file::open(path)?));
        let archive = archive
            .map_err(|error| anyhow::anyhow!("the zip file is incomplete or damaged: {error}"))?;
        let allowance = ByteAllowance::for_packed(size);
        if let Some(unpacked) = archive.decompressed_size()
            && unpacked > u128::from(allowance.max_bytes)
        {
            return Err(allowance.refusal().into());
        }
        // Some programs write UTF-8 without saying so.
        let names = archive.file_names_raw().zip(archive.file_names()).map(|(raw, name)| {
            let name = String::from_utf8(raw.to_vec()).or_else(|_| name.map(String::from));
            name.map_err(|_| anyhow::anyhow!("a name in the zip cannot be read"))
        });
        let names: Vec<String> = names.collect::<anyhow::Result<_>>()?;
        if let Some(name) = names.iter().find(|name| leads_outside(name)) {
            let name = aizuchi_model::chat::to_single_line(name);
            anyhow::bail!(
                "the zip is refused, because a file in it has a path that leads outside: {name}"
            );
        }
        Self::new(ExportContainer::Zip(Box::new(archive)), names, allowance)
    }

    fn new(
        container: ExportContainer,
        names: Vec<String>,
        allowance: ByteAllowance,
    ) -> anyhow::Result<Self> {
        anyhow::ensure!(names.len() <= MAX_FILES, "it has more than {MAX_FILES} files");
        let names = names.into_iter().enumerate();
        let names = names
            .map(|(place, name)| (name.replace('\\', "/"), place))
            .filter(|(name, _)| !name.ends_with('/') && !is_hidden(name));
        let mut files: Vec<(String, usize)> = names.collect();
        files.sort();
        let root = common_root(&files);
        for (name, _) in &mut files {
            name.drain(..root.len());
        }
        Ok(Self { container, files, allowance })
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|(name, _)| name.as_str())
    }

    pub fn has(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    fn place(&self, name: &str) -> Option<usize> {
        let index = self.files.binary_search_by(|(other, _)| other.as_str().cmp(name));
        Some(self.files[index.ok()?].1)
    }

    /// Opens a file, and decompresses it if its name ends with `.gz`. It can be read only as far as the limit of the
    /// whole export allows.
    pub fn open(&mut self, name: &str) -> anyhow::Result<Box<dyn BufRead + '_>> {
        let cannot_read = || format!("cannot read {name}");
        let place = self.place(name).with_context(cannot_read)?;
        let (file, size_bytes): (Box<dyn Read + '_>, u64) = match &mut self.container {
            ExportContainer::Folder(paths) => {
                let file = input_file::open(&paths[place]).with_context(cannot_read)?;
                let size_bytes = file.metadata()?.len();
                (Box::new(file), size_bytes)
            }
            ExportContainer::Zip(archive) => {
                let file = archive.by_index(place);
                let file = file.map_err(|error| anyhow::anyhow!("cannot read {name}: {error}"))?;
                let size_bytes = file.size();
                (Box::new(file), size_bytes)
            }
        };
        let plain = self.allowance.limit(file);
        Ok(match name.ends_with(".gz") {
            true => {
                Box::new(ByteAllowance::for_packed(size_bytes).limit(MultiGzDecoder::new(plain)))
            }
            false => Box::new(plain),
        })
    }
}

/// Lists the files below a folder, without following symbolic links.
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

pub fn has_ending(name: &str, endings: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    endings.iter().any(|ending| name.ends_with(ending))
}

fn leads_outside(name: &str) -> bool {
    let is_drive = name.as_bytes().get(1) == Some(&b':');
    let is_up = name.split(['/', '\\']).any(|part| part == "..");
    is_drive || is_up || name.starts_with(['/', '\\'])
}

/// Whether a file is one that an operating system leaves beside the user's files.
fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('.') || part == "__MACOSX")
}

/// Returns the folder that contains every file, if there is one.
fn common_root(files: &[(String, usize)]) -> String {
    let Some((root, _)) = files.first().and_then(|(first, _)| first.split_once('/')) else {
        return String::new();
    };
    let root = format!("{root}/");
    match files.iter().all(|(name, _)| name.starts_with(&root)) {
        true => root,
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
