//! The reports on one fictional conversation, from each supported export format.

mod conversation;
mod exports;

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::command::aizuchi;
use crate::golden_reports::conversation::PEOPLE;
use crate::golden_reports::exports::{WRITERS, Writer};
use crate::replay_inputs::zipped;

/// Words of the private channel, and the user who posts only there.
const PRIVATE: [&str; 4] = ["bursary", "crane", "tell nobody", "Viktor"];
/// Inline tags, which do not start a new line.
const INLINE: [&str; 11] =
    ["b", "i", "span", "small", "strong", "time", "td", "th", "dt", "dd", "svg"];

struct Output {
    json: String,
    page: String,
}

fn replay(folder: &Path, input: &[String], more: &[&str]) -> Output {
    let mut program = aizuchi();
    program.current_dir(folder).arg("replay").args(input);
    let run = program.args(["--json", "--report", "page.html"]).args(more).assert().success();
    let printed = String::from_utf8(run.get_output().stdout.clone()).unwrap();
    Output {
        json: printed.lines().map(without_duration).collect::<Vec<_>>().join("\n"),
        page: fs::read_to_string(folder.join("page.html"))
            .unwrap()
            .replace(folder.to_str().unwrap(), "FOLDER"),
    }
}

/// Returns a line of the JSON without measured durations.
fn without_duration(line: &str) -> String {
    let measured = ["\"elapsed_seconds\"", "\"messages_per_second\""];
    match line.split_once(": ") {
        Some((key, _)) if measured.contains(&key.trim()) => format!("{key}: \"[measured]\""),
        Some(_) | None => line.to_owned(),
    }
}

fn export(writer: Writer) -> (TempDir, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let input = writer(folder.path());
    (folder, input)
}

/// Returns the visible text of a page, with a line for each block.
fn visible_text(page: &str) -> String {
    let (_, mut rest) = page.split_once("<body>").unwrap();
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(&before.replace('\n', " "));
        let (tag, after) = after.split_once('>').unwrap();
        let name = tag.trim_start_matches('/').split_whitespace().next().unwrap();
        let is_unseen =
            ["style", "script", "svg"].contains(&name) || tag.contains("aria-hidden=\"true\"");
        rest = match is_unseen && !tag.starts_with('/') {
            true => after.split_once(&format!("</{name}>")).unwrap().1,
            false => after,
        };
        text.push(match name {
            "code" => '`',
            name if INLINE.contains(&name) => ' ',
            _ => '\n',
        });
    }
    for (entity, character) in
        [("&#34;", "\""), ("&#39;", "'"), ("&#60;", "<"), ("&#62;", ">"), ("&#38;", "&")]
    {
        text = text.replace(entity, character);
    }
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Returns the values in which two documents differ, with their paths.
fn differences(path: &str, one: &Value, other: &Value) -> Vec<String> {
    match (one, other) {
        (Value::Object(fields), Value::Object(others)) if fields.keys().eq(others.keys()) => {
            let keys = fields.keys().map(String::as_str);
            keys.flat_map(|key| differences(&format!("{path}.{key}"), &one[key], &other[key]))
                .collect()
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            let pairs = items.iter().zip(others).enumerate();
            pairs
                .flat_map(|(index, (one, other))| {
                    differences(&format!("{path}[{index}]"), one, other)
                })
                .collect()
        }
        _ if one == other => Vec::new(),
        _ => vec![format!("  {}: {} → {}", &path[1..], shown(one), shown(other))],
    }
}

fn shown(value: &Value) -> String {
    match value.as_f64().filter(|_| value.is_f64()) {
        Some(number) => format!("{number:.6}"),
        None => value.to_string(),
    }
}

#[test]
fn an_export_of_slack_gives_this_report() {
    let (folder, input) = export(exports::slack);
    let Output { json, page } = replay(folder.path(), &input, &[]);
    insta::assert_snapshot!("slack_json", json);
    let text = visible_text(&page);
    insta::assert_snapshot!("slack_page", text);
    let zip = zipped(&folder.path().join("slack"), "");
    let zip = zip.path().to_str().unwrap().to_owned();
    let of_zip = replay(folder.path(), std::slice::from_ref(&zip), &[]);
    // The commands on the page name the replayed input.
    let of_zip_page = of_zip.page.replace(&zip, "FOLDER/slack");
    assert!(of_zip.json == json && of_zip_page == page, "{}", of_zip.json);
}

#[test]
fn the_page_of_an_export_of_slack_in_japanese() {
    let (folder, input) = export(exports::slack);
    let text = visible_text(&replay(folder.path(), &input, &["--language", "ja"]).page);
    insta::assert_snapshot!("slack_page_in_japanese", text);
}

#[test]
fn the_page_of_a_judge_that_always_speaks() {
    let (folder, input) = export(exports::slack);
    let text = visible_text(&replay(folder.path(), &input, &["--judge", "speak"]).page);
    insta::assert_snapshot!("slack_page_that_speaks", text);
}

/// The differences are data that a format lacks, and the length of ids, which are part of prompts.
#[test]
fn the_other_formats_give_the_same_report_but_for_this() {
    let reports = WRITERS.map(|(name, writer)| {
        let (folder, input) = export(writer);
        let json = replay(folder.path(), &input, &[]).json;
        (name, serde_json::from_str::<Value>(&json).unwrap())
    });
    let [(_, slack), others @ ..] = &reports;
    let found = others.iter().flat_map(|(name, report)| {
        let mut lines = differences("", slack, report);
        lines.insert(0, (*name).to_owned());
        lines
    });
    let text = found.collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!("other_formats", text);
}

#[test]
fn no_name_and_nothing_private_is_in_an_anonymous_report_of_any_format() {
    for (format, writer) in WRITERS {
        let (folder, input) = export(writer);
        let Output { json, page } = replay(folder.path(), &input, &["--anonymous"]);
        let written = format!("{json}\n{page}").to_lowercase();
        let accounts = PEOPLE.iter().flat_map(|(name, account)| [*name, *account]);
        for word in accounts.chain(PRIVATE).chain(["desk.example"]) {
            assert!(!written.contains(&word.to_lowercase()), "{format} shows {word}");
        }
        if format == "slack" {
            let text = visible_text(&page);
            insta::assert_snapshot!("slack_page_without_names", text);
        }
    }
}

#[test]
fn a_second_run_gives_the_same_bytes_and_nothing_private() {
    for (format, writer) in WRITERS {
        let (folder, input) = export(writer);
        let one = replay(folder.path(), &input, &[]);
        let again = replay(folder.path(), &input, &[]);
        assert!(one.json == again.json && one.page == again.page, "{format}");
        for word in PRIVATE {
            assert!(!one.json.contains(word) && !one.page.contains(word), "{format} shows {word}");
        }
    }
}
