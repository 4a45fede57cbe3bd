//! Refusals of the real program: in the language of the reader, with a name for programs that is language-independent.

use reqwest::header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_LANGUAGE, CONTENT_TYPE, ORIGIN};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::console::harness::{ADMIN, VIEWER, client};
use crate::program::{Home, Program};

/// Creates a program with a token for an admin and one for a viewer. Its chat is in English.
fn closed_home() -> Home {
    let home = Home::new(1000.0);
    let tokens = format!(
        "127.0.0.1:0\n  token: {ADMIN}\n  tokens:\n    - {{name: vera, role: viewer, token: {VIEWER}}}"
    );
    home.replace("127.0.0.1:0", &tokens);
    home
}

fn request(program: &Program, method: Method, path: &str, token: Option<&str>) -> RequestBuilder {
    let request = client().request(method, format!("{}{path}", program.address));
    match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    }
}

/// Returns the status, and the name of the reason.
fn kind(answer: &Response) -> (u16, String) {
    let name = answer.headers().get("aizuchi-refusal").map(|name| name.to_str().unwrap());
    (answer.status().as_u16(), name.unwrap_or_default().to_owned())
}

#[tokio::test]
async fn a_program_is_refused_in_the_language_that_it_asks_for() {
    let home = closed_home();
    let program = home.start();
    let blank = json!({ "channel": "general", "user": "alice", "text": " " });
    let not_mute = json!({ "channel": "general", "minutes": "five" });
    for (method, path, token, body, status, name, english, japanese) in [
        (
            Method::GET,
            "/api/channels",
            None,
            None,
            401,
            "token_needed",
            "this needs the token of http.token, as a bearer",
            "http.token のトークンを Bearer として送ってください",
        ),
        (
            Method::POST,
            "/api/mute",
            Some(VIEWER),
            Some(json!({})),
            403,
            "role_excluded",
            "the role viewer does not reach this",
            "役割 viewer では、ここは利用できません",
        ),
        (
            Method::GET,
            "/api/channels?workspace=slack:T0",
            Some(ADMIN),
            None,
            404,
            "unknown_workspace",
            "there is no workspace \"slack:T0\"; /api/workspaces lists them",
            "ワークスペース「slack:T0」はありません。/api/workspaces で一覧できます",
        ),
        (
            Method::GET,
            "/api/messages?channel=general&after=x",
            Some(ADMIN),
            None,
            404,
            "unknown_message",
            "there is no message \"x\" in this channel",
            "このチャンネルに発言「x」はありません",
        ),
        (
            Method::GET,
            "/api/messages",
            Some(ADMIN),
            None,
            400,
            "channel_needed",
            "say which channel: /api/messages?channel=…",
            "チャンネルを指定してください：/api/messages?channel=…",
        ),
        (
            Method::DELETE,
            "/api/channels",
            Some(ADMIN),
            None,
            405,
            "wrong_method",
            "this address does not take that method",
            "このアドレスでは、そのメソッドは使えません",
        ),
        (
            Method::POST,
            "/api/messages",
            Some(ADMIN),
            Some(blank),
            422,
            "empty_text",
            "the text is empty",
            "発言が空です",
        ),
        (
            Method::POST,
            "/api/mute",
            Some(ADMIN),
            Some(not_mute),
            422,
            "wrong_body",
            r#"send {"channel": "…", "minutes": 60}; without a channel: everywhere, without minutes: for good"#,
            r#"次の形で送ってください：{"channel": "…", "minutes": 60}。channel がなければ全体、minutes がなければ解除するまで"#,
        ),
    ] {
        // Without a language in the request, the chat's language is used.
        for (accepted, language, sentence) in [
            (None, "en", english),
            (Some("en-US,en;q=0.9"), "en", english),
            (Some("ja,en;q=0.5"), "ja", japanese),
        ] {
            let mut asked = request(&program, method.clone(), path, token);
            if let Some(accepted) = accepted {
                asked = asked.header(ACCEPT_LANGUAGE, accepted);
            }
            if let Some(body) = &body {
                asked = asked.json(body);
            }
            let answer = asked.send().await.unwrap();
            assert_eq!(kind(&answer), (status, name.to_owned()), "{path}");
            assert_eq!(answer.headers()[CONTENT_LANGUAGE], language, "{path}");
            let told: Value = answer.json().await.unwrap();
            assert_eq!(told, json!({ "error": sentence }), "{path}");
        }
    }

    // A client that guesses tokens is delayed, so this comes last.
    let guess = request(&program, Method::GET, "/api/channels", Some("open-sesame-9876543210"));
    let answer = guess.header(ACCEPT_LANGUAGE, "ja").send().await.unwrap();
    assert_eq!(kind(&answer), (401, "wrong_token".to_owned()));
    assert_eq!(answer.json::<Value>().await.unwrap(), json!({ "error": "トークンが違います。" }));
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_page_refuses_in_its_own_language() {
    let home = closed_home();
    let program = home.start();
    let form = |request: RequestBuilder, fields: &'static str| {
        request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(fields)
    };
    let visit = |method: Method, path: &str, token| {
        request(&program, method, path, token).header(ACCEPT, "text/html")
    };
    for (language, missing, excluded, malformed, foreign, wrong) in [
        (
            "en",
            "There is nothing here.",
            "the role viewer does not reach this",
            "the order must be mute, unmute, stop, mode, opt-out, opt-in, retry, drop or mark",
            "the room answers only pages of its own",
            "That token is wrong.",
        ),
        (
            "ja",
            "ここには何もありません。",
            "役割 viewer では、ここは利用できません",
            "操作は mute、unmute、stop、mode、opt-out、opt-in、retry、drop、mark のどれかにし",
            "このルームのページ以外からのリクエストは受け付けません",
            "トークンが違います。",
        ),
    ] {
        let order = "/console/orders";
        let evil = visit(Method::GET, "/console", None).header(ORIGIN, "https://evil.example");
        for (asked, status, name, sentence) in [
            (visit(Method::GET, "/nowhere", Some(ADMIN)), 404, "nothing_here", missing),
            (visit(Method::POST, order, Some(VIEWER)), 403, "role_excluded", excluded),
            (
                form(visit(Method::POST, order, Some(ADMIN)), "order=burn"),
                422,
                "malformed_order",
                malformed,
            ),
            (evil, 403, "other_site", foreign),
            (form(visit(Method::POST, "/login", None), "token=a+guess"), 401, "wrong_token", wrong),
        ] {
            let answer = asked.header(ACCEPT_LANGUAGE, language).send().await.unwrap();
            assert_eq!(kind(&answer), (status, name.to_owned()));
            let page = answer.text().await.unwrap();
            assert!(page.contains(&format!("<html lang=\"{language}\">")), "{page}");
            assert!(page.contains(sentence), "{sentence}: {page}");
        }
    }
    assert_eq!(program.stop(), Some(0));
}
