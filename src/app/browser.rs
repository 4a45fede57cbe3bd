//! Opens a page in the default browser.

use std::process::{Child, Command, Stdio};
use std::thread;

use tracing::warn;

/// Opens a page without waiting for the browser: one in the terminal may stay open for long.
pub fn open(address: String) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(&address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let opened = command.spawn();
    // A child that nobody waits for would stay a zombie.
    thread::spawn(move || {
        let status = opened.and_then(|mut child: Child| child.wait());
        if !status.is_ok_and(|status| status.success()) {
            warn!(address, "opening a browser failed; open the page by hand");
        }
    });
}
