//! A backup is restored after more messages were answered.

use aizuchi_harness::providers::ProviderResponse;

use crate::discord::harness::DiscordHarness;

const OWED: &str = "SELECT count(*) FROM owed WHERE closed_ms IS NULL";
const ANSWERED: &str =
    "SELECT count(*) FROM decisions WHERE ended = 'dropped' AND why LIKE '%history shows%'";

/// One answer was in progress when the backup was made, the other question was asked after it.
#[tokio::test]
async fn answers_that_the_backup_has_not_seen_are_not_given_again() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    harness.model.then([ProviderResponse::Held("On the hook by the door.".to_owned())]);
    harness.asks(harness.tea, harness.mio, "where is the key?");
    harness.model.came(1).await;
    let file = harness.home.path().join("backup.db");
    let run = |arguments: &[&str]| {
        let mut command = crate::command::aizuchi();
        command.arg("--config").arg(harness.config()).args(arguments).assert().success();
    };
    run(&["backup", file.to_str().unwrap()]);
    harness.model.release();
    harness.posts(1).await;
    harness.asks(harness.attic, harness.ren, "and the lamp?");
    harness.posts(2).await;
    harness.until_kept(OWED, 0).await;
    assert_eq!(program.stop(), Some(0));
    run(&["restore", file.to_str().unwrap(), "--replace"]);
    assert_eq!(harness.count(OWED).await, 1);
    let program = harness.start().await;
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE '%the lamp%'", 1).await;
    harness.until_kept(OWED, 0).await;
    assert_eq!(harness.count(ANSWERED).await, 2, "{}", harness.log());
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.discord.posts().len(), 2);
}
