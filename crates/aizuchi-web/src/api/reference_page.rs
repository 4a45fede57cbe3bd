//! The API reference for people: each request with its parameters and its response, from the API's description.

use std::sync::Arc;

use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use askama::Template;
use axum::extract::{Extension, State};
use axum::response::Html;
use serde_json::Value;

use crate::access::Visitor;
use crate::api::openapi;
use crate::api::routes::{ApiTopic, endpoints};
use crate::console::layout::{Layout, Section, render};
use crate::language::PageLanguage;
use crate::{ApiProblem, Web};

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

/// A field of a request or a response.
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
    let view = |endpoint: crate::api::routes::Endpoint| {
        let operation = &description["paths"][endpoint.path][endpoint.method.to_lowercase()];
        let mut fields: Vec<FieldView> = Vec::new();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let place = if parameter["in"] == "path" { "path" } else { "query" };
            fields.push(FieldView {
                name: text(&parameter["name"]),
                place,
                kind: kind(&parameter["schema"]),
                is_required: parameter["required"] == true,
                told: meaning(&parameter["description"], language),
            });
        }
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        fields.extend(fields_of(body, description, language));
        let status = endpoint.status.to_string();
        let answer = &operation["responses"][&status]["content"]["application/json"]["schema"];
        RequestView {
            id: endpoint.id,
            method: endpoint.method,
            path: endpoint.path,
            summary: (endpoint.summary)(language),
            status: endpoint.status,
            fields,
            answer: fields_of(answer, description, language),
        }
    };
    of_topic.map(view).collect()
}

/// Returns the fields of an object, or of each variant of a `oneOf`.
fn fields_of(schema: &Value, description: &Value, language: Language) -> Vec<FieldView> {
    let schema = resolve(schema, description);
    if let Some(variants) = schema["oneOf"].as_array() {
        let fields = |variant: &Value| fields_of(variant, description, language);
        return variants.iter().flat_map(fields).collect();
    }
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let own = properties.map(|(name, field)| FieldView {
        name: name.clone(),
        place: "body",
        kind: kind(field),
        is_required: required.contains(&Value::from(name.as_str())),
        told: meaning(&field["description"], language),
    });
    own.collect()
}

fn resolve<'a>(schema: &'a Value, description: &'a Value) -> &'a Value {
    let reference = schema["$ref"].as_str().map(|it| it.trim_start_matches('#'));
    reference.and_then(|place| description.pointer(place)).unwrap_or(schema)
}

/// Returns the type of a field, in a word.
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

/// Translates a field's description, which is in English.
fn meaning(told: &Value, language: Language) -> String {
    texts::api_fields::meaning(language, told.as_str().unwrap_or_default()).to_owned()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use aizuchi_model::texts::api_fields::MEANINGS;

    use super::*;

    #[test]
    fn each_meaning_is_told_in_japanese_and_none_is_left_over() {
        let description = openapi::describe();
        let told = |request: RequestView| {
            request.fields.into_iter().chain(request.answer).map(|field| field.told)
        };
        let all = ApiTopic::ALL.into_iter();
        let shown: BTreeSet<String> = all
            .flat_map(|topic| requests(topic, &description, Language::En))
            .flat_map(told)
            .filter(|told| !told.is_empty())
            .collect();
        let known: BTreeSet<String> =
            MEANINGS.iter().map(|(english, _)| (*english).to_owned()).collect();
        assert_eq!(shown, known);
        assert_eq!(known.len(), MEANINGS.len(), "none is given twice");
        assert!(MEANINGS.is_sorted());
    }
}
