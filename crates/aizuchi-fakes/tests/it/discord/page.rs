//! Tests of the web page.

use serde_json::{Value, json};

use super::Harness;

#[tokio::test]
async fn the_page_sends_edits_and_deletes_messages() {
    let harness = Harness::new().await;
    let (tea, mio) = (harness.tea, harness.mio);
    let url = |path: String| format!("http://{}{path}", harness.address);
    let submit = async |verb: &str, text: &str, message: &str| {
        let form = [
            ("user", mio.to_string()),
            ("channel", tea.to_string()),
            ("text", text.to_owned()),
            ("line", message.to_owned()),
        ];
        let response = harness.http.post(url(format!("/page/{verb}"))).form(&form).send().await;
        response.unwrap().text().await.unwrap()
    };
    submit("say", "@Aizuchi <b>tea?</b>", "").await;
    let message = harness.discord.messages(tea).unwrap().remove(0);
    assert_eq!(message.content, format!("<@{}> <b>tea?</b>", harness.bot));
    submit("react", "", &message.id.to_string()).await;
    let view = harness.http.get(url(format!("/page/view?user={mio}&channel={tea}"))).send().await;
    let view: Value = view.unwrap().json().await.unwrap();
    let shown = &view["view"]["messages"][0];
    assert_eq!(shown["source"], "@Aizuchi <b>tea?</b>");
    let reaction = json!({ "emoji": "👍", "users": ["Mio"], "is_own": true });
    assert_eq!(shown["reactions"], json!([reaction]));
    submit("edit", "coffee?", &message.id.to_string()).await;
    assert_eq!(harness.discord.texts(tea).unwrap(), ["coffee?"]);
    submit("delete", "", &message.id.to_string()).await;
    assert_eq!(harness.discord.texts(tea).unwrap().len(), 0);
    let page = submit("say", "/dance", "").await;
    assert!(page.contains("Unknown application command (10063)"), "{page}");
    let command = json!({ "name": "aizuchi", "options": [{ "name": "mode", "type": 1, "options": [{ "name": "to", "type": 3 }] }] });
    harness.discord.change(|state| state.world.register_command(None, &command));
    submit("say", "/aizuchi mode quiet", "").await;
    let interaction_count = harness.discord.read(|state| state.world.commands.interactions.len());
    assert_eq!(interaction_count, 1);
    let japanese =
        harness.http.get(url("/".to_owned())).header("accept-language", "ja").send().await;
    assert!(japanese.unwrap().text().await.unwrap().contains("Discord の模擬環境"));
}
