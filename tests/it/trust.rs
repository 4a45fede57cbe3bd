//! After enough clicks the persona offers to speak without asking: in the local room and on the console, even without a
//! pending proposal.

use reqwest::StatusCode;
use serde_json::json;

use crate::console::harness::{client, get_in};
use crate::program::{Home, Program};

async fn page(program: &Program, path: &str, language: &str) -> String {
    get_in(program, None, path, language).await.text().await.unwrap()
}

#[tokio::test]
async fn it_offers_once_to_speak_by_itself() {
    let home = Home::new(0.1);
    home.add("channels:\n  general: {mode: propose, min_confidence: 0.3}\n");
    let program = home.start();
    program.says("bob", "the ladder hangs behind the shed").await;
    assert_eq!(program.stop(), Some(0));
    home.seed_clicks("local", "general", 29).await;
    let program = home.start();
    assert_eq!(program.get("/api/proposals").await["offers"], json!([]), "29 say too little");
    program.says("alice", "does anyone know where the ladder is?").await;
    home.until_kept("SELECT count(*) FROM proposals WHERE state = 'open'", 1).await;
    let proposal = program.get("/api/proposals").await["proposals"][0].clone();
    let path = format!("/api/proposals/{}", proposal["id"]);
    assert_eq!(program.send("POST", &path, Some(&json!({ "choice": "say" }))).await.0, 204);
    home.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;

    let answer = program.get("/api/proposals?workspace=local").await;
    let offers = answer["offers"].as_array().unwrap();
    let [offer] = &offers[..] else { panic!("{answer}") };
    assert_eq!(
        (&offer["channel"], &offer["decided"], &offer["share"]),
        (&json!("general"), &json!(30), &json!(1.0))
    );
    let least = offer["confidence"].as_f64().unwrap();
    assert!((0.3..=0.9).contains(&least), "{offer}");
    let id = offer["id"].as_i64().unwrap();
    let english = format!("With confidence over {least:.2} you would have let 100 % pass");
    for place in ["/console/queue", "/console/channels/local/general"] {
        let (en, ja) = (page(&program, place, "en").await, page(&program, place, "ja").await);
        assert!(en.contains(&english) && en.contains("by_itself"), "{place}: {en}");
        assert!(
            ja.contains("#general では、確認せずに自分から話してもいいですか？"),
            "{place}: {ja}"
        );
        assert!(en.contains(&format!("name=\"offer\" value=\"{id}\"")), "{place}: {en}");
    }
    let answer_path = format!("/api/trust-offers/{id}");
    let yes = json!({ "choice": "by_itself" });
    assert_eq!(program.send("POST", &answer_path, Some(&json!({ "choice": "yes" }))).await.0, 422);
    let unknown = program.send("POST", "/api/trust-offers/100007", Some(&yes)).await;
    let told = "this is settled already, or what people decided since says otherwise";
    assert_eq!(unknown, (409, json!({ "error": told })));
    let form = client()
        .post(format!("{}/console/queue", program.address))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(format!("offer={id}&choice=by_itself&back=/console/channels/local/general"));
    assert_eq!(form.send().await.unwrap().status(), StatusCode::SEE_OTHER);
    let modes = "SELECT count(*) FROM modes WHERE channel = 'general' AND mode = 'companion'";
    assert_eq!(home.count(modes).await, 1);
    let settings = format!(
        "SELECT count(*) FROM room_settings WHERE setting = 'min_confidence' AND role = 'keeper' AND value = '{least}'"
    );
    assert_eq!(home.count(&settings).await, 1);
    assert_eq!(program.send("POST", &answer_path, Some(&yes)).await.0, 409);
    assert_eq!(program.get("/api/proposals").await["offers"], json!([]));
    let shown = page(&program, "/console/channels/local/general", "en").await;
    assert!(shown.contains("data-testid=\"by-itself-from\""), "{shown}");
    assert!(!shown.contains("data-testid=\"trust\""), "{shown}");
    // The mode persists across a restart, until another one is chosen.
    assert_eq!(program.stop(), Some(0));
    let program = home.start();
    let shown = page(&program, "/console/channels/local/general", "ja").await;
    assert!(shown.contains("以上なら自分から話すことになっています。"), "{shown}");
    let mode = json!({ "channel": "general", "mode": "companion" });
    assert_eq!(program.send("POST", "/api/mode", Some(&mode)).await.0, 204);
    assert_eq!(home.count("SELECT count(*) FROM room_settings").await, 0);
    assert_eq!(program.stop(), Some(0));
}
