//! The posts of a channel, one by one.

use crate::replay::history::MessageReader;
use crate::replay::moments::Moment;
use crate::replay::rows::MessageRow;
use crate::report::channel::ChannelAnalysis;
use crate::report::channel::post::{is_posted, is_unasked};
use crate::report::figures::ReportSource;
use crate::report::posts::{ListedPost, MAX_LISTED, PostList};
use crate::report::story::StoryMessage;

impl<'a> ChannelAnalysis<'a> {
    /// The first posts of the channel, with their texts. Fails if a message cannot be read.
    pub(super) fn list_posts(&self) -> anyhow::Result<PostList> {
        let mut list = PostList::default();
        let mut reader = self.channel.reader();
        for moment in self.moments.iter().filter(|moment| self.is_listed(moment)) {
            let is_full = list.listed.len() >= MAX_LISTED;
            match self.about(moment).filter(|_| !is_full) {
                Some(about) => list.listed.push(self.listed(moment, &about, &mut reader)?),
                None => list.more += 1,
            }
        }
        Ok(list)
    }

    /// Without a model, the built-in rules post only what may help. A judge that says the same to everything lists nothing.
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
        })
    }
}
