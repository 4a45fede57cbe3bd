//! The page of a stand-in for a chat platform.

texts! {
    // The users and the app of a stand-in.
    mio: "Mio" / "美緒";
    mio_tanaka: "Mio Tanaka" / "田中 美緒";
    ken: "Ken" / "健太";
    ken_sato: "Ken Sato" / "佐藤 健太";
    emma: "Emma" / "エマ";
    emma_berg: "Emma Berg" / "エマ・ベルク";
    weather: "Weather" / "天気";

    title(platform: &str): "A stand-in for {platform}" / "{platform} の模擬環境";
    local(platform: &str):
        "A stand-in for {platform}. Nothing leaves this machine."
        / "これは {platform} の模擬環境です。データがこのマシンの外に出ることはありません。";
    needs_script: "This page needs JavaScript." / "このページには JavaScript が必要です。";
    speak_as: "Speak as" / "話す人";
    channel: "Channel" / "チャンネル";
    channels: "Channels" / "チャンネル";
    message: "Write a message" / "メッセージを書く";
    messages: "Messages" / "メッセージ";
    send: "Send" / "送信";
    save: "Save" / "保存";
    cancel: "Cancel" / "キャンセル";
    reply: "Reply" / "返信";
    edit: "Edit" / "編集";
    delete: "Delete" / "削除";
    react: "React with 👍" / "👍 でリアクション";
    nothing_said: "Nothing has been said here yet." / "まだメッセージはありません。";
    in_thread: "Replying in the thread of" / "スレッドに返信中：";
    in_reply: "Replying to" / "返信先：";
    changing: "Editing your message" / "メッセージを編集中";
    edited: "(edited)" / "（編集済み）";
    ephemeral: "Only you can see this" / "あなただけに表示されています";
    app: "app" / "アプリ";
    open_thread: "Open the thread" / "スレッドを開く";
    absent(name: &str): "{name} is not in this channel." / "{name} はこのチャンネルにいません。";
    invite: "Add it" / "追加する";
    keys:
        "Enter sends, Shift+Enter starts a new line."
        / "Enter で送信、Shift+Enter で改行します。";
    commands(commands: &str): "Commands: {commands}" / "コマンド：{commands}";
    no_command(command: &str):
        "There is no command {command} here."
        / "{command} というコマンドはありません。";
    refused(platform: &str): "{platform} would refuse this:" / "{platform} では受け付けられません：";
    unreachable:
        "The stand-in does not answer. Is it still running?"
        / "応答がありません。プログラムは動いていますか？";
}
