//! The console's pages on memories.

use crate::memory::MemoryTerm;
use crate::memory::change::JournalKind;
use crate::persona::Language;
use crate::texts::pick;

texts! {
    title: "Memory" / "記憶";
    everywhere: "Whole workspace" / "ワークスペース全体";
    of_channel(name: &str): "#{name}" / "#{name}";
    of_thread(name: &str): "A thread in #{name}" / "#{name} のスレッド";
    all_channels: "the workspace" / "ワークスペース";
    person: "What is remembered of" / "この人について覚えていること";
    channels: "Channels" / "チャンネル";
    entries: "Entries" / "項目";
    count(entries: usize): "{entries} entries" / "{entries} 項目";
    made: "made" / "作成：";
    nothing: "Nothing is remembered here yet." / "まだ何も覚えていません。";
    threads_cut:
        "Of the threads, only those that were active most recently are shown."
        / "スレッドの記憶は、最近動きのあったものだけを表示しています。";
    hidden(entries: usize):
        "{entries} entries come from private channels and are not shown."
        / "非公開チャンネルに由来する {entries} 項目は表示していません。";
    known_to_all: "visible to everyone" / "全員に公開";
    known_here: "stays in its channel" / "このチャンネルだけ";
    pinned: "pinned" / "固定";
    sources(messages: usize): "from {messages} messages" / "もとの発言 {messages} 件";
    source: "from 1 message" / "もとの発言 1 件";
    no_sources: "imported; no message is known" / "取り込んだもの（もとの発言は不明）";
    more_sources(messages: usize): "and {messages} more" / "ほか {messages} 件";
    source_gone: "(a message that is gone or not shown)" / "（削除済み、または非表示の発言）";
    change: "Change" / "変更";
    text: "Text" / "内容";
    save: "Save and pin" / "保存して固定";
    pin: "Pin" / "固定する";
    unpin: "Unpin" / "固定を外す";
    remove: "Remove" / "削除";
    restore: "Put back" / "元に戻す";
    removed: "Removed, and not remembered again" / "削除済み（もう覚えません）";
    regenerate: "Make it anew" / "作り直す";
    being_made: "It is being made anew." / "作り直しています。";
    history: "Versions" / "版の一覧";
    history_of(name: &str): "Versions: {name}" / "版の一覧：{name}";
    current: "current" / "現在の版";
    revert: "Go back to this version" / "この版に戻す";
    first_version: "The first version that is kept." / "保存されている最初の版です。";
    unchanged(entries: usize): "{entries} entries unchanged" / "変更のない項目：{entries} 件";
    added: "new:" / "追加：";
    taken_away: "removed:" / "なくなったもの：";
    memos: "Memos" / "メモ";
    no_memos: "There are no memos." / "メモはありません。";
    priority: "Priority" / "優先度";
    tags: "Tags" / "タグ";
    detail: "Detail" / "詳細";
    said_by(name: &str): "said by {name}" / "発言者：{name}";
    save_memo: "Save" / "保存";
    journal: "What changed" / "変更の記録";
    no_journal: "Nothing has changed yet." / "まだ変更はありません。";
    by: "By" / "変更者";
    by_itself: "by itself" / "自動";
    a_memo: "a memo" / "メモ";
    named_memo(name: &str): "memo “{name}”" / "メモ「{name}」";
    was(text: &str): "before: {text}" / "変更前：{text}";
    decision: "the decision" / "その判断";
    revert_memo: "Put it back as it was" / "この変更の前に戻す";
    older: "Older" / "以前のもの";
    newest: "Newest" / "最新";
    explained:
        "What people pin or change stays as it is, and what they remove is not remembered again. The messages stay where they were said."
        / "固定や変更をした項目はそのまま残り、削除した項目はもう覚えません。もとの発言はそのまま残ります。";
}

/// A memory's term.
pub fn term(language: Language, term: MemoryTerm) -> &'static str {
    match term {
        MemoryTerm::ShortTerm => pick(language, "short-term", "短期"),
        MemoryTerm::LongTerm => pick(language, "long-term", "長期"),
    }
}

/// The kind of a change to a memory.
pub fn journal_kind(language: Language, kind: JournalKind) -> &'static str {
    match kind {
        JournalKind::Created => pick(language, "written", "作成"),
        JournalKind::Folded => pick(language, "took in what was said", "発言を取り込み"),
        JournalKind::Forgotten => pick(language, "forgot a message", "発言の内容を忘れた"),
        JournalKind::Edited => pick(language, "changed", "変更"),
        JournalKind::Pinned => pick(language, "pinned an entry", "項目を固定"),
        JournalKind::Unpinned => pick(language, "unpinned an entry", "項目の固定を解除"),
        JournalKind::Removed => pick(language, "removed", "削除"),
        JournalKind::Restored => pick(language, "put an entry back", "項目を元に戻した"),
        JournalKind::Reverted => pick(language, "went back to a version", "以前の版に戻した"),
        JournalKind::Regenerated => pick(language, "had it made anew", "作り直しを指示"),
    }
}
