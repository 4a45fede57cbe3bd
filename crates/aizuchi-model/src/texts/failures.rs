//! The list of what has failed: model calls, posts, look-ups and backfills.

texts! {
    title: "Failures" / "失敗";
    explained:
        "Model calls, posts, look-ups and the reading of missed messages that failed within 30 days, newest first."
        / "30 日以内に失敗した、モデルの呼び出し、投稿、調べもの、不在中の発言の確認です。新しいものから並びます。";
    none:
        "Nothing has failed. Failed model calls, posts that could not be made, look-ups without an answer and channels that are behind come here."
        / "失敗はありません。失敗したモデルの呼び出し、できなかった投稿、答えのない調べもの、未確認の発言があるチャンネルがここに並びます。";
    none_matches: "No failure matches." / "条件に合う失敗はありません。";
    kind: "Kind" / "種類";
    model: "Model or tool" / "モデル・ツール";
    models: "failing models" / "失敗中のモデル";
    every: "all" / "すべて";
    reason: "Why" / "理由";
    last: "Last" / "最後";
    next: "Next try" / "次の試行";
    times(count: u64): "{count} times" / "{count} 回";
    since: "since" / "最初：";
    more_channels(count: usize): "and {count} more channels" / "ほか {count} チャンネル";
    no_reason: "no reason was given" / "理由は不明です";
    behind:
        "what was said while it was away has not been read yet"
        / "不在中の発言をまだ読んでいません";
}
