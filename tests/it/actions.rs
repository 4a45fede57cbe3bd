//! Who may do what: each action, as each face offers it, for each role, with the refusal. The table is what the real
//! program answers.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::console::harness::{ADMIN, OPERATOR, VIEWER, client, set_tokens};
use crate::program::{Home, Program};

/// A request for an action. Nothing that it names by number exists, so that it can be repeated.
enum Face {
    Api(Method, &'static str, Option<Value>),
    Form(&'static str, &'static str),
}

use Face::{Api, Form};

fn faces() -> Vec<(&'static str, Face)> {
    let post = |path, body: Value| Api(Method::POST, path, Some(body));
    let delete = |path| Api(Method::DELETE, path, None);
    let orders = |form| Form("/console/orders", form);
    let queue = |form| Form("/console/queue", form);
    let memory = |form| Form("/console/memory", form);
    let key = json!({ "scope": "channel", "channel": "general", "term": "long_term" });
    let memory_order = |order: &str| {
        let mut body = key.clone();
        (body["order"], body["version"], body["to"]) = (json!(order), json!(7), json!(7));
        body
    };
    vec![
        ("mute", post("/api/mute", json!({ "channel": "general", "minutes": 5 }))),
        ("mute", orders("order=mute+5&channel=general")),
        ("mute everywhere", post("/api/mute", json!({}))),
        ("mute everywhere", orders("order=mute&channel=")),
        ("mute for too long", post("/api/mute", json!({ "minutes": 9_999_999 }))),
        ("mute an unknown channel", post("/api/mute", json!({ "channel": "attic" }))),
        ("mute an unknown channel", orders("order=mute&channel=attic")),
        ("unmute", post("/api/unmute", json!({ "channel": "general" }))),
        ("unmute", orders("order=unmute&channel=general")),
        ("unmute everywhere", post("/api/unmute", json!({}))),
        ("mute everything", orders("order=mute-everything")),
        ("unmute everything", orders("order=unmute-everything")),
        ("undo what is unclear", orders("order=unmute-everything&value=nonsense")),
        ("stop", post("/api/stop", json!({ "channel": "general" }))),
        ("stop", orders("order=stop&channel=general")),
        ("set mode", post("/api/mode", json!({ "channel": "general", "mode": "observe" }))),
        ("set mode", orders("order=mode&channel=general&mode=observe")),
        ("set unknown mode", post("/api/mode", json!({ "channel": "general", "mode": "loud" }))),
        ("set unknown mode", orders("order=mode&channel=general&mode=loud")),
        ("opt out", post("/api/opt-out", json!({ "user": "mio" }))),
        ("opt out", orders("order=opt-out&user=mio")),
        ("opt in", post("/api/opt-out", json!({ "user": "mio", "undo": true }))),
        ("opt in", orders("order=opt-in&user=mio")),
        ("forget a person", delete("/api/person?user=nobody")),
        ("forget a person", Form("/console/people", "workspace=local&user=nobody&name=nobody")),
        ("forget without a name", Form("/console/people", "workspace=local&user=nobody")),
        ("reload the config", post("/api/reload", json!({}))),
        ("reload the config", Form("/console/configuration", "")),
        ("learn anew", orders("order=learn-anew")),
        ("change setting", post("/api/settings", setting("general", "memory", "off"))),
        ("change setting", orders("order=set+memory&channel=general&value=off")),
        ("clear setting", post("/api/settings", setting("general", "memory", ""))),
        ("clear setting", orders("order=clear+memory&channel=general")),
        ("choose model here", post("/api/settings", setting("general", "model", "x"))),
        ("choose model here", orders("order=set+model&channel=general&value=x")),
        ("give order", post("/api/standing-orders", json!({ "channel": "general", "text": " " }))),
        ("give order", orders("order=give-standing&channel=general&text=+")),
        ("give order to unknown channel", orders("order=give-standing&channel=attic&text=x")),
        ("change order", post("/api/standing-orders", json!({ "number": 700, "text": "x" }))),
        (
            "draft order",
            post("/api/standing-orders", json!({ "number": 700, "text": "x", "draft": true })),
        ),
        ("keep draft", post("/api/standing-orders/700/keep", json!({}))),
        ("keep draft", orders("order=keep-draft+700")),
        ("drop draft", orders("order=drop-draft+700")),
        ("drop order", delete("/api/standing-orders/700")),
        ("drop order", orders("order=drop-standing+700")),
        ("mark", post("/api/decisions/700/mark", json!({ "mark": "right" }))),
        ("mark", orders("order=mark+700+right")),
        ("unmark", post("/api/decisions/700/mark", json!({ "mark": null }))),
        ("unmark", orders("order=mark+700")),
        ("say proposal", post("/api/proposals/700", json!({ "choice": "say" }))),
        ("say proposal", queue("proposal=700&choice=say")),
        ("edit proposal", post("/api/proposals/700", json!({ "choice": "edit", "text": "x" }))),
        ("edit proposal", queue("proposal=700&choice=edit&text=x")),
        ("decline proposal", post("/api/proposals/700", json!({ "choice": "not_now" }))),
        ("decline proposal", queue("proposal=700&choice=never")),
        ("proposal, choice of a call", post("/api/proposals/700", json!({ "choice": "refuse" }))),
        ("proposal, choice of a call", queue("proposal=700&choice=refuse")),
        ("allow call", post("/api/calls/700", json!({ "choice": "allow_once" }))),
        ("allow call", queue("call=700&choice=allow_once")),
        ("refuse call", post("/api/calls/700", json!({ "choice": "refuse" }))),
        ("refuse call", queue("call=700&choice=refuse")),
        ("call, choice of a proposal", post("/api/calls/700", json!({ "choice": "say" }))),
        ("call, choice of a proposal", queue("call=700&choice=say")),
        ("accept offer", post("/api/trust-offers/700", json!({ "choice": "by_itself" }))),
        ("accept offer", queue("offer=700&choice=by_itself")),
        ("decline offer", post("/api/trust-offers/700", json!({ "choice": "not_yet" }))),
        ("decline offer", queue("offer=700&choice=not_yet")),
        ("retry letter", post("/api/dead-letters/700/retry", json!({}))),
        ("retry letter", orders("order=retry+700")),
        ("drop letter", delete("/api/dead-letters/700")),
        ("drop letter", orders("order=drop+700")),
        ("edit memory", post("/api/memories", memory_order("edit"))),
        ("edit memory", memory("order=edit&scope=channel&channel=general&term=long_term")),
        ("revert memory", post("/api/memories", memory_order("revert"))),
        ("change memo", Api(Method::PUT, "/api/memos/700", Some(memo()))),
        ("change memo", memory("order=memo&memo=700&text=x&priority=3")),
        ("change memo to nothing", memory("order=memo&memo=700&text=&priority=3")),
        ("revert memo", post("/api/memos/700/revert", json!({ "to": 7 }))),
        ("revert memo", memory("order=revert+memo&memo=700&to=7")),
        ("remove memo", delete("/api/memos/700")),
        ("remove memo", memory("order=remove+memo&memo=700")),
        ("choose model", post("/api/models", json!({ "model": "x" }))),
        ("unclear order", orders("order=burn")),
        // A form that lost its channel must order nothing.
        ("lost channel", orders("order=mute")),
        ("lost channel", orders("order=unmute")),
        ("lost channel", orders("order=stop")),
        ("lost channel", orders("order=stop&channel=")),
        ("lost channel", orders("order=mode&mode=observe")),
        ("lost channel", orders("order=give-standing&text=be+kind")),
        ("lost channel", orders("order=set+memory&value=off")),
        ("unclear length", orders("order=mute+soon&channel=general")),
        ("configured mode", orders("order=mode&channel=general&mode=")),
        ("unclear number", orders("order=drop")),
        ("unclear number", orders("order=mark+x+right")),
        ("unclear number", orders("order=drop-standing")),
        ("unclear number", orders("order=keep-draft")),
        ("unclear number", Api(Method::DELETE, "/api/dead-letters/x", None)),
        ("unclear number", post("/api/proposals/x", json!({ "choice": "say" }))),
        ("unclear mark", orders("order=mark+7+wrong")),
        ("unclear user", orders("order=opt-out")),
        ("unclear text", orders("order=give-standing&channel=general")),
        ("unclear value", orders("order=set+memory&channel=general&value=maybe")),
        ("unclear value", orders("order=set+memory&channel=general")),
        ("unclear setting", orders("order=set+mood&channel=general&value=on")),
        ("unclear choice", queue("choice=say")),
        ("unknown workspace", post("/api/mute", json!({ "workspace": "slack:T0" }))),
        ("unknown workspace", orders("order=mute&channel=&workspace=slack:T0")),
        ("two places", delete("/api/dead-letters/700?workspace=local&workspace=local")),
    ]
}

fn setting(channel: &str, setting: &str, value: &str) -> Value {
    let value = (!value.is_empty()).then_some(value);
    json!({ "channel": channel, "setting": setting, "value": value })
}

fn memo() -> Value {
    json!({ "content": "x", "priority": 3 })
}

/// Returns the status, and the name of the refusal.
async fn answer(program: &Program, token: Option<&str>, face: &Face) -> String {
    let request = |method: &Method, path: &str| -> RequestBuilder {
        client().request(method.clone(), format!("{}{path}", program.address))
    };
    let request = match face {
        Api(method, path, Some(body)) => request(method, path).json(body),
        Api(method, path, None) => request(method, path),
        Form(path, form) => request(&Method::POST, path)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(*form),
    };
    let request = token.into_iter().fold(request, RequestBuilder::bearer_auth);
    let answer = request.send().await.unwrap();
    let refusal = answer.headers().get("aizuchi-refusal").map(|name| name.to_str().unwrap());
    format!("{} {}", answer.status().as_u16(), refusal.unwrap_or_default()).trim().to_owned()
}

#[tokio::test]
async fn each_face_lets_each_role_do_what_it_may() {
    let (open, closed) = (Home::new(1000.0), Home::new(1000.0));
    set_tokens(&closed);
    let (open, closed) = (open.start(), closed.start());
    let visitors = [
        (&closed, None),
        (&closed, Some(VIEWER)),
        (&closed, Some(OPERATOR)),
        (&closed, Some(ADMIN)),
        (&open, None),
    ];
    let mut table = String::new();
    for (action, face) in faces() {
        let (name, sent) = match &face {
            Api(method, path, _) => (format!("{method} {path}"), String::new()),
            Form(path, form) => (format!("form {path}"), format!(" {form}")),
        };
        table += &format!("{action}: {name}{sent}\n");
        let mut answers: Vec<String> = Vec::new();
        for (program, token) in visitors {
            answers.push(answer(program, token, &face).await);
        }
        let [nobody, viewer, operator, admin, machine] = &answers[..] else { unreachable!() };
        table += &format!(
            "  nobody {nobody} | viewer {viewer} | operator {operator} | admin {admin} | this machine {machine}\n"
        );
    }
    insta::assert_snapshot!(table);
    assert_eq!((open.stop(), closed.stop()), (Some(0), Some(0)));
}
