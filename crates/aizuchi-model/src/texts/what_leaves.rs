//! The report's section on which data goes where, in short. `docs/guide/privacy.md` has the details.

texts! {
    title: "What leaves your workspace" / "ワークスペースの外に出るもの";
    // Text in backquotes is shown as code.
    no_model:
        "Without a model, nothing goes to a provider of models: the built-in rules run on your own machine."
        / "モデルを使わなければ、モデルの提供元には何も送りません。内蔵のルールは皆さんのマシンで動きます。";
    replayed_here:
        "This replay ran on your machine, asked no model and sent nothing."
        / "この再生は皆さんのマシンだけで行い、モデルには尋ねず、何も送っていません。";
    /// Of the command that asks a model.
    judge_model:
        "`--judge model` sends a model’s provider the messages around each moment of the time that it is asked about, with the names of their authors."
        / "`--judge model` を付けると、尋ねる期間のそれぞれの場面の前後の発言が、書いた人の名前つきでモデルの提供元に送られます。";
    /// For a replay with a model's answers.
    replayed_with_model:
        "For this replay, a model read the messages around each moment, unless its answers were there already."
        / "この再生では、回答がすでにあった場面を除き、それぞれの場面の前後の発言をモデルが読みました。";
    with_model:
        "With a model, its provider gets the newest messages of a channel with the names of their authors, a few old ones that fit, and what it remembers: to decide, to answer and to remember. A model on your own machine keeps that there."
        / "モデルを使う場合、チャンネルの最新の発言（書いた人の名前つき）、関係のありそうな古い発言いくつか、記憶していることを、提供元に送ります。話すかどうか決めるとき、答えるとき、記憶するときです。自分のマシンのモデルなら、外には出ません。";
    others:
        "Searching the web and tools of other programs are off unless you allow them."
        / "ウェブ検索やほかのプログラムのツールは、許可しない限り使いません。";
    stored:
        "It stores in your own database what it hears (messages, their authors and times, reactions), what it remembers, and what it decided and why. What a model was asked and answered is deleted after 30 days; messages stay until they are deleted, or as long as `retention.messages_days` says."
        / "皆さんのデータベースに、聞いたこと（発言、書いた人、時刻、リアクション）、記憶したこと、判断とその理由を保存します。モデルへの質問と回答は 30 日で消えます。発言は、削除されるまで、または `retention.messages_days` の日数だけ残ります。";
    deleted(persona: &str):
        "What people edit or delete in the chat, it changes or deletes, too. `@{persona} forget me` deletes what somebody wrote and what it remembers of that (it asks first); after `@{persona} opt out` it ignores them."
        / "チャットで編集・削除されたものは、こちらでも変更・削除します。`@{persona} 私のことを忘れて` で、確認のうえ、その人の発言とそこから記憶したことを消します。`@{persona} オプトアウト` の後は、その人の発言を見ません。";
    quotes:
        "A quote comes from the same channel or from a public one, never from another private channel or a direct message."
        / "引用するのは、同じチャンネルか公開チャンネルの発言だけです。ほかの非公開チャンネルやダイレクトメッセージからは引用しません。";
    /// A replay treats each channel in isolation.
    quotes_of_replay:
        "A quote comes from the same channel or from a public one, never from another private channel or a direct message. In this replay all come from the same channel."
        / "引用するのは、同じチャンネルか公開チャンネルの発言だけです。ほかの非公開チャンネルやダイレクトメッセージからは引用しません。この再生では、どれも同じチャンネルからの引用です。";
    notified:
        "A quote notifies nobody: it leaves out the @ of names. A model’s own words can notify people on Slack who wrote in the channel lately: five at most in a post, never everyone. On Discord its posts notify nobody."
        / "引用では名前の @ を省くため、引用で通知される人はいません。モデルの書いた文では、Slack で、そのチャンネルで最近発言した人に通知されることがあります（1 回の投稿で最大 5 人、全員への通知はなし）。Discord では誰にも通知されません。";
}
