//! The posts on the page: some unfolded, and all of them folded. A team reads them before it enables a policy.

use aizuchi_llm::builtin::MAX_QUOTE_CHARS;
use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted;
use aizuchi_model::texts::moments as texts;
use aizuchi_model::texts::report as report_texts;
use aizuchi_model::texts::report_posts as post_texts;
use jiff::tz::TimeZone;

use crate::report::beside_view::{BesideView, besides};
use crate::report::code::TextPart;
use crate::report::delays::LATE;
use crate::report::figures::{PolicyFigures, Report, ReportSource};
use crate::report::format;
use crate::report::markup::chat_parts;
use crate::report::posts::{ListedPost, PostList};
use crate::report::story::MAX_TEXT_CHARS;
use crate::report::story_view::{Badge, StoryMessageView};

/// How many posts are unfolded.
const SAMPLE: usize = 5;
/// How many posts about messages that nobody else followed up are unfolded in addition.
const LEFT_OPEN: usize = 10;

pub struct PostsView {
    pub title: &'static str,
    /// What the posts are, and that the page cannot say whether they help. `None` if none is listed.
    pub quality: Option<&'static str>,
    /// What the labels of the posts mean, and that long texts and quotes are cut.
    pub rules: Vec<String>,
    /// Some posts of the first list, picked without regard to their texts.
    pub sample: Option<PostSample>,
    pub left_open_title: &'static str,
    /// The posts of the first list about messages that nobody else followed up, if there are any.
    pub left_open: Option<PostSample>,
    pub lists: Vec<PostListView>,
    /// Answers to mentions, and reactions.
    pub beside: Vec<BesideView>,
}

/// Posts that are unfolded.
pub struct PostSample {
    /// How many there are, and how they were picked.
    pub rules: Vec<String>,
    pub posts: Vec<PostView>,
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
    /// Lists the posts of the offered policies and of the first policy, with the answers to mentions and the reactions
    /// of the first one. Returns `None` if there is nothing to list.
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
        let longest = format::count(MAX_TEXT_CHARS);
        let cut = match report.source {
            ReportSource::Builtin => {
                post_texts::quotes_cut(l, &format::count(MAX_QUOTE_CHARS), &longest)
            }
            ReportSource::AlwaysSilent
            | ReportSource::AlwaysSpeak
            | ReportSource::Model
            | ReportSource::Ledger => post_texts::texts_cut(l, &longest),
        };
        let (only_timing, left_open_title) = match is_annotated(report) {
            true => (post_texts::only_timing_annotated(l), post_texts::left_open_annotated(l)),
            false => (post_texts::only_timing(l), post_texts::left_open(l)),
        };
        let rules = quality.map(|_| vec![only_timing.to_owned(), cut]);
        let first = report.policies.first().and_then(|policy| policy.posts.as_ref());
        Some(Self {
            title,
            quality,
            rules: rules.unwrap_or_default(),
            sample: first.and_then(|posts| sample(posts, report, zone, l)),
            left_open_title,
            left_open: first.and_then(|posts| left_open(posts, report, zone, l)),
            lists,
            beside,
        })
    }
}

/// Returns a few posts, evenly spread by their order in time. `None` if there are none.
fn sample(
    posts: &PostList,
    report: &Report,
    zone: &TimeZone,
    language: Language,
) -> Option<PostSample> {
    let listed = &posts.listed;
    let picked = evenly(listed.len(), SAMPLE);
    let shown = format::count(picked.len());
    let posts = listed_posts(posts, language);
    (!picked.is_empty()).then(|| PostSample {
        rules: vec![post_texts::sample_rule(language, &shown, &posts)],
        posts: picked
            .into_iter()
            .map(|place| PostView::new(&listed[place], report, zone, language))
            .collect(),
    })
}

/// Returns some posts about messages that nobody else followed up, besides those of the sample. `None` if there are
/// none.
fn left_open(
    posts: &PostList,
    report: &Report,
    zone: &TimeZone,
    language: Language,
) -> Option<PostSample> {
    let (l, listed) = (language, &posts.listed);
    let count = listed.iter().filter(|post| post.is_left_open).count();
    let sample = evenly(listed.len(), SAMPLE);
    let others = listed.iter().enumerate();
    let others = others.filter(|(place, post)| post.is_left_open && !sample.contains(place));
    let others: Vec<&ListedPost> = others.map(|(_, post)| post).collect();
    let picked = evenly(others.len(), LEFT_OPEN);
    let posts = listed_posts(posts, l);
    let shown =
        (!picked.is_empty()).then(|| post_texts::left_open_shown(l, &format::count(picked.len())));
    let rule = match is_annotated(report) {
        true => post_texts::left_open_rule_annotated(l, &format::count(count), &posts),
        false => post_texts::left_open_rule(l, &format::count(count), &posts),
    };
    (count > 0).then(|| PostSample {
        rules: [rule].into_iter().chain(shown).collect(),
        posts: picked
            .into_iter()
            .map(|place| PostView::new(others[place], report, zone, l))
            .collect(),
    })
}

/// Whether the recording says which message answers which. If so, a question counts as open even if people wrote after
/// it.
fn is_annotated(report: &Report) -> bool {
    let unanswered = report.policies.first().and_then(|policy| policy.unanswered);
    unanswered.is_some_and(|found| found.is_annotated)
}

/// Formats the number of listed posts, and whether there are more of them.
fn listed_posts(posts: &PostList, language: Language) -> String {
    let listed = format::number_of(counted::posts, posts.listed.len(), language);
    match posts.more {
        0 => listed,
        _ => post_texts::first_posts(language, &listed),
    }
}

/// Returns indexes that are evenly spread over `0..all`: the middle of each of `parts` equal parts. If `all` is at most
/// `parts`, these are all indexes.
fn evenly(all: usize, parts: usize) -> Vec<usize> {
    let parts = parts.min(all);
    (0..parts).map(|part| (2 * part + 1) * all / (2 * parts)).collect()
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
        let number = |count: usize| format::number_of(counted::posts, count, l);
        let (listed, all) = (posts.listed.len(), posts.listed.len() + posts.more);
        let first = format::count(listed);
        let mut sorted: Vec<&ListedPost> = posts.listed.iter().collect();
        sorted.sort_by_key(|post| !post.is_wrong);
        Self {
            same_quotes: posts
                .same_quotes
                .filter(|count| *count > 0)
                .map(|count| post_texts::same_quote(l, &format::count(count))),
            summary: match (report.policies.len() > 1, posts.more > 0) {
                (false, false) => texts::list_of_posts(l, &number(all)),
                (false, true) => texts::list_of_first(l, &first, &number(all)),
                (true, false) => texts::list_of_policy(l, name, &number(all)),
                (true, true) => texts::list_of_policy_first(l, name, &first, &number(all)),
            },
            posts: sorted.into_iter().map(|post| PostView::new(post, report, zone, l)).collect(),
            more: (posts.more > 0).then(|| texts::more_posts(l, &number(posts.more))),
        }
    }
}

impl PostView {
    fn new(post: &ListedPost, report: &Report, zone: &TimeZone, language: Language) -> Self {
        let message = |message| StoryMessageView::new(message, report.is_anonymous, zone, language);
        let left_open = match is_annotated(report) {
            true => post_texts::badge_left_open_annotated(language),
            false => post_texts::badge_left_open(language),
        };
        Self {
            channel: format::channel(&post.channel),
            when: format::date_and_time(post.at, zone, language),
            asked: message(&post.asked),
            said: post.said.as_deref().map(chat_parts),
            badges: badges(post, left_open, language),
            after: post.after.iter().map(message).collect(),
        }
    }
}

/// Returns the labels of a post: whether it would interrupt, answers a question that was left open, comes late, or
/// repeats a quote. `left_open` is the text for a question that was left open.
fn badges(post: &ListedPost, left_open: &'static str, language: Language) -> Vec<Badge> {
    let l = language;
    let warning = |text| Badge { class: "interrupts", text };
    let timing = match post.is_wrong {
        true => warning(report_texts::badge_wrong(l)),
        false => Badge { class: "calm", text: texts::no_sign(l) },
    };
    let is_late = post.at.duration_since(post.asked.at) > LATE;
    let left_open = Badge { class: "calm", text: left_open };
    let others = [
        post.is_left_open.then_some(left_open),
        is_late.then(|| warning(post_texts::badge_late(l))),
        post.is_same_quote.then(|| warning(post_texts::badge_same_quote(l))),
    ];
    [timing].into_iter().chain(others.into_iter().flatten()).collect()
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::report::story::{StoryAuthor, StoryMessage};

    #[test]
    fn what_stands_open_is_spread_evenly() {
        for (all, parts, expected) in [
            (96, 5, &[9, 28, 48, 67, 86][..]),
            (5, 5, &[0, 1, 2, 3, 4][..]),
            (2, 5, &[0, 1][..]),
            (7, 3, &[1, 3, 5][..]),
            (0, 5, &[][..]),
        ] {
            assert_eq!(evenly(all, parts), expected, "{all}");
        }
    }

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
            badges(post, "left open", Language::En).iter().map(|badge| badge.text).collect()
        };
        assert_eq!(
            tags(&post),
            ["timing looks harmless", "left open", "more than 30 min after the question"]
        );
        let at = Timestamp::UNIX_EPOCH + SignedDuration::from_mins(30);
        let soon = ListedPost { at, is_wrong: true, is_left_open: false, ..post };
        assert_eq!(tags(&soon), ["would probably have interrupted"]);
    }
}
