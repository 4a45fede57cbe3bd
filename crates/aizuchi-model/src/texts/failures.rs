//! The list of what has failed: model calls, posts, look-ups and backfills.

texts! {
    title: "Failures" / "失敗";
    now: "Now" / "いま";
    nothing_now:
        "Nothing is failing now." / "いま失敗しているものはありません。";
    lately: "Lately" / "最近";
    none:
        "Nothing else has failed within 30 days."
        / "ほかに 30 日以内の失敗はありません。";
    none_matches: "No failure matches." / "条件に合う失敗はありません。";
    kind: "Kind" / "種類";
    model: "Model or tool" / "モデル・ツール";
    models: "failing models" / "失敗中のモデル";
    every: "all" / "すべて";
    reason: "Why" / "理由";
    last: "Last" / "最後";
    next: "Next try" / "次の試行";
    count: "Times" / "回数";
    retried: "It is tried again, and may stay silent this time." / "もう一度試しています。今度は話さないこともあります。";
    drop_now: "Really drop it" / "本当に破棄する";
    since: "since" / "最初：";
    more_channels(count: usize): "and {count} more channels" / "ほか {count} チャンネル";
    no_reason: "no reason was given" / "理由は不明です";
    behind:
        "what was said while it was away has not been read yet"
        / "不在中の発言をまだ読んでいません";
}
