//! The built-in mind's messages, and its reasons for joining in or not.

use jiff::civil::{Date, Time, Weekday};

use crate::persona::Language;
use crate::texts::{Name, pick};

texts! {
    // Reasons for joining in or not.
    asked_the_room(name: Name<'_>):
        "{name} asked the room something and nobody has answered"
        / "{name:#}の質問に、誰も答えていませんでした";
    nobody_reacted(name: Name<'_>):
        "{name} seemed to wait for a word and nobody has reacted"
        / "{name:#}の発言に、まだ誰も反応していませんでした";
    conversation_ended: "the conversation has come to an end" / "会話が一段落していました";
    question_passed_on: "I’ve already said something about this" / "この質問にはもう応じていました";
    question_old: "the question was asked too long ago" / "質問から時間が経ちすぎていました";
    question_answered: "someone has already responded to the question" / "質問には、すでに誰かが応じていました";
    question_directed:
        "the question was put to someone else"
        / "質問は別の人に向けられたものでした";
    question_unclear:
        "it wasn’t clear that the question was for everyone"
        / "みんなへの質問かどうか、はっきりしませんでした";
    talking_to_each_other: "people seemed to be talking to each other" / "参加者どうしで話しているようでした";
    no_question: "nobody asked the room anything" / "みんなへの質問はありませんでした";
    good_news: "good news calls for a reaction rather than words" / "うれしい知らせには、言葉よりリアクションが合いそうでした";
    bad_news: "sad news calls for a reaction rather than words" / "つらい知らせには、言葉よりリアクションが合いそうでした";

    greeting: "a greeting calls for a smile rather than words" / "あいさつには、言葉よりリアクションが合いそうでした";

    // Unsolicited.
    /// `known` is a quotation that may answer the question.
    perhaps_this_helps(name: Name<'_>, known: &str):
        "{name}, this might help: {known}"
        / "{name:#}、ご参考までに。{known}";
    /// Why it says nothing after all.
    nothing_to_say:
        "nothing that was said here would have helped"
        / "参考になりそうな発言が見つかりませんでした";

    /// Why it says nothing after all.
    quoted_lately:
        "I’d already quoted what might have helped here within the last day"
        / "参考になりそうな発言は、24 時間以内にここで引用したばかりでした";

    // In a replay, instead of what a model would say.
    /// Posted right below the question.
    unknown_here(name: Name<'_>):
        "I don’t know that one, {name}. Does anyone else know?"
        / "{name:#}、私にはわかりませんでした。どなたかわかりますか？";
    /// Posted right below a request to do something.
    cannot_help_here(name: Name<'_>):
        "I can’t take that on, {name}. Could anyone else help?"
        / "{name:#}、私にはできません。どなたか引き受けてもらえませんか？";
    /// If others have written since the question.
    question_open(name: Name<'_>, quote: &str):
        "{name}’s question hasn’t been answered yet: “{quote}” Can anyone help?"
        / "{name:#}の「{quote}」、どなたかわかりますか？";

    // Manners.
    called(name: Name<'_>, persona: &str):
        "Yes, {name}? Ask me about anything that was said here, or say `@{persona} help`."
        / "はい、{name:#}。何でしょうか。使い方は `@{persona} ヘルプ` でどうぞ。";
    hello_again(name: Name<'_>): "Hello again, {name}." / "はい、{name:#}。どうしましたか？";
    /// At the first meeting.
    first_greeting(name: Name<'_>, persona: &str):
        "Hello, {name}. I’m {persona}. I listen here and remember what’s said. Ask me about it any time, or say `@{persona} help`."
        / "{name:#}、こんにちは。{persona} です。ここでの会話を覚えておきます。気になることがあれば聞いてください。"
          "使い方は `@{persona} ヘルプ` で確認できます。";
    corrected(name: Name<'_>):
        "Sorry, {name}. I can only quote what was said here. Try asking with a word that came up in the chat, and I’ll look again."
        / "{name:#}、失礼しました。私にできるのは、ここでの発言の引用だけです。会話に出てきた言葉を入れて聞いていただければ、もう一度探します。";
    understood(name: Name<'_>, only_listens: &str):
        "Noted, {name}. {only_listens}"
        / "{name:#}、わかりました。{only_listens}";
    only_listens:
        "If anyone asks about it, I’ll quote you."
        / "誰かに聞かれたら、そのままお伝えします。";
    /// Later, if it may not react.
    noted(name: Name<'_>): "Got it, {name}." / "{name:#}、承知しました。";
    congratulations(name: Name<'_>): "Congratulations, {name}! 🎉" / "{name:#}、おめでとうございます！🎉";
    sympathy(name: Name<'_>): "Sorry to hear that, {name}." / "{name:#}、それはおつらいですね。";
    /// If someone has died.
    condolences(name: Name<'_>): "I’m so sorry, {name}." / "{name:#}、そうでしたか……。おつらいですね。";

    sees_no_pictures(name: Name<'_>):
        "I can’t see pictures, {name}; I only know what’s written here. Tell me what it shows, and I can quote you later."
        / "{name:#}、画像は見られません。わかるのは書かれたことだけです。何が写っているか書いてもらえれば、あとでお伝えできます。";
    hears_no_recordings(name: Name<'_>):
        "I can’t hear recordings, {name}; I only know what’s written here. Tell me what’s said in it, and I can quote you later."
        / "{name:#}、音声は聞けません。わかるのは書かれたことだけです。話の内容を書いてもらえれば、あとでお伝えできます。";
    opens_no_files(name: Name<'_>):
        "I can’t open files, {name}; I only know what’s written here. Tell me what’s in it, and I can quote you later."
        / "{name:#}、ファイルは開けません。わかるのは書かれたことだけです。中身を書いてもらえれば、あとでお伝えできます。";

    // About the built-in mind.
    identity(persona: &str):
        "I’m {persona}, a companion in this chat: a program, not a person. I listen, remember what’s said here, and answer when "
        "I’m asked. Otherwise I stay quiet, unless nobody answers a question and something said earlier helps. I have no language model here, "
        "so I can only quote. Say `@{persona} help` to see what I can do."
        / "{persona} です。このチャットのメンバーで、人ではなくプログラムです。会話を覚えておいて、聞かれたらお答えします。"
          "ふだんは黙っていて、誰も答えない質問に前の発言が役立ちそうなときだけ声をかけます。"
          "言語モデルは使っていないので、できるのは発言の引用だけです。使い方は `@{persona} ヘルプ` で確認できます。";
    abilities(persona: &str):
        "You can ask me:\n"
        "- to find what was said: “when is the deploy?”, “who said something about lunch?”\n"
        "- to remember something: “remember that the deploy is on Friday”\n"
        "- what you missed: “what did I miss?”\n"
        "- the time and the date\n"
        "- why I spoke or stayed silent: `@{persona} why?`\n"
        "`@{persona} help` lists the commands. With a language model I can do more: ask me how to connect one."
        / "こんなことができます。\n"
          "- 前の話を探す：「定例はいつ？」「誰かお昼の話してた？」\n"
          "- 覚えておく：「定例は木曜日だと覚えておいて」\n"
          "- これまでの会話を見せる：「何の話をしてた？」\n"
          "- 時刻と日付を答える\n"
          "- 話した理由や黙っていた理由を答える：`@{persona} なぜ？`\n"
          "コマンドの一覧は `@{persona} ヘルプ` で確認できます。言語モデルをつなぐと、もっといろいろなことができます。つなぎ方もお尋ねください。";
    privacy(persona: &str):
        "I keep the messages of the channels I’m in, in my own database, so that I can find them again. I send them nowhere, "
        "unless I’m connected to a language model. What’s said in a private channel or a direct message stays there. "
        "`@{persona} opt out` and I no longer listen to you; `@{persona} forget me` deletes what you said."
        / "参加しているチャンネルの発言を、あとで探せるように自分のデータベースに保存しています。言語モデルをつながないかぎり、外には送りません。"
          "非公開チャンネルやダイレクトメッセージの話を、ほかで使うことはありません。"
          "`@{persona} オプトアウト` であなたの発言を聞かなくなり、`@{persona} 私のことを忘れて` で発言を消します。";
    forget_one(name: Name<'_>, persona: &str):
        "To have me forget one thing, {name}, begin a line with `>` and the text, and write `@{persona} forget that` below it; "
        "`@{persona} memory` shows what I remember. If you delete the message itself, I forget it, too. `@{persona} forget me` deletes everything you said."
        / "{name:#}、1 つだけ忘れてほしいときは、それを引用して、下に `@{persona} それ忘れて` と書いてください。覚えていることは `@{persona} 記憶` で"
          "見られます。元の発言を削除してもらえば、それも忘れます。`@{persona} 私のことを忘れて` なら、あなたの発言をすべて消します。";
    controls(persona: &str):
        "`@{persona} stop` makes me stop at once, `@{persona} mute 2h` keeps me quiet here for two hours, and "
        "`@{persona} unmute` lets me speak again. `@{persona} help` lists the other commands."
        / "`@{persona} ストップ` ですぐに黙り、`@{persona} 2時間ミュート` で 2 時間、このチャンネルでは話しません。"
          "`@{persona} ミュート解除` でまた話します。ほかのコマンドは `@{persona} ヘルプ` で確認できます。";
    /// Where a model can be connected, as said on that page and elsewhere.
    on_this_page: "on this page" / "このページ";
    on_local_page: "on the page that Aizuchi serves on its machine" / "Aizuchi が動いているマシンで開いたローカルルームのページ";
    connect_model(page: &str):
        "You can connect a language model {page}. Or start me with `aizuchi --model ollama/qwen3:8b` (a model on this machine), or put "
        "`OPENAI_API_KEY=…` into the file `.env` and start me with `aizuchi --model openai/gpt-4o-mini`. "
        "Until then I follow rules and quote what was said."
        / "言語モデルをつなぐ方法はいくつかあります。\n"
          "- 画面から：{page}でモデルを選ぶ\n"
          "- このマシンで動くモデル：`aizuchi --model ollama/qwen3:8b` で起動する\n"
          "- OpenAI など：`.env` に `OPENAI_API_KEY=…` を書き、`aizuchi --model openai/gpt-4o-mini` で起動する\n"
          "それまでは、決まったルールに従って、ここでの発言を引用します。";

    // Time.
    time(time: &str): "It’s {time}." / "{time} です。";
    today(weekday: &str, day: &str, year: i16):
        "Today is {weekday}, {day} {year}."
        / "今日は{day}、{weekday}です。";
    today_at(time: &str): "at {time}" / "{time}";
    yesterday_at(time: &str): "yesterday at {time}" / "昨日の {time}";
    on_day(day: &str): "on {day}" / "{day}";
    on_day_of_year(day: &str, year: i16): "on {day} {year}" / "{year}年{day}";
    /// `when` is one of those above.
    when_in(when: &str, channel: &str): "{when} in #{channel}" / "#{channel} で {when}";

    // What was said. `when` begins the sentence.
    said(speaker: Name<'_>, when: &str, quote: &str):
        "{speaker} said {when}: “{quote}”"
        / "{when} に {speaker:#}が「{quote}」と言っていました。";
    said_line(speaker: Name<'_>, when: &str, quote: &str):
        "- {speaker} {when}: “{quote}”"
        / "- {speaker:#}（{when}）「{quote}」";
    asked_to_keep(speaker: Name<'_>, when: &str, quote: &str):
        "{when}, {speaker} asked me to remember: “{quote}”"
        / "「{quote}」とのことです（{when} に {speaker:#}から聞きました）。";
    you_told_me(speaker: Name<'_>, when: &str, quote: &str):
        "{when}, you told me: “{quote}”"
        / "{when} に {speaker:#}ご自身から「{quote}」と聞いています。";
    you_asked_to_keep(speaker: Name<'_>, when: &str, quote: &str):
        "{when}, you asked me to remember: “{quote}”"
        / "{when} に {speaker:#}ご自身から「{quote}」と聞いています。";
    kept(name: Name<'_>, quote: &str):
        "I’ll remember that, {name}: “{quote}”"
        / "{name:#}、「{quote}」と覚えました。";
    /// Said by the asker, to other users.
    you_said(speaker: Name<'_>, when: &str, quote: &str):
        "{when}, you wrote: “{quote}”"
        / "{when} に {speaker:#}ご自身が「{quote}」と書いていましたよ。";
    /// The earlier version of what has changed since.
    said_before(speaker: Name<'_>, when: &str, quote: &str):
        "Before that, {speaker} said {when}: “{quote}”"
        / "その前は、{when} に {speaker:#}が「{quote}」と言っていました。";
    you_said_before(speaker: Name<'_>, when: &str, quote: &str):
        "Before that, you said {when}: “{quote}”"
        / "その前は、{when} に {speaker:#}ご自身が「{quote}」と書いていました。";
    both(newest: &str, before: &str): "{newest}\n{before}" / "{newest}\n{before}";
    recap: "Here are the latest messages:" / "最近のやりとりです。";
    no_summary:
        "I can’t summarize without a language model, but here are the latest messages:"
        / "言語モデルがないので要約はできませんが、最近の発言はこちらです。";
    no_summary_of_topic:
        "I can’t summarize without a language model, but this is what was said about it:"
        / "言語モデルがないので要約はできませんが、その話の発言はこちらです。";
    nothing_to_recap(name: Name<'_>):
        "Nobody else has said anything here yet, {name}."
        / "{name:#}、ほかの方の発言はまだありません。";
    nothing_from_yesterday(name: Name<'_>):
        "I can’t find anything from yesterday, {name}."
        / "{name:#}、昨日の発言は見つかりませんでした。";
    found: "This is what I found:" / "見つかったのは次の発言です。";
    speaker_said_nothing(speaker: Name<'_>):
        "I have nothing from {speaker} on that to quote here."
        / "{speaker:#}の発言では、お伝えできるものが見当たりませんでした。";
    nobody_said: "I can’t find anything about that." / "その件についての発言は見つかりませんでした。";

    // If nothing answers the question.
    /// `none` is one of those below.
    no_answer(none: &str, only_quotes: &str, how_to_connect: &str):
        "{none} {only_quotes} {how_to_connect}"
        / "{none}{only_quotes}{how_to_connect}";
    only_quotes:
        "Without a language model I can only quote this chat."
        / "言語モデルがないので、ここで出た話しかお答えできません。";
    how_to_connect: "Ask me how to connect one." / "モデルをつなぐ方法は、聞いていただければご案内します。";
    not_found(name: Name<'_>):
        "I don’t know, {name}. I found nothing here that answers that."
        / "すみません、{name:#}。ここでの会話に答えは見つかりませんでした。";
    not_found_again(name: Name<'_>):
        "I can’t find that here, {name}."
        / "{name:#}、その話は見つかりませんでした。";
    not_found_either(name: Name<'_>):
        "I don’t know that one either, {name}."
        / "{name:#}、それもわかりません。";
    /// A related quotation, which may not answer the question, follows.
    perhaps_related(name: Name<'_>, known: &str):
        "I’m not sure, {name}, but I found this: {known}"
        / "{name:#}、はっきりしませんが、近い話ならありました。{known}";
    /// Their last message follows.
    person_writes_here(person: Name<'_>, known: &str):
        "{person} is in this chat. {known}"
        / "{person:#}は、このチャットに参加している方です。{known}";
    /// A message that mentions them follows.
    person_mentioned(person: Name<'_>, known: &str):
        "{person} has been mentioned here. {known}"
        / "{person:#}については、こんな発言がありました。{known}";
    person_unknown(person: Name<'_>):
        "I don’t know who {person} is: the name hasn’t come up here."
        / "{person:#}がどなたなのかはわかりません。まだここで名前が出ていません。";
    nobody_said_when(name: Name<'_>):
        "I can’t find that anybody said when, {name}."
        / "{name:#}、日時についての発言は見つかりませんでした。";
    nobody_said_where(name: Name<'_>):
        "I can’t find that anybody said where, {name}."
        / "{name:#}、場所についての発言は見つかりませんでした。";
    nobody_said_who(name: Name<'_>):
        "I can’t find that anybody said who, {name}."
        / "{name:#}、それが誰なのか、わかる発言は見つかりませんでした。";
    nobody_said_why(name: Name<'_>):
        "I can’t find that anybody said why, {name}."
        / "{name:#}、理由についての発言は見つかりませんでした。";
    nobody_said_how(name: Name<'_>):
        "I can’t find that anybody said how, {name}."
        / "{name:#}、やり方についての発言は見つかりませんでした。";
    nobody_said_how_much(name: Name<'_>):
        "I can’t find a number for that here, {name}."
        / "{name:#}、数字についての発言は見つかりませんでした。";

    // If it is told to do something.
    beyond_me(name: Name<'_>):
        "I can’t do that, {name}: I only find and quote what was said here."
        / "{name:#}、すみません、それはできません。できるのは、ここでの発言を探して引用することだけです。";
    beyond_me_again(name: Name<'_>):
        "That’s beyond me as well, {name}."
        / "{name:#}、それも私にはできません。";
    /// `connect` says how to connect a model.
    with_hint(cannot: &str, connect: &str):
        "{cannot} A language model could do it. {connect}"
        / "{cannot}言語モデルがあればできます。{connect}";
    but_this_was_said:
        "I can’t write anything of my own without a language model, but this was said about it:"
        / "言語モデルがないので自分では書けませんが、その話の発言はこちらです。";

    // Open questions.
    open_questions: "Nobody seems to have answered these yet:" / "まだ答えが出ていないようです。";
    no_open_questions(name: Name<'_>):
        "I don’t see any open questions here, {name}."
        / "{name:#}、答えを待っている質問は見当たりません。";
    not_answered_yet(name: Name<'_>, quote: &str):
        "Not yet, {name}. I’ve seen no answer to “{quote}”."
        / "{name:#}、「{quote}」には、まだ誰も答えていないようです。";
    no_question_of_yours(name: Name<'_>):
        "I don’t see a question of yours to the others here, {name}."
        / "{name:#}からほかの方への質問は見当たりません。";
}

/// A placeholder for a name or a quote. No text contains this noncharacter.
const ANY: &str = "\u{fdd2}";

/// Whether a text only says that a question is open, or that the persona does not know: what a replay shows instead
/// of a model's answer.
pub fn only_asks_again(text: &str) -> bool {
    let forms = [Language::En, Language::Ja].into_iter().flat_map(|language| {
        [
            unknown_here(language, Name(ANY)),
            cannot_help_here(language, Name(ANY)),
            question_open(language, Name(ANY), ANY),
        ]
    });
    forms.into_iter().any(|form| has_form(text, &form))
}

/// Whether a text matches a form with some text in place of each [`ANY`].
fn has_form(text: &str, form: &str) -> bool {
    let (Some((begin, rest)), text) = (form.split_once(ANY), text.trim()) else { return false };
    let Some(mut text) = text.strip_prefix(begin) else { return false };
    let mut parts = rest.split(ANY).peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return text.ends_with(part);
        }
        let Some((_, after)) = text.split_once(part) else { return false };
        text = after;
    }
    false
}

/// Formats the day and the month: “23 November”, 「11月23日」.
pub fn day(language: Language, date: Date) -> String {
    match language {
        Language::En => date.strftime("%-d %B").to_string(),
        Language::Ja => date.strftime("%-m月%-d日").to_string(),
    }
}

/// Formats the time of day: “08:05”, in Japanese, too, as on the pages.
pub fn time_of_day(time: Time) -> String {
    time.strftime("%H:%M").to_string()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_asks_again_is_told_from_what_helps() {
        for language in [Language::En, Language::Ja] {
            for name in ["Mia", "健", "a. b"] {
                for text in [
                    unknown_here(language, Name(name)),
                    cannot_help_here(language, Name(name)),
                    question_open(language, Name(name), "who has it?"),
                ] {
                    assert!(only_asks_again(&text), "{text}");
                }
                let known = perhaps_this_helps(language, Name(name), "It is in the drawer.");
                assert!(!only_asks_again(&known), "{known}");
            }
        }
        for text in ["", "Hello.", "Does anyone else know?", "I don’t know that one, Mia."] {
            assert!(!only_asks_again(text), "{text}");
        }
    }
}
