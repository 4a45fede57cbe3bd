//! Notes on what the report leaves out, and on how things were counted.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted::{self, Counted};
use aizuchi_model::texts::ledger::list_separator;
use aizuchi_model::texts::moments as moment_texts;
use aizuchi_model::texts::report as texts;
use aizuchi_model::texts::report_figures as figure_texts;

use crate::report::figures::{
    FirstAnswers, LeftOut, LeftOutRecords, PolicyFigures, Privacy, Report, ReportSource,
};
use crate::report::format;

pub fn notes(report: &Report, policy: &PolicyFigures, language: Language) -> Vec<String> {
    let l = language;
    let is_ledger = report.source == ReportSource::Ledger;
    let left_out = report.left_out;
    let bad = (!is_ledger).then(|| match left_out.bad_records {
        0 => texts::left_out_no_bad(l).to_owned(),
        count => texts::left_out_bad(l, &format::number_of(counted::records, count, l)),
    });
    let records = left_out.records.and_then(|records| note_on_records(records, l));
    let opted_out = is_ledger.then(|| texts::left_out_opted_out(l).to_owned());
    let latency = report
        .latency_ms
        .map(|latency| texts::counted_latency(l, &format!("{:.1}", latency as f64 / 1000.0)));
    let shadow = (policy.observed > 0).then(|| texts::counted_shadow(l).to_owned());
    let anonymous = report.is_anonymous.then(|| texts::counted_anonymous(l).to_owned());
    let wrong = counted_wrong(policy.first_answers, l);
    let plain = [texts::left_out_period(l), figure_texts::interruption(l), wrong];
    let plain = plain.map(str::to_owned);
    let lower_limit = lower_limit(report, policy, l);
    let parts_rule = policy.wrong.filter(|wrong| *wrong > 0);
    let parts_rule = parts_rule.map(|_| figure_texts::parts_rule(l).to_owned());
    let ahead = (report.policies.len() > 1).then(|| texts::counted_ahead(l).to_owned());
    bad.into_iter()
        .chain(records)
        .chain(notes_on_privacy(left_out, l))
        .chain(opted_out)
        .chain(plain)
        .chain(lower_limit)
        .chain(parts_rule)
        .chain(ahead)
        .chain([moment_texts::rounded(l).to_owned()])
        .chain(latency)
        .chain(shadow)
        .chain(anonymous)
        .collect()
}

/// Says which messages of other people make a post an interruption, depending on what the recording says about answers.
fn counted_wrong(first: FirstAnswers, language: Language) -> &'static str {
    match (first.is_annotated, first.has_replies) {
        (true, _) => texts::counted_wrong_annotated(language),
        (false, true) => texts::counted_wrong_replies(language),
        (false, false) => texts::counted_wrong(language),
    }
}

/// Says that the number of interruptions is a lower limit, and what it is with posts while the asker was still typing.
fn lower_limit(report: &Report, policy: &PolicyFigures, language: Language) -> Option<String> {
    let l = language;
    let went_on = policy.asker_went_on?;
    let (spoke, wrong) = policy.spoke.zip(policy.wrong)?;
    let things = if report.has_stand_in() { counted::moments } else { counted::posts };
    Some(match went_on {
        0 => texts::counted_lower_limit(l).to_owned(),
        went_on => {
            let all = format::part(wrong + went_on, spoke, l);
            let spoken = format::number_of(things, spoke, l);
            texts::counted_went_on(l, &format::times(went_on, l), &all, &spoken)
        }
    })
}

/// Says in one sentence which records could be read but are in no figure.
fn note_on_records(records: LeftOutRecords, language: Language) -> Option<String> {
    let counts: [(usize, Counted); 6] = [
        (records.private_messages, counted::private_messages),
        (records.outside_range, counted::messages_outside_range),
        (records.notices, counted::notices),
        (records.deleted, counted::deleted_messages),
        (records.expired, counted::expired_messages),
        (records.withheld, counted::withheld_messages),
    ];
    let found = counts.into_iter().filter(|(count, _)| *count > 0);
    let parts = found.map(|(count, things)| format::number_of(things, count, language));
    let parts: Vec<String> = parts.collect();
    let sentence = || texts::left_out_records(language, &parts.join(list_separator(language)));
    (!parts.is_empty()).then(sentence)
}

/// Says whether private channels are in the report, as far as that is known.
fn notes_on_privacy(left_out: LeftOut, language: Language) -> Vec<String> {
    let l = language;
    let count = match (left_out.privacy, left_out.private_channels) {
        (Privacy::Included, _) => return vec![texts::private_included(l).to_owned()],
        (Privacy::LeftOut | Privacy::LeftOutWhereTold, None) => {
            return vec![texts::left_out_private_unknown(l).to_owned()];
        }
        (Privacy::LeftOut | Privacy::LeftOutWhereTold, Some(count)) => count,
    };
    let known = match count {
        0 => texts::left_out_no_private(l).to_owned(),
        count => texts::left_out_private(l, &format::number_of(counted::channels, count, l)),
    };
    let others = (left_out.privacy == Privacy::LeftOutWhereTold)
        .then(|| texts::left_out_private_where_told(l).to_owned());
    [known].into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_channels_are_in_are_out_or_are_not_known() {
        let told = |privacy, private_channels| {
            let left_out = LeftOut { bad_records: 0, private_channels, privacy, records: None };
            notes_on_privacy(left_out, Language::En).join(" ")
        };
        assert_eq!(told(Privacy::LeftOut, Some(0)), "No channel was left out as private.");
        assert_eq!(told(Privacy::LeftOut, Some(2)), "Left out as private: 2 channels.");
        assert_eq!(
            told(Privacy::LeftOutWhereTold, Some(1)),
            "Left out as private: 1 channel. The input does not say which channels only some roles see, so others may be \
             private, too."
        );
        assert_eq!(
            told(Privacy::LeftOutWhereTold, None),
            "Whether channels are private is not recorded in this input."
        );
        for private_channels in [Some(0), None] {
            assert_eq!(
                told(Privacy::Included, private_channels),
                "Private channels are included, if there are any: look at what you show to whom."
            );
        }
    }

    #[test]
    fn the_page_says_only_which_definition_it_applied() {
        for (is_annotated, has_replies, expected) in [
            (true, true, "This history says what answers what, so"),
            (false, true, "Within a minute of a post, a message of which this history says"),
            (false, false, "This history does not say what answers what, so"),
        ] {
            let first = FirstAnswers { is_annotated, has_replies, ..FirstAnswers::default() };
            let told = counted_wrong(first, Language::En);
            assert!(told.starts_with(expected), "{told}");
        }
    }

    #[test]
    fn what_is_in_no_figure_is_one_sentence() {
        let told = |records| note_on_records(records, Language::En);
        assert_eq!(told(LeftOutRecords::default()), None);
        let records = LeftOutRecords { notices: 3, deleted: 1, ..LeftOutRecords::default() };
        assert_eq!(
            told(records).as_deref(),
            Some(
                "Left out of the figures: 3 notices and messages without text, 1 deleted message."
            )
        );
    }
}
