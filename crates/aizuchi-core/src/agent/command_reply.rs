//! Obey: answer a command. What it orders was carried out when it was heard; no model is asked, and no gate
//! stops the answer, or nobody could wake what was muted.

use crate::agent::judge::gate_reason;
use crate::agent::{Agent, StepError};
use crate::chat::{JOINED_MESSAGE_ID, MessageId, UserId};
use crate::command::{Command, CommandRequest, reply_texts};
use crate::context::{Context, PendingCommand};
use crate::decision::DecisionResult;
use crate::decision::gate::Gate;
use crate::event::{Draft, DraftContent, DraftMetadata, StepResult};
use crate::memory::Lineage;
use crate::platform::split::split;

impl Agent {
    /// The answer to whoever gave the first of the commands, if there are any. Others are answered next.
    pub(super) async fn reply_to_commands(
        &self,
        context: &Context,
    ) -> Result<Option<StepResult>, StepError> {
        let Some(first) = context.pending_commands.first() else {
            return self.reject_edited_command(context).transpose();
        };
        if first.message.as_str() == JOINED_MESSAGE_ID {
            return self.announce_join(context, first).map(Some);
        }
        let of_one = context.pending_commands.iter().filter(|command| command.user == first.user);
        let (mut answers, mut owed) = (Vec::new(), Vec::new());
        for line in of_one {
            answers.push(match self.command_request(context, line) {
                Some(given) => self.command_answers.reply_to(&given, self.now()).await?,
                // It was given to another name.
                None => reply_texts::edited_command(self.persona.language).to_owned(),
            });
            owed.push(line.message.clone());
        }
        let why = gate_reason(Gate::Command, self.persona.language);
        let only_for = Some(first.user.clone());
        self.draft_command_reply(context, answers.join("\n\n"), owed, why, only_for).map(Some)
    }

    /// Words that look at no talk: what people have said is still to be judged.
    fn draft_command_reply(
        &self,
        context: &Context,
        words: String,
        owed: Vec<MessageId>,
        why: &str,
        only_for: Option<UserId>,
    ) -> Result<StepResult, StepError> {
        let platform = self.platforms.for_workspace(&context.conversation.workspace)?;
        let notes = DraftMetadata {
            owed,
            about: None,
            lineage: Lineage::default(),
            seen_revision: 0,
            ends: DecisionResult::Spoke,
            why: why.to_owned(),
            only_for,
        };
        let words = DraftContent::Text(split(&words, platform.max_post_length()));
        Ok(StepResult::Drafted {
            draft: Draft { content: words, metadata: notes },
            due: self.now(),
        })
    }

    /// Everybody in the room is to know it, unless nobody wants to hear anything.
    fn announce_join(
        &self,
        context: &Context,
        joined: &PendingCommand,
    ) -> Result<StepResult, StepError> {
        let words = self.command_answers.join_notice(self.gate_input(context).mode());
        let why = self.persona.language.pick("I have joined", "参加したばかりです");
        self.draft_command_reply(context, words, vec![joined.message.clone()], why, None)
    }

    /// A line that an edit has made a command: what it says was not carried out, and a mind might say it was.
    fn reject_edited_command(&self, context: &Context) -> Option<Result<StepResult, StepError>> {
        let mut owed = context.owed.iter().filter_map(|id| context.target_message(id));
        let name = &self.persona.name;
        let line =
            owed.find(|line| line.edits > 0 && Command::parse_message(&line.text, name).is_some())?;
        let language = self.persona.language;
        let (words, why) =
            (reply_texts::edited_command(language), gate_reason(Gate::Command, language));
        let (owed, by) = (vec![line.id.clone()], Some(line.author.id.clone()));
        Some(self.draft_command_reply(context, words.to_owned(), owed, why, by))
    }

    fn command_request(&self, context: &Context, line: &PendingCommand) -> Option<CommandRequest> {
        Some(CommandRequest {
            command: Command::parse_message(&line.text, &self.persona.name)?,
            conversation: context.conversation.clone(),
            visibility: context.visibility,
            user: line.user.clone(),
            role: line.role,
            at: line.at,
        })
    }
}
