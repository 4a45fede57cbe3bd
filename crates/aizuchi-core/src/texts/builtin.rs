//! What the built-in mind says, and why it would join in or not.

use jiff::civil::{Date, Weekday};

use crate::persona::Language;
use crate::texts::{Name, pick};

texts! {
    // Why it would join in or not.
    asked_the_room(name: Name<'_>):
        "{name} asked the room something and nobody has answered"
        / "{name:#}の質問に、まだ誰も答えていません";
    conversation_ended: "the talk has come to its end" / "会話は一区切りついています";
    question_answered: "somebody has taken up the question" / "質問には誰かが応じています";
    question_directed:
        "the question was put to somebody else"
        / "質問は別の人に向けられたものでした";
    talking_to_each_other: "people were talking to each other" / "参加者どうしで話していました";
    no_question: "nobody asked the room anything" / "みんなへの質問はありませんでした";
    good_news: "good news deserve a nod rather than words" / "うれしい知らせには、言葉よりリアクションで応えました";
    bad_news: "sad news deserve a nod rather than words" / "つらい知らせには、言葉よりリアクションで応えました";

    // Unasked.
    listening: "I am listening." / "聞いています。";
    /// What is known about the question follows, or another question.
    question_open(name: Name<'_>, quote: &str, rest: &str):
        "{name}’s question is still open: “{quote}” {rest}"
        / "{name:#}の質問がまだ残っています。「{quote}」{rest}";
    can_anyone_help: "Can anyone help?" / "どなたかご存じですか？";

    // Manners.
    called(name: Name<'_>, persona: &str):
        "Yes, {name}? Ask me what was said here, or say `@{persona} help`."
        / "はい、{name:#}。ここで話されたことなら聞いてください。`@{persona} ヘルプ` で使い方を出します。";
    good_morning(name: Name<'_>): "Good morning, {name}." / "{name:#}、おはようございます。";
    good_day(name: Name<'_>): "Hello, {name}." / "{name:#}、こんにちは。";
    good_evening(name: Name<'_>): "Good evening, {name}." / "{name:#}、こんばんは。";
    /// Follows a greeting at the first meeting.
    greeting_with_name(greeting: &str, persona: &str):
        "{greeting} I am {persona}. I listen here and keep what is said; ask me about it, or say `@{persona} help`."
        / "{greeting}{persona} です。ここの話を聞いて覚えています。気になることは聞いてください。`@{persona} ヘルプ` で使い方を出します。";
    goodbye(name: Name<'_>): "See you, {name}." / "{name:#}、またお話ししましょう。";
    goodbye_after_work(name: Name<'_>): "See you, {name}." / "{name:#}、お疲れさまでした。";
    good_night(name: Name<'_>): "Good night, {name}." / "{name:#}、おやすみなさい。";
    welcome(name: Name<'_>): "You are welcome, {name}." / "{name:#}、どういたしまして。";
    no_harm(name: Name<'_>): "No harm done, {name}." / "{name:#}、お気になさらず。";
    praised(name: Name<'_>): "Thank you, {name}, that is kind." / "{name:#}、ありがとうございます。うれしいです。";
    insulted(name: Name<'_>, persona: &str):
        "Sorry that I was no help, {name}. If you want me to be quiet, say `@{persona} stop`."
        / "{name:#}、お役に立てず、すみません。静かにしてほしいときは `@{persona} ストップ` と言ってください。";
    corrected(name: Name<'_>):
        "Sorry, {name}. I can only quote what was said here. Ask me again with a word that was used, and I will look again."
        / "{name:#}、失礼しました。ここで話されたことを引用することしかできません。話に出た言葉を入れて聞いてもらえれば、もう一度探します。";
    mood(name: Name<'_>):
        "I am well, thank you, {name}. I am listening."
        / "{name:#}、ありがとうございます。元気です。みなさんの話を聞いています。";
    present(name: Name<'_>): "Yes, {name}, I am here." / "はい、{name:#}。ここにいます。";
    understood(name: Name<'_>):
        "I see, {name}. I keep what is said here, so ask me about it when you need it."
        / "わかりました、{name:#}。ここでの話は覚えておくので、必要なときに聞いてください。";
    congratulations(name: Name<'_>): "Congratulations, {name}! 🎉" / "{name:#}、おめでとうございます！🎉";
    sympathy(name: Name<'_>): "I am sorry to hear that, {name}." / "{name:#}、それはおつらいですね。";

    // About itself.
    identity(persona: &str):
        "I am {persona}, a companion in this chat: a program, not a person. I listen, keep what is said, and answer when "
        "I am asked. Otherwise I stay silent, unless a question is left unanswered. I run without a language model here, "
        "so I answer by quoting. `@{persona} why?` tells why I spoke or stayed silent, `@{persona} help` the rest."
        / "{persona} です。このチャットの仲間で、人ではなくプログラムです。話を聞いて覚え、聞かれたら答えます。"
          "ふだんは黙っていて、誰も答えない質問が残ったときだけ声をかけます。"
          "いまは言語モデルなしで動いているので、ここで話されたことを引用して答えます。"
          "`@{persona} なぜ？` で話した理由や黙っていた理由を、`@{persona} ヘルプ` でほかの使い方を答えます。";
    abilities(persona: &str):
        "You can ask me:\n"
        "- to find what was said: “when is the deploy?”, “what did Mia say about the pump?”\n"
        "- to keep something: “remember that the deploy is on Friday”\n"
        "- what you missed: “what did we talk about?”\n"
        "- for the time and the date\n"
        "- why I spoke or stayed silent: `@{persona} why?`\n"
        "`@{persona} help` lists the commands. With a language model I can do more: ask me how to connect one."
        / "こんなことができます。\n"
          "- 話されたことを探す：「デプロイはいつ？」「美亜さんはポンプについて何て言ってた？」\n"
          "- 覚えておく：「デプロイは金曜日だと覚えておいて」\n"
          "- これまでの話を振り返る：「何の話をしてた？」\n"
          "- 時刻と日付を答える\n"
          "- 話した理由や黙っていた理由を答える：`@{persona} なぜ？`\n"
          "コマンドの一覧は `@{persona} ヘルプ` で出ます。言語モデルをつなぐと、もっといろいろなことができます。つなぎ方も聞いてください。";
    connect_model:
        "I run without a language model now: I follow rules and quote what was said. To connect one, start me with "
        "`aizuchi --model ollama/qwen3:8b` (a model on this machine), or put `OPENAI_API_KEY=…` into the file `.env` and "
        "start me with `aizuchi --model openai/gpt-4o-mini`. The local room’s page can do it, too."
        / "いまは言語モデルを使わず、決まりに従って、ここで話されたことを引用しています。"
          "モデルをつなぐには、`aizuchi --model ollama/qwen3:8b`（この機械の上のモデル）で起動するか、"
          "`.env` に `OPENAI_API_KEY=…` を書いて `aizuchi --model openai/gpt-4o-mini` で起動してください。"
          "ローカルルームのページからもつなげます。";

    // Time.
    time(time: &str): "It is {time}." / "{time} です。";
    date(weekday: &str, day: &str, year: i16): "Today is {weekday}, {day} {year}." / "今日は {year} 年 {day}、{weekday}です。";
    today_at(time: &str): "at {time}" / "{time}";
    yesterday_at(time: &str): "yesterday at {time}" / "昨日の {time}";
    on_day(day: &str): "on {day}" / "{day}";
    on_day_of_year(day: &str, year: i16): "on {day} {year}" / "{year} 年 {day}";
    /// `when` is one of those above.
    when_in(when: &str, channel: &str): "{when} in #{channel}" / "{when}、#{channel} ";

    // What was said.
    said(speaker: Name<'_>, when: &str, quote: &str):
        "{speaker} said {when}: “{quote}”"
        / "{when}に{speaker:#}が話していました。「{quote}」";
    said_line(speaker: Name<'_>, when: &str, quote: &str):
        "- {speaker} {when}: “{quote}”"
        / "- {speaker:#}（{when}）「{quote}」";
    asked_to_keep(speaker: Name<'_>, when: &str, quote: &str):
        "{speaker} asked me {when} to remember: “{quote}”"
        / "{when}に{speaker:#}から頼まれて覚えています。「{quote}」";
    you_asked_to_keep(when: &str, quote: &str):
        "You asked me {when} to remember: “{quote}”"
        / "{when}に頼まれて覚えています。「{quote}」";
    kept(name: Name<'_>, quote: &str):
        "I will remember it, {name}: “{quote}”"
        / "{name:#}、覚えました。「{quote}」";
    recap: "The last that was said here:" / "ここでの最近の話です。";
    nothing_to_recap(name: Name<'_>):
        "Nobody else has said anything here yet, {name}."
        / "{name:#}、ほかの人はまだ何も話していません。";
    found: "This is what I found:" / "見つかったのは次の発言です。";
    speaker_said_nothing(speaker: Name<'_>):
        "I found nothing about that from {speaker}."
        / "{speaker:#}がそのことを話した発言は見つかりませんでした。";
    nobody_said: "I found nothing about that." / "それについての発言は見つかりませんでした。";

    // Where nothing answers.
    no_answer(name: Name<'_>, only_quotes: &str, how_to_connect: &str):
        "Nothing that was said here answers that, {name}. {only_quotes} {how_to_connect}"
        / "{name:#}、ここで話されたことの中に答えは見つかりませんでした。{only_quotes}{how_to_connect}";
    only_quotes:
        "I run without a language model, so I can only quote this room."
        / "いまは言語モデルなしで動いているので、ここでの発言を引用することしかできません。";
    how_to_connect:
        "Connect one on the local room’s page, or with `aizuchi --model ollama/qwen3:8b`."
        / "ローカルルームのページか、`aizuchi --model ollama/qwen3:8b` でモデルをつなげます。";
    no_answer_again(name: Name<'_>):
        "I found nothing about that here, {name}."
        / "{name:#}、それはここでの話の中には見つかりませんでした。";
    no_answer_among_several(name: Name<'_>):
        "I found nothing about that here, {name}. Does anyone else know?"
        / "{name:#}、それはここでの話の中には見つかりませんでした。どなたかご存じですか？";

    joke_on_threads:
        "Two messages want to meet. One says: “Sorry, I am in another thread.”"
        / "相槌を打つのが仕事です。釘は打てません。";
    joke_on_patience:
        "I know a joke about patience. I tell it when the talk has rested."
        / "沈黙は金といいます。おかげで、私はかなりの資産家です。";
    joke_on_roads:
        "Why did the bot not cross the road? It waited to see whether somebody else would."
        / "「待つのは得意ですか」と聞かれました。答えは、もう少し待ってください。";
    joke_on_music:
        "My favorite part of any music is the rest."
        / "好きな音楽の記号は、休符です。";
}

/// In the order in which they are told.
pub const JOKES: [fn(Language) -> &'static str; 4] =
    [joke_on_threads, joke_on_patience, joke_on_roads, joke_on_music];

/// The day and the month: “23 November”, 「11 月 23 日」.
pub fn day(language: Language, date: Date) -> String {
    match language {
        Language::En => date.strftime("%-d %B").to_string(),
        Language::Ja => date.strftime("%-m 月 %-d 日").to_string(),
    }
}

pub fn weekday(language: Language, day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => pick(language, "Monday", "月曜日"),
        Weekday::Tuesday => pick(language, "Tuesday", "火曜日"),
        Weekday::Wednesday => pick(language, "Wednesday", "水曜日"),
        Weekday::Thursday => pick(language, "Thursday", "木曜日"),
        Weekday::Friday => pick(language, "Friday", "金曜日"),
        Weekday::Saturday => pick(language, "Saturday", "土曜日"),
        Weekday::Sunday => pick(language, "Sunday", "日曜日"),
    }
}
