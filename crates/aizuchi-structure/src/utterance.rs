//! A message as the models see it.

use std::sync::{Arc, OnceLock};

use crate::appeal::appeal;
use crate::cues::Cues;
use crate::lexicon::AnswerTopic;
use crate::names::{NameIndex, may_name};
use crate::reader::{Prose, is_japanese, split_words};
use crate::vocabulary::listed_forms;
use crate::words::rare_words;

/// The properties of one message that the models use. A user is a number that the caller assigns.
#[derive(Clone, Debug)]
pub struct Utterance {
    pub author: u32,
    pub is_bot: bool,
    /// Whether the message only passes another user's question on, and answers nothing.
    pub passes_on: bool,
    /// The time in seconds since any fixed point.
    pub at: f64,
    pub cues: Cues,
    /// See [`appeal()`].
    pub appeal: f32,
    /// The topic of the answer that it asks for, if it asks.
    pub topic: AnswerTopic,
    /// See [`rare_words`].
    pub words: Arc<[u32]>,
    /// See [`listed_forms`].
    pub forms: Arc<[u16]>,
    /// The number of words.
    pub length: usize,
    /// The user whom it addresses explicitly.
    pub addressee: Option<u32>,
    /// All users whom it names, except for its author.
    pub named: Vec<u32>,
}

/// What a message does, in coarse classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Statement,
    Question,
    Thanks,
    Response,
    Trouble,
    Advice,
    Greeting,
}

impl Kind {
    pub const COUNT: usize = 7;
}

/// A text that has been read. What it says to whom depends on the users of the channel; the rest is computed once.
#[derive(Debug)]
pub struct Reading {
    prose: Prose,
    /// The content of the whole text.
    whole: OnceLock<Content>,
    /// The content after a name that the text begins with, and where that starts.
    behind_name: OnceLock<(usize, Content)>,
}

/// The content of the words, regardless of the addressee.
#[derive(Clone, Debug)]
struct Content {
    cues: Cues,
    appeal: f32,
    topic: AnswerTopic,
    words: Arc<[u32]>,
    forms: Arc<[u16]>,
    length: usize,
}

impl Reading {
    pub fn new(text: &str) -> Self {
        let (whole, behind_name) = (OnceLock::new(), OnceLock::new());
        Self { prose: Prose::new(text), whole, behind_name }
    }

    /// Whether the text may address or mention a user with this name in lower case. If not, that user makes no
    /// difference to how it is read.
    pub fn may_name(&self, name: &str) -> bool {
        may_name(&self.prose.text, name)
    }

    /// The content of `body`, which is the end of the text.
    fn content(&self, body: &str) -> Content {
        let read = || Content::new(&self.prose, body);
        match self.prose.text.len() - body.len() {
            0 => self.whole.get_or_init(read).clone(),
            start => {
                let (known, content) = self.behind_name.get_or_init(|| (start, read()));
                if *known == start { content.clone() } else { read() }
            }
        }
    }
}

impl Content {
    fn new(prose: &Prose, body: &str) -> Self {
        let japanese = body.chars().filter(|character| is_japanese(*character)).count();
        let cues = Cues::find(prose, body);
        let asks = cues.intersects(Cues::ASKS | Cues::QUESTION_WORD);
        Self {
            cues,
            appeal: appeal(body),
            topic: if asks { AnswerTopic::find(body) } else { AnswerTopic::Other },
            words: rare_words(body).into(),
            forms: listed_forms(body).into(),
            length: split_words(body).count() + japanese / 3,
        }
    }
}

impl Utterance {
    /// Creates an utterance. `mentioned` are the users that the platform reports as mentioned.
    pub fn new(author: u32, at: f64, text: &str, mentioned: &[u32], names: &NameIndex) -> Self {
        Self::from_reading(author, at, &Reading::new(text), mentioned, names)
    }

    /// Creates an utterance from a text that was read before.
    pub fn from_reading(
        author: u32,
        at: f64,
        reading: &Reading,
        mentioned: &[u32],
        names: &NameIndex,
    ) -> Self {
        let prose = &reading.prose;
        let addressed = names.find_addressee(&prose.text, author);
        let mut named = names.find_named(&prose.text, author);
        let mentioned = mentioned.iter().copied().filter(|user| *user != author);
        for user in mentioned {
            if !named.contains(&user) {
                named.insert(0, user);
            }
        }
        let Content { cues, appeal, topic, words, forms, length } = reading.content(addressed.body);
        // A user mentioned in a message to everyone is only spoken of.
        let is_marked =
            named.len() == 1 && prose.text.contains('@') && !cues.contains(Cues::TO_ALL);
        Self {
            author,
            is_bot: false,
            passes_on: false,
            at,
            cues,
            appeal,
            topic,
            words,
            forms,
            length,
            addressee: addressed.user.or(named.first().copied().filter(|_| is_marked)),
            named,
        }
    }

    /// Whether it asks for something, with or without a question.
    pub fn is_asking(&self) -> bool {
        self.cues.intersects(Cues::ASKS | Cues::TROUBLE)
    }

    /// Whether it says that a matter is solved, and reports no other trouble: "false alarm", 「…だけでした、お騒がせしました」.
    pub fn solves(&self) -> bool {
        let goes_on = Cues::ASKS | Cues::AGAIN | Cues::TROUBLE;
        self.cues.contains(Cues::SOLVED) && !self.cues.intersects(goes_on)
    }

    /// A coarse class of the answer that it could be, below [`Utterance::FORMS`].
    pub fn form(&self) -> usize {
        let forms = [
            Cues::NUMBER,
            Cues::YES,
            Cues::NO,
            Cues::OFFERS,
            Cues::JOINS,
            Cues::ASKS,
            Cues::ADVICE,
            Cues::ADDRESS.union(Cues::CODE),
            Cues::FIRST_PERSON,
            Cues::WORDLESS,
            Cues::SHORT,
        ];
        forms.iter().position(|form| self.cues.intersects(*form)).unwrap_or(forms.len())
    }

    /// The number of forms.
    pub const FORMS: usize = 12;

    pub fn kind(&self) -> Kind {
        let cues = self.cues;
        let asks_in_english = cues.contains(Cues::QUESTION_WORD) && !cues.contains(Cues::JAPANESE);
        if cues.contains(Cues::ASKS) || asks_in_english {
            Kind::Question
        } else if cues.intersects(Cues::THANKS | Cues::SOLVED) {
            Kind::Thanks
        } else if cues.intersects(Cues::YES | Cues::NO | Cues::ACKNOWLEDGES) {
            Kind::Response
        } else if cues.contains(Cues::TROUBLE) {
            Kind::Trouble
        } else if cues.contains(Cues::ADVICE) {
            Kind::Advice
        } else if cues.intersects(Cues::GREETING | Cues::GOODBYE) {
            Kind::Greeting
        } else {
            Kind::Statement
        }
    }
}
