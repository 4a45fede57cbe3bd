//! Orders: "remind us on Friday at 9 to …", "every Friday at 17:00 post a recap here", 「明日9時に請求書を送るって教えて」. In
//! English, an order begins its clause, so that "did you remind Bob?" is none; in Japanese it ends its message, so that
//! 「リマインドした？」 is none.

use std::ops::Range;

use crate::plan::grammar::{Capture, Reader, Value, is_name_part};
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

/// An order that is being read.
struct Clause<'m> {
    kind: PlanKind,
    used: VerbUse,
    is_japanese: bool,
    /// The tokens of the order itself.
    tokens: Range<usize>,
    /// The times that stand with it.
    heads: Vec<&'m TimePhrase>,
    /// 「返事がなければ」, "if she hasn't answered".
    condition: Option<Range<usize>>,
}

impl<'m> Message<'m> {
    pub fn text_of(&self, tokens: Range<usize>) -> &'m str {
        &self.text[self.tokens[tokens.start].range.start..self.tokens[tokens.end - 1].range.end]
    }

    pub fn order(&self) -> Option<PlanOrder> {
        let find = |language| self.near().find_map(|at| self.order_at(at, language));
        find("japanese").or_else(|| find("english"))
    }

    /// The places where something may stand that belongs to an order.
    fn near(&self) -> impl Iterator<Item = usize> {
        let tokens = self.tokens;
        (0..tokens.len()).filter(|at| is_near_edge(tokens, *at))
    }

    fn order_at(&self, start: usize, language: &str) -> Option<PlanOrder> {
        let context = |name: &str, reader: &Reader<'_>| match name == language {
            true => Some(reader.at),
            false => self.context(name, reader.at),
        };
        let reader = |at| Reader { tokens: self.tokens, at, context: &context };
        let mut order = reader(start);
        let found = order.read(language)?;
        let place = |slot| tokens_of(&found, slot).map(|tokens| tokens.start);
        let is_japanese = language == "japanese";
        let (kind, used) = meaning_of(&found, "verb")?.split_once(' ')?;
        let (kind, used) = (kind.parse().ok()?, used.parse().ok()?);
        let tokens = place("order")?..place("rest")?;
        let times = found.iter().filter(|it| ["time", "direct"].contains(&it.slot));
        let times = times.filter_map(|it| match it.value {
            Value::Tokens(at, _) => self.phrase_at(at),
            Value::Number(_) | Value::Meaning(_) => None,
        });
        let answer = self.near().find_map(|at| {
            let mut ahead = reader(at);
            let found = ahead.read("unanswered")?;
            let end = if is_japanese { ahead.at } else { self.tokens.len() };
            (!is_japanese || ahead.at <= tokens.start).then_some((at..end, found))
        });
        let (condition, asked) = answer.unzip();
        let heads = if is_japanese { Vec::new() } else { times.collect() };
        let clause = Clause { kind, used, is_japanese, tokens, heads, condition };
        match is_japanese {
            true => self.japanese_order(clause),
            false => {
                let asked = asked.and_then(|found| tokens_of(&found, "asked"));
                let asked = asked.map(|asked| self.name(asked));
                self.english_order(clause, start, &found, asked)
            }
        }
    }

    /// What the phrases of an order do not declare.
    fn context(&self, name: &str, at: usize) -> Option<usize> {
        let before = at.checked_sub(1);
        let is_so = match name {
            "time" => return self.phrase_at(at).map(|phrase| phrase.tokens.end),
            "name" => return self.name_end(at),
            "first" => at == 0,
            "free" => before.is_none_or(|at| !is_name_part(&self.tokens[at].text)),
            "clause" => {
                let is_inside = |it: &TimePhrase| it.tokens.start < at && at < it.tokens.end;
                before.is_none_or(|at| Reader::new(self.tokens, at).is_at("clause_end"))
                    && !self.phrases.iter().any(is_inside)
            }
            _ => false,
        };
        is_so.then_some(at)
    }

    fn phrase_at(&self, at: usize) -> Option<&'m TimePhrase> {
        self.phrases.iter().find(|phrase| phrase.tokens.start == at)
    }

    /// Reads "@bob", "Rin", "@Ann Lee".
    fn name_end(&self, start: usize) -> Option<usize> {
        let mut reader = Reader::new(self.tokens, start);
        let is_mention = reader.peek() == "@";
        reader.at += usize::from(is_mention);
        let is_word = reader.peek().starts_with(char::is_alphanumeric);
        let is_other = reader.is_at("no_name") || self.phrase_at(reader.at).is_some();
        if !is_word || is_other && !is_mention {
            return None;
        }
        let last = reader.at + 8;
        reader.at += 1;
        while let Some(token) = self.tokens.get(reader.at).filter(|_| reader.at <= last) {
            let is_close = !token.is_spaced && !reader.is_at("name_end");
            let is_capital = self.text[token.range.clone()].starts_with(char::is_uppercase);
            let is_kanji = is_mention && is_japanese(&token.text) && is_japanese(reader.before());
            if !is_close && !((is_capital || is_kanji) && self.phrase_at(reader.at).is_none()) {
                break;
            }
            reader.at += 1;
        }
        Some(reader.at)
    }

    fn name(&self, tokens: Range<usize>) -> String {
        let name = self.text_of(tokens).trim_start_matches(['@', '＠', ' ']);
        name.strip_suffix("さん").unwrap_or(name).to_owned()
    }

    /// Whether a time is that of an order, and not of something that is named.
    fn belongs(&self, phrase: &TimePhrase, clause: &Clause<'_>) -> bool {
        let before = phrase.tokens.start.checked_sub(1);
        let context = |name: &str, reader: &Reader<'_>| {
            let is_so = match name {
                "english" => !clause.is_japanese,
                "japanese" => clause.is_japanese,
                "condition" => clause.condition.is_some(),
                "order" => reader.at == clause.tokens.start,
                "after" if clause.is_japanese => phrase.said.after.is_some(),
                "vague" => phrase.said.is_vague && before.is_some(),
                "of_another" => {
                    before.is_some_and(|at| Reader::new(self.tokens, at).is_at("of_another"))
                }
                lead => lead == <&str>::from(phrase.lead),
            };
            is_so.then_some(reader.at)
        };
        Reader { tokens: self.tokens, at: phrase.tokens.end, context: &context }.eat("belonging")
    }

    fn english_order(
        &self,
        clause: Clause<'m>,
        start: usize,
        found: &[Capture],
        asked: Option<String>,
    ) -> Option<PlanOrder> {
        let place = |slot| tokens_of(found, slot).map(|tokens| tokens.start);
        let (rest, filled) = (clause.tokens.end, place("filled")?);
        let direct = tokens_of(found, "direct").map(|direct| direct.end);
        let end = direct.unwrap_or(filled);
        let Clause { mut kind, used, ref heads, ref condition, .. } = clause;
        let mut is_sure = used == VerbUse::Sure;
        let is_again = self.tokens[filled - 1].text == "again" && kind == PlanKind::Post;
        if condition.is_some() && kind != PlanKind::CheckBack || is_again {
            (kind, is_sure) = (PlanKind::FollowUp, false);
        }
        let is_next = |at: usize, rule| Reader::new(self.tokens, at).is_at(rule);
        if direct.is_none() && is_next(filled, "question") {
            return None;
        }
        let is_behind = |it: &TimePhrase| {
            it.tokens.start >= end || condition.is_some() && it.tokens.end <= start
        };
        let tails = self.phrases.iter().filter(|it| is_behind(it) && self.belongs(it, &clause));
        let tails: Vec<&TimePhrase> = tails.collect();
        // "remind me on Monday at 9 and on Friday at 10"
        let is_list = direct.is_some()
            && self.tokens.get(end).is_some_and(|token| token.text == "and")
            && tails.iter().any(|tail| tail.tokens.start == end + 1);
        let said = match chosen(heads, &tails) {
            _ if is_list => Err(Unclear::Several),
            Err(Unclear::NoTime) if is_next(filled, "event") => Err(Unclear::Vague),
            said => said,
        };
        // "tell me about the deploy on Friday" wants to know it now.
        let asks_now = ["tell", "let"].contains(&&*self.tokens[clause.tokens.start].text)
            && !is_next(filled, "told");
        let is_tail_sure = tails.last().is_some_and(|last| {
            let mut between = end..last.tokens.start;
            is_next(last.tokens.end, "closed")
                && !asks_now
                && !between.any(|at| is_next(at, "asks_when"))
        });
        let is_timed = !heads.is_empty() || condition.is_some() || is_tail_sure;
        let is_idle = kind == PlanKind::CheckBack && said.is_err() && heads.is_empty();
        // "can you remind me of the agenda?" asks for it now.
        let is_of =
            said == Err(Unclear::NoTime) && self.tokens.get(rest).is_some_and(|it| it.text == "of");
        if !is_sure && !is_timed || is_idle || is_of {
            return None;
        }
        let whom = match (meaning_of(found, "whom"), kind) {
            (Some("channel"), _) => Whom::Channel,
            (Some("named"), _) => {
                let mut names = found.iter().filter(|it| it.slot == "name");
                let tokens = tokens_of(found, "name")?;
                let last = names.next_back().and_then(tokens_in)?;
                match (self.name(tokens.start..last.end), asked) {
                    (name, Some(asked)) if ["her", "him", "them"].contains(&&*name) => {
                        Whom::Named(asked)
                    }
                    (name, _) => Whom::Named(name),
                }
            }
            (None, PlanKind::Post) => Whom::Channel,
            _ => Whom::Asker,
        };
        let used = if heads.is_empty() { &tails } else { heads };
        let mut without: Vec<_> = used.iter().map(|phrase| phrase.tokens.clone()).collect();
        let from = match place("said") {
            Some(from) => from,
            None if direct.is_none() && filled != rest => rest,
            None => end,
        };
        if kind == PlanKind::FollowUp {
            without.extend(condition.clone());
            without.extend(self.agains(from..self.tokens.len()));
        }
        let what = if from < self.tokens.len() { from..self.tokens.len() } else { 0..start };
        Some(PlanOrder { kind, whom, said, what, without, is_japanese: false })
    }

    /// Returns where 「もう一度」 and the like stand.
    fn agains(&self, tokens: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        tokens.filter_map(|at| {
            let mut ahead = Reader::new(self.tokens, at);
            ahead.eat("again").then_some(at..ahead.at)
        })
    }

    fn japanese_order(&self, mut clause: Clause<'m>) -> Option<PlanOrder> {
        let whom = self.japanese_whom(&clause);
        let order = clause.tokens.clone();
        let is_again = self.agains(0..order.start).next().is_some();
        if clause.condition.is_some() {
            clause.kind = PlanKind::FollowUp;
        } else if is_again && clause.kind == PlanKind::Post && clause.used == VerbUse::Tell {
            clause.kind = if whom.is_some() { PlanKind::FollowUp } else { PlanKind::CheckBack };
        }
        let times = self.phrases.iter().filter(|phrase| self.belongs(phrase, &clause));
        let times: Vec<&TimePhrase> = times.collect();
        if clause.used != VerbUse::Sure && !self.is_timed(&times, &clause, whom.as_ref()) {
            return None;
        }
        // The time of a place that is not known.
        let is_elsewhere =
            |phrase: &&TimePhrase| self.before(phrase.tokens.start).ends_with("時間の");
        let said = match joined(&times) {
            Some(_) if times.iter().any(is_elsewhere) => Err(Unclear::Impossible),
            Some(said) => Ok(said),
            None if self.phrases.iter().any(|it| it.said.trouble.is_some()) => Err(Unclear::Vague),
            None => Err(Unclear::NoTime),
        };
        // 「リマインド：」 stands before what it is about.
        let what = if order.start == 0 { 0..self.tokens.len() } else { 0..order.start };
        let mut without = vec![order.clone()];
        without.extend(times.iter().map(|phrase| {
            let mut ahead = Reader::new(self.tokens, phrase.tokens.end);
            ahead.eat("particle");
            phrase.tokens.start..ahead.at
        }));
        without.extend(whom.as_ref().map(|(_, tokens)| tokens.clone()));
        without.extend(clause.condition);
        let kind = clause.kind;
        if matches!(kind, PlanKind::FollowUp | PlanKind::CheckBack) {
            without.extend(self.agains(0..order.start));
        }
        let default = if kind == PlanKind::Post { Whom::Channel } else { Whom::Asker };
        let whom = whom.map_or(default, |(whom, _)| whom);
        Some(PlanOrder { kind, whom, said, what, without, is_japanese: true })
    }

    fn before(&self, at: usize) -> &'m str {
        self.tokens.get(at).map_or(self.text, |token| &self.text[..token.range.start]).trim_end()
    }

    /// Whether an order that is said of other things, too, surely has the time.
    fn is_timed(
        &self,
        times: &[&TimePhrase],
        clause: &Clause<'_>,
        whom: Option<&(Whom, Range<usize>)>,
    ) -> bool {
        let Some(first) = times.first() else { return false };
        let mut start = clause.tokens.start;
        if let Some((_, whom)) = whom.filter(|(_, whom)| whom.end == start) {
            start = whom.start;
        }
        let is_next = times.iter().any(|phrase| {
            let mut ahead = Reader::new(self.tokens, phrase.tokens.end);
            ["particle", "again", "particle"].iter().for_each(|rule| _ = ahead.eat(rule));
            ahead.at >= start || phrase.tokens.start >= clause.tokens.end
        });
        let before = self.before(start);
        let quotes = ["って", "と", "ように", "よう", "こと", "ことを", "のを", "の", "とか"];
        let is_quoted = quotes.iter().any(|it| before.ends_with(it));
        let SaidTime { clock, part, every, after, .. } = &first.said;
        let has_time = clock.is_some() || part.is_some() || every.is_some() || after.is_some();
        let is_topic = Reader::new(self.tokens, first.tokens.end).is_at("topic");
        let is_opened = first.tokens.start == 0 && (is_topic || has_time);
        let is_kept = !before.ends_with("か") && !before.ends_with("かを");
        clause.condition.is_some()
            || is_next
            || is_kept && (is_quoted || is_opened && clause.kind != PlanKind::Reminder)
    }

    /// Finds whom it is said to, with the tokens: 「みんなに」, 「@bobに」 or 「ボブさんに」 before the order or at the beginning.
    fn japanese_whom(&self, clause: &Clause<'_>) -> Option<(Whom, Range<usize>)> {
        let has_condition = clause.condition.is_some();
        let context = |name: &str, reader: &Reader<'_>| match name {
            "condition" => has_condition.then_some(reader.at),
            name => self.context(name, reader.at),
        };
        self.near().take_while(|at| *at < clause.tokens.start).find_map(|at| {
            let mut reader = Reader { tokens: self.tokens, at, context: &context };
            let found = reader.read("japanese_whom")?;
            let whom = match meaning_of(&found, "")? {
                "channel" => Whom::Channel,
                "asker" => Whom::Asker,
                _ => {
                    let mut names = found.iter().filter_map(tokens_in);
                    let first = names.next()?;
                    let end = names.next_back().map_or(first.end, |last| last.end);
                    let is_mention = self.tokens[at].text == "@";
                    let mut ahead = reader;
                    ahead.eat("again");
                    let begins = at == 0
                        || self.phrases.iter().any(|phrase| {
                            let mut ahead = Reader::new(self.tokens, phrase.tokens.end);
                            ahead.eat("particle") && ahead.at == at || phrase.tokens.end == at
                        });
                    let leads_to_time = self.phrase_at(reader.at).is_some();
                    let is_whom = has_condition
                        || [reader.at, ahead.at].contains(&clause.tokens.start)
                        || begins && clause.used == VerbUse::Tell
                        || at == 0 && (is_mention || leads_to_time);
                    is_whom.then(|| Whom::Named(self.text_of(first.start..end).to_owned()))?
                }
            };
            Some((whom, at..reader.at))
        })
    }
}

fn tokens_of(found: &[Capture], slot: &str) -> Option<Range<usize>> {
    found.iter().find(|it| it.slot == slot).and_then(tokens_in)
}

fn tokens_in(capture: &Capture) -> Option<Range<usize>> {
    match capture.value {
        Value::Tokens(start, end) => Some(start..end),
        Value::Number(_) | Value::Meaning(_) => None,
    }
}

fn meaning_of(found: &[Capture], slot: &str) -> Option<&'static str> {
    found.iter().find_map(|it| match it.value {
        Value::Meaning(meaning) if it.slot == slot => Some(meaning),
        Value::Meaning(_) | Value::Number(_) | Value::Tokens(..) => None,
    })
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
fn joined(phrases: &[&TimePhrase]) -> Option<SaidTime> {
    phrases.iter().map(|phrase| phrase.said.clone()).reduce(|mut all, more| {
        all.add(more);
        all
    })
}
