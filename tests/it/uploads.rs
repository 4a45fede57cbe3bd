//! The lifecycle of a file in the local room: sending, showing, describing, deleting; and which files are refused, and
//! for whom they are hidden.

use aizuchi_harness::providers::{Server, ServerLimits};
use reqwest::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};

use crate::console::harness::client;
use crate::program::{Home, Program};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nboat";

async fn uploads(program: &Program, name: &str, kind: &str, bytes: &[u8]) -> Response {
    let address = format!("{}/api/files?name={name}", program.address);
    let request = client().post(address).header(CONTENT_TYPE, kind).body(bytes.to_vec());
    request.send().await.unwrap()
}

/// Uploads a file, and returns its id.
async fn uploaded(program: &Program, name: &str, kind: &str, bytes: &[u8]) -> String {
    let answer = uploads(program, name, kind, bytes).await;
    assert_eq!(answer.status(), StatusCode::CREATED);
    let answer: Value = answer.json().await.unwrap();
    answer["id"].as_str().unwrap().to_owned()
}

async fn sends(program: &Program, id: &str, text: &str, files: &[&str]) -> Response {
    let body =
        json!({ "id": id, "channel": "general", "user": "mio", "text": text, "files": files });
    client().post(format!("{}/api/messages", program.address)).json(&body).send().await.unwrap()
}

async fn refusal(answer: Response) -> (u16, String) {
    let name = answer.headers()["aizuchi-refusal"].to_str().unwrap().to_owned();
    (answer.status().as_u16(), name)
}

/// Returns the files of mio's newest message.
async fn newest_files(program: &Program) -> Vec<Value> {
    let address = format!("{}/api/messages?channel=general", program.address);
    let answer: Value = client().get(address).send().await.unwrap().json().await.unwrap();
    let messages = answer["messages"].as_array().unwrap().clone();
    let newest = messages.into_iter().rfind(|message| message["user"] == "mio").unwrap();
    newest["files"].as_array().cloned().unwrap_or_default()
}

/// The lifecycle of a picture: it is sent with a mention, described by the vision model, kept with its message, shown
/// to users who may see the channel, and deleted with the message.
#[tokio::test]
async fn a_picture_is_described_and_shown_and_goes_with_its_message() {
    let model = Server::start(ServerLimits::default()).await;
    let home = Home::new(1000.0);
    home.add(&format!(
        "agents:\n  response:\n    model_id: openai/large-1\n    client_args: {{api_key: sk-test, api_base: '{}/v1'}}\n  vision: {{}}\n",
        model.base
    ));
    let program = home.start();
    let id = uploaded(&program, "plan.png", "image/png", PNG).await;
    model.will_say(&["A boat with red sails.", "A fine boat."]);
    let sent = sends(&program, "first-message", "@Aizuchi what is this?", &[&id]).await;
    assert_eq!(sent.status(), StatusCode::CREATED);
    // After a lost response, the client repeats the request.
    let again = sends(&program, "first-message", "@Aizuchi what is this?", &[&id]).await;
    assert_eq!(again.status(), StatusCode::CREATED);
    let kept = "SELECT count(*) FROM messages WHERE attachments LIKE '%red sails%'";
    home.until_kept(kept, 1).await;
    assert!(model.prompt().contains("[picture “plan.png”: A boat with red sails.]"));
    let [file] = &newest_files(&program).await[..] else { panic!() };
    assert_eq!((&file["name"], &file["kind"]), (&json!("plan.png"), &json!("picture")));
    let address = format!("{}{}", program.address, file["url"].as_str().unwrap());
    let shown = client().get(&address).send().await.unwrap();
    assert_eq!(shown.status(), StatusCode::OK);
    let headers = shown.headers().clone();
    assert_eq!(headers[CONTENT_TYPE], "image/png");
    assert_eq!(headers[CONTENT_DISPOSITION], "inline; filename*=UTF-8''plan.png");
    assert_eq!(headers[CONTENT_SECURITY_POLICY], "default-src 'none'; sandbox");
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(headers["cache-control"], "no-store");
    assert_eq!(shown.bytes().await.unwrap(), PNG);
    // Pages of other sites can neither view nor send files.
    let foreign = client().get(&address).header("sec-fetch-site", "cross-site").send().await;
    assert_eq!(foreign.unwrap().status(), StatusCode::FORBIDDEN);
    let post = client().post(format!("{}/api/files?name=a.png", program.address));
    let foreign = post.header("origin", "https://evil.example").body(PNG).send().await.unwrap();
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
    // A user cannot send a file that another user has uploaded.
    let stolen = sends(&program, "other-message", "mine", &[&id]).await;
    assert_eq!(refusal(stolen).await, (422, "unknown_file".to_owned()));
    let delete = format!("{}/api/messages/first-message?channel=general&user=mio", program.address);
    assert_eq!(client().delete(delete).send().await.unwrap().status(), StatusCode::OK);
    let gone = client().get(&address).send().await.unwrap();
    assert_eq!(refusal(gone).await, (404, "no_file".to_owned()));
    home.until_kept("SELECT count(*) FROM uploads", 0).await;
    home.until_kept("SELECT count(*) FROM upload_parts", 0).await;
    assert_eq!(program.stop(), Some(0));
}

/// A file that a browser could run is downloaded and never displayed, whatever its name, and files survive a restart.
#[tokio::test]
async fn what_a_browser_could_run_is_only_saved() {
    let home = Home::new(1000.0);
    let program = home.start();
    let page = b"<html><script>alert(1)</script>";
    let mut ids = Vec::new();
    for (name, kind) in
        [("a.png", "image/png"), ("a.svg", "image/svg+xml"), ("a.html", "text/html")]
    {
        ids.push(uploaded(&program, name, kind, page).await);
    }
    // More than fits in a row.
    let large: Vec<u8> = (0..700_000_u32).map(|number| number.to_le_bytes()[0]).collect();
    ids.push(uploaded(&program, "large.csv", "text/csv", &large).await);
    assert_eq!(program.stop(), Some(0));
    let program = home.start();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    assert_eq!(sends(&program, "with-files", "", &ids).await.status(), StatusCode::CREATED);
    let files = newest_files(&program).await;
    assert_eq!(files.len(), 4);
    for file in &files {
        let address = format!("{}{}", program.address, file["url"].as_str().unwrap());
        let saved = client().get(address).send().await.unwrap();
        assert_eq!(saved.headers()[CONTENT_TYPE], "application/octet-stream", "{file}");
        let disposition = saved.headers()[CONTENT_DISPOSITION].to_str().unwrap();
        assert!(disposition.starts_with("attachment; "), "{disposition}");
        if file["name"] == "large.csv" {
            assert_eq!(saved.bytes().await.unwrap(), large);
        }
    }
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn what_is_too_large_or_nothing_to_see_is_not_taken() {
    let home = Home::new(1000.0);
    home.replace("http:\n", "http:\n  max_upload_kilobytes: 1\n");
    let program = home.start();
    for (name, kind, bytes, expected) in [
        ("a.txt", "text/plain", vec![b'x'; 1001], (413, "file_too_large")),
        ("a.txt", "text/plain", Vec::new(), (422, "empty_file")),
        ("a.exe", "application/x-msdownload", vec![b'x'], (415, "untaken_file")),
        ("a.zip", "application/octet-stream", vec![b'x'], (415, "untaken_file")),
    ] {
        let answer = uploads(&program, name, kind, &bytes).await;
        assert_eq!(refusal(answer).await, (expected.0, expected.1.to_owned()), "{name}");
    }
    let id = uploaded(&program, "a.txt", "text/plain", b"x").await;
    for _ in 0..2 {
        let request = client().delete(format!("{}/api/files/{id}", program.address));
        assert_eq!(request.send().await.unwrap().status(), StatusCode::NO_CONTENT);
    }
    let removed = sends(&program, "some-message", "hi", &[&id]).await;
    assert_eq!(refusal(removed).await, (422, "unknown_file".to_owned()));
    let missing = sends(&program, "some-message", "hi", &["0"]).await;
    assert_eq!(refusal(missing).await, (422, "unknown_file".to_owned()));
    let many = ["0"; 11];
    let many = sends(&program, "some-message", "hi", &many).await;
    assert_eq!(refusal(many).await, (422, "too_many_files".to_owned()));
    let address = format!("{}/api/files/0?channel=general&message=x", program.address);
    let nothing = client().get(address).send().await.unwrap();
    assert_eq!(refusal(nothing).await, (404, "no_file".to_owned()));
    assert_eq!(program.stop(), Some(0));
}

/// Concurrent uploads wait for each other, and together they stay within the limit.
#[tokio::test]
async fn files_that_come_at_once_are_taken_one_after_another() {
    let home = Home::new(1000.0);
    home.replace("http:\n", "http:\n  max_uploads_megabytes: 1\n");
    let program = home.start();
    let bytes = vec![b'x'; 300_000];
    let all = (0..12).map(|_| uploads(&program, "a.txt", "text/plain", &bytes));
    let answers = futures_util::future::join_all(all).await;
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status().as_u16()).collect();
    let count = |status| statuses.iter().filter(|found| **found == status).count();
    assert_eq!((count(201), count(507)), (3, 9), "{statuses:?}");
    let answer = uploads(&program, "a.txt", "text/plain", &bytes).await;
    assert_eq!(refusal(answer).await, (507, "uploads_full".to_owned()));
    home.until_kept("SELECT count(*) FROM uploads", 3).await;
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_room_can_take_no_files() {
    let home = Home::new(1000.0);
    home.replace("http:\n", "http:\n  max_upload_kilobytes: 0\n");
    let program = home.start();
    let answer = uploads(&program, "a.txt", "text/plain", b"x").await;
    assert_eq!(refusal(answer).await, (403, "no_uploads".to_owned()));
    assert_eq!(program.stop(), Some(0));
}
