//! The console and the API show a backup that another process made while the program runs.

use crate::command::aizuchi;
use crate::console::harness::get_in;
use crate::program::Home;

#[tokio::test]
async fn a_backup_beside_the_program_is_told_of() {
    let home = Home::new(1000.0);
    let program = home.start();
    let last = async || program.get("/api/health").await["last_backup"].clone();
    assert!(last().await.is_null());
    let queue = async |language: &str| {
        let page = get_in(&program, None, "/console/queue", language).await;
        page.text().await.unwrap()
    };
    for (language, none) in [("en", "<dd>none known</dd>"), ("ja", "<dd>記録なし</dd>")] {
        let page = queue(language).await;
        assert!(page.contains(none), "{page}");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut backup = aizuchi();
    backup.arg("--config").arg(home.config()).arg("backup").arg(folder.path().join("room.bak"));
    backup.assert().success();
    let told = last().await.as_f64().unwrap();
    let now = jiff::Timestamp::now().as_second() as f64;
    assert!((now - 600.0..=now + 1.0).contains(&told), "{told}");
    let page = queue("en").await;
    assert!(!page.contains("none known") && page.contains("none is scheduled"), "{page}");
    assert_eq!(program.stop(), Some(0));
}
