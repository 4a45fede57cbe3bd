//! The API for people: each request with what it takes and what it answers, as the description has it.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Extension, State};
use axum::response::Html;
use serde_json::Value;

use crate::web::access::Visitor;
use crate::web::api_routes::{ApiTopic, endpoints};
use crate::web::console::layout::{Layout, Section, render};
use crate::web::language::PageLanguage;
use crate::web::{ApiProblem, Web, openapi};
use aizuchi_core::persona::Language;
use aizuchi_core::texts;

#[derive(Template)]
#[template(path = "console/api.html")]
struct ApiPage<'a> {
    layout: Layout<'a>,
    topics: Vec<TopicView>,
}

struct TopicView {
    key: String,
    name: &'static str,
    requests: Vec<RequestView>,
}

struct RequestView {
    id: &'static str,
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    status: u16,
    fields: Vec<FieldView>,
    answer: Vec<FieldView>,
}

/// A field that is sent or answered.
struct FieldView {
    name: String,
    /// Where it is sent: `path`, `query` or `body`.
    place: &'static str,
    kind: String,
    is_required: bool,
    told: String,
}

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
) -> Result<Html<String>, ApiProblem> {
    let description = openapi::describe();
    let topic = |topic: ApiTopic| TopicView {
        key: format!("{topic:?}").to_lowercase(),
        name: topic.name(language),
        requests: requests(topic, &description, language),
    };
    render(&ApiPage {
        layout: Layout::new(&web, &visitor, language, Section::Api),
        topics: ApiTopic::ALL.into_iter().map(topic).collect(),
    })
}

fn requests(topic: ApiTopic, description: &Value, language: Language) -> Vec<RequestView> {
    let of_topic = endpoints().into_iter().filter(|endpoint| endpoint.topic == topic);
    let view = |endpoint: crate::web::api_routes::Endpoint| {
        let operation = &description["paths"][endpoint.path][endpoint.method.to_lowercase()];
        let mut fields: Vec<FieldView> = Vec::new();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let place = if parameter["in"] == "path" { "path" } else { "query" };
            fields.push(FieldView {
                name: text(&parameter["name"]),
                place,
                kind: kind(&parameter["schema"]),
                is_required: parameter["required"] == true,
                told: text(&parameter["description"]),
            });
        }
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        fields.extend(fields_of(body, description));
        let status = endpoint.status.to_string();
        let answer = &operation["responses"][&status]["content"]["application/json"]["schema"];
        RequestView {
            id: endpoint.id,
            method: endpoint.method,
            path: endpoint.path,
            summary: (endpoint.summary)(language),
            status: endpoint.status,
            fields,
            answer: fields_of(answer, description),
        }
    };
    of_topic.map(view).collect()
}

/// The fields of an object, or of each of the objects that it may be.
fn fields_of(schema: &Value, description: &Value) -> Vec<FieldView> {
    let schema = resolve(schema, description);
    if let Some(variants) = schema["oneOf"].as_array() {
        return variants.iter().flat_map(|variant| fields_of(variant, description)).collect();
    }
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let own = properties.map(|(name, field)| FieldView {
        name: name.clone(),
        place: "body",
        kind: kind(field),
        is_required: required.contains(&Value::from(name.as_str())),
        told: text(&field["description"]),
    });
    own.collect()
}

fn resolve<'a>(schema: &'a Value, description: &'a Value) -> &'a Value {
    let reference = schema["$ref"].as_str().map(|it| it.trim_start_matches('#'));
    reference.and_then(|place| description.pointer(place)).unwrap_or(schema)
}

/// What a field holds, in a word.
fn kind(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or_default().to_owned();
    }
    if let Some(any) = schema["anyOf"].as_array() {
        return any.iter().map(kind).collect::<Vec<_>>().join(" | ");
    }
    if let Some(constant) = schema.get("const") {
        return constant.to_string();
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => format!("[{}]", kind(&schema["items"])),
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            let names: Vec<String> = names.iter().map(text).collect();
            match names.iter().any(|name| name == "array") {
                true => format!("[{}] | null", kind(&schema["items"])),
                false => names.join(" | "),
            }
        }
        _ => String::new(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
