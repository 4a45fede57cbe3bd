//! What a server says when it refuses a request: which parameter it rejects, as far as that can be told.

use serde_json::Value;

/// The names of a request's output limit.
const LIMIT_WORDS: [&str; 6] = [
    "max_tokens", "max_completion_tokens", "max_output_tokens", "maxoutputtokens",
    "max_new_tokens", "maximum context length",
];
/// How servers say that the prompt and the limit together are too long.
const CONTEXT_WORDS: [&str; 4] =
    ["context length", "context limit", "context window", "context size"];

/// The texts of a refusal that say what is wrong, in lower case, without echoed parts of the request.
pub struct ProviderRefusal {
    text: String,
    /// The parameter that OpenAI's API names. If it is set, the text is not searched.
    parameter: Option<String>,
}

impl ProviderRefusal {
    pub fn new(body: &str) -> Self {
        let Ok(json) = serde_json::from_str::<Value>(body) else {
            return Self { text: body.to_lowercase(), parameter: None };
        };
        // Gemini wraps errors of streams in a list.
        let json = json.get(0).unwrap_or(&json);
        let mut texts = Vec::new();
        for path in ["/error", "/error/message", "/message", "/detail", "/message/detail"] {
            let Some(found) = json.pointer(path) else { continue };
            texts.extend(found.as_str().map(str::to_owned));
            for problem in found.as_array().into_iter().flatten() {
                let place = problem["loc"].as_array().into_iter().flatten();
                let place: Vec<&str> = place.filter_map(Value::as_str).collect();
                texts.push(place.join("."));
                texts.extend(problem["msg"].as_str().map(str::to_owned));
            }
        }
        let parameter = json.pointer("/error/param").and_then(Value::as_str);
        let parameter = parameter.filter(|name| !name.is_empty()).map(str::to_lowercase);
        Self { text: texts.join("\n").to_lowercase(), parameter }
    }

    /// Whether the refusal names the output limit.
    pub fn names_limit(&self) -> bool {
        LIMIT_WORDS.iter().any(|word| self.names(word))
    }

    /// Whether the limit is too high only in combination with this prompt.
    pub fn names_context(&self) -> bool {
        CONTEXT_WORDS.iter().any(|word| self.text.contains(word))
    }

    /// Whether the refusal names this word. If it names a parameter separately, the word must be that parameter.
    pub fn names(&self, word: &str) -> bool {
        let is_apart = |character: Option<char>| {
            !character.is_some_and(|character| character.is_alphanumeric() || character == '_')
        };
        let is_in = |text: &str| {
            text.match_indices(word).any(|(at, word)| {
                is_apart(text[..at].chars().next_back())
                    && is_apart(text[at + word.len()..].chars().next())
            })
        };
        is_in(&self.text) && (word == "instead" || self.is_about(word, is_in))
    }

    fn is_about(&self, word: &str, is_in: impl Fn(&str) -> bool) -> bool {
        let is_limit = LIMIT_WORDS.contains(&word);
        self.parameter.as_ref().is_none_or(|parameter| is_limit || is_in(parameter))
    }
}
