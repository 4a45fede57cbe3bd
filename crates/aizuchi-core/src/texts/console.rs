//! The console: every workspace at a glance, a channel's timeline, and what is stuck.

use crate::persona::Language;
use crate::texts::pick;

texts! {
    title: "Console" / "コンソール";
    overview: "Channels" / "チャンネル";
    queue: "Queue and health" / "待ち行列と状態";
    room: "Local room" / "ローカルルーム";
    role: "Signed in as" / "ログイン中：";
    this_machine: "this machine" / "このマシン";
    withheld:
        "Your role does not read what was said here."
        / "あなたの役割では、ここでの発言は読めません。";
    withheld_here:
        "What was said elsewhere than in the local room is shown to people who sign in: `aizuchi console link` makes a link."
        / "ローカルルーム以外での発言は、ログインした人にだけ表示します。`aizuchi console link` でログイン用のリンクを作れます。";
    skip: "Skip to the content" / "本文へ移動";

    // The overview.
    connected: "connected" / "接続中";
    not_connected(why: &str): "not heard: {why}" / "受信していません：{why}";
    catching_up(read: usize, channels: usize):
        "caught up with {read} of {channels} channels"
        / "{channels} チャンネル中 {read} チャンネルの確認が済みました";
    failing(count: usize): "{count} cannot be read" / "{count} チャンネルは読めません";
    workspace_muted: "muted everywhere" / "すべてのチャンネルでミュート中";
    today_cost(tokens: u64, money: &str):
        "today {tokens} tokens, {money}"
        / "今日 {tokens} トークン、{money}";
    month_cost(money: &str): "this month {money}" / "今月 {money}";
    channel: "Channel" / "チャンネル";
    mode: "Mode" / "モード";
    heard: "Last heard" / "最後に聞いた";
    spoke: "Last spoke" / "最後に話した";
    waiting: "Waiting" / "待機中";
    decisions_today: "Decisions today" / "今日の判断";
    cost_today: "Cost today" / "今日の費用";
    orders: "Orders" / "操作";
    private: "private" / "非公開";
    direct: "direct message" / "ダイレクトメッセージ";
    muted: "muted" / "ミュート中";
    muted_until: "muted until" / "ミュート解除：";
    no_channels: "Nothing was heard here yet." / "まだ何も聞いていません。";
    nothing: "none" / "なし";
    now: "now" / "いま";
    owed: "asked for" / "呼びかけあり";

    // Orders.
    mute_two_hours: "Mute for 2 hours" / "2 時間ミュート";
    mute: "Mute until unmuted" / "解除するまでミュート";
    mute_everywhere: "Mute everywhere" / "すべてミュート";
    unmute_everywhere: "Unmute everywhere" / "すべてのミュートを解除";
    unmute: "Unmute" / "ミュートを解除";
    stop: "Stop for an hour" / "1 時間止める";
    set_mode: "Set the mode" / "モードを変更";
    configured_mode: "as configured" / "設定のとおり";

    // The timeline.
    outcome: "Outcome" / "結果";
    gate: "Rule" / "ルール";
    person: "Person" / "発言者";
    from: "From" / "開始";
    until: "Until" / "終了";
    search: "Search" / "検索";
    show: "Show" / "表示";
    anything: "any" / "すべて";
    older: "Older" / "以前の発言";
    newest: "Newest" / "最新";
    lane: "Silences" / "沈黙の列";
    no_messages: "Nothing fits." / "該当するものはありません。";
    text_withheld: "(text not shown)" / "（内容は非表示）";
    deleted: "(deleted)" / "（削除済み）";
    in_thread: "in a thread" / "スレッド内";
    superseded: "superseded" / "取り直し";
    why: "Why" / "理由";

    // The queue.
    dead_letters: "What could not be said" / "発言できなかったもの";
    no_dead_letters: "Nothing was given up." / "諦めたものはありません。";
    retry: "Try again" / "もう一度試す";
    drop: "Drop" / "破棄";
    attempts(count: u32): "{count} attempts" / "{count} 回試行";
    steps: "What waits" / "待っている処理";
    no_steps: "Nothing waits." / "待っている処理はありません。";
    conversation: "Conversation" / "会話";
    due: "Due" / "予定";
    models: "Models" / "モデル";
    model: "Model" / "モデル";
    no_calls: "No model was asked lately." / "最近、モデルへの問い合わせはありません。";
    works: "works" / "正常";
    fails_since: "fails since" / "失敗が続いています：";
    failures(failed: usize, calls: usize):
        "{failed} of the last {calls} calls failed"
        / "直近 {calls} 回のうち {failed} 回失敗";
    last_error: "Last error" / "最後のエラー";
    program: "Program" / "プログラム";
    version: "Version" / "バージョン";
    database: "Database" / "データベース";
    size: "Size" / "サイズ";
    last_backup: "Last backup" / "最後のバックアップ";
    never: "none made by this process" / "このプロセスでは未作成";
    private_reads: "Who read private channels" / "非公開チャンネルの閲覧記録";
    reader: "Reader" / "閲覧者";
    reads: "Reads" / "回数";
    what: "What" / "対象";
    when: "When" / "日時";
    done: "Done." / "完了しました。";
    answered: "Answered" / "回答あり";
}

/// How a decision ended, as a word beside a mark.
pub fn outcome_word(language: Language, outcome: &str) -> &'static str {
    match outcome {
        "spoke" => pick(language, "spoke", "発言"),
        "reacted" => pick(language, "reacted", "リアクション"),
        "chose_silence" => pick(language, "chose silence", "沈黙"),
        "dropped" => pick(language, "dropped", "取りやめ"),
        "muted" => pick(language, "muted", "ミュート"),
        "over_budget" => pick(language, "over budget", "上限到達"),
        "failed" => pick(language, "failed", "失敗"),
        _ => pick(language, "open", "判断前"),
    }
}

/// What was read of a private channel.
pub fn private_text(language: Language, what: &str) -> &'static str {
    match what {
        "messages" => pick(language, "messages", "発言"),
        "decisions" => pick(language, "decisions", "判断"),
        _ => pick(language, "what could not be said", "発言できなかったもの"),
    }
}

/// The pending step's verb.
pub fn pending_verb(language: Language, verb: &str) -> &'static str {
    match verb {
        "judge" => pick(language, "will decide", "判断待ち"),
        "reply" => pick(language, "will think of a reply", "返答を考える予定"),
        _ => pick(language, "will post", "投稿予定"),
    }
}
