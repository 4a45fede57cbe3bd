//! Replies to commands. A command was carried out when it was heard, so this only tells the user. It calls no model,
//! and no gate stops it: otherwise a muted bot could never be unmuted. A user who gives many commands at once gets no
//! more posts than anyone else.

use std::collections::HashSet;

use aizuchi_actions::command::{Command, CommandRequest};
use aizuchi_actions::command_replies::CommandReplies;
use aizuchi_actions::confirmation::{PossibleYes, confirmed};
use aizuchi_actions::standing_order_trial::StepTrial;
use aizuchi_model::chat::owed::Owed;
use aizuchi_model::chat::{ConversationId, MessageId, UserId};
use aizuchi_model::context::{Context, PendingCommand};
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::outbox::{Draft, DraftContent, DraftMetadata};
use aizuchi_model::flow::{Claim, DecisionClosing, StepResult};
use aizuchi_model::persona::written::language_of;
use aizuchi_model::split::{MAX_POSTS, limit_posts, split};
use aizuchi_model::texts;
use tokio_util::sync::CancellationToken;

use crate::agent::user_rate_limit::{MAX_COMMAND_ANSWERS, PacedNotice};
use crate::agent::{StepError, Worker};

/// The maximum number of a user's commands that are answered at once: the newest, without duplicates. All were carried
/// out.
const MAX_ANSWERED: usize = 10;

/// The user who gave the command, and whether others see the reply as well.
pub(super) struct ReplyAudience {
    pub(super) user: Option<UserId>,
    pub(super) is_public: bool,
}

impl Worker<'_> {
    /// Replies to all pending commands of the user who gave the first one. Other users' commands come next. Only the
    /// first standing order draft among them is tried: a trial takes time, and the step has time for only one.
    pub(super) async fn reply_to_commands(
        &self,
        claim: &Claim,
        context: &Context,
        superseded: &CancellationToken,
    ) -> Result<Option<StepResult>, StepError> {
        let Some(first) = context.pending_commands.first() else {
            return self.reject_edited_command(context).transpose();
        };
        if first.owed == Owed::Join {
            return self.announce_join(context).map(Some);
        }
        let pending = context.pending_commands.iter();
        let from_user: Vec<&PendingCommand> =
            pending.filter(|command| command.user == first.user).collect();
        let owed: Vec<Owed> = from_user.iter().map(|command| command.owed.clone()).collect();
        let (here, user) = (&context.conversation, &first.user);
        let Some(number) =
            self.user_rate_limit.count(PacedNotice::ToCommand, here, user, claim.decision)
        else {
            // Their author has just got many answers in this channel.
            let why = texts::commands::unanswered(self.persona.language).to_owned();
            let closing = self.close_by_gate(Gate::Command, None);
            let closing = DecisionClosing { settled: owed, why, ..closing };
            return Ok(Some(StepResult::Silent(closing)));
        };
        let mut answers: Vec<String> = Vec::new();
        let mut is_public = true;
        let trial = self.command_answers.standing_order_trial.as_deref();
        let trial = trial.map(|trial| StepTrial::new(trial, &self.clock, superseded));
        for command in self.newest_distinct(&from_user) {
            let request = self.command_request(context, command).await?;
            // All answers are in one reply, which others see only if every one of them concerns everybody.
            is_public &= request.as_ref().is_some_and(CommandRequest::concerns_everybody);
            let answer = match request {
                Some(request) => {
                    let (answers, now) = (&self.command_answers, self.now());
                    answers.reply_in_chat(&request, now, trial.as_ref()).await?
                }
                // The command addressed the persona by a former name.
                None => texts::commands::edited_command(self.persona.language).to_owned(),
            };
            if superseded.is_cancelled() {
                return Err(StepError::Superseded);
            }
            if !answers.contains(&answer) {
                answers.push(answer);
            }
        }
        if number == MAX_COMMAND_ANSWERS {
            let language = self.persona.language;
            answers.push(texts::commands::enough_answers(language, MAX_COMMAND_ANSWERS));
        }
        let why = texts::judging::gate_reason(self.persona.language, Gate::Command);
        let audience = ReplyAudience { user: Some(first.user.clone()), is_public };
        self.draft_command_reply(context, answers, owed, why, audience).map(Some)
    }

    /// Drafts a reply that has seen no messages, so that the users' conversation is still judged. If there are too many
    /// answers, the newest are kept.
    pub(super) fn draft_command_reply(
        &self,
        context: &Context,
        mut answers: Vec<String>,
        owed: Vec<Owed>,
        why: &str,
        ReplyAudience { user, is_public }: ReplyAudience,
    ) -> Result<StepResult, StepError> {
        let platform = self.platforms.for_workspace(&context.conversation.workspace)?;
        let longest = platform.max_post_length();
        let mut posts = split(&answers.join("\n\n"), longest);
        while posts.len() > MAX_POSTS && answers.len() > 1 {
            answers.remove(0);
            posts = split(&answers.join("\n\n"), longest);
        }
        // One command is answered in full.
        if owed.len() > 1 {
            posts = limit_posts(posts, longest);
        }
        let metadata = DraftMetadata {
            owed,
            only_for: user,
            is_public,
            ..DraftMetadata::new(DecisionResult::Spoke, why)
        };
        let text = DraftContent::Text(posts);
        Ok(StepResult::Drafted { draft: Draft { content: text, metadata }, due: self.now() })
    }

    /// Announces in the channel that the bot has joined. Unlike other command replies it is public, so the gates may
    /// stop it.
    fn announce_join(&self, context: &Context) -> Result<StepResult, StepError> {
        let text = self.command_answers.join_notice(self.gate_input(context).mode());
        let why = texts::replies::joined(self.persona.language);
        let audience = ReplyAudience { user: None, is_public: true };
        self.draft_command_reply(context, vec![text], vec![Owed::Join], why, audience)
    }

    /// Replies to a message that became a command by an edit. The command was not carried out, and a model might claim
    /// that it was.
    fn reject_edited_command(&self, context: &Context) -> Option<Result<StepResult, StepError>> {
        let name = &self.persona.name;
        let message = context.owed_messages().find(|message| {
            message.edits > 0 && Command::parse_message(&message.text, name).is_some()
        })?;
        let language = self.persona.language;
        let (text, why) = (
            texts::commands::edited_command(language),
            texts::judging::gate_reason(language, Gate::Command),
        );
        let audience = ReplyAudience { user: Some(message.author.id.clone()), is_public: false };
        let owed = vec![message.id.clone().into()];
        Some(self.draft_command_reply(context, vec![text.to_owned()], owed, why, audience))
    }

    async fn command_request(
        &self,
        context: &Context,
        pending: &PendingCommand,
    ) -> Result<Option<CommandRequest>, StepError> {
        let (conversation, name) = (&context.conversation, &self.persona.name);
        let PendingCommand { owed, user, role, at, text } = pending;
        let given = match Command::parse_message(text, name) {
            Some(command) => Some((command, text.clone())),
            None => {
                let CommandReplies { store, archive, .. } = &*self.command_answers;
                // Whether it answered the persona, and what it replies to, was checked when it was heard.
                let (at, is_addressed, reply_to) = (*at, true, None);
                let said = PossibleYes { conversation, user, at, text, is_addressed, reply_to };
                confirmed(&**store, &**archive, said, name).await?
            }
        };
        let Some((command, words)) = given else { return Ok(None) };
        let reply_to = match owed.message().filter(|_| command == Command::ForgetThat) {
            Some(message) => self.replied_to(context, message).await?,
            None => None,
        };
        Ok(Some(CommandRequest {
            command,
            conversation: conversation.clone(),
            visibility: context.visibility,
            user: user.clone(),
            role: *role,
            at: *at,
            text: words,
            written_in: language_of(text),
            message: owed.message().cloned(),
            reply_to,
        }))
    }

    /// Returns the message that a command replies to, as reported by the platform.
    async fn replied_to(
        &self,
        context: &Context,
        command: &MessageId,
    ) -> Result<Option<MessageId>, StepError> {
        let ConversationId { workspace, channel, .. } = &context.conversation;
        let archive = &self.command_answers.archive;
        let links = archive.links(workspace, channel, std::slice::from_ref(command)).await?;
        let parents = links.into_iter().flat_map(|(_, links)| links.parents.into_keys());
        Ok(parents.last())
    }

    /// Returns the newest of these commands, without duplicates. “Forget that” is never a duplicate, since “that”
    /// differs each time.
    fn newest_distinct<'a>(&self, commands: &[&'a PendingCommand]) -> Vec<&'a PendingCommand> {
        let mut seen = HashSet::new();
        let mut is_new = |command: &PendingCommand| {
            let parsed = Command::parse_message(&command.text, &self.persona.name);
            seen.insert(command.text.clone()) || parsed == Some(Command::ForgetThat)
        };
        let newest = commands.iter().rev().filter(|command| is_new(command));
        let mut newest: Vec<&PendingCommand> = newest.take(MAX_ANSWERED).copied().collect();
        newest.reverse();
        newest
    }
}
