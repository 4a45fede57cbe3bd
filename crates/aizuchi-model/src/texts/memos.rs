//! The texts about memos for a model that uses the notebook.

use std::fmt::Display;

texts! {
    /// Replaces a URL or a mail address in a memory.
    address: "[address]" / "［アドレス］";
    no_fact:
        "A memo holds facts, not instructions to whoever reads it. Nothing was changed."
        / "メモに残せるのは事実だけで、読む人への指示は残せません。変更していません。";
    added(name: &str): "Added the memo “{name}”." / "メモを追加しました（name: {name}）。";
    not_added(error: impl Display):
        "The memo could not be added: {error}"
        / "メモの作成に失敗しました: {error}";
    name_taken(name: &str):
        "There already is a memo named “{name}”."
        / "メモの名前「{name}」はすでに使われています。";
    edited(name: &str): "Changed the memo “{name}”." / "メモを更新しました（name: {name}）。";
    not_edited(error: impl Display):
        "The memo could not be changed: {error}"
        / "メモの更新に失敗しました: {error}";
    removed(name: &str): "Removed the memo “{name}”." / "メモを削除しました（name: {name}）。";
    not_removed(error: impl Display):
        "The memo could not be removed: {error}"
        / "メモの削除に失敗しました: {error}";
    not_found(name: &str):
        "There is no memo named “{name}”."
        / "メモが見つかりません（name: {name}）。";
    no_memos: "There are no memos." / "メモがありません。";
    no_memos_with_tag(tag: &str):
        "No memo has the tag “{tag}”."
        / "タグ「{tag}」のメモは見つかりませんでした。";
    no_tags: "No memo has a tag." / "メモタグがありません。";

    page(first: usize, last: usize, all: usize):
        "Memos {first}-{last} of {all}"
        / "メモ一覧（{first}-{last}件 / 全{all}件）";
    empty_page(all: usize): "No memos after the first {all}" / "メモ一覧（0件 / 全{all}件）";
    /// In a line of the list.
    priority(priority: u8): "priority {priority}" / "優先度{priority}";
    has_details: "[has details]" / "[詳細あり]";

    one_memo: "Memo:" / "メモ詳細:";
    name_field: "name" / "name";
    priority_field: "priority" / "優先度";
    tags_field: "tags" / "タグ";
    no_tags_field: "none" / "なし";
    content_field: "content" / "内容";
    details_field: "details" / "詳細";
    created_field: "created" / "作成日";
    changed_field: "changed" / "更新日";

    tags(number: usize): "Tags of memos ({number})" / "メモタグ一覧（{number}種類）:";
    tag(tag: &str, count: usize, day: &str):
        "{tag}: {count} (last changed on {day})"
        / "{tag}: {count}件（最終更新: {day}）";
}
