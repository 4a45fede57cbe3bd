//! What the built-in mind says, and why it would join in or not.

texts! {
    asked_the_room(name: &str):
        "{name} asked the room something and nobody has answered"
        / "{name} さんの質問に、まだ誰も答えていません";
    conversation_ended: "the talk has come to its end" / "会話は一区切りついています";
    question_answered: "the question has been taken up by somebody" / "質問には誰かが応じています";
    question_directed:
        "the question was put to somebody else"
        / "質問は別の人に向けられたものでした";
    talking_to_each_other: "people were talking to each other" / "参加者どうしで話していました";
    no_question: "nobody asked the room anything" / "みんなへの質問はありませんでした";

    listening: "I am listening." / "聞いています。";
    greeting(name: &str):
        "Hello {name}, I am here and listening."
        / "{name} さん、こんにちは。ここで聞いていますよ。";
    said_before(speaker: &str, quote: &str):
        "{speaker} said something close to it: “{quote}”"
        / "{speaker} さんが近いことを話していました。「{quote}」";
    /// `known` is what [`said_before`] says.
    answer(name: &str, known: &str): "{name}, {known}" / "{name} さん、{known}";
    no_answer(name: &str):
        "{name}, nothing that was said here answers that, and I know nothing else. Can anyone help?"
        / "{name} さん、ここで話されたことの中に答えは見つかりませんでした。どなたかご存じですか？";
    /// What is known about the question follows, or another question.
    question_open(name: &str, quote: &str, rest: &str):
        "{name}’s question is still open: “{quote}” {rest}"
        / "{name} さんの質問がまだ残っています。「{quote}」{rest}";
    does_anyone_know: "Does anyone know?" / "どなたかご存じですか？";
}
