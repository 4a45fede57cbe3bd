//! Obey: answer a command. What it orders was carried out when it was heard; no model is asked, and no gate
//! stops the answer, or nobody could wake what was muted.

use crate::agent::judge::gate_reason;
use crate::agent::{Agent, Trouble};
use crate::command::{Command, Given};
use crate::context::{CommandLine, Context};
use crate::decision::Ended;
use crate::decision::gate::Gate;
use crate::event::{Draft, DraftNotes, End, Words};
use crate::memory::Lineage;
use crate::platform::split::split;

impl Agent {
    /// The answer to whoever gave the first of the commands, if there are any. Others are answered next.
    pub(super) async fn obey(&self, context: &Context) -> Result<Option<End>, Trouble> {
        let Some(first) = context.commands.first() else { return Ok(None) };
        let of_one = context.commands.iter().filter(|command| command.by == first.by);
        let (mut answers, mut owed) = (Vec::new(), Vec::new());
        for line in of_one {
            if let Some(given) = self.given(context, line) {
                answers.push(self.answers.to(&given, self.now()).await?);
            }
            owed.push(line.line.clone());
        }
        let platform = self.platforms.of(&context.conversation.workspace)?;
        let notes = DraftNotes {
            owed,
            about: None,
            made_from: Lineage::default(),
            // It has looked at no talk: what people have said is still to be judged.
            considered: 0,
            ends: Ended::Spoke,
            why: gate_reason(Gate::Command, self.persona.language).to_owned(),
            only_for: Some(first.by.clone()),
        };
        let words = Words::Said(split(&answers.join("\n\n"), platform.longest_post()));
        Ok(Some(End::Drafted { draft: Draft { words, notes }, due: self.now() }))
    }

    fn given(&self, context: &Context, line: &CommandLine) -> Option<Given> {
        Some(Given {
            command: Command::read(&line.text, &self.persona.name)?,
            place: context.conversation.clone(),
            by: line.by.clone(),
            role: line.role,
            at: line.at,
        })
    }
}
