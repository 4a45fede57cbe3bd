//! The report's section on moments: what the built-in rules find when they stand in for a model, what is actually
//! posted without one, and which moments are shown as examples.

use crate::texts::Name;

texts! {
    // The beginning of a replay with the built-in rules.
    month_clause(count: &str): ", about {count} a month" / "（月に約 {count} 回）";
    rare_clause: ", less than one a month" / "（月に 1 回未満）";
    /// Next to the headline. Text in backquotes is shown as code.
    stand_in(empty: &str, moments: &str):
        "Moments are not posts. A moment is where the built-in rules would speak if they had something to say. They stand in for a model here; no model was asked. At {empty} of {moments} "
        "the rules had only “I don’t know” or “does anyone know?” to say, and without a model nothing is posted there. With a model it is the model that decides: it writes an answer, "
        "or keeps silent. How often, this page does not know; `--judge model` asks one (below, under what you can do next)."
        / "「話す場面」と投稿は別のものです。「話す場面」とは、言うことさえあれば内蔵のルールが話す場面です。ここではルールがモデルの代わりをしていて、モデルには尋ねていません。"
          "{moments}のうち {empty} 回は、内蔵のルールには「わかりません」か「どなたかわかりますか」しか言うことがなく、モデルなしの運用では何も投稿しません。"
          "モデルを使えば、答えるか黙るかをモデルが決めます。何回話すかは、このページではわかりません。"
          "`--judge model` を付けるとモデルに尋ねます（下の「次にできること」をご覧ください）。";
    stand_in_helps:
        "Moments are not posts. A moment is where the built-in rules would speak if they had something to say. They stand in for a model here; no model was asked. "
        "With a model it is the model that decides: it writes an answer, "
        "or keeps silent. How often, this page does not know; `--judge model` asks one (below, under what you can do next)."
        / "「話す場面」と投稿は別のものです。「話す場面」とは、言うことさえあれば内蔵のルールが話す場面です。ここではルールがモデルの代わりをしていて、モデルには尋ねていません。"
          "モデルを使えば、答えるか黙るかをモデルが決めます。何回話すかは、このページではわかりません。"
          "`--judge model` を付けるとモデルに尋ねます（下の「次にできること」をご覧ください）。";

    // The figures.
    to_speak: "Moments to speak" / "話す場面";
    hours:
        "Moments to speak, and those that would probably interrupt: how many in each hour of the day"
        / "話す場面と、そのうち邪魔になりそうなもの：1 時間ごとの回数";
    /// What it would have done about an unanswered question.
    found_one: "found a moment to speak" / "話す場面と判断していた";
    of_these_posted(count: &str):
        "of these posted without a model: {count}" / "うち、モデルなしで投稿：{count}";
    /// Of moments about a message that nobody else followed up. Only `open` of the posts are about messages in the form of a question.
    of_these_posted_open(count: &str, open: &str):
        "of these posted without a model: {count}, {open} of them at messages that the next section counts" / "うち、モデルなしで投稿：{count}（次の節で数える発言へのものは {open}）";
    row_posted: "– of these posted without a model" / "– うち、モデルなしで投稿";
    /// The heading of a column: posts, and in brackets the probable interruptions among them.
    posts_column: "Posts without a model (interruptions)" / "モデルなしの投稿（邪魔になりそう）";
    /// Posts and moments in a channel, each with its probable interruptions.
    posts_of_moments(posts: &str, moments: &str): "{posts} of {moments}" / "{moments}、うち投稿 {posts}";
    busiest_day(rate: &str, most: &str, date: &str):
        "{rate}, {most} on the busiest day ({date})" / "{rate}、最も多い日は {most} 回（{date}）";

    // Whether a user would have answered anyway.
    answered: "Did another person write?" / "ほかの人は発言したか";
    first_of(moments: &str): "Of {moments} to speak:" / "話す場面 {moments}のうち：";
    /// If it is unknown which message each of them is about.
    first_of_known(moments: &str, known: &str):
        "Of {moments} to speak, {known} are about a message of this history:"
        / "話す場面 {moments}のうち、この履歴の発言についてのものは {known} 回です。その内訳：";
    answered_later(lead: &str):
        "yes, after it: another person wrote within the hour after the message, or in its thread; in half of these cases more than {lead} after Aizuchi’s moment"
        / "後からほかの人が発言した（対象の発言から 1 時間以内か、そのスレッドの中で）。その半数は、話す場面から約 {lead}以上後";
    answered_later_annotated(lead: &str):
        "yes, after it: another person answered; in half of these cases more than {lead} later"
        / "後からほかの人が返事をした。その半数は、話す場面から約 {lead}以上後";
    answered_before(lead: &str):
        "yes, before it: another person had written already; in half of these cases more than {lead} earlier"
        / "先にほかの人が発言していた。その半数は、話す場面の約 {lead}以上前";
    answered_by_nobody: "nobody ever answered" / "誰も答えなかった";
    answered_by_nobody_in_hour: "nobody, within an hour" / "その後 1 時間、ほかの人の発言はなかった";
    rounded: "Shares are rounded, so they may add up to 99 % or 101 %." / "割合は四捨五入しているので、合計が 99 % や 101 % になることがあります。";

    // Policies.
    row_first:
        "Posted without a model before another person wrote, without interrupting"
        / "モデルなしで、邪魔せず、ほかの人より先に投稿";
    measure_first: "Posted without a model ahead of people, without interrupting" / "モデルなしで、邪魔せずに人より先に投稿する回数";
    finding_spoke(policies: &str, values: &str):
        "With {policies} there are clearly fewer moments to speak: {values}." / "話す場面が明らかに少ないのは {policies} です（{values}）。";
    finding_first(policies: &str, values: &str):
        "{policies} would clearly more often post ahead of people without interrupting, without a model: {values}."
        / "モデルなしで、邪魔せずに人より先に投稿する回数が明らかに多いのは {policies} です（{values}）。";
    part_first(own: &str, best: &str):
        "being early ({own} posts without a model ahead of people without interrupting instead of {best})"
        / "モデルなしで、邪魔せずに人より先に投稿する回数が {best} 回から {own} 回に減る";
    /// What a policy posts if no model judges.
    policy_posts(policy: &str, posts: &str, month: &str, wrong: &str, reached: &str, early: &str):
        "Without a model, {policy} would post {posts}{month}. Of these {wrong} would probably interrupt, {reached} would be to questions left open, and {early} before another person wrote, without interrupting."
        / "モデルなしの {policy}：投稿 {posts}{month}。そのうち、邪魔になりそうなのは {wrong}、放っておかれた質問へのものは {reached}、邪魔せずにほかの人より先のものは {early} です。";
    advice_of_moments:
        "This weighs interruptions and questions at the moments that a model would be asked about. What is posted without a model:"
        / "邪魔になりそうな回数と触れる質問は、モデルに尋ねることになる場面で比べています。モデルなしで投稿するものは次のとおりです。";

    // Examples, grouped by what they have in common.
    examples_helping: "Posted without a model: a quote of an earlier message" / "モデルなしで投稿するもの：前の発言の引用";
    examples_person_later: "A moment to speak, and another person wrote later" / "話す場面で、後からほかの人が発言した";
    examples_nobody: "A moment to speak, and no other person wrote" / "話す場面で、ほかの人の発言がなかった";
    examples_person_first: "A moment to speak after another person had written" / "話す場面で、ほかの人がすでに発言していた";
    examples_missed: "The rules saw a question, nobody wrote within an hour, and it stayed silent" / "ルールが質問とみなした発言の後、1 時間ほかの人の発言がなく、ボットも黙っていた";
    examples_answered: "The rules saw a question, another person wrote soon after, and it stayed silent" / "ルールが質問とみなした発言の後、すぐにほかの人が発言し、ボットは黙っていた";
    badge_posted: "would post without a model" / "モデルなしでも投稿";
    badge_moment: "only a moment" / "場面のみ（投稿なし）";
    /// Next to words of the built-in rules that are not posted anywhere.
    stands_in: "not posted: the rules picked this moment; a model might write here" / "投稿なし（ルールが選んだ場面。モデルなら何か書くかもしれない）";

    // Where it posts, and what personal data the page contains.
    places(channel: &str, threads: &str):
        "It would speak where the talk is: {channel} in the channel itself, {threads} in a thread."
        / "話すのは会話のある場所です。チャンネルに直接が {channel}、スレッドの中が {threads}になります。";
    no_threads:
        "This history has no messages in threads, so it does not show what a team with threads would see. It posts where the talk is: in the channel here, below a thread’s messages in that thread; "
        "with slack.reply_in: thread always in a thread."
        / "この履歴にはスレッドの中の発言がないため、スレッドを使うチームでどうなるかはわかりません。投稿するのは会話のある場所で、ここではチャンネルに直接、スレッドの会話ならその中です。"
          "slack.reply_in: thread を設定すると、いつもスレッドの中に投稿します。";
    places_ledger(channel: &str, threads: &str):
        "Where the talk was: {channel} in the channel itself, {threads} in a thread."
        / "会話のあった場所は、チャンネルに直接が {channel}、スレッドの中が {threads}でした。";
    names_replaced:
        "Names of people who wrote were replaced; the texts are otherwise verbatim, so think before you pass this page on."
        / "書いた人の名前は置き換えてありますが、それ以外の文面は元のままです。このページをほかの人に渡す前に、よく考えてください。";
    names_as_they_are:
        "Names and texts are shown as they stand in your history: think before you pass this page on. --anonymous replaces the names."
        / "名前も文面も履歴のままです。このページをほかの人に渡す前に、よく考えてください。--anonymous を付けると、名前を置き換えます。";
    /// On the console, which does not replace names.
    names_on_console:
        "Names and texts are verbatim: think before you pass this page on." / "名前も文面も元のままです。このページをほかの人に渡す前に、よく考えてください。";

    // Every post, one by one.
    posts: "Every post, to read before you switch it on" / "投稿の一覧（使い始める前に読む）";
    quality:
        "Without a model, a post is a quote of an earlier message that shares words with the question. This page does not measure whether the quote helps: read the posts, and judge for yourself."
        / "モデルなしの投稿は、質問と同じ言葉を含む前の発言の引用です。引用が役に立つかどうかは、このページでは測っていません。一覧を読んで判断してください。";
    quality_model:
        "The model decided when to speak. What it would have written is not known, since a replay does not ask it for that: these are the messages that it would have answered."
        / "いつ話すかはモデルが判断しました。再生では文章を書かせないので、何と書いたかはわかりません。以下は、応じていたはずの発言です。";
    quality_ledger:
        "These are its posts, and where it only observes, the messages that it would have answered. This page does not measure whether they helped."
        / "実際の投稿と、聞くだけのチャンネルで応じていたはずの発言です。役に立ったかどうかは、このページでは測っていません。";
    list_of_posts(posts: &str): "Read all: {posts}, interruptions first" / "すべて読む：{posts}（邪魔になりそうなものから）";
    list_of_policy(policy: &str, posts: &str):
        "Read all with {policy}: {posts}, interruptions first" / "{policy} の分をすべて読む：{posts}（邪魔になりそうなものから）";
    list_of_first(listed: &str, posts: &str):
        "Read the first {listed} of {posts}, interruptions first" / "最初の {listed} 回を読む（全 {posts}、邪魔になりそうなものから）";
    list_of_policy_first(policy: &str, listed: &str, posts: &str):
        "Read the first {listed} of {posts} with {policy}, interruptions first"
        / "{policy} の最初の {listed} 回を読む（全 {posts}、邪魔になりそうなものから）";
    more_posts(posts: &str): "{posts} more: not listed." / "ほかに {posts}あります（省略）。";
    asked_by: "It is about" / "対象の発言";
    would_quote: "It would post" / "投稿する内容";
    posted_text: "It posted" / "投稿した内容";
    no_sign: "timing looks harmless" / "タイミングは問題なさそう";

    // What the rules saw, as English clauses that can follow "because".
    saw_open(name: Name<'_>): "the rules took this for an open question by {name} to everyone" / "ルールは、これを、{name:#}がみんなに向けた、まだ答えのない質問とみなしました";
    saw_open_question: "the rules took this for an open question to everyone" / "ルールは、これを、みんなに向けた、まだ答えのない質問とみなしました";
    saw_answer: "the rules took a later message for a response to the question" / "ルールは、後の発言を質問への返事とみなしました";
    saw_directed: "the rules took the question for one to somebody else" / "ルールは、質問を別の人に向けたものとみなしました";
    saw_directed_messages: "the rules took the new messages for ones to somebody else" / "ルールは、新しい発言をほかの人に向けたものとみなしました";
    saw_unclear: "the rules could not tell whether the question was for everyone" / "ルールでは、みんなへの質問かどうか判断できませんでした";
    saw_talk: "the rules took this for people talking to each other" / "ルールは、これを参加者どうしの会話とみなしました";
    saw_no_question: "the rules found no question to everyone" / "ルールでは、みんなへの質問が見つかりませんでした";
    saw_end: "the rules took this for the end of a conversation" / "ルールは、これを会話の終わりとみなしました";
    saw_nothing_open: "the rules found nobody who waits for an answer" / "ルールでは、返事を待っている人が見つかりませんでした";
    with_between(reason: &str, messages: &str): "{reason}; between it and this moment: {messages}" / "{reason}（その発言からこの場面までの間に {messages}）";
}
