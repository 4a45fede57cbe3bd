//! The demo: what its two users say, and the captions that explain what happens.

use crate::decision::DecisionResult;
use crate::persona::Language;

texts! {
    first_person: "Mia" / "美咲";
    second_person: "Tom" / "健太";

    // The script. Where it should be met with silence, it contains no requests, thanks or news.
    storm: "That was quite a storm last night." / "昨日の夜の嵐、すごかったね。";
    cat:
        "It was. Our cat sat in the laundry basket until six."
        / "うん。うちの猫は朝の 6 時まで洗濯かごの中にいたよ。";
    cable:
        "Ours slept right through it. By the way, I put the spare cable for the projector in the second drawer."
        / "うちの子はずっと寝てた。そうそう、プロジェクターの予備ケーブルは二段目の引き出しに入れておいたよ。";
    which_room:
        "Does anyone know which room the workshop is in?"
        / "今日の勉強会がどの部屋か、誰か知ってる？";
    room_four: "In room 4, on the second floor." / "2 階の第 4 会議室だよ。";
    meeting: "I am in a meeting until two." / "2 時まで打ち合わせに出てくるね。";
    where_cable:
        "Does anyone remember where the spare cable for the projector is?"
        / "プロジェクターの予備ケーブルがどこにあるか、誰か覚えてる？";
    stop(name: &str): "@{name} stop" / "@{name} ストップ";
    why(name: &str): "@{name} why?" / "@{name} なぜ？";

    // What is about to happen.
    small_talk(first: &str, second: &str, name: &str):
        "{first} and {second} are chatting. {name} listens and waits for a pause: a few seconds here, "
        "longer in a real channel."
        / "{first}さんと{second}さんが雑談しています。{name} は会話が途切れるのを待ちます。"
          "デモでは数秒、実際のチャンネルではもっと長く待ちます。";
    question(asker: &str, name: &str):
        "{asker} asks everyone a question. {name} waits to see whether someone answers."
        / "{asker}さんがみんなに質問します。{name} は誰かが答えるかどうか、待ってみます。";
    left_alone(other: &str, asker: &str):
        "{other} leaves for a meeting, and {asker} has another question."
        / "{other}さんが打ち合わせに出たあと、{asker}さんがまた質問します。";
    told_to_stop(asker: &str, name: &str):
        "{asker} tells {name} to stop for now."
        / "{asker}さんが、しばらく話さないように {name} に伝えます。";
    asked_why(asker: &str, name: &str):
        "{asker} asks {name} why."
        / "{asker}さんが {name} に理由を尋ねます。";

    // What happened. `why` is the reason in the ledger.
    stayed_silent(name: &str, why: &str):
        "{name} stayed silent: “{why}”. The reason is shown under the last message."
        / "{name} は黙っていました。理由は「{why}」。最後の発言の下にも書いてあります。";
    spoke(name: &str, why: &str):
        "{name} spoke unasked: “{why}”. The reason is shown under its message."
        / "{name} は自分から話しました。理由は「{why}」。発言の下にも書いてあります。";
    reacted(name: &str, why: &str):
        "{name} only reacted with an emoji: “{why}”. The reason is shown under the message."
        / "{name} はリアクションだけしました。理由は「{why}」。発言の下にも書いてあります。";
    let_it_be(name: &str, why: &str):
        "{name} decided not to speak after all: “{why}”. The reason is shown under the last message."
        / "{name} は話すのをやめました。理由は「{why}」。最後の発言の下にも書いてあります。";
    was_muted(name: &str, why: &str):
        "{name} stayed silent: “{why}”."
        / "{name} は黙っていました。理由は「{why}」。";
    over_budget(name: &str, why: &str):
        "{name} did not consider it: “{why}”."
        / "{name} は話すかどうかを判断しませんでした。理由は「{why}」。";
    failed(name: &str, why: &str):
        "Something went wrong, and {name} says so: “{why}”."
        / "うまくいきませんでした。{name} の説明は「{why}」。";
    undecided(name: &str):
        "{name} has not decided yet. When it has, the reason will be shown under the message."
        / "{name} はまだ判断していません。判断したら、理由が発言の下に出ます。";
    stopped(name: &str):
        "{name} stopped at once and said how to undo it. Anyone in a channel can do that."
        / "{name} はすぐに静かになり、元に戻す方法を伝えました。チャンネルにいる人なら、誰でも元に戻せます。";
    not_stopped(name: &str):
        "{name} answered, and may still speak here."
        / "{name} は返事をしましたが、ミュートにはなっていません。";
    told_why(name: &str):
        "{name} gave its reason. Each decision is kept with its reason, whether it spoke or not."
        / "{name} が理由を答えました。話したときも黙っていたときも、判断は理由とともに残ります。";
    unanswered(name: &str): "{name} has not answered yet." / "{name} はまだ答えていません。";

    // `aizuchi demo`.
    welcome(name: &str, address: &str):
        "A minute with {name}: {address}\n\n"
        "  Open the page. Two people talk there, and {name} decides when to speak. What happens is shown here too.\n"
        "  Nothing is kept. Press Ctrl-C to stop."
        / "{name} との 1 分間: {address}\n\n"
          "  ページを開くと、二人の会話が始まり、{name} がいつ話すかを決めます。起きたことはここにも表示します。\n"
          "  データは何も残りません。Ctrl-C で終了します。";
    platform_welcome(platform: &str, page: &str, name: &str, room: &str):
        "A stand-in for {platform} with {name} in it: {page}\n\n"
        "  Open the page and write there, with @{name} to get an answer right away. If nobody answers a question,\n"
        "  {name} joins in after a few seconds. Everything stays on this machine, and nothing is kept.\n"
        "  In a real workspace {name} waits longer, and answers only when mentioned until it has a language model.\n\n"
        "  {name}’s local room, to talk with it without {platform}: {room}\n\n"
        "Press Ctrl-C to stop."
        / "{name} が参加している {platform} の模擬環境: {page}\n\n"
          "  ページを開いて書き込んでみてください。@{name} と書けばすぐに答えます。誰も答えない質問には、\n"
          "  数秒待ってから {name} が応じます。すべてこのマシンの中で動き、データは何も残りません。\n"
          "  実際のチャットではもっと長く待ち、言語モデルをつなぐまではメンションされたときだけ答えます。\n\n"
          "  {platform} を使わずに {name} と話せるローカルルーム: {room}\n\n"
          "Ctrl-C で終了します。";
}

/// The outcome of a conversation. A decision without a result failed.
pub fn decided(
    language: Language,
    name: &str,
    result: Option<DecisionResult>,
    why: &str,
) -> String {
    match result {
        Some(DecisionResult::Spoke) => spoke(language, name, why),
        Some(DecisionResult::Reacted) => reacted(language, name, why),
        Some(DecisionResult::Proposed | DecisionResult::ChoseSilence) => {
            stayed_silent(language, name, why)
        }
        Some(DecisionResult::Dropped) => let_it_be(language, name, why),
        Some(DecisionResult::Muted) => was_muted(language, name, why),
        Some(DecisionResult::OverBudget) => over_budget(language, name, why),
        Some(DecisionResult::Failed) | None => failed(language, name, why),
    }
}
