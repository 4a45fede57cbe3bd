//! Proposals, tool calls and offers: visitors see those of the channels that they may read, and decide them.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_actions::authorization::Actor;
use aizuchi_actions::question::{Choice, QuestionSubject};
use aizuchi_model::chat::{ChannelId, Visibility, WorkspaceId};
use aizuchi_model::split::split;
use aizuchi_platform::local::parse_text;
use aizuchi_store::order::Order;
use jiff::Timestamp;

use crate::refusal::Refusal;
use crate::{ApiProblem, Web, workspaces};

/// Returns the order of a choice about a question of the given workspace, or without one, of any. `text` is what is said
/// instead, if the choice is to edit.
pub async fn decide(
    web: &Web,
    access: &Access,
    workspace: Option<&str>,
    subject: QuestionSubject,
    (choice, text): (&str, Option<String>),
) -> Result<Order, ApiProblem> {
    let choice = subject.parse_choice(choice).ok_or(Refusal::IncompleteForm)?;
    let workspace = workspaces::find_only(web, workspace).await?;
    let (authorization, actor) = (web.authorization(), Actor::Visitor(access));
    let question = authorization.question(workspace.as_ref(), subject).await?;
    authorization.require_decider(actor, question.place()).await?;
    let posts = match choice == Choice::Edit {
        true => posts(web, question.place().0, text.as_deref().unwrap_or_default())?,
        false => Vec::new(),
    };
    Ok(authorization.decide(actor, &question, (choice, posts)).await?)
}

/// Splits a person's text into posts.
fn posts(web: &Web, workspace: &WorkspaceId, text: &str) -> Result<Vec<String>, ApiProblem> {
    let text = parse_text(text).map_err(Refusal::Room)?;
    Ok(match web.platforms.for_workspace(workspace) {
        Ok(platform) => split(&text, platform.max_post_length()),
        Err(_) => vec![text],
    })
}

/// Removes the name of who decided for visitors who may not decide: viewers learn no names of people.
pub fn hide_decider(access: &Access, decided: &mut Option<(Arc<str>, Timestamp)>) {
    if let Some((by, _)) = decided.as_mut().filter(|_| !access.may_order()) {
        *by = Arc::default();
    }
}

/// Tells which channels a visitor may read. The channels of a workspace are fetched once.
pub struct ChannelReader<'a> {
    web: &'a Web,
    access: &'a Access,
    known: HashMap<WorkspaceId, HashMap<ChannelId, Visibility>>,
}

impl<'a> ChannelReader<'a> {
    pub fn new(web: &'a Web, access: &'a Access) -> Self {
        Self { web, access, known: HashMap::new() }
    }

    pub async fn may_read(
        &mut self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
    ) -> Result<bool, ApiProblem> {
        if !self.known.contains_key(workspace) {
            let channels = self.web.archive.channels(workspace).await?.into_iter();
            let channels = channels.map(|channel| (channel.id, channel.visibility)).collect();
            self.known.insert(workspace.clone(), channels);
        }
        let visibility = self.known.get(workspace).and_then(|channels| channels.get(channel));
        // A channel that is not known counts as private.
        let visibility = visibility.copied().unwrap_or(Visibility::Private);
        Ok(self.access.may_read(workspace, visibility))
    }
}
