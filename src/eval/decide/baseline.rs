//! What a mind is measured against: the same answer whatever is asked, and rules that fit in a line.

use crate::eval::decide::Found;
use crate::eval::decide::item::Item;
use crate::eval::decide::question::context;
use aizuchi_core::chat::Message;
use aizuchi_core::chat::starts_with_name;
use aizuchi_core::context::floor::Floor;
use aizuchi_core::context::words::names;
use aizuchi_core::rhythm::question::is_question;

/// Each with its name.
pub fn all(items: &[Item]) -> Vec<(&'static str, Vec<Found>)> {
    let each =
        |speaks: fn(&Item) -> bool| items.iter().map(|item| Found::plain(speaks(item))).collect();
    vec![
        ("always silent", each(|_| false)),
        ("always speak", each(|_| true)),
        ("last line asks", each(last_line_asks)),
        ("asker not named", each(has_unnamed_asker)),
        ("gate left open", each(passes_gate)),
    ]
}

fn last_line_asks(item: &Item) -> bool {
    item.context.last().is_some_and(|line| is_question(&line.text))
}

/// A question that begins with nobody's name, and whose author nobody has named since.
fn has_unnamed_asker(item: &Item) -> bool {
    let lines = &item.context;
    lines.iter().enumerate().any(|(place, line)| {
        let mut others = lines.iter().filter(|other| other.author != line.author);
        let mut later = lines[place + 1..].iter().filter(|other| other.author != line.author);
        is_question(&line.text)
            && !others.any(|other| starts_with_name(&line.text, &other.author))
            && !later.any(|other| names(&other.text, &line.author))
    })
}

/// A model would be asked at all, if all of it were new.
fn passes_gate(item: &Item) -> bool {
    !Floor::of(&context(item)).is_settled(|_: &Message| true)
}
