//! The console's page for trying other settings on a channel's last days.

use crate::persona::Language;
use crate::texts::pick;

texts! {
    title: "Try other settings" / "設定を試す";
    explained(name: &str):
        "The last days of #{name} are gone through again with other settings. Nothing is posted. What the judge said at "
        "the time is used again; where it was not asked, nobody guesses."
        / "#{name} の最近の会話を、別の設定でもう一度たどります。投稿はしません。当時の判断をそのまま使い、判断の記録が"
        "ない場面は推測しません。";
    settings: "Settings" / "設定";
    period: "Days" / "期間";
    last_days(days: i64): "{days} days" / "{days} 日間";
    one_day: "1 day" / "1 日間";
    min_confidence: "Stays silent below this confidence" / "確信度がこれより低ければ黙る";
    min_wait: "Waits for a rest of (seconds)" / "会話の間を待つ時間（秒）";
    min_wait_floor: "Waits at least (seconds)" / "待つ時間の下限（秒）";
    max_wait: "Waits at most (seconds)" / "待つ時間の上限（秒）";
    max_delay: "Speaks after at most (seconds)" / "発言までの遅れの上限（秒）";
    cooldown: "After an unasked post, waits (seconds)" / "自分から話したあと空ける時間（秒）";
    in_force(value: &str): "now {value}" / "現在 {value}";
    gates: "Says nothing without asking the judge" / "判断を求めずに黙る場面";
    run: "Try it" / "試す";
    reset: "Back to the settings in force" / "現在の設定に戻す";
    working: "Going through the last days …" / "最近の会話をたどっています…";

    result: "What would change" / "変わること";
    heard(messages: usize, since: &str):
        "{messages} messages by people since {since}."
        / "{since} 以降の人の発言 {messages} 件が対象です。";
    cut(most: usize):
        "There was more; the newest {most} messages are looked at."
        / "これより前の発言は対象外です（新しいものから {most} 件まで）。";
    nothing_heard: "Nothing was said here in this time." / "この期間の発言はありません。";
    tolerance(labels: usize, least: usize, present: &str, tried: &str):
        "A tolerance is set here. By {labels} labels, which are marks and words whose welcome is clear (it takes {least}), it comes to a confidence of "
        "{present} under the settings in force, and of {tried} under these. What holds moves there by small steps."
        / "ここでは tolerance が設定されています。評価と、受け取られ方のはっきりした発言を合わせた {labels} 件（{least} 件以上で有効）から、必要な確信度は現在の設定で "
          "{present}、試した設定で {tried} になります。実際の値は、少しずつそこへ近づきます。";
    in_force_column: "In force" / "現在の設定";
    tried_column: "Tried" / "試した設定";
    spoken_to: "spoken to" / "発言する";
    reacted: "reacted to" / "リアクションする";
    kept_silent: "kept silent about" / "黙る";
    unknown: "not known" / "不明";
    not_looked_at: "not looked at" / "判断の対象外";
    no_change: "Change a setting to see what it would change." / "設定を変えると、変わる場面を表示します。";
    same: "Nothing would change." / "変わる場面はありません。";
    newly_spoken_to(count: usize): "Would be spoken to: {count}" / "新たに発言する：{count} 件";
    newly_silent(count: usize): "Would be kept silent about: {count}" / "黙るようになる：{count} 件";
    newly_unknown(count: usize): "Not known: {count}" / "不明：{count} 件";
    unknown_explained:
        "There is no recorded verdict on these moments, so nobody knows whether it would speak."
        / "これらの場面には判断の記録がなく、発言するかどうかはわかりません。";
    shown_of(shown: usize, count: usize):
        "The first {shown} of {count} are shown."
        / "{count} 件のうち最初の {shown} 件を表示しています。";
    open_timeline: "In the timeline" / "タイムラインで見る";
    open_decision: "What was decided then" / "当時の判断";
    because: "Because" / "理由";
    reason_withheld: "The reason is shown to admins." / "理由は管理者にだけ表示します。";
    how_it_was: "In force" / "現在の設定";
    how_it_would_be: "Tried" / "試した設定";

    estimate(model: &str, calls: u64, cost: &str):
        "{model} would be asked about {calls} moments: {cost}."
        / "{model} に {calls} 場面を問い合わせます：{cost}。";
    asked(model: &str, calls: u64, cost: &str, unknown: u64):
        "{model} was asked {calls} times for {cost}; {unknown} moments stay unknown."
        / "{model} に {calls} 回問い合わせ、費用は {cost} でした。不明のままの場面：{unknown} 件。";

    patch_explained:
        "Copy this into config.yaml; it holds after the next start or reload."
        / "config.yaml に書き写してください。次の起動または再読み込みから有効です。";

    /// `place` says where a user has set it.
    ordered_over(place: &str, name: &str, value: &str):
        "Somebody has set the confidence ({place}), and that stands over config.yaml: min_confidence in this patch does not hold before it is taken back. "
        "“@{name} set confidence {value}”, said in the channel by an admin, or “Settings” on the channel's page, sets it at once."
        / "確信度はすでにチャットかコンソールで設定されていて（{place}）、config.yaml より優先されます。それを元に戻すまで、この min_confidence は効きません。"
          "チャンネルで管理者が「@{name} 確信度を{value}にして」と書くか、チャンネルのページの「設定」で変えると、すぐに効きます。";

    wrong_number(name: &str): "{name} is not a number that it may have" / "{name} の値が正しくありません";
}

/// What a gate excludes.
pub fn gate(language: Language, name: &str) -> &'static str {
    match name {
        "directed" => pick(language, "what is said to somebody else", "ほかの人に宛てた発言"),
        "unchanged" => pick(language, "nothing new since it last looked", "前回から変化がない"),
        "nothing_open" => pick(language, "nobody waits for anything", "返事を待つ人がいない"),
        "cooldown" => pick(language, "it has just spoken unasked", "自分から話したばかり"),
        _ => pick(language, "it has said much lately", "最近の発言の割合が高い"),
    }
}
