//! The local room in a real browser: with a mouse, a keyboard, an input method, and on a phone.

pub mod accessibility;
mod backfill;
mod channels;
mod chat;
mod composition;
mod console;
mod demo;
mod files;
mod forms;
mod history;
mod home;
mod hostile;
mod keyboard;
mod languages;
mod long_history;
mod lost_answers;
mod many_rows;
mod messages;
mod models;
mod modes;
pub mod narrow;
pub mod operator;
mod process;
mod reactions;
mod signed_out;
mod stand_in;
mod tab;
mod threads;

use fantoccini::Client;

use crate::browser::process::{BrowserKind, BrowserProcess, Pointer};
use crate::browser::tab::Tab;
use crate::program::Program;

/// A browser for one test. Other tests may have used it before.
pub struct Browser {
    client: Client,
    kind: BrowserKind,
    process: BrowserProcess,
}

impl Browser {
    /// A browser with a wide window and a mouse, in English.
    pub async fn start() -> Self {
        Self::start_with(Pointer::Mouse, "en-US").await
    }

    /// A browser in another language.
    async fn start_in(language: &str) -> Self {
        Self::start_with(Pointer::Mouse, language).await
    }

    /// A browser with a touch screen.
    pub async fn start_touched() -> Self {
        Self::start_touched_in("en-US").await
    }

    async fn start_touched_in(language: &str) -> Self {
        Self::start_with(Pointer::Touch, language).await
    }

    /// A browser for tests that only load and query pages. It draws no frames, which saves a third of a browser's
    /// processor time, so whatever waits for a frame never happens: clicks that scroll, animations.
    async fn start_undrawn_in(language: &str) -> Self {
        Self::take(BrowserKind {
            pointer: Pointer::Mouse,
            language: language.to_owned(),
            is_drawn: false,
        })
        .await
    }

    async fn start_with(pointer: Pointer, language: &str) -> Self {
        Self::take(BrowserKind { pointer, language: language.to_owned(), is_drawn: true }).await
    }

    async fn take(kind: BrowserKind) -> Self {
        let process = BrowserProcess::take(&kind).await;
        Self { client: process.client.clone(), kind, process }
    }

    /// Opens an empty tab.
    pub async fn blank(&self) -> Tab {
        Tab::open(&self.client).await
    }

    /// Opens a tab with the local room, in which a user has entered this name.
    async fn tab(&self, program: &Program, name: &str) -> Tab {
        let tab = self.blank().await;
        tab.enter(program, name).await;
        tab
    }

    /// Releases the browser for the next test. A test that fails does not get here, which ends the browser.
    pub async fn close(self) {
        self.process.release(self.kind).await;
    }
}
