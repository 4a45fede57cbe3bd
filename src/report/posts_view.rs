//! The list of all posts, as the page shows it: folded, for who reads it before a policy is switched on.

use jiff::tz::TimeZone;

use crate::report::beside_view::{BesideView, besides};
use crate::report::code::TextPart;
use crate::report::figures::{PolicyFigures, Report, ReportSource};
use crate::report::markup::chat_parts;
use crate::report::posts::{ListedPost, PostList};
use crate::report::story::MAX_TEXT_CHARS;
use crate::report::story_view::StoryMessageView;
use crate::report::words;
use aizuchi_core::persona::Language;
use aizuchi_core::texts::counted;
use aizuchi_core::texts::moments as texts;
use aizuchi_core::texts::report_posts as post_texts;

pub struct PostsView {
    pub title: &'static str,
    /// What the posts are, and that nobody knows whether they help. `None` if none is listed.
    pub quality: Option<&'static str>,
    /// What the tags of the posts mean, and that long texts are cut.
    pub rules: Vec<String>,
    pub lists: Vec<PostListView>,
    /// What it does besides: answers to calls, and reactions.
    pub beside: Vec<BesideView>,
}

pub struct PostListView {
    pub summary: String,
    pub same_quotes: Option<String>,
    pub posts: Vec<PostView>,
    /// That there are more.
    pub more: Option<String>,
}

pub struct PostView {
    pub channel: String,
    pub when: String,
    pub asked: StoryMessageView,
    pub said: Option<Vec<TextPart>>,
    pub is_wrong: bool,
    pub is_same_quote: bool,
    /// The next messages after it.
    pub after: Vec<StoryMessageView>,
}

impl PostsView {
    /// The posts of the policies on offer, and of the one that is shown, and what else that one does. `None` if there is
    /// nothing of it.
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
        let cut = post_texts::texts_cut(l, &words::count(MAX_TEXT_CHARS));
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
            is_wrong: post.is_wrong,
            is_same_quote: post.is_same_quote,
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
