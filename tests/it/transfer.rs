//! The commands `aizuchi backup`, `restore` and `migrate`.

use std::process::Stdio;
use std::time::{Duration, Instant};

use aizuchi_harness::postgres;
use assert_cmd::Command;

use crate::command::aizuchi;
use crate::program::Home;

fn on(home: &Home, arguments: &[&str]) -> Command {
    let mut command = aizuchi();
    command.arg("--config").arg(home.config()).args(arguments);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn refusal(mut command: Command) -> String {
    text(&command.assert().code(1).get_output().stderr)
}

fn success(mut command: Command) -> String {
    text(&command.assert().success().get_output().stdout)
}

#[tokio::test]
async fn a_backup_is_made_beside_the_program_and_restored_after_it() {
    let home = Home::new(1000.0);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("aizuchi.bak");
    let file = file.to_str().unwrap();
    let program = home.start();
    program.says("alice", "the pump key hangs behind the green door").await;
    let done = success(on(&home, &["backup", file]));
    assert!(done.contains("holds 2 messages") || done.contains("holds 1 message"), "{done}");
    assert!(refusal(on(&home, &["backup", file])).contains("exists already; name a new file"));
    program.says("alice", "and it is painted red").await;
    let refused = refusal(on(&home, &["restore", file, "--replace"]));
    assert!(refused.contains("another Aizuchi is running"), "{refused}");
    assert_eq!(program.stop(), Some(0));
    let refused = refusal(on(&home, &["restore", file]));
    assert!(refused.contains("--replace replaces it"), "{refused}");
    let done = success(on(&home, &["restore", file, "--replace"]));
    assert!(done.contains("what was there before is"), "{done}");
    let found = success(on(&home, &["search", "painted"]));
    assert!(!found.contains("red"), "{found}");
    let program = home.start();
    let found = success(on(&home, &["search", "pump"]));
    assert!(found.contains("green door"), "{found}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn everything_moves_to_a_server_and_the_old_file_refuses_to_be_used() {
    let home = Home::new(1000.0);
    let program = home.start();
    program.says("alice", "the pump key hangs behind the green door").await;
    assert_eq!(program.stop(), Some(0));
    let url = postgres::database();
    let wrong = on(&home, &["migrate", "--to", "mysql://somewhere"]).assert().code(2);
    assert!(text(&wrong.get_output().stderr).contains("it must be like sqlite://"));
    let done = success(on(&home, &["migrate", "--to", &url]));
    assert!(done.contains("now point storage.url to the new location"), "{done}");
    let again = success(on(&home, &["migrate", "--to", &url]));
    assert!(again.contains("as an earlier call had left it"), "{again}");
    let refused = refusal(on(&home, &["run"]));
    assert!(refused.contains("was moved to postgres://"), "{refused}");
    let refused = refusal(on(&home, &["search", "pump"]));
    assert!(refused.contains("was moved to postgres://"), "{refused}");
}

#[tokio::test]
async fn a_relative_place_is_in_the_configs_folder_wherever_the_command_is_run() {
    let home = Home::new(1000.0);
    let program = home.start();
    program.says("alice", "the pump key hangs behind the green door").await;
    assert_eq!(program.stop(), Some(0));
    let elsewhere = tempfile::tempdir().unwrap();
    let mut migrate = on(&home, &["migrate", "--to", "sqlite://moved/here.db"]);
    migrate.current_dir(elsewhere.path());
    let done = success(migrate);
    let moved = home.config().parent().unwrap().join("moved/here.db");
    assert!(done.contains(moved.to_str().unwrap()) && moved.is_file(), "{done}");
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_move_that_is_killed_at_any_time_is_run_again() {
    let home = Home::new(1000.0);
    let program = home.start();
    for number in 0..40 {
        program.says("alice", &format!("the pump number {number} drips")).await;
    }
    assert_eq!(program.stop(), Some(0));
    let url = postgres::database();
    let mut killed = 0;
    for round in 0..10 {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_aizuchi"));
        command.arg("--config").arg(home.config()).args(["migrate", "--to", &url]);
        let mut migrate = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // A little later each time.
        let until = Instant::now() + Duration::from_millis(60 * round);
        while Instant::now() < until && migrate.try_wait().unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        migrate.kill().unwrap();
        killed += usize::from(!migrate.wait().unwrap().success());
    }
    assert!(killed > 0);
    success(on(&home, &["migrate", "--to", &url]));
    let config = std::fs::read_to_string(home.config()).unwrap();
    let file = format!("sqlite://{}", home.database().display());
    assert!(config.contains(&file), "{config}");
    let refused = refusal(on(&home, &["run"]));
    assert!(refused.contains("was moved to postgres://"), "{refused}");
    std::fs::write(home.config(), config.replace(&file, &url)).unwrap();
    let program = home.start();
    let found = success(on(&home, &["search", "number 39"]));
    assert!(found.contains("the pump number 39 drips"), "{found}");
    let heard = program.messages().await.into_iter();
    let heard = heard.filter(|message| message["text"].as_str().unwrap().contains("drips"));
    assert_eq!(heard.count(), 40);
    assert_eq!(program.stop(), Some(0));
}
