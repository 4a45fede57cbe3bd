//! The language of the chat: that of the messages by default, or the language set for a channel.

use serde_json::{Value, json};

use crate::program::{Home, Program};

/// Posts a message that is answered, and returns the answer.
pub async fn answer(program: &Program, channel: &str, text: &str) -> String {
    answer_in(program, channel, None, text).await
}

async fn answer_in(program: &Program, channel: &str, thread: Option<&str>, text: &str) -> String {
    let body = json!({ "channel": channel, "thread": thread, "user": "hana", "text": text });
    let (status, posted) = program.post(&body).await;
    assert_eq!(status, 201, "{posted}");
    let id = &posted["id"];
    let is_answered = |kind: &str, data: &Value| {
        let covers = data["messages"].as_array().is_some_and(|messages| messages.contains(id));
        kind == "decision" && covers && !data["ended"].is_null() && !data["said"].is_null()
    };
    let decision = program.wait_for(0, is_answered).await;
    let messages = program.get(&format!("/api/messages?channel={channel}")).await;
    let messages = messages["messages"].as_array().unwrap();
    let said = messages.iter().find(|message| message["id"] == decision["said"]).unwrap();
    said["text"].as_str().unwrap().to_owned()
}

pub fn is_japanese(text: &str) -> bool {
    text.chars().any(|character| ('\u{3041}'..='\u{30ff}').contains(&character))
}

#[tokio::test]
async fn the_chat_is_in_the_language_that_people_write() {
    let home = Home::new(1000.0);
    let program = home.start();
    // The first message of all.
    let japanese = answer(&program, "general", "@Aizuchi あなたは誰ですか？").await;
    assert!(is_japanese(&japanese), "{japanese}");
    let english = answer(&program, "general", "@Aizuchi are you there?").await;
    assert!(!is_japanese(&english), "{english}");
    let japanese = answer(&program, "random", "@Aizuchi そこにいますか？").await;
    assert!(is_japanese(&japanese), "{japanese}");
    // A command is answered in its own language.
    let english = answer(&program, "random", "@Aizuchi status").await;
    assert!(!is_japanese(&english), "{english}");
    let japanese = answer(&program, "general", "@Aizuchi ヘルプ").await;
    assert!(is_japanese(&japanese), "{japanese}");
    // If a message has no words, earlier ones decide. A thread has a language of its own, initially that of its
    // channel.
    let mut parent = String::new();
    for text in ["はしごはどこですか", "倉庫にあります", "ありがとう"] {
        parent = program.says("ren", text).await;
    }
    let japanese = answer(&program, "general", "@Aizuchi 😀").await;
    assert!(is_japanese(&japanese), "{japanese}");
    let thread = Some(&*parent);
    let japanese = answer_in(&program, "general", thread, "@Aizuchi 👀").await;
    assert!(is_japanese(&japanese), "{japanese}");
    let english = answer_in(&program, "general", thread, "@Aizuchi what time is it?").await;
    assert!(!is_japanese(&english), "{english}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_channel_may_have_a_language_of_its_own() {
    let home = Home::new(1000.0);
    home.add("language: en\nchannels: {\"#random\": {language: ja}}\n");
    let program = home.start();
    let english = answer(&program, "general", "@Aizuchi そこにいますか？").await;
    assert!(!is_japanese(&english), "{english}");
    for text in ["@Aizuchi are you there?", "@Aizuchi status"] {
        let japanese = answer(&program, "random", text).await;
        assert!(is_japanese(&japanese), "{japanese}");
    }
    assert_eq!(program.stop(), Some(0));
}
