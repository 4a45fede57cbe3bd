//! The mark of a decision on a page.

use aizuchi_actions::access::Access;
use aizuchi_model::decision::Decision;
use aizuchi_model::decision::mark::{DecisionMark, Mark};
use aizuchi_model::memory::asker::named;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;

use crate::console::layout::{TimeView, decision_address};

/// The mark of a decision, and the form that changes it.
pub struct MarkingView {
    pub id: i64,
    pub workspace: String,
    /// The decision's page.
    pub address: String,
    /// The mark, with its icon's class.
    pub mark: Option<(&'static str, &'static str)>,
    /// Who marked it and when. Hidden from viewers.
    pub by: Option<(String, TimeView)>,
    /// Empty for visitors who may not mark it, and while the decision is open.
    pub choices: Vec<ChoiceView>,
    /// Whether the form is shown at once.
    pub is_open: bool,
}

pub struct ChoiceView {
    pub name: &'static str,
    pub word: &'static str,
    /// The mark that the button sets: this one, or none if this one is set already.
    pub order: String,
    pub is_chosen: bool,
}

impl MarkingView {
    pub fn new(
        decision: &Decision,
        mark: Option<&DecisionMark>,
        access: &Access,
        language: Language,
    ) -> Self {
        let id = decision.id.0;
        let workspace = &decision.conversation.workspace;
        let chosen = mark.map(|found| found.mark);
        let choice = |mark: Mark| {
            let is_chosen = chosen == Some(mark);
            ChoiceView {
                name: mark.name(),
                word: texts::console::mark(language, mark),
                order: match is_chosen {
                    true => format!("mark {id}"),
                    false => format!("mark {id} {}", mark.name()),
                },
                is_chosen,
            }
        };
        let may_mark = access.may_order() && decision.closed.is_some();
        let by = mark.filter(|_| access.may_order()).map(|mark| {
            let name = match mark.by.is_empty() {
                true => texts::console::this_machine(language).to_owned(),
                false => named(&mark.by).to_owned(),
            };
            (name, TimeView::new(mark.at))
        });
        Self {
            id,
            address: decision_address(workspace, decision.id),
            workspace: workspace.to_string(),
            mark: chosen.map(|mark| (mark.name(), texts::console::mark(language, mark))),
            by,
            choices: match may_mark {
                true => Mark::ALL.into_iter().map(choice).collect(),
                false => Vec::new(),
            },
            is_open: false,
        }
    }
}
