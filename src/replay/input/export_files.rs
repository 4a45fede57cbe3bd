//! The files of an export, in a folder or in a zip. Nothing is unpacked to disk.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use flate2::read::MultiGzDecoder;
use zip::ZipArchive;

use aizuchi_core::input_file::{self, ByteAllowance, MAX_STREAMED_BYTES};

/// An export with more files is refused.
const MAX_FILES: usize = 1_000_000;
/// The maximum depth of the folders that hold an export's files.
const MAX_DEPTH: usize = 4;

/// The files of an export, by their paths relative to its root.
pub struct ExportFiles {
    container: ExportContainer,
    /// Sorted.
    names: Vec<String>,
    /// The folder inside a zip that contains everything, with a trailing slash. Empty if there is none.
    root: String,
    allowance: ByteAllowance,
}

enum ExportContainer {
    Folder(PathBuf),
    Zip(Box<ZipArchive<BufReader<File>>>),
}

impl ExportFiles {
    pub fn folder(path: &Path) -> anyhow::Result<Self> {
        let mut names = Vec::new();
        list_folder(path, "", 1, &mut names)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let allowance = ByteAllowance::new(MAX_STREAMED_BYTES);
        Self::new(ExportContainer::Folder(path.to_owned()), names, allowance)
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
        Self::new(ExportContainer::Zip(Box::new(archive)), names, allowance)
    }

    fn new(
        container: ExportContainer,
        names: Vec<String>,
        allowance: ByteAllowance,
    ) -> anyhow::Result<Self> {
        anyhow::ensure!(names.len() <= MAX_FILES, "it has more than {MAX_FILES} files");
        let mut names: Vec<String> = names.into_iter().filter(|name| !is_hidden(name)).collect();
        names.sort();
        let root = common_root(&names);
        for name in &mut names {
            name.drain(..root.len());
        }
        Ok(Self { container, names, root, allowance })
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub fn has(&self, name: &str) -> bool {
        self.names.binary_search_by(|other| other.as_str().cmp(name)).is_ok()
    }

    /// Opens a file. It can be read only as far as the limit of the whole export allows.
    pub fn open(&mut self, name: &str) -> anyhow::Result<Box<dyn BufRead + '_>> {
        let path = format!("{}{name}", self.root);
        let opened: Box<dyn Read + '_> = match &mut self.container {
            ExportContainer::Folder(folder) => Box::new(
                input_file::open(&folder.join(&path))
                    .with_context(|| format!("cannot read {name}"))?,
            ),
            ExportContainer::Zip(archive) => Box::new(
                archive
                    .by_name(&path)
                    .map_err(|error| anyhow::anyhow!("cannot read {name}: {error}"))?,
            ),
        };
        Ok(Box::new(self.allowance.limit(opened)))
    }

    /// Opens and decompresses a file that is itself compressed.
    pub fn open_compressed(&mut self, name: &str) -> anyhow::Result<Box<dyn BufRead + '_>> {
        let path = format!("{}{name}", self.root);
        let size_bytes = match &mut self.container {
            ExportContainer::Folder(folder) => folder.join(path).metadata()?.len(),
            ExportContainer::Zip(archive) => archive.by_name(&path)?.size(),
        };
        let allowance = ByteAllowance::for_packed(size_bytes);
        Ok(Box::new(allowance.limit(MultiGzDecoder::new(self.open(name)?))))
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

fn leads_outside(name: &str) -> bool {
    let is_drive = name.as_bytes().get(1) == Some(&b':');
    let is_up = name.split(['/', '\\']).any(|part| part == "..");
    is_drive || is_up || name.starts_with(['/', '\\'])
}

/// Whether a file is one that an operating system leaves beside the user's files.
fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('.') || part == "__MACOSX")
}

/// Returns the folder that contains every file, if there is one and no Slack export begins above it.
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
