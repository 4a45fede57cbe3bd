//! The page that asks a decision's judge again, and shows the recorded verdict beside the new one.

use std::sync::Arc;

use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::decision::{DecisionId, Judgment};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_past::answer::MindAnswer;
use aizuchi_past::ledger::{LabeledValue, format_duration};
use aizuchi_past::shadow::judge_again::Rejudgment;
use askama::Template;
use axum::Form;
use axum::extract::rejection::{FormRejection, PathRejection};
use axum::extract::{Extension, Path, State};
use axum::response::Html;
use jiff::SignedDuration;
use serde::Deserialize;

use crate::access::Visitor;
use crate::console::layout::{Layout, Section, decision_address, judge_again_address, render};
use crate::judge_again::{RejudgeResult, RejudgeTarget, ask};
use crate::language::PageLanguage;
use crate::room::decision;
use crate::shadow::{Cap, CostText, USUAL_CAP, is_builtin};
use crate::{ApiProblem, Web, shadow, workspaces};

#[derive(Template)]
#[template(path = "console/judge_again.html")]
struct JudgeAgainPage<'a> {
    layout: Layout<'a>,
    number: i64,
    decision: String,
    address: String,
    /// Why it cannot be judged again.
    unjudgeable: Option<&'static str>,
    is_builtin: bool,
    /// The estimated cost. `None` if the visitor may not order the call.
    estimate: Option<String>,
    usual_cap: &'static str,
    /// Why there is no new verdict.
    problem: Option<String>,
    /// The actual cost.
    spent: Option<String>,
    /// The recorded verdict, if it is shown alone.
    recorded: Vec<LabeledValue>,
    recorded_by: String,
    comparison: Option<ComparisonView>,
}

/// The verdicts side by side.
struct ComparisonView {
    now_by: String,
    told: &'static str,
    has_changed: bool,
    rows: Vec<RowView>,
}

struct RowView {
    name: &'static str,
    then: String,
    now: String,
    /// `None` if a difference has no meaning.
    differs: Option<bool>,
}

#[derive(Deserialize)]
pub struct AskForm {
    cap: Option<String>,
}

impl<'a> JudgeAgainPage<'a> {
    /// The page before anything is judged.
    fn new(layout: Layout<'a>, workspace: &WorkspaceId, id: DecisionId) -> Self {
        Self {
            layout,
            number: id.0,
            decision: decision_address(workspace, id),
            address: judge_again_address(workspace, id),
            unjudgeable: None,
            is_builtin: false,
            estimate: None,
            usual_cap: USUAL_CAP,
            problem: None,
            spent: None,
            recorded: Vec::new(),
            recorded_by: String::new(),
            comparison: None,
        }
    }
}

type DecisionPath = Result<Path<(String, i64)>, PathRejection>;

/// Shows the estimated cost.
pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    path: DecisionPath,
) -> Result<Html<String>, ApiProblem> {
    show(&web, &visitor, language, path, None).await
}

/// Asks the judge again, and shows its verdict.
pub async fn order(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    path: DecisionPath,
    form: Result<Form<AskForm>, FormRejection>,
) -> Result<Html<String>, ApiProblem> {
    let cap = Cap::read(shadow::form(form)?.cap.as_deref())?;
    shadow::require_orders(&visitor.access)?;
    show(&web, &visitor, language, path, Some(cap)).await
}

async fn show(
    web: &Arc<Web>,
    visitor: &Visitor,
    language: Language,
    path: DecisionPath,
    cap: Option<Cap>,
) -> Result<Html<String>, ApiProblem> {
    let Path((workspace, id)) = path.map_err(|_| decision::absent())?;
    let workspace = workspaces::find(web, Some(&workspace)).await?;
    let id = DecisionId(id);
    let target = RejudgeTarget::read(web, &visitor.access, (&workspace, id)).await?;
    let layout = Layout::new(web, visitor, language, Section::Trial);
    let page = JudgeAgainPage::new(layout, &workspace, id);
    let rejudgment = match &target.rejudgment {
        Ok(rejudgment) => rejudgment,
        Err(why) => {
            return render(&JudgeAgainPage { unjudgeable: Some(why.describe(language)), ..page });
        }
    };
    let asked = match cap {
        Some(_) => Some(ask(web, &target, rejudgment, cap).await?),
        None => None,
    };
    let priced = ask(web, &target, rejudgment, None).await?;
    let money = CostText { language, currency: &web.currency };
    let may_order = visitor.access.may_order();
    render(&JudgeAgainPage {
        is_builtin: is_builtin(&priced.model),
        estimate: may_order.then(|| estimate(&priced, &money)),
        problem: asked.as_ref().and_then(|asked| asked.problem(language)),
        spent: asked.as_ref().map(|asked| spent(asked, &money)),
        recorded: recorded(rejudgment, language),
        recorded_by: texts::shadow::recorded(language, &rejudgment.recorded_model),
        comparison: asked.and_then(|asked| comparison(rejudgment, asked, language)),
        ..page
    })
}

fn estimate(priced: &RejudgeResult, money: &CostText<'_>) -> String {
    let cost = money.about(&[&priced.model], priced.counts.cost_micros);
    texts::shadow::estimate(money.language, priced.model.llm.model(), &cost)
}

fn spent(asked: &RejudgeResult, money: &CostText<'_>) -> String {
    let cost = money.amount(asked.counts.cost_micros);
    texts::shadow::spent(money.language, asked.counts.calls, asked.tokens(), &cost)
}

fn recorded(rejudgment: &Rejudgment, language: Language) -> Vec<LabeledValue> {
    let values = rejudgment.recorded.iter().flat_map(|judgment| values(judgment, language));
    values.map(|value| LabeledValue::new(value.name, value.text)).collect()
}

fn comparison(
    rejudgment: &Rejudgment,
    asked: RejudgeResult,
    language: Language,
) -> Option<ComparisonView> {
    let MindAnswer::Known(now) = asked.rejudged else { return None };
    let now_by = texts::shadow::judged_now(language, asked.model.llm.model());
    let Some(then) = &rejudgment.recorded else {
        let rows = values(&now, language).into_iter().map(|value| RowView {
            name: value.name,
            then: texts::shadow::none(language).to_owned(),
            now: value.text,
            differs: None,
        });
        let told = texts::shadow::no_verdict_then(language);
        return Some(ComparisonView { now_by, told, has_changed: true, rows: rows.collect() });
    };
    let pairs = values(then, language).into_iter().zip(values(&now, language));
    let rows = pairs.map(|(then, now)| RowView {
        name: now.name,
        differs: now.is_telling.then_some(then.text != now.text),
        then: then.text,
        now: now.text,
    });
    let has_changed = then.should_respond != now.should_respond;
    let told = match has_changed {
        true => texts::shadow::is_changed(language),
        false => texts::shadow::is_same(language),
    };
    Some(ComparisonView { now_by, told, has_changed, rows: rows.collect() })
}

struct Value {
    name: &'static str,
    text: String,
    /// Whether another text means another verdict. A reason is worded differently each time.
    is_telling: bool,
}

/// Lists the values of a judgment, always in the same order.
fn values(judgment: &Judgment, language: Language) -> Vec<Value> {
    let wants = match judgment.should_respond {
        true => texts::ledger::speak(language),
        false => texts::ledger::stay_silent(language),
    };
    let none = || texts::shadow::none(language).to_owned();
    let delay = judgment.delay_seconds.filter(|_| judgment.should_respond);
    let delay =
        delay.map(|delay| format_duration(SignedDuration::from_secs(delay.into()), language));
    let reaction = judgment.reaction.clone().filter(|_| !judgment.should_respond);
    let state = judgment.conversation_state.map(|state| texts::ledger::state(language, state));
    let telling = |name, text| Value { name, text, is_telling: true };
    vec![
        telling(texts::ledger::verdict(language), wants.to_owned()),
        telling(texts::ledger::confidence(language), format!("{:.2}", judgment.confidence)),
        telling(texts::ledger::delay(language), delay.unwrap_or_else(none)),
        telling(texts::shadow::reaction(language), reaction.unwrap_or_else(none)),
        telling(texts::ledger::state_heading(language), state.map_or_else(none, str::to_owned)),
        Value {
            name: texts::ledger::reason(language),
            text: judgment.reason.clone(),
            is_telling: false,
        },
    ]
}
