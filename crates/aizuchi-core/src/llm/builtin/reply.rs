//! What the built-in mind answers. Each message that is owed an answer gets one by what it wants; an unsolicited reply
//! brings a question back, with what was said about it.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use crate::chat::{AuthorKind, Message, UserId, to_single_line};
use crate::context::Context;
use crate::decision::Usage;
use crate::llm::LlmResponse;
use crate::llm::builtin::days;
use crate::llm::builtin::phrases::{List, Topic};
use crate::llm::builtin::quote::Quote;
use crate::llm::builtin::quotes::{Quotes, names};
use crate::llm::builtin::ranking::asks_who;
use crate::llm::builtin::request::{News, Request, normalize, without_call};
use crate::llm::builtin::vocabulary::truncate_quote;
use crate::memo::MAX_NAME_LENGTH;
use crate::persona::Language;
use crate::platform::local;
use crate::prompt::Prompt;
use crate::prompt::tool::ToolCall;
use crate::recall::content_words::content_words;
use crate::texts::{self, Name};
use aizuchi_structure::lexicon::Topic as LinguisticTopic;

/// How much of the last talk a recap quotes.
const RECAP_MESSAGES: usize = 6;
/// How much of the talk about one matter a summary quotes.
const TOPIC_MESSAGES: usize = 8;
/// How many quotes answer who said what.
const SAID_MESSAGES: usize = 3;
/// How many of the owed messages are answered one by one.
const MAX_ANSWERS: usize = 5;
/// The tool that keeps a memo.
const ADD_MEMO: &str = "add_memo";
/// What it nods with at thanks, and at a laugh.
const WELCOME: &str = "👍";
const LAUGH: &str = "😄";

pub fn reply(prompt: &Prompt) -> LlmResponse {
    let context = &*prompt.context;
    let owed = context.owed.iter().filter_map(|id| context.target_message(id));
    let owed: Vec<&Arc<Message>> = owed.collect();
    if owed.is_empty() {
        return response(bring_back(prompt));
    }
    let newest = owed.len().saturating_sub(MAX_ANSWERS);
    let requests: Vec<(&Message, Request)> =
        owed[newest..].iter().map(|message| (&***message, request(message, prompt))).collect();
    let calls = memos_to_keep(&requests, prompt);
    if !calls.is_empty() {
        return LlmResponse { tool_calls: calls, ..response(String::new()) };
    }
    if let [(_, request)] = &requests[..]
        && let Some(emoji) = nod(request, prompt)
    {
        return response(emoji.to_owned());
    }
    let mut answers: Vec<String> = Vec::new();
    for (message, request) in &requests {
        let answer = Answer::new(prompt, message).to(request);
        if !answers.contains(&answer) {
            answers.push(answer);
        }
    }
    response(answers.join("\n\n"))
}

fn response(text: String) -> LlmResponse {
    LlmResponse::new(text, Usage::default())
}

fn request(message: &Message, prompt: &Prompt) -> Request {
    let names = names(&prompt.context);
    let people = names.iter().filter(|(user, _)| ***user != message.author.id);
    Request::parse(&message.text, &prompt.persona.name, people.map(|(_, name)| *name))
}

/// The emoji that says more than words would, if the channel allows it.
fn nod(request: &Request, prompt: &Prompt) -> Option<&'static str> {
    let emoji = match request {
        Request::Topic(Topic::Thanks) => WELCOME,
        Request::News(News::Good) => News::Good.emoji(),
        Request::Laugh => LAUGH,
        _ => return None,
    };
    prompt.judge_options.reactions.iter().any(|allowed| allowed == emoji).then_some(emoji)
}

/// The memos for what it is asked to keep, unless they were made already or no memo can be made.
fn memos_to_keep(requests: &[(&Message, Request)], prompt: &Prompt) -> Vec<ToolCall> {
    let can_keep = prompt.tools.iter().any(|tool| tool.name == ADD_MEMO);
    if !can_keep || !prompt.tool_rounds.is_empty() {
        return Vec::new();
    }
    let kept = requests.iter().filter_map(|(message, request)| match request {
        Request::Keep(text) => Some((message, text)),
        _ => None,
    });
    let call = |(message, text): (&&Message, &String)| {
        let name: String = text.chars().take(MAX_NAME_LENGTH).collect();
        let arguments = json!({ "name": name.trim(), "content": text, "priority": 3 });
        ToolCall { id: message.id.to_string(), name: ADD_MEMO.to_owned(), arguments }
    };
    kept.map(call).collect()
}

/// An unsolicited reply.
fn bring_back(prompt: &Prompt) -> String {
    let context = &*prompt.context;
    let language = prompt.persona.language;
    let about =
        context.intent.as_ref().and_then(|intent| context.target_message(intent.about.as_ref()?));
    let Some(message) = about.or_else(|| context.newest_human_message()) else {
        return texts::builtin::listening(language).to_owned();
    };
    let name = to_single_line(context.display_name(&message.author.id));
    let asker = &message.author.id;
    let quotes = Quotes::new(prompt, message);
    match quotes.nearest(&message.text) {
        Some(known) => {
            let known = quotes.tell(&known, asker);
            texts::builtin::perhaps_this_helps(language, Name(&name), &known)
        }
        None if context.newest_human_message().is_some_and(|it| it.id == message.id) => {
            texts::builtin::unknown_here(language, Name(&name))
        }
        None => {
            let quote = truncate_quote(&to_single_line(&message.text));
            texts::builtin::question_open(language, Name(&name), &quote)
        }
    }
}

/// One answer to one message.
struct Answer<'a> {
    prompt: &'a Prompt,
    context: &'a Context,
    language: Language,
    message: &'a Message,
    asker: &'a UserId,
    name: String,
}

impl<'a> Answer<'a> {
    fn new(prompt: &'a Prompt, message: &'a Message) -> Self {
        let context = &*prompt.context;
        let asker = &message.author.id;
        let name = to_single_line(context.display_name(asker));
        Self { prompt, context, language: prompt.persona.language, message, asker, name }
    }

    fn to(&self, request: &Request) -> String {
        let language = self.language;
        let persona = &self.prompt.persona.name;
        match request {
            Request::Call => texts::builtin::called(language, Name(&self.name), persona),
            Request::Greeting => self.greeting(),
            Request::Keep(text) => {
                let quote = truncate_quote(&to_single_line(text));
                texts::builtin::kept(language, Name(&self.name), &quote)
            }
            Request::Said { speaker, topic } => self.said(speaker.as_deref(), topic),
            Request::Topic(topic) => self.topic(*topic),
            Request::News(News::Good) => {
                texts::builtin::congratulations(language, Name(&self.name))
            }
            Request::News(News::Bad) => texts::builtin::sympathy(language, Name(&self.name)),
            Request::Laugh => LAUGH.to_owned(),
            Request::Question(question) => self.question(question),
            Request::Statement => texts::builtin::understood(language, Name(&self.name)),
        }
    }

    fn topic(&self, topic: Topic) -> String {
        let (language, name) = (self.language, Name(&self.name));
        let persona = &self.prompt.persona.name;
        let now = &self.prompt.now;
        match topic {
            Topic::Time => texts::builtin::time(language, &texts::builtin::time_of_day(now.time())),
            Topic::Date => self.date(),
            Topic::Identity => texts::builtin::identity(language, persona),
            Topic::IsBot => texts::builtin::is_bot(language, texts::builtin::nature(language)),
            Topic::IsHuman => {
                texts::builtin::is_no_human(language, texts::builtin::nature(language))
            }
            Topic::IsOtherModel => texts::builtin::is_no_other_model(language, persona),
            Topic::Abilities => texts::builtin::abilities(language, persona),
            Topic::Model => texts::builtin::connect_model(language, self.page()),
            Topic::Joke => self.joke().to_owned(),
            Topic::Opinion => self.opinion(),
            Topic::Reminder => texts::builtin::reminder(language, name, persona),
            Topic::Recap => self.recap(),
            Topic::Summary => self.summary(),
            Topic::Correction => texts::builtin::corrected(language, name),
            Topic::Insult => texts::builtin::insulted(language, name, persona),
            Topic::Thanks => texts::builtin::welcome(language, name),
            Topic::Apology => texts::builtin::no_harm(language, name),
            Topic::Praise => texts::builtin::praised(language, name),
            Topic::Mood => texts::builtin::mood(language, name),
            Topic::Presence => texts::builtin::present(language, name),
            Topic::Goodbye => {
                let text = normalize(&self.message.text);
                let says = |list: List| list.phrases().iter().any(|phrase| text.contains(phrase));
                if says(List::Night) {
                    texts::builtin::good_night(language, name)
                } else if says(List::AfterWork) {
                    texts::builtin::goodbye_after_work(language, name)
                } else {
                    texts::builtin::goodbye(language, name)
                }
            }
        }
    }

    /// The greeting that it was greeted with, or else one for the time of day. At the first meeting it says who it is.
    fn greeting(&self) -> String {
        let (language, name) = (self.language, Name(&self.name));
        if self.own_messages().next().is_some() {
            return texts::builtin::hello_again(language, name);
        }
        let text = normalize(&self.message.text);
        let says = |list: List| list.phrases().iter().any(|phrase| text.contains(phrase));
        let hour = self.prompt.now.hour();
        let greeting = if says(List::Morning) {
            texts::builtin::good_morning(language, name)
        } else if says(List::Evening) {
            texts::builtin::good_evening(language, name)
        } else if says(List::Day) || (11..=17).contains(&hour) {
            texts::builtin::good_day(language, name)
        } else if (4..=10).contains(&hour) {
            texts::builtin::good_morning(language, name)
        } else {
            texts::builtin::good_evening(language, name)
        };
        let persona = &self.prompt.persona.name;
        texts::builtin::greeting_with_name(language, &greeting, persona)
    }

    /// Where a model can be connected.
    fn page(&self) -> &'static str {
        match self.context.conversation.workspace == local::workspace_id() {
            true => texts::builtin::on_this_page(self.language),
            false => texts::builtin::on_local_page(self.language),
        }
    }

    /// Today's date, or that of the day that is asked for.
    fn date(&self) -> String {
        let (language, today) = (self.language, self.prompt.now.date());
        let text = normalize(&self.message.text);
        let says = |list: List| list.phrases().iter().any(|phrase| text.contains(phrase));
        type Sentence = fn(Language, &str, &str, i16) -> String;
        let (sentence, date): (Sentence, _) = if says(List::Tomorrow) {
            (texts::builtin::tomorrow, today.tomorrow())
        } else if says(List::Yesterday) {
            (texts::builtin::yesterday, today.yesterday())
        } else {
            (texts::builtin::today, Ok(today))
        };
        // There is no day after the last one that there is.
        let date = date.unwrap_or(today);
        let weekday = texts::builtin::weekday(language, date.weekday());
        sentence(language, weekday, &texts::builtin::day(language, date), date.year())
    }

    fn own_messages(&self) -> impl DoubleEndedIterator<Item = &'a Arc<Message>> {
        let messages = self.context.target_messages().iter();
        messages.filter(|message| message.author.kind == AuthorKind::Persona)
    }

    /// Never the same one twice in a row. Conversations begin with different ones.
    fn joke(&self) -> &'static str {
        let jokes = texts::builtin::JOKES.map(|joke| joke(self.language));
        let told = self
            .own_messages()
            .rev()
            .find_map(|message| jokes.iter().position(|joke| message.text.contains(joke)));
        let conversation = self.context.conversation.to_string();
        let first =
            conversation.bytes().fold(0, |sum: usize, byte| sum * 31 % 8191 + usize::from(byte));
        jokes[told.map_or(first, |last| last + 1) % jokes.len()]
    }

    fn quotes(&self) -> Quotes<'a> {
        Quotes::new(self.prompt, self.message)
    }

    /// What was said last, or what others said, if that is what was missed.
    fn recap(&self) -> String {
        let quotes = self.quotes();
        let text = normalize(&self.message.text);
        let has_missed = List::Missed.phrases().iter().any(|phrase| text.contains(phrase));
        let newest = match has_missed {
            true => quotes.newest_of_others(RECAP_MESSAGES),
            false => quotes.newest_of_all(RECAP_MESSAGES),
        };
        self.listed(texts::builtin::recap(self.language), &quotes, &newest)
    }

    /// What was said last, or all that was said about what is to be summarized.
    fn summary(&self) -> String {
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

    fn said(&self, speaker: Option<&str>, topic: &str) -> String {
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

    /// What was said that answers the question, or that nothing does. Why it can only quote is said once in a
    /// conversation.
    fn question(&self, question: &str) -> String {
        let (language, quotes) = (self.language, self.quotes());
        if let Some(days) = self.days_until(question, &quotes) {
            return days;
        }
        if let Some(known) = quotes.nearest_of_all(question) {
            return quotes.tell(&known, self.asker);
        }
        let only_quotes = texts::builtin::only_quotes(language);
        if !self.own_messages().any(|message| message.text.contains(only_quotes)) {
            let connect = &texts::builtin::how_to_connect(language, self.page());
            return texts::builtin::no_answer(language, Name(&self.name), only_quotes, connect);
        }
        self.no_answer(question)
    }

    /// How many days it is until something whose day was said.
    fn days_until(&self, question: &str, quotes: &Quotes<'_>) -> Option<String> {
        let topic = days::days_until(question)?;
        let known = quotes.nearest_of_all(&topic)?;
        let (language, now) = (self.language, &self.prompt.now);
        let written = known.newest.message.at.to_zoned(now.time_zone().clone()).date();
        let date = days::named_day(&known.newest.text, written)?;
        let left = now.date().until(date).ok()?.get_days();
        let weekday = texts::builtin::weekday(language, date.weekday());
        let (day, told) = (texts::builtin::day(language, date), quotes.tell(&known, self.asker));
        Some(match left {
            0 => texts::builtin::on_that_day(language, weekday, &day, &told),
            1 => texts::builtin::in_one_day(language, weekday, &day, &told),
            left if left > 1 => texts::builtin::in_days(language, left, weekday, &day, &told),
            -1 => texts::builtin::one_day_ago(language, weekday, &day, &told),
            past => texts::builtin::days_ago(language, -past, weekday, &day, &told),
        })
    }

    /// What nobody has said, in other words than the last time.
    fn no_answer(&self, question: &str) -> String {
        let (language, name) = (self.language, Name(&self.name));
        let last = self.own_messages().next_back();
        let again = texts::builtin::no_answer_again(language, name);
        match LinguisticTopic::find(&normalize(question)) {
            LinguisticTopic::Time => texts::builtin::nobody_said_when(language, name),
            LinguisticTopic::Place => texts::builtin::nobody_said_where(language, name),
            LinguisticTopic::Person if asks_who(question) => {
                texts::builtin::nobody_said_who(language, name)
            }
            LinguisticTopic::Reason => texts::builtin::nobody_said_why(language, name),
            LinguisticTopic::Way => texts::builtin::nobody_said_how(language, name),
            LinguisticTopic::Amount => texts::builtin::nobody_said_how_much(language, name),
            LinguisticTopic::Person
            | LinguisticTopic::Choice
            | LinguisticTopic::Thing
            | LinguisticTopic::Other => match last.is_some_and(|last| *last.text == *again) {
                true => texts::builtin::no_answer_either(language, name),
                false => again,
            },
        }
    }

    /// That it has none, with what was said about the matter.
    fn opinion(&self) -> String {
        let (language, quotes) = (self.language, self.quotes());
        let none = texts::builtin::no_opinion(language, Name(&self.name));
        match quotes.nearest(&without_call(&self.message.text, &self.prompt.persona.name)) {
            Some(known) => {
                texts::builtin::but_known(language, &none, &quotes.tell(&known, self.asker))
            }
            None => none,
        }
    }
}
