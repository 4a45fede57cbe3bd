//! The home page of the console: what matters at a glance, and the feed of what was said and held back.

texts! {
    title: "Home" / "ホーム";
    works: "Everything works." / "すべて正常に動いています。";
    details: "Details" / "詳しく見る";
    last_day: "Last 24 hours:" / "直近 24 時間：";
    no_limit(spent: &str): "{spent}, no limit set" / "{spent}（上限なし）";
    tokens(count: &str): "{count} tokens" / "{count} トークン";
    of_limit(used: &str, limit: &str, share: &str): "{used} of {limit} ({share})" / "{limit} のうち {used}（{share}）";
    waiting: "Waiting" / "対応待ち";
    nothing_waits: "nothing" / "ありません";
    proposals: "proposals" / "発言の案";
    calls: "calls to allow" / "許可待ちの呼び出し";
    letters: "not delivered" / "届けられなかったもの";
    behind: "channels not caught up on" / "確認が済んでいないチャンネル";
    unread: "channels that cannot be read" / "読めないチャンネル";
    speaking: "speaking" / "話せます";
    partly_muted(muted: usize, workspaces: usize):
        "muted in {muted} of {workspaces} workspaces" / "{workspaces} ワークスペース中 {muted} か所でミュート中";
    menu: "Menu" / "メニュー";
    filter: "Filter" / "絞り込み";
    mute: "Mute" / "ミュート";
    mute_everything: "Mute everything" / "すべてを今すぐミュート";
    unmute_everything: "Unmute everything" / "すべてのミュートを解除";
    everything_muted: "It says nothing anywhere until you unmute it." / "解除するまで、どこでも何も話しません。";
    undo: "Undo" / "元に戻す";
    feed: "What it said and held back" / "話したこと、話さなかったこと";
    today: "Today" / "今日";
    said: "said" / "話した";
    held_back: "held back" / "話さなかった";
    failed: "failed" / "失敗";
    undecided: "waiting" / "判断待ち";
    reason: "Reason" / "理由";
    feed_empty:
        "Nothing has happened in this time. Whenever it says something or holds it back, a line with the reason appears here."
        / "この期間の記録はありません。話したり、話すのをやめたりするたびに、理由とともにここに表示されます。";
    nearest(workspace: &str, told: &str): "nearest to its limit: {workspace}, {told}" / "上限に最も近いのは{workspace}：{told}";
    texts_withheld(count: usize, why: &str): "Texts not shown below: {count}. {why}" / "以下の {count} 件の発言は表示しません。{why}";
    no_match: "No decision of this time matches the filter." / "この期間に、条件に合う判断はありません。";
}
