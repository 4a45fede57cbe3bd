//! The arguments of a call, from JSON, a form or a query string.

use axum::Form;
use axum::body::Bytes;
use axum::extract::{FromRequest, Query, Request};
use axum::http::{HeaderMap, header};
use serde_json::{Map, Value};

use crate::slack::api_error::{ApiResult, api_error};
use crate::slack::ts::Ts;

/// The values as received. The values of a form or a query are all strings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments(pub Map<String, Value>);

type Pairs = Vec<(String, String)>;

impl Arguments {
    /// Parses the query and the body of a request, and extracts the token from them.
    pub async fn from_request(request: Request) -> ApiResult<(Self, Option<String>)> {
        let headers = request.headers().clone();
        let query = Query::<Pairs>::try_from_uri(request.uri());
        let mut arguments = Self::from_pairs(query.map(|Query(pairs)| pairs).unwrap_or_default());
        let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let from_body = match content_type.and_then(|kind| kind.split(';').next()) {
            Some("application/json") => {
                let body = Bytes::from_request(request, &()).await;
                Self::from_json(&body.map_err(|_| api_error("request_timeout"))?)?
            }
            Some("application/x-www-form-urlencoded") => {
                let form = Form::<Pairs>::from_request(request, &()).await;
                Self::from_pairs(
                    form.map(|Form(pairs)| pairs).map_err(|_| api_error("invalid_form_data"))?,
                )
            }
            _ => Self::default(),
        };
        arguments.0.extend(from_body.0);
        let token = arguments.take_token(&headers);
        Ok((arguments, token))
    }

    fn from_json(body: &[u8]) -> ApiResult<Self> {
        if body.is_empty() {
            return Ok(Self::default());
        }
        match serde_json::from_slice(body) {
            Ok(Value::Object(arguments)) => Ok(Self(arguments)),
            Ok(_) => Err(api_error("json_not_object")),
            Err(_) => Err(api_error("invalid_json")),
        }
    }

    fn from_pairs(pairs: Pairs) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name, Value::String(value))).collect())
    }

    /// Returns a string argument. An empty one counts as absent.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    pub fn required(&self, name: &str, error: &str) -> ApiResult<&str> {
        self.text(name).ok_or_else(|| api_error(error))
    }

    pub fn is_true(&self, name: &str) -> bool {
        match self.0.get(name) {
            Some(Value::Bool(is_set)) => *is_set,
            Some(Value::String(text)) => matches!(text.as_str(), "true" | "1"),
            Some(Value::Number(number)) => number.as_u64() == Some(1),
            _ => false,
        }
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        match self.0.get(name)? {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        }
    }

    pub fn ts(&self, name: &str, error: &str) -> ApiResult<Option<Ts>> {
        let text = match self.0.get(name) {
            Some(Value::String(text)) if !text.is_empty() => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => return Ok(None),
        };
        text.parse().map(Some).map_err(|_| api_error(error))
    }

    pub fn required_ts(&self, name: &str, error: &str) -> ApiResult<Ts> {
        self.ts(name, error)?.ok_or_else(|| api_error(error))
    }

    /// Returns a structured argument, which forms encode as JSON in a string.
    pub fn json(&self, name: &str, error: &str) -> ApiResult<Option<Value>> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => {
                serde_json::from_str(text).map(Some).map_err(|_| api_error(error))
            }
            Some(value) => Ok(Some(value.clone())),
        }
    }

    /// Removes the token from the arguments and returns it, or the one of the `Authorization` header.
    fn take_token(&mut self, headers: &HeaderMap) -> Option<String> {
        let argument = self.0.remove("token").and_then(|token| Some(token.as_str()?.to_owned()));
        let header = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = header.and_then(|value| value.strip_prefix("Bearer "));
        bearer.map(|token| token.trim().to_owned()).or(argument).filter(|token| !token.is_empty())
    }
}
