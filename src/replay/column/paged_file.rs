//! A temporary file of small records, with some of its pages cached in memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::replay::column::fixed::Fixed;

/// The number of slots in the page cache. The number of a page determines its slot.
const PAGES: usize = 256;

/// The first I/O error, after which records may read as zeros. Columns that are derived from each other share it.
#[derive(Clone, Debug, Default)]
pub struct Failure(Arc<OnceLock<String>>);

impl Failure {
    pub fn check(&self) -> anyhow::Result<()> {
        let Some(error) = self.0.get() else { return Ok(()) };
        let folder = std::env::temp_dir();
        anyhow::bail!("cannot use a temporary file in {}: {error}", folder.display())
    }

    fn note(&self, error: &io::Error) {
        self.0.get_or_init(|| error.to_string());
    }
}

/// A file without a name, which disappears when the program ends, even if it crashes.
#[derive(Debug)]
pub struct PagedFile {
    file: File,
    page_bytes: usize,
    cache: Mutex<PageCache>,
    failure: Failure,
}

#[derive(Debug)]
struct PageCache {
    pages: Vec<CachedPage>,
    /// Whether any page differs from the file.
    has_changes: bool,
}

#[derive(Clone, Debug, Default)]
struct CachedPage {
    number: Option<u64>,
    bytes: Vec<u8>,
    is_changed: bool,
}

impl PagedFile {
    /// Creates a file whose pages hold whole records.
    pub fn new(page_bytes: usize, failure: Failure) -> io::Result<Self> {
        Ok(Self::from_file(tempfile::tempfile()?, page_bytes, failure))
    }

    /// Creates a file whose reads and writes all fail.
    #[cfg(test)]
    pub fn lost(page_bytes: usize, failure: Failure) -> io::Result<Self> {
        Ok(Self::from_file(File::open("/dev/null")?, page_bytes, failure))
    }

    fn from_file(file: File, page_bytes: usize, failure: Failure) -> Self {
        let pages = vec![CachedPage::default(); PAGES];
        let cache = Mutex::new(PageCache { pages, has_changes: false });
        Self { file, page_bytes, cache, failure }
    }

    /// Appends whole pages at the end of the file.
    pub fn append(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    pub fn read<T: Fixed>(&self, offset: u64) -> T {
        let mut cache = self.cache.lock();
        let page = self.page(&mut cache, offset);
        let place = (offset % self.page_bytes as u64) as usize;
        T::read(&page.bytes[place..place + T::BYTES])
    }

    pub fn write<T: Fixed>(&self, offset: u64, record: T) {
        let mut cache = self.cache.lock();
        let page = self.page(&mut cache, offset);
        let place = (offset % self.page_bytes as u64) as usize;
        record.write(&mut page.bytes[place..place + T::BYTES]);
        page.is_changed = true;
        cache.has_changes = true;
    }

    /// Reads many bytes at once, without replacing the cached pages.
    pub fn bytes(&self, offset: u64, length: usize) -> Vec<u8> {
        let mut cache = self.cache.lock();
        if std::mem::take(&mut cache.has_changes) {
            cache.pages.iter_mut().for_each(|page| self.put_back(page));
        }
        drop(cache);
        let mut bytes = vec![0; length];
        self.read_into(offset, &mut bytes);
        bytes
    }

    /// Returns the page of a record.
    fn page<'c>(&self, cache: &'c mut PageCache, offset: u64) -> &'c mut CachedPage {
        let number = offset / self.page_bytes as u64;
        let page = &mut cache.pages[(number % PAGES as u64) as usize];
        if page.number != Some(number) {
            self.put_back(page);
            page.number = Some(number);
            page.bytes.resize(self.page_bytes, 0);
            self.read_into(number * self.page_bytes as u64, &mut page.bytes);
        }
        page
    }

    fn read_into(&self, offset: u64, bytes: &mut [u8]) {
        if let Err(error) = self.file.read_exact_at(bytes, offset) {
            bytes.fill(0);
            self.failure.note(&error);
        }
    }

    fn put_back(&self, page: &mut CachedPage) {
        if !std::mem::take(&mut page.is_changed) {
            return;
        }
        let Some(number) = page.number else { return };
        let offset = number * self.page_bytes as u64;
        if let Err(error) = self.file.write_all_at(&page.bytes, offset) {
            self.failure.note(&error);
        }
    }
}
