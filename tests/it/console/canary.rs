//! A word from private channels is in every stored text, and appears at no address of any role but the admin's: no
//! page, no response to a form or of the API, no stream and no metric, on either database.

use aizuchi_harness::postgres;
use futures_util::StreamExt;
use reqwest::Response;
use serde_json::{Value, json};

use crate::command::aizuchi;
use crate::console::harness::{ADMIN, OPERATOR, VIEWER, client, get, set_tokens};
use crate::console::walk::{PageForm, Walk, missing_forms, missing_routes};
use crate::generated::{GeneratedHistory, Place};
use crate::program::{Home, Program};

/// A word in private channels only.
const CANARY: &str = "zanzibarquartz";
/// A word in public channels, which operators may read, too.
const PUBLIC: &str = "plumharbor";

fn history() -> GeneratedHistory {
    let (slack, discord) = ("T0GARDEN", "discord:1180000000000000001");
    GeneratedHistory {
        places: vec![
            Place::new(slack, "C0TEA", "tea", "public"),
            Place::new(slack, "C0ATTIC", &format!("{CANARY}-attic"), "private"),
            Place::new(slack, "D0MIA", CANARY, "direct"),
            Place::new(discord, "1180000000000000002", "lobby", "public"),
            Place::new(discord, "1180000000000000003", &format!("{CANARY}-mods"), "private"),
        ],
        public_words: (0..10).map(|number| format!("{PUBLIC} {number} is ripe")).collect(),
        private_words: (0..10).map(|number| format!("the {CANARY} {number} is hidden")).collect(),
        messages: 450,
        decisions: 45,
    }
}

#[tokio::test]
async fn private_words_reach_no_address_of_another_role() {
    let home = Home::new(1000.0);
    let history = written(&home).await;
    let program = home.start();
    let walk = Walk::new(&home, &history.places, "hidden", "U1").await;
    let mut addresses = walk.pages();
    assert_eq!(missing_routes(&addresses), [""; 0]);
    addresses.extend(walk.trials());
    addresses.extend(walk.api_reads(&program).await);
    let (private, public) = read_as_each(&program, &addresses).await;
    assert!(private >= 100 && public >= 60, "{private} and {public} of {}", addresses.len());
    let forms = walk.forms();
    assert_eq!(missing_forms(&forms), [""; 0]);
    let (private, public) = send_as_each(&program, &forms).await;
    assert!(private >= 12 && public >= 2, "{private} and {public} of {}", forms.len());
    expect_silent_streams(&program).await;
    assert_eq!(program.stop(), Some(0));
}

/// A PostgreSQL server uses statements of its own.
#[tokio::test]
async fn private_words_of_a_server_reach_no_address_of_another_role() {
    let home = Home::new(1000.0);
    let history = written(&home).await;
    let walk = Walk::new(&home, &history.places[1..2], "hidden", "U1").await;
    let mut addresses = walk.pages();
    addresses.retain(|it| it.contains("C0ATTIC") || it.contains("/console/decisions/"));
    addresses.extend(
        [
            "/console", "/console/channels", "/console/queue", "/console/plans",
            "/console/failures", "/console/orders",
        ]
        .map(str::to_owned),
    );
    let url = postgres::database();
    let mut migrate = aizuchi();
    migrate.arg("--config").arg(home.config()).args(["migrate", "--to", &url]).assert().success();
    home.replace(&format!("sqlite://{}", home.database().display()), &url);
    let program = home.start();
    let reads = walk.api_reads(&program).await;
    addresses.extend(reads.into_iter().filter(|it| it.contains("C0ATTIC")));
    let (private, _) = read_as_each(&program, &addresses).await;
    assert!(private >= 15, "{private} of {}", addresses.len());
    let forms = walk.forms();
    let (private, _) = send_as_each(&program, &forms).await;
    assert!(private >= 4, "{private} of {}", forms.len());
    assert_eq!(program.stop(), Some(0));
}

/// Writes the history into a program's home, with a token for each role.
async fn written(home: &Home) -> GeneratedHistory {
    set_tokens(home);
    assert_eq!(home.start().stop(), Some(0));
    let history = history();
    history.write(home).await;
    history
}

/// The number of pages on which an admin reads private words, and an operator public ones.
#[derive(Default)]
struct Found {
    private: usize,
    public: usize,
}

impl Found {
    /// Counts the words that a response shows to a role.
    async fn look(&mut self, answer: Response, address: &str, token: &str) {
        let status = answer.status();
        let shown = answer.text().await.unwrap();
        assert!(!status.is_server_error(), "{address} as {token}: {shown}");
        match token {
            ADMIN => self.private += usize::from(shown.contains(CANARY)),
            _ => assert!(!shown.contains(CANARY), "{address} as {token}: {shown}"),
        }
        match token {
            OPERATOR => self.public += usize::from(shown.contains(PUBLIC)),
            VIEWER => assert!(!shown.contains(PUBLIC), "{address} as {token}: {shown}"),
            _ => {}
        }
    }
}

/// Opens each address with each role.
async fn read_as_each(program: &Program, addresses: &[String]) -> (usize, usize) {
    let mut found = Found::default();
    for address in addresses {
        for token in [ADMIN, OPERATOR, VIEWER] {
            found.look(get(program, Some(token), address).await, address, token).await;
        }
    }
    (found.private, found.public)
}

/// Submits each form with each role.
async fn send_as_each(program: &Program, forms: &[PageForm]) -> (usize, usize) {
    let mut found = Found::default();
    for form in forms {
        for token in [ADMIN, OPERATOR, VIEWER] {
            found.look(form.send(program, token, "en").await, &form.path, token).await;
        }
    }
    (found.private, found.public)
}

/// The stream of the console contains numbers only, and that of the local room the messages posted there.
async fn expect_silent_streams(program: &Program) {
    let said = json!({ "channel": "general", "user": "Ken", "text": "the last word" });
    let said = client().post(format!("{}/api/messages", program.address)).json(&said);
    assert_eq!(said.bearer_auth(ADMIN).send().await.unwrap().status(), 201);
    let streamed = async |token: &str, path: &str, until: &str| {
        let request = client().get(format!("{}{path}", program.address)).bearer_auth(token);
        let mut chunks = request.send().await.unwrap().bytes_stream();
        let mut text = String::new();
        while !text.contains(until) {
            let chunk = chunks.next().await.expect("the stream goes on").unwrap();
            text.push_str(&String::from_utf8_lossy(&chunk));
        }
        text
    };
    for token in [OPERATOR, VIEWER] {
        let change = streamed(token, "/console/events", "\n\n").await;
        let data = change.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(data, json!({ "revision": data["revision"] }));
    }
    let room = streamed(OPERATOR, "/events?after=0", "the last word").await;
    assert!(!room.contains(CANARY) && !room.contains(PUBLIC), "{room}");
}
