//! The report's section on individual posts: the list of posts, and what it does when it is called.

use crate::texts::Name;

texts! {
    // The list of posts.
    /// In a replay with a model.
    title_model: "Every message that it would have answered, to read before you switch it on" / "応じていたはずの発言の一覧（使い始める前に読む）";
    title_ledger:
        "What it posted, and what it would have answered where it only observes" / "投稿した内容と、聞くだけのチャンネルで応じていたはずの発言";
    title_scripted: "What else it would have done" / "このほかにしていたはずのこと";
    /// The meaning of the posts' tags.
    only_timing:
        "The tags say nothing about whether a post helps, only about its timing, and whether another person followed up the question. A post whose timing looks harmless can still be useless."
        / "一覧のラベルが示すのは、投稿のタイミングと、質問に応じた人がほかにいたかどうかだけです。タイミングに問題がなくても、投稿が役に立つとは限りません。";
    /// Where the history says what answers what.
    only_timing_annotated:
        "The tags say nothing about whether a post helps, only about its timing, and whether another person answered the question. A post whose timing looks harmless can still be useless."
        / "一覧のラベルが示すのは、投稿のタイミングと、質問に答えた人がほかにいたかどうかだけです。タイミングに問題がなくても、投稿が役に立つとは限りません。";
    texts_cut(characters: &str):
        "Texts of more than {characters} characters are cut in this list." / "この一覧では、{characters} 字を超える文面は途中までです。";
    /// The built-in rules quote the beginning of a message.
    quotes_cut(quoted: &str, characters: &str):
        "A post quotes the first {quoted} characters of a message at most. Other texts of more than {characters} characters are cut in this list."
        / "投稿で引用するのは、発言の最初の {quoted} 字までです。そのほかの文面は、この一覧では {characters} 字までです。";
    /// How often it quotes a message that it has quoted within the same day.
    same_quote(count: &str):
        "The same quote again, in the same channel within 24 hours: {count}." / "同じチャンネルで 24 時間以内に同じ引用を繰り返した回数：{count}。";
    // The posts that stand open.
    sample: "Some posts, picked by their place in time alone" / "時期だけで選んだ投稿";
    /// Where not all posts are listed.
    first_posts(posts: &str): "the first {posts}" / "最初の {posts}";
    sample_rule(shown: &str, posts: &str):
        "{shown} of {posts}, evenly spread by their order in time. What they say had no part in the choice."
        / "{posts}のうち {shown} 回分を、時刻の順に等間隔で選びました。内容は選ぶ基準にしていません。";
    left_open_annotated:
        "Posts at a message in the form of a question that nobody else answered" / "質問の形で書かれ、ほかに誰も答えなかった発言への投稿";
    left_open: "Posts at a message in the form of a question that nobody else followed up" / "質問の形で書かれ、ほかに誰も応じなかった発言への投稿";
    /// Of the posts that are listed.
    left_open_rule(count: &str, posts: &str):
        "{count} of {posts}. The others are at a question that somebody followed up, or at something else."
        / "{posts}のうち {count} 回です。そのほかは、誰かが応じた質問か、質問でない発言への投稿です。";
    left_open_rule_annotated(count: &str, posts: &str):
        "{count} of {posts}. The others are at a question that somebody answered, or at something else."
        / "{posts}のうち {count} 回です。そのほかは、誰かが答えた質問か、質問でない発言への投稿です。";
    left_open_shown(shown: &str): "Besides those above, {shown} of them, spread over time:" / "上に示したもののほかに {shown} 回分（時期が偏らないように選択）：";
    badge_same_quote: "the same quote again" / "同じ引用の繰り返し";
    badge_left_open: "no other person followed up within an hour" / "1 時間以内にほかに応じた人なし";
    /// Where the history says what answers what: somebody may have written something else.
    badge_left_open_annotated: "no other person answered" / "ほかに答えた人なし";
    badge_late: "more than 30 min after the question" / "質問から 30 分を過ぎた投稿";
    what_followed: "After that" / "その後";
    nothing_followed: "nobody wrote in the hour after the post" / "投稿後 1 時間、発言なし";
    /// For messages that are left out, in addition to those that are shown.
    more_left_out(count: &str): "{count} more, not shown" / "ほかに {count} 件（省略）";

    // The examples of posts that interrupt.
    examples_wrong_posts:
        "Posted without a model, and would probably have interrupted" / "モデルなしで投稿し、邪魔になりそうな場面";
    // What is known about reasons.
    guesses_annotated:
        "“The rules took …” and “the rules found …” are guesses of the rules, and some are wrong. This history says what answers what, so a reason that it "
        "contradicts is marked as a mistake."
        / "「ルールは…とみなしました」などの理由はルールの推測で、誤りもあります。どの発言への返事かが履歴に記されているので、履歴と合わない理由には「誤り」と示しています。";
    guesses:
        "“The rules took …” and “the rules found …” are guesses of the rules, and some are wrong. This history does not say of every message what it answers, so the wrong "
        "ones cannot be marked: read the messages, and judge for yourself."
        / "「ルールは…とみなしました」などの理由はルールの推測で、誤りもあります。どの発言への返事かが履歴にすべて記されているわけではないので、どの理由が誤りかを示すことはできません。"
          "発言を読んで判断してください。";
    mistake_not_answered:
        "That is a mistake of the rules: as the history says, nobody had answered the question yet."
        / "これはルールの誤りです。履歴によれば、質問にはまだ誰も答えていませんでした。";
    mistake_answered(name: Name<'_>):
        "That is a mistake of the rules: as the history says, {name} had answered already."
        / "これはルールの誤りです。履歴によれば、{name:#}がすでに答えていました。";

    // What it does when it is called.
    called: "It also answers when it takes a message for a call" / "呼びかけと受け取った発言への返事";
    called_times(times: &str):
        "It would have taken a message for a call to it {times}, and answered. These answers come on top of its posts."
        / "発言を呼びかけと受け取って、{times}答えていたはずです。自分からの投稿とは別の数です。";
    called_ledger(times: &str):
        "It was called {times}; where it may speak, it answered. These answers come on top of its posts."
        / "{times}呼ばれました。話してよいチャンネルでは答えました。自分からの投稿とは別の数です。";
    /// How it was called. `names` is a list of the names with their numbers.
    called_by_name(times: &str, names: &str):
        "By its name, {times}: {names}. In a history from before it came, that is somebody or something else with this name."
        / "名前で呼ばれたもの：{times}（{names}）。ボットが来る前の履歴なら、同じ名前の別の人やものを指しています。";
    name_times(name: &str, times: &str): "“@{name}” {times}" / "「@{name}」{times}";
    called_after_post(times: &str):
        "Taken for an answer to something that it had posted: {times}. Nobody called it there by a name."
        / "ボットの投稿への返事と受け取ったもの：{times}（名前での呼びかけではありません）。";
    called_unknown(times: &str): "How is not known: {times}." / "呼ばれ方がわからないもの：{times}。";
    /// Whether this happens without a model, and in which modes.
    called_modes:
        "It answers calls without a model, too, and in every `response.mode` but `observe` and `off`: `mention_only` does not prevent it. With `mention_only` only calls by its "
        "name are left, and answers to what it said there. Without a model the built-in rules write the answer: a quote of an earlier message, a short courtesy, "
        "or that they do not know."
        / "呼びかけにはモデルなしでも答えます。答えない `response.mode` は `observe` と `off` だけで、`mention_only` でも答えます。`mention_only` で残るのは、名前での呼びかけと、"
          "そこでの返事への返事だけです。モデルなしでは内蔵のルールが答えます。前の発言の引用、短いあいさつ、または「わかりません」という返事です。";
    reacted: "It also reacts with an emoji" / "リアクション";
    reacted_times(times: &str):
        "It would have reacted with an emoji instead of words {times}." / "言葉の代わりに、リアクションだけを {times}付けていたはずです。";
    reacted_ledger(times: &str):
        "It reacted with an emoji instead of words {times}." / "言葉の代わりに、リアクションだけを {times}付けました。";
    reacted_modes:
        "The built-in rules do that without a model, too, at good or bad news and at greetings that nobody returned. Unasked it happens with `response.mode: companion`, and not with "
        "`mention_only`, `propose` or `observe`. `response.reactions: []` turns it off."
        / "内蔵のルールは、よい知らせや悪い知らせ、誰も返さないあいさつに、モデルなしでもリアクションを付けます。自分から付けるのは `response.mode: companion` の場合で、"
          "`mention_only`、`propose`、`observe` では付けません。`response.reactions: []` でオフにできます。";
    examples_shown(shown: &str, all: &str): "Examples: {shown} of {all}." / "例（{all} 回のうち {shown} 回）：";
    badge_called: "answers a call" / "呼びかけへの返事";
    badge_reacted: "reacts" / "リアクション";
    reacts_here: "reacts" / "リアクション";
    note_called(name: &str): "The message holds “@{name}”." / "発言に「@{name}」があります。";
    note_called_somehow: "It was taken for a call." / "呼びかけと受け取りました。";
    note_answered_it:
        "The message was taken for an answer to what it had said." / "ボットの発言への返事と受け取りました。";
}
