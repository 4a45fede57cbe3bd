//! The description of the API, against the running program.

use reqwest::Method;
use serde_json::{Value, json};

use crate::console::harness::{
    ADMIN, OPERATOR, VIEWER, client, get, json_of, set_tokens, slack_workspace,
};
use crate::slack::harness::SlackHarness;

/// The method, path and operation id of each request. Clients are generated from them, so they must not change.
const NAMES: &[&str] = &[
    "DELETE /api/dead-letters/{id} dropDeadLetter",
    "DELETE /api/demo endDemo",
    "DELETE /api/files/{id} removeFile",
    "DELETE /api/memos/{id} removeMemo",
    "DELETE /api/messages/{id} deleteMessage",
    "DELETE /api/person forgetPerson",
    "DELETE /api/plans/{id} dropPlan",
    "DELETE /api/standing-orders/{id} dropStandingOrder",
    "GET /api/calls listCalls",
    "GET /api/channels listChannels",
    "GET /api/configuration getConfiguration",
    "GET /api/dead-letters listDeadLetters",
    "GET /api/decisions listDecisions",
    "GET /api/failures listFailures",
    "GET /api/figures getFigures",
    "GET /api/files/{id} getFile",
    "GET /api/forgettings listForgettings",
    "GET /api/health getHealth",
    "GET /api/memories listMemories",
    "GET /api/memory-changes listMemoryChanges",
    "GET /api/messages listMessages",
    "GET /api/models getModels",
    "GET /api/opt-outs listOptOuts",
    "GET /api/orders listOrders",
    "GET /api/orders/export exportOrders",
    "GET /api/people listPeople",
    "GET /api/person getPerson",
    "GET /api/person/export exportPerson",
    "GET /api/plans listPlans",
    "GET /api/private-reads listPrivateReads",
    "GET /api/proposals listProposals",
    "GET /api/room getRoom",
    "GET /api/settings listSettings",
    "GET /api/spending getSpending",
    "GET /api/standing-orders listStandingOrders",
    "GET /api/status getStatus",
    "GET /api/workspaces listWorkspaces",
    "PATCH /api/messages/{id} editMessage",
    "POST /api/calls/{id} decideCall",
    "POST /api/channels addChannel",
    "POST /api/channels/order orderInChannels",
    "POST /api/dead-letters/{id}/retry retryDeadLetter",
    "POST /api/decisions/{id}/judge judgeAgain",
    "POST /api/decisions/{id}/mark markDecision",
    "POST /api/demo startDemo",
    "POST /api/files uploadFile",
    "POST /api/memories changeMemory",
    "POST /api/memos/{id}/revert revertMemo",
    "POST /api/messages postMessage",
    "POST /api/mode setMode",
    "POST /api/models chooseModel",
    "POST /api/models/look lookForModels",
    "POST /api/mute mute",
    "POST /api/opt-out optOut",
    "POST /api/orders/{id}/undo undoOrder",
    "POST /api/people addPerson",
    "POST /api/proposals/{id} decideProposal",
    "POST /api/reactions changeReaction",
    "POST /api/reload reload",
    "POST /api/settings changeSetting",
    "POST /api/standing-orders giveStandingOrder",
    "POST /api/standing-orders/{id}/keep keepStandingOrder",
    "POST /api/stop stop",
    "POST /api/trust-offers/{id} answerTrust",
    "POST /api/unmute unmute",
    "PUT /api/memos/{id} changeMemo",
];

/// Collects the parts of a value that do not conform to its schema.
fn differences(value: &Value, schema: &Value, all: &Value, place: &str, found: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let schema = all.pointer(reference.trim_start_matches('#')).unwrap();
        return differences(value, schema, all, place, found);
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(variants) = schema[choice].as_array() {
            let fits = variants.iter().any(|variant| {
                let mut found = Vec::new();
                differences(value, variant, all, place, &mut found);
                found.is_empty()
            });
            if !fits {
                found.push(format!("{place} is none of {choice}: {value}"));
            }
            return;
        }
    }
    if let Some(known) = schema["enum"].as_array()
        && !known.contains(value)
    {
        found.push(format!("{place} is {value}"));
    }
    if let Some(constant) = schema.get("const")
        && constant != value
    {
        found.push(format!("{place} is {value}, not {constant}"));
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let allowed: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return,
    };
    let is_allowed = allowed.contains(&kind) || kind == "integer" && allowed.contains(&"number");
    if !is_allowed {
        found.push(format!("{place} is of type {kind}, not {allowed:?}"));
        return;
    }
    match value {
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                differences(item, &schema["items"], all, &format!("{place}[{number}]"), found);
            }
        }
        Value::Object(fields) => {
            for required in schema["required"].as_array().into_iter().flatten() {
                if !fields.contains_key(required.as_str().unwrap()) {
                    found.push(format!("{place} lacks {required}"));
                }
            }
            for (name, field) in fields {
                let place = format!("{place}.{name}");
                match (&schema["properties"][name], &schema["additionalProperties"]) {
                    (Value::Null, Value::Object(_)) => {
                        differences(field, &schema["additionalProperties"], all, &place, found);
                    }
                    (Value::Null, _) => found.push(format!("{place} is not described")),
                    (schema, _) => differences(field, schema, all, &place, found),
                }
            }
        }
        _ => {}
    }
}

#[tokio::test]
async fn the_description_is_what_the_program_does() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.will_say(&["the tea is hot"]);
    harness.post_mention(&harness.tea, &harness.ren, "is the tea ready?");
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let description = json_of(get(&program, Some(VIEWER), "/api/openapi.json").await).await;
    assert_eq!(description["openapi"], "3.1.0");

    let mut names = Vec::new();
    for (path, operations) in description["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            names.push(format!("{} {path} {id}", method.to_uppercase()));
        }
    }
    names.sort_unstable();
    assert_eq!(names, NAMES);

    // Each operation exists, and each response to a read is as described.
    let mut fields = 0;
    for name in NAMES {
        let (method, path) = name.split_once(' ').unwrap();
        let path = path.split_once(' ').unwrap().0;
        let operation = &description["paths"][path][method.to_lowercase()];
        let method: Method = method.parse().unwrap();
        if method != Method::GET {
            let address = format!("{}{}", program.address, path.replace("{id}", "0"));
            let answer = client().request(method, address).bearer_auth(OPERATOR).send().await;
            let answer = answer.unwrap().text().await.unwrap();
            assert!(!answer.contains("nothing at this address"), "{name}: {answer}");
            assert!(!answer.contains("does not take that method"), "{name}: {answer}");
            continue;
        }
        let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        let tea = &harness.tea;
        for query in [
            format!("?workspace={workspace}&channel={tea}&decisions=true"),
            "?channel=general".to_owned(),
        ] {
            let answer = get(&program, Some(ADMIN), &format!("{path}{query}")).await;
            let status = answer.status();
            // A file.
            if status.is_success() && schema.is_null() {
                continue;
            }
            let answer = json_of(answer).await;
            let mut found = Vec::new();
            let schema = match status.is_success() {
                true => schema,
                false => {
                    &operation["responses"]["default"]["content"]["application/json"]["schema"]
                }
            };
            differences(&answer, schema, &description, path, &mut found);
            assert!(found.is_empty(), "{path}{query}: {found:#?}");
            fields += answer.to_string().len();
        }
    }
    assert!(fields > 4000, "{fields} bytes were compared");

    // The page lists each operation.
    let page = get(&program, Some(VIEWER), "/console/api").await.text().await.unwrap();
    for name in NAMES {
        let id = name.rsplit_once(' ').unwrap().1;
        assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
    }
    assert_eq!(program.stop(), Some(0));
}

#[test]
fn a_difference_is_found() {
    let schema = json!({
        "type": "object",
        "required": ["id"],
        "properties": { "id": { "type": "integer" }, "mode": { "enum": ["a"], "type": "string" } },
    });
    for (value, expected) in [
        (json!({ "id": 1 }), 0),
        (json!({ "id": 1, "mode": "a" }), 0),
        (json!({ "id": "1" }), 1),
        (json!({ "mode": "b", "more": 1 }), 3),
        (json!([]), 1),
    ] {
        let mut found = Vec::new();
        differences(&value, &schema, &Value::Null, "it", &mut found);
        assert_eq!(found.len(), expected, "{found:?}");
    }
}
