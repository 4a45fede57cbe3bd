//! Everything people see, in the language of the config.

use serde_json::json;

use crate::browser::Browser;
use crate::program::Home;

/// What stands where, in one language.
struct Words {
    tag: &'static str,
    name_question: &'static str,
    name_save: &'static str,
    placeholder: &'static str,
    remark: &'static str,
    silence: &'static str,
    question: &'static str,
    speech: &'static str,
    answer: &'static str,
    details: &'static str,
    outcome: &'static str,
    refusal: &'static str,
}

#[tokio::test]
async fn the_room_is_english() {
    speaks(Words {
        tag: "en",
        name_question: "Under which name do you speak?",
        name_save: "Speak under this name",
        placeholder: "Write a message",
        remark: "lunch was good",
        silence: "stayed silent: nobody asked the room anything",
        question: "where is the ladder?",
        speech: "spoke: hana asked the room something and nobody has answered",
        answer: "hana’s question is still open",
        details: "details",
        outcome: "spoke — hana asked the room something and nobody has answered",
        refusal: "there is a channel \"general\" already",
    })
    .await;
}

#[tokio::test]
async fn the_room_is_japanese() {
    speaks(Words {
        tag: "ja",
        name_question: "どの名前で話しますか？",
        name_save: "この名前で話す",
        placeholder: "発言を書く",
        remark: "お昼はおいしかったです",
        silence: "黙っていました: みんなへの質問はありませんでした",
        question: "脚立はどこですか？",
        speech: "話した理由: hana さんの質問に、まだ誰も答えていません",
        answer: "hana さんの質問がまだ残っています",
        details: "詳しく",
        outcome: "発言しました — hana さんの質問に、まだ誰も答えていません",
        refusal: "general",
    })
    .await;
}

async fn speaks(words: Words) {
    let home = Home::new(0.1);
    home.add(&format!("language: {}\n", words.tag));
    let room = home.start();
    let browser = Browser::start().await;
    let hana = browser.blank().await;

    hana.opens(&room.address).await;
    hana.reads("return document.documentElement.lang", json!(words.tag)).await;
    hana.reads(&text_of("#name-question"), json!(words.name_question)).await;
    hana.reads(&text_of("[data-testid=name-save]"), json!(words.name_save)).await;
    let placeholder = "return document.querySelector('[data-testid=composer]').placeholder";
    hana.reads(placeholder, json!(words.placeholder)).await;
    // None of the fixed texts is left in the other language, and none is empty.
    let strangers = "const isJapanese = (text) => /[ぁ-んァ-ヶ一-龠]/.test(text);
        const said = [...document.querySelectorAll('[data-text], [data-label]')]
            .map((element) => element.dataset.text ? element.textContent : element.ariaLabel);
        return said.filter((text) => isJapanese(text) !== (document.documentElement.lang === 'ja'))";
    hana.reads(strangers, json!([])).await;

    hana.enters(&room, "hana").await;
    hana.says(words.remark).await;
    hana.sees(&[words.silence]).await;
    hana.says(words.question).await;
    hana.sees(&[words.remark, words.question, words.answer]).await;
    hana.sees(&["", "", words.speech]).await;
    let link = "[data-testid=spoke] [data-testid=decision-link]";
    hana.reads(&text_of(link), json!(words.details)).await;

    hana.clicks("channel-add").await;
    hana.writes_in("add-input", "general").await;
    hana.clicks("add-save").await;
    let refusal = "[data-testid=add-error]";
    let is_refused = format!(
        "return document.querySelector('{refusal}').textContent.includes({})",
        json!(words.refusal)
    );
    hana.reads(&is_refused, json!(true)).await;
    hana.clicks("add-cancel").await;

    hana.clicks_on_line(words.answer, "decision-link").await;
    hana.reads(&text_of("[data-testid=outcome]"), json!(words.outcome)).await;
    hana.reads("return document.documentElement.lang", json!(words.tag)).await;
    browser.close().await;
}

fn text_of(selector: &str) -> String {
    format!("return document.querySelector('{selector}')?.textContent.replace(/\\s+/g, ' ').trim()")
}
