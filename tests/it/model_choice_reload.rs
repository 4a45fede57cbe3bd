//! A config that is reloaded while a model that somebody chose on the page is being tried.

use aizuchi_harness::net::http;
use aizuchi_harness::providers::{ProviderResponse, Server, ServerLimits};
use reqwest::header::ORIGIN;
use serde_json::json;

use crate::program::Home;

#[tokio::test]
async fn a_choice_keeps_what_was_reloaded_during_its_trial() {
    let server = Server::start(ServerLimits::default()).await;
    server.then([ProviderResponse::Held("ok".to_owned())]);
    let home = Home::new(1000.0);
    let program = home.start();
    let choice = json!({
        "kind": "compatible",
        "api_base": format!("{}/v1", server.base),
        "model": "large-1",
        "key": "sk-test-0123456789abcdef",
    });
    let choosing = http().post(format!("{}/api/models", program.address));
    let choosing = choosing.header(ORIGIN, &program.address).json(&choice).send();
    let reloading = async {
        server.came(1).await;
        let env_file = home.config().with_file_name(".env");
        std::fs::write(&env_file, "OPENAI_API_KEY=sk-test-fedcba9876543210\n").unwrap();
        home.reload_until(&program, "nothing that can be reloaded has changed", 1).await;
        server.release();
    };
    let (answer, ()) = tokio::join!(choosing, reloading);
    let answer = answer.unwrap();
    assert_eq!(answer.status(), 200, "{}", home.log());
    let models = program.get("/api/models").await;
    assert_eq!(models["response"], "openai/large-1", "{models}");
    assert_eq!(models["providers"][0]["has_key"], true, "{models}");
    assert_eq!(program.stop(), Some(0));
}
