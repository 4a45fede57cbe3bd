//! The home page of the console: what matters at a glance, and the feed of what was said and held back.

use jiff::civil::{Date, DateTime};

use crate::persona::Language;
use crate::texts::{builtin, pick};

texts! {
    title: "Home" / "ホーム";
    health: "Health" / "状態";
    works: "Everything works." / "すべて正常に動いています。";
    details: "Details" / "詳しく見る";
    last_day: "Cost, last 24 hours" / "直近 24 時間の費用";
    no_limit: "no limit set" / "上限なし";
    tokens(count: &str): "{count} tokens" / "{count} トークン";
    of_limit(share: &str, limit: &str): "{share} of {limit}" / "{limit} の {share}";
    waiting: "Waiting" / "対応待ち";
    nothing_waits: "nothing waits" / "対応待ちはありません";
    proposals: "proposals" / "発言の案";
    calls: "calls to allow" / "許可待ちの呼び出し";
    failing_models: "failing models" / "失敗しているモデル";
    letters: "could not be posted" / "投稿できなかったもの";
    behind: "channels not caught up on" / "未確認の発言があるチャンネル";
    unread: "channels that cannot be read" / "読めないチャンネル";
    speaking: "speaking" / "話せます";
    partly_speaking(connected: usize, workspaces: usize):
        "speaking in {connected} of {workspaces} workspaces" / "{workspaces} ワークスペース中 {connected} か所で話せます";
    partly_muted(muted: usize, workspaces: usize):
        "muted in {muted} of {workspaces} workspaces" / "{workspaces} ワークスペース中 {muted} か所でミュート中";
    menu: "Menu" / "メニュー";
    filter: "Filter" / "絞り込み";
    mute: "Mute" / "ミュート";
    mute_everything: "Mute everything" / "すべてを今すぐミュート";
    unmute_everything: "Unmute everything" / "すべてのミュートを解除";
    everything_muted: "It says nothing anywhere until you unmute it." / "解除するまで、どこでも何も話しません。";
    speaks_again: "It speaks again." / "また話します。";
    feed: "What it said and held back" / "話したこと、話さなかったこと";
    today: "Today" / "今日";
    yesterday: "Yesterday" / "昨日";
    weekday_and_day(weekday: &str, day: &str): "{weekday} {day}" / "{day}（{weekday}）";
    said_today: "Said today" / "今日の発言";
    mean(mean: &str): "usually {mean} a day" / "ふだんは 1 日 {mean}";
    trend: "The last seven days, and today" / "直近 7 日と今日";
    said: "said" / "話した";
    held_back: "held back" / "話さなかった";
    failed: "failed" / "失敗";
    undecided: "waiting" / "判断待ち";
    nothing_said: "nothing said" / "発言なし";
    withdrawn: "withdrawn" / "取り消し";
    not_kept: "not recorded" / "記録なし";
    text_hidden: "text hidden from your role" / "あなたの役割では非表示";
    text_hidden_here: "text hidden until you sign in" / "ログインするまで非表示";
    reason_hidden: "reason hidden" / "理由は非表示";
    addressed: "it was addressed" / "呼びかけられたため";
    reason: "Reason" / "理由";
    feed_empty:
        "Nothing has happened in this time. Whenever it says something or holds it back, a line with the reason appears here."
        / "この期間の記録はありません。話したり、話すのをやめたりするたびに、理由とともにここに表示されます。";
    nearest(workspace: &str, told: &str): "nearest to its limit: {workspace}, {told}" / "上限に最も近いのは{workspace}：{told}";
    texts_withheld(count: usize, why: &str): "Texts not shown below: {count}. {why}" / "下の一覧のうち {count} 件は、発言の内容を表示していません。{why}";
    no_match: "No decision of this time matches the filter." / "この期間に、条件に合う判断はありません。";
}

/// The heading of a day's rows.
pub fn day(language: Language, date: Date, now: Date) -> String {
    let (weekday, day) = (builtin::weekday(language, date.weekday()), builtin::day(language, date));
    match now.since(date).map_or(-1, |ago| ago.get_days()) {
        0 => today(language).to_owned(),
        1 => yesterday(language).to_owned(),
        _ => weekday_and_day(language, weekday, &day),
    }
}

/// A time as briefly as it is clear on the day `now`: “14:56”, “yesterday 22:51”, “29 Nov 22:51”.
pub fn brief(language: Language, at: DateTime, now: Date) -> String {
    let (date, time) = (at.date(), builtin::time_of_day(at.time()));
    let format = match date.year() == now.year() {
        true => pick(language, "%-d %b", "%-m月%-d日"),
        false => pick(language, "%-d %b %Y", "%Y年%-m月%-d日"),
    };
    match now.since(date).map_or(-1, |ago| ago.get_days()) {
        0 => time,
        1 => format!("{} {time}", yesterday(language).to_lowercase()),
        _ => format!("{} {time}", date.strftime(format)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_named_as_people_name_them() {
        let day = |text: &str| text.parse::<Date>().unwrap();
        for (date, english, japanese) in [
            ("2026-12-01", "Today", "今日"),
            ("2026-11-30", "Yesterday", "昨日"),
            ("2026-11-29", "Sunday 29 November", "11月29日（日曜日）"),
        ] {
            let told = [Language::En, Language::Ja]
                .map(|language| super::day(language, day(date), day("2026-12-01")));
            assert_eq!(told, [english, japanese]);
        }
    }

    #[test]
    fn times_are_as_brief_as_they_are_clear() {
        for (at, english, japanese) in [
            ("2026-12-01T08:05:59", "08:05", "08:05"),
            ("2026-11-30T22:51:39", "yesterday 22:51", "昨日 22:51"),
            ("2026-11-29T22:51:39", "29 Nov 22:51", "11月29日 22:51"),
            ("2026-12-02T00:00:00", "2 Dec 00:00", "12月2日 00:00"),
            ("2025-12-01T08:05:00", "1 Dec 2025 08:05", "2025年12月1日 08:05"),
        ] {
            let (at, now) = (at.parse().unwrap(), "2026-12-01".parse().unwrap());
            let told = [Language::En, Language::Ja].map(|language| brief(language, at, now));
            assert_eq!(told, [english, japanese]);
        }
    }
}
