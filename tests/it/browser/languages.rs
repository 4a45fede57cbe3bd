//! The page in the browser's language, the chat in the config's language.

use serde_json::json;

use crate::browser::Browser;
use crate::program::Home;

/// The texts of the page in one language.
struct Texts {
    tag: &'static str,
    name_question: &'static str,
    name_save: &'static str,
    placeholder: &'static str,
    remark: &'static str,
    silence: &'static str,
    kept: &'static str,
    question: &'static str,
    speech: &'static str,
    answer: &'static str,
    details: &'static str,
    outcome: &'static str,
    refusal: &'static str,
}

#[tokio::test]
async fn the_page_is_english() {
    check_texts(Texts {
        tag: "en",
        name_question: "What name do you want to use?",
        name_save: "Use this name",
        placeholder: "Write a message",
        remark: "my lunch was good",
        silence: "stayed silent: nobody asked the room anything",
        kept: "@Aizuchi remember that the ladder is in the shed",
        question: "where is the ladder?",
        speech: "spoke: hana asked the room something and nobody has answered",
        answer: "hana, this might help",
        details: "details",
        outcome: "Aizuchi spoke.",
        refusal: "there is a channel \"general\" already",
    })
    .await;
}

#[tokio::test]
async fn the_page_is_japanese() {
    check_texts(Texts {
        tag: "ja",
        name_question: "名前を入力してください",
        name_save: "この名前で話す",
        placeholder: "メッセージを入力",
        remark: "私のお昼はおいしかったです",
        silence: "黙っていました：返事を待っている人はいないようでした",
        kept: "@Aizuchi 脚立は倉庫の中だと覚えておいて",
        question: "脚立はどこですか？",
        speech: "話した理由：hana さんの質問に、誰も答えていませんでした",
        answer: "hana さん、ご参考までに",
        details: "詳しく",
        outcome: "Aizuchi は発言しました。",
        refusal: "general",
    })
    .await;
}

#[tokio::test]
async fn a_visitor_signs_in_and_out_in_both_languages() {
    const TOKEN: &str = "9f86d081884c7d65";
    for (language, wrong, sign_out) in
        [("en", "That token is wrong.", "Sign out"), ("ja", "トークンが違います。", "ログアウト")]
    {
        let browser = Browser::start_in(language).await;
        let home = Home::new(1000.0);
        let config = std::fs::read_to_string(home.config()).unwrap();
        let config = config.replace("http:\n", &format!("http:\n  token: {TOKEN}\n"));
        std::fs::write(home.config(), config).unwrap();
        let program = home.start();
        let tab = browser.blank().await;
        tab.open_page(&program.address).await;
        tab.type_in("token", "a guess").await;
        tab.click("enter").await;
        tab.expect_result(&text_of("[role=alert]"), json!(wrong)).await;
        tab.type_in("token", TOKEN).await;
        tab.click("enter").await;
        tab.enter_name("hana").await;
        let button = "[data-testid=sign-out]";
        tab.expect_result(&text_of(button), json!(sign_out)).await;
        tab.click("sign-out").await;
        tab.find("token").await;
        tab.open_page(&program.address).await;
        tab.find("token").await;
        browser.close().await;
    }
}

#[tokio::test]
async fn the_page_is_in_the_reader_s_language_whatever_the_chat_s() {
    let home = Home::new(0.1);
    home.add("language: ja\n");
    let program = home.start();
    let browser = Browser::start().await;
    let ken = browser.blank().await;
    ken.enter(&program, "健").await;
    ken.expect_result("return document.documentElement.lang", json!("en")).await;
    program.says("美咲", "@Aizuchi 脚立は倉庫の中だと覚えておいて").await;
    ken.expect_messages(&["", "美咲さん"]).await;
    ken.post("脚立はどこですか？").await;
    // The persona's posts and reasons are in the chat's language, and a Japanese name is set without spaces.
    ken.expect_messages(&["", "", "", "健さん、ご参考までに"]).await;
    ken.expect_messages(&["", "", "", "spoke: 健さんの質問に、誰も答えていませんでした"]).await;
    // The server's errors are in the page's language.
    ken.click("channel-add").await;
    ken.type_in("add-input", "general").await;
    ken.click("add-save").await;
    let refusal = json!("there is a channel \"general\" already");
    ken.expect_result(&text_of("[data-testid=add-error]"), refusal).await;
    browser.close().await;
}

async fn check_texts(texts: Texts) {
    let home = Home::new(0.1);
    home.add(&format!("language: {}\n", texts.tag));
    let program = home.start();
    let browser = Browser::start_in(texts.tag).await;
    let hana = browser.blank().await;

    hana.open_page(&program.address).await;
    hana.expect_result("return document.documentElement.lang", json!(texts.tag)).await;
    hana.expect_result(&text_of("#name-question"), json!(texts.name_question)).await;
    hana.expect_result(&text_of("[data-testid=name-save]"), json!(texts.name_save)).await;
    let placeholder = "return document.querySelector('[data-testid=composer]').placeholder";
    hana.expect_result(placeholder, json!(texts.placeholder)).await;
    // No fixed text is empty or in the other language.
    let strangers = "const isJapanese = (text) => /[ぁ-んァ-ヶ一-龠]/.test(text);
        const said = [...document.querySelectorAll('[data-text], [data-label]')]
            .map((element) => element.dataset.text ? element.textContent : element.ariaLabel);
        return said.filter((text) => isJapanese(text) !== (document.documentElement.lang === 'ja'))";
    hana.expect_result(strangers, json!([])).await;

    hana.enter(&program, "hana").await;
    hana.post(texts.remark).await;
    hana.expect_messages(&[texts.silence]).await;
    program.says("mia", texts.kept).await;
    hana.expect_messages(&["", texts.kept, "mia"]).await;
    hana.post(texts.question).await;
    hana.expect_messages(&[texts.remark, "", "", texts.question, texts.answer]).await;
    hana.expect_messages(&["", "", "", "", texts.speech]).await;
    let link = "[data-testid=spoke] [data-testid=decision-link]";
    hana.expect_result(&text_of(link), json!(texts.details)).await;

    hana.click("channel-add").await;
    hana.type_in("add-input", "general").await;
    hana.click("add-save").await;
    let refusal = "[data-testid=add-error]";
    let is_refused = format!(
        "return document.querySelector('{refusal}').textContent.includes({})",
        json!(texts.refusal)
    );
    hana.expect_result(&is_refused, json!(true)).await;
    hana.click("add-cancel").await;

    hana.click_on_message(texts.answer, "decision-link").await;
    hana.expect_result(&text_of("[data-testid=outcome]"), json!(texts.outcome)).await;
    hana.expect_result("return document.documentElement.lang", json!(texts.tag)).await;
    browser.close().await;
}

fn text_of(selector: &str) -> String {
    format!("return document.querySelector('{selector}')?.textContent.replace(/\\s+/g, ' ').trim()")
}
