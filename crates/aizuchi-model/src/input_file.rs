//! Files that an operator names. Each is opened only if it is a regular file, and read only up to a limit, plain or
//! compressed. The errors do not name the file; the caller does.

use std::cell::Cell;
use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::rc::Rc;

use flate2::read::MultiGzDecoder;

/// The most that is read of a file that somebody writes by hand: settings, prompts.
pub const MAX_WRITTEN_BYTES: u64 = 4 << 20;
/// The most that is read of a file that is kept in memory as a whole: cases, recorded answers.
pub const MAX_KEPT_BYTES: u64 = 256 << 20;
/// The most that is read of recorded chat, a piece at a time.
pub const MAX_STREAMED_BYTES: u64 = 64 << 30;
/// The size to which any compressed input may grow …
const MIN_UNPACKED_BYTES: u64 = 256 << 20;
/// … and otherwise, the factor by which it may grow. Chat compresses to a tenth of its size; data that compresses to
/// less than a hundredth is not chat.
const MAX_GROWTH: u64 = 100;
/// The number of bytes of a file that can be inspected before it is read.
pub const BUFFER_BYTES: usize = 64 << 10;

/// Opens a file. Anything but a regular file may never end, or never begin.
pub fn open(path: &Path) -> Result<File> {
    ensure_regular(path)?;
    File::open(path)
}

/// Fails if something else than a regular file is at this path. What a shell pipes in is fine.
pub fn ensure_regular(path: &Path) -> Result<()> {
    let Ok(found) = std::fs::metadata(path) else { return Ok(()) };
    let is_piped = path == Path::new("/dev/stdin") || path.starts_with("/dev/fd");
    // Reading a folder fails by itself.
    let may_be_read = found.is_file() || found.is_dir();
    match may_be_read || (is_piped && found.file_type().is_fifo()) {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Reads a file, plain or gzipped, that has at most this many bytes when it is unpacked.
pub fn read(path: &Path, max_bytes: u64) -> Result<Vec<u8>> {
    let (plain, unpacked) = (ByteAllowance::new(max_bytes), ByteAllowance::for_unpacked(max_bytes));
    let mut bytes = Vec::new();
    unpack(open(path)?, plain, unpacked)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a text of at most this many bytes.
pub fn read_text(path: &Path, max_bytes: u64) -> Result<String> {
    let text = String::from_utf8(read(path, max_bytes)?);
    text.map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Opens recorded chat, plain or gzipped.
pub fn open_stream(path: &Path) -> Result<Box<dyn BufRead>> {
    let file = open(path)?;
    let unpacked = ByteAllowance::for_packed(file.metadata()?.len());
    unpack(file, ByteAllowance::new(MAX_STREAMED_BYTES), unpacked)
}

fn unpack(file: File, plain: ByteAllowance, unpacked: ByteAllowance) -> Result<Box<dyn BufRead>> {
    let mut input = plain.limit(file);
    let is_gzip = input.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    Ok(match is_gzip {
        true => Box::new(unpacked.limit(MultiGzDecoder::new(input))),
        false => Box::new(input),
    })
}

/// The number of bytes that may still be read. Clones share it.
#[derive(Clone)]
pub struct ByteAllowance {
    left: Rc<Cell<u64>>,
    pub max_bytes: u64,
    /// What a file does that exceeds it.
    excess: &'static str,
}

impl ByteAllowance {
    pub fn new(max_bytes: u64) -> Self {
        Self { left: Rc::new(Cell::new(max_bytes)), max_bytes, excess: "is longer than" }
    }

    fn for_unpacked(max_bytes: u64) -> Self {
        Self { excess: "unpacks to more than", ..Self::new(max_bytes) }
    }

    /// What a compressed file of this size may unpack to.
    pub fn for_packed(size_bytes: u64) -> Self {
        Self::for_unpacked(size_bytes.saturating_mul(MAX_GROWTH).max(MIN_UNPACKED_BYTES))
    }

    /// Returns a reader that fails once more is read than is allowed.
    pub fn limit<R: Read>(&self, inner: R) -> BufReader<impl Read + use<R>> {
        BufReader::with_capacity(BUFFER_BYTES, LimitedRead { inner, allowance: self.clone() })
    }

    pub fn refusal(&self) -> Error {
        let most = match self.max_bytes >> 20 {
            0 => format!("{} KB", self.max_bytes >> 10),
            megabytes => format!("{megabytes} MB"),
        };
        let why = format!("it is refused, because it {} {most}", self.excess);
        Error::new(ErrorKind::FileTooLarge, why)
    }
}

struct LimitedRead<R> {
    inner: R,
    allowance: ByteAllowance,
}

impl<R: Read> Read for LimitedRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let length = self.inner.read(buffer)?;
        let left = self.allowance.left.get().checked_sub(length as u64);
        self.allowance.left.set(left.ok_or_else(|| self.allowance.refusal())?);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzipped(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_file_is_read_up_to_its_limit_plain_or_gzipped() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let long = vec![b'x'; 3 << 20];
        for (bytes, max_bytes, expected) in [
            (long.clone(), 3 << 20, Ok(long.len())),
            (long.clone(), 2 << 20, Err("it is refused, because it is longer than 2 MB")),
            (gzipped(&long), 3 << 20, Ok(long.len())),
            (gzipped(&long), 2 << 20, Err("it is refused, because it unpacks to more than 2 MB")),
            (vec![b'x'; 70_000], 64 << 10, Err("it is refused, because it is longer than 64 KB")),
            (Vec::new(), 0, Ok(0)),
        ] {
            std::fs::write(&file, bytes).unwrap();
            let read = read(&file, max_bytes).map(|bytes| bytes.len());
            assert_eq!(read.map_err(|error| error.to_string()), expected.map_err(str::to_owned));
        }
        std::fs::write(&file, [0xff]).unwrap();
        assert_eq!(read_text(&file, 9).unwrap_err().kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn gzipped_chat_grows_at_most_a_hundredfold() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        // Files that are packed one by one and joined are one gzip file.
        let part = gzipped(&vec![0; 4 << 20]);
        std::fs::write(&file, part.repeat(65)).unwrap();
        let copied = std::io::copy(&mut open_stream(&file).unwrap(), &mut std::io::sink());
        let why = "it is refused, because it unpacks to more than 256 MB";
        assert_eq!(copied.unwrap_err().to_string(), why);
    }

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let (link, pipe) = (folder.path().join("link"), folder.path().join("pipe"));
        symlink("/dev/zero", &link).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        for path in [&*link, &*pipe, Path::new("/dev/zero")] {
            for refused in [read(path, 9).map(drop), open_stream(path).map(drop)] {
                assert_eq!(refused.unwrap_err().to_string(), "it is not a regular file");
            }
        }
        let path = folder.path();
        assert_eq!(read(path, 9).unwrap_err().kind(), ErrorKind::IsADirectory);
        assert_eq!(read(&path.join("none"), 9).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
