//! Tool calls in each provider's format: offered, called, answered, refused and malformed.

use std::sync::Arc;

use aizuchi_harness::fixtures::at;
use aizuchi_harness::providers::tools::Written;
use aizuchi_harness::providers::{ProviderApi, ProviderResponse, Server, ServerLimits};
use aizuchi_llm::fallback::Models;
use aizuchi_llm::prompt::tool::{ToolResult, ToolRound, ToolSpec};
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_llm::provider::{ProviderMind, ProviderSettings};
use aizuchi_llm::provider_list::Provider;
use aizuchi_llm::{Llm, LlmResponse};
use aizuchi_model::clock::Clock;
use aizuchi_model::memory::Lineage;
use serde_json::{Value, json};

use crate::models::{EVERYONE, LIMIT, advance_while, ask, mind, prompt, provider_api, settings};

fn specs() -> Vec<ToolSpec> {
    let parameters = json!({
        "type": "object",
        "properties": { "name": { "type": "string" } },
        "required": ["name"],
    });
    vec![
        ToolSpec { name: "get_memo".into(), description: "Reads a memo.".into(), parameters },
        ToolSpec {
            name: "list_memo".into(),
            description: "Lists memos.".into(),
            parameters: json!({ "type": "object", "properties": {} }),
        },
    ]
}

fn offering() -> Prompt {
    prompt(PromptVerb::Reply).with_tools(specs())
}

fn written(id: &str, name: &str, arguments: &str) -> Written {
    (id.to_owned(), name.to_owned(), arguments.to_owned())
}

/// A round in which each call is answered with its own arguments.
fn round(answer: LlmResponse) -> ToolRound {
    let uses = answer.tool_calls.into_iter().map(|call| {
        let result = format!("about {}", call.arguments["name"].as_str().unwrap_or("nothing"));
        ToolResult { call, text: result, lineage: Lineage::default() }
    });
    ToolRound {
        text: answer.text,
        results: uses.collect(),
        assistant_message: answer.assistant_message,
    }
}

async fn asks(mind: &ProviderMind, clock: &Clock, prompt: &Prompt) -> LlmResponse {
    advance_while(clock, at(59), mind.ask(prompt)).await.unwrap()
}

#[tokio::test]
async fn every_provider_is_sent_tools_and_their_results() {
    for provider in EVERYONE {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mind = mind(provider, &server, &clock);
        let two = vec![
            written("toolu_1", "get_memo", r#"{"name": "tea"}"#),
            written("toolu_2", "get_memo", r#"{"name": "cake"}"#),
        ];
        let one = vec![written("toolu_3", "list_memo", "{}")];
        server.then([
            ProviderResponse::Calls("Let me see.", two),
            ProviderResponse::Calls("", one),
            ProviderResponse::Says("Tea it is.".to_owned()),
        ]);
        let mut prompt = offering();
        let first = asks(&mind, &clock, &prompt).await;
        assert_eq!(first.text, "Let me see.", "{provider:?}");
        let called: Vec<(&str, &Value)> =
            first.tool_calls.iter().map(|call| (&*call.name, &call.arguments)).collect();
        let (tea, cake) = (json!({ "name": "tea" }), json!({ "name": "cake" }));
        assert_eq!(called, [("get_memo", &tea), ("get_memo", &cake)], "{provider:?}");
        prompt.tool_rounds.push(round(first));
        let second = asks(&mind, &clock, &prompt).await;
        prompt.tool_rounds.push(round(second));
        let answer = asks(&mind, &clock, &prompt).await;
        assert_eq!((&*answer.text, answer.tool_calls.len()), ("Tea it is.", 0), "{provider:?}");
        // The server has checked that each call was answered as its provider requires.
        let seen = server.requests();
        assert_eq!(seen.len(), 3, "{provider:?}");
        let sent = sent(provider_api(provider), &seen[2].body);
        assert_eq!(sent, ["about tea", "about cake", "about nothing"], "{provider:?}");
        for seen in &seen {
            assert_eq!(names(provider_api(provider), &seen.body), ["get_memo", "list_memo"]);
        }
    }
}

/// The names of the tools that a request offers.
fn names(api: ProviderApi, body: &Value) -> Vec<&str> {
    let tools = match api {
        ProviderApi::OpenAi | ProviderApi::Anthropic => &body["tools"],
        ProviderApi::Gemini => &body["tools"][0]["functionDeclarations"],
    };
    let name = |tool| match api {
        ProviderApi::OpenAi => &Value::get(tool, "function").unwrap()["name"],
        ProviderApi::Anthropic | ProviderApi::Gemini => &tool["name"],
    };
    tools.as_array().unwrap().iter().map(|tool| name(tool).as_str().unwrap()).collect()
}

/// The tool results in a request.
fn sent(api: ProviderApi, body: &Value) -> Vec<String> {
    let turns = if api == ProviderApi::Gemini { &body["contents"] } else { &body["messages"] };
    let turns = turns.as_array().unwrap().iter();
    let results: Vec<&Value> = match api {
        ProviderApi::OpenAi => {
            turns.filter(|turn| turn["role"] == "tool").map(|turn| &turn["content"]).collect()
        }
        ProviderApi::Anthropic => turns
            .filter_map(|turn| turn["content"].as_array())
            .flatten()
            .filter(|block| block["type"] == "tool_result")
            .map(|block| &block["content"])
            .collect(),
        ProviderApi::Gemini => turns
            .filter_map(|turn| turn["parts"].as_array())
            .flatten()
            .filter_map(|part| part.get("functionResponse"))
            .map(|result| &result["response"]["content"])
            .collect(),
    };
    results.into_iter().map(|result| result.as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn signed_thoughts_are_returned_to_their_provider_only() {
    for (provider, signatures) in [
        (Provider::Anthropic, &["signed-by-anthropic", "hidden-by-anthropic"][..]),
        (Provider::Gemini, &["signed-by-gemini"][..]),
        (
            Provider::OpenRouter,
            &["signed-by-openrouter", "signed-beside-the-call", "hidden-behind-litellm"][..],
        ),
    ] {
        let tea = written("toolu_1", "get_memo", r#"{"name": "tea"}"#);
        for calls in [
            vec![tea.clone()],
            // A malformed call next to it.
            vec![tea.clone(), written("toolu_2", "get_memo", "{")],
        ] {
            let server = Server::start(ServerLimits::default()).await;
            let clock = Clock::manual(at(0));
            server.then([ProviderResponse::Calls("", calls)]);
            let mut prompt = offering();
            let answer = asks(&mind(provider, &server, &clock), &clock, &prompt).await;
            prompt.tool_rounds.push(round(answer));
            for (other, is_signed) in [(provider, true), (Provider::OpenAi, false)] {
                asks(&mind(other, &server, &clock), &clock, &prompt).await;
                let body = server.requests().pop().unwrap().body.to_string();
                for signature in signatures {
                    assert_eq!(body.contains(*signature), is_signed, "{provider:?} {other:?}");
                }
                assert!(body.contains("about tea"), "{provider:?} {other:?}");
            }
        }
    }
}

/// Results are matched to calls by their ids, so the calls get new ones. The signatures stay.
#[tokio::test]
async fn signed_thoughts_are_returned_with_calls_that_have_no_ids() {
    for (provider, signature) in [
        (Provider::Anthropic, "signed-by-anthropic"),
        (Provider::OpenRouter, "signed-by-openrouter"),
    ] {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mind = mind(provider, &server, &clock);
        let same = || written("toolu_1", "get_memo", r#"{"name": "tea"}"#);
        server.then([ProviderResponse::Calls("", vec![same(), same()])]);
        let mut prompt = offering();
        let answer = asks(&mind, &clock, &prompt).await;
        prompt.tool_rounds.push(round(answer));
        asks(&mind, &clock, &prompt).await;
        let body = server.requests().pop().unwrap().body.to_string();
        assert!(body.contains(signature) && body.contains("call00001"), "{provider:?} {body}");
        assert_eq!(server.requests().len(), 2, "{provider:?}");
    }
}

#[tokio::test]
async fn the_fallback_model_continues_with_the_tool_results() {
    for (first, second) in [
        (Provider::OpenAi, Provider::Anthropic),
        (Provider::Anthropic, Provider::Gemini),
        (Provider::Gemini, Provider::OpenAi),
    ] {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let settings = ProviderSettings { max_attempts: 1, ..settings(first, &server.base) };
        let one = Arc::new(ProviderMind::new(&settings, clock.clone()).unwrap());
        let other = Arc::new(mind(second, &server, &clock));
        let both = Models::new(one, Some(other));
        let asks = async |prompt: &Prompt| both.ask(prompt, LIMIT, &clock).await.unwrap();
        let call = written("toolu_1", "get_memo", r#"{"name": "tea"}"#);
        server.then([
            ProviderResponse::Calls("", vec![call]),
            ProviderResponse::Status(503, vec![], String::new()),
            ProviderResponse::Says("Tea it is.".to_owned()),
        ]);
        let mut prompt = offering();
        prompt.tool_rounds.push(round(asks(&prompt).await));
        assert_eq!(asks(&prompt).await.text, "Tea it is.", "{first:?} {second:?}");
        assert_eq!(sent(provider_api(second), &server.requests()[2].body), ["about tea"]);
    }
}

#[tokio::test]
async fn a_server_without_tool_support_is_asked_without_tools() {
    for (provider, asked, fails_instead) in [
        (Provider::Ollama, [3, 4, 5], false),
        // Like llama.cpp without --jinja.
        (Provider::OpenAi, [3, 4, 5], true),
        (Provider::Anthropic, [2, 3, 4], false),
        (Provider::Gemini, [2, 3, 4], false),
    ] {
        let limits =
            ServerLimits { knows_no_tools: true, fails_instead, ..ServerLimits::default() };
        let server = Server::start(limits).await;
        let clock = Clock::manual(at(0));
        let mind = mind(provider, &server, &clock);
        for calls in asked {
            assert_eq!(asks(&mind, &clock, &offering()).await.text, "fine", "{provider:?}");
            // What the server supports is remembered.
            assert_eq!(server.requests().len(), calls, "{provider:?}");
        }
        // The refusal may have had another reason, so tools are tried again after a while.
        clock.advance_to(at(3700));
        asks(&mind, &clock, &offering()).await;
        assert_eq!(server.requests().len(), asked[2] + asked[0], "{provider:?}");
        // A judge's schema is not a tool.
        ask(&mind, &clock, PromptVerb::Judge).await.unwrap();
        let last = server.requests().pop().unwrap().body.to_string();
        assert!(last.contains("should_respond\":{"), "{provider:?} {last}");
    }
}

#[tokio::test]
async fn a_gateway_without_tool_support_is_asked_without_tools() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let mind = mind(Provider::OpenRouter, &server, &clock);
    let none = || ProviderResponse::Status(404, vec![], String::new());
    server.then([none(), none()]);
    assert_eq!(asks(&mind, &clock, &offering()).await.text, "fine");
    assert_eq!(asks(&mind, &clock, &offering()).await.text, "fine");
    assert_eq!(server.requests().len(), 4);
    assert!(
        server.requests()[2].body["tools"].is_null()
            && server.requests()[3].body["tools"].is_null()
    );
}

#[tokio::test]
async fn one_refusal_after_tool_results_does_not_disable_tools() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let mind = mind(Provider::Anthropic, &server, &clock);
    let call = written("toolu_1", "get_memo", r#"{"name": "tea"}"#);
    let refusal = ProviderResponse::Status(400, vec![], String::new());
    server.then([ProviderResponse::Calls("", vec![call]), refusal]);
    let mut prompt = offering();
    let answer = asks(&mind, &clock, &prompt).await;
    prompt.tool_rounds.push(round(answer));
    for (question, has_tools) in [(&prompt, false), (&offering(), true)] {
        asks(&mind, &clock, question).await;
        assert_eq!(server.requests().pop().unwrap().body["tools"].is_array(), has_tools);
    }
}

#[tokio::test]
async fn tool_results_are_told_as_text_to_a_server_that_refuses_tools() {
    for provider in EVERYONE {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mind = mind(provider, &server, &clock);
        let call = written("toolu_1", "get_memo", r#"{"name": "tea"}"#);
        server.then([ProviderResponse::Calls("", vec![call])]);
        let mut prompt = offering();
        let answer = asks(&mind, &clock, &prompt).await;
        prompt.tool_rounds.push(round(answer));
        prompt.tools.clear();
        assert_eq!(asks(&mind, &clock, &prompt).await.text, "fine");
        let body = server.requests().pop().unwrap().body;
        assert!(body["tools"].is_null(), "{provider:?}");
        let told = r#"- get_memo {\"name\":\"tea\"}\n> about tea\n"#;
        assert!(body.to_string().contains(told), "{provider:?} {body}");
    }
}

#[tokio::test]
async fn malformed_calls_are_sent_back_repaired() {
    for provider in EVERYONE {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mind = mind(provider, &server, &clock);
        let calls = vec![
            written("toolu_1", "get_memo", r#"{"name": "tea"#),
            written("toolu_1", "no such tool\n", r#""tea""#),
            written("", "", "[1, 2]"),
            written("toolu_4", "list_memo", ""),
        ];
        server
            .then([ProviderResponse::Calls("", calls), ProviderResponse::Says("done".to_owned())]);
        let mut prompt = offering();
        let answer = asks(&mind, &clock, &prompt).await;
        let read: Vec<&str> = answer.tool_calls.iter().map(|call| &*call.name).collect();
        assert_eq!(read, ["get_memo", "no such tool\n", "", "list_memo"], "{provider:?}");
        assert!(answer.usage.input_tokens > 0, "{provider:?}");
        if provider_api(provider) == ProviderApi::OpenAi {
            let read: Vec<&Value> = answer.tool_calls.iter().map(|call| &call.arguments).collect();
            let expected = [json!(r#"{"name": "tea"#), json!("tea"), json!([1, 2]), json!({})];
            assert_eq!(read, expected.iter().collect::<Vec<_>>(), "{provider:?}");
        }
        prompt.tool_rounds.push(round(answer));
        assert_eq!(asks(&mind, &clock, &prompt).await.text, "done", "{provider:?}");
        assert_eq!(server.requests().len(), 2, "{provider:?}");
    }
}

#[tokio::test]
async fn omitted_calls_are_not_repeated() {
    for provider in EVERYONE {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mind = mind(provider, &server, &clock);
        let calls = (0..300).map(|n| written(&format!("toolu_{n}"), "list_memo", "{}"));
        server.then([ProviderResponse::Calls("", calls.collect())]);
        let mut prompt = offering();
        let answer = asks(&mind, &clock, &prompt).await;
        assert_eq!(answer.tool_calls.len(), 300, "{provider:?}");
        let mut round = round(answer);
        round.results.truncate(8);
        prompt.tool_rounds.push(round);
        assert_eq!(asks(&mind, &clock, &prompt).await.text, "fine", "{provider:?}");
        assert_eq!(
            sent(provider_api(provider), &server.requests()[1].body).len(),
            8,
            "{provider:?}"
        );
    }
}

#[tokio::test]
async fn text_beside_a_call_is_an_answer() {
    for provider in EVERYONE {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mind = mind(provider, &server, &clock);
        let call = written("toolu_1", "list_memo", "{}");
        server.then([
            ProviderResponse::Calls("Noted!", vec![call]),
            ProviderResponse::Says(String::new()),
        ]);
        let mut prompt = offering();
        let answer = asks(&mind, &clock, &prompt).await;
        prompt.tool_rounds.push(round(answer));
        assert_eq!(asks(&mind, &clock, &prompt).await.text.trim(), "", "{provider:?}");
        assert_eq!(server.requests().len(), 2, "{provider:?}");
    }
}

#[tokio::test]
async fn calls_of_unknown_tools_are_no_answer() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let mind = mind(Provider::OpenAi, &server, &clock);
    let call = written("toolu_1", "list_memo", "{}");
    server.then(vec![ProviderResponse::Calls("", vec![call]); 3]);
    let error = ask(&mind, &clock, PromptVerb::Reply).await.unwrap_err().to_string();
    assert!(error.ends_with("its answer is empty"), "{error}");
}
