//! The answers of a notebook, in the persona's language. Models read them and learn what their call did.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::chat::{is_line_break, to_single_line};
use crate::memo::{MAX_LIST_LENGTH, MAX_NAME_LENGTH, Memo, MemoError};
use crate::persona::Language;

/// How much of a memo's content a list shows, in characters.
const MAX_LINE_LENGTH: usize = 200;
/// How much of the content or the details is shown for a single memo.
const MAX_TEXT_LENGTH: usize = 4000;

pub fn added(language: Language, name: &str) -> String {
    insert_name(language.pick("Added the memo “{}”.", "メモを追加しました（name: {}）"), name)
}

pub fn not_added(language: Language, error: MemoError) -> String {
    let text = language.pick("The memo could not be added: {}", "メモの作成に失敗しました: {}");
    text.replace("{}", &error.to_string())
}

pub fn name_taken(language: Language, name: &str) -> String {
    let text = language
        .pick("There already is a memo named “{}”.", "メモの名前「{}」は既に使用されています");
    insert_name(text, name)
}

pub fn edited(language: Language, name: &str) -> String {
    insert_name(language.pick("Changed the memo “{}”.", "メモを更新しました（name: {}）"), name)
}

pub fn not_edited(language: Language, error: MemoError) -> String {
    let text = language.pick("The memo could not be changed: {}", "メモの更新に失敗しました: {}");
    text.replace("{}", &error.to_string())
}

pub fn not_found(language: Language, name: &str) -> String {
    let text = language.pick("There is no memo named “{}”.", "メモが見つかりません（name: {}）");
    insert_name(text, name)
}

pub fn removed(language: Language, name: &str) -> String {
    insert_name(language.pick("Removed the memo “{}”.", "メモを削除しました（name: {}）"), name)
}

pub fn not_removed(language: Language, error: MemoError) -> String {
    let text = language.pick("The memo could not be removed: {}", "メモの削除に失敗しました: {}");
    text.replace("{}", &error.to_string())
}

/// One page of the `all` memos, after skipping `offset`.
pub fn list(language: Language, page: &[&Memo], offset: usize, all: usize) -> String {
    let (first, last) = (offset + 1, offset + page.len());
    let mut text = match (language, page.is_empty()) {
        (Language::En, false) => format!("Memos {first}-{last} of {all}"),
        (Language::En, true) => format!("No memos behind the first {all}"),
        (Language::Ja, false) => format!("メモ一覧（{first}-{last}件 / 全{all}件）"),
        (Language::Ja, true) => format!("メモ一覧（0件 / 全{all}件）"),
    };
    for memo in page {
        let _ = write!(text, "\n{}", list_item(language, memo));
    }
    text
}

pub fn no_memos(language: Language) -> String {
    language.pick("There are no memos.", "メモがありません").to_owned()
}

pub fn no_memos_with_tag(language: Language, tag: &str) -> String {
    let text = language.pick("No memo has the tag “{}”.", "タグ「{}」のメモは見つかりませんでした");
    insert_name(text, tag)
}

pub fn details(language: Language, memo: &Memo, zone: &TimeZone) -> String {
    let tags = match memo.tags.is_empty() {
        true => language.pick("none", "なし").to_owned(),
        false => join_tags(&memo.tags),
    };
    let minute = |at: Timestamp| format_time(at, zone, "%Y-%m-%d %H:%M");
    let mut text = language.pick("Memo:", "メモ詳細:").to_owned();
    let mut field = |en: &str, ja: &str, value: String| {
        let _ = write!(text, "\n- {}:{value}", language.pick(en, ja));
    };
    field("name", "name", quote_multiline(&memo.name));
    field("priority", "優先度", format!(" {}", memo.priority));
    field("tags", "タグ", format!(" {tags}"));
    field("content", "内容", quote_multiline(&truncate(&memo.content, MAX_TEXT_LENGTH)));
    if let Some(detail) = &memo.detail {
        field("details", "詳細", quote_multiline(&truncate(detail, MAX_TEXT_LENGTH)));
    }
    field("created", "作成日", format!(" {}", minute(memo.created)));
    field("changed", "更新日", format!(" {}", minute(memo.updated)));
    text
}

/// Each tag with the number of its memos and the time of the latest change.
pub fn tags(language: Language, tags: &[(&str, usize, Timestamp)], zone: &TimeZone) -> String {
    let number = tags.len();
    let mut text = match language {
        Language::En => format!("Tags of memos ({number})"),
        Language::Ja => format!("メモタグ一覧（{number}種類）:"),
    };
    for (tag, count, updated) in tags.iter().take(MAX_LIST_LENGTH) {
        let (tag, day) =
            (truncate_line(tag, MAX_NAME_LENGTH), format_time(*updated, zone, "%Y-%m-%d"));
        let _ = match language {
            Language::En => write!(text, "\n- {tag}: {count} (last changed on {day})"),
            Language::Ja => write!(text, "\n- {tag}: {count}件（最終更新: {day}）"),
        };
    }
    text
}

pub fn no_tags(language: Language) -> String {
    language.pick("No memo has a tag.", "メモタグがありません").to_owned()
}

fn list_item(language: Language, memo: &Memo) -> String {
    let name = to_single_line(&memo.name);
    let priority = language.pick("priority ", "優先度");
    let mut text = format!("- [{name}] {priority}{}", memo.priority);
    if !memo.tags.is_empty() {
        let _ = write!(text, " [{}]", join_tags(&memo.tags));
    }
    let _ = write!(text, " {}", truncate_line(&memo.content, MAX_LINE_LENGTH));
    if memo.detail.is_some() {
        text.push_str(language.pick(" [has details]", " [詳細あり]"));
    }
    text
}

/// A single line stays on the line. A longer text stands below it with `> ` before each line, so that it cannot
/// look like another field (invariant 10).
fn quote_multiline(text: &str) -> String {
    if !text.contains(is_line_break) {
        return format!(" {}", to_single_line(text));
    }
    text.split(is_line_break).map(|line| format!("\n> {line}")).collect()
}

fn join_tags(tags: &[String]) -> String {
    let tags: Vec<String> = tags.iter().map(|tag| truncate_line(tag, MAX_NAME_LENGTH)).collect();
    tags.join(", ")
}

fn format_time(at: Timestamp, zone: &TimeZone, format: &str) -> String {
    at.to_zoned(zone.clone()).strftime(format).to_string()
}

/// The name is arbitrary text, because it is echoed even if there is no such memo.
fn insert_name(text: &str, name: &str) -> String {
    text.replace("{}", &truncate_line(name, MAX_NAME_LENGTH))
}

fn truncate_line(text: &str, longest: usize) -> String {
    truncate(&to_single_line(text), longest)
}

fn truncate(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
