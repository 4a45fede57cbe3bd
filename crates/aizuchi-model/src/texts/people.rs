//! The console's pages about people.

texts! {
    title: "People" / "メンバー";
    find: "Name or id" / "名前または ID";
    nobody: "Nobody here has this name or id." / "この名前または ID の人はいません。";
    nobody_yet: "People appear here once they write something." / "発言した人がここに表示されます。";
    bot: "bot" / "ボット";
    opted_out: "opted out" / "オプトアウト中";
    not_opted_out: "Has not opted out." / "オプトアウトしていません。";
    role_admin: "admin" / "管理者";
    written: "Where they write" / "発言したチャンネル";
    nothing_written: "No message of theirs is kept that you may read." / "閲覧できる発言はありません。";
    messages: "Messages" / "発言";
    answers: "Answered or joined" / "応答・参加";
    last: "Last" / "最後の発言";
    seen: "Last seen" / "最後の発言";
    known: "What is remembered" / "覚えていること";
    more_places(count: usize): "and {count} more" / "ほか {count} か所";
    nothing_remembered: "Nothing is remembered of them that you may read." / "閲覧できる記憶はありません。";
    export: "Download what is known of them" / "わかっていることをダウンロード";
    exported: "A text that can be given to them. The download is recorded." / "本人に渡せる文書です。ダウンロードは記録されます。";
    forget: "Forget this person" / "この人のデータを消去";
    forget_explained(name: &str):
        "Deletes every message of {name} here, what is remembered of them, and the bot's posts that answered or quoted them. Nothing can undo it."
        / "{name} の発言、それに基づく記憶、それに応答・引用したボットの発言をすべて削除します。元には戻せません。";
    type_name(name: &str): "To confirm, type “{name}”" / "確認のため「{name}」と入力";
    being_forgotten(step: usize, steps: usize):
        "Being forgotten: step {step} of {steps}" / "消去中：{steps} 段階中 {step} 段階目";
    forgettings: "Who was forgotten" / "消去の記録";
    nobody_forgotten: "Nobody was forgotten. An order to forget somebody appears here with its progress and what went."
        / "データを消去した人はいません。消去を始めると、進み具合と消したものの数がここに表示されます。";
    gone(messages: usize, own: usize, memos: usize, memories: usize):
        "{messages} messages, {own} messages of the bot, {memos} memos; {memories} memories are written again"
        / "発言 {messages} 件、ボットの発言 {own} 件、メモ {memos} 件。記憶 {memories} 件を書き直します";
    done: "Done" / "完了";
    state: "Progress" / "進み具合";
    result: "What went" / "消したもの";
}
