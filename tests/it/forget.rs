//! The command `aizuchi forget`, and the same on the console: while the program runs, and without it.

use aizuchi_harness::net::free_port;
use aizuchi_harness::postgres;
use assert_cmd::Command;
use reqwest::StatusCode;
use serde_json::Value;

use crate::command::aizuchi;
use crate::console::harness::{ADMIN, OPERATOR, client, get, json_of, set_tokens};
use crate::program::{Home, Program};

fn forget(home: &Home) -> Command {
    let mut command = aizuchi();
    command.arg("--config").arg(home.config()).args(["forget", "--user", "zebedee"]);
    command
}

/// Runs the command without stopping the program, and returns what it says.
fn forget_online(home: &Home) -> String {
    let done = forget(home).assert().success();
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

async fn say_two(program: &Program) {
    program.says("zebedee", "my honey wins prizes").await;
    program.says("zebedee", "every single year").await;
}

async fn texts(program: &Program) -> String {
    program.get("/api/messages?channel=general").await.to_string()
}

/// The command asks the running program, on either database.
#[tokio::test(flavor = "multi_thread")]
async fn a_running_program_forgets_when_the_command_asks_it() {
    for url in [None, Some(postgres::database())] {
        let home = Home::on(free_port(), 1000.0);
        if let Some(url) = url {
            home.replace(&format!("sqlite://{}", home.database().display()), &url);
        }
        let program = home.start();
        say_two(&program).await;
        program.says("ren", "the plums are ripe").await;
        let done = forget_online(&home);
        assert!(done.contains("2 messages, 0 messages of the companion"), "{done}");
        let left = texts(&program).await;
        assert!(!left.contains("honey") && left.contains("plums"), "{left}");
        // The journal keeps the numbers, and no name.
        let orders = program.get("/api/orders").await;
        let order = &orders["orders"][0];
        assert_eq!((&order["kind"], &order["user"]), (&"forget".into(), &Value::Null));
        assert!(order["value"].as_str().unwrap().contains("\"messages\":2"), "{order}");
        let again = forget(&home).assert().code(1);
        let again = String::from_utf8(again.get_output().stderr.clone()).unwrap();
        assert!(again.contains("there is no user with the id or name"), "{again}");
        assert_eq!(program.stop(), Some(0));
    }
}

/// With tokens, a code takes the place of one, and the person's name confirms the form on the console.
#[tokio::test(flavor = "multi_thread")]
async fn an_admin_forgets_on_the_console_after_typing_the_name() {
    for url in [None, Some(postgres::database())] {
        let home = Home::on(free_port(), 1000.0);
        set_tokens(&home);
        if let Some(url) = url {
            home.replace(&format!("sqlite://{}", home.database().display()), &url);
        }
        let program = home.start();
        for text in ["my honey wins prizes", "every single year"] {
            let body = serde_json::json!({ "channel": "general", "user": "Mia", "text": text });
            let sent = client().post(format!("{}/api/messages", program.address)).json(&body);
            assert_eq!(sent.bearer_auth(ADMIN).send().await.unwrap().status(), 201);
        }
        let people = get(&program, Some(ADMIN), "/console/people?person=mia").await;
        let people = people.text().await.unwrap();
        assert!(people.contains("<time data-ago"), "{people}");
        let address = people.split("/console/people/local/").nth(1).expect("Mia is listed");
        let id = address.split('"').next().unwrap();
        let page = format!("/console/people/local/{id}");
        let known = get(&program, Some(ADMIN), &page).await.text().await.unwrap();
        assert!(known.contains("#general") && known.contains(">2</td>"), "{known}");
        let export = format!("/api/person/export?user={id}");
        let exported = get(&program, Some(ADMIN), &export).await.text().await.unwrap();
        assert!(exported.contains("my honey wins prizes"), "{exported}");
        let send = async |token: &str, name: &str| {
            let form = [("workspace", "local"), ("user", id), ("name", name)];
            let sent = client().post(format!("{}/console/people", program.address)).form(&form);
            sent.bearer_auth(token).send().await.unwrap().status()
        };
        assert_eq!(send(OPERATOR, "Mia").await, StatusCode::FORBIDDEN);
        assert_eq!(send(ADMIN, "Tom").await, StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(send(ADMIN, "Mia").await, StatusCode::SEE_OTHER);
        let gone = loop {
            let found = json_of(get(&program, Some(ADMIN), "/api/forgettings").await).await;
            let forgetting = found["forgettings"][0].clone();
            if forgetting["done"] == true {
                break forgetting;
            }
            crate::program::next_poll().await;
        };
        assert_eq!(gone["gone"]["messages"], 2, "{gone}");
        let page = get(&program, Some(ADMIN), "/console/people?workspace=local").await;
        let page = page.text().await.unwrap();
        assert!(page.contains("2 messages, 0 messages of the bot"), "{page}");
        // The command is admitted without a token.
        let unknown = forget(&home).assert().code(1);
        let unknown = String::from_utf8(unknown.get_output().stderr.clone()).unwrap();
        assert!(unknown.contains("there is no user with the id or name"), "{unknown}");
        assert_eq!(program.stop(), Some(0));
    }
}

/// No other process may keep in memory what the command deletes.
#[tokio::test(flavor = "multi_thread")]
async fn beside_a_program_that_it_cannot_ask_the_command_refuses() {
    for url in [None, Some(postgres::database())] {
        let home = Home::on(free_port(), 1000.0);
        set_tokens(&home);
        if let Some(url) = url {
            home.replace(&format!("sqlite://{}", home.database().display()), &url);
        }
        let program = home.start();
        let body = serde_json::json!({ "channel": "general", "user": "Zebedee", "text": "honey" });
        let sent = client().post(format!("{}/api/messages", program.address)).json(&body);
        assert_eq!(sent.bearer_auth(ADMIN).send().await.unwrap().status(), 201);
        home.replace(ADMIN, "shut-sesame-9073518264");
        let refused = forget(&home).assert().code(1);
        let refused = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
        let says = |part: &str| assert!(refused.contains(part), "no {part:?} in {refused}");
        says("refuses this config");
        says("another Aizuchi is");
        let kept = get(&program, Some(ADMIN), "/api/messages?channel=general").await;
        assert!(kept.text().await.unwrap().contains("honey"));
        assert_eq!(program.stop(), Some(0));
        forget(&home).assert().success();
    }
}

#[tokio::test]
async fn a_user_is_forgotten_while_no_program_uses_the_database() {
    let home = Home::new(1000.0);
    let program = home.start();
    say_two(&program).await;
    assert_eq!(program.stop(), Some(0));
    let done = forget_online(&home);
    assert!(done.contains("2 messages, 0 messages of the companion"), "{done}");
    assert!(done.contains("at the next start"), "{done}");
}
