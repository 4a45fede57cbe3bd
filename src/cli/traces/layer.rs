//! Creates OpenTelemetry spans for the program's own work: hearing a message, each step, each update of memories, and
//! each model call. Only the fields named here leave the program, and none contains what users or models wrote. The
//! prompt and the answer of a model call are added to its span only if the operator asks for it.
//!
//! All spans about one decision are in one trace, even after a restart: its id is derived from the number of the
//! decision. A message that no decision covers has a trace of its own.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use aizuchi_llm::MODEL_CONTENT_TARGET;
use opentelemetry::trace::{SpanBuilder, SpanId, SpanKind, Status, TraceContextExt as _, TraceId};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SdkTracer};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

/// The id of the database that the decisions belong to, once it is open.
#[derive(Clone, Default)]
pub struct Installation(Arc<OnceLock<String>>);

impl Installation {
    pub fn set(&self, installation: &str) {
        self.0.get_or_init(|| installation.to_owned());
    }

    fn name(&self) -> &str {
        self.0.get().map_or("", String::as_str)
    }
}

thread_local! {
    /// The id of the next trace that is started on this thread.
    static NEXT_TRACE: Cell<Option<TraceId>> = const { Cell::new(None) };
}

/// Generates span ids, and trace ids unless one was derived.
#[derive(Debug)]
pub struct DerivedIds;

impl IdGenerator for DerivedIds {
    fn new_trace_id(&self) -> TraceId {
        NEXT_TRACE.take().unwrap_or_else(|| RandomIdGenerator::default().new_trace_id())
    }

    fn new_span_id(&self) -> SpanId {
        RandomIdGenerator::default().new_span_id()
    }
}

pub struct TraceLayer {
    tracer: SdkTracer,
    installation: Installation,
}

/// A span that is followed until it closes.
struct OpenSpan {
    kind: SpanName,
    fields: Fields,
    began: SystemTime,
    /// Set if the trace that the span belongs to is known at its start.
    context: Option<Context>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SpanName {
    Hear,
    Step,
    Remember,
    ModelCall,
}

impl SpanName {
    fn from_metadata(metadata: &Metadata<'_>) -> Option<Self> {
        let is_ours = metadata.is_span() && metadata.target().starts_with("aizuchi_agent");
        match metadata.name() {
            _ if !is_ours => None,
            "hear" => Some(Self::Hear),
            "step" => Some(Self::Step),
            "remember" => Some(Self::Remember),
            "model call" => Some(Self::ModelCall),
            _ => None,
        }
    }

    /// The fields that may leave the program, and the names of their attributes.
    fn attributes(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Hear => &[
                ("event", "aizuchi.event"),
                ("platform", "aizuchi.platform"),
                ("workspace", "aizuchi.workspace"),
                ("channel", "aizuchi.channel"),
                ("conversation", "aizuchi.conversation"),
                ("message_id", "aizuchi.message"),
                ("decision", "aizuchi.decision"),
            ],
            Self::Step => &[
                ("verb", "aizuchi.verb"),
                ("platform", "aizuchi.platform"),
                ("channel", "aizuchi.channel"),
                ("conversation", "aizuchi.conversation"),
                ("decision", "aizuchi.decision"),
                ("attempt", "aizuchi.attempt"),
            ],
            Self::Remember => &[
                ("platform", "aizuchi.platform"),
                ("workspace", "aizuchi.workspace"),
                ("channel", "aizuchi.channel"),
                ("attempt", "aizuchi.attempt"),
            ],
            Self::ModelCall => &[
                ("verb", "aizuchi.verb"),
                ("result", "aizuchi.result"),
                ("input_tokens", "gen_ai.usage.input_tokens"),
                ("cached_tokens", "gen_ai.usage.cache_read.input_tokens"),
                ("output_tokens", "gen_ai.usage.output_tokens"),
            ],
        }
    }
}

/// The values of a span's fields.
#[derive(Default)]
struct Fields(BTreeMap<&'static str, Value>);

impl Visit for Fields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name(), Value::I64(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.record_i64(field, i64::try_from(value).unwrap_or(i64::MAX));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned().into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}").into());
    }
}

impl Fields {
    fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        self.0.get(name).map(Value::as_str)
    }
}

impl TraceLayer {
    pub fn new(tracer: SdkTracer, installation: Installation) -> Self {
        Self { tracer, installation }
    }

    /// Whether a span is followed, or an event has content that was requested.
    pub fn follows(metadata: &Metadata<'_>, has_content: bool) -> bool {
        let is_content = metadata.target() == MODEL_CONTENT_TARGET;
        let is_followed = SpanName::from_metadata(metadata).is_some() || has_content && is_content;
        *metadata.level() <= Level::INFO && is_followed
    }

    /// The trace of a span without a parent. `None` for a new trace.
    fn trace_id(&self, kind: SpanName, fields: &Fields) -> Option<TraceId> {
        let subject = match (kind, fields.text("decision")) {
            (SpanName::Hear | SpanName::Step, Some(decision)) => format!("decision {decision}"),
            (SpanName::Hear, None) => {
                let part = |name| fields.text(name).unwrap_or_default();
                format!("message {}/{}/{}", part("workspace"), part("channel"), part("message_id"))
            }
            (SpanName::Step, None) | (SpanName::Remember | SpanName::ModelCall, _) => return None,
        };
        let hash = Sha256::digest(format!("{} {subject}", self.installation.name()));
        let mut id = [0; 16];
        id.copy_from_slice(&hash[..16]);
        Some(TraceId::from_bytes(id))
    }

    fn start(&self, followed: &OpenSpan, parent: &Context) -> Context {
        let OpenSpan { kind, fields, began, .. } = followed;
        let verb = || fields.text("verb").unwrap_or_default().into_owned();
        let (name, span_kind) = match kind {
            SpanName::Hear => ("hear".to_owned(), SpanKind::Consumer),
            SpanName::Step if fields.text("reaction").is_some() => {
                ("react".to_owned(), SpanKind::Internal)
            }
            SpanName::Step => (verb(), SpanKind::Internal),
            SpanName::Remember => ("remember".to_owned(), SpanKind::Internal),
            SpanName::ModelCall => (format!("chat {}", model(fields).1), SpanKind::Client),
        };
        let took = match fields.0.get("latency_ms") {
            Some(Value::I64(millis)) => Duration::from_millis(u64::try_from(*millis).unwrap_or(0)),
            _ => Duration::ZERO,
        };
        let began = began.checked_sub(took).unwrap_or(*began);
        let builder = SpanBuilder::from_name(name).with_kind(span_kind).with_start_time(began);
        if !parent.has_active_span() {
            NEXT_TRACE.set(self.trace_id(*kind, fields));
        }
        let span = builder.start_with_context(&self.tracer, parent);
        NEXT_TRACE.set(None);
        parent.with_span(span)
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> tracing_subscriber::Layer<S> for TraceLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: layer::Context<'_, S>) {
        let (Some(kind), Some(span)) =
            (SpanName::from_metadata(attributes.metadata()), context.span(id))
        else {
            return;
        };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let mut followed = OpenSpan { kind, fields, began: SystemTime::now(), context: None };
        // The trace of a heard message is only known when its span closes.
        followed.context = match kind {
            SpanName::Hear => None,
            SpanName::Step | SpanName::Remember => Some(self.start(&followed, &Context::new())),
            SpanName::ModelCall => {
                let parent = span.scope().skip(1).find_map(|outer| context_of(&outer));
                Some(self.start(&followed, &parent.unwrap_or_default()))
            }
        };
        span.extensions_mut().insert(followed);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: layer::Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(followed) = span.extensions_mut().get_mut::<OpenSpan>() {
            values.record(&mut followed.fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: layer::Context<'_, S>) {
        if event.metadata().target() != MODEL_CONTENT_TARGET {
            return;
        }
        let Some(span) = context.event_span(event) else { return };
        if let Some(followed) = span.extensions_mut().get_mut::<OpenSpan>() {
            event.record(&mut followed.fields);
        }
    }

    fn on_close(&self, id: Id, context: layer::Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(mut followed) = span.extensions_mut().remove::<OpenSpan>() else { return };
        if followed.kind == SpanName::Hear && followed.fields.text("message_id").is_none() {
            // The span is of a channel or a user, which are heard at every start.
            return;
        }
        let context = followed.context.take();
        let context = context.unwrap_or_else(|| self.start(&followed, &Context::new()));
        let span = context.span();
        for (field, name) in followed.kind.attributes() {
            if let Some(value) = followed.fields.0.get(field) {
                span.set_attribute(KeyValue::new(*name, value.clone()));
            }
        }
        if followed.kind == SpanName::ModelCall {
            let (provider, model) = model(&followed.fields);
            span.set_attribute(KeyValue::new("gen_ai.operation.name", "chat"));
            span.set_attribute(KeyValue::new("gen_ai.provider.name", provider));
            span.set_attribute(KeyValue::new("gen_ai.request.model", model));
            // A prompt that is not kept is empty.
            let text = |field| followed.fields.text(field).filter(|text| !text.is_empty());
            if let Some(prompt) = text("prompt") {
                let message = json!([{"role": "system", "parts": parts(&prompt)}]);
                span.set_attribute(KeyValue::new("gen_ai.input.messages", message.to_string()));
            }
            if let Some(answer) = text("answer") {
                let message = json!([{"role": "assistant", "parts": parts(&answer), "finish_reason": "stop"}]);
                span.set_attribute(KeyValue::new("gen_ai.output.messages", message.to_string()));
            }
            if followed.fields.text("result").as_deref() == Some("failed") {
                span.set_attribute(KeyValue::new("error.type", "_OTHER"));
                span.set_status(Status::error(""));
            }
        }
        span.end();
    }
}

fn context_of<S: for<'a> LookupSpan<'a>>(span: &SpanRef<'_, S>) -> Option<Context> {
    span.extensions().get::<OpenSpan>()?.context.clone()
}

/// The parts of a message as the GenAI conventions define them.
fn parts(text: &str) -> serde_json::Value {
    json!([{"type": "text", "content": text}])
}

/// The provider of a model and the model's name there, as the conventions define them.
fn model(fields: &Fields) -> (String, String) {
    let model = fields.text("model").unwrap_or_default();
    match model.split_once('/') {
        Some(("gemini", name)) => ("gcp.gemini".to_owned(), name.to_owned()),
        Some((provider, name)) => (provider.to_owned(), name.to_owned()),
        None => ("aizuchi".to_owned(), model.into_owned()),
    }
}
