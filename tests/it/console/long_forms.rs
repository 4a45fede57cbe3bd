//! Forms with the longest text that they accept, in a script that takes nine bytes per character in a form.

use reqwest::StatusCode;

use crate::console::harness::{client, encode};
use crate::program::Home;

/// The maximum length of a persona's prompt, in characters.
const MOST: usize = 20_000;

#[tokio::test]
async fn the_longest_persona_is_accepted_in_japanese_too() {
    let home = Home::new(1000.0);
    let program = home.start();
    for (length, expected) in [(MOST, None), (MOST + 1, Some("persona_too_long"))] {
        let prompt = encode(&"あ".repeat(length));
        let form = client().post(format!("{}/console/persona", program.address));
        let form = form.header("content-type", "application/x-www-form-urlencoded");
        let form = form.body(format!("name=Aizuchi&system_prompt={prompt}&action=price"));
        let answer = form.send().await.unwrap();
        let refusal = answer.headers().get("aizuchi-refusal").map(|id| id.to_str().unwrap());
        assert_eq!(refusal, expected);
        assert_eq!(answer.status() == StatusCode::OK, expected.is_none());
    }
    assert_eq!(program.stop(), Some(0));
}
