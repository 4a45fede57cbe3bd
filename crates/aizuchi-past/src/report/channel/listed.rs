//! The list of a channel's posts.

use std::collections::HashSet;

use aizuchi_import::history::MessageReader;
use aizuchi_import::rows::{IdHash, MessageRow};
use aizuchi_model::chat::MessageId;

use crate::replay::moments::Moment;
use crate::report::channel::post::{is_posted, is_unasked};
use crate::report::channel::quoted::RecentQuotes;
use crate::report::channel::transcript::STORY_WINDOW;
use crate::report::channel::{ChannelAnalysis, is_soon_after};
use crate::report::figures::ReportSource;
use crate::report::posts::{ListedPost, MAX_LISTED, PostList};
use crate::report::story::StoryMessage;

/// How many messages after a post the list shows with it.
const MESSAGES_AFTER: usize = 2;

impl<'a> ChannelAnalysis<'a> {
    /// The first posts of the channel, with their texts. `unanswered` are the questions that no other person followed up.
    /// Fails if a message cannot be read.
    pub(super) fn list_posts(&self, unanswered: &[MessageRow]) -> anyhow::Result<PostList> {
        // Only the built-in rules are known to quote.
        let mut quoted = (self.source == ReportSource::Builtin).then(RecentQuotes::default);
        let mut list = PostList { same_quotes: quoted.as_ref().map(|_| 0), ..PostList::default() };
        let mut left_open: HashSet<IdHash> =
            unanswered.iter().map(|question| question.id).collect();
        let mut reader = self.channel.reader();
        for moment in self.moments.iter().filter(|moment| self.is_listed(moment)) {
            let is_same_quote = match (&mut quoted, &moment.text) {
                (Some(quoted), Some(text)) => quoted.is_again(moment.at, text),
                (Some(_) | None, _) => false,
            };
            if let Some(count) = &mut list.same_quotes {
                *count += usize::from(is_same_quote);
            }
            let is_full = list.listed.len() >= MAX_LISTED;
            match self.about(moment).filter(|_| !is_full) {
                Some(about) => {
                    let post = self.listed(moment, &about, &mut reader)?;
                    let is_left_open =
                        is_soon_after(moment.at, &about) && left_open.remove(&about.id);
                    list.listed.push(ListedPost { is_same_quote, is_left_open, ..post });
                }
                None => list.more += 1,
            }
        }
        Ok(list)
    }

    /// Whether a post is listed. Without a model, the built-in rules post only what may help. The posts of a judge that
    /// gives the same answer to everything are not listed.
    fn is_listed(&self, moment: &Moment) -> bool {
        is_unasked(moment)
            && match self.source {
                ReportSource::Builtin => is_posted(moment),
                ReportSource::Model | ReportSource::Ledger => true,
                ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak => false,
            }
    }

    fn listed(
        &self,
        moment: &'a Moment,
        about: &'a MessageRow,
        reader: &mut MessageReader<'_>,
    ) -> anyhow::Result<ListedPost> {
        let said = moment.text.as_deref().filter(|_| self.source.writes_replies());
        Ok(ListedPost {
            at: moment.at,
            channel: self.channel.name.clone(),
            asked: StoryMessage {
                at: about.at(),
                author: self.author(about),
                is_bot: about.is_bot(),
                text: self.shown(&reader.read(about)?.text),
                is_about: true,
                left_out_after: 0,
                left_out: Vec::new(),
            },
            said: said.map(|text| self.shown(text)),
            is_wrong: self.spoken(moment).disturbance.is_some(),
            is_same_quote: false,
            is_left_open: false,
            after: self.messages_after(moment, about, reader)?,
        })
    }

    /// Returns the next messages after a post in its conversation, within an hour.
    fn messages_after(
        &self,
        moment: &Moment,
        about: &MessageRow,
        reader: &mut MessageReader<'_>,
    ) -> anyhow::Result<Vec<StoryMessage>> {
        let thread = moment.thread.as_ref().map(MessageId::as_str);
        let around = self.index.around(thread, about, moment.at, STORY_WINDOW);
        let after = around.iter().filter(|row| row.at() > moment.at).take(MESSAGES_AFTER);
        after.map(|row| self.story_message(row, about, reader)).collect()
    }
}
