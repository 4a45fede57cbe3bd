//! Sentences that compare policies: which is ahead by which measure, what each one costs the reader, and which to take.
//! The page and the terminal show the same sentences.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted;
use aizuchi_model::texts::ledger::list_separator;
use aizuchi_model::texts::moments as moment_texts;
use aizuchi_model::texts::policies as texts;
use aizuchi_model::texts::report as report_texts;

use crate::report::comparison::{Advice, Comparison, Measure, MeasureComparison};
use crate::report::figures::{PolicyFigures, Report};
use crate::report::format;
use crate::report::sentences;

/// A delay or a cost counts as a disadvantage if it is larger by more than a quarter. Both are computed from the calls
/// of the history and are not samples of independent cases, so a significance test does not apply.
const NOTABLE_FACTOR: f64 = 1.25;

/// Says why nothing is compared, for each policy whose judge left out answers.
pub fn not_compared(report: &Report, language: Language) -> Vec<String> {
    if report.comparison.is_none() {
        return Vec::new();
    }
    let unknown = report.policies.iter().filter(|policy| policy.unknown_verdicts > 0);
    let sentence = |policy: &PolicyFigures| {
        let times = format::times(policy.unknown_verdicts, language);
        texts::not_compared(language, &policy.name, &times)
    };
    unknown.map(sentence).collect()
}

/// Says which offered policy is ahead by which measure, or that no difference is significant.
pub fn findings(report: &Report, language: Language) -> Vec<String> {
    let measures = report.comparison.iter().flat_map(|comparison| &comparison.measures);
    measures.map(|measure| finding(report, measure, language)).collect()
}

fn finding(report: &Report, compared: &MeasureComparison, language: Language) -> String {
    let l = language;
    let offered = report.on_offer();
    let offered = offered.iter().filter_map(|place| report.policies.get(*place));
    let pairs = offered.zip(&compared.values);
    let values =
        pairs.map(|(one, value)| texts::policy_value(l, &one.name, &format::count(*value)));
    let values = values.collect::<Vec<_>>().join(list_separator(l));
    let ahead = all_of(&names(report, &compared.ahead), l);
    let is_equal = compared.values.windows(2).all(|pair| pair[0] == pair[1]);
    match (compared.is_clear, compared.measure) {
        (false, measure) if is_equal => texts::finding_equal(l, label(report, measure, l), &values),
        (false, measure) => texts::finding_alike(l, label(report, measure, l), &values),
        (true, Measure::Spoke) if report.has_stand_in() => {
            moment_texts::finding_spoke(l, &ahead, &values)
        }
        (true, Measure::ItFirst) if report.has_stand_in() => {
            moment_texts::finding_first(l, &ahead, &values)
        }
        (true, Measure::Spoke) => texts::finding_spoke(l, &ahead, &values),
        (true, Measure::Wrong) => texts::finding_wrong(l, &ahead, &values),
        (true, Measure::PickedUp) => texts::finding_picked_up(l, &ahead, &values),
        (true, Measure::ItFirst) => texts::finding_first(l, &ahead, &values),
    }
}

fn label(report: &Report, measure: Measure, language: Language) -> &'static str {
    match measure {
        Measure::Spoke if report.has_stand_in() => moment_texts::to_speak(language),
        Measure::ItFirst if report.has_stand_in() => moment_texts::measure_first(language),
        Measure::Spoke => texts::measure_spoke(language),
        Measure::Wrong => texts::measure_wrong(language),
        Measure::PickedUp => texts::measure_picked_up(language),
        Measure::ItFirst => texts::measure_first(language),
    }
}

fn names<'a>(report: &'a Report, places: &[usize]) -> Vec<&'a str> {
    let policies = places.iter().filter_map(|place| report.policies.get(*place));
    policies.map(|policy| &*policy.name).collect()
}

/// Joins two names, or several names and the last one.
type Joining = fn(Language, &str, &str) -> String;

fn joined(names: &[&str], language: Language, of_two: Joining, of_many: Joining) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [one, other] => of_two(language, one, other),
        [several @ .., last] => {
            of_many(language, &several.join(texts::name_separator(language)), last)
        }
    }
}

/// Formats names as "all of these".
pub fn all_of(names: &[&str], language: Language) -> String {
    joined(names, language, texts::all_of_two, texts::all_of_many)
}

/// Formats names as "any one of these".
fn one_of(names: &[&str], language: Language) -> String {
    joined(names, language, texts::one_of_two, texts::one_of_many)
}

/// Says what the disadvantages of each offered policy are.
pub fn gives_up(report: &Report, language: Language) -> Vec<String> {
    let Some(comparison) = known(report) else { return Vec::new() };
    let sentence = |place: &usize| {
        let policy = report.policies.get(*place)?;
        let given_up = given_up_with(report, comparison, *place, language);
        Some(given_up.unwrap_or_else(|| texts::gives_up_nothing(language, &policy.name)))
    };
    comparison.offered.iter().filter_map(sentence).collect()
}

/// Says what the disadvantages of a policy are, if it has any.
fn given_up_with(
    report: &Report,
    comparison: &Comparison,
    policy: usize,
    language: Language,
) -> Option<String> {
    let name = &report.policies.get(policy)?.name;
    let place = comparison.offered.iter().position(|one| *one == policy)?;
    let offered = OfferedPolicy { report, comparison, policy, place, language };
    let parts = offered.parts_given_up();
    let told = parts.join(texts::part_separator(language));
    (!parts.is_empty()).then(|| texts::gives_up(language, name, &told))
}

/// Returns the comparison, unless nothing is known about the posts of the policies.
fn known(report: &Report) -> Option<&Comparison> {
    report.comparison.as_ref().filter(|comparison| comparison.advice.is_some())
}

/// An offered policy, to be compared with the other offered policies.
struct OfferedPolicy<'a> {
    report: &'a Report,
    comparison: &'a Comparison,
    /// Its index among all policies.
    policy: usize,
    /// Its index among the offered policies.
    place: usize,
    language: Language,
}

impl OfferedPolicy<'_> {
    fn policies(&self) -> impl Iterator<Item = &PolicyFigures> {
        self.comparison.offered.iter().filter_map(move |place| self.report.policies.get(*place))
    }

    fn parts_given_up(&self) -> Vec<String> {
        let (l, place) = (self.language, self.place);
        let behind = self.comparison.measures.iter().filter_map(|measure| {
            let own = measure.values.get(place).filter(|_| !measure.is_ahead(self.policy))?;
            let (own, best) = (format::count(*own), format::count(measure.best()?));
            match measure.measure {
                // To speak more is no loss by itself.
                Measure::Spoke => None,
                Measure::Wrong => Some(texts::part_wrong(l, &own, &best)),
                Measure::PickedUp => Some(texts::part_picked_up(l, &own, &best)),
                Measure::ItFirst if self.report.has_stand_in() => {
                    Some(moment_texts::part_first(l, &own, &best))
                }
                Measure::ItFirst => Some(texts::part_first(l, &own, &best)),
            }
        });
        let delays = self.policies().map(|one| one.timing.map(|timing| timing.own_median));
        let delay = notably_more(&delays.collect::<Vec<_>>(), place).map(|(own, best)| {
            let told = format::rough_durations(&[Some(own), Some(best)], l);
            texts::part_delay(l, &told[0], &told[1])
        });
        behind.chain(delay).chain(self.cost_given_up()).collect()
    }

    /// A cost that is notably higher than the lowest, and why.
    fn cost_given_up(&self) -> Option<String> {
        let (l, place) = (self.language, self.place);
        let (own, best) = notably_more(&self.month_costs(), place)?;
        let money = |amount: f64| format::money(amount, &self.report.currency, l);
        let calls = self.policies().map(|one| one.calls.judge_calls_per_day);
        Some(match notably_more(&calls.collect::<Vec<_>>(), place) {
            Some((calls, fewer)) => {
                let [calls, fewer] = [calls, fewer].map(format::one_decimal);
                texts::part_cost_of_calls(l, &money(own), &money(best), &calls, &fewer)
            }
            None => texts::part_cost(l, &money(own), &money(best)),
        })
    }

    /// Returns the monthly cost of each policy with the first model whose cost is known.
    fn month_costs(&self) -> Vec<Option<f64>> {
        let model = self.report.policies.first().and_then(PolicyFigures::known_cost);
        let of_model = |policy: &PolicyFigures| {
            let (model, _) = model?;
            policy.costs.iter().find(|cost| cost.model == model)?.per_month
        };
        self.policies().map(of_model).collect()
    }
}

/// Returns a policy's value and the smallest one, if the former is notably larger.
fn notably_more(values: &[Option<f64>], place: usize) -> Option<(f64, f64)> {
    let own = values.get(place).copied().flatten()?;
    let best = values.iter().flatten().copied().min_by(f64::total_cmp)?;
    (own > best * NOTABLE_FACTOR).then_some((own, best))
}

/// Says which policies are offered, if the page also shows others for comparison.
pub fn offered(report: &Report, language: Language) -> Option<String> {
    let offered = report.on_offer();
    let is_part = offered.len() < report.policies.len();
    is_part.then(|| texts::offered(language, &all_of(&names(report, &offered), language)))
}

/// Says what each offered policy posts without a model, in a replay where the built-in mind replaces it.
pub fn posts(report: &Report, language: Language) -> Vec<String> {
    let l = language;
    let sentence = |place: usize| {
        let policy = report.policies.get(place)?;
        let posted = policy.posted_without_model?;
        let posts = format::number_of(counted::posts, posted.spoke, l);
        let month = sentences::per_month(posted, l);
        let [reached, early] = [posted.picked_up, posted.it_first_undisturbed].map(format::count);
        let wrong = format::part(posted.wrong, posted.spoke, l);
        Some(moment_texts::policy_posts(l, &policy.name, &posts, &month, &wrong, &reached, &early))
    };
    let told: Vec<String> = report.on_offer().into_iter().filter_map(sentence).collect();
    if told.is_empty() {
        return told;
    }
    [moment_texts::advice_of_moments(l).to_owned()].into_iter().chain(told).collect()
}

/// Recommends a policy, as far as the history allows it.
pub fn advice(report: &Report, language: Language) -> Option<String> {
    let l = language;
    let comparison = known(report)?;
    Some(match comparison.advice.as_ref()? {
        Advice::Alike => texts::advice_alike(l).to_owned(),
        Advice::Unclear => texts::advice_unclear(l).to_owned(),
        Advice::Take { policies } => {
            let taken = texts::advice_take(l, &one_of(&names(report, policies), l));
            // A delay and a cost are not weighed, so they are named.
            let given_up =
                policies.iter().filter_map(|at| given_up_with(report, comparison, *at, l));
            given_up.fold(taken, |told, more| report_texts::two_sentences(l, &told, &more))
        }
        Advice::Choose { quiet, other, ahead_in } => {
            let [quiet, other] = [quiet, other].map(|places| one_of(&names(report, places), l));
            match ahead_in {
                Measure::PickedUp => texts::advice_choose_answers(l, &quiet, &other),
                Measure::Spoke | Measure::Wrong | Measure::ItFirst => {
                    texts::advice_choose_speed(l, &quiet, &other)
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::called::CalledFigures;
    use crate::report::comparison::advise;
    use crate::report::delays::Timing;
    use crate::report::figures::{
        CallFigures, FirstAnswers, LeftOut, MomentCounts, Period, Privacy, ReportSource,
    };

    /// A policy whose posts usually come this long after a message.
    fn policy(name: &str, own_median: f64) -> PolicyFigures {
        let (own, people) = ([0.0; 8], [0.0; 8]);
        PolicyFigures {
            name: name.to_owned(),
            with_default_limits_of: Vec::new(),
            settings: None,
            spoke: Some(0),
            unknown_verdicts: 0,
            observed: 0,
            per_day: None,
            busiest_day: None,
            busiest_date: None,
            wrong: Some(0),
            asker_went_on: None,
            only_asked_again: None,
            posted_without_model: None,
            in_threads: None,
            answered_mentions: 0,
            called: CalledFigures::default(),
            reacted: 0,
            by_channel: Vec::new(),
            by_hour: Vec::new(),
            by_month: Vec::new(),
            first_answers: FirstAnswers::default(),
            unanswered: None,
            timing: Some(Timing { own_median, people_median: 60.0, own, people }),
            calls: CallFigures::default(),
            costs: Vec::new(),
            spent: None,
            moments: MomentCounts::default(),
            stories: Vec::new(),
            answers_to_calls: Vec::new(),
            reactions: Vec::new(),
            posts: None,
        }
    }

    /// A report on policies with these counts.
    fn report(policies: &[(&str, f64)], counts: &[(Measure, &[usize])]) -> Report {
        let of_measure = |(measure, values): &(Measure, &[usize])| {
            MeasureComparison::from_counts(*measure, values.to_vec())
        };
        let measures: Vec<MeasureComparison> = counts.iter().map(of_measure).collect();
        let advice = advise(&measures);
        Report {
            source: ReportSource::Model,
            persona: "Aizuchi".to_owned(),
            period: Period { from: None, to: None, days: 9.0 },
            zone: "UTC".to_owned(),
            channels: 1,
            people: 3,
            messages: 900,
            messages_in_threads: 0,
            policies: policies.iter().map(|(name, delay)| policy(name, *delay)).collect(),
            differences: None,
            comparison: Some(Comparison {
                offered: (0..policies.len()).collect(),
                posted_picked_up: None,
                measures,
                advice,
            }),
            left_out: LeftOut {
                bad_records: 0,
                private_channels: None,
                privacy: Privacy::LeftOut,
                records: None,
            },
            is_anonymous: false,
            currency: "USD".to_owned(),
            prices_of: "2026-01-01",
            latency_ms: None,
            command: None,
            names_model: false,
        }
    }

    const EAGER: (&str, f64) = ("eager", 40.0);
    const CALM: (&str, f64) = ("calm", 300.0);

    #[test]
    fn a_policy_is_advised_with_what_it_takes() {
        let counts = [
            (Measure::Spoke, &[900, 300][..]),
            (Measure::Wrong, &[90, 10][..]),
            (Measure::PickedUp, &[40, 40][..]),
            (Measure::ItFirst, &[30, 31][..]),
        ];
        let report = report(&[EAGER, CALM], &counts);
        assert_eq!(
            findings(&report, Language::En),
            [
                "calm would speak clearly less: eager 900, calm 300.",
                "calm would interrupt clearly less often: eager 90, calm 10.",
                "Questions that nobody answered: no difference (eager 40, calm 40).",
                "Ahead of people without interrupting: no clear difference (eager 30, calm 31). Chance alone can make such a \
                 difference.",
            ]
        );
        assert_eq!(
            advice(&report, Language::En).unwrap(),
            "Which one to take: calm. It is clearly better in at least one of interruptions, questions reached and being ahead of \
             people without interrupting, and clearly worse in none. With calm you give up: speed (it usually waits 5 min \
             instead of 40 s)."
        );
        assert_eq!(
            gives_up(&report, Language::En)[0],
            "With eager you give up: undisturbed talk (90 interruptions instead of 10)."
        );
        let japanese = advice(&report, Language::Ja).unwrap();
        assert!(japanese.starts_with("どれを選ぶか：calm です。"), "{japanese}");
        assert!(
            japanese.ends_with("calm にすると：間隔の中央値が 40 秒から 5 分に延びる。"),
            "{japanese}"
        );
        let japanese = findings(&report, Language::Ja);
        assert_eq!(
            japanese[1],
            "邪魔になりそうな回数が明らかに少ないのは calm です（eager 90、calm 10）。"
        );
        assert!(japanese[3].contains("はっきりした差はありません"), "{japanese:?}");
    }

    #[test]
    fn quiet_and_answers_or_speed_are_a_choice() {
        let wrong = (Measure::Wrong, &[90, 10][..]);
        let answers = report(&[EAGER, CALM], &[wrong, (Measure::PickedUp, &[80, 20][..])]);
        assert_eq!(
            advice(&answers, Language::En).unwrap(),
            "Which one to take: if you dislike interruptions, take calm. If you want fewer questions left alone, take eager."
        );
        assert_eq!(
            advice(&answers, Language::Ja).unwrap(),
            "どれを選ぶか：邪魔をされたくないなら calm、放っておかれる質問を減らしたいなら eager です。"
        );
        let speed = report(&[EAGER, CALM], &[wrong, (Measure::ItFirst, &[80, 20][..])]);
        assert_eq!(
            advice(&speed, Language::En).unwrap(),
            "Which one to take: if you dislike interruptions, take calm. If it should be there before people are, take eager."
        );
        let japanese = advice(&speed, Language::Ja).unwrap();
        assert!(japanese.ends_with("calm、人より先に応じてほしいなら eager です。"), "{japanese}");
        for (report, given_up) in [
            (
                &answers,
                "With calm you give up: open questions (it reaches 20 instead of 80); speed",
            ),
            (
                &speed,
                "With calm you give up: being early (20 times ahead of people without interrupting instead of 80); speed",
            ),
        ] {
            let told = gives_up(report, Language::En);
            assert!(told[1].starts_with(given_up), "{told:?}");
        }
    }

    /// With the third policy, the significance test of the other two is stricter (Bonferroni).
    #[test]
    fn only_what_is_on_offer_is_compared() {
        let wrong = (Measure::Wrong, &[6, 0][..]);
        let mut report = report(&[EAGER, CALM, ("limited", 300.0)], &[wrong]);
        report.policies[2].with_default_limits_of = vec!["calm".to_owned()];
        let comparison = report.comparison.as_mut().unwrap();
        let measures = comparison.measures.drain(..).map(|one| one.among_all(&[0, 2]));
        comparison.measures = measures.collect();
        comparison.offered = vec![0, 2];
        assert_eq!(
            findings(&report, Language::En),
            ["limited would interrupt clearly less often: eager 6, limited 0."]
        );
        let told = gives_up(&report, Language::En);
        assert!(told[0].contains("6 interruptions instead of 0"), "{told:?}");
        assert!(!told[1].contains("interruptions"), "{told:?}");
    }

    #[test]
    fn several_policies_stand_in_a_sentence() {
        let wrong = (Measure::Wrong, &[900, 10, 10][..]);
        let three = report(&[EAGER, CALM, ("calmer", 300.0)], &[wrong]);
        assert_eq!(
            findings(&three, Language::En),
            ["calm and calmer would interrupt clearly less often: eager 900, calm 10, calmer 10."]
        );
        let told = advice(&three, Language::En).unwrap();
        assert!(told.starts_with("Which one to take: either calm or calmer. It is "), "{told}");
        let told = advice(&three, Language::Ja).unwrap();
        assert!(told.starts_with("どれを選ぶか：calm と calmer のどちらかです。"), "{told}");
        let names = ["a", "b", "c"];
        assert_eq!(one_of(&names, Language::En), "any of a, b and c");
        assert_eq!(one_of(&names, Language::Ja), "a・b・c のどれか");
        assert_eq!(all_of(&names, Language::En), "a, b and c");
        assert_eq!(all_of(&names, Language::Ja), "a・b・c");
    }

    #[test]
    fn only_a_notable_difference_is_given_up() {
        let costs = [Some(5.76), Some(8.43), None, Some(6.0)];
        let given_up = |place| notably_more(&costs, place);
        assert_eq!(given_up(0), None);
        assert_eq!(given_up(1), Some((8.43, 5.76)));
        assert_eq!((given_up(2), given_up(3), given_up(9)), (None, None, None));
    }
}
