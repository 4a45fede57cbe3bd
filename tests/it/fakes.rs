//! The command `aizuchi dev`, which serves a fake platform.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use aizuchi_harness::net::http;
use serde_json::Value;

#[tokio::test]
async fn the_program_serves_a_fake_until_it_is_stopped() {
    for platform in ["slack", "discord"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_aizuchi"))
            .args(["dev", platform, "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let base = first.trim().rsplit(' ').next().unwrap();
        let answer = http().get(format!("{base}/control/state")).send().await.unwrap();
        let state: Value = answer.json().await.unwrap();
        let names = state["channels"].as_array().unwrap().iter().map(|channel| &channel["name"]);
        assert!(names.clone().any(|name| name == "general"), "{:?}", names.collect::<Vec<_>>());
        Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}
