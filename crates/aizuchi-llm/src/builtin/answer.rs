//! The built-in mind's answer to one message, depending on the request. Look-ups are in `lookup`.

use std::sync::Arc;

use aizuchi_model::chat::local;
use aizuchi_model::chat::{AuthorKind, Message, UserId, to_single_line};
use aizuchi_model::context::Context;
use aizuchi_model::persona::Language;
use aizuchi_model::texts::{self, Name};

use crate::builtin::matching::{holds_any, normalize};
use crate::builtin::phrases::Topic;
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
        let language = self.language;
        match request {
            Request::Call => self.topic(Topic::Presence),
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
            Topic::Date => {
                let weekday = texts::builtin::weekday(language, now.weekday());
                let day = texts::builtin::day(language, now.date());
                texts::builtin::today(language, weekday, &day, now.year())
            }
            Topic::Identity => texts::builtin::identity(language, persona),
            Topic::Abilities => texts::builtin::abilities(language, persona),
            Topic::Model => texts::builtin::connect_model(language, self.page()),
            Topic::Recap => self.recap(),
            Topic::Summary => self.summary(),
            Topic::Open => self.open_questions(),
            Topic::Answered => self.whether_answered(),
            Topic::Privacy => texts::builtin::privacy(language, persona),
            Topic::ForgetOne => texts::builtin::forget_one(language, name, persona),
            Topic::Controls => texts::builtin::controls(language, persona),
            Topic::Correction => texts::builtin::corrected(language, name),
            Topic::Presence => texts::builtin::called(language, name, persona),
            Topic::Courtesy => WELCOME.to_owned(),
        }
    }

    /// Returns a greeting. At the first meeting the mind introduces itself.
    fn greeting(&self) -> String {
        let (language, name) = (self.language, Name(&self.name));
        match self.own_messages().next().is_some() {
            true => texts::builtin::hello_again(language, name),
            false => texts::builtin::first_greeting(language, name, &self.prompt.persona.name),
        }
    }

    /// The page on which a model can be connected.
    pub fn page(&self) -> &'static str {
        match self.context.conversation.workspace == local::workspace_id() {
            true => texts::builtin::on_this_page(self.language),
            false => texts::builtin::on_local_page(self.language),
        }
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

    /// The asker's previous request.
    pub fn earlier_request(&self) -> Option<Request> {
        const MAX_MESSAGES: usize = 12;
        let messages = self.context.target_messages().iter().rev();
        let earlier = messages.skip_while(|it| it.id != self.message.id).skip(1);
        let mut own = earlier
            .take(MAX_MESSAGES)
            .filter(|it| it.author.id == *self.asker && it.is_addressed())
            .map(|it| request(it, self.prompt));
        own.next()
    }
}
