//! The list of all posts, as the page shows it: folded, for who reads it before a policy is switched on.

use jiff::tz::TimeZone;

use crate::report::code::TextPart;
use crate::report::figures::{PolicyFigures, Report, ReportSource};
use crate::report::markup::chat_parts;
use crate::report::posts::{ListedPost, PostList};
use crate::report::story_view::StoryMessageView;
use crate::report::words;
use aizuchi_core::persona::Language;
use aizuchi_core::texts::counted;
use aizuchi_core::texts::moments as texts;

pub struct PostsView {
    /// What the posts are, and that nobody knows whether they help.
    pub quality: &'static str,
    pub lists: Vec<PostListView>,
}

pub struct PostListView {
    pub summary: String,
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
}

impl PostsView {
    /// The posts of the policies on offer, and of the one that is shown. `None` if there are none.
    pub fn new(report: &Report, zone: &TimeZone, language: Language) -> Option<Self> {
        let offered = report.on_offer();
        let is_shown = |place: &usize| *place == 0 || offered.contains(place);
        let policies = report.policies.iter().enumerate();
        let policies = policies.filter(|(place, _)| is_shown(place));
        let lists = policies.filter_map(|(_, policy)| {
            let posts = policy.posts.as_ref().filter(|posts| !posts.listed.is_empty())?;
            Some(PostListView::new(report, policy, posts, zone, language))
        });
        let lists: Vec<PostListView> = lists.collect();
        let quality = match report.source {
            ReportSource::Ledger => texts::quality_ledger(language),
            ReportSource::Model => texts::quality_model(language),
            ReportSource::Builtin | ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak => {
                texts::quality(language)
            }
        };
        (!lists.is_empty()).then_some(Self { quality, lists })
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
        };
        Self {
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
