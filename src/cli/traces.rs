//! Traces over OTLP/HTTP, configured by the standard `OTEL_…` variables of the environment; off unless they name an
//! endpoint. No span contains what users write, unless a variable asks for it. A thread of the SDK sends spans from a
//! bounded queue: a collector that is slow, down or wrong costs spans, never an answer.

pub mod layer;
mod sender;

use std::time::Duration;

use anyhow::Context as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::cli::traces::layer::{DerivedIds, Installation, TraceLayer};
use crate::cli::traces::sender::Sender;

/// How long a shutdown waits for the last spans to be sent.
const LAST_SPANS: Duration = Duration::from_secs(2);

/// The variable that enables recording the prompts and answers of models.
const CONTENT_VARIABLE: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";

/// The export of traces, which lasts as long as this value.
pub struct Traces {
    provider: SdkTracerProvider,
    installation: Installation,
    has_content: bool,
    stop: CancellationToken,
}

impl Traces {
    /// The export that the environment configures, if any. Requests are made on this runtime.
    pub fn from_environment(runtime: Handle) -> anyhow::Result<Option<Self>> {
        let variable = |name: &str| std::env::var(name).ok();
        if !is_asked_for(variable) {
            return Ok(None);
        }
        let protocol = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
        let protocol = protocol.into_iter().filter_map(variable).find(|set| !set.is_empty());
        let protocol = protocol.unwrap_or_default();
        anyhow::ensure!(
            ["", "http/protobuf"].contains(&&*protocol),
            "traces are sent as http/protobuf, and OTEL_EXPORTER_OTLP_PROTOCOL or OTEL_EXPORTER_OTLP_TRACES_PROTOCOL asks for another protocol"
        );
        let stop = CancellationToken::new();
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_http_client(Sender::new(runtime, stop.clone())?)
            .build()
            .context("cannot read the OTEL_EXPORTER_OTLP variables")?;
        let mut resource = Resource::builder();
        if variable("OTEL_SERVICE_NAME").is_none_or(|name| name.is_empty())
            && !names_service(&variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default())
        {
            resource = resource.with_service_name("aizuchi");
        }
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.build())
            .with_id_generator(DerivedIds)
            .with_batch_exporter(exporter)
            .build();
        let has_content = variable(CONTENT_VARIABLE).is_some_and(|value| asks_for_content(&value));
        Ok(Some(Self { provider, installation: Installation::default(), has_content, stop }))
    }

    /// Whether spans of model calls contain prompts and answers.
    pub fn has_content(&self) -> bool {
        self.has_content
    }

    /// The layer that follows the program's spans.
    pub fn layer(&self) -> TraceLayer {
        TraceLayer::new(self.provider.tracer("aizuchi"), self.installation.clone())
    }

    /// Sets the database's id, because each database numbers its own decisions.
    pub fn set_installation(&self, installation: &str) {
        self.installation.set(installation);
    }

    /// Sends the remaining spans, for a limited time. The runtime must still be running.
    pub fn shutdown(self) {
        // The sender has already logged any failure.
        let _ = self.provider.shutdown_with_timeout(LAST_SPANS);
        // A request to a collector that never answers must not outlive the runtime.
        self.stop.cancel();
    }
}

/// Whether the variable has a value that OpenTelemetry's instrumentations define: in spans, or in both spans and
/// events, of which Aizuchi only has spans.
fn asks_for_content(value: &str) -> bool {
    let known = ["true", "span_only", "span_and_event"];
    known.iter().any(|known| value.trim().eq_ignore_ascii_case(known))
}

/// Whether these resource attributes contain the service's name.
fn names_service(attributes: &str) -> bool {
    attributes.split(',').any(|attribute| attribute.trim().starts_with("service.name="))
}

/// Whether the environment names an endpoint and does not turn traces off.
fn is_asked_for(variable: impl Fn(&str) -> Option<String>) -> bool {
    let is = |name: &str, value: &str| {
        variable(name).is_some_and(|set| set.trim().eq_ignore_ascii_case(value))
    };
    let endpoints = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
    let has_endpoint = endpoints.into_iter().filter_map(&variable).any(|it| !it.trim().is_empty());
    has_endpoint && !is("OTEL_SDK_DISABLED", "true") && !is("OTEL_TRACES_EXPORTER", "none")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_off_unless_an_endpoint_is_named() {
        let general = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.example:4318");
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://collector.example/v1/traces");
        for (variables, expected) in [
            (vec![], false),
            (vec![general], true),
            (vec![own], true),
            (vec![("OTEL_EXPORTER_OTLP_ENDPOINT", " ")], false),
            (vec![("OTEL_SERVICE_NAME", "bot")], false),
            (vec![general, ("OTEL_SDK_DISABLED", "True")], false),
            (vec![general, ("OTEL_SDK_DISABLED", "no")], true),
            (vec![general, ("OTEL_TRACES_EXPORTER", "none")], false),
        ] {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(is_asked_for(variable), expected, "{variables:?}");
        }
    }
}
