//! The look-ups behind the built-in mind's answers: who said what, what answers a question, what was said last,
//! which questions are open.

use std::collections::BTreeSet;
use std::iter;

use aizuchi_model::chat::to_single_line;
use aizuchi_model::context::conversation_analysis::{
    ConversationAnalysis, QuestionAnalysis, QuestionStatus,
};
use aizuchi_model::recall::content_words::content_words;
use aizuchi_model::texts::{self, Name};
use aizuchi_structure::cues::Cues;

use crate::builtin::answer::Answer;
use crate::builtin::asked::{QuestionKind, is_about_somebody, person_asked_about};
use crate::builtin::matching::{holds_any, normalize};
use crate::builtin::phrases::List;
use crate::builtin::preamble::without_call;
use crate::builtin::quote::Quote;
use crate::builtin::quotes::Quotes;
use crate::builtin::request::Request;
use crate::builtin::split_questions::questions_in;
use crate::builtin::vocabulary::truncate_quote;

/// The maximum number of messages in a recap.
const RECAP_MESSAGES: usize = 6;
/// The maximum number of messages in a summary of one topic.
const TOPIC_MESSAGES: usize = 8;
/// The maximum number of quotes in an answer to who said what.
const SAID_MESSAGES: usize = 3;

impl<'a> Answer<'a> {
    fn quotes(&self) -> Quotes<'a> {
        Quotes::new(self.prompt, self.message)
    }

    /// A recap of the last messages, or of those of yesterday.
    pub fn recap(&self) -> String {
        let quotes = self.quotes();
        let text = normalize(&self.message.text);
        let is_of_yesterday = List::Yesterday.phrases().iter().any(|phrase| text.contains(phrase));
        let newest = match is_of_yesterday {
            true => quotes.newest_of_yesterday(RECAP_MESSAGES),
            false => quotes.newest_of_all(RECAP_MESSAGES),
        };
        if is_of_yesterday && newest.is_empty() {
            return texts::builtin::nothing_from_yesterday(self.language, Name(&self.name));
        }
        self.listed(texts::builtin::recap(self.language), &quotes, &newest)
    }

    /// A summary of the last messages, or of all messages on the requested topic.
    pub fn summary(&self) -> String {
        let (language, quotes) = (self.language, self.quotes());
        let words = content_words(&without_call(&self.message.text, &self.prompt.persona.name));
        let common = content_words(&List::SummaryWords.phrases().join(" "));
        let topic: BTreeSet<String> = words.difference(&common).cloned().collect();
        let about = quotes.talk_about(&topic, TOPIC_MESSAGES);
        match about.is_empty() {
            true => {
                let newest = quotes.newest_of_all(RECAP_MESSAGES);
                self.listed(texts::builtin::no_summary(language), &quotes, &newest)
            }
            false => self.listed(texts::builtin::no_summary_of_topic(language), &quotes, &about),
        }
    }

    fn listed(&self, heading: &str, quotes: &Quotes<'_>, listed: &[&Quote<'_>]) -> String {
        if listed.is_empty() {
            return texts::builtin::nothing_to_recap(self.language, Name(&self.name));
        }
        let lines: Vec<String> = listed.iter().map(|quote| quotes.line(quote)).collect();
        format!("{heading}\n{}", lines.join("\n"))
    }

    pub fn said(&self, speaker: Option<&str>, topic: &str) -> String {
        let quotes = self.quotes();
        match &quotes.about(speaker, topic, SAID_MESSAGES)[..] {
            [] => match speaker {
                Some(speaker) => texts::builtin::speaker_said_nothing(self.language, Name(speaker)),
                None => texts::builtin::nobody_said(self.language).to_owned(),
            },
            [quote] => quotes.sentence(quote, self.asker),
            several => {
                let lines: Vec<String> = several.iter().map(|quote| quotes.line(quote)).collect();
                format!("{}\n{}", texts::builtin::found(self.language), lines.join("\n"))
            }
        }
    }

    /// What was said that answers the question, or that there is no answer. Once per conversation it explains why it
    /// can only quote.
    pub fn question(&self, question: &str) -> String {
        let quotes = self.quotes();
        if let Some(answers) = self.several_questions(&questions_in(question), &quotes) {
            return answers;
        }
        let earlier = self.goes_on_with(question);
        match self.known(question, earlier.as_deref(), &quotes) {
            Some(known) => known,
            None => self.no_answer(question, earlier.as_deref(), &quotes),
        }
    }

    /// An answer to each question of the message, if there are several and at least one can be answered.
    pub fn several_answers(&self) -> Option<String> {
        let text = without_call(&self.message.text, &self.prompt.persona.name);
        self.several_questions(&questions_in(&text), &self.quotes())
    }

    /// An answer to each of several questions, if at least one has an answer.
    fn several_questions(&self, questions: &[&str], quotes: &Quotes<'_>) -> Option<String> {
        if questions.len() < 2 {
            return None;
        }
        let (mut answers, mut is_any_known, mut earlier) = (Vec::new(), false, None);
        for question in questions {
            let has_matter = !content_words(question).is_empty();
            let persona = &self.prompt.persona.name;
            let known = match Request::parse(question, persona, iter::empty()) {
                Request::Topic(topic) => Some(self.topic(topic)),
                _ => self.known(question, earlier.filter(|_| !has_matter), quotes),
            };
            is_any_known |= known.is_some();
            // "Really? …" asks for nothing.
            let is_asked = has_matter || earlier.is_some();
            let answer = known.or_else(|| is_asked.then(|| self.nobody_said(question)));
            answers.extend(answer.filter(|answer| !answers.contains(answer)));
            earlier = Some(*question).filter(|_| has_matter).or(earlier);
        }
        is_any_known.then(|| answers.join("\n"))
    }

    /// What was said that answers the question, on its own or as a follow-up to an earlier one.
    fn known(&self, question: &str, earlier: Option<&str>, quotes: &Quotes<'_>) -> Option<String> {
        let known = quotes.nearest_of_themselves(question, self.asker);
        let known = known.or_else(|| quotes.nearest_of_all(question));
        let known = known.or_else(|| quotes.nearest_following(question, earlier?));
        Some(quotes.describe(&known?, self.asker))
    }

    /// The question that this one follows up on: "and when is it?".
    fn goes_on_with(&self, question: &str) -> Option<String> {
        let lower = normalize(question);
        let goes_on =
            content_words(question).is_empty() || holds_any(&lower, List::GoesOn.phrases());
        match self.earlier_request().filter(|_| goes_on)? {
            Request::Question(earlier) => Some(earlier),
            Request::Said { topic, .. } => Some(topic),
            _ => None,
        }
    }

    /// That there is no answer, in different words than the last time, with the closest quote.
    fn no_answer(&self, question: &str, earlier: Option<&str>, quotes: &Quotes<'_>) -> String {
        let language = self.language;
        // Falls back to the last words of a user, if the question names nothing but them.
        let named = || quotes.last_words_of(question, self.asker);
        let related = quotes.related(question, earlier).or_else(named);
        // What was just quoted is no news.
        let has_quoted = |quote: &Quote<'_>| {
            self.own_messages().next_back().is_some_and(|last| last.text.contains(&quote.text))
        };
        let none = match person_asked_about(question) {
            Some(person) => return self.unknown_person(&person, quotes),
            None if quotes.has_word_of(question) => self.nobody_said(question),
            // A subject that no one has talked about is unknown here.
            None => self.not_found(),
        };
        match related.filter(|quote| !has_quoted(quote)) {
            Some(quote) => {
                let quoted = quotes.sentence(quote, self.asker);
                texts::builtin::perhaps_related(language, Name(&self.name), &quoted)
            }
            None => self.with_explanation(none),
        }
    }

    /// Adds, once per conversation, why the mind can only quote.
    fn with_explanation(&self, none: String) -> String {
        let language = self.language;
        let only_quotes = texts::builtin::only_quotes(language);
        let connect = texts::builtin::how_to_connect(language);
        match self.own_messages().any(|message| message.text.contains(connect)) {
            true => none,
            false => texts::builtin::no_answer(language, &none, only_quotes, connect),
        }
    }

    fn nobody_said(&self, question: &str) -> String {
        let (language, name) = (self.language, Name(&self.name));
        match QuestionKind::from_question(question) {
            QuestionKind::Time => texts::builtin::nobody_said_when(language, name),
            QuestionKind::Place => texts::builtin::nobody_said_where(language, name),
            QuestionKind::Person => texts::builtin::nobody_said_who(language, name),
            QuestionKind::Reason => texts::builtin::nobody_said_why(language, name),
            QuestionKind::Way => texts::builtin::nobody_said_how(language, name),
            QuestionKind::Amount => texts::builtin::nobody_said_how_much(language, name),
            QuestionKind::Other => self.not_found(),
        }
    }

    fn not_found(&self) -> String {
        let (language, name) = (self.language, Name(&self.name));
        self.in_other_words(&[
            texts::builtin::not_found(language, name),
            texts::builtin::not_found_again(language, name),
            texts::builtin::not_found_either(language, name),
        ])
    }

    /// The first choice that is in none of the mind's last messages, so that it does not repeat itself.
    fn in_other_words(&self, choices: &[String]) -> String {
        const LAST: usize = 4;
        let last: Vec<_> = self.own_messages().rev().take(LAST).collect();
        let is_new =
            |choice: &&String| !last.iter().any(|message| message.text.contains(&***choice));
        choices.iter().find(is_new).or(choices.last()).cloned().unwrap_or_default()
    }

    /// What is known about a person when no one has said who they are.
    fn unknown_person(&self, person: &str, quotes: &Quotes<'_>) -> String {
        let bare = person.trim_end_matches("さん");
        let (language, person) = (self.language, Name(bare));
        if let Some(newest) = quotes.newest_by(bare) {
            let quoted = quotes.sentence(newest, self.asker);
            return texts::builtin::person_writes_here(language, person, &quoted);
        }
        match quotes.newest_with(bare) {
            Some(newest) => {
                let quoted = quotes.sentence(newest, self.asker);
                texts::builtin::person_mentioned(language, person, &quoted)
            }
            None => self.with_explanation(texts::builtin::person_unknown(language, person)),
        }
    }

    /// The unanswered questions to everyone.
    pub fn open_questions(&self) -> String {
        let (language, quotes) = (self.language, self.quotes());
        let analysis = ConversationAnalysis::new(self.context);
        let waits = |question: &&QuestionAnalysis<'_>| {
            !question.message.is_addressed() && may_wait(question, &quotes)
        };
        let is_open = |quote: &&Quote<'a>| {
            let mut waiting = analysis.questions().iter().filter(waits);
            waiting.any(|question| question.message.id == quote.message.id)
        };
        let open: Vec<&Quote<'a>> = quotes.all().into_iter().filter(is_open).collect();
        match open.is_empty() {
            true => texts::builtin::no_open_questions(language, Name(&self.name)),
            false => self.listed(texts::builtin::open_questions(language), &quotes, &open),
        }
    }

    /// What became of the asker's last question to the others.
    pub fn whether_answered(&self) -> String {
        let (language, name) = (self.language, Name(&self.name));
        let analysis = ConversationAnalysis::new(self.context);
        let is_own = |it: &&QuestionAnalysis<'_>| {
            it.message.author.id == *self.asker && !it.message.is_addressed()
        };
        let Some(question) = analysis.questions().iter().rfind(is_own) else {
            return texts::builtin::no_question_of_yours(language, name);
        };
        let quote = truncate_quote(&to_single_line(&question.message.text));
        let QuestionStatus::TakenUp(by, _) = &question.status else {
            return texts::builtin::not_answered_yet(language, name, &quote);
        };
        let quotes = self.quotes();
        let is_answer =
            |it: &&Quote<'a>| it.message.author.id == *by && it.message.at >= question.message.at;
        match quotes.all().into_iter().find(is_answer) {
            Some(answer) => quotes.sentence(answer, self.asker),
            None => texts::builtin::not_answered_yet(language, name, &quote),
        }
    }

    /// That the mind cannot do it, with what was said about the subject.
    pub fn order(&self, order: &str) -> String {
        let (language, quotes) = (self.language, self.quotes());
        let question = orders_removed(order);
        let looks_up = List::Lookups.phrases().iter().any(|it| normalize(order).starts_with(it));
        if looks_up && quotes.nearest_of_all(&question).is_some() {
            return self.question(&question);
        }
        let is_known = quotes.related(&question, None).is_some();
        let topic = content_words(&question);
        let mut about = match is_known {
            true => quotes.talk_about(&topic, TOPIC_MESSAGES),
            false => Vec::new(),
        };
        // Messages that were only in between do not help a user who wants something done.
        about.retain(|quote| !content_words(&quote.text).is_disjoint(&topic));
        if !about.is_empty() {
            return self.listed(texts::builtin::but_this_was_said(language), &quotes, &about);
        }
        let name = Name(&self.name);
        let cannot = self.in_other_words(&[
            texts::builtin::beyond_me(language, name),
            texts::builtin::beyond_me_again(language, name),
        ]);
        let connect = texts::builtin::how_to_connect(language);
        match self.own_messages().any(|message| message.text.contains(connect)) {
            true => cannot,
            false => texts::builtin::with_hint(language, &cannot, connect),
        }
    }
}

/// Whether a question to everyone may still be open. The next writer on another subject has not answered it, even if
/// it looks as if they had.
fn may_wait(question: &QuestionAnalysis<'_>, quotes: &Quotes<'_>) -> bool {
    let is_put_to_one =
        matches!(question.status, QuestionStatus::Directed(_) | QuestionStatus::InThread);
    if question.status == QuestionStatus::Open || is_put_to_one {
        return !is_put_to_one;
    }
    let later = quotes.all().into_iter();
    let mut later = later.skip_while(|it| it.message.id != question.message.id).skip(1);
    let next = later.find(|it| it.message.author.id != question.message.author.id);
    next.is_none_or(|next| !seems_to_answer(&next.text, &question.message.text))
}

fn seems_to_answer(text: &str, question: &str) -> bool {
    const ANSWERS: Cues = Cues::YES
        .union(Cues::NO)
        .union(Cues::ACKNOWLEDGES)
        .union(Cues::OFFERS)
        .union(Cues::ADDRESS)
        .union(Cues::CODE)
        .union(Cues::SHORT);
    let tells = match QuestionKind::from_question(question) {
        QuestionKind::Other | QuestionKind::Way => false,
        QuestionKind::Person => is_about_somebody(text, question, &[]),
        asked => asked.is_answered_by(text),
    };
    tells
        || Cues::from_text(text).intersects(ANSWERS)
        || !content_words(text).is_disjoint(&content_words(question))
}

/// The subject of an order: its text without the words that make it an order.
fn orders_removed(order: &str) -> String {
    let lower = normalize(order);
    let common = List::Orders.phrases().iter().chain(List::SummaryWords.phrases());
    common.fold(lower, |text, word| match holds_any(&text, &[word]) {
        true => text.replace(word, " "),
        false => text,
    })
}
