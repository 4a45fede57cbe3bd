//! Visitors who are limited to places: a word from elsewhere is in every stored text, and appears at no address, in no
//! answer to a form, no tool's answer and no stream. What they order elsewhere is refused, and changes nothing.

use aizuchi_harness::postgres;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::command::aizuchi;
use crate::console::harness::{ADMIN, client, encode, get, json_of};
use crate::console::walk::Walk;
use crate::generated::{GeneratedHistory, Place};
use crate::mcp::call;
use crate::program::{Home, Program};

/// A word of places that none of the visitors reaches.
const CANARY: &str = "zanzibarquartz";
/// A word of the places that they reach.
const OWN: &str = "plumharbor";
const TEA: &str = "tea-lantern-5502981743";
const LOBBY: &str = "lobby-kettle-6619034427";
const POND: &str = "pond-harbor-7719034426";
const POND_VIEWER: &str = "pond-viewer-8819034425";
const GARDEN: &str = "T0GARDEN";
const MODS: &str = "discord:1180000000000000004";

fn history() -> GeneratedHistory {
    let (lobby, pond) = ("discord:1180000000000000001", "T0POND");
    GeneratedHistory {
        places: vec![
            Place::new(GARDEN, "C0TEA", "tea", "public"),
            Place::new(GARDEN, "C0ATTIC", &format!("{CANARY}-attic"), "private"),
            Place::new(lobby, "1180000000000000002", "lobby", "public"),
            Place::new(MODS, "1180000000000000005", &format!("{CANARY}-mods"), "private"),
            Place::new(pond, "C0POND", "pond", "public"),
        ],
        public_words: (0..10).map(|number| format!("{OWN} {number} is ripe")).collect(),
        private_words: (0..10).map(|number| format!("the {CANARY} {number} is hidden")).collect(),
        messages: 450,
        decisions: 45,
    }
}

/// Writes the history into a program's home. Tea is a channel of a workspace that has another, the lobby is on another
/// platform, and the pond is a workspace beside that of tea.
async fn written(home: &Home) -> GeneratedHistory {
    let tokens = [
        ("anna", "admin", TEA, "T0GARDEN/C0TEA"),
        ("dan", "admin", LOBBY, "discord:1180000000000000001"),
        ("olga", "operator", POND, "T0POND"),
        ("vera", "viewer", POND_VIEWER, "T0POND"),
    ];
    let tokens = tokens.map(|(name, role, token, only)| {
        format!("    - {{name: {name}, role: {role}, token: {token}, only: [\"{only}\"]}}\n")
    });
    let http = format!("\nhttp:\n  token: {ADMIN}\n  tokens:\n{}", tokens.concat());
    home.replace("\nhttp:\n", &http);
    assert_eq!(home.start().stop(), Some(0));
    let history = history();
    history.write(home).await;
    history
}

const LIMITED: [&str; 4] = [TEA, LOBBY, POND, POND_VIEWER];

/// How often the words of elsewhere were shown to the admin of everything, and those of their own places to each other
/// visitor.
#[derive(Default)]
struct Found {
    elsewhere: usize,
    own: [usize; 4],
}

impl Found {
    async fn look(&mut self, answer: Response, address: &str, token: &str) {
        let status = answer.status();
        let shown = answer.text().await.unwrap();
        assert!(!status.is_server_error(), "{address} as {token}: {status} {shown}");
        match LIMITED.iter().position(|limited| *limited == token) {
            None => self.elsewhere += usize::from(shown.contains(CANARY)),
            Some(visitor) => {
                assert!(!shown.contains(CANARY), "{address} as {token}: {shown}");
                self.own[visitor] += usize::from(shown.contains(OWN));
            }
        }
    }

    async fn read(&mut self, program: &Program, addresses: &[String]) {
        for address in addresses {
            for token in [ADMIN].into_iter().chain(LIMITED) {
                self.look(get(program, Some(token), address).await, address, token).await;
            }
        }
    }
}

#[tokio::test]
async fn nothing_of_another_place_reaches_a_limited_visitor() {
    let home = Home::new(1000.0);
    let history = written(&home).await;
    let program = home.start();
    let said = json!({ "channel": "general", "user": "Ken", "text": format!("{CANARY} here") });
    let said = client().post(format!("{}/api/messages", program.address)).json(&said);
    assert_eq!(said.bearer_auth(ADMIN).send().await.unwrap().status(), 201);
    let walk = Walk::new(&home, &history.places, "hidden", "U1").await;
    let mut addresses = walk.pages();
    addresses.extend(walk.trials());
    addresses.extend(walk.api_reads(&program).await);
    let mut found = Found::default();
    found.read(&program, &addresses).await;
    for form in walk.forms() {
        for token in [ADMIN].into_iter().chain(LIMITED) {
            found.look(form.send(&program, token, "en").await, &form.path, token).await;
        }
    }
    let Found { elsewhere, own: [tea, lobby, pond, _] } = found;
    assert!(elsewhere >= 60, "{elsewhere} of {}", addresses.len());
    assert!(tea >= 25 && lobby >= 25 && pond >= 15, "{tea}, {lobby}, {pond}");
    expect_own_answers(&program).await;
    expect_no_installation(&program).await;
    assert_eq!(program.stop(), Some(0));
}

/// Returns what the head of a page tells of mutes, and the order that its button gives.
async fn head(program: &Program, token: &str, page: &str) -> (String, Option<&'static str>) {
    let shown = get(program, Some(token), page).await.text().await.unwrap();
    let told = shown.split_once("data-testid=\"mutes\">").unwrap().1.split_once('<').unwrap().0;
    let orders = ["\"mute-everything\"", "\"unmute-everything\""];
    (told.to_owned(), orders.into_iter().find(|order| shown.contains(&format!("value={order}"))))
}

#[tokio::test]
async fn the_head_of_every_page_tells_of_the_mutes_that_its_reader_reaches() {
    let home = Home::new(1000.0);
    written(&home).await;
    let program = home.start();
    let expect = async |reader: &str, token: &str, told: &str, button: Option<&str>| {
        for page in ["/console", "/console/failures", "/console/report"] {
            let (found, order) = head(&program, token, page).await;
            assert_eq!((&*found, order), (told, button), "{page} of {reader}");
        }
    };
    let (mute, unmute) = (Some("\"mute-everything\""), Some("\"unmute-everything\""));
    for (reader, token, connected, button) in [
        ("the admin", ADMIN, "1 of 5", mute),
        ("olga", POND, "0 of 1", mute),
        ("vera", POND_VIEWER, "0 of 1", None),
    ] {
        let told = format!("speaking in {connected} workspaces");
        expect(reader, token, &told, button).await;
    }
    let order = client().post(format!("{}/console/orders", program.address)).bearer_auth(POND);
    let order = order.header("content-type", "application/x-www-form-urlencoded");
    let answer = order.body("order=mute&workspace=T0POND&channel=").send().await.unwrap();
    assert_eq!(answer.status(), 303);
    expect("the admin", ADMIN, "muted in 1 of 5 workspaces", mute).await;
    expect("olga", POND, "muted everywhere", unmute).await;
    expect("vera", POND_VIEWER, "muted everywhere", None).await;
    // An admin of a channel does not mute its workspace, and learns nothing of another one.
    expect("anna", TEA, "speaking in 0 of 1 workspaces", None).await;
    assert_eq!(program.stop(), Some(0));
}

/// A PostgreSQL server has statements of its own.
#[tokio::test]
async fn nothing_of_another_place_on_a_server_reaches_a_limited_visitor() {
    let home = Home::new(1000.0);
    let history = written(&home).await;
    let walk = Walk::new(&home, &history.places[..2], "hidden", "U1").await;
    let mut addresses = walk.pages();
    let url = postgres::database();
    let mut migrate = aizuchi();
    migrate.arg("--config").arg(home.config()).args(["migrate", "--to", &url]).assert().success();
    home.replace(&format!("sqlite://{}", home.database().display()), &url);
    let program = home.start();
    addresses.extend(walk.api_reads(&program).await);
    let mut found = Found::default();
    found.read(&program, &addresses).await;
    let Found { elsewhere, own: [tea, ..] } = found;
    assert!(elsewhere >= 25 && tea >= 20, "{elsewhere} and {tea} of {}", addresses.len());
    expect_own_answers(&program).await;
    assert_eq!(program.stop(), Some(0));
}

/// The tools of assistants look up no other place, and find what is said in their own.
async fn expect_own_answers(program: &Program) {
    for (tool, arguments) in [
        ("search_messages", json!({ "query": "hidden ripe" })),
        ("search_messages", json!({ "query": CANARY, "workspace": GARDEN })),
        ("search_messages", json!({ "query": CANARY, "channel": "C0ATTIC" })),
        ("recall", json!({})),
        ("recall", json!({ "workspace": GARDEN })),
        ("recall", json!({ "workspace": MODS })),
        ("decisions", json!({ "channel": "C0ATTIC" })),
        ("decisions", json!({ "channel": "C0TEA" })),
        ("status", json!({})),
    ] {
        let answers = |token| call(program, Some(token), tool, arguments.clone());
        let answer = answers(TEA).await.to_string();
        assert!(!answer.contains(CANARY), "{tool} {arguments}: {answer}");
        let named = arguments["channel"].as_str().or(arguments["workspace"].as_str());
        match (tool, named) {
            ("search_messages" | "recall", None) | (_, Some("C0TEA")) => {
                assert!(answer.contains(OWN), "{tool} {arguments}: {answer}");
                let answer = answers(POND_VIEWER).await.to_string();
                assert!(!answer.contains(CANARY) && !answer.contains(OWN), "{tool}: {answer}");
            }
            _ => {}
        }
    }
}

/// What is about the installation is for those who reach all of it, and so is the local room for those who reach it.
async fn expect_no_installation(program: &Program) {
    let names = json_of(get(program, Some(TEA), "/api/workspaces").await).await;
    let names: Vec<&Value> = names["workspaces"].as_array().unwrap().iter().collect();
    assert_eq!(names.iter().map(|it| &it["id"]).collect::<Vec<_>>(), [&json!(GARDEN)]);
    for path in [
        "/metrics", "/api/models", "/api/configuration", "/console/configuration",
        "/events?after=0", "/api/room", "/api/channels", "/api/forgettings",
    ] {
        let status = get(program, Some(TEA), path).await.status();
        assert!(status.is_client_error(), "{path}: {status}");
        assert!(get(program, Some(ADMIN), path).await.status().is_success(), "{path}");
    }
    assert_eq!(get(program, Some(TEA), "/").await.status(), 303);
    let spent = |token| get(program, Some(token), "/api/spending?workspace=T0GARDEN");
    let (limited, all) = (json_of(spent(TEA).await).await, json_of(spent(ADMIN).await).await);
    let tea = |all: &Value| {
        let channels = all["channels"].as_array().unwrap().clone();
        let tea = channels.into_iter().find(|it| it["id"] == "C0TEA");
        tea.unwrap()["tokens_in_month"].as_u64().unwrap()
    };
    assert_eq!(limited["channels"].as_array().unwrap().len(), 1, "{limited}");
    let in_month = |all: &Value| all["workspace"]["tokens_in_month"].as_u64().unwrap();
    assert_eq!((tea(&limited), in_month(&limited)), (tea(&all), tea(&all)));
    assert!(tea(&all) > 0 && in_month(&limited) < in_month(&all), "{limited} {all}");
}

/// What orders change.
const STATE: &str = "
    SELECT 'orders', group_concat(kind || channel || given_by, ' ') FROM given_orders
    UNION ALL SELECT 'standing', group_concat(number || '-' || version || text || coalesce(ended_ms, '') || is_draft, ' ') FROM standing_orders
    UNION ALL SELECT 'memos', group_concat(id || memo, ' ') FROM memos
    UNION ALL SELECT 'memories', count(*) || ' ' || sum(is_current * id) FROM memories
    UNION ALL SELECT 'letters', group_concat(id, ' ') FROM dead_letters
    UNION ALL SELECT 'marks', group_concat(decision || mark, ' ') FROM decision_marks
    UNION ALL SELECT 'proposals', group_concat(id || state, ' ') FROM proposals
    UNION ALL SELECT 'calls', group_concat(id || state, ' ') FROM consents
    UNION ALL SELECT 'people', count(*) || '' FROM users
    UNION ALL SELECT 'opted out', group_concat(user, ' ') FROM opted_out
    UNION ALL SELECT 'messages', count(*) || '' FROM messages";

#[tokio::test]
async fn a_limited_visitor_orders_nothing_elsewhere() {
    let home = Home::new(1000.0);
    written(&home).await;
    let ids = "
        SELECT CAST((SELECT max(number) FROM standing_orders WHERE channel = 'C0ATTIC' AND is_draft = 0) AS TEXT),
            CAST((SELECT max(number) FROM standing_orders WHERE channel = 'C0ATTIC' AND is_draft = 1) AS TEXT),
            CAST((SELECT max(id) FROM decisions WHERE channel = 'C0ATTIC' AND ended IS NOT NULL) AS TEXT),
            CAST((SELECT max(id) FROM proposals WHERE channel = 'C0ATTIC' AND state = 'open') AS TEXT),
            CAST((SELECT max(id) FROM consents WHERE channel = 'C0ATTIC' AND state = 'open') AS TEXT),
            CAST((SELECT max(id) FROM dead_letters WHERE channel = 'C0ATTIC') AS TEXT),
            CAST((SELECT max(id) FROM memos WHERE channel = 'C0ATTIC') AS TEXT),
            CAST((SELECT max(id) FROM memories WHERE channel = 'C0ATTIC' AND scope = 'channel'
                AND term = 'long_term') AS TEXT)";
    let [standing, draft, decision, proposal, call, letter, memo, memory]: [String; 8] =
        home.rows(ids).await.remove(0).try_into().unwrap();
    let program = home.start();
    let before = home.rows(STATE).await;
    let attic = |more: Value| {
        let mut body = json!({ "workspace": GARDEN, "channel": "C0ATTIC" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let garden = |more: Value| {
        let mut body = attic(more);
        body.as_object_mut().unwrap().remove("channel");
        body
    };
    let memory = memory.parse::<i64>().unwrap();
    let requests = [
        ("POST", "/api/mute".to_owned(), attic(json!({}))),
        ("POST", "/api/mute".to_owned(), garden(json!({}))),
        ("POST", "/api/unmute".to_owned(), garden(json!({}))),
        ("POST", "/api/stop".to_owned(), attic(json!({}))),
        ("POST", "/api/mode".to_owned(), attic(json!({ "mode": "off" }))),
        ("POST", "/api/opt-out".to_owned(), garden(json!({ "user": "U1" }))),
        ("POST", "/api/opt-out".to_owned(), garden(json!({ "user": "U3", "undo": true }))),
        ("POST", "/api/standing-orders".to_owned(), attic(json!({ "text": "Be brief." }))),
        ("POST", "/api/standing-orders".to_owned(), garden(json!({ "text": "Be brief." }))),
        (
            "POST",
            "/api/standing-orders".to_owned(),
            garden(json!({ "number": standing.parse::<i64>().unwrap(), "text": "Be brief." })),
        ),
        (
            "POST",
            "/api/standing-orders".to_owned(),
            garden(
                json!({ "number": standing.parse::<i64>().unwrap(), "text": "Be brief.", "draft": true }),
            ),
        ),
        ("POST", format!("/api/standing-orders/{draft}/keep?workspace={GARDEN}"), Value::Null),
        ("DELETE", format!("/api/standing-orders/{standing}?workspace={GARDEN}"), Value::Null),
        ("DELETE", format!("/api/standing-orders/{draft}?workspace={GARDEN}"), Value::Null),
        (
            "POST",
            "/api/settings".to_owned(),
            attic(json!({ "setting": "language", "value": "ja" })),
        ),
        (
            "POST",
            "/api/settings".to_owned(),
            garden(json!({ "setting": "language", "value": "ja" })),
        ),
        (
            "POST",
            "/api/channels/order".to_owned(),
            garden(json!({ "channels": ["C0ATTIC"], "order": "mute" })),
        ),
        ("POST", format!("/api/decisions/{decision}/mark"), json!({ "mark": "right" })),
        ("POST", format!("/api/decisions/{decision}/judge"), json!({ "cap": 0.1 })),
        ("POST", format!("/api/proposals/{proposal}"), json!({ "choice": "discard" })),
        ("POST", format!("/api/calls/{call}"), json!({ "choice": "refuse" })),
        ("POST", format!("/api/dead-letters/{letter}/retry"), Value::Null),
        ("DELETE", format!("/api/dead-letters/{letter}"), Value::Null),
        (
            "POST",
            "/api/memories".to_owned(),
            attic(json!({
                "scope": "channel", "term": "long_term", "version": memory, "order": "regenerate",
            })),
        ),
        (
            "PUT",
            format!("/api/memos/{memo}"),
            garden(json!({ "content": "gone", "priority": 1, "tags": [] })),
        ),
        ("DELETE", format!("/api/memos/{memo}?workspace={GARDEN}"), Value::Null),
        ("DELETE", format!("/api/person?workspace={GARDEN}&user=U1"), Value::Null),
        (
            "POST",
            "/api/messages".to_owned(),
            json!({ "channel": "general", "user": "Ken", "text": "hello" }),
        ),
        ("POST", "/api/channels".to_owned(), json!({ "name": "attic" })),
        ("POST", "/api/people".to_owned(), json!({ "name": "Ken" })),
        ("POST", "/api/files?name=a".to_owned(), json!({})),
        ("POST", "/api/demo".to_owned(), Value::Null),
        ("POST", "/api/reload".to_owned(), Value::Null),
        ("POST", "/api/models".to_owned(), json!({ "kind": "builtin" })),
        ("POST", "/api/models/look".to_owned(), Value::Null),
    ];
    for token in [LOBBY, POND, POND_VIEWER, TEA] {
        for (method, path, body) in &requests {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let request = client().request(method.clone(), format!("{}{path}", program.address));
            let request = request.bearer_auth(token);
            let request = if body.is_null() { request } else { request.json(body) };
            let answer = request.send().await.unwrap();
            let (status, refusal) = (answer.status(), answer.text().await.unwrap());
            assert!(status.is_client_error(), "{method} {path} {body} as {token}: {refusal}");
            assert!(!refusal.contains(CANARY), "{method} {path} as {token}: {refusal}");
        }
        let form = |fields: &str| {
            let request = client().post(format!("{}/console/orders", program.address));
            let request = request.header("content-type", "application/x-www-form-urlencoded");
            request.bearer_auth(token).body(fields.to_owned()).send()
        };
        for fields in [
            format!("order=mute&workspace={GARDEN}&channel=C0ATTIC"),
            format!("order=mute&workspace={GARDEN}&channel="),
            format!("order=learn-anew&workspace={GARDEN}"),
            format!("order=drop-draft+{draft}&workspace={GARDEN}"),
            format!("order=mute&workspace={}&channel=", encode(MODS)),
        ] {
            let status = form(&fields).await.unwrap().status();
            assert!(status.is_client_error(), "{fields} as {token}: {status}");
        }
    }
    assert_eq!(home.rows(STATE).await, before);
    // What they order in their own place is carried out, and a mute of everything mutes what they reach.
    let muted = |token, body: Value| {
        let request = client().post(format!("{}/api/mute", program.address)).json(&body);
        async move { request.bearer_auth(token).send().await.unwrap().status() }
    };
    let tea = json!({ "workspace": GARDEN, "channel": "C0TEA" });
    assert_eq!(muted(POND, tea.clone()).await, 404);
    assert_eq!(muted(TEA, tea).await, 204);
    // An order for several channels is given if all of them are reached, and can be undone.
    let order = |path: &str, channels: Value| {
        let body = json!({ "workspace": GARDEN, "channels": channels, "order": "mode observe" });
        client().post(format!("{}{path}", program.address)).bearer_auth(TEA).json(&body).send()
    };
    let refused = order("/api/channels/order", json!(["C0TEA", "C0ATTIC"])).await.unwrap();
    assert_eq!(refused.status(), 404);
    let changed = json_of(order("/api/channels/order", json!(["C0TEA"])).await.unwrap()).await;
    assert_eq!(changed["changed"], json!(["C0TEA"]), "{changed}");
    let undo = format!("/api/orders/{}/undo", changed["number"]);
    assert_eq!(order(&undo, json!([])).await.unwrap().status(), 200);
    let everything = |token| {
        let request = client().post(format!("{}/console/orders", program.address));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        request.bearer_auth(token).body("order=mute-everything").send()
    };
    assert_eq!(everything(TEA).await.unwrap().status(), 403);
    assert_eq!(everything(POND).await.unwrap().status(), 303);
    let given = "SELECT workspace, coalesce(channel, ''), given_by FROM given_orders
        WHERE given_by IN ('anna', 'dan', 'olga', 'vera') ORDER BY id";
    home.until_kept(&format!("SELECT count(*) FROM ({given})"), 4).await;
    let expected = [[GARDEN, "C0TEA", "anna"], [GARDEN, "", "anna"], [GARDEN, "", "anna"]];
    let given = home.rows(given).await;
    assert_eq!(given[..3], expected);
    assert_eq!(given[3], ["T0POND", "", "olga"]);
    assert_eq!(program.stop(), Some(0));
}
