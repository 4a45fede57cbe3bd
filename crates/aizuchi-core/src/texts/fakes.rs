//! The page of a fake platform.

texts! {
    title(platform: &str): "A fake {platform}" / "開発用の {platform} もどき";
    speak_as: "Speak as" / "話す人";
    channel: "Channel" / "チャンネル";
    go: "Go" / "移動";
    message: "Message" / "メッセージ";
    send: "Send" / "送信";
    save: "Save" / "保存";
    cancel: "Cancel" / "やめる";
    reply: "Reply" / "返信";
    edit: "Edit" / "編集";
    delete: "Delete" / "削除";
    nothing_said: "Nobody has said anything here yet." / "まだ発言はありません。";
    in_thread: "In a thread" / "スレッドに返信中";
    in_reply: "In reply to a line" / "発言に返信中";
    changing: "Changing a line" / "発言を編集中";
    messages: "Lines" / "発言";
}
