//! Requests in English: "remind us on Friday at 9 to …", "every Friday at 17:00 post a recap here". An order begins its
//! clause, so that "did you remind Bob?" is none.

use crate::plan::request::{PlanKind, PlanOrder, VerbUse, Whom, joined, unquoted};
use crate::plan::time_expression::lead::Lead;
use crate::plan::time_expression::said::SaidTime;
use crate::plan::time_expression::token::{Token, TokenReader};
use crate::plan::time_expression::{TimePhrase, Unclear, is_japanese};
use crate::plan::words::{ENGLISH, word_lists};

word_lists! { ENGLISH;
    pub VERBS: &str,
    OPENINGS: &str,
    REMIND_ME: &str,
    TELL: (&str, (PlanKind, VerbUse)),
    POST: &str,
    CHECK_BACK: &str,
    CHANNEL: &str,
    NO_NAMES: &str,
    QUESTIONS: &str,
    GOES_ON: &str,
    OF_ANOTHER: &str,
    EVENTS: &str,
    NO_ANSWER: &str,
}

const CLAUSE_ENDS: [&str; 13] =
    ["", ".", "!", "?", ";", ":", "\n", ",", "and", "then", "but", "—", "–"];

pub(super) fn find_order(
    text: &str,
    tokens: &[Token],
    phrases: &[TimePhrase],
) -> Option<PlanOrder> {
    let starts = (0..tokens.len()).filter(|at| {
        let before = at.checked_sub(1).map_or("", |before| tokens[before].text.as_str());
        let is_inside = phrases.iter().any(|it| it.tokens.start < *at && *at < it.tokens.end);
        !is_inside && CLAUSE_ENDS.contains(&before)
    });
    starts.take(MAX_CLAUSES).find_map(|at| order_at(text, tokens, phrases, at))
}

/// An order stands at the beginning of a message, or soon after it.
const MAX_CLAUSES: usize = 40;

fn order_at(
    text: &str,
    tokens: &[Token],
    phrases: &[TimePhrase],
    start: usize,
) -> Option<PlanOrder> {
    let mut reader = TokenReader::new(tokens, start);
    let mut heads: Vec<&TimePhrase> = Vec::new();
    loop {
        let head = phrases.iter().find(|phrase| phrase.tokens.start == reader.at);
        if let Some(head) = head.filter(|_| heads.len() < 3) {
            heads.push(head);
            reader.at = head.tokens.end;
        } else if !reader.eat_any(&OPENINGS) {
            break;
        }
    }
    let order_start = reader.at;
    let read = read_verb(text, &mut reader, phrases)?;
    let EnglishVerb { mut kind, whom, mut is_weak, mut said_from } = read;
    let rest = reader.at;
    while reader.eat_any(&["again", "please", "pls", ",", "also", "back", "then", "up", "here"]) {}
    let condition = no_answer(&reader, text);
    if condition.is_some() && kind != PlanKind::CheckBack
        || reader.before() == "again" && kind == PlanKind::Post
    {
        (kind, is_weak) = (PlanKind::FollowUp, true);
    }
    let direct = phrases.iter().find(|phrase| phrase.tokens.start == reader.at);
    heads.extend(direct);
    let end = direct.map_or(reader.at, |direct| direct.tokens.end);
    if said_from == rest && (rest == reader.at || direct.is_some()) {
        said_from = end.max(said_from);
    }
    let is_question = QUESTIONS.contains(&reader.peek());
    if is_question && direct.is_none() {
        return None;
    }
    let tails: Vec<&TimePhrase> = phrases
        .iter()
        .filter(|phrase| {
            phrase.tokens.start >= end || condition.is_some() && phrase.tokens.end <= start
        })
        .filter(|phrase| belongs(phrase, tokens, condition.is_some()))
        .collect();
    // "remind me on Monday at 9 and on Friday at 10"
    let is_list = direct.is_some()
        && TokenReader::new(tokens, end).eat("and")
        && tails.iter().any(|tail| tail.tokens.start == end + 1);
    let said = if is_list { Err(Unclear::Several) } else { chosen(&heads, &tails, &reader) };
    // "tell me about the deploy on Friday" wants to know it now.
    let asks_now = ["tell", "let"].contains(&tokens[order_start].text.as_str())
        && !["to", "that"].contains(&reader.peek());
    let last = tails.last().filter(|last| is_at_end(tokens, last.tokens.end) && !asks_now);
    let is_tail_sure = last.is_some_and(|last| {
        let mut before = tokens.iter().take(last.tokens.start).skip(end);
        !before.any(|token| QUESTIONS.contains(&&*token.text) || token.text == "when")
    });
    let is_timed = !heads.is_empty() || condition.is_some() || is_tail_sure;
    if is_weak && !is_timed || kind == PlanKind::CheckBack && said.is_err() && heads.is_empty() {
        return None;
    }
    // "can you remind me of the agenda?" asks for it now.
    if matches!(said, Err(Unclear::NoTime)) && TokenReader::new(tokens, rest).eat("of") {
        return None;
    }
    let whom = match (whom, condition) {
        (Whom::Named(name), Some(Some(asked))) if ["her", "him", "them"].contains(&&*name) => {
            Whom::Named(asked)
        }
        (whom, _) => whom,
    };
    let used = heads.iter().copied().chain(tails.iter().copied().filter(|_| heads.is_empty()));
    let mut without: Vec<_> = used.map(|phrase| phrase.tokens.clone()).collect();
    let what = if tokens.len() > said_from { said_from..tokens.len() } else { 0..start };
    if kind == PlanKind::FollowUp {
        without.extend(condition_tokens(tokens, said_from));
    }
    Some(PlanOrder { kind, whom, said, what, without })
}

struct EnglishVerb {
    kind: PlanKind,
    whom: Whom,
    is_weak: bool,
    /// The token from which on it is said what to say or do.
    said_from: usize,
}

fn read_verb(
    text: &str,
    reader: &mut TokenReader<'_>,
    phrases: &[TimePhrase],
) -> Option<EnglishVerb> {
    let verb =
        |kind, whom, is_weak, said_from| Some(EnglishVerb { kind, whom, is_weak, said_from });
    if reader.eat_any(&REMIND_ME) {
        let whom =
            reader.attempt(|it| it.eat("for").then(|| read_whom(text, it, phrases)).flatten());
        return verb(PlanKind::Reminder, whom.unwrap_or(Whom::Asker), false, reader.at);
    }
    if reader.eat("reminder") {
        let is_order = reader.eat_any(&[":", "-", "for me"])
            || reader.peek() == "to"
            || phrases.iter().any(|it| it.tokens.start == reader.at);
        return is_order.then(|| verb(PlanKind::Reminder, Whom::Asker, false, reader.at)).flatten();
    }
    let check_back = reader.attempt(|it| it.eat_any(&CHECK_BACK).then_some(it.at));
    // "check in with Bob", "follow up with Rin" name somebody.
    if check_back.is_some() && reader.peek() != "with" {
        return verb(PlanKind::CheckBack, Whom::Asker, true, reader.at);
    }
    if check_back.is_some() {
        reader.at -= 2;
    }
    let start = reader.at;
    let told = reader.attempt(|it| {
        let (kind, used) = it.eat_of(&TELL)?;
        let name = it.before();
        let whom = read_whom(text, it, phrases)?;
        // "let me know", "wake me up", "give us a digest"
        let is_whole = name != "let" || it.eat("know");
        if name == "wake" {
            it.eat("up");
        }
        let kind = match (kind, &whom) {
            (PlanKind::Post, Whom::Asker) if name == "ask" => PlanKind::CheckBack,
            (kind, _) => kind,
        };
        is_whole.then_some((kind, whom, used == VerbUse::Weak))
    });
    if let Some((kind, whom, is_weak)) = told {
        return verb(kind, whom, is_weak, reader.at);
    }
    reader.at = start;
    let says_it = reader.eat_any(&["summarize", "summarise", "recap"]);
    (says_it || reader.eat_any(&POST)).then_some(())?;
    let said_from = if says_it { start } else { reader.at };
    verb(PlanKind::Post, Whom::Channel, true, said_from)
}

fn read_whom(text: &str, reader: &mut TokenReader<'_>, phrases: &[TimePhrase]) -> Option<Whom> {
    let start = reader.at;
    if reader.eat_any(&["me", "myself"]) && reader.peek() != "and" {
        return Some(Whom::Asker);
    }
    reader.at = start;
    if reader.eat_any(&CHANNEL) {
        return Some(Whom::Channel);
    }
    let name = read_name(text, reader, phrases)?;
    // Whom nobody can find is asked for, rather than one of two.
    let more = reader.attempt(|it| {
        it.eat_any(&["and", "&", ", and"]).then(|| read_name(text, it, phrases)).flatten()
    });
    let end = reader.tokens[reader.at - 1].range.end;
    let whole = &text[reader.tokens[start].range.start..end];
    Some(Whom::Named(if more.is_some() { whole.trim_start_matches('@').to_owned() } else { name }))
}

/// Reads "@bob", "Rin", "@Ann Lee".
fn read_name(text: &str, reader: &mut TokenReader<'_>, phrases: &[TimePhrase]) -> Option<String> {
    let is_mention = reader.eat("@") || reader.eat("＠");
    let (start, is_time) = (reader.at, |at: usize| phrases.iter().any(|it| it.tokens.start == at));
    let first = reader.peek();
    let is_word = first.starts_with(|letter: char| letter.is_alphanumeric());
    if !is_word || (!is_mention && (NO_NAMES.contains(&first) || is_time(reader.at))) {
        return None;
    }
    let is_digit = first.starts_with(|letter: char| letter.is_ascii_digit());
    if is_digit && !is_mention {
        return None;
    }
    reader.at += 1;
    while let Some(token) = reader.tokens.get(reader.at) {
        let is_mark = [",", ":", "!", "?", ";"].contains(&token.text.as_str());
        let is_end =
            token.text == "." && reader.tokens.get(reader.at + 1).is_none_or(|it| it.is_spaced);
        let is_capital = text[token.range.clone()].starts_with(char::is_uppercase);
        let is_kanji = is_mention && is_japanese(&token.text) && is_japanese(reader.before());
        let is_close = !token.is_spaced && !is_mark && !is_end;
        let goes_on = is_close || (is_capital || is_kanji) && !is_time(reader.at);
        if !goes_on || reader.at > start + 8 {
            break;
        }
        reader.at += 1;
    }
    let bytes = reader.tokens[start].range.start..reader.tokens[reader.at - 1].range.end;
    let name = &text[bytes];
    Some(name.strip_suffix("さん").unwrap_or(name).to_owned())
}

/// Whether a time behind an order is when to follow it, and not a part of what it is about.
fn belongs(phrase: &TimePhrase, tokens: &[Token], has_condition: bool) -> bool {
    let before = phrase.tokens.start.checked_sub(1).map_or("", |at| tokens[at].text.as_str());
    let next = tokens.get(phrase.tokens.end).map_or("", |token| token.text.as_str());
    let is_led = match phrase.lead {
        Lead::Bound | Lead::For => return false,
        // A deadline is no time to be reminded of it.
        Lead::By => return has_condition,
        Lead::None => false,
        Lead::On | Lead::At | Lead::In | Lead::After => true,
    };
    let is_word = next.starts_with(char::is_alphanumeric);
    let is_part_of_name = !is_led && is_word && !GOES_ON.contains(&next);
    let is_vague = phrase.said.is_vague && !before.is_empty();
    !OF_ANOTHER.contains(&before)
        && !is_part_of_name
        && (!is_vague || is_at_end(tokens, phrase.tokens.end))
}

fn is_at_end(tokens: &[Token], at: usize) -> bool {
    let mut reader = TokenReader::new(tokens, at);
    while reader.eat_any(&[
        "please", "pls", "plz", "thanks", "thank you", "thx", "ok", ".", "!", "?", ",", "here",
        ":", ")", "(", "again", "🙏",
    ]) {}
    reader.is_done() || reader.eat("if")
}

/// Returns the time that is meant. A time before what is to be done is that of the order.
fn chosen(
    heads: &[&TimePhrase],
    tails: &[&TimePhrase],
    reader: &TokenReader<'_>,
) -> Result<SaidTime, Unclear> {
    if heads.iter().any(|head| head.lead == Lead::Bound) {
        return Err(Unclear::Vague);
    }
    if let Some(head) = joined(heads.iter().copied()) {
        // "remind me tomorrow to call Bob at 3": is that when to call, or when to be reminded?
        let is_split = tails.iter().any(|tail| {
            head.is_day_alone() && tail.said.is_clock_alone() && tail.lead == Lead::At
                || head.is_clock_alone() && tail.said.is_day_alone() && tail.lead == Lead::On
        });
        return if is_split { Err(Unclear::Several) } else { Ok(head) };
    }
    match joined(tails.iter().copied()) {
        Some(tail) => Ok(tail),
        None if EVENTS.contains(&reader.peek()) => Err(Unclear::Vague),
        None => Err(Unclear::NoTime),
    }
}

/// Finds "if she hasn't answered", with the name of whom it is about.
fn no_answer(reader: &TokenReader<'_>, text: &str) -> Option<Option<String>> {
    const NOBODY: [&str; 12] = [
        "she", "he", "they", "nobody", "no one", "noone", "we", "i", "you", "it", "anyone", "there",
    ];
    let ifs = (0..reader.tokens.len()).filter(|at| reader.tokens[*at].text == "if").take(4);
    ifs.into_iter().find_map(|at| {
        let mut ahead = TokenReader::new(reader.tokens, at + 1);
        let is_nobody = ahead.eat_any(&["nobody", "no one", "noone", "there's no", "there is no"]);
        let name = match is_nobody || ahead.eat_any(&NOBODY) {
            true => None,
            false => Some(read_name(text, &mut ahead, &[])?),
        };
        (is_nobody || ahead.eat_any(&NO_ANSWER)).then_some(name)
    })
}

/// Returns the tokens of "if she hasn't answered", and of "again".
fn condition_tokens(tokens: &[Token], from: usize) -> Vec<std::ops::Range<usize>> {
    let condition = (from..tokens.len()).find(|at| tokens[*at].text == "if");
    let again = (from..tokens.len()).filter(|at| tokens[*at].text == "again").map(|at| at..at + 1);
    again.chain(condition.map(|at| at..tokens.len())).collect()
}

/// Returns what is to be done without the words that join it to the order, and without courtesies.
pub(super) fn trimmed(what: &str, kind: PlanKind) -> &str {
    const BEFORE: [&str; 8] =
        ["to ", "that ", "about ", "of ", "for ", "and ", "please ", "it's time to "];
    const BEHIND: [&str; 7] = [" please", " pls", " plz", " thanks", " thank you", " thx", " ok"];
    const PLACES: [&str; 4] = [" here", " in here", " in this channel", " to the channel"];
    let marks = [' ', ',', '.', '!', '?', ':', ';', '-', '–', '—', '\n', '\t'];
    let mut what = what.trim_matches(marks);
    loop {
        let lower = what.to_ascii_lowercase();
        let before = BEFORE.iter().find(|word| lower.starts_with(**word));
        let places = if kind == PlanKind::Post { &PLACES[..] } else { &[] };
        let behind = BEHIND.iter().chain(places).find(|word| lower.ends_with(**word));
        what = match (before, behind) {
            (Some(word), _) => &what[word.len()..],
            (None, Some(word)) => &what[..what.len() - word.len()],
            (None, None) => break,
        }
        .trim_matches(marks);
    }
    if ["please", "thanks", "here", "again", "to"].contains(&what) {
        return "";
    }
    let pairs = [('\'', '\''), ('"', '"'), ('“', '”'), ('‘', '’')];
    unquoted(what, &pairs)
}
