//! The command `aizuchi forget`.

use aizuchi_harness::net::free_port;
use aizuchi_harness::postgres;

use crate::command::aizuchi;
use crate::program::Home;

/// No other process may keep in memory what the command deletes: the program that starts next reads what is left.
#[tokio::test]
async fn no_program_beside_the_active_one_forgets_on_a_server() {
    let home = Home::on(free_port(), 1000.0);
    let config = std::fs::read_to_string(home.config()).unwrap();
    let file = format!("sqlite://{}", home.database().display());
    std::fs::write(home.config(), config.replace(&file, &postgres::database())).unwrap();
    let program = home.start_beside().await;
    home.until_ready_is(&program, 200).await;
    program.says("zebedee", "my honey wins prizes").await;
    let mut forget = aizuchi();
    forget.arg("--config").arg(home.config()).args(["forget", "--user", "zebedee"]);
    let refused = forget.assert().code(1);
    let refused = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(refused.contains("another Aizuchi is active"), "{refused}");
    assert_eq!(program.stop(), Some(0));
    forget.assert().success();
}

#[tokio::test]
async fn a_user_is_forgotten_while_no_program_uses_the_database() {
    let home = Home::new(1000.0);
    let forget = || {
        let mut command = aizuchi();
        command.arg("--config").arg(home.config()).args(["forget", "--user", "zebedee"]);
        command
    };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let program = home.start();
    program.says("zebedee", "my honey wins prizes").await;
    program.says("zebedee", "every single year").await;
    // While a program uses the database, the command refuses.
    let refused = forget().assert().code(1);
    let refused = text(&refused.get_output().stderr);
    assert!(refused.contains("another Aizuchi is running"), "{refused}");
    assert_eq!(program.stop(), Some(0));
    let done = forget().assert().success();
    let done = text(&done.get_output().stdout);
    assert!(done.contains("2 messages, 0 messages of the companion"), "{done}");
    let again = forget().assert().code(1);
    let again = text(&again.get_output().stderr);
    assert!(again.contains("there is no user with the id or name"), "{again}");
}
