//! Traces of the real program, with a collector in this process, which responds while the test waits for the program to
//! exit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use aizuchi_harness::net::free_port;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Attribute;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::program::{Home, Program, next_poll};

#[derive(Clone, Default)]
struct Collector {
    requests: Arc<Mutex<Vec<(HeaderMap, ExportTraceServiceRequest)>>>,
}

impl Collector {
    /// Starts a collector. Also returns its address.
    async fn start() -> (Self, String) {
        let collector = Self::default();
        let router = Router::new().route("/v1/traces", post(collect)).with_state(collector.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        (collector, address)
    }

    fn spans(&self) -> Vec<Span> {
        let requests = self.requests.lock().unwrap();
        let of_resource = requests.iter().flat_map(|(_, request)| &request.resource_spans);
        let of_scope = of_resource.flat_map(|of_resource| &of_resource.scope_spans);
        of_scope.flat_map(|of_scope| of_scope.spans.clone()).collect()
    }

    /// Returns the names of the spans of each trace.
    fn traces(&self) -> BTreeMap<Vec<u8>, BTreeSet<String>> {
        let mut traces: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
        for span in self.spans() {
            traces.entry(span.trace_id).or_default().insert(span.name);
        }
        traces
    }
}

async fn collect(
    State(collector): State<Collector>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    collector.requests.lock().unwrap().push((headers, request));
    StatusCode::OK
}

fn attribute(attributes: &[KeyValue], name: &str) -> Option<Attribute> {
    let found = attributes.iter().find(|attribute| attribute.key == name)?;
    found.value.clone()?.value
}

/// Waits for the closed decision on a message.
async fn closed(program: &Program, message: &str) -> Value {
    let is_it = |kind: &str, data: &Value| {
        kind == "decision"
            && !data["ended"].is_null()
            && data["messages"].as_array().unwrap().contains(&json!(message))
    };
    program.wait_for(0, is_it).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mention_is_one_trace_without_what_was_said() {
    let (collector, address) = Collector::start().await;
    let home = Home::new(0.1);
    let program = home.start_with(
        &[],
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &address),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=garden"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test"),
        ],
    );
    let asked = program.says("bob", "@Aizuchi do turnips float?").await;
    let row = closed(&program, &asked).await;
    let remark = program.says("carol", "my marrow won a prize").await;
    closed(&program, &remark).await;
    // The last spans are sent before the program exits.
    assert_eq!(program.stop(), Some(0));
    let traces = collector.traces();
    let expected = ["hear", "reply", "post", "chat builtin"].map(str::to_owned);
    let mentioned: Vec<_> = traces.values().filter(|names| names.contains("reply")).collect();
    assert_eq!(mentioned, [&BTreeSet::from(expected)], "{traces:?}");
    let expected = ["hear", "judge", "chat builtin"].map(str::to_owned);
    let judged: Vec<_> = traces.values().filter(|names| names.contains("judge")).collect();
    assert_eq!(judged, [&BTreeSet::from(expected)], "{traces:?}");

    let spans = collector.spans();
    let reply = spans.iter().find(|span| span.name == "reply").unwrap();
    let call = spans.iter().find(|span| span.parent_span_id == reply.span_id).unwrap();
    let text = |name: &str| match attribute(&call.attributes, name) {
        Some(Attribute::StringValue(text)) => text,
        other => panic!("{name} is {other:?}"),
    };
    assert_eq!(text("gen_ai.operation.name"), "chat");
    assert_eq!(text("gen_ai.request.model"), "builtin");
    for name in ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"] {
        let tokens = attribute(&call.attributes, name);
        assert!(matches!(tokens, Some(Attribute::IntValue(_))), "{name} is {tokens:?}");
    }
    let decision = attribute(&reply.attributes, "aizuchi.decision");
    assert_eq!(decision, row["id"].as_i64().map(Attribute::IntValue));
    let is_heard = |span: &&Span| span.name == "hear" && span.trace_id == reply.trace_id;
    let hear = spans.iter().find(is_heard).unwrap();
    for (name, expected) in
        [("aizuchi.platform", "local"), ("aizuchi.conversation", "local/general")]
    {
        let expected = Some(Attribute::StringValue(expected.to_owned()));
        for span in [hear, reply] {
            assert_eq!(attribute(&span.attributes, name), expected, "{name} of {}", span.name);
        }
    }

    let requests = collector.requests.lock().unwrap();
    assert!(requests.iter().all(|(headers, _)| headers["x-tenant"] == "garden"));
    let resource = requests[0].1.resource_spans[0].resource.clone().unwrap();
    let name = attribute(&resource.attributes, "service.name");
    assert_eq!(name, Some(Attribute::StringValue("aizuchi".to_owned())));
    let sent = format!("{requests:?}").to_lowercase();
    for said in ["turnip", "float", "marrow", "prize", "yes, bob"] {
        assert!(!sent.contains(said), "{said} is in {sent}");
    }
}

/// On request, the model's input and output are recorded, in the spans of the calls only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_is_sent_only_where_it_is_asked_for() {
    let content = async |value: &str| {
        let (collector, address) = Collector::start().await;
        let home = Home::new(0.1);
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &*address),
            ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", value),
            ("RUST_LOG", "trace"),
        ];
        let program = home.start_with(&[], &variables);
        let asked = program.says("bob", "@Aizuchi do turnips float?").await;
        closed(&program, &asked).await;
        assert_eq!(program.stop(), Some(0));
        assert!(!home.log().contains("turnips"), "{}", home.log());
        let spans = collector.spans();
        let (calls, others): (Vec<_>, Vec<_>) =
            spans.into_iter().partition(|span| span.name == "chat builtin");
        assert!(!format!("{others:?}").contains("turnips"), "{others:?}");
        let texts = |name: &str| -> String {
            let of_calls = calls.iter().filter_map(|call| attribute(&call.attributes, name));
            of_calls.map(|value| format!("{value:?}")).collect()
        };
        (texts("gen_ai.input.messages"), texts("gen_ai.output.messages"))
    };
    let (prompts, answers) = content("span_only").await;
    assert!(prompts.contains("do turnips float?"), "{prompts}");
    assert!(answers.contains(", bob."), "{answers}");
    assert_eq!(content("no_content").await, (String::new(), String::new()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_after_a_kill_joins_the_trace_of_before() {
    let (collector, address) = Collector::start().await;
    let home = Home::new(3600.0);
    let variables = [
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &*format!("{address}/v1/traces")),
        ("OTEL_BSP_SCHEDULE_DELAY", "50"),
    ];
    let program = home.start_with(&[], &variables);
    let remark = program.says("carol", "my marrow won a prize").await;
    let heard = || collector.traces().into_iter().find(|(_, names)| names.contains("hear"));
    while heard().is_none() {
        next_poll().await;
    }
    program.signal("KILL");
    drop(program);
    let config = std::fs::read_to_string(home.config()).unwrap();
    std::fs::write(home.config(), config.replace("3600", "0.1")).unwrap();
    // The wait was stored with the message; an edit starts a shorter one.
    let program = home.start_with(&[], &variables);
    let edit = json!({ "channel": "general", "user": "carol", "text": "my marrow won two prizes" });
    let (status, answer) =
        program.send("PATCH", &format!("/api/messages/{remark}"), Some(&edit)).await;
    assert!((200..300).contains(&status), "{answer}");
    closed(&program, &remark).await;
    assert_eq!(program.stop(), Some(0));
    let names = &collector.traces()[&heard().unwrap().0];
    assert!(names.contains("judge"), "{names:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_down_delays_nothing_and_is_logged_once() {
    let nobody = format!("http://user:secret@127.0.0.1:{}", free_port());
    let home = Home::new(0.1);
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", &*nobody), ("OTEL_BSP_SCHEDULE_DELAY", "20")];
    let program = home.start_with(&[], &variables);
    for _ in 0..3 {
        let asked = program.says("bob", "@Aizuchi do turnips float?").await;
        let row = closed(&program, &asked).await;
        assert_eq!(row["ended"], "spoke");
    }
    assert_eq!(program.stop(), Some(0));
    let log = home.log();
    assert_eq!(log.matches("traces cannot be sent").count(), 1, "{log}");
    assert!(!log.contains("secret"), "{log}");
}

/// The program exits while a request waits for a response that never arrives.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_never_answers_does_not_disturb_the_end() {
    // The system accepts connections, but nothing reads from them.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let home = Home::new(0.1);
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", &*address), ("OTEL_BSP_SCHEDULE_DELAY", "20")];
    let program = home.start_with(&[], &variables);
    let asked = program.says("bob", "@Aizuchi do turnips float?").await;
    assert_eq!(closed(&program, &asked).await["ended"], "spoke");
    assert_eq!(program.stop(), Some(0));
    let log = home.log();
    assert!(!log.contains("panicked") && !log.contains("ERROR"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_used_turns_traces_off_and_nothing_else() {
    for (name, value) in [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://user:secret@[bad"),
    ] {
        let home = Home::new(0.1);
        let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"), (name, value)];
        let program = home.start_with(&[], &variables);
        let asked = program.says("bob", "@Aizuchi do turnips float?").await;
        closed(&program, &asked).await;
        assert_eq!(program.stop(), Some(0));
        let log = home.log();
        assert_eq!(log.matches("traces are off").count(), 1, "{log}");
        assert!(!log.contains("secret"), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_traces_are_sent_unless_they_are_asked_for() {
    let (collector, address) = Collector::start().await;
    let home = Home::new(0.1);
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", &*address), ("OTEL_SDK_DISABLED", "true")];
    let program = home.start_with(&[], &variables);
    let asked = program.says("bob", "@Aizuchi do turnips float?").await;
    closed(&program, &asked).await;
    assert_eq!(program.stop(), Some(0));
    assert!(collector.requests.lock().unwrap().is_empty());
}
