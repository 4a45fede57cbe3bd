//! Threads whose first message is older than the known history of their channel.

use serde_json::{Value, json};

use crate::program::{Home, Program};

async fn send(program: &Program, path: &str, thread: &str, rest: Value) -> (u16, Value) {
    let mut body = json!({ "workspace": "slack:T9", "channel": "C9", "thread": thread });
    body.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    program.send("POST", path, Some(&body)).await
}

#[tokio::test]
async fn orders_and_settings_are_given_in_a_thread_with_an_unknown_first_message() {
    let home = Home::new(1000.0);
    assert_eq!(home.start().stop(), Some(0));
    home.insert_unconnected_workspace("0.5").await;
    let program = home.start();
    for (path, rest) in [
        ("/api/settings", json!({ "setting": "memory", "value": "off" })),
        ("/api/standing-orders", json!({ "text": "answer in haiku" })),
    ] {
        let done = send(&program, path, "0.5", rest.clone()).await;
        assert_eq!(done, (204, Value::Null), "{path}");
        let (status, answer) = send(&program, path, "0.6", rest).await;
        assert_eq!(status, 404, "{path} {answer}");
    }
    assert_eq!(program.stop(), Some(0));
}
