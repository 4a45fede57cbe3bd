//! The costs on the page.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted;
use aizuchi_model::texts::report as texts;

use crate::report::figures::{PolicyFigures, Report, ReportSource};
use crate::report::format;

pub struct CostView {
    /// The heads of the columns with monthly costs, one for each policy.
    pub months: Vec<String>,
    pub rows: Vec<CostRow>,
    pub basis: String,
    pub real: Option<String>,
    pub period: Option<String>,
}

pub struct CostRow {
    pub model: String,
    /// The cost in the period, with the first policy.
    pub total: String,
    /// The monthly cost, with each policy.
    pub months: Vec<String>,
}

impl CostView {
    /// Shows the monthly costs of all policies of the report. Everything else is about `policy`.
    pub fn new(report: &Report, policy: &PolicyFigures, language: Language) -> Self {
        let view = Costs { report, policy, language };
        let months = match &report.policies[..] {
            [] | [_] => vec![texts::cost_month(language).to_owned()],
            several => {
                several.iter().map(|one| texts::cost_month_of(language, &one.name)).collect()
            }
        };
        Self {
            months,
            rows: view.rows(),
            basis: view.basis(),
            real: view.real(),
            period: view.period(),
        }
    }
}

/// Says why the monthly cost is unknown.
pub fn why_unknown(report: &Report, policy: &PolicyFigures, language: Language) -> &'static str {
    let (calls, l) = (policy.calls, language);
    match () {
        () if report.period.days < 1.0 => texts::for_days(l),
        () if calls.judge_calls == 0 => texts::cost_no_calls(l),
        () if calls.judge_tokens == 0 => texts::cost_no_tokens(l),
        () => texts::cost_no_price(l),
    }
}

struct Costs<'a> {
    report: &'a Report,
    policy: &'a PolicyFigures,
    language: Language,
}

impl Costs<'_> {
    fn money(&self, amount: f64) -> String {
        format::money(amount, &self.report.currency, self.language)
    }

    fn is_ledger(&self) -> bool {
        self.report.source == ReportSource::Ledger
    }

    fn rows(&self) -> Vec<CostRow> {
        let l = self.language;
        let free = || texts::cost_nothing(l).to_owned();
        let builtin = CostRow {
            model: texts::cost_builtin(l).to_owned(),
            total: free(),
            months: self.report.policies.iter().map(|_| free()).collect(),
        };
        let models = self.policy.costs.iter().map(|cost| CostRow {
            model: cost.model.clone(),
            total: cost.total.map_or(format::UNKNOWN.to_owned(), |total| self.money(total)),
            months: self.report.policies.iter().map(|one| self.month(one, &cost.model)).collect(),
        });
        [builtin].into_iter().chain(models).collect()
    }

    fn month(&self, policy: &PolicyFigures, model: &str) -> String {
        let cost = policy.costs.iter().find(|cost| cost.model == model);
        match cost.and_then(|cost| cost.per_month) {
            Some(month) => self.money(month),
            None => {
                let why = why_unknown(self.report, policy, self.language);
                format!("{} ({why})", format::UNKNOWN)
            }
        }
    }

    fn basis(&self) -> String {
        let (calls, l) = (self.policy.calls, self.language);
        let each = |tokens: u64, calls: u64| match (tokens, calls) {
            (0, _) | (_, 0) => format::UNKNOWN.to_owned(),
            (tokens, calls) => format::count((tokens / calls) as usize),
        };
        let judges = format::number_of(counted::judge_calls, calls.judge_calls as usize, l);
        let judges = match calls.second_looks {
            None | Some(0) => judges,
            Some(looks) => texts::with_second_looks(l, &judges, &format::count(looks as usize)),
        };
        let replies = format::number_of(counted::replies, calls.reply_calls as usize, l);
        let date = self.report.prices_of;
        if self.is_ledger() {
            return texts::cost_basis_ledger(l, &judges, &replies, date);
        }
        let (judge_tokens, reply_tokens) = (calls.judge_tokens, calls.reply_tokens);
        let all = judge_tokens + reply_tokens;
        let basis = texts::cost_basis(
            l,
            &judges,
            &replies,
            &each(judge_tokens, calls.judge_calls),
            &each(reply_tokens, calls.reply_calls),
            date,
        );
        let basis =
            [Some(basis), self.checks(), self.replies(), Some(texts::cost_judge(l).to_owned())];
        let basis = basis.into_iter().flatten();
        let basis = basis.reduce(|one, other| texts::two_sentences(l, &one, &other));
        let basis = basis.unwrap_or_default();
        match all {
            0 => basis,
            _ => {
                let share = format::percent(judge_tokens as f64 / all as f64);
                texts::two_sentences(l, &texts::cost_of_deciding(l, &share), &basis)
            }
        }
    }

    /// Says how the judgments ended, in a replay where the built-in rules replace the model. `None` if the numbers do
    /// not add up.
    fn checks(&self) -> Option<String> {
        let policy = self.policy;
        let moments = policy.spoke.filter(|_| self.report.has_stand_in())?;
        let no_question = policy.moments.no_question;
        let all = policy.calls.judge_calls as usize;
        let rest = all.checked_sub(moments + no_question).filter(|_| all > 0)?;
        let [moments, no_question, rest] = [moments, no_question, rest].map(format::count);
        Some(texts::cost_checks(self.language, &moments, &no_question, &rest))
    }

    /// Says what the replies are for. `None` if the numbers do not add up.
    fn replies(&self) -> Option<String> {
        let (policy, l) = (self.policy, self.language);
        let (unasked, called) = (policy.spoke?, policy.answered_mentions);
        let all = policy.calls.reply_calls as usize;
        let more = all.checked_sub(unasked + called).filter(|_| all > 0)?;
        let [unasked, called, more] = [unasked, called, more].map(format::count);
        let told = texts::cost_replies(l, &unasked, &called, &more);
        Some(match policy.called.after_moment {
            0 => told,
            count => {
                let without_model = texts::cost_after_moment(l, &format::count(count));
                texts::two_sentences(l, &told, &without_model)
            }
        })
    }

    fn real(&self) -> Option<String> {
        let spent = self.policy.spent.filter(|spent| spent.total > 0.0)?;
        let month = spent.per_month.map_or(format::UNKNOWN.to_owned(), |month| self.money(month));
        let (total, l) = (self.money(spent.total), self.language);
        Some(match self.is_ledger() {
            true => {
                texts::cost_real(l, &format::period(self.report.period.days, l), &total, &month)
            }
            false => texts::cost_judged(l, &total, &month),
        })
    }

    /// Relates the cost of the period to that of a month, for the first model whose cost is known.
    fn period(&self) -> Option<String> {
        let l = self.language;
        // A judge that never wants to speak chooses no moments.
        if self.report.source == ReportSource::AlwaysSilent {
            return None;
        }
        if self.is_ledger() && self.policy.spent.is_some_and(|spent| spent.total > 0.0) {
            return None;
        }
        let (model, month) = self.policy.known_cost()?;
        let cost = self.policy.costs.iter().find(|cost| cost.model == model)?;
        let money = |amount| format::estimated_money(amount, &self.report.currency, l);
        let (total, month) = (money(cost.total?), money(month));
        let period = format::period(self.report.period.days, l);
        Some(texts::cost_period(l, &period, &total, model, &month))
    }
}
