//! Reminders and other plans: what is said when they fall due, and the answers to commands about them.

use crate::persona::Language;
use crate::plan::{Plan, PlanKind};
use crate::texts::Name;

texts! {
    /// `name` is the display name of a user, which the platform turns into a mention.
    reminder(name: &str, what: &str): "@{name} You asked me to remind you: {what}" / "@{name} リマインドです：{what}";
    reminder_from(name: &str, asker: Name<'_>, what: &str):
        "@{name} A reminder from {asker}: {what}"
        / "@{name} {asker:#}からのリマインドです：{what}";
    reminder_to_all(asker: Name<'_>, what: &str):
        "A reminder from {asker}: {what}"
        / "{asker:#}からのリマインドです：{what}";
    check_back(name: &str, what: &str):
        "@{name} You asked me to come back to this: {what}"
        / "@{name} あとで声をかけるように言われていた件です：{what}";
    promise(name: &str, what: &str):
        "@{name} I said I would come back to this: {what}"
        / "@{name} あとで声をかけると言っていた件です：{what}";
    /// Why a plan of its own is said.
    promised(asker: Name<'_>): "I had said to {asker} that I would" / "{asker:#}に、そうすると言っていました";
    /// For the model that words it.
    to_keep_now(asker: Name<'_>, what: &str):
        "You told {asker} that you would do this at this time, and the time has come: {what}. Do it now, and say what you found"
        / "{asker:#}に、この時刻に次のことをすると伝えていて、その時刻になりました：{what}。いま実行して、わかったことを伝えてください";
    /// Instead of a draft that was nothing but a promise.
    cannot_promise: "I have no answer to this yet." / "まだお答えできることがありません。";
    follow_up(name: &str, asker: Name<'_>, what: &str):
        "@{name} {asker} is still waiting for an answer from you: {what}"
        / "@{name} {asker:#}が返事を待っています：{what}";
    /// Follows a text that is said later than it was asked for.
    late(due: &str):
        "(This was due {due}; I was not running then.)"
        / "（予定は {due} でしたが、そのとき私は止まっていました。）";
    nothing_named: "what you wanted to be reminded of" / "お知らせの時間です";
    /// Why something was said.
    asked_by(asker: Name<'_>): "{asker} asked for it to be said then" / "{asker:#}がこの時刻に言うように頼んでいました";
    /// For the model that words a post.
    to_post_now(asker: Name<'_>, what: &str):
        "{asker} asked you to post this here at this time, and the time has come: {what}. Write that post now; greet nobody, and do not say that you were asked"
        / "{asker:#}から、この時刻にここへ次の投稿をするように頼まれていて、その時刻になりました：{what}。いま、その投稿を書いてください。あいさつや、頼まれたという説明は要りません";
    /// Why a plan was dropped.
    has_answered: "the person has written here since" / "本人がそのあとここに書いていました";
    was_answered: "somebody has answered it since" / "そのあと、答えがありました";
    question_gone: "the question is gone, or much was written since" / "質問が消えたか、そのあと多くの発言がありました";
    turned_off: "this has been turned off for the channel" / "このチャンネルでは無効になりました";
    not_silent: "somebody has written since it was planned" / "予定したあとに発言がありました";
    spoke_today: "it had said something there within a day" / "ここで1日以内に発言していました";
    missed_nothing: "the asker had missed nothing" / "頼んだ人が見逃したものはありませんでした";
    outdated:
        "its moment had passed while I was not running, and its next time is near"
        / "止まっている間に時刻が過ぎ、次の回のほうが近かったためです";

    /// When a plan is said that does not recur, in the answer to a new plan.
    once(moment: &str): "on {moment}" / "{moment} に";
    /// The answer to a new plan. `due` is one of those above and below.
    will_remind(number: i64, name: &str, due: &str, undo: &str):
        "I’ll remind you {due} (no. {number}). To cancel: “@{name} {undo}”."
        / "{due}お知らせします（{number} 番）。取り消すには「@{name} {undo}」と書いてください。";
    will_remind_other(number: i64, whom: &str, due: &str, name: &str, undo: &str):
        "I’ll remind {whom} {due} (no. {number}). To cancel: “@{name} {undo}”."
        / "{due}{whom} へお知らせします（{number} 番）。取り消すには「@{name} {undo}」と書いてください。";
    will_post(number: i64, due: &str, name: &str, undo: &str):
        "I’ll post that here {due} (no. {number}). To cancel: “@{name} {undo}”."
        / "{due}ここへ投稿します（{number} 番）。取り消すには「@{name} {undo}」と書いてください。";
    will_check_back(number: i64, due: &str, name: &str, undo: &str):
        "I’ll come back to this {due} (no. {number}). To cancel: “@{name} {undo}”."
        / "{due}もう一度声をかけます（{number} 番）。取り消すには「@{name} {undo}」と書いてください。";
    will_catch_up(number: i64, due: &str, name: &str, undo: &str):
        "I’ll tell you what you missed {due} (no. {number}). To cancel: “@{name} {undo}”."
        / "{due}見逃したことをお伝えします（{number} 番）。取り消すには「@{name} {undo}」と書いてください。";
    will_follow_up(number: i64, whom: &str, due: &str, name: &str, undo: &str):
        "I’ll ask {whom} again {due} unless they have written here by then (no. {number}). To cancel: “@{name} {undo}”."
        / "{whom} がそれまでにここへ書かなければ、{due}もう一度たずねます（{number} 番）。取り消すには「@{name} {undo}」と書いてください。";
    /// Both parts of the time of a plan that recurs.
    recurring(recurrence: &str, first: &str):
        "{recurrence}, first on {first},"
        / "{recurrence}（初回 {first}）に";
    undo_command(number: i64): "cancel reminder {number}" / "リマインダー {number} を取り消して";
    /// Named to the user as the channel's people in general.
    everybody: "everybody here" / "みなさん";
    is_past(due: &str): "{due} has passed already. When should it be?" / "{due} はもう過ぎています。いつにしますか？";
    which_day_or_month:
        "I can read that date in two ways: is the day or the month first? Please write the month as a word."
        / "その日付は 2 通りに読めます。「12月4日」のように書いてください。";
    no_such_time:
        "There is no such day or time. When should I remind you?"
        / "その日付や時刻はありません。いつお知らせしましょうか？";
    which_time: "You named several times. Which one should it be?" / "時刻がいくつか書かれています。どれにしますか？";
    too_often:
        "I can do that once a day at most. Which time of the day should it be?"
        / "1 日に 1 回までです。何時にしますか？";
    when_exactly:
        "When should I do that? For example “in 20 minutes”, “tomorrow at 9” or “every Friday at 17:00”."
        / "いつにしましょうか？「20分後」「明日の9時」「毎週金曜の17時」のように書いてください。";
    /// The page of the console.
    title: "Reminders" / "リマインダー";
    explained:
        "What people asked to be told at a time: reminders, posts and follow-ups, next due first. Whether each is still wanted is looked at when it falls due."
        / "時刻を決めて頼まれていること（リマインド、投稿、返事の催促）。近いものから順に並びます。まだ必要かどうかは、その時刻に確かめます。";
    no_plans:
        "Nothing is planned. Reminders that people ask for in the chat appear here."
        / "予定はありません。チャットで頼まれたリマインダーがここに並びます。";
    channel_or_person: "Channel or person" / "チャンネルまたは人";
    due: "Due" / "時刻";
    to_say: "To say" / "内容";
    asker: "Asked for by" / "頼んだ人";
    cancel: "Cancel" / "取り消す";
    /// Refusals.
    could_not_make:
        "I did not note that: there are too many reminders already. Cancel some first."
        / "登録できませんでした。リマインダーがすでに多すぎます。先にどれかを取り消してください。";
    /// It was cancelled now, or is done, or there never was one.
    cancelled(number: i64): "Reminder {number} is not planned any more." / "リマインダー {number} は取り消し済みです。";
    no_such_plan(number: i64):
        "There is no reminder {number} of yours here."
        / "ここにあなたのリマインダー {number} はありません。";
    none: "Nothing is planned here." / "ここで予定していることはありません。";
    listed_unanswered(question: &str):
        "see whether this was answered: {question}" / "答えがあったかどうかの確認：{question}";
    listed_first_word: "a first word, if there is one" / "自分からの最初の一言（あれば）";
    list_title: "Planned here:" / "ここで予定していること：";
    list_line(number: i64, due: &str, what: &str): "{number}. {due}: {what}" / "{number}. {due}：{what}";
}

/// What is to be said, or words for nothing in particular.
pub fn what_or_none(language: Language, what: &str) -> &str {
    match what.is_empty() {
        true => nothing_named(language),
        false => what,
    }
}

/// What a plan is for, in a list.
pub fn listed(language: Language, plan: &Plan) -> String {
    match plan.kind {
        PlanKind::Unanswered => listed_unanswered(language, &plan.what),
        PlanKind::FirstWord => listed_first_word(language).to_owned(),
        _ => what_or_none(language, &plan.what).to_owned(),
    }
}
