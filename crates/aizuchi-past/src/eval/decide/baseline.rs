//! Baselines for decisions: constant answers and simple rules.

use aizuchi_agent::inbox::addressed::by_name::is_named;
use aizuchi_model::chat::Message;
use aizuchi_model::chat::starts_with_name;
use aizuchi_model::context::conversation_analysis::ConversationAnalysis;
use aizuchi_model::overlap::has_name;
use aizuchi_model::persona::spelling::spellings;
use aizuchi_structure::cues::Cues;

use crate::eval::decide::ItemAnswer;
use crate::eval::decide::context::{is_owed, item_context};
use crate::eval::decide::item::{DecisionItem, ItemMessage};

/// Returns the answers of every baseline, with its name.
pub fn all(items: &[DecisionItem], persona: &str) -> Vec<(&'static str, Vec<ItemAnswer>)> {
    let each = |speaks: &dyn Fn(&DecisionItem) -> bool| {
        items.iter().map(|item| ItemAnswer::without_confidence(speaks(item))).collect()
    };
    vec![
        ("always silent", each(&|_| false)),
        ("always speak", each(&|_| true)),
        ("last line asks", each(&is_last_line_question)),
        ("asker not named", each(&has_unnamed_asker)),
        ("gate left open", each(&|item| passes_gate(item, persona))),
    ]
}

fn is_last_line_question(item: &DecisionItem) -> bool {
    item.context.last().is_some_and(|message| is_question(&message.text))
}

/// Whether there is a question that addresses no other author by name, and whose author no later message names.
fn has_unnamed_asker(item: &DecisionItem) -> bool {
    let messages = &item.context;
    messages.iter().enumerate().any(|(index, message)| {
        let mut others = messages.iter().filter(|other| other.author != message.author);
        let mut later = messages[index + 1..].iter().filter(|other| other.author != message.author);
        is_question(&message.text)
            && !others.any(|other| starts_with_name(&message.text, &other.author))
            && !later
                .any(|other| has_name(&other.text.to_lowercase(), &message.author.to_lowercase()))
    })
}

/// Whether the gate on settled conversations would let a model be asked if all messages were unseen, or an answer is
/// owed.
fn passes_gate(item: &DecisionItem, persona: &str) -> bool {
    let context = item_context(item, persona);
    let is_own = |message: &ItemMessage| message.own.unwrap_or(message.author == persona);
    let mut others = item.context.iter().filter(|message| !is_own(message) && !message.bot);
    let mut is_named = || others.any(|message| is_named(&message.text, &spellings(persona)));
    is_owed(&context)
        || is_named()
        || !ConversationAnalysis::new(&context).is_settled(|_: &Message| true)
}

fn is_question(text: &str) -> bool {
    Cues::from_text(text).contains(Cues::ASKS)
}
