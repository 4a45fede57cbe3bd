//! The contents of a weekly note for a channel's keeper: made from rows of the ledger, within the length of a post.
//! Plain functions.

use aizuchi_model::chat::{ChannelId, MessageId, to_single_line};
use aizuchi_model::decision::welcome::Aftermath;
use aizuchi_model::decision::{Decision, DecisionResult};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::weekly_time::Week;
use aizuchi_model::split::utf16_length;
use aizuchi_model::texts;
use aizuchi_store::figures::{CallSum, ChoiceAftermath, UnansweredQuestion};
use aizuchi_store::open_questions;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// The maximum number of moments of a kind that are listed.
pub const MAX_LISTED: usize = 5;
/// The maximum length of a quotation of a message, in characters.
const MAX_QUOTE: usize = 80;
/// The number of minutes from which a duration is given in hours.
const MAX_MINUTES: i64 = 120;

/// The rows of a workspace that a weekly note is made from.
pub struct WeekRows<'r> {
    /// The channel's decisions.
    pub decisions: &'r [Decision],
    pub aftermaths: &'r [ChoiceAftermath],
    pub questions: &'r [UnansweredQuestion],
    pub calls: &'r [CallSum],
}

/// What happened in a channel in a week, by kind, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChannelWeek {
    /// The persona's unsolicited posts.
    pub taken_up: Vec<NoteMoment>,
    /// Questions for which the persona chose silence and a user answered.
    pub answered: Vec<NoteMoment>,
    /// Questions that nobody answered.
    pub unanswered: Vec<NoteMoment>,
    pub calls: u64,
    pub tokens: u64,
    /// The cost of the calls with a known price, in millionths of the price table's currency.
    pub price_micros: u64,
    /// The tokens of the calls with an unknown price.
    pub unpriced_tokens: u64,
}

/// A message that a note links to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteMoment {
    pub at: Timestamp,
    pub thread: Option<MessageId>,
    pub message: MessageId,
    /// The delay until a user answered.
    pub answered_after: Option<SignedDuration>,
}

/// A moment as it is displayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownMoment {
    pub moment: NoteMoment,
    pub link: Option<String>,
    /// The message's text, if the keeper may read it here.
    pub text: Option<String>,
}

impl ChannelWeek {
    pub fn collect(channel: &ChannelId, rows: &WeekRows<'_>) -> Self {
        let of_channel = rows.calls.iter().filter(|sum| sum.channel.as_ref() == Some(channel));
        let mut week = Self {
            taken_up: rows.decisions.iter().filter_map(taken_up).collect(),
            answered: answered(rows),
            unanswered: unanswered(channel, rows.questions),
            ..Self::default()
        };
        for sum in of_channel {
            week.calls += sum.calls;
            week.tokens += sum.usage.input_tokens + sum.usage.output_tokens;
            week.price_micros += sum.price.micros;
            week.unpriced_tokens += sum.unpriced_tokens;
        }
        week
    }

    /// Whether there is nothing to report. The cost alone is not worth a note.
    pub fn is_empty(&self) -> bool {
        self.taken_up.is_empty() && self.answered.is_empty() && self.unanswered.is_empty()
    }
}

fn taken_up(decision: &Decision) -> Option<NoteMoment> {
    let is_unasked = decision.ended == Some(DecisionResult::Spoke) && !decision.is_addressed;
    let message = decision.posted_messages.first().filter(|_| is_unasked)?.clone();
    let thread = decision.conversation.thread.clone();
    Some(NoteMoment { at: decision.opened, thread, message, answered_after: None })
}

fn answered(rows: &WeekRows<'_>) -> Vec<NoteMoment> {
    let moment = |choice: &ChoiceAftermath| {
        let Aftermath::Silence(silence) = &choice.aftermath else { return None };
        let after = silence.answered.filter(|_| silence.asks)?;
        let decision = rows.decisions.iter().find(|decision| decision.id == choice.decision)?;
        let message = decision.subject().or(decision.messages.last())?.clone();
        let thread = decision.conversation.thread.clone();
        Some(NoteMoment { at: decision.opened, thread, message, answered_after: Some(after) })
    };
    rows.aftermaths.iter().filter_map(moment).collect()
}

/// Returns the questions to everyone that are still open, each once even if its author asked again.
fn unanswered(channel: &ChannelId, questions: &[UnansweredQuestion]) -> Vec<NoteMoment> {
    let of_channel = questions.iter().filter(|question| question.channel == *channel);
    let counted = open_questions::of_everybody(of_channel);
    let open = counted.into_iter().filter(|question| !question.is_taken_up);
    let moment = |question: &UnansweredQuestion| NoteMoment {
        at: question.at,
        thread: None,
        message: question.message.clone(),
        answered_after: None,
    };
    open.map(moment).collect()
}

/// Returns the newest of these moments, which are listed.
pub fn listed(moments: &[NoteMoment]) -> &[NoteMoment] {
    &moments[moments.len().saturating_sub(MAX_LISTED)..]
}

/// A weekly note in words.
pub struct WeeklyNote<'n> {
    pub language: Language,
    pub zone: &'n TimeZone,
    pub currency: &'n str,
    /// The name of the channel.
    pub place: &'n str,
    pub week: Week,
    pub counted: &'n ChannelWeek,
    /// The newest moments of each kind, oldest first.
    pub taken_up: Vec<ShownMoment>,
    pub answered: Vec<ShownMoment>,
    pub unanswered: Vec<ShownMoment>,
}

impl WeeklyNote<'_> {
    /// Renders the note in Markdown, in at most `longest` UTF-16 code units, with as many moments of each kind as fit.
    pub fn render(&self, longest: usize) -> String {
        let fitting = (0..=MAX_LISTED).rev().map(|most| self.render_with(most));
        let mut shortest = String::new();
        for text in fitting {
            if utf16_length(&text) <= longest {
                return text;
            }
            shortest = text;
        }
        shortest
    }

    fn render_with(&self, most: usize) -> String {
        let language = self.language;
        let date = |at: Timestamp| at.to_zoned(self.zone.clone()).strftime("%Y-%m-%d").to_string();
        let (since, until) = (date(self.week.since), date(self.week.until));
        let heading = texts::weekly_note::heading(language, &escape(self.place), &since, &until);
        let counted = self.counted;
        let kinds: [(usize, &[ShownMoment], Heading); 3] = [
            (counted.taken_up.len(), &self.taken_up, texts::weekly_note::taken_up),
            (counted.answered.len(), &self.answered, texts::weekly_note::answered),
            (counted.unanswered.len(), &self.unanswered, texts::weekly_note::unanswered),
        ];
        let mut paragraphs = vec![heading];
        for (count, shown, heading) in kinds {
            if count > 0 {
                let shown = &shown[shown.len().saturating_sub(most)..];
                paragraphs.push(self.paragraph(heading(language, count), count, shown));
            }
        }
        paragraphs.extend(self.cost());
        paragraphs.join("\n\n")
    }

    fn paragraph(&self, heading: String, count: usize, shown: &[ShownMoment]) -> String {
        let mut lines = vec![heading];
        lines.extend(shown.iter().map(|moment| format!("- {}", self.line(moment))));
        let more = count.saturating_sub(shown.len());
        let and_more = texts::weekly_note::more(self.language, more);
        lines.extend((more > 0 && !shown.is_empty()).then(|| format!("- {and_more}")));
        lines.join("\n")
    }

    fn line(&self, shown: &ShownMoment) -> String {
        let at = shown.moment.at.to_zoned(self.zone.clone()).strftime("%m-%d %H:%M").to_string();
        let at = match &shown.link {
            Some(link) => format!("[{at}]({link})"),
            None => at,
        };
        let quote = shown.text.as_deref().map(quotable).filter(|text| !text.is_empty());
        let quote = quote.map(|text| texts::weekly_note::quote(self.language, &text));
        let after = shown.moment.answered_after.map(|after| self.after(after));
        let parts = [Some(at), quote, after];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn after(&self, after: SignedDuration) -> String {
        let minutes = after.as_mins().max(1);
        match minutes < MAX_MINUTES {
            true => texts::weekly_note::after_minutes(self.language, minutes),
            false => texts::weekly_note::after_hours(self.language, minutes / 60),
        }
    }

    fn cost(&self) -> Option<String> {
        let ChannelWeek { calls, tokens, price_micros, unpriced_tokens, .. } = *self.counted;
        let cost = texts::weekly_note::cost(self.language, calls, tokens);
        let amount = format!("{:.2} {}", price_micros as f64 / 1e6, self.currency);
        let price = match unpriced_tokens {
            0 => texts::weekly_note::price(self.language, &amount),
            unpriced => texts::weekly_note::price_partly_unknown(self.language, &amount, unpriced),
        };
        let parts = [Some(cost), (price_micros > 0).then_some(price)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (calls > 0).then(|| parts.join(texts::ledger::list_separator(self.language)))
    }
}

/// The heading of a kind, with the number of moments.
type Heading = fn(Language, usize) -> String;

/// Returns the beginning of a message, on one line and with Markdown escaped.
fn quotable(text: &str) -> String {
    let line = to_single_line(text);
    match line.char_indices().nth(MAX_QUOTE) {
        Some((end, _)) => format!("{}…", escape(line[..end].trim_end())),
        None => escape(&line),
    }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if "\\*_~`[]()<>|".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::{ConversationId, UserId, WorkspaceId};
    use aizuchi_model::decision::welcome::SilenceAftermath;
    use aizuchi_model::decision::{DecisionFollowUp, DecisionId, Price, Usage};
    use aizuchi_store::figures::{CallKind, Day};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn decision(id: i64, ended: DecisionResult, is_addressed: bool) -> Decision {
        Decision {
            id: DecisionId(id),
            conversation: ConversationId {
                workspace: WorkspaceId::new("w"),
                channel: ChannelId::new("tea"),
                thread: None,
            },
            opened: at(id * 3600),
            closed: Some(at(id * 3600 + 60)),
            messages: vec![MessageId::new(format!("m{id}"))],
            is_addressed,
            evaluation: None,
            gate: None,
            judgment: None,
            state_hash: None,
            ended: Some(ended),
            why: None,
            is_expired: false,
            posted_messages: vec![MessageId::new(format!("p{id}"))],
            reaction: None,
            follow_up: DecisionFollowUp { first_reply: None, reactions: 0 },
            attempts: Vec::new(),
            revision: 1,
        }
    }

    fn silence(id: i64, asks: bool, minutes: Option<i64>) -> ChoiceAftermath {
        let answered = minutes.map(SignedDuration::from_mins);
        ChoiceAftermath {
            decision: DecisionId(id),
            day: Day(0),
            channel: ChannelId::new("tea"),
            at: at(id * 3600),
            confidence: None,
            aftermath: Aftermath::Silence(SilenceAftermath { asks, answered }),
        }
    }

    fn question(second: i64, author: &str, text: &str, is_taken_up: bool) -> UnansweredQuestion {
        UnansweredQuestion {
            day: Day(0),
            channel: ChannelId::new("tea"),
            message: MessageId::new(format!("q{second}")),
            at: at(second),
            author: UserId::new(author),
            text: text.into(),
            is_taken_up,
        }
    }

    fn calls(channel: Option<&str>) -> CallSum {
        CallSum {
            day: Day(0),
            channel: channel.map(ChannelId::new),
            kind: CallKind::Judge,
            model: "large-1".into(),
            calls: 2,
            usage: Usage { input_tokens: 900, output_tokens: 100, ..Usage::default() },
            price: Price { micros: 25_000 },
            unpriced_tokens: 0,
        }
    }

    fn messages(moments: &[NoteMoment]) -> Vec<&str> {
        moments.iter().map(|moment| moment.message.as_str()).collect()
    }

    #[test]
    fn a_week_is_what_was_taken_up_answered_or_left_open() {
        let decisions = [
            decision(1, DecisionResult::Spoke, false),
            decision(2, DecisionResult::Spoke, true),
            decision(3, DecisionResult::ChoseSilence, false),
            decision(4, DecisionResult::ChoseSilence, false),
            decision(5, DecisionResult::ChoseSilence, false),
        ];
        let aftermaths =
            [silence(3, true, Some(12)), silence(4, true, None), silence(5, false, Some(1))];
        let questions = [
            question(10, "ann", "who has the key?", false),
            question(70, "ann", "does nobody have the key?", false),
            question(9000, "ben", "@cat is it you?", false),
            question(9900, "ben", "how deep do they go?", true),
            UnansweredQuestion {
                channel: ChannelId::new("attic"),
                ..question(1, "a", "why?", false)
            },
        ];
        let calls = [calls(Some("tea")), calls(Some("attic")), calls(None)];
        let rows = WeekRows {
            decisions: &decisions,
            aftermaths: &aftermaths,
            questions: &questions,
            calls: &calls,
        };
        let week = ChannelWeek::collect(&ChannelId::new("tea"), &rows);
        assert_eq!(messages(&week.taken_up), ["p1"]);
        assert_eq!(messages(&week.answered), ["m3"]);
        assert_eq!(week.answered[0].answered_after, Some(SignedDuration::from_mins(12)));
        assert_eq!(messages(&week.unanswered), ["q10"]);
        assert_eq!((week.calls, week.tokens, week.price_micros), (2, 1000, 25_000));
        assert!(!week.is_empty());
        let quiet = WeekRows { decisions: &[], aftermaths: &[], questions: &[], calls: &calls };
        assert!(ChannelWeek::collect(&ChannelId::new("tea"), &quiet).is_empty());
    }

    static UTC: TimeZone = TimeZone::UTC;

    /// Returns a note that lists nothing.
    fn note(language: Language, counted: &ChannelWeek) -> WeeklyNote<'_> {
        WeeklyNote {
            language,
            zone: &UTC,
            currency: "USD",
            place: "#tea",
            week: Week { since: at(1_794_787_200), until: at(1_795_392_000), number: 20_261_123 },
            taken_up: Vec::new(),
            answered: Vec::new(),
            unanswered: Vec::new(),
            counted,
        }
    }

    /// Renders a note of a week in which this many questions stayed open.
    fn told(language: Language, open: usize, longest: usize) -> String {
        let moment = |number: usize| NoteMoment {
            at: at(1_795_000_000 + number as i64 * 3600),
            thread: None,
            message: MessageId::new(format!("q{number}")),
            answered_after: None,
        };
        let unanswered: Vec<NoteMoment> = (0..open).map(moment).collect();
        let after = Some(SignedDuration::from_mins(12));
        let answered = vec![NoteMoment { answered_after: after, ..moment(7) }];
        let counted = ChannelWeek {
            answered,
            unanswered,
            calls: 3,
            tokens: 1200,
            price_micros: 420_000,
            ..ChannelWeek::default()
        };
        let shown = |moment: &NoteMoment| ShownMoment {
            link: Some(format!("https://chat.example/{}", moment.message)),
            text: Some("who has *the*\nkey?".to_owned()),
            moment: moment.clone(),
        };
        let note = WeeklyNote {
            answered: counted
                .answered
                .iter()
                .map(|moment| ShownMoment { link: None, text: None, ..shown(moment) })
                .collect(),
            unanswered: listed(&counted.unanswered).iter().map(shown).collect(),
            ..note(language, &counted)
        };
        note.render(longest)
    }

    #[test]
    fn a_note_has_a_line_for_each_moment() {
        let english = told(Language::En, 1, 2000);
        assert_eq!(
            english.lines().collect::<Vec<_>>(),
            [
                "**The week in #tea**, 2026-11-16 – 2026-11-23",
                "",
                "What I left and a person answered: 1",
                "- 11-18 18:06 after 12 min",
                "",
                "What nobody answered: 1",
                "- [11-18 11:06](https://chat.example/q0) “who has \\*the\\* key?”",
                "",
                "Model calls: 3, tokens: 1200, price: 0.42 USD",
            ]
        );
        let japanese = told(Language::Ja, 7, 2000);
        assert!(japanese.contains("誰も答えなかった質問：7 件"), "{japanese}");
        assert!(japanese.contains("ほか 2 件") && japanese.contains("12 分後"), "{japanese}");
    }

    #[test]
    fn a_note_is_no_longer_than_a_post() {
        let full = told(Language::En, 40, 10_000);
        assert_eq!(full.matches("chat.example").count(), MAX_LISTED);
        assert!(full.contains("- and 35 more"), "{full}");
        for longest in [400, 500, 600] {
            let short = told(Language::En, 40, longest);
            assert!(utf16_length(&short) <= longest, "{short}");
            assert!(short.contains("What nobody answered: 40"), "{short}");
        }
        assert_eq!(told(Language::En, 40, 0).matches("- ").count(), 0);
    }

    #[test]
    fn a_price_that_is_too_low_says_so() {
        let unpriced =
            CallSum { price: Price::default(), unpriced_tokens: 1000, ..calls(Some("tea")) };
        let priced = CallSum { price: Price { micros: 420_000 }, ..calls(Some("tea")) };
        let calls = [priced, unpriced];
        let rows = WeekRows { decisions: &[], aftermaths: &[], questions: &[], calls: &calls };
        let counted = ChannelWeek::collect(&ChannelId::new("tea"), &rows);
        let cost = |language| note(language, &counted).cost().unwrap();
        assert_eq!(
            cost(Language::En),
            "Model calls: 4, tokens: 2000, price: 0.42 USD and 1000 tokens without a known price"
        );
        assert!(cost(Language::Ja).ends_with("料金がわからないトークン 1000）"));
    }

    #[test]
    fn a_quote_is_short_and_plain() {
        assert_eq!(
            quotable("see [here](https://a.example)"),
            "see \\[here\\]\\(https://a.example\\)"
        );
        let long = quotable(&"あ".repeat(100));
        assert_eq!(long.chars().count(), MAX_QUOTE + 1);
    }
}
