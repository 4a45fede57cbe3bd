//! The page, for people without a server.

use serde_json::json;

use super::Stage;

#[tokio::test]
async fn people_talk_on_the_page() {
    let stage = Stage::new().await;
    let (tea, mio) = (stage.tea, stage.mio);
    let page = |path: String| format!("http://{}{path}", stage.address);
    let fill = async |verb: &str, text: &str, line: &str| {
        let form = [
            ("user", mio.to_string()),
            ("channel", tea.to_string()),
            ("text", text.to_owned()),
            ("line", line.to_owned()),
        ];
        let answer = stage.http.post(page(format!("/page/{verb}"))).form(&form).send().await;
        answer.unwrap().text().await.unwrap()
    };
    fill("say", "@Aizuchi <b>tea?</b>", "").await;
    let said = stage.discord.messages(tea).unwrap().remove(0);
    assert_eq!(said.content, format!("<@{}> <b>tea?</b>", stage.bot));
    fill("react", "", &said.id.to_string()).await;
    let lines = stage.http.get(page(format!("/lines?user={mio}&channel={tea}"))).send().await;
    let lines = lines.unwrap().text().await.unwrap();
    assert!(lines.contains("@Aizuchi &#60;b&#62;tea?"), "{lines}");
    assert!(lines.contains("👍 1"), "{lines}");
    fill("edit", "coffee?", &said.id.to_string()).await;
    assert_eq!(stage.discord.texts(tea).unwrap(), ["coffee?"]);
    fill("delete", "", &said.id.to_string()).await;
    assert_eq!(stage.discord.texts(tea).unwrap().len(), 0);
    let refused = fill("say", "/dance", "").await;
    assert!(refused.contains("Unknown application command (10063)"), "{refused}");
    let command = json!({ "name": "aizuchi", "options": [{ "name": "mode", "type": 1, "options": [{ "name": "to", "type": 3 }] }] });
    stage.discord.change(|state| state.world.register_command(None, &command));
    fill("say", "/aizuchi mode quiet", "").await;
    let used = stage.discord.read(|state| state.world.commands.interactions.len());
    assert_eq!(used, 1);
    let japanese =
        stage.http.get(page("/".to_owned())).header("accept-language", "ja").send().await;
    assert!(japanese.unwrap().text().await.unwrap().contains("Discord もどき"));
}
