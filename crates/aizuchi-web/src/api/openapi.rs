//! The OpenAPI 3.1 description of the API, generated from the types of its requests and responses.

use std::sync::LazyLock;

use aizuchi_model::persona::Language;
use aizuchi_model::texts::api as texts;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::REFUSAL_HEADER;
use crate::api::routes::{Endpoint, SchemaOf, endpoints};

const DEFINITIONS: &str = "/components/schemas";

/// What went wrong, in a sentence.
#[derive(Serialize, JsonSchema)]
struct ErrorAnswer {
    error: String,
}

/// The description is the same for every visitor, and does not change while the program runs.
static DESCRIPTION: LazyLock<String> = LazyLock::new(|| describe().to_string());

/// `GET /api/openapi.json`.
pub async fn serve() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DESCRIPTION.as_str()).into_response()
}

/// Generates the schemas of requests and of responses. A field with a default is optional in a request, and always
/// present in a response.
struct Generators {
    taken: SchemaGenerator,
    answered: SchemaGenerator,
}

pub fn describe() -> Value {
    let mut generators = Generators::new();
    let error = generators.answered.subschema_for::<ErrorAnswer>();
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in endpoints() {
        let operation = generators.operation(&endpoint, &json!(error));
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        path[endpoint.method.to_lowercase()] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Aizuchi",
            "version": env!("CARGO_PKG_VERSION"),
            "description": texts::description(Language::En),
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "schemas": generators.definitions(),
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

impl Generators {
    fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.meta_schema = None;
                settings.definitions_path = DEFINITIONS.into();
            })
        };
        Self {
            taken: settings().for_deserialize().into_generator(),
            answered: settings().for_serialize().into_generator(),
        }
    }

    fn operation(&mut self, endpoint: &Endpoint, error: &Value) -> Value {
        let mut parameters = self.query(endpoint.query);
        if endpoint.path.contains("{id}") {
            let is_text = ["/api/messages/", "/api/files/"]
                .iter()
                .any(|begin| endpoint.path.starts_with(begin));
            let kind = if is_text { "string" } else { "integer" };
            parameters.push(json!({
                "name": "id", "in": "path", "required": true, "schema": { "type": kind },
            }));
        }
        let content = |schema: Value| json!({ "application/json": { "schema": schema } });
        let mut answer = json!({ "description": texts::done(Language::En) });
        if let Some(schema) = endpoint.answer {
            answer["content"] = content(json!(schema(&mut self.answered)));
        }
        let file = json!({
            "application/octet-stream": { "schema": { "type": "string", "format": "binary" } },
        });
        if endpoint.answers_file {
            answer["content"] = file.clone();
        }
        let name = json!({
            "description": texts::refusal_name(Language::En), "schema": { "type": "string" },
        });
        let mut operation = json!({
            "operationId": endpoint.id,
            "summary": (endpoint.summary)(Language::En),
            "tags": [endpoint.topic.name(Language::En)],
            "parameters": parameters,
            "responses": {
                endpoint.status.to_string(): answer,
                "default": {
                    "description": texts::refused(Language::En),
                    "headers": { REFUSAL_HEADER: name },
                    "content": content(error.clone()),
                },
            },
        });
        if let Some(schema) = endpoint.body {
            let schema = json!(schema(&mut self.taken));
            operation["requestBody"] = json!({ "required": true, "content": content(schema) });
        }
        if endpoint.takes_file {
            operation["requestBody"] = json!({ "required": true, "content": file });
        }
        operation
    }

    /// Returns one parameter for each field of a query.
    fn query(&mut self, query: Option<SchemaOf>) -> Vec<Value> {
        let Some(query) = query else { return Vec::new() };
        let schema = json!(query(&mut self.taken));
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let fields = schema["properties"].as_object().cloned().unwrap_or_default();
        let parameter = |(name, mut field): (String, Value)| {
            let told = field.as_object_mut().and_then(|field| field.remove("description"));
            let mut parameter = json!({
                "name": name,
                "in": "query",
                "required": required.contains(&json!(name)),
                "schema": field,
            });
            if let Some(told) = told {
                parameter["description"] = told;
            }
            parameter
        };
        fields.into_iter().map(parameter).collect()
    }

    fn definitions(mut self) -> Map<String, Value> {
        let mut definitions = self.taken.take_definitions(true);
        definitions.extend(self.answered.take_definitions(true));
        definitions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                    found.push(reference.to_owned());
                }
                fields.values().for_each(|field| references(field, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn whatever_is_referred_to_is_there() {
        let description = describe();
        let mut found = Vec::new();
        references(&description, &mut found);
        assert!(found.len() > 30, "{found:?}");
        for reference in found {
            let place = reference.trim_start_matches('#');
            assert!(description.pointer(place).is_some(), "{reference}");
        }
    }

    /// Only the choice of models applies to the whole program.
    #[test]
    fn every_request_takes_a_workspace_and_says_what_it_means() {
        let description = describe();
        let mut without = Vec::new();
        for (path, operations) in description["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                let parameters = operation["parameters"].as_array().unwrap();
                let parameter = parameters.iter().find(|it| it["name"] == "workspace");
                let body = &operation["requestBody"]["content"]["application/json"]["schema"];
                let body = body["$ref"].as_str().map(|it| it.trim_start_matches('#'));
                let body = body.and_then(|place| description.pointer(place));
                let field = parameter.or(body.map(|body| &body["properties"]["workspace"]));
                if field.and_then(|field| field["description"].as_str()).is_none() {
                    without.push(format!("{method} {path}"));
                }
            }
        }
        assert_eq!(
            without,
            [
                "post /api/orders/{id}/undo",
                "post /api/models",
                "post /api/models/look",
                "get /api/configuration",
                "post /api/reload"
            ]
        );
    }

    #[test]
    fn a_type_that_is_taken_and_answered_is_the_same() {
        let (mut generators, mut other) = (Generators::new(), Generators::new());
        for endpoint in endpoints() {
            endpoint.body.map(|schema| schema(&mut generators.taken));
            endpoint.answer.map(|schema| schema(&mut other.answered));
        }
        let (taken, answered) =
            (generators.taken.take_definitions(true), other.answered.take_definitions(true));
        for (name, schema) in &taken {
            assert!(answered.get(name).is_none_or(|other| other == schema), "{name}");
        }
    }
}
