//! A channel's keeper posts another text, through a Discord form.

use aizuchi_fakes::discord::FakeDiscord;
use aizuchi_fakes::discord::id::InteractionId;
use serde_json::{Value, json};

use crate::discord::harness::{DiscordHarness, Setting};

const VERDICT: &str = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9, "delay_seconds": 0}"#;

/// Returns a harness with ren as the keeper of the public channel.
async fn kept(more: &'static str) -> DiscordHarness {
    let setting = Setting { wait: 0.2, more, ..Setting::default() };
    let harness = DiscordHarness::with(setting).await;
    let keeper = harness.ren;
    harness.home.add(&format!("channels:\n  \"#tea\": {{mode: propose, keeper: \"@{keeper}\"}}\n"));
    harness
}

/// Returns the program's responses to an interaction.
fn told(discord: &FakeDiscord, interaction: InteractionId) -> Vec<String> {
    let responses = discord.interaction(interaction).map(|it| it.responses).unwrap_or_default();
    responses.into_iter().map(|response| response.message.content).collect()
}

/// Returns the title of a form, and the value of its field.
fn shown(form: &Value) -> (Value, Value) {
    (form["title"].clone(), form["components"][0]["components"][0]["value"].clone())
}

#[tokio::test]
async fn a_keeper_says_it_in_other_words() {
    let harness = kept("").await;
    let (mio, keeper) = (harness.mio, harness.ren);
    let program = harness.start().await;
    harness.will_say(&[VERDICT, "By the gate."]);
    harness.says(harness.tea, mio, "does anyone know where the ladder is?");
    let asked = harness.posts(1).await.remove(0);
    let direct = harness.discord.open_direct_message(keeper).unwrap();
    // Other users do not get the form.
    let refused = harness.discord.click(direct, asked.id, mio, "Edit").unwrap();
    let not_keeper = ["You don’t look after that channel."];
    harness.until(|discord| told(discord, refused) == not_keeper).await;
    assert_eq!(harness.discord.form(refused), None);
    let clicked = harness.discord.click(direct, asked.id, keeper, "Edit").unwrap();
    harness.until(|discord| discord.form(clicked).is_some()).await;
    let form = harness.discord.form(clicked).unwrap();
    assert_eq!(shown(&form), (json!("Say it in other words"), json!("By the gate.")));
    let blank = harness.discord.submit_form(clicked, " ").unwrap();
    harness.until(|discord| told(discord, blank) == ["There are no words to post."]).await;
    let words = "By the old gate, @everyone: https://shed.example/ladder";
    harness.discord.submit_form(clicked, words).unwrap();
    let posts = harness.posts(2).await;
    // The keeper's own link stays. The harness checks that no post mentions everyone.
    assert_eq!(
        (posts[1].channel, posts[1].text.contains("https://shed.example/ladder")),
        (harness.tea, true)
    );
    assert!(posts[1].text.starts_with("By the old gate"), "{}", posts[1].text);
    // A form may be sent twice.
    let again = harness.discord.submit_form(clicked, words).unwrap();
    let decided = ["Somebody has already decided about this."];
    harness.until(|discord| told(discord, again) == decided).await;
    let settled = ["In #tea: said in other words."];
    harness.until(|discord| discord.texts(direct).unwrap() == settled).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    let original = "SELECT count(*) FROM outbox WHERE state = 'original' AND text = 'By the gate.'";
    assert_eq!(harness.count(original).await, 1);
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.discord.posts().len(), 2);
}

#[tokio::test]
async fn an_edit_that_comes_too_late_says_so_in_japanese() {
    let harness = kept("language: ja\n").await;
    let (mio, keeper) = (harness.mio, harness.ren);
    let program = harness.start().await;
    harness.will_say(&[VERDICT, "門のそばです。"]);
    let question = harness.says(harness.tea, mio, "はしごがどこか知っている人はいますか？");
    let asked = harness.posts(1).await.remove(0);
    let direct = harness.discord.open_direct_message(keeper).unwrap();
    let clicked = harness.discord.click(direct, asked.id, keeper, "文を変える").unwrap();
    harness.until(|discord| discord.form(clicked).is_some()).await;
    let form = harness.discord.form(clicked).unwrap();
    assert_eq!(shown(&form), (json!("文を変えて話す"), json!("門のそばです。")));
    // The author deletes the question while the form is open.
    harness.discord.delete_message(harness.tea, question).unwrap();
    let lapsed = ["#tea の件は「期限切れ」となりました。"];
    harness.until(|discord| discord.texts(direct).unwrap() == lapsed).await;
    let late = harness.discord.submit_form(clicked, "古い門のそばです。").unwrap();
    let too_late = ["もう間に合いません。話すタイミングを過ぎました。"];
    harness.until(|discord| told(discord, late) == too_late).await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.discord.posts().len(), 1);
}
