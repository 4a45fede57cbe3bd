//! The built-in mind's answer to one message, depending on the request. Look-ups are in `lookup`.

use std::sync::Arc;

use aizuchi_model::chat::local;
use aizuchi_model::chat::{AuthorKind, Message, UserId, to_single_line};
use aizuchi_model::context::Context;
use aizuchi_model::persona::Language;
use aizuchi_model::texts::{self, Name};

use crate::builtin::days::named_day;
use crate::builtin::matching::{holds_any, normalize};
use crate::builtin::phrases::{List, Topic};
use crate::builtin::preamble::{greets, without_call};
use crate::builtin::quotes::names;
use crate::builtin::request::{News, Request};
use crate::builtin::vocabulary::{LAUGH, WELCOME, truncate_quote};
use crate::prompt::Prompt;

/// Parses what a message requests.
pub fn request(message: &Message, prompt: &Prompt) -> Request {
    let names = names(&prompt.context);
    let user_names = names.iter().filter(|(user, _)| ***user != message.author.id);
    Request::parse(&message.text, &prompt.persona.name, user_names.map(|(_, name)| *name))
}

/// One answer to one message.
pub struct Answer<'a> {
    pub prompt: &'a Prompt,
    pub context: &'a Context,
    pub language: Language,
    pub message: &'a Message,
    pub asker: &'a UserId,
    pub name: String,
}

impl<'a> Answer<'a> {
    pub fn new(prompt: &'a Prompt, message: &'a Message) -> Self {
        let context = &*prompt.context;
        let asker = &message.author.id;
        let name = to_single_line(context.display_name(asker));
        Self { prompt, context, language: prompt.persona.language, message, asker, name }
    }

    pub fn to(&self, request: &Request) -> String {
        let answer = self.answer_to(request);
        let is_asked = matches!(request, Request::Question(_) | Request::Said { .. });
        match is_asked && greets(&without_call(&self.message.text, &self.prompt.persona.name)) {
            true => texts::builtin::greeting_and(self.language, &self.plain_greeting(), &answer),
            false => answer,
        }
    }

    fn answer_to(&self, request: &Request) -> String {
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
            Request::Topic(topic) => self.several_answers().unwrap_or_else(|| self.topic(*topic)),
            Request::News(News::Good) => {
                texts::builtin::congratulations(language, Name(&self.name))
            }
            Request::News(News::Bad) if self.mentions_death() => {
                texts::builtin::condolences(language, Name(&self.name))
            }
            Request::News(News::Bad) => texts::builtin::sympathy(language, Name(&self.name)),
            Request::Laugh => LAUGH.to_owned(),
            Request::Again => self.again(),
            Request::Order(order) => self.order(order),
            Request::Question(question) => self.question(question),
            Request::Statement => match self.has_explained_itself() {
                true => texts::builtin::noted(language, Name(&self.name)),
                false => {
                    let only_listens = texts::builtin::only_listens(language);
                    texts::builtin::understood(language, Name(&self.name), only_listens)
                }
            },
        }
    }

    pub fn topic(&self, topic: Topic) -> String {
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
            Topic::Open => self.open_questions(),
            Topic::Answered => self.whether_answered(),
            Topic::Privacy => texts::builtin::privacy(language, persona),
            Topic::ForgetOne => texts::builtin::forget_one(language, name, persona),
            Topic::Controls => texts::builtin::controls(language, persona),
            Topic::AboutAsker => self.about_asker(),
            Topic::PassOn => texts::builtin::no_messenger(language, name),
            Topic::Languages => texts::builtin::languages(language, persona),
            Topic::Personal => texts::builtin::personal(language, name),
            Topic::Manner => texts::builtin::manner(language, persona),
            Topic::Correction => texts::builtin::corrected(language, name),
            Topic::Insult => texts::builtin::insulted(language, name, persona),
            Topic::Thanks => texts::builtin::welcome(language, name),
            Topic::Apology => texts::builtin::no_harm(language, name),
            Topic::Praise => texts::builtin::praised(language, name),
            Topic::Acknowledgment => WELCOME.to_owned(),
            Topic::Mood => texts::builtin::mood(language, name),
            Topic::Presence => texts::builtin::present(language, name),
            Topic::Return => texts::builtin::welcome_back(language, name),
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

    /// Returns the greeting, or else one for the time of day. At the first meeting the mind introduces itself.
    fn greeting(&self) -> String {
        let (language, name) = (self.language, Name(&self.name));
        let text = normalize(&self.message.text);
        let says = |list: List| list.phrases().iter().any(|phrase| text.contains(phrase));
        let is_known = self.own_messages().next().is_some();
        if is_known && ![List::Morning, List::Evening, List::Day].into_iter().any(says) {
            return texts::builtin::hello_again(language, name);
        }
        match is_known {
            true => self.plain_greeting(),
            false => {
                let persona = &self.prompt.persona.name;
                texts::builtin::greeting_with_name(language, &self.plain_greeting(), persona)
            }
        }
    }

    /// The greeting without an introduction.
    fn plain_greeting(&self) -> String {
        let (language, name, hour) = (self.language, Name(&self.name), self.prompt.now.hour());
        let text = normalize(&self.message.text);
        let says = |list: List| list.phrases().iter().any(|phrase| text.contains(phrase));
        if says(List::FirstMeeting) {
            texts::builtin::pleased_to_meet(language, name)
        } else if says(List::Morning) {
            texts::builtin::good_morning(language, name)
        } else if says(List::Evening) {
            texts::builtin::good_evening(language, name)
        } else if says(List::Day) || (11..=17).contains(&hour) {
            texts::builtin::good_day(language, name)
        } else if (4..=10).contains(&hour) {
            texts::builtin::good_morning(language, name)
        } else {
            texts::builtin::good_evening(language, name)
        }
    }

    /// The page on which a model can be connected.
    pub fn page(&self) -> &'static str {
        match self.context.conversation.workspace == local::workspace_id() {
            true => texts::builtin::on_this_page(self.language),
            false => texts::builtin::on_local_page(self.language),
        }
    }

    /// Today's date, or that of the requested day.
    fn date(&self) -> String {
        let (language, today) = (self.language, self.prompt.now.date());
        let text = normalize(&self.message.text);
        let says = |list: List| list.phrases().iter().any(|phrase| text.contains(phrase));
        type Sentence = fn(Language, &str, &str, i16) -> String;
        let (sentence, date): (Sentence, _) = if says(List::Tomorrow) {
            (texts::builtin::tomorrow, today.tomorrow())
        } else if says(List::Yesterday) {
            (texts::builtin::yesterday, today.yesterday())
        } else if let Some(day) = named_day(&text, today).filter(|day| *day != today) {
            (texts::builtin::that_day, Ok(day))
        } else {
            (texts::builtin::today, Ok(today))
        };
        // There is no day after the last representable one.
        let date = date.unwrap_or(today);
        let weekday = texts::builtin::weekday(language, date.weekday());
        sentence(language, weekday, &texts::builtin::day(language, date), date.year())
    }

    fn mentions_death(&self) -> bool {
        const WORDS: [&str; 7] =
            ["died", "death", "passed away", "funeral", "亡くな", "死に", "死ん"];
        holds_any(&normalize(&self.message.text), &WORDS)
    }

    /// Whether the mind has explained in this conversation that it can only listen.
    pub fn has_explained_itself(&self) -> bool {
        let explained = texts::builtin::only_listens(self.language);
        self.own_messages().any(|message| message.text.contains(explained))
    }

    /// The mind's own messages in this conversation.
    pub fn own_messages(&self) -> impl DoubleEndedIterator<Item = &'a Arc<Message>> {
        let messages = self.context.target_messages().iter();
        messages.filter(|message| message.author.kind == AuthorKind::Persona)
    }

    /// Repeats the answer to the previous request, if there was one.
    fn again(&self) -> String {
        match self.earlier_request() {
            Some((_, Request::Again)) | None => self.to(&Request::Call),
            Some((_, request)) => self.to(&request),
        }
    }

    /// The asker's previous request, skipping requests to repeat.
    pub fn earlier_request(&self) -> Option<(&'a Message, Request)> {
        const MAX_MESSAGES: usize = 12;
        let messages = self.context.target_messages().iter().rev();
        let earlier = messages.skip_while(|it| it.id != self.message.id).skip(1);
        let mut own = earlier
            .take(MAX_MESSAGES)
            .filter(|it| it.author.id == *self.asker && it.is_addressed())
            .map(|it| (&**it, request(it, self.prompt)));
        own.find(|(_, request)| *request != Request::Again)
    }

    /// Never repeats the last joke. Different conversations begin with different jokes.
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
}
