//! The list of all posts as the page shows it, folded: a team reads it before it switches a policy on.

use jiff::tz::TimeZone;

use crate::report::beside_view::{BesideView, besides};
use crate::report::code::TextPart;
use crate::report::delays::LATE;
use crate::report::figures::{PolicyFigures, Report, ReportSource};
use crate::report::markup::chat_parts;
use crate::report::posts::{ListedPost, PostList};
use crate::report::story::MAX_TEXT_CHARS;
use crate::report::story_view::{Badge, StoryMessageView};
use crate::report::words;
use aizuchi_core::persona::Language;
use aizuchi_core::texts::counted;
use aizuchi_core::texts::moments as texts;
use aizuchi_core::texts::report as report_texts;
use aizuchi_core::texts::report_posts as post_texts;

pub struct PostsView {
    pub title: &'static str,
    /// What the posts are, and that the page cannot say whether they help. `None` if none is listed.
    pub quality: Option<&'static str>,
    /// What the tags of the posts mean, and that long texts and quotes are cut.
    pub rules: Vec<String>,
    pub lists: Vec<PostListView>,
    /// Answers to calls, and reactions.
    pub beside: Vec<BesideView>,
}

pub struct PostListView {
    pub summary: String,
    pub same_quotes: Option<String>,
    pub posts: Vec<PostView>,
    /// How many posts are not listed, if any.
    pub more: Option<String>,
}

pub struct PostView {
    pub channel: String,
    pub when: String,
    pub asked: StoryMessageView,
    pub said: Option<Vec<TextPart>>,
    pub badges: Vec<Badge>,
    /// The next messages after the post.
    pub after: Vec<StoryMessageView>,
}

impl PostsView {
    /// Lists the posts of the policies on offer and of the first policy, with the calls and reactions of the first one.
    /// Returns `None` if there is nothing to list.
    pub fn new(report: &Report, zone: &TimeZone, language: Language) -> Option<Self> {
        let l = language;
        let offered = report.on_offer();
        let is_shown = |place: &usize| *place == 0 || offered.contains(place);
        let policies = report.policies.iter().enumerate();
        let policies = policies.filter(|(place, _)| is_shown(place));
        let lists = policies.filter_map(|(_, policy)| {
            let posts = policy.posts.as_ref().filter(|posts| !posts.listed.is_empty())?;
            Some(PostListView::new(report, policy, posts, zone, l))
        });
        let lists: Vec<PostListView> = lists.collect();
        let beside = besides(report, report.policies.first()?, zone, l);
        if lists.is_empty() && beside.is_empty() {
            return None;
        }
        let (title, quality) = match report.source {
            _ if lists.is_empty() => (post_texts::title_scripted(l), None),
            ReportSource::Ledger => (post_texts::title_ledger(l), Some(texts::quality_ledger(l))),
            ReportSource::Model => (post_texts::title_model(l), Some(texts::quality_model(l))),
            ReportSource::Builtin | ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak => {
                (texts::posts(l), Some(texts::quality(l)))
            }
        };
        let longest = words::count(MAX_TEXT_CHARS);
        let cut = match report.source {
            ReportSource::Builtin => post_texts::quotes_cut(l, &longest),
            ReportSource::AlwaysSilent
            | ReportSource::AlwaysSpeak
            | ReportSource::Model
            | ReportSource::Ledger => post_texts::texts_cut(l, &longest),
        };
        let rules = quality.map(|_| vec![post_texts::only_timing(l).to_owned(), cut]);
        Some(Self { title, quality, rules: rules.unwrap_or_default(), lists, beside })
    }
}

impl PostListView {
    fn new(
        report: &Report,
        policy: &PolicyFigures,
        posts: &PostList,
        zone: &TimeZone,
        language: Language,
    ) -> Self {
        let (l, name) = (language, &*policy.name);
        let number = |count: usize| words::number_of(counted::posts, count, l);
        let (listed, all) = (posts.listed.len(), posts.listed.len() + posts.more);
        let first = words::count(listed);
        let post = |post: &ListedPost| PostView {
            channel: words::channel(&post.channel),
            when: words::date_and_time(post.at, zone, l),
            asked: StoryMessageView::new(&post.asked, report.is_anonymous, zone, l),
            said: post.said.as_deref().map(chat_parts),
            badges: badges(post, l),
            after: post
                .after
                .iter()
                .map(|message| StoryMessageView::new(message, report.is_anonymous, zone, l))
                .collect(),
        };
        Self {
            same_quotes: posts
                .same_quotes
                .map(|count| post_texts::same_quote(l, &words::count(count))),
            summary: match (report.policies.len() > 1, posts.more > 0) {
                (false, false) => texts::list_of_posts(l, &number(all)),
                (false, true) => texts::list_of_first(l, &first, &number(all)),
                (true, false) => texts::list_of_policy(l, name, &number(all)),
                (true, true) => texts::list_of_policy_first(l, name, &first, &number(all)),
            },
            posts: posts.listed.iter().map(post).collect(),
            more: (posts.more > 0).then(|| texts::more_posts(l, &number(posts.more))),
        }
    }
}

/// Returns the tags of a post: whether it would interrupt, goes to a question that was left open, comes late, or repeats a
/// quote.
fn badges(post: &ListedPost, language: Language) -> Vec<Badge> {
    let l = language;
    let warning = |text| Badge { class: "interrupts", text };
    let timing = match post.is_wrong {
        true => warning(report_texts::badge_wrong(l)),
        false => Badge { class: "calm", text: texts::no_sign(l) },
    };
    let is_late = post.at.duration_since(post.asked.at) > LATE;
    let left_open = Badge { class: "posts", text: post_texts::badge_left_open(l) };
    let others = [
        post.is_left_open.then_some(left_open),
        is_late.then(|| warning(post_texts::badge_late(l))),
        post.is_same_quote.then(|| warning(post_texts::badge_same_quote(l))),
    ];
    [timing].into_iter().chain(others.into_iter().flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::story::{StoryAuthor, StoryMessage};
    use jiff::{SignedDuration, Timestamp};

    #[test]
    fn a_post_is_tagged_by_its_timing_and_by_its_question() {
        let post = ListedPost {
            at: Timestamp::UNIX_EPOCH + SignedDuration::from_mins(31),
            channel: "help".to_owned(),
            asked: StoryMessage {
                at: Timestamp::UNIX_EPOCH,
                author: StoryAuthor { id: "U1".to_owned(), name: "Priya".to_owned() },
                is_bot: false,
                text: "who has a ladder?".to_owned(),
                is_about: true,
                left_out_after: 0,
                left_out: Vec::new(),
            },
            said: None,
            is_wrong: false,
            is_same_quote: false,
            is_left_open: true,
            after: Vec::new(),
        };
        let tags = |post: &ListedPost| -> Vec<&'static str> {
            badges(post, Language::En).iter().map(|badge| badge.text).collect()
        };
        assert_eq!(
            tags(&post),
            [
                "timing looks harmless",
                "no other person followed up within an hour",
                "more than 30 min after the question"
            ]
        );
        let at = Timestamp::UNIX_EPOCH + SignedDuration::from_mins(30);
        let soon = ListedPost { at, is_wrong: true, is_left_open: false, ..post };
        assert_eq!(tags(&soon), ["would probably have interrupted"]);
    }
}
