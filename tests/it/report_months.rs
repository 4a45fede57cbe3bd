//! Reports on several months: an average must not hide that the number of posts grows.

use serde_json::Value;

use crate::report::{folder_with, page_and_json, pottery, recording, seen};

const SPEAK: [&str; 4] = ["--policy", "policies/debounce-30.yaml", "--judge", "speak"];

/// Returns a history from 2 March to 1 July 2026: a question every tenth day, and from June on one per day.
fn quarry() -> String {
    let days = (0..=121).filter(|day| day % 10 == 0 || *day >= 91);
    let talk = days.map(|day| {
        format!(
            "{day} 09:00:00 help ida Does anyone know where slab {day} is?\n\
             {day} 09:01:25 help otto On the lower shelf.\n"
        )
    });
    talk.collect()
}

fn sum(months: &[Value], key: &str) -> u64 {
    months.iter().map(|month| month[key].as_u64().unwrap()).sum()
}

#[test]
fn months_are_told_and_what_grows() {
    let (_folder, history) = folder_with(&recording(&quarry()));
    let (page, json) = page_and_json(&history, &SPEAK);
    let policy = &json["report"]["policies"][0];
    let months = policy["by_month"].as_array().unwrap();
    let named: Vec<(&str, bool)> = months
        .iter()
        .map(|one| (one["month"].as_str().unwrap(), one["is_whole"].as_bool().unwrap()))
        .collect();
    let expected = [
        ("2026-03-01", false),
        ("2026-04-01", true),
        ("2026-05-01", true),
        ("2026-06-01", true),
        ("2026-07-01", false),
    ];
    assert_eq!(named, expected);
    assert_eq!(sum(months, "messages"), json["report"]["messages"].as_u64().unwrap());
    assert_eq!(sum(months, "spoke"), policy["spoke"].as_u64().unwrap());
    assert!(months.iter().all(|month| month["posted_without_model"].is_null()), "{months:?}");
    let [april, june] = [1, 3].map(|month: usize| months[month]["spoke"].as_u64().unwrap());
    assert!(april < 10 && june > 20, "{months:?}");
    let text = seen(&page);
    for part in [
        format!("The number of posts grows: {april} in the first full month, {june} in the last."),
        "Mar 2026 (part of it)".to_owned(),
        format!("Apr 2026 {april} "),
    ] {
        assert!(text.contains(&part), "{part}: {text}");
    }
    let (page, _) = page_and_json(&history, &[&SPEAK[..], &["--language", "ja"]].concat());
    assert!(seen(&page).contains("2026年3月（途中）"), "{}", seen(&page));
}

#[test]
fn a_short_history_has_no_table_of_months() {
    let (_folder, history) = pottery();
    let (page, json) = page_and_json(&history, &[]);
    let policy = &json["report"]["policies"][0];
    let months = policy["by_month"].as_array().unwrap();
    assert_eq!(sum(months, "spoke"), policy["spoke"].as_u64().unwrap());
    let posted = policy["posted_without_model"]["spoke"].as_u64().unwrap();
    assert_eq!(sum(months, "posted_without_model"), posted);
    assert!(!seen(&page).contains("By month"), "{}", seen(&page));
}
