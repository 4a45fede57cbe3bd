//! `aizuchi forget`: who may be forgotten, and what it says.

use crate::command::aizuchi;
use crate::program::Home;

#[tokio::test]
async fn a_person_is_forgotten_once_nobody_runs_on_the_database() {
    let home = Home::new(1000.0);
    let forget = || {
        let mut program = aizuchi();
        program.arg("--config").arg(home.config()).args(["forget", "--user", "zebedee"]);
        program
    };
    let said = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let room = home.start();
    room.says("zebedee", "my honey wins prizes").await;
    room.says("zebedee", "every single year").await;
    // While somebody runs on it, it says so.
    let refused = forget().assert().code(1);
    let refused = said(&refused.get_output().stderr);
    assert!(refused.contains("another Aizuchi is running"), "{refused}");
    assert_eq!(room.stop(), Some(0));
    let done = forget().assert().success();
    let done = said(&done.get_output().stdout);
    assert!(done.contains("2 lines, 0 lines of my own"), "{done}");
    let again = forget().assert().code(1);
    let again = said(&again.get_output().stderr);
    assert!(again.contains("nobody is known by the id or name"), "{again}");
}
