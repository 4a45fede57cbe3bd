//! Extracts the text of PDFs in a separate process: this program, started again with [`COMMAND`]. Malicious documents
//! make PDF parsers panic, loop or exhaust memory. In a separate process that affects nothing else: before it reads a
//! byte it limits its own memory and time, it inherits no environment variables, it can neither write files nor start
//! processes, and its parent kills it.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use aizuchi_agent::documents::{DocumentError, DocumentReader, DocumentText};
use async_trait::async_trait;
use pdf_extract::{Document, PlainTextOutput, output_doc_page};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::sync::Semaphore;
use tracing::debug;

/// The verb on the command line. It is in no help, because only this program uses it.
pub const COMMAND: &str = "__pdf-text";

/// The first byte of the output, once the limits are set and the document is read. Output that begins otherwise is not
/// from a reader.
const READY: u8 = b'+';
/// The last byte of the output, once the document has no more pages.
const WHOLE: u8 = 4;
/// The memory limit for the program itself and the document.
const MAX_MEMORY_BYTES: u64 = 512 * 1024 * 1024;
const MAX_CPU_SECONDS: u64 = 5;
/// The limit of wall-clock time.
const TIME_LIMIT: Duration = Duration::from_secs(8);
/// The maximum size of the text, far more than an excerpt takes.
const MAX_TEXT_BYTES: usize = 64 * 1024;
const MAX_PAGES: usize = 20;
/// The maximum number of processes at once. Each takes a core and some memory.
const MAX_PROCESSES: usize = 2;

/// Starts a process for each document.
pub struct PdfProcesses {
    program: PathBuf,
    turns: Semaphore,
}

impl PdfProcesses {
    /// Fails if the path of the program is unknown.
    pub fn of_this_program() -> std::io::Result<Self> {
        // This path still works after the file was replaced by a newer version.
        let program = match cfg!(target_os = "linux") {
            true => PathBuf::from("/proc/self/exe"),
            false => std::env::current_exe()?,
        };
        Ok(Self::new(program))
    }

    pub fn new(program: PathBuf) -> Self {
        Self { program, turns: Semaphore::new(MAX_PROCESSES) }
    }
}

#[async_trait]
impl DocumentReader for PdfProcesses {
    async fn pdf_text(&self, bytes: Vec<u8>) -> Result<DocumentText, DocumentError> {
        let unavailable = |why: String| DocumentError::Unavailable(why);
        let turn = self.turns.acquire().await;
        let _turn = turn.map_err(|error| unavailable(error.to_string()))?;
        let child = Command::new(&self.program)
            .arg(COMMAND)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A parser's error message may quote the document.
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        let mut child = child.map_err(|error| unavailable(error.to_string()))?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(unavailable("the process has no pipes".to_owned()));
        };
        let mut text = Vec::new();
        // The process may exit before it has read everything. Its input is closed when this future completes.
        let write = async move {
            let _ = stdin.write_all(&bytes).await;
        };
        let mut output = stdout.take(MAX_TEXT_BYTES as u64 + 1);
        let exchange = async { tokio::join!(write, output.read_to_end(&mut text)) };
        let is_in_time = tokio::time::timeout(TIME_LIMIT, exchange).await.is_ok();
        if let Err(error) = child.kill().await {
            debug!(%error, "a process for a PDF could not be ended");
        }
        debug!(is_in_time, bytes = text.len(), "a PDF was read");
        let Some((&READY, text)) = text.split_first() else {
            return Err(unavailable("the process could not begin to read".to_owned()));
        };
        // Pages before the one that failed count.
        let whole = text.strip_suffix(&[WHOLE]);
        let (text, is_cut) = (whole.unwrap_or(text), whole.is_none());
        let text = String::from_utf8_lossy(text).into_owned();
        match text.trim().is_empty() {
            true => Err(DocumentError::Unreadable),
            false => Ok(DocumentText { text, is_cut }),
        }
    }
}

/// The main function of the process: reads a PDF and prints its text page by page.
pub fn main() -> ExitCode {
    // A panic message of the parser may quote the document.
    std::panic::set_hook(Box::new(|_| {}));
    let mut bytes = Vec::new();
    let is_ready = limit_itself().is_ok()
        && std::io::stdin().read_to_end(&mut bytes).is_ok()
        && say_ready().is_ok();
    match is_ready.then(|| print_pages(&bytes)) {
        Some(Some(())) => ExitCode::SUCCESS,
        Some(None) | None => ExitCode::FAILURE,
    }
}

fn say_ready() -> std::io::Result<()> {
    let mut stdout = std::io::stdout();
    stdout.write_all(&[READY])?;
    stdout.flush()
}

/// Limits this process, so that a document that needs too many resources ends it.
fn limit_itself() -> rustix::io::Result<()> {
    for (resource, most) in [
        (Resource::As, MAX_MEMORY_BYTES),
        (Resource::Cpu, MAX_CPU_SECONDS),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
        (Resource::Nproc, 0),
    ] {
        // The limit may be lower already, and must not be raised.
        let most = Some(getrlimit(resource).maximum.map_or(most, |had| had.min(most)));
        setrlimit(resource, Rlimit { current: most, maximum: most })?;
    }
    Ok(())
}

/// Returns `None` if reading fails midway.
fn print_pages(bytes: &[u8]) -> Option<()> {
    let mut document = Document::load_mem(bytes).ok()?;
    if document.is_encrypted() {
        // Many documents are encrypted with an empty password.
        document.decrypt("").ok()?;
    }
    let mut stdout = std::io::stdout();
    let mut printed = 0;
    let pages: Vec<u32> = document.get_pages().into_keys().collect();
    for page in pages.iter().take(MAX_PAGES) {
        let mut text = String::new();
        output_doc_page(&document, &mut PlainTextOutput::new(&mut text), *page).ok()?;
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).ok()?;
        printed += text.len();
        if printed >= MAX_TEXT_BYTES {
            return Some(());
        }
    }
    if pages.len() <= MAX_PAGES {
        stdout.write_all(&[WHOLE]).and_then(|()| stdout.flush()).ok()?;
    }
    Some(())
}
