//! A channel's weekly note to its keeper.

texts! {
    /// `since` and `until` are dates.
    heading(channel: &str, since: &str, until: &str):
        "**The week in {channel}**, {since} – {until}" / "**{channel} の 1 週間**（{since} – {until}）";
    taken_up(count: usize): "What I took up: {count}" / "自分から話したこと：{count} 件";
    answered(count: usize):
        "What I left and a person answered: {count}" / "見送って、ほかの人が答えた質問：{count} 件";
    unanswered(count: usize): "What nobody answered: {count}" / "誰も答えなかった質問：{count} 件";
    more(count: usize): "and {count} more" / "ほか {count} 件";
    quote(text: &str): "“{text}”" / "「{text}」";
    after_minutes(count: i64): "after {count} min" / "{count} 分後に返答";
    after_hours(count: i64): "after {count} h" / "{count} 時間後に返答";
    cost(calls: u64, tokens: u64):
        "Model calls: {calls}, tokens: {tokens}" / "モデルの呼び出し：{calls} 回、トークン：{tokens}";
    /// `amount` includes its currency.
    price(amount: &str): "price: {amount}" / "料金：{amount}";
    price_partly_unknown(amount: &str, unpriced: u64):
        "price: {amount} and {unpriced} tokens without a known price"
        / "料金：{amount}（ほかに料金がわからないトークン {unpriced}）";
}
