//! Adding users and channels to the local room.

use serde_json::{Value, json};

use crate::program::Home;

#[tokio::test]
async fn users_and_channels_can_be_added() {
    let home = Home::new(1000.0);
    let program = home.start();
    let name = |name: &str| json!({ "name": name });
    for (path, body, status, expected) in [
        ("/api/channels", name("#garden"), 201, json!({ "id": "garden", "name": "garden" })),
        (
            "/api/channels",
            name("Garden"),
            409,
            json!({ "error": "there is a channel \"Garden\" already" }),
        ),
        (
            "/api/channels",
            name("a b"),
            422,
            json!({ "error": "a channel name must have 1 to 40 letters, digits, hyphens or underscores" }),
        ),
        ("/api/channels", json!({}), 422, json!({ "error": r#"send {"name": "…"}"# })),
        ("/api/people", name("花子"), 201, name("花子")),
        ("/api/people", name(" 花子 "), 200, name("花子")),
        (
            "/api/people",
            name("Aizuchi"),
            409,
            json!({ "error": "the name \"Aizuchi\" belongs to the companion; please choose another" }),
        ),
    ] {
        assert_eq!(program.send("POST", path, Some(&body)).await, (status, expected), "{body}");
    }
    // An open page receives everything that is added.
    let is_bob = |kind: &str, data: &Value| {
        kind == "room" && data["people"].as_array().unwrap().contains(&name("bob"))
    };
    let body = json!({ "channel": "garden", "user": "bob", "text": "hello @花子" });
    let seen = std::cell::Cell::new(0);
    let watched = program.wait_for(0, |kind, data| {
        seen.set(seen.get() + usize::from(kind == "room"));
        is_bob(kind, data)
    });
    let says = async {
        while seen.get() == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(program.post(&body).await.0, 201);
    };
    futures_util::future::join(watched, says).await;
    assert_eq!(seen.get(), 2);
    let people = program.get("/api/people").await;
    assert_eq!(people, json!({ "people": [name("bob"), name("花子")] }));
    // A page that is opened later gets it in its first event.
    let here = program.wait_for(0, |kind, _| kind == "room").await;
    let channels: Vec<&Value> =
        here["channels"].as_array().unwrap().iter().map(|channel| &channel["name"]).collect();
    assert_eq!(channels, ["general", "random", "garden"]);
    assert_eq!(here["people"], people["people"]);
    program.kill();
    let program = home.start();
    assert_eq!(program.get("/api/people").await, people);
    assert_eq!(program.get("/api/channels").await["channels"].as_array().unwrap().len(), 3);
}
