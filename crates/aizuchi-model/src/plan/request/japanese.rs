//! Requests in Japanese: 「明日9時に請求書を送るって教えて」「毎週金曜17時にまとめを投稿して」. An order ends its message, so
//! that 「リマインドした？」 is none.

use std::ops::Range;

use crate::plan::request::{PlanKind, PlanOrder, VerbUse, Whom, joined, unquoted};
use crate::plan::time_expression::token::{Token, TokenReader};
use crate::plan::time_expression::{TimePhrase, Unclear, is_near_edge};
use crate::plan::words::{JAPANESE, word_lists};

word_lists! { JAPANESE;
    VERBS: (&str, (PlanKind, VerbUse)),
    AGAIN: &str,
    ENDINGS: &str,
    PLEASE: &str,
    CLOSING: &str,
    OF_ANOTHER: &str,
    PARTICLES: &str,
    JOINTS: &str,
    EVERYONE: &str,
    ONESELF: &str,
    HONORIFICS: &str,
    NO_ANSWER: &str,
    ANSWERS: &str,
}

const TE: [&str; 6] = ["て", "で", "といて", "どいて", "ておいて", "でおいて"];

const NOUNS: [&str; 3] = ["リマインド", "リマインダー", "アラーム"];

struct JapaneseVerb {
    kind: PlanKind,
    used: VerbUse,
    tokens: Range<usize>,
}

pub(super) fn find_order(
    text: &str,
    tokens: &[Token],
    phrases: &[TimePhrase],
) -> Option<PlanOrder> {
    let near = |at: &usize| is_near_edge(tokens, *at);
    let verb = (0..tokens.len()).filter(near).find_map(|at| verb_at(tokens, phrases, at))?;
    let JapaneseVerb { mut kind, used, tokens: order } = verb;
    let condition = condition(tokens, order.start);
    let is_again = (0..order.start).any(|at| TokenReader::new(tokens, at).eat_any(&AGAIN));
    let whom = find_whom(text, tokens, phrases, &order, used, condition.is_some());
    if condition.is_some() {
        kind = PlanKind::FollowUp;
    } else if is_again && kind == PlanKind::Post && used == VerbUse::Tell {
        kind = if whom.is_some() { PlanKind::FollowUp } else { PlanKind::CheckBack };
    }
    let belonging: Vec<&TimePhrase> = phrases
        .iter()
        .filter(|phrase| belongs(phrase, tokens, &order, condition.is_some()))
        .collect();
    let is_sure = used == VerbUse::Sure;
    if !is_sure
        && !is_timed(
            &belonging,
            tokens,
            &order,
            kind,
            whom.as_ref().map(|it| &it.1),
            condition.is_some(),
        )
    {
        return None;
    }
    // The time of a place that is not known.
    let is_elsewhere = |phrase: &&TimePhrase| ends_with(tokens, phrase.tokens.start, "時間の");
    let said = match joined(belonging.iter().copied()) {
        Some(_) if belonging.iter().any(is_elsewhere) => Err(Unclear::Impossible),
        Some(said) => Ok(said),
        None if phrases.iter().any(|it| it.said.trouble.is_some()) => Err(Unclear::Vague),
        None => Err(Unclear::NoTime),
    };
    // 「リマインド：」 stands before what it is about.
    let what = if order.start == 0 { 0..tokens.len() } else { 0..order.start };
    let mut without = vec![order.clone()];
    for phrase in &belonging {
        let mut reader = TokenReader::new(tokens, phrase.tokens.end);
        reader.eat_any(&PARTICLES);
        without.push(phrase.tokens.start..reader.at);
    }
    without.extend(whom.as_ref().map(|(_, tokens)| tokens.clone()));
    without.extend(condition.clone());
    if matches!(kind, PlanKind::FollowUp | PlanKind::CheckBack) {
        without.extend((0..order.start).filter_map(|at| {
            let mut reader = TokenReader::new(tokens, at);
            reader.eat_any(&AGAIN).then_some(at..reader.at)
        }));
    }
    let default = if kind == PlanKind::Post { Whom::Channel } else { Whom::Asker };
    let whom = whom.map_or(default, |(whom, _)| whom);
    Some(PlanOrder { kind, whom, said, what, without })
}

/// Reads 「教えてください」, which nothing but courtesies and times may follow.
fn verb_at(tokens: &[Token], phrases: &[TimePhrase], at: usize) -> Option<JapaneseVerb> {
    let mut reader = TokenReader::new(tokens, at);
    let is_noun = reader.eat_any(&NOUNS);
    if is_noun
        && at == 0
        && (reader.eat_any(&[":", "、"]) || phrases.iter().any(|it| it.tokens.start == reader.at))
    {
        let (kind, used) = (PlanKind::Reminder, VerbUse::Sure);
        return Some(JapaneseVerb { kind, used, tokens: at..reader.at });
    }
    let (kind, used) = if is_noun && reader.eat_any(&PLEASE) {
        (PlanKind::Reminder, VerbUse::Sure)
    } else {
        reader.at = at;
        let verb = reader.eat_of(&VERBS)?;
        reader.eat_any(&TE).then_some(())?;
        reader.eat_any(&ENDINGS);
        verb
    };
    let end = reader.at;
    while !reader.is_done() {
        let phrase = phrases.iter().find(|phrase| phrase.tokens.start == reader.at);
        match phrase {
            Some(phrase) => {
                reader.at = phrase.tokens.end;
                reader.eat_any(&PARTICLES);
            }
            None => (reader.eat("\n") || reader.eat_any(&CLOSING)).then_some(())?,
        }
    }
    Some(JapaneseVerb { kind, used, tokens: at..end })
}

/// Whether a time is that of the order, and not of something that is named.
fn belongs(
    phrase: &TimePhrase,
    tokens: &[Token],
    order: &Range<usize>,
    has_condition: bool,
) -> bool {
    let mut reader = TokenReader::new(tokens, phrase.tokens.end);
    let by = reader.attempt(|it| it.eat_any(&["までに", "まで"]).then_some(it.at));
    if let Some(end) = by {
        return has_condition || end == order.start;
    }
    if reader.eat("の") {
        return reader.at == order.start;
    }
    if reader.peek() == "で" {
        let is_last = reader.at + 1 == order.start;
        return is_last || phrase.said.after.is_some() || reader.peek_at(1) == "い";
    }
    if reader.clone().eat_any(&AGAIN) {
        return true;
    }
    let is_of_another = OF_ANOTHER.iter().any(|word| reader.clone().eat(word));
    // 「昨日」 and the like may begin what is to be said.
    !is_of_another
}

/// Whether an order that is said of other things, too, surely has the time.
fn is_timed(
    phrases: &[&TimePhrase],
    tokens: &[Token],
    order: &Range<usize>,
    kind: PlanKind,
    whom: Option<&Range<usize>>,
    has_condition: bool,
) -> bool {
    let Some(first) = phrases.first() else { return false };
    let mut before = order.start;
    if let Some(whom) = whom.filter(|whom| whom.end == before) {
        before = whom.start;
    }
    let is_next = phrases.iter().any(|phrase| {
        let mut reader = TokenReader::new(tokens, phrase.tokens.end);
        reader.eat_any(&PARTICLES);
        reader.eat_any(&AGAIN);
        reader.eat_any(&PARTICLES);
        reader.at >= before || phrase.tokens.start >= order.end
    });
    let is_quoted = ["って", "と", "ように", "よう", "こと", "ことを", "のを", "の", "とか"]
        .iter()
        .any(|joint| ends_with(tokens, before, joint));
    let is_opened = {
        let mut reader = TokenReader::new(tokens, first.tokens.end);
        let said = &first.said;
        let has_time = said.clock.is_some()
            || said.part.is_some()
            || said.every.is_some()
            || said.after.is_some();
        first.tokens.start == 0 && (reader.eat_any(&["に", "、", "には", "は"]) || has_time)
    };
    let is_kept = !ends_with(tokens, before, "か") && !ends_with(tokens, before, "かを");
    has_condition || is_next || is_kept && (is_quoted || is_opened && kind != PlanKind::Reminder)
}

fn ends_with(tokens: &[Token], end: usize, word: &str) -> bool {
    let length = word.chars().count();
    end.checked_sub(length).is_some_and(|at| {
        let mut reader = TokenReader::new(tokens, at);
        reader.eat(word) && reader.at == end
    })
}

/// Finds 「返事がなければ」, up to the comma behind it.
fn condition(tokens: &[Token], end: usize) -> Option<Range<usize>> {
    const REACH: usize = 12;
    let at = (0..end).find(|at| TokenReader::new(tokens, *at).eat_any(&ANSWERS))?;
    (at..end.min(at + REACH)).find_map(|close| {
        let mut reader = TokenReader::new(tokens, close);
        reader.eat_any(&NO_ANSWER).then(|| {
            reader.eat("、");
            at..reader.at
        })
    })
}

/// Finds whom it is said to, with the tokens: 「みんなに」, 「@bobに」 or 「ボブさんに」 before the order or at the beginning.
fn find_whom(
    text: &str,
    tokens: &[Token],
    phrases: &[TimePhrase],
    order: &Range<usize>,
    used: VerbUse,
    has_condition: bool,
) -> Option<(Whom, Range<usize>)> {
    let begins = |at: usize| {
        let is_time = |phrase: &TimePhrase| {
            let mut reader = TokenReader::new(tokens, phrase.tokens.end);
            reader.eat_any(&PARTICLES);
            reader.at == at
        };
        at == 0 || phrases.iter().any(is_time)
    };
    let near = |at: &usize| is_near_edge(tokens, *at);
    (0..order.start).filter(near).find_map(|at| {
        let mut reader = TokenReader::new(tokens, at);
        let known = match () {
            () if reader.eat_any(&EVERYONE) => Some(Whom::Channel),
            () if reader.eat_any(&ONESELF) => Some(Whom::Asker),
            () => None,
        };
        let before = at.checked_sub(1).map_or("", |at| tokens[at].text.as_str());
        let known = known.filter(|_| {
            reader.eat_any(&["に", "へ", "にも", "宛に", "あてに"]) && !is_name(before)
        });
        if let Some(whom) = known {
            return Some((whom, at..reader.at));
        }
        reader.at = at;
        let is_mention = reader.eat("@");
        let start = reader.at;
        let is_start = is_mention || !is_name(before);
        (is_start && is_name(reader.peek())).then_some(())?;
        while is_name(reader.peek())
            && !HONORIFICS.iter().any(|it| reader.clone().eat(it))
            && reader.at < start + 20
        {
            reader.at += 1;
        }
        let bytes = tokens[start].range.start..tokens[reader.at.max(start + 1) - 1].range.end;
        let is_honored = reader.eat_any(&HONORIFICS);
        let is_person = is_mention || is_honored;
        let is_given = match has_condition {
            true => reader.eat_any(&["に", "へ", "が", "から", "は"]),
            false => reader.eat_any(&["に", "へ"]),
        };
        let is_before_order = reader.at == order.start || {
            let mut ahead = reader;
            ahead.eat_any(&AGAIN) && ahead.at == order.start
        };
        let leads_to_time = phrases.iter().any(|phrase| phrase.tokens.start == reader.at);
        let is_whom = has_condition
            || is_before_order
            || begins(at) && (used == VerbUse::Tell || at == 0 && (is_mention || leads_to_time));
        (is_person && is_given && is_whom)
            .then(|| (Whom::Named(text[bytes].to_owned()), at..reader.at))
    })
}

/// Whether a token may belong to a name: no hiragana, which follow one.
fn is_name(token: &str) -> bool {
    token.starts_with(|letter: char| {
        letter.is_alphanumeric() && !matches!(letter, '\u{3041}'..='\u{309f}')
    }) || ["_", "-", "・"].contains(&token)
}

/// Returns what is to be done without the words that join it to the order.
pub(super) fn trimmed(what: &str) -> &str {
    let marks = [' ', '　', '、', '。', ',', '.', '!', '！', '?', '？', '〜', '~', ':', '：', '\n'];
    let mut what = what.trim_matches(marks);
    loop {
        let joint = JOINTS.iter().filter(|joint| what.ends_with(**joint)).max_by_key(|it| it.len());
        let courtesy = ["お願いします", "よろしく", "ありがとう", "ください"]
            .iter()
            .find(|it| what.ends_with(**it));
        what = match joint.or(courtesy) {
            Some(joint) => &what[..what.len() - joint.len()],
            None => break,
        }
        .trim_matches(marks);
    }
    let what = ["に", "は", "ここに", "ここで"]
        .iter()
        .find_map(|it| what.strip_prefix(it))
        .unwrap_or(what);
    let pairs = [('「', '」'), ('『', '』'), ('"', '"'), ('“', '”')];
    unquoted(what, &pairs)
}
