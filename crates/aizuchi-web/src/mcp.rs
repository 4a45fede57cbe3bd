//! A server of the Model Context Protocol, with which assistants and other programs look up what was said, remembered
//! and decided. It is read-only, and each client reads what the API would show to its token.

mod tool;
mod size;
mod lookup;

use std::sync::Arc;

use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use axum::Router;
use axum::http::request::Parts;
use axum::routing::post_service;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};

use crate::access::Visitor;
use crate::language::language_of;
use crate::mcp::lookup::Lookup;
use crate::mcp::tool::LookupTool;
use crate::{MAX_TEXT_BYTES, Web};

/// The path of the server.
pub const PATH: &str = "/mcp";

/// Returns the route of the server, unless it is turned off.
pub fn router(web: &Arc<Web>) -> Router<Arc<Web>> {
    if !web.serves_mcp {
        return Router::new();
    }
    let web = web.clone();
    // `auth` has checked `Host` and `Origin`. The server is stateless: each request carries its own token.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_TEXT_BYTES)
        .disable_allowed_hosts();
    let sessions = Arc::new(NeverSessionManager::default());
    let server = move || Ok(LookupServer { web: web.clone() });
    let service = StreamableHttpService::new(server, sessions, config);
    Router::new().route(PATH, post_service(service))
}

/// Handles one request.
struct LookupServer {
    web: Arc<Web>,
}

impl LookupServer {
    /// Returns the visitor who asks, and the language of the answer.
    fn asker(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<(Visitor, Language), ErrorData> {
        let parts = context.extensions.get::<Parts>();
        let visitor = parts.and_then(|parts| parts.extensions.get::<Visitor>());
        let (Some(parts), Some(visitor)) = (parts, visitor) else {
            return Err(ErrorData::internal_error("it is not known who asks", None));
        };
        let language = language_of(&parts.headers).unwrap_or(self.web.persona.language);
        Ok((visitor.clone(), language))
    }
}

impl ServerHandler for LookupServer {
    fn get_info(&self) -> ServerConfig {
        let persona = &self.web.persona;
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("aizuchi", env!("CARGO_PKG_VERSION")))
            .with_instructions(texts::mcp::instructions(persona.language, &persona.name))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let (_, language) = self.asker(&context)?;
        let tools = LookupTool::ALL.map(|tool| tool.definition(language));
        Ok(ListToolsResult::with_all_items(tools.into()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (visitor, language) = self.asker(&context)?;
        let lookup = Lookup { web: &self.web, access: &visitor.access };
        let arguments = request.arguments.unwrap_or_default();
        let answer = match LookupTool::from_name(&request.name) {
            Some(tool) => lookup.answer(tool, arguments, language).await,
            None => {
                let tools = LookupTool::ALL.map(LookupTool::name).join(", ");
                let problem = texts::mcp::no_tool(language, &request.name, &tools);
                return Err(ErrorData::invalid_params(problem, None));
            }
        };
        let result = match answer {
            Ok(answer) => CallToolResult::structured(answer),
            Err(problem) => {
                CallToolResult::error(vec![ContentBlock::text(problem.describe(language))])
            }
        };
        Ok(result.into())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        LookupTool::from_name(name).map(|tool| tool.definition(self.web.persona.language))
    }
}
