//! The settings of threads on the page of their channel: setting, listing and removing them; and the display of unset
//! settings.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::console::harness::{client, encode, get, get_in};
use crate::program::{Home, Program};

const PAGE: &str = "/console/channels/local/general";

/// Posts a message, and a reply in its thread. Returns the thread.
async fn thread(program: &Program) -> String {
    let parent = program.says("alice", "where is the <spade>?").await;
    let body =
        json!({ "channel": "general", "thread": parent, "user": "bob", "text": "in the shed" });
    let (status, answer) = program.post(&body).await;
    assert_eq!(status, 201, "{answer}");
    parent
}

async fn submit(program: &Program, fields: &[(&str, &str)]) -> StatusCode {
    let fields = fields.iter().map(|(name, value)| format!("{name}={}", encode(value)));
    let form = client().post(format!("{}/console/orders", program.address));
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let place = ["workspace=local".to_owned(), "channel=general".to_owned()];
    let body: Vec<String> = place.into_iter().chain(fields).collect();
    form.body(body.join("&")).send().await.unwrap().status()
}

async fn memory_in(program: &Program, thread: &str) -> Value {
    let answer = program.get(&format!("/api/settings?channel=general&thread={thread}")).await;
    let settings = answer["settings"].as_array().unwrap().iter();
    settings.clone().find(|setting| setting["setting"] == "memory").unwrap()["value"].clone()
}

#[tokio::test]
async fn a_thread_is_set_and_taken_back_on_the_page_of_its_channel() {
    let home = Home::new(1000.0);
    let program = home.start();
    let parent = thread(&program).await;
    let page = async || get(&program, None, PAGE).await.text().await.unwrap();
    let before = page().await;
    assert!(before.contains("data-testid=\"no-thread-settings\""), "{before}");
    // The thread is chosen by its first words, which are escaped.
    let choice = format!("<option value=\"{parent}\">where is the &#60;spade&#62;?</option>");
    assert!(before.contains(&choice), "{before}");
    assert!(before.contains("value=\"set memory\""), "{before}");
    for (order, value) in [("set memory", "off"), ("set min_confidence", "0.9")] {
        let fields = [("thread", &*parent), ("order", order), ("value", value)];
        assert_eq!(submit(&program, &fields).await, StatusCode::SEE_OTHER, "{order}");
    }
    let set = page().await;
    assert_eq!(set.matches("data-testid=\"thread-setting\"").count(), 2, "{set}");
    assert_eq!(set.matches("data-testid=\"clear-thread-setting\"").count(), 2, "{set}");
    assert!(set.contains("set for this thread"), "{set}");
    assert_eq!(memory_in(&program, &parent).await, "off");
    let japanese = get_in(&program, None, PAGE, "ja").await.text().await.unwrap();
    assert!(japanese.contains("個別に設定したスレッド"), "{japanese}");
    let fields = [("thread", &*parent), ("order", "clear memory")];
    assert_eq!(submit(&program, &fields).await, StatusCode::SEE_OTHER);
    assert_eq!(memory_in(&program, &parent).await, "on");
    assert_eq!(page().await.matches("data-testid=\"thread-setting\"").count(), 1);
    // The bot does not join threads, so `announce` is refused there, and an unknown thread has no settings.
    for (thread, order) in [(&*parent, "set announce"), ("nowhere", "set memory")] {
        let fields = [("thread", thread), ("order", order), ("value", "off")];
        assert!(submit(&program, &fields).await.is_client_error(), "{order}");
    }
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn what_the_config_says_of_a_thread_is_listed_and_stays() {
    let home = Home::new(1000.0);
    home.add("channels:\n  '#general': {thread_settings: {t7: {memory: \"off\", language: ja}}}\n");
    let program = home.start();
    let shown = get(&program, None, PAGE).await.text().await.unwrap();
    assert_eq!(shown.matches("data-testid=\"thread-setting\"").count(), 2, "{shown}");
    assert!(shown.contains("from the config, for this thread"), "{shown}");
    assert!(!shown.contains("data-testid=\"clear-thread-setting\""), "{shown}");
    assert_eq!(program.stop(), Some(0));
}

/// An unset setting cannot be removed, and the inherited language is not selected.
#[tokio::test]
async fn the_page_takes_back_only_what_is_set_and_chooses_nothing_by_itself() {
    let home = Home::new(1000.0);
    let program = home.start();
    program.says("alice", "hello").await;
    let page = async || get(&program, None, PAGE).await.text().await.unwrap();
    let before = page().await;
    assert!(!before.contains("data-testid=\"clear-setting\""), "{before}");
    assert!(before.contains("<option value=\"\" selected>as everywhere</option>"), "{before}");
    let (_, tools) = before.split_once("data-testid=\"setting-tools\"").unwrap();
    let (tools, _) = tools.split_once("</li>").unwrap();
    assert!(tools.contains("on</span> · <small data-testid=\"setting-source\">from the config<"));
    assert!(tools.contains("<option value=\"off\">off</option>"), "{tools}");
    let changed = format!("{PAGE}?set=language");
    let changed = get(&program, None, &changed).await.text().await.unwrap();
    assert!(changed.contains("data-testid=\"setting-done\">Changed: language<"), "{changed}");
    for (channel, place) in
        [("general", "for this channel"), ("", "for all channels of Local room")]
    {
        let body = match channel {
            "" => json!({ "setting": "language", "value": "ja" }),
            channel => json!({ "channel": channel, "setting": "language", "value": "ja" }),
        };
        let (status, answer) = program.send("POST", "/api/settings", Some(&body)).await;
        assert_eq!(status, 204, "{answer}");
        let set = get_in(&program, None, PAGE, "en").await.text().await.unwrap();
        assert!(set.contains(&format!("Take back ({place})")), "{set}");
        assert!(set.contains("<option value=\"ja\" selected>ja</option>"), "{set}");
        let told = get_in(&program, None, &format!("{PAGE}?set=language"), "en").await;
        let told = told.text().await.unwrap();
        let (_, told) = told.split_once("data-testid=\"setting-done\"").unwrap();
        let (told, _) = told.split_once("</div>").unwrap();
        assert!(told.contains(&format!("Take back ({place})")), "{told}");
    }
    assert_eq!(
        submit(&program, &[("order", "set language"), ("value", "")]).await.as_u16() / 100,
        4
    );
    assert_eq!(program.stop(), Some(0));
}
