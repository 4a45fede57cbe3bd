//! Obey: answer a command. What it orders was carried out when it was heard; no model is asked, and no gate
//! stops the answer, or nobody could wake what was muted.

use crate::agent::judge::gate_reason;
use crate::agent::{Agent, Trouble};
use crate::chat::{JOINED, MessageId, UserId};
use crate::command::{Command, Given, words};
use crate::context::{CommandLine, Context};
use crate::decision::Ended;
use crate::decision::gate::Gate;
use crate::event::{Draft, DraftNotes, End, Words};
use crate::memory::Lineage;
use crate::platform::split::split;

impl Agent {
    /// The answer to whoever gave the first of the commands, if there are any. Others are answered next.
    pub(super) async fn obey(&self, context: &Context) -> Result<Option<End>, Trouble> {
        let Some(first) = context.commands.first() else {
            return self.refuse_edited(context).transpose();
        };
        if first.line.as_str() == JOINED {
            return self.announce(context, first).map(Some);
        }
        let of_one = context.commands.iter().filter(|command| command.by == first.by);
        let (mut answers, mut owed) = (Vec::new(), Vec::new());
        for line in of_one {
            answers.push(match self.given(context, line) {
                Some(given) => self.answers.to(&given, self.now()).await?,
                // It was given to another name.
                None => words::edited(self.persona.language).to_owned(),
            });
            owed.push(line.line.clone());
        }
        let why = gate_reason(Gate::Command, self.persona.language);
        let only_for = Some(first.by.clone());
        self.say_past_judging(context, answers.join("\n\n"), owed, why, only_for).map(Some)
    }

    /// Words that look at no talk: what people have said is still to be judged.
    fn say_past_judging(
        &self,
        context: &Context,
        words: String,
        owed: Vec<MessageId>,
        why: &str,
        only_for: Option<UserId>,
    ) -> Result<End, Trouble> {
        let platform = self.platforms.of(&context.conversation.workspace)?;
        let notes = DraftNotes {
            owed,
            about: None,
            made_from: Lineage::default(),
            considered: 0,
            ends: Ended::Spoke,
            why: why.to_owned(),
            only_for,
        };
        let words = Words::Said(split(&words, platform.longest_post()));
        Ok(End::Drafted { draft: Draft { words, notes }, due: self.now() })
    }

    /// Everybody in the room is to know it, unless nobody wants to hear anything.
    fn announce(&self, context: &Context, joined: &CommandLine) -> Result<End, Trouble> {
        let words = self.answers.notice(self.facts(context).mode());
        let why = self.persona.language.pick("I have joined", "参加したばかりです");
        self.say_past_judging(context, words, vec![joined.line.clone()], why, None)
    }

    /// A line that an edit has made a command: what it says was not carried out, and a mind might say it was.
    fn refuse_edited(&self, context: &Context) -> Option<Result<End, Trouble>> {
        let mut owed = context.owed.iter().filter_map(|id| context.message(id));
        let name = &self.persona.name;
        let line = owed.find(|line| line.edits > 0 && Command::read(&line.text, name).is_some())?;
        let language = self.persona.language;
        let (words, why) = (words::edited(language), gate_reason(Gate::Command, language));
        let (owed, by) = (vec![line.id.clone()], Some(line.author.id.clone()));
        Some(self.say_past_judging(context, words.to_owned(), owed, why, by))
    }

    fn given(&self, context: &Context, line: &CommandLine) -> Option<Given> {
        Some(Given {
            command: Command::read(&line.text, &self.persona.name)?,
            place: context.conversation.clone(),
            visibility: context.visibility,
            by: line.by.clone(),
            role: line.role,
            at: line.at,
        })
    }
}
