//! Models that transcribe recordings with `POST audio/transcriptions`: OpenAI's endpoint, which Groq, Mistral, Azure
//! and most self-hosted servers also have.

use aizuchi_model::clock::{Clock, seeded_random};
use aizuchi_model::decision::Usage;
use aizuchi_model::decision::model_problem::ModelProblem;
use async_trait::async_trait;
use parking_lot::Mutex;
use reqwest::Url;
use reqwest::header::CONTENT_TYPE;
use secrecy::ExposeSecret;
use serde_json::Value;
use uuid::Uuid;

use crate::fallback::backoff;
use crate::prompt::Prompt;
use crate::prompt::recording::{AudioRecording, TOKENS_PER_SECOND};
use crate::provider::error::{CallError, UNSENDABLE};
use crate::provider::transport::send;
use crate::provider::usage::{bounded_usage, reported_usage};
use crate::provider::{ProviderSettings, api_base, http_client};
use crate::{Llm, LlmError, LlmResponse};

/// Where responses report the length of the recording: the spellings of OpenAI, Mistral and the verbose format.
const SECONDS_PATHS: [&str; 3] = ["/usage/seconds", "/usage/prompt_audio_seconds", "/duration"];

pub struct TranscriptionMind {
    http: reqwest::Client,
    settings: ProviderSettings,
    model: String,
    clock: Clock,
    /// Why the last call failed, if it failed.
    problem: Mutex<Option<ModelProblem>>,
}

impl TranscriptionMind {
    pub fn new(settings: &ProviderSettings, clock: Clock) -> anyhow::Result<Self> {
        Ok(Self {
            http: http_client(settings.connect_timeout)?,
            settings: settings.clone(),
            model: format!("{}/{}", settings.provider.name(), settings.model_name),
            clock,
            problem: Mutex::default(),
        })
    }

    /// Checks that the model answers, at the cost of one second of audio, and returns the usage.
    pub async fn check(&self) -> Result<Usage, LlmError> {
        let silence = AudioRecording::silence();
        Ok(self.within_timeout(self.transcribe_with_retries(&silence, "")).await?.usage)
    }

    async fn within_timeout(
        &self,
        call: impl Future<Output = Result<LlmResponse, LlmError>>,
    ) -> Result<LlmResponse, LlmError> {
        let timeout = self.settings.timeout;
        self.clock.timeout(timeout, call).await.unwrap_or_else(|_timed_out| {
            *self.problem.lock() = Some(ModelProblem::TimedOut);
            Err(LlmError::TimedOut(format!("{}: no answer within {timeout:#}", self.model)))
        })
    }

    /// Retries while a retry may help, costs nothing and fits into the timeout.
    async fn transcribe_with_retries(
        &self,
        recording: &AudioRecording,
        hint: &str,
    ) -> Result<LlmResponse, LlmError> {
        let deadline = self.clock.now() + self.settings.timeout;
        let mut attempt = 1;
        loop {
            let called = self.transcribe(recording, hint).await.map_err(CallError::settled);
            *self.problem.lock() = called.as_ref().err().and_then(CallError::problem);
            let failure = match called {
                Ok(response) => return Ok(response),
                Err(failure) => failure,
            };
            let (why, retry_after, usage) = match failure {
                CallError::Permanent { why, .. } | CallError::RequestRejected { why, .. } => {
                    return Err(LlmError::Refused(format!("{}: {why}", self.model)));
                }
                CallError::Unusable { why, usage } => {
                    let why = format!("{}: {why}", self.model);
                    return Err(LlmError::Unusable { why, usage });
                }
                CallError::Retryable { why, retry_after, usage, .. } => (why, retry_after, usage),
            };
            let draw = seeded_random(0, &[&self.model, &attempt.to_string()]);
            let wait = retry_after.unwrap_or_default().max(backoff(attempt, draw));
            let is_charged = usage != Usage::default();
            let is_last = attempt >= self.settings.max_attempts;
            if is_charged || is_last || self.clock.now() + wait >= deadline {
                let why = format!("{}: {why}", self.model);
                return Err(LlmError::Busy { why, retry_after, usage });
            }
            self.clock.sleep_until(self.clock.now() + wait).await;
            attempt += 1;
        }
    }

    /// Sends one request.
    async fn transcribe(
        &self,
        recording: &AudioRecording,
        hint: &str,
    ) -> Result<LlmResponse, CallError> {
        let unsendable = |_| CallError::permanent(ModelProblem::RequestRejected, UNSENDABLE);
        let base = Url::parse(&api_base(&self.settings)).map_err(unsendable)?;
        let url = base.join("audio/transcriptions").map_err(unsendable)?;
        let form = self.form(recording, hint);
        let mut request = self.http.post(url).header(CONTENT_TYPE, form.content_type());
        if let Some(key) = &self.settings.api_key {
            request = request.bearer_auth(key.expose_secret());
        }
        let request = request.headers(self.settings.extra_headers()?).body(form.end());
        let usage = estimated_usage(recording);
        let response = send(request, usage).await?;
        if let Some(error) = response.error(self.clock.now()) {
            return Err(error);
        }
        let unusable = |why: &str| CallError::Unusable { why: why.to_owned(), usage };
        let body: Value = serde_json::from_slice(&response.body)
            .map_err(|_| unusable("its answer is not JSON"))?;
        let text = body.get("text").and_then(Value::as_str);
        let text = text.ok_or_else(|| unusable("its answer has no text"))?;
        Ok(LlmResponse::new(text.trim().to_owned(), usage_of(&body, recording)))
    }

    fn form(&self, recording: &AudioRecording, hint: &str) -> Form {
        let mut form = Form::default();
        form.add_field("model", &self.settings.model_name);
        form.add_field("response_format", "json");
        if !hint.is_empty() {
            form.add_field("prompt", hint);
        }
        let params = &self.settings.params;
        if let Some(temperature) = params.temperature {
            form.add_field("temperature", &temperature.to_string());
        }
        for (name, value) in &params.extra {
            match value {
                Value::String(text) => form.add_field(name, text),
                Value::Bool(_) | Value::Number(_) => form.add_field(name, &value.to_string()),
                // A form cannot represent these.
                Value::Null | Value::Array(_) | Value::Object(_) => {}
            }
        }
        form.add_file("file", recording);
        form
    }
}

#[async_trait]
impl Llm for TranscriptionMind {
    fn model(&self) -> &str {
        &self.model
    }

    fn problem(&self) -> Option<ModelProblem> {
        *self.problem.lock()
    }

    async fn check(&self) -> Result<Usage, LlmError> {
        TranscriptionMind::check(self).await
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let Some(recording) = &prompt.recording else {
            return Err(LlmError::Refused(format!("{}: it takes recordings only", self.model)));
        };
        self.within_timeout(self.transcribe_with_retries(recording, &prompt.text)).await
    }
}

/// The usage: the duration if the model charges for it, otherwise the tokens, otherwise an estimate.
fn usage_of(body: &Value, recording: &AudioRecording) -> Usage {
    let mut seconds = SECONDS_PATHS.iter().filter_map(|path| body.pointer(path)?.as_f64());
    let reported = match seconds.find(|seconds| *seconds > 0.0) {
        Some(seconds) => {
            let input_tokens = (seconds.ceil() as u64).saturating_mul(TOKENS_PER_SECOND);
            Usage { input_tokens, ..Usage::default() }
        }
        None => reported_usage(body),
    };
    if reported.input_tokens == 0 {
        return estimated_usage(recording);
    }
    bounded_usage(reported, recording.tokens(), recording.max_transcript_tokens().into())
        .unwrap_or(reported)
}

fn estimated_usage(recording: &AudioRecording) -> Usage {
    Usage { input_tokens: recording.tokens(), is_estimated: true, ..Usage::default() }
}

/// `multipart/form-data` (RFC 7578). The head of a part contains no user input.
struct Form {
    /// No part contains it, since it cannot be guessed.
    boundary: String,
    body: Vec<u8>,
}

impl Default for Form {
    fn default() -> Self {
        Self { boundary: format!("aizuchi-{}", Uuid::now_v7().simple()), body: Vec::new() }
    }
}

impl Form {
    fn content_type(&self) -> String {
        format!("multipart/form-data; boundary={}", self.boundary)
    }

    fn add_field(&mut self, name: &str, value: &str) {
        // The names come from the settings.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.[]".contains(&byte);
        if name.bytes().all(is_plain) {
            self.begin_part(&format!("name=\"{name}\"\r\n"));
            self.add(value.as_bytes());
        }
    }

    fn add_file(&mut self, name: &str, recording: &AudioRecording) {
        let (file_name, media_type) = (recording.format.file_name(), recording.format.media_type());
        self.begin_part(&format!(
            "name=\"{name}\"; filename=\"{file_name}\"\r\nContent-Type: {media_type}\r\n"
        ));
        self.add(&recording.bytes);
    }

    fn begin_part(&mut self, head: &str) {
        let begin = format!("--{}\r\nContent-Disposition: form-data; {head}\r\n", self.boundary);
        self.body.extend_from_slice(begin.as_bytes());
    }

    fn add(&mut self, content: &[u8]) {
        self.body.extend_from_slice(content);
        self.body.extend_from_slice(b"\r\n");
    }

    fn end(mut self) -> Vec<u8> {
        self.body.extend_from_slice(format!("--{}--\r\n", self.boundary).as_bytes());
        self.body
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_used_is_told_in_every_spelling() {
        let recording = AudioRecording { seconds: 7, ..AudioRecording::silence() };
        let usage = |input_tokens, output_tokens, is_estimated| Usage {
            input_tokens,
            output_tokens,
            is_estimated,
            ..Usage::default()
        };
        for (body, expected) in [
            (json!({ "usage": { "type": "duration", "seconds": 12.3 } }), usage(130, 0, false)),
            (
                json!({ "usage": { "type": "tokens", "input_tokens": 90, "output_tokens": 8, "total_tokens": 98 } }),
                usage(90, 8, false),
            ),
            (
                json!({ "usage": { "prompt_audio_seconds": 4, "prompt_tokens": 9, "completion_tokens": 5 } }),
                usage(40, 0, false),
            ),
            (json!({ "duration": 3 }), usage(30, 0, false)),
            (json!({ "duration": 1e300 }), usage(16_280, 0, true)),
            (json!({ "usage": { "seconds": -1 } }), usage(70, 0, true)),
            (json!({ "usage": "none" }), usage(70, 0, true)),
            (json!({}), usage(70, 0, true)),
        ] {
            assert_eq!(usage_of(&body, &recording), expected, "{body}");
        }
    }

    #[test]
    fn a_form_has_its_fields_and_the_file() {
        let mut form = Form::default();
        form.add_field("model", "whisper-1");
        form.add_field("x\"\r\nevil: ", "1");
        let recording =
            AudioRecording { bytes: (&b"RIFF\r\n"[..]).into(), ..AudioRecording::silence() };
        form.add_file("file", &recording);
        let boundary = form.boundary.clone();
        assert_eq!(form.content_type(), format!("multipart/form-data; boundary={boundary}"));
        let expected = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"recording.wav\"\r\n\
             Content-Type: audio/wav\r\n\r\nRIFF\r\n\r\n--{boundary}--\r\n"
        );
        assert_eq!(String::from_utf8(form.end()).unwrap(), expected);
    }
}
