//! Orders: "remind us on Friday at 9 to …", "every Friday at 17:00 post a recap here", 「明日9時に請求書を送るって教えて」. In
//! English, an order begins its clause, so that "did you remind Bob?" is none; in Japanese it ends its message, so that
//! 「リマインドした？」 is none.

use std::ops::Range;

use crate::plan::grammar::{Capture, Reader, is_name_part};
use crate::plan::time_expression::said::SaidTime;
use crate::plan::time_expression::{Lead, TimePhrase, Unclear, is_near_edge};
use crate::plan::token::{Token, is_japanese};
use crate::plan::{PlanKind, Whom};

/// A message, with the times that it names.
pub(super) struct Message<'t> {
    pub text: &'t str,
    pub tokens: &'t [Token],
    pub phrases: &'t [TimePhrase],
}

pub(super) struct PlanOrder {
    pub kind: PlanKind,
    pub whom: Whom,
    pub said: Result<SaidTime, Unclear>,
    /// The tokens of what is to be said or done, which may have the others between them.
    pub what: Range<usize>,
    /// The tokens that are no part of that.
    pub without: Vec<Range<usize>>,
    pub is_japanese: bool,
}

/// How a verb is used.
#[derive(Clone, Copy, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
enum VerbUse {
    /// It is said of reminders only.
    Sure,
    /// It is said of other things, too.
    Weak,
    /// It is said to somebody.
    Tell,
}

/// The clause of an order, as far as it is read.
struct Clause {
    is_japanese: bool,
    start: usize,
    kind: PlanKind,
    used: VerbUse,
    /// The tokens of the order itself, with whom it is said to in English.
    verb: Range<usize>,
    /// 「返事がなければ」, "if she hasn't answered".
    condition: Option<Range<usize>>,
}

impl<'m> Message<'m> {
    pub fn order(&self) -> Option<PlanOrder> {
        let find = |is_japanese| self.near().find_map(|at| self.order_at(at, is_japanese));
        find(true).or_else(|| find(false))
    }

    /// The places where something may stand that belongs to an order.
    fn near(&self) -> impl Iterator<Item = usize> {
        let tokens = self.tokens;
        (0..tokens.len()).filter(|at| is_near_edge(tokens, *at))
    }

    fn order_at(&self, start: usize, is_japanese: bool) -> Option<PlanOrder> {
        let (kind, used) = (PlanKind::Reminder, VerbUse::Weak);
        let mut clause =
            Clause { is_japanese, start, kind, used, verb: start..start, condition: None };
        let language = if is_japanese { "japanese" } else { "english" };
        let found = self.read(language, start, &clause, None)?;
        let verb = capture(&found, "verb")?;
        let (kind, used) = verb.meaning()?.split_once(' ')?;
        (clause.kind, clause.used) = (kind.parse().ok()?, used.parse().ok()?);
        clause.verb = verb.tokens.clone();
        let condition = self.near().find_map(|at| self.read("unanswered", at, &clause, None));
        clause.condition = condition.as_ref().and_then(|it| it.last()).map(|it| it.tokens.clone());
        if is_japanese {
            return self.japanese_order(clause);
        }
        let whom = capture(&found, "whom").and_then(|whom| match whom.meaning()? {
            "channel" => Some(Whom::Channel),
            "named" => {
                let name = self.name(&whom.tokens);
                let asked = condition.as_ref().and_then(|it| capture(it, "asked"));
                let asked = asked.filter(|_| ["her", "him", "them"].contains(&&*name));
                Some(Whom::Named(asked.map_or(name, |asked| self.name(&asked.tokens))))
            }
            _ => Some(Whom::Asker),
        });
        self.english_order(clause, &found, whom)
    }

    /// Reads a phrase, where a time may be known that it is about.
    fn read(
        &self,
        rule: &str,
        at: usize,
        clause: &Clause,
        time: Option<&TimePhrase>,
    ) -> Option<Vec<Capture>> {
        let context = |name: &str, reader: &Reader<'_>| self.context(name, reader.at, clause, time);
        Reader { tokens: self.tokens, at, context: &context }.read(rule)
    }

    /// What the phrases of an order do not declare.
    fn context(
        &self,
        name: &str,
        at: usize,
        clause: &Clause,
        time: Option<&TimePhrase>,
    ) -> Option<usize> {
        let is_after = |rule, at: usize| at.checked_sub(1).is_some_and(|at| self.is_at(rule, at));
        let is_so = match name {
            "time" => return self.time_at(at).map(|time| time.tokens.end),
            "name" => return self.name_end(at),
            "english" => !clause.is_japanese,
            "japanese" => clause.is_japanese,
            "condition" => clause.condition.is_some(),
            "order" => at == clause.verb.start,
            "first" => at == 0,
            "free" => at == 0 || !is_name_part(&self.tokens[at - 1].text),
            "clause" => {
                let is_inside = |it: &TimePhrase| it.tokens.start < at && at < it.tokens.end;
                (at == 0 || is_after("clause_end", at)) && !self.phrases.iter().any(is_inside)
            }
            "delayed" => time.is_some_and(|it| it.said.after.is_some()),
            "vague" => time.is_some_and(|it| it.said.is_vague && it.tokens.start > 0),
            "of_another" => time.is_some_and(|it| is_after("of_another", it.tokens.start)),
            lead => time.is_some_and(|it| lead == <&str>::from(it.lead)),
        };
        is_so.then_some(at)
    }

    fn is_at(&self, rule: &str, at: usize) -> bool {
        Reader::new(self.tokens, at).eat(rule)
    }

    /// Returns the place behind a phrase, or the same if it is not there.
    fn behind(&self, rule: &str, at: usize) -> usize {
        let mut reader = Reader::new(self.tokens, at);
        reader.eat(rule);
        reader.at
    }

    fn time_at(&self, at: usize) -> Option<&'m TimePhrase> {
        self.phrases.iter().find(|time| time.tokens.start == at)
    }

    /// The times that are those of the order, and not of something that is named.
    fn times(&self, clause: &Clause) -> impl Iterator<Item = &'m TimePhrase> {
        let belongs =
            |it: &&TimePhrase| self.read("belonging", it.tokens.end, clause, Some(it)).is_some();
        self.phrases.iter().filter(belongs)
    }

    pub fn text_of(&self, tokens: &Range<usize>) -> &'m str {
        &self.text[self.tokens[tokens.start].range.start..self.tokens[tokens.end - 1].range.end]
    }

    fn name(&self, tokens: &Range<usize>) -> String {
        let name = self.text_of(tokens).trim_start_matches(['@', '＠', ' ']);
        name.strip_suffix("さん").unwrap_or(name).to_owned()
    }

    /// Reads "@bob", "Rin", "@Ann Lee".
    fn name_end(&self, start: usize) -> Option<usize> {
        let mut reader = Reader::new(self.tokens, start);
        let is_mention = reader.peek() == "@";
        reader.at += usize::from(is_mention);
        let is_word = reader.peek().starts_with(char::is_alphanumeric);
        let is_other = reader.is_at("no_name") || self.time_at(reader.at).is_some();
        if !is_word || is_other && !is_mention {
            return None;
        }
        let last = reader.at + 8;
        reader.at += 1;
        while let Some(token) = self.tokens.get(reader.at).filter(|_| reader.at <= last) {
            let is_close = !token.is_spaced && !reader.is_at("name_end");
            let is_capital = self.text[token.range.clone()].starts_with(char::is_uppercase);
            let is_kanji = is_mention && is_japanese(&token.text) && is_japanese(reader.before());
            if !is_close && !((is_capital || is_kanji) && self.time_at(reader.at).is_none()) {
                break;
            }
            reader.at += 1;
        }
        Some(reader.at)
    }

    /// Returns where "again" and 「もう一度」 stand.
    fn agains(&self, tokens: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        tokens.map(|at| at..self.behind("again", at)).filter(|again| !again.is_empty())
    }

    fn english_order(
        &self,
        mut clause: Clause,
        found: &[Capture],
        whom: Option<Whom>,
    ) -> Option<PlanOrder> {
        let fillers = &capture(found, "fillers")?.tokens;
        let direct = capture(found, "direct").map(|direct| direct.tokens.end);
        let end = direct.unwrap_or(fillers.end);
        let has_condition = clause.condition.is_some();
        let is_again = self.agains(fillers.end - 1..fillers.end).next().is_some();
        if has_condition && clause.kind != PlanKind::CheckBack
            || is_again && clause.kind == PlanKind::Post
        {
            (clause.kind, clause.used) = (PlanKind::FollowUp, VerbUse::Weak);
        }
        if direct.is_none() && self.is_at("question", end) {
            return None;
        }
        let heads = found.iter().filter(|it| ["time", "direct"].contains(&it.slot));
        let heads: Vec<_> = heads.filter_map(|it| self.time_at(it.tokens.start)).collect();
        let is_behind = |it: &&TimePhrase| {
            it.tokens.start >= end || has_condition && it.tokens.end <= clause.start
        };
        let tails: Vec<_> = self.times(&clause).filter(is_behind).collect();
        // "remind me on Monday at 9 and on Friday at 10"
        let is_list = direct.is_some()
            && self.tokens.get(end).is_some_and(|token| token.text == "and")
            && tails.iter().any(|tail| tail.tokens.start == end + 1);
        let said = match chosen(&heads, &tails) {
            _ if is_list => Err(Unclear::Several),
            Err(Unclear::NoTime) if self.is_at("event", fillers.end) => Err(Unclear::Vague),
            said => said,
        };
        // "tell me about the deploy on Friday" wants to know it now.
        let asks_now = self.is_at("telling", clause.verb.start) && !self.is_at("told", fillers.end);
        let is_last = |last: &TimePhrase| {
            self.is_at("closed", last.tokens.end)
                && !(end..last.tokens.start).any(|at| self.is_at("asks_when", at))
        };
        let is_timed = !heads.is_empty()
            || has_condition
            || !asks_now && tails.last().is_some_and(|last| is_last(last));
        let is_idle = clause.kind == PlanKind::CheckBack && said.is_err() && heads.is_empty();
        // "can you remind me of the agenda?" asks for it now.
        let is_of = said == Err(Unclear::NoTime) && self.is_at("of", clause.verb.end);
        if clause.used != VerbUse::Sure && !is_timed || is_idle || is_of {
            return None;
        }
        let used = if heads.is_empty() { &tails } else { &heads };
        let mut without: Vec<_> = used.iter().map(|time| time.tokens.clone()).collect();
        let from = match capture(found, "says") {
            Some(says) => says.tokens.start,
            None if direct.is_none() => fillers.start,
            None => end,
        };
        let whole = self.tokens.len();
        if clause.kind == PlanKind::FollowUp {
            without.extend(clause.condition.as_ref().map(|condition| condition.start..whole));
            without.extend(self.agains(from..whole));
        }
        let what = if from < whole { from..whole } else { 0..clause.start };
        Some(clause.ordered(whom, said, what, without))
    }

    fn japanese_order(&self, mut clause: Clause) -> Option<PlanOrder> {
        clause.condition = clause.condition.filter(|it| it.end <= clause.verb.start);
        let whom = self.japanese_whom(&clause);
        let before = 0..clause.verb.start;
        let is_again = self.agains(before.clone()).next().is_some();
        let is_told = clause.kind == PlanKind::Post && clause.used == VerbUse::Tell;
        match (&clause.condition, &whom) {
            (Some(_), _) => clause.kind = PlanKind::FollowUp,
            (None, Some(_)) if is_again && is_told => clause.kind = PlanKind::FollowUp,
            (None, None) if is_again && is_told => clause.kind = PlanKind::CheckBack,
            (None, _) => {}
        }
        let times: Vec<_> = self.times(&clause).collect();
        let tokens = whom.as_ref().map(|(_, tokens)| tokens.clone());
        if clause.used != VerbUse::Sure && !self.is_timed(&times, &clause, tokens.as_ref()) {
            return None;
        }
        // The time of a place that is not known.
        let is_elsewhere = |it: &&TimePhrase| self.before(it.tokens.start).ends_with("時間の");
        let said = match joined(&times) {
            Some(_) if times.iter().any(is_elsewhere) => Err(Unclear::Impossible),
            Some(said) => Ok(said),
            None if self.phrases.iter().any(|it| it.said.trouble.is_some()) => Err(Unclear::Vague),
            None => Err(Unclear::NoTime),
        };
        let mut without = vec![clause.verb.clone()];
        let with_particle =
            |it: &&TimePhrase| it.tokens.start..self.behind("particle", it.tokens.end);
        without.extend(times.iter().map(with_particle));
        without.extend(tokens);
        without.extend(clause.condition.clone());
        if matches!(clause.kind, PlanKind::FollowUp | PlanKind::CheckBack) {
            without.extend(self.agains(before.clone()));
        }
        // 「リマインド：」 stands before what it is about.
        let what = if before.is_empty() { 0..self.tokens.len() } else { before };
        Some(clause.ordered(whom.map(|(whom, _)| whom), said, what, without))
    }

    fn before(&self, at: usize) -> &'m str {
        self.tokens.get(at).map_or(self.text, |token| &self.text[..token.range.start]).trim_end()
    }

    /// Whether an order in Japanese that is said of other things, too, surely has the time.
    fn is_timed(
        &self,
        times: &[&TimePhrase],
        clause: &Clause,
        whom: Option<&Range<usize>>,
    ) -> bool {
        const QUOTES: [&str; 9] =
            ["って", "と", "ように", "よう", "こと", "ことを", "のを", "の", "とか"];
        let Some(first) = times.first() else { return false };
        let end = whom.filter(|whom| whom.end == clause.verb.start);
        let end = end.map_or(clause.verb.start, |whom| whom.start);
        let is_next = times.iter().any(|time| {
            let rules = ["particle", "again", "particle"];
            let behind = rules.iter().fold(time.tokens.end, |at, rule| self.behind(rule, at));
            behind >= end || time.tokens.start >= clause.verb.end
        });
        let before = self.before(end);
        let is_quoted = QUOTES.iter().any(|it| before.ends_with(it));
        let SaidTime { clock, part, every, after, .. } = &first.said;
        let has_time = clock.is_some() || part.is_some() || every.is_some() || after.is_some();
        let is_opened =
            first.tokens.start == 0 && (has_time || self.is_at("topic", first.tokens.end));
        let is_kept = !before.ends_with("か") && !before.ends_with("かを");
        clause.condition.is_some()
            || is_next
            || is_kept && (is_quoted || is_opened && clause.kind != PlanKind::Reminder)
    }

    /// Finds whom it is said to, with the tokens: 「みんなに」, 「@bobに」 or 「ボブさんに」 before the order or at the beginning.
    fn japanese_whom(&self, clause: &Clause) -> Option<(Whom, Range<usize>)> {
        self.near().take_while(|at| *at < clause.verb.start).find_map(|at| {
            let found = self.read("japanese_whom", at, clause, None)?;
            let whole = found.last()?;
            let tokens = &whole.tokens;
            let whom = match whole.meaning() {
                Some("channel") => Whom::Channel,
                Some("asker") => Whom::Asker,
                _ => {
                    let begins = at == 0
                        || self.phrases.iter().any(|time| {
                            [time.tokens.end, self.behind("particle", time.tokens.end)]
                                .contains(&at)
                        });
                    let ends = [tokens.end, self.behind("again", tokens.end)];
                    let is_person =
                        self.tokens[at].text == "@" || self.time_at(tokens.end).is_some();
                    let is_whom = clause.condition.is_some()
                        || ends.contains(&clause.verb.start)
                        || begins && clause.used == VerbUse::Tell
                        || at == 0 && is_person;
                    let name =
                        capture(&found, "name").filter(|it| is_whom && !it.tokens.is_empty())?;
                    Whom::Named(self.text_of(&name.tokens).to_owned())
                }
            };
            Some((whom, tokens.clone()))
        })
    }
}

impl Clause {
    fn ordered(
        self,
        whom: Option<Whom>,
        said: Result<SaidTime, Unclear>,
        what: Range<usize>,
        without: Vec<Range<usize>>,
    ) -> PlanOrder {
        let Self { kind, is_japanese, .. } = self;
        let default = if kind == PlanKind::Post { Whom::Channel } else { Whom::Asker };
        PlanOrder { kind, whom: whom.unwrap_or(default), said, what, without, is_japanese }
    }
}

fn capture<'f>(found: &'f [Capture], slot: &str) -> Option<&'f Capture> {
    found.iter().find(|it| it.slot == slot)
}

/// Returns the time that is meant. A time before what is to be done is that of the order.
fn chosen(heads: &[&TimePhrase], tails: &[&TimePhrase]) -> Result<SaidTime, Unclear> {
    if heads.iter().any(|head| head.lead == Lead::Bound) {
        return Err(Unclear::Vague);
    }
    let Some(head) = joined(heads) else { return joined(tails).ok_or(Unclear::NoTime) };
    // "remind me tomorrow to call Bob at 3": is that when to call, or when to be reminded?
    let is_split = tails.iter().any(|tail| {
        head.is_day_alone() && tail.said.is_clock_alone() && tail.lead == Lead::At
            || head.is_clock_alone() && tail.said.is_day_alone() && tail.lead == Lead::On
    });
    if is_split { Err(Unclear::Several) } else { Ok(head) }
}

/// Returns the time of several places of a text.
fn joined(times: &[&TimePhrase]) -> Option<SaidTime> {
    times.iter().map(|time| time.said.clone()).reduce(|mut all, more| {
        all.add(more);
        all
    })
}
