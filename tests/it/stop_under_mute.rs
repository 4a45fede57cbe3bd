//! *Stop* on the pages, in a channel that is muted for longer.

use serde_json::{Value, json};

use crate::program::Home;

#[tokio::test]
async fn a_stop_under_a_longer_mute_is_listed_like_other_mutes() {
    let home = Home::new(1000.0);
    let program = home.start();
    let order = async |path: &str, body: Value| {
        let (status, answer) = program.send("POST", path, Some(&body)).await;
        assert_eq!((status, answer), (204, Value::Null), "{path} {body}");
    };
    let muted_until =
        async || program.get("/api/channels").await["channels"][0]["muted_until"].clone();
    order("/api/mute", json!({ "channel": "general", "minutes": 600 })).await;
    let before = muted_until().await;
    order("/api/stop", json!({ "channel": "general" })).await;
    assert_eq!(muted_until().await, before);
    let listed = program.get("/api/orders").await;
    let [stop, mute] = &listed["orders"].as_array().unwrap()[..] else { panic!("{listed}") };
    for given in [stop, mute] {
        assert_eq!((&given["kind"], &given["channel"]), (&json!("mute"), &json!("general")));
    }
    assert_eq!(mute["until"], before);
    assert!(stop["until"].as_f64() < mute["until"].as_f64(), "{listed}");
    assert_eq!(program.stop(), Some(0));
}
