//! The options of `aizuchi run`, and the help of the command line.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use aizuchi_harness::net::free_port;

use crate::command::aizuchi;
use crate::program::Home;

#[tokio::test]
async fn the_port_of_the_command_line_outranks_the_config() {
    let home = Home::on(free_port(), 1000.0);
    let port = free_port().to_string();
    let program = home.start_with(&["--port", &port], &[]);
    assert_eq!(program.address, format!("http://127.0.0.1:{port}"));
    assert_eq!(program.request("/live").await.status(), 200);
    assert_eq!(program.stop(), Some(0));
    // The option may come before or after the command.
    let program = home.start_with(&["run", "--port", &port], &[]);
    assert_eq!(program.address, format!("http://127.0.0.1:{port}"));
}

#[test]
fn options_of_run_are_refused_elsewhere() {
    let home = Home::new(1000.0);
    home.add("health_check: {port: 4321}\n");
    for (arguments, sentence) in [
        (&["--port", "4321"][..], "--port 4321 is the port of health_check.port"),
        (
            &["--open", "check"],
            "--port and --open work only with run, and --language only with run and why",
        ),
        (&["--port", "4321", "why", "x"], "--port and --open work only with run"),
        (
            &["--model", "builtin", "why", "x"],
            "--model works only with run, check, prompt, replay, eval and demo",
        ),
    ] {
        let mut command = aizuchi();
        let run = command.arg("--config").arg(home.config()).args(arguments).assert().code(1);
        let stderr = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
        assert!(stderr.contains(sentence), "{arguments:?}: {stderr}");
    }
    aizuchi().args(["run", "--language", "fr"]).assert().code(2);
}

/// The browser is a script that records the URL to open.
#[tokio::test]
async fn the_page_is_opened_in_a_browser() {
    let home = Home::new(1000.0);
    let (tools, opened) = (home.path().join("tools"), home.path().join("opened"));
    std::fs::create_dir(&tools).unwrap();
    for name in ["xdg-open", "open"] {
        let script =
            format!("#!/bin/sh\necho \"$1\" > {0}.new && mv {0}.new {0}\n", opened.display());
        std::fs::write(tools.join(name), script).unwrap();
        std::fs::set_permissions(tools.join(name), PermissionsExt::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let program = home.start_with(&["--open"], &[("PATH", &path)]);
    let is_opened = async {
        while !opened.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), is_opened).await.unwrap();
    let address = std::fs::read_to_string(opened).unwrap();
    assert_eq!(address.trim(), program.address);
}

fn printed(arguments: &[&str]) -> String {
    let run = aizuchi().args(arguments).assert().code(0);
    String::from_utf8(run.get_output().stdout.clone()).unwrap()
}

#[test]
fn the_help_is_grouped_by_what_people_do() {
    let help = printed(&["--help"]);
    let mut last = 0;
    for part in [
        "Usage: aizuchi",
        "Run it:\n  run ",
        "Look inside:\n  status ",
        "Try before:\n",
        "Move in and out:\n",
        "Set up:\n  config ",
        "Develop:\n  dev ",
        "Options:\n",
        "--port <N>",
    ] {
        let place = help.find(part).unwrap_or_else(|| panic!("{part:?} is missing in\n{help}"));
        assert!(place >= last, "{part:?} comes too early in\n{help}");
        last = place;
    }
    for line in printed(&["-h"]).lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn shells_and_man_get_what_they_need() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&["completions", shell]);
        assert!(script.contains("aizuchi") && script.contains("replay"), "{shell}: {script}");
    }
    let page = printed(&["man"]);
    assert!(page.contains(".TH aizuchi 1") && page.contains("AIZUCHI_CONFIG"), "{page}");
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("pages");
    printed(&["man", "--dir", pages.to_str().unwrap()]);
    for name in ["aizuchi.1", "aizuchi-why.1", "aizuchi-config-schema.1"] {
        assert!(std::fs::read_to_string(pages.join(name)).unwrap().contains(".TH"), "{name}");
    }
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let run = aizuchi().args(["man", "--dir"]).arg(&file).assert().code(1);
    let stderr = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(stderr.contains("cannot write the manual pages to"), "{stderr}");
}
