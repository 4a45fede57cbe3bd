//! What is known about models without calling them, why one does not answer, and how one replaces another.

use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;

use aizuchi_harness::fixtures::at;
use aizuchi_harness::net::free_port;
use aizuchi_harness::providers::{ProviderResponse, Server, ServerLimits};
use aizuchi_llm::Llm;
use aizuchi_llm::discover::{DISCOVERY_TIMEOUT, LocalServer, ServerEndpoint, discover};
use aizuchi_llm::fallback::Models;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_llm::provider::{ProviderMind, ProviderSettings};
use aizuchi_llm::provider_list::Provider;
use aizuchi_llm::scripted::ScriptedMind;
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::model_problem::ModelProblem;
use futures_util::future::{Either, select};

use crate::models::{EVERYONE, LIMIT, mind, prompt, settings};
use crate::web_server::{WebServer, response};

fn status(status: u16, code: &str) -> ProviderResponse {
    let body = serde_json::json!({ "error": { "code": code } }).to_string();
    ProviderResponse::Status(status, vec![], body)
}

fn raw(body: &str) -> ProviderResponse {
    ProviderResponse::Raw("application/json", body.to_owned())
}

#[tokio::test]
async fn a_problem_is_known_until_a_call_succeeds() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    for provider in EVERYONE {
        let once = ProviderSettings { max_attempts: 1, ..settings(provider, &server.base) };
        let model = ProviderMind::new(&once, clock.clone()).unwrap();
        assert_eq!(model.problem(), None);
        for (response, expected) in [
            (status(401, "x"), Some(ModelProblem::KeyRefused)),
            (status(402, "x"), Some(ModelProblem::NoFunds)),
            (status(404, "x"), Some(ModelProblem::UnknownModel)),
            (status(429, "insufficient_quota"), Some(ModelProblem::NoFunds)),
            (status(429, "x"), Some(ModelProblem::Overloaded)),
            (status(503, "x"), Some(ModelProblem::Overloaded)),
            (status(500, "x"), Some(ModelProblem::ServerFailed)),
            (raw(r#"{"error": "it burns"}"#), Some(ModelProblem::ServerFailed)),
            (raw(r#"{"error": {"code": 429}}"#), Some(ModelProblem::Overloaded)),
            (ProviderResponse::Raw("text/html", "<html>".to_owned()), Some(ModelProblem::Garbled)),
            (ProviderResponse::BreaksOff, Some(ModelProblem::Unreachable)),
            (ProviderResponse::Says("fine".to_owned()), None),
        ] {
            let what = format!("{provider:?} {response:?}");
            server.forget();
            server.then([response]);
            let answer = model.ask(&prompt(PromptVerb::Reply)).await;
            assert_eq!(answer.is_ok(), expected.is_none(), "{what}");
            assert_eq!(model.problem(), expected, "{what}");
        }
    }
}

#[tokio::test]
async fn a_list_of_models_tells_problems_and_costs_nothing() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::system();
    server.accepts_only("another key");
    for provider in [Provider::OpenAi, Provider::Ollama] {
        let model = mind(provider, &server, &clock);
        assert_eq!(model.probe().await, Some(ModelProblem::KeyRefused), "{provider:?}");
        assert_eq!(model.problem(), Some(ModelProblem::KeyRefused), "{provider:?}");
    }
    let server = Server::start(ServerLimits::default()).await;
    server.has_models(&["tiny:1b"]);
    let mut own = settings(Provider::Ollama, &server.base);
    let probe = async |settings: &ProviderSettings| {
        ProviderMind::new(settings, clock.clone()).unwrap().probe().await
    };
    assert_eq!(probe(&own).await, Some(ModelProblem::UnknownModel));
    own.model_name = "tiny:1b".to_owned();
    assert_eq!(probe(&own).await, None);
    // A provider may have models that it does not list.
    assert_eq!(probe(&settings(Provider::OpenAi, &server.base)).await, None);
    let away = settings(Provider::OpenAi, &format!("http://127.0.0.1:{}", free_port()));
    assert_eq!(probe(&away).await, Some(ModelProblem::Unreachable));
    assert!(server.requests().is_empty());

    // An unreachable model counts as fixed as soon as its server answers.
    let once = settings(Provider::OpenAi, &server.base);
    let once = ProviderSettings { max_attempts: 1, ..once };
    let model = ProviderMind::new(&once, clock.clone()).unwrap();
    server.then([ProviderResponse::BreaksOff]);
    model.ask(&prompt(PromptVerb::Reply)).await.unwrap_err();
    assert_eq!(model.problem(), Some(ModelProblem::Unreachable));
    assert_eq!(model.probe().await, None);
    assert_eq!(model.problem(), None);
}

#[tokio::test]
async fn a_prompt_goes_on_with_the_models_that_it_began_with() {
    let clock = Clock::manual(at(0));
    let says = |text: &str| {
        let mind = ScriptedMind::default();
        mind.set_default(PromptVerb::Reply, text);
        Arc::new(mind)
    };
    let models = Models::new(says("old"), None);
    let question = prompt(PromptVerb::Reply);
    let begun = models.tries(&question, clock.now());
    models.replace(says("new"), Some(says("other")));
    let next = begun.next_try().unwrap();
    assert_eq!(next.llm.ask(&question).await.unwrap().text, "old");
    assert_eq!(models.ask(&question, LIMIT, &clock).await.unwrap().text, "new");
    assert_eq!(models.all().len(), 2);
}

#[tokio::test]
async fn servers_are_found_and_others_are_no_hindrance() {
    let found = Server::start(ServerLimits::default()).await;
    found.has_models(&["qwen3:8b", "nomic-embed-text:latest"]);
    let endpoint = |server: LocalServer, base: &str| {
        let address: SocketAddr = base.trim_start_matches("http://").parse().unwrap();
        ServerEndpoint { server, address }
    };
    // A server that accepts connections and never answers.
    let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mute = format!("{}", mute.local_addr().unwrap());
    let strict = Server::start(ServerLimits::default()).await;
    strict.accepts_only("a key");
    let endpoints = [
        endpoint(LocalServer::Vllm, &mute),
        endpoint(LocalServer::LlamaCpp, &format!("127.0.0.1:{}", free_port())),
        endpoint(LocalServer::Vllm, &strict.base),
        endpoint(LocalServer::Ollama, &found.base),
        endpoint(LocalServer::LmStudio, &found.base),
    ];
    let clock = Clock::manual(at(0));
    let mut waiting = clock.sleepers();
    let discovering = pin!(discover(&endpoints, &clock));
    let only_the_mute_one = pin!(waiting.wait_for(|waiting| *waiting == 1));
    let Either::Right((_, discovering)) = select(discovering, only_the_mute_one).await else {
        panic!("the mute one has its time");
    };
    clock.advance_to(at(0) + DISCOVERY_TIMEOUT);
    let servers = discovering.await;
    let names: Vec<(LocalServer, Vec<String>)> = servers
        .iter()
        .map(|found| {
            (found.endpoint.server, found.models.iter().map(ToString::to_string).collect())
        })
        .collect();
    let models = |provider: &str| vec![format!("{provider}/qwen3:8b")];
    assert_eq!(
        names,
        [(LocalServer::Ollama, models("ollama")), (LocalServer::LmStudio, models("openai"))]
    );
    assert_eq!(servers[1].endpoint.api_base().unwrap(), format!("{}/v1/", found.base));
}

#[tokio::test]
async fn a_server_that_answers_after_a_second_is_found() {
    let clock = Clock::manual(at(0));
    let of_server = clock.clone();
    let server = WebServer::start(move |_| {
        of_server.advance_to(at(1));
        let list = br#"{ "data": [{ "id": "qwen3-8b" }] }"#;
        response(200, &[("content-type", "application/json")], list)
    })
    .await;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port));
    let endpoint = ServerEndpoint { server: LocalServer::Vllm, address };
    assert_eq!(discover(&[endpoint], &clock).await.len(), 1);
}
