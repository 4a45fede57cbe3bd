//! The moments that a report shows in their conversations, and their selection. The selection is deterministic.

use std::collections::HashSet;
use std::sync::LazyLock;

use jiff::Timestamp;
use regex::{Captures, Regex};
use serde::Serialize;

use crate::replay::moments::Reason;

/// The number of moments in a report.
pub const MAX_MOMENTS: usize = 10;
/// The maximum length of a text. The message that a moment is about is not cut.
const MAX_TEXT_CHARS: usize = 320;

/// A moment in its conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportMoment {
    pub group: MomentGroup,
    pub channel: String,
    /// When the persona spoke, would have spoken, or decided to stay silent.
    pub at: Timestamp,
    pub before: Vec<MomentMessage>,
    pub act: MomentAct,
    pub after: Vec<MomentMessage>,
    pub reason: Option<Reason>,
    /// Whether it is known what people wrote within an hour.
    pub is_hour_known: bool,
    /// The first other person who wrote after the message that the moment is about, and how many seconds after it.
    pub taken_up: Option<Person>,
    /// The person whose message is closest to a post in mid-talk. The seconds are negative if it came before the post.
    pub mid_talk: Option<Person>,
    /// Older messages that the reason quotes or names, oldest first.
    pub cited: Vec<MomentMessage>,
    /// How the moment compares with others of its group: the smallest is preferred.
    #[serde(skip)]
    pub rank: i64,
    /// The message that the moment is about.
    #[serde(skip)]
    pub anchor: String,
}

/// The groups in the order of the report, by the figures of its table: the best, the typical, the worst, and silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MomentGroup {
    /// At a question that nobody took up within an hour.
    OpenQuestion,
    Other,
    /// Another person took it up after the post anyway.
    BeforePeople,
    MidTalk,
    /// A person asked, and the persona stayed silent.
    Silence,
}

/// What the persona did at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MomentAct {
    /// It posted this text, if it is known.
    Said(Option<String>),
    /// It would have posted this text, if it is known.
    WouldSay(Option<String>),
    /// It would have asked a model whether to speak.
    WouldAsk,
    Silent,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MomentMessage {
    pub at: Timestamp,
    pub author: MomentAuthor,
    pub is_bot: bool,
    pub text: String,
    /// Whether the moment is about this message.
    pub is_about: bool,
    /// Messages that are left out after this one.
    pub left_out_after: usize,
}

/// An author. The id distinguishes authors whose names are replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MomentAuthor {
    #[serde(skip)]
    pub id: String,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Person {
    pub person: MomentAuthor,
    pub seconds: f64,
}

/// How many moments of each group are shown, if there are enough of all.
const SHARES: [(MomentGroup, usize); 5] = [
    (MomentGroup::OpenQuestion, 3),
    (MomentGroup::Other, 1),
    (MomentGroup::BeforePeople, 2),
    (MomentGroup::MidTalk, 2),
    (MomentGroup::Silence, 2),
];

/// What the selection needs to know of a moment: its group, its rank and its time.
pub type MomentRating = (MomentGroup, i64, Timestamp);

fn rating(one: &ReportMoment) -> MomentRating {
    (one.group, one.rank, one.at)
}

/// Selects the moments of a report, by group and time. Each message has at most one.
pub fn choose(mut all: Vec<ReportMoment>) -> Vec<ReportMoment> {
    let mut told = HashSet::new();
    all.sort_by(|one, other| {
        (one.group, one.at, &one.channel).cmp(&(other.group, other.at, &other.channel))
    });
    all.retain(|one| told.insert((one.channel.clone(), one.anchor.clone())));
    let mut groups = SHARES.map(|(group, share)| {
        let of_group = all.iter().filter(|one| one.group == group).cloned();
        (share, of_group.collect::<Vec<_>>())
    });
    // What a group lacks goes to the others.
    let mut free = MAX_MOMENTS;
    for (share, of_group) in &mut groups {
        *share = (*share).min(of_group.len());
        free -= *share;
    }
    for (share, of_group) in &mut groups {
        let more = free.min(of_group.len() - *share);
        *share += more;
        free -= more;
    }
    groups.into_iter().flat_map(|(share, of_group)| choose_from(of_group, share, rating)).collect()
}

/// Selects some moments of one group. Those in mid-talk are the ones closest to a person's message; the others are
/// spread over the period.
pub fn choose_from<T>(
    mut group: Vec<T>,
    count: usize,
    rating: impl Fn(&T) -> MomentRating,
) -> Vec<T> {
    let (rank, at) = (|one: &T| rating(one).1, |one: &T| rating(one).2);
    let first_rank = group.iter().map(rank).min().unwrap_or_default();
    let is_ranked = group.first().is_some_and(|one| rating(one).0 == MomentGroup::MidTalk);
    let preferred = group.iter().filter(|one| rank(one) == first_rank).count();
    if is_ranked || preferred < count {
        group.sort_by_key(|one| (rank(one), at(one)));
        group.truncate(count);
    } else {
        group.retain(|one| rank(one) == first_rank);
    }
    group.sort_by_key(at);
    let length = group.len();
    let chosen: HashSet<usize> = (0..count.min(length))
        .map(|part| (2 * part + 1) * length / (2 * count.min(length)))
        .collect();
    let mut place = 0..;
    group.retain(|_| place.next().is_some_and(|place| chosen.contains(&place)));
    group
}

/// Matches the mention of a user in the syntax of Slack and Discord.
static MENTION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"<@!?(\w+)(?:\|[^>]*)?>").expect("the pattern is valid"));
/// Matches a link in the syntax of Slack: the URL, and optionally a label.
static SLACK_LINK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"<((?:https?|mailto):[^|>\s]+)(?:\|([^>]*))?>").expect("the pattern is valid")
});

/// Matches a channel, a group or everybody in the syntax of Slack: what it is, and optionally its name.
static SLACK_NAME: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"<(#[CG]\w+|!(?:here|channel|everyone|subteam\^\w+))(?:\|[#@]?([^>]*))?>";
    Regex::new(pattern).expect("the pattern is valid")
});

/// Formats a text for display: mentions become names, hidden characters are removed, and long texts are cut.
pub fn shown_text(text: &str, name_of: impl Fn(&str) -> Option<String>) -> String {
    let text = whole_text(text, name_of);
    let mut characters = text.chars();
    let beginning: String = characters.by_ref().take(MAX_TEXT_CHARS).collect();
    let rest = if characters.next().is_some() { "…" } else { "" };
    format!("{}{rest}", beginning.trim_end())
}

/// Formats a text like [`shown_text`], but does not cut it.
pub fn whole_text(text: &str, name_of: impl Fn(&str) -> Option<String>) -> String {
    let with_name = |found: &Captures<'_>| match name_of(&found[1]) {
        Some(name) => format!("@{name}"),
        None => "@…".to_owned(),
    };
    let text = MENTION.replace_all(text, with_name);
    let link = |found: &Captures<'_>| match found.get(2).filter(|shown| !shown.is_empty()) {
        Some(shown) => shown.as_str().to_owned(),
        None => found[1].trim_start_matches("mailto:").to_owned(),
    };
    let text = SLACK_LINK.replace_all(&text, link);
    let named = |found: &Captures<'_>| {
        let (sign, id) = found[1].split_at(1);
        let name = found.get(2).map(|name| name.as_str()).filter(|name| !name.is_empty());
        let is_everybody = id.chars().all(|letter| letter.is_ascii_lowercase());
        let name = name.unwrap_or(if is_everybody { id } else { "…" });
        format!("{}{name}", sign.replace('!', "@"))
    };
    let text = SLACK_NAME.replace_all(&text, named);
    let shown: String = text.chars().filter(|character| !is_hidden(*character)).collect();
    shown.trim().to_owned()
}

/// Whether a character is a control character or changes the direction of the text after it.
fn is_hidden(character: char) -> bool {
    character.is_control() && character != '\n'
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(group: MomentGroup, second: i64, rank: i64) -> ReportMoment {
        ReportMoment {
            group,
            channel: "porch".to_owned(),
            at: Timestamp::from_second(second).unwrap(),
            before: Vec::new(),
            act: MomentAct::Silent,
            after: Vec::new(),
            reason: None,
            cited: Vec::new(),
            is_hour_known: true,
            taken_up: None,
            mid_talk: None,
            rank,
            anchor: format!("{group:?} {second}"),
        }
    }

    fn chosen(all: Vec<ReportMoment>) -> Vec<(MomentGroup, i64)> {
        choose(all).iter().map(|one| (one.group, one.at.as_second())).collect()
    }

    #[test]
    fn ten_moments_are_of_all_groups_and_spread_over_the_period() {
        let all = SHARES.into_iter().flat_map(|(group, _)| {
            (0..40).map(move |second| {
                moment(group, second, if group == MomentGroup::MidTalk { 40 - second } else { 0 })
            })
        });
        let found = chosen(all.collect());
        assert_eq!(found.len(), MAX_MOMENTS);
        let of_group = |group| {
            let of_group = found.iter().filter(|one| one.0 == group).map(|one| one.1);
            of_group.collect::<Vec<_>>()
        };
        assert_eq!(of_group(MomentGroup::OpenQuestion), [6, 20, 33]);
        assert_eq!(of_group(MomentGroup::MidTalk), [38, 39], "the closest");
        let others = [MomentGroup::Other, MomentGroup::BeforePeople, MomentGroup::Silence];
        assert_eq!(others.map(|group| of_group(group).len()), [1, 2, 2]);
    }

    #[test]
    fn what_a_group_lacks_goes_to_the_others_and_a_message_is_told_once() {
        let mut all: Vec<_> =
            (0..30).map(|second| moment(MomentGroup::Silence, second, 0)).collect();
        assert_eq!(chosen(all.clone()).len(), MAX_MOMENTS);
        all.truncate(4);
        all.push(ReportMoment {
            anchor: all[0].anchor.clone(),
            ..moment(MomentGroup::MidTalk, 3, 0)
        });
        assert_eq!(chosen(all).len(), 4);
        assert!(chosen(Vec::new()).is_empty());
    }

    #[test]
    fn a_short_question_is_shown_only_if_there_are_few_others() {
        let short = |second| moment(MomentGroup::OpenQuestion, second, 1);
        let long = |second| moment(MomentGroup::OpenQuestion, second, 0);
        let found = choose_from(vec![short(1), long(2), long(3), short(4)], 2, rating);
        assert!(found.iter().all(|one| one.rank == 0), "{found:?}");
        assert_eq!(choose_from(vec![short(1), long(2), short(4)], 2, rating).len(), 2);
    }

    #[test]
    fn texts_are_shown_as_people_saw_them() {
        let name = |id: &str| (id == "U1").then(|| "ann".to_owned());
        for (text, expected) in [
            ("<@U1> and <@!U2>?", "@ann and @…?"),
            ("<@U1|ann.b> hi", "@ann hi"),
            (
                "see <https://a.example/x|the page> <https://b.example>",
                "see the page https://b.example",
            ),
            ("in <#C12|tea> or <#C13>, <!here>", "in #tea or #…, @here"),
            ("<!subteam^S1|@ops> and <!subteam^S2>, <!--x-->", "@ops and @…, <!--x-->"),
            ("a\u{202e}b\u{7}c\nd ", "abc\nd"),
        ] {
            assert_eq!(shown_text(text, name), expected);
        }
        assert_eq!(shown_text(&"あ".repeat(400), name), "あ".repeat(320) + "…");
        assert_eq!(whole_text(&"あ".repeat(400), name), "あ".repeat(400));
    }
}
