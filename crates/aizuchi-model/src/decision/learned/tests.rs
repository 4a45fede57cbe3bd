use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use proptest::prelude::*;

use super::*;

/// Returns a number from 0 to 1, the same for the same arguments.
fn draw(number: usize, what: &str) -> f64 {
    let mut hash = DefaultHasher::new();
    (number, what).hash(&mut hash);
    (hash.finish() >> 11) as f64 / (1_u64 << 53) as f64
}

fn judged(number: usize, features: Vec<f32>, is_yes: bool) -> JudgedMoment {
    let judge: Arc<str> = "a judge".into();
    let moment =
        MomentFeatures { version: features::VERSION, judge, features, propensity: 1.0, rate: None };
    JudgedMoment { decision: DecisionId(number as i64), moment, is_yes }
}

fn moments(newest: Vec<JudgedMoment>) -> JudgedMoments {
    JudgedMoments { total: newest.len(), newest }
}

/// Questions are open with some probability. The judge takes up those that are open with a probability above `from`,
/// and a share of `chance` of the others.
fn history(count: usize, from: f32, chance: f64) -> Vec<JudgedMoment> {
    let moment = |number| {
        let open = draw(number, "open") as f32;
        let noise = draw(number, "noise") as f32;
        let is_yes = open > from || draw(number, "chance") < chance;
        judged(number, vec![open, noise], is_yes)
    };
    (0..count).map(moment).collect()
}

fn skipped_and_missed(gate: &LearnedGate, later: &[JudgedMoment]) -> (f64, f64) {
    let is_skipped = |judged: &&JudgedMoment| gate.skip_rate(&judged.moment.features).is_some();
    let yes: Vec<&JudgedMoment> = later.iter().filter(|judged| judged.is_yes).collect();
    let missed = yes.iter().filter(|judged| is_skipped(judged)).count();
    let skipped = later.iter().filter(is_skipped).count();
    (skipped as f64 / later.len() as f64, missed as f64 / yes.len() as f64)
}

#[test]
fn what_a_judge_always_declines_is_skipped() {
    let mut all = history(3000, 0.8, 0.0);
    let later = all.split_off(1500);
    let gate = LearnedGate::learn(&moments(all), 0.02);
    let (skipped, missed) = skipped_and_missed(&gate, &later);
    assert!(skipped > 0.6, "{skipped}");
    assert!(missed <= 0.02, "{missed}");
    let rate = gate.skip_rate(&[0.1, 0.5]).unwrap();
    assert!(rate > 0.0 && rate < 0.01, "{rate}");
    assert_eq!(gate.skip_rate(&[0.95, 0.5]), None);
}

#[test]
fn nothing_is_skipped_on_too_little() {
    for (count, from) in [(0, 0.8), (150, 0.8), (3000, 0.999), (3000, 1.0)] {
        let gate = LearnedGate::learn(&moments(history(count, from, 0.0)), 0.02);
        assert_eq!(gate.skipping, None, "{count} moments, {from}");
    }
    // There are enough verdicts, but 40 yes verdicts do not show that the gate misses no more than one in a hundred.
    let gate = LearnedGate::learn(&moments(history(400, 0.9, 0.0)), 0.01);
    assert!(gate.training.yes >= MIN_YES && gate.skipping.is_none(), "{:?}", gate.training);
}

#[test]
fn nothing_is_skipped_where_the_features_tell_nothing() {
    let gate = LearnedGate::learn(&moments(history(3000, 1.0, 0.3)), 0.02);
    assert_eq!(gate.skipping, None);
}

/// The same moment, judged although a gate was to skip it.
fn explored(judged: JudgedMoment) -> JudgedMoment {
    let moment = MomentFeatures { propensity: MIN_EXPLORATION, ..judged.moment };
    JudgedMoment { moment, ..judged }
}

#[test]
fn explored_yes_turn_it_off_again() {
    let all = history(1500, 0.8, 0.0);
    let gate = LearnedGate::learn(&moments(all.clone()), 0.02);
    assert!(gate.skipping.is_some());
    let after = |is_yes: bool| {
        let later = (1500..1900).map(|number| {
            let features = vec![draw(number, "open") as f32 * 0.5, 0.5];
            explored(judged(number, features, is_yes))
        });
        LearnedGate::learn(&moments([all.clone(), later.collect()].concat()), 0.02)
    };
    // The judge has changed its mind about what is skipped, which only exploration shows.
    let gate = after(true);
    assert!(gate.training.explored > 0);
    assert_eq!(gate.skipping, None);
    // Even if the judge has not changed its mind, some moments are still explored.
    let gate = after(false);
    assert!(gate.training.explored > 0 && gate.skipping.is_some(), "{:?}", gate.training);
}

#[test]
fn a_few_that_were_explored_do_not_show_what_all_others_are() {
    // A twentieth of what the judge declines was judged. That it contained no yes says little about the rest, until it
    // is a large number.
    let gate = |count: usize| {
        let is_drawn = |judged: &JudgedMoment| judged.decision.0 % 20 == 0;
        let kept = history(count, 0.8, 0.0).into_iter().filter_map(|judged| match judged.is_yes {
            true => Some(judged),
            false => is_drawn(&judged).then(|| explored(judged)),
        });
        LearnedGate::learn(&moments(kept.collect()), 0.02)
    };
    let few = gate(1500);
    assert!(few.training.yes > 200 && few.training.explored > 40, "{:?}", few.training);
    assert_eq!(few.skipping, None);
    let many = gate(12_000);
    assert!(many.skipping.is_some(), "{:?}", many.training);
}

#[test]
fn what_it_missed_is_known_from_what_it_explored() {
    // Half of the explored moments were a yes, so half of the skipped ones were, too.
    let half = |number: usize| explored(judged(number, vec![0.0, 0.0], number.is_multiple_of(2)));
    let mut all: Vec<JudgedMoment> = (0..40).map(half).collect();
    all.extend((40..300).map(|number| judged(number, vec![1.0, 0.0], true)));
    let rows: Vec<TrainingRow<'_>> = all.iter().map(to_row).collect();
    let missed: f64 = rows[..40].iter().filter(|row| row.is_yes).map(|row| row.weight).sum::<f64>();
    assert_eq!(missed, 20.0 / MIN_EXPLORATION);
}

#[test]
fn another_judge_and_other_features_begin_anew() {
    let all = history(1500, 0.8, 0.0);
    let renamed = |judged: &JudgedMoment| {
        let moment = MomentFeatures { judge: "another judge".into(), ..judged.moment.clone() };
        JudgedMoment { moment, ..judged.clone() }
    };
    let mut newer: Vec<JudgedMoment> = all[..300].iter().map(renamed).collect();
    let gate = LearnedGate::learn(&moments([all.clone(), newer.clone()].concat()), 0.02);
    assert!(gate.training.verdicts < 300 && &*gate.training.judge == "another judge");
    newer[299].moment.version += 1;
    let gate = LearnedGate::learn(&moments([all, newer].concat()), 0.02);
    assert_eq!(gate.skipping, None);
}

#[test]
fn what_a_fallback_judged_is_left_out() {
    // The fallback replaces the judge for every tenth moment, the newest among them, and always says yes.
    let mut all = history(1500, 0.8, 0.0);
    for judged in all.iter_mut().skip(9).step_by(10) {
        judged.moment.judge = "a fallback".into();
        judged.is_yes = true;
    }
    let gate = LearnedGate::learn(&moments(all), 0.02);
    assert_eq!(&*gate.training.judge, "a judge");
    let own = (0..learned_at(1500)).filter(|number| number % 10 != 9).count();
    assert_eq!(gate.training.verdicts, own);
    assert!(gate.skipping.is_some());
}

#[test]
fn it_learns_at_the_same_numbers_of_verdicts_in_every_process() {
    let at: Vec<usize> = [0, 199, 200, 207, 208, 215, 216, 20_000].map(learned_at).to_vec();
    assert_eq!(&at[..7], [0, 0, 200, 200, 208, 208, 216]);
    assert!(at[7] > 19_700 && at[7] <= 20_000);
    // A later training that sees more moments learns the same.
    let all = history(2_000, 0.8, 0.0);
    let first = learned_at(2_000);
    let gate = |count: usize| LearnedGate::learn(&moments(all[..count].to_vec()), 0.02);
    assert_eq!(gate(first), gate(2_000));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn it_never_misses_more_than_it_may_of_what_it_has_seen(
        from in 0.3..0.95_f32,
        chance in 0.0..0.05_f64,
        miss in 0.005..0.2_f64,
        count in 200..900_usize,
    ) {
        let gate = LearnedGate::learn(&moments(history(count, from, chance)), miss);
        if let Some(skipping) = &gate.skipping {
            let threshold = skipping.threshold;
            prop_assert!(threshold.missed <= threshold.missed_at_most);
            prop_assert!(threshold.missed_at_most <= miss);
            prop_assert!((MIN_EXPLORATION..=0.5).contains(&threshold.exploration));
            prop_assert!(threshold.saved() >= 0.05);
            prop_assert!(gate.training.yes >= MIN_YES);
        }
    }
}
