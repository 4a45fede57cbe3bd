//! User-written text is shown as text on every page.

use crate::console::harness::{ADMIN, get, set_tokens, slack_workspace};
use crate::slack::harness::SlackHarness;

#[tokio::test]
async fn what_people_write_stays_text() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let hostile = "<script>window.pwned=1</script><img src=x onerror=alert(1)>\"'><b>";
    harness.post_message(&harness.tea, &harness.mio, hostile);
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE '%pwned%'", 1).await;
    let query =
        "q=%3Cscript%3Ewindow.pwned%3D1%3C%2Fscript%3E&person=%22%3E%3Cb%3E&from=%22%3E%3Cb%3E";
    for page in [
        format!("/console/channels/{workspace}/{}", harness.tea),
        format!("/console/channels/{workspace}/{}?{query}", harness.tea),
        format!("/console/channels/{workspace}/{}?q=pwned", harness.tea),
        "/console/channels/%3Cscript%3E/%3Cb%3E".to_owned(),
        "/login?link=%22%3E%3Cscript%3Ewindow.pwned".to_owned(),
    ] {
        let shown = get(&program, Some(ADMIN), &page).await.text().await.unwrap();
        assert!(!shown.contains("<script>window") && !shown.contains("<img"), "{page}: {shown}");
        assert!(!shown.contains("\"><b>"), "{page}: {shown}");
    }
    assert_eq!(program.stop(), Some(0));
}
