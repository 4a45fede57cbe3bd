//! What a mind is measured against: the same answer whatever is asked, and rules that fit in a line.

use crate::eval::decide::ItemAnswer;
use crate::eval::decide::item::DecisionItem;
use crate::eval::decide::prompts::item_context;
use aizuchi_core::chat::Message;
use aizuchi_core::chat::starts_with_name;
use aizuchi_core::context::conversation_analysis::ConversationAnalysis;
use aizuchi_core::context::phrases::has_name_ignoring_case;
use aizuchi_core::rhythm::question::is_question;

/// Each with its name.
pub fn all(items: &[DecisionItem]) -> Vec<(&'static str, Vec<ItemAnswer>)> {
    let each = |speaks: fn(&DecisionItem) -> bool| {
        items.iter().map(|item| ItemAnswer::certain(speaks(item))).collect()
    };
    vec![
        ("always silent", each(|_| false)),
        ("always speak", each(|_| true)),
        ("last line asks", each(is_last_line_question)),
        ("asker not named", each(has_unnamed_asker)),
        ("gate left open", each(passes_gate)),
    ]
}

fn is_last_line_question(item: &DecisionItem) -> bool {
    item.context.last().is_some_and(|line| is_question(&line.text))
}

/// A question that begins with nobody's name, and whose author nobody has named since.
fn has_unnamed_asker(item: &DecisionItem) -> bool {
    let lines = &item.context;
    lines.iter().enumerate().any(|(place, line)| {
        let mut others = lines.iter().filter(|other| other.author != line.author);
        let mut later = lines[place + 1..].iter().filter(|other| other.author != line.author);
        is_question(&line.text)
            && !others.any(|other| starts_with_name(&line.text, &other.author))
            && !later.any(|other| has_name_ignoring_case(&other.text, &line.author))
    })
}

/// A model would be asked at all, if all of it were new.
fn passes_gate(item: &DecisionItem) -> bool {
    !ConversationAnalysis::new(&item_context(item)).is_settled(|_: &Message| true)
}
