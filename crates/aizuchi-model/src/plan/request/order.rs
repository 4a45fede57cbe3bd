//! Orders: "remind us on Friday at 9 to …", "every Friday at 17:00 post a recap here", 「明日9時に請求書を送るって教えて」. In
//! English, an order begins its clause, so that "did you remind Bob?" is none; in Japanese it ends its message, so that
//! 「リマインドした？」 is none.

use std::ops::Range;

use crate::plan::grammar::{Capture, PhraseReader, is_name_part};
use crate::plan::time_expression::said::SaidTime;
use crate::plan::time_expression::{Lead, TimePhrase, Unclear, joined, near_edges};
use crate::plan::token::{Token, is_japanese};
use crate::plan::{PlanKind, Whom};

/// How a verb is used.
#[derive(Clone, Copy, Default, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub(super) enum VerbUse {
    /// It is said of reminders only.
    Sure,
    /// It is said of other things, too.
    #[default]
    Weak,
    /// It is said to somebody.
    Tell,
}

/// An order in a message, as far as it is read.
#[derive(Clone, Default)]
pub(super) struct PlanOrder<'m> {
    pub text: &'m str,
    pub tokens: &'m [Token],
    pub phrases: &'m [TimePhrase],
    /// Its rule.
    pub language: &'static str,
    pub start: usize,
    pub kind: PlanKind,
    pub used: VerbUse,
    /// The tokens of the order itself, with whom it is said to in English.
    pub verb: Range<usize>,
    /// 「返事がなければ」, "if she hasn't answered".
    pub condition: Option<Range<usize>>,
    /// The time of which it is asked whether it belongs to the order.
    pub time: Option<&'m TimePhrase>,
    pub whom: Option<Whom>,
    pub said: SaidTime,
    /// The tokens of what is to be said or done, which may have the others between them.
    pub what: Range<usize>,
    /// The tokens that are no part of that.
    pub without: Vec<Range<usize>>,
}

impl<'m> PlanOrder<'m> {
    pub fn find(text: &'m str, tokens: &'m [Token], phrases: &'m [TimePhrase]) -> Option<Self> {
        let order = |start, language| {
            Self { text, tokens, phrases, language, start, ..Self::default() }.read_order()
        };
        let find = |language| near_edges(tokens).find_map(|start| order(start, language));
        find("japanese").or_else(|| find("english"))
    }

    fn read_order(mut self) -> Option<Self> {
        let found = self.read(self.language, self.start)?;
        let verb = capture(&found, "verb")?;
        let (kind, used) = verb.meaning?.split_once(' ')?;
        (self.kind, self.used) = (kind.parse().ok()?, used.parse().ok()?);
        self.verb = verb.tokens.clone();
        let condition = near_edges(self.tokens).find_map(|at| self.read("unanswered", at));
        self.condition = condition.as_ref().and_then(|it| it.last()).map(|it| it.tokens.clone());
        if self.language == "japanese" {
            return self.read_japanese();
        }
        self.whom = self.whom_in(&found);
        let asked = condition.as_ref().and_then(|it| capture(it, "asked"));
        let asked = asked.map(|asked| self.name(&asked.tokens));
        if let (Some(Whom::Named(name)), Some(asked)) = (&mut self.whom, asked)
            && ["her", "him", "them"].contains(&&**name)
        {
            *name = asked;
        }
        self.read_english(&found)
    }

    fn read(&self, rule: &str, at: usize) -> Option<Vec<Capture>> {
        let context = |name: &str, reader: &PhraseReader<'_>| self.context(name, reader.at);
        PhraseReader { tokens: self.tokens, at, context: &context }.read(rule)
    }

    /// What the phrases of an order do not declare.
    fn context(&self, name: &str, at: usize) -> Option<usize> {
        let time = self.time;
        let is_after = |rule, at: usize| at.checked_sub(1).is_some_and(|at| self.is_at(rule, at));
        let is_so = match name {
            "time" => return self.time_at(at).map(|time| time.tokens.end),
            "name" => return self.name_end(at),
            "english" | "japanese" => name == self.language,
            "condition" => self.condition.is_some(),
            "order" => at == self.verb.start,
            "first" => at == 0,
            "told" => {
                let ends =
                    |it: &TimePhrase| [it.tokens.end, self.behind("particle", it.tokens.end)];
                let begins = at == 0 || self.phrases.iter().any(|time| ends(time).contains(&at));
                begins && self.used == VerbUse::Tell
            }
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
        self.read(rule, at).is_some()
    }

    /// Returns the place behind a phrase, or the same if it is not there.
    fn behind(&self, rule: &str, at: usize) -> usize {
        self.read(rule, at).and_then(|found| Some(found.last()?.tokens.end)).unwrap_or(at)
    }

    fn time_at(&self, at: usize) -> Option<&'m TimePhrase> {
        self.phrases.iter().find(|time| time.tokens.start == at)
    }

    /// The times that are those of the order, and not of something that is named.
    fn times(&self) -> impl Iterator<Item = &'m TimePhrase> {
        self.phrases.iter().filter(|time| {
            Self { time: Some(*time), ..self.clone() }.is_at("belonging", time.tokens.end)
        })
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
        let is_mention = self.tokens.get(start)?.text == "@";
        let first = start + usize::from(is_mention);
        let is_word = self.tokens.get(first)?.text.starts_with(char::is_alphanumeric);
        let is_other = self.is_at("no_name", first) || self.time_at(first).is_some();
        if !is_word || is_other && !is_mention {
            return None;
        }
        let goes_on = |at: &usize| {
            let [before, token] = [&self.tokens[at - 1], &self.tokens[*at]];
            let is_close = !token.is_spaced && !self.is_at("name_end", *at);
            let is_capital = self.text[token.range.clone()].starts_with(char::is_uppercase);
            let is_kanji = is_mention && is_japanese(&token.text) && is_japanese(&before.text);
            is_close || (is_capital || is_kanji) && self.time_at(*at).is_none()
        };
        let more = (first + 1..self.tokens.len().min(first + 9)).take_while(goes_on);
        Some(first + 1 + more.count())
    }

    /// Returns where "again" and 「もう一度」 stand.
    fn agains(&self, tokens: Range<usize>) -> Vec<Range<usize>> {
        tokens.map(|at| at..self.behind("again", at)).filter(|it| !it.is_empty()).collect()
    }

    fn read_english(mut self, found: &[Capture]) -> Option<Self> {
        let fillers = &capture(found, "fillers")?.tokens;
        let direct = capture(found, "direct").map(|direct| direct.tokens.end);
        let end = direct.unwrap_or(fillers.end);
        let has_condition = self.condition.is_some();
        let is_again = !self.agains(fillers.end - 1..fillers.end).is_empty();
        if has_condition && self.kind != PlanKind::CheckBack
            || is_again && self.kind == PlanKind::Post
        {
            (self.kind, self.used) = (PlanKind::FollowUp, VerbUse::Weak);
        }
        if direct.is_none() && self.is_at("question", end) {
            return None;
        }
        let heads = found.iter().filter(|it| ["time", "direct"].contains(&it.slot));
        let heads: Vec<_> = heads.filter_map(|it| self.time_at(it.tokens.start)).collect();
        let is_behind = |it: &&TimePhrase| {
            it.tokens.start >= end || has_condition && it.tokens.end <= self.start
        };
        let tails: Vec<_> = self.times().filter(is_behind).collect();
        // A time before what is to be done is that of the order.
        let used = if heads.is_empty() { &tails } else { &heads };
        // "remind me on Monday at 9 and on Friday at 10"
        let is_list = direct.is_some()
            && self.tokens.get(end).is_some_and(|token| token.text == "and")
            && tails.iter().any(|tail| tail.tokens.start == end + 1);
        let is_bound = heads.iter().any(|head| head.lead == Lead::Bound);
        let is_event = used.is_empty() && self.is_at("event", fillers.end);
        let trouble = match () {
            () if is_list || is_split(&heads, &tails) => Some(Unclear::Several),
            () if is_bound || is_event => Some(Unclear::Vague),
            () => used.is_empty().then_some(Unclear::NoTime),
        };
        self.said = trouble.map_or_else(|| joined(used.iter().copied()), SaidTime::unclear);
        // "tell me about the deploy on Friday" wants to know it now.
        let asks_now = self.is_at("telling", self.verb.start) && !self.is_at("told", fillers.end);
        let is_last = |last: &TimePhrase| {
            self.is_at("closed", last.tokens.end)
                && !(end..last.tokens.start).any(|at| self.is_at("asks_when", at))
        };
        let is_timed = !heads.is_empty()
            || has_condition
            || !asks_now && tails.last().is_some_and(|last| is_last(last));
        let is_idle = self.kind == PlanKind::CheckBack && used.is_empty();
        // "can you remind me of the agenda?" asks for it now.
        let is_of = trouble == Some(Unclear::NoTime) && self.is_at("of", self.verb.end);
        if self.used != VerbUse::Sure && !is_timed || is_idle || is_of {
            return None;
        }
        self.without = used.iter().map(|time| time.tokens.clone()).collect();
        let from = match capture(found, "says") {
            Some(says) => says.tokens.start,
            None if direct.is_none() => fillers.start,
            None => end,
        };
        let end = self.tokens.len();
        if self.kind == PlanKind::FollowUp {
            self.without.extend(self.agains(from..end));
            self.without.extend(self.condition.as_ref().map(|condition| condition.start..end));
        }
        self.what = if from < end { from..end } else { 0..self.start };
        Some(self)
    }

    fn read_japanese(mut self) -> Option<Self> {
        self.condition = self.condition.filter(|it| it.end <= self.verb.start);
        let whom = self.japanese_whom();
        let before = 0..self.verb.start;
        let agains = self.agains(before.clone());
        let is_told = (self.kind, self.used) == (PlanKind::Post, VerbUse::Tell);
        let is_again = is_told && !agains.is_empty();
        match (&self.condition, &whom) {
            (Some(_), _) => self.kind = PlanKind::FollowUp,
            (None, Some(_)) if is_again => self.kind = PlanKind::FollowUp,
            (None, None) if is_again => self.kind = PlanKind::CheckBack,
            (None, _) => {}
        }
        let times: Vec<_> = self.times().collect();
        let (whom, tokens) = whom.unzip();
        if self.used != VerbUse::Sure && !self.is_timed(&times, tokens.as_ref()) {
            return None;
        }
        // The time of a place that is not known.
        let is_elsewhere = |it: &&TimePhrase| self.before(it.tokens.start).ends_with("時間の");
        let has_trouble = || self.phrases.iter().any(|it| it.said.trouble.is_some());
        self.said = match () {
            () if times.iter().any(is_elsewhere) => SaidTime::unclear(Unclear::Impossible),
            () if !times.is_empty() => joined(times.iter().copied()),
            () if has_trouble() => SaidTime::unclear(Unclear::Vague),
            () => SaidTime::unclear(Unclear::NoTime),
        };
        let whole = |it: &&TimePhrase| it.tokens.start..self.behind("particle", it.tokens.end);
        self.without = times.iter().map(whole).collect();
        self.without.push(self.verb.clone());
        self.without.extend(tokens.into_iter().chain(self.condition.clone()));
        if matches!(self.kind, PlanKind::FollowUp | PlanKind::CheckBack) {
            self.without.extend(agains);
        }
        // 「リマインド：」 stands before what it is about.
        self.what = if before.is_empty() { 0..self.tokens.len() } else { before };
        self.whom = whom;
        Some(self)
    }

    fn before(&self, at: usize) -> &'m str {
        self.tokens.get(at).map_or(self.text, |token| &self.text[..token.range.start]).trim_end()
    }

    /// Whether an order in Japanese that is said of other things, too, surely has the time.
    fn is_timed(&self, times: &[&TimePhrase], whom: Option<&Range<usize>>) -> bool {
        const QUOTES: [&str; 9] =
            ["って", "と", "ように", "よう", "こと", "ことを", "のを", "の", "とか"];
        let Some(first) = times.first() else { return false };
        let end = whom.filter(|whom| whom.end == self.verb.start);
        let end = end.map_or(self.verb.start, |whom| whom.start);
        let is_next = times.iter().any(|time| {
            let rules = ["particle", "again", "particle"];
            let behind = rules.iter().fold(time.tokens.end, |at, rule| self.behind(rule, at));
            behind >= end || time.tokens.start >= self.verb.end
        });
        let before = self.before(end);
        let is_quoted = QUOTES.iter().any(|it| before.ends_with(it));
        let SaidTime { clock, part, every, after, .. } = &first.said;
        let has_time = clock.is_some() || part.is_some() || every.is_some() || after.is_some();
        let is_opened =
            first.tokens.start == 0 && (has_time || self.is_at("topic", first.tokens.end));
        let is_kept = !before.ends_with("か") && !before.ends_with("かを");
        self.condition.is_some()
            || is_next
            || is_kept && (is_quoted || is_opened && self.kind != PlanKind::Reminder)
    }

    /// Finds whom it is said to, with the tokens: 「みんなに」, 「@bobに」 or 「ボブさんに」.
    fn japanese_whom(&self) -> Option<(Whom, Range<usize>)> {
        near_edges(self.tokens).take_while(|at| *at < self.verb.start).find_map(|at| {
            let found = self.read("japanese_whom", at)?;
            Some((self.whom_in(&found)?, found.last()?.tokens.clone()))
        })
    }

    fn whom_in(&self, found: &[Capture]) -> Option<Whom> {
        let is_whom = |it: &&Capture| ["whom", ""].contains(&it.slot) && it.meaning.is_some();
        match found.iter().find(is_whom)?.meaning? {
            "channel" => Some(Whom::Channel),
            "named" => Some(Whom::Named(self.name(&capture(found, "name")?.tokens))),
            _ => Some(Whom::Asker),
        }
    }
}

fn capture<'f>(found: &'f [Capture], slot: &str) -> Option<&'f Capture> {
    found.iter().find(|it| it.slot == slot)
}

/// "remind me tomorrow to call Bob at 3": is that when to call, or when to be reminded?
fn is_split(heads: &[&TimePhrase], tails: &[&TimePhrase]) -> bool {
    let head = joined(heads.iter().copied());
    tails.iter().any(|tail| {
        head.is_day_alone() && tail.said.is_clock_alone() && tail.lead == Lead::At
            || head.is_clock_alone() && tail.said.is_day_alone() && tail.lead == Lead::On
    })
}
