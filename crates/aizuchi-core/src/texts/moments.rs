//! The part of a report that is about moments: what the built-in rules find where they stand in for a model, what is really
//! posted without one, and which moments are shown as examples.

texts! {
    // The beginning of a replay with the built-in rules.
    headline(period: &str, channels: &str, name: &str, moments: &str, rate: &str):
        "Over {period} in {channels}, {name} found {moments} to speak{rate}."
        / "{period}、{channels}の会話で、{name} が「話す場面」と判断したのは {moments}です{rate}。";
    /// How many of these moments lead to a post where no model judges.
    posted_at_none: "Without a model it would post at none of them." / "モデルなしでは、そのどれにも投稿しません。";
    posted_at_all(month: &str):
        "Without a model it would post at all of them{month}." / "モデルなしでも、そのすべてで投稿します{month}。";
    posted_at_some(count: &str, month: &str):
        "Without a model it would really post at {count} of them{month}."
        / "モデルなしで実際に投稿するのは、そのうち {count} 回です{month}。";
    month_clause(count: &str): ", about {count} a month" / "（月に約 {count} 回）";
    rare_clause: ", less than one a month" / "（月に 1 回未満）";
    cost(money: &str, model: &str):
        "That is free. A model, which decides itself what to do at these moments, would cost about {money} a month ({model})."
        / "これは無料です。これらの場面でモデルに判断させると、月に約 {money} です（{model}）。";
    /// Stands beside the headline. What stands in backquotes is shown as code.
    stand_in(empty: &str, moments: &str):
        "Read these counts as moments, not as posts. The built-in rules chose them, standing in for a model; no model was asked. At {empty} of {moments} "
        "they had only “I don’t know” or “does anyone know?” to offer, and there nothing is posted without a model. (Where it posts, `response.mode: companion` is set: without a model, the default in a real workspace is "
        "`mention_only`, with which it says nothing unasked.) A model decides itself at each "
        "moment, and writes an answer or keeps silent: how often, this page does not know. `--judge model` asks one (below, under what you can do next)."
        / "以下の回数は投稿の数ではなく、場面の数です。場面は、モデルの代わりに内蔵のルールが選びました（モデルには尋ねていません）。"
          "{moments}のうち {empty} 回は、内蔵のルールには「わかりません」か「どなたかわかりますか」しか言うことがなく、モデルなしの運用では何も投稿しません。（投稿するのは `response.mode: companion` を設定した場合です。モデルがないときの実際のワークスペースでの既定は `mention_only` で、自分からは話しません。）"
          "モデルを使えば、それぞれの場面で答えるか黙るかをモデルが決めます。そのうち何回話すかは、このページではわかりません。"
          "`--judge model` を付けるとモデルに尋ねます（下の「次にできること」をご覧ください）。";
    stand_in_helps:
        "Read these counts as moments. The built-in rules chose them, standing in for a model; no model was asked. A model decides itself at each "
        "moment, and writes an answer or keeps silent: how often, this page does not know. `--judge model` asks one (below, under what you can do next)."
        / "以下の回数は場面の数です。場面は、モデルの代わりに内蔵のルールが選びました（モデルには尋ねていません）。"
          "モデルを使えば、それぞれの場面で答えるか黙るかをモデルが決めます。そのうち何回話すかは、このページではわかりません。"
          "`--judge model` を付けるとモデルに尋ねます（下の「次にできること」をご覧ください）。";

    // The figures.
    one_to_speak: "moment to speak" / "話す場面";
    many_to_speak: "moments to speak" / "話す場面";
    to_speak: "Moments to speak" / "話す場面";
    hours:
        "Moments to speak, and those that would probably interrupt: how many in each hour of the day"
        / "話す場面と、そのうち邪魔になりそうなもの：1 時間ごとの回数";
    /// What it would have done at a question that nobody answered.
    found_one: "found a moment to speak" / "話す場面と判断していた";
    posted(count: &str, month: &str):
        "really posted without a model: {count}{month}" / "モデルなしで実際に投稿：{count} 回{month}";
    of_these_posted(count: &str):
        "of these really posted without a model: {count}" / "うち、モデルなしで実際に投稿：{count}";
    row_posted: "– of these really posted without a model" / "– うち、モデルなしで実際に投稿";
    busiest_day(rate: &str, most: &str, date: &str):
        "{rate}, {most} on the busiest day ({date})" / "{rate}、最も多い日は {most} 回（{date}）";

    // Whether a person would have answered anyway.
    answered: "Would a person have answered anyway?" / "人が答えていたか";
    first_of(moments: &str): "Of {moments} to speak:" / "話す場面 {moments}のうち：";
    /// Where it is not known about which message each of them is.
    first_of_known(moments: &str, known: &str):
        "Of {moments} to speak, {known} are about a message of this history:"
        / "話す場面 {moments}のうち、この履歴の発言についてのものは {known} 回です。その内訳：";
    answered_later(lead: &str):
        "yes, later: another person wrote after it; in half of these cases more than {lead} later"
        / "答えていた（ボットより後）。半数は約 {lead}以上後";
    answered_before(lead: &str):
        "yes, already: another person had written before it; in half of these cases more than {lead} earlier"
        / "すでに答えていた（ボットより前）。半数は約 {lead}以上前";
    answered_by_nobody: "no: no other person ever answered" / "答えていなかった（ほかの人は誰も答えなかった）";
    answered_by_nobody_in_hour:
        "no: no other person wrote within an hour" / "答えていなかった（その後 1 時間、ほかの人の発言はなかった）";

    // Policies.
    row_first:
        "Really posted without a model before another person wrote, without interrupting"
        / "モデルなしで実際に、邪魔せず、ほかの人より先に投稿";
    measure_first: "Really posted ahead of people without interrupting" / "邪魔せずに人より先に実際に投稿する回数";
    finding_spoke(policies: &str, values: &str):
        "With {policies} there are clearly fewer moments to speak: {values}." / "話す場面が明らかに少ないのは {policies} です（{values}）。";
    finding_first(policies: &str, values: &str):
        "{policies} would clearly more often really post ahead of people without interrupting: {values}."
        / "邪魔せずに人より先に実際に投稿する回数が明らかに多いのは {policies} です（{values}）。";
    part_first(own: &str, best: &str):
        "being early ({own} real posts ahead of people without interrupting instead of {best})"
        / "邪魔せずに人より先に実際に投稿する回数が {best} 回から {own} 回に減る";

    // Examples, by what they have in common.
    examples_helping:
        "It has something to say, and really posts it without a model" / "言うことがあり、モデルなしでも実際に投稿する場面";
    examples_person_later: "A moment to speak, and another person wrote later" / "話す場面で、後からほかの人が発言した";
    examples_nobody: "A moment to speak, and no other person wrote" / "話す場面で、ほかの人の発言がなかった";
    examples_person_first: "A moment to speak after another person had written" / "話す場面で、ほかの人がすでに発言していた";
    examples_missed: "Someone asked, nobody answered, and it stayed silent" / "質問に誰も答えず、ボットも黙っていた";
    examples_answered: "Someone asked, a person wrote soon after, and it stayed silent" / "質問の後すぐに人が発言し、ボットは黙っていた";
    badge_posted: "really posted" / "実際に投稿";
    badge_moment: "a moment to speak" / "話す場面";
    /// Stands beside words of the built-in rules that are posted nowhere.
    stands_in: "stands in for a model; without one, nothing is posted here" / "モデルの代わりの言葉（モデルなしでは投稿しない）";

    // Where it posts, and what of people is on the page.
    places(channel: &str, threads: &str):
        "It posts where the talk is: {channel} that would be in the channel itself, {threads} in a thread."
        / "投稿するのは会話のある場所です。チャンネルに直接が {channel}、スレッドの中が {threads}になります。";
    places_ledger(channel: &str, threads: &str):
        "Where the talk was: {channel} in the channel itself, {threads} in a thread."
        / "会話のあった場所は、チャンネルに直接が {channel}、スレッドの中が {threads}でした。";
    names_replaced:
        "Names of people who wrote were replaced; the texts are otherwise verbatim, so think before you pass this page on."
        / "書いた人の名前は置き換えてありますが、それ以外の文面は元のままです。渡す前によく考えてください。";
    names_as_they_are:
        "Names are those of the history, and the texts are verbatim: think before you pass this page on. --anonymous replaces the names."
        / "名前も文面も履歴のままです。渡す前によく考えてください。名前は --anonymous で置き換えられます。";
    /// On the console, which replaces no names.
    names_on_console:
        "Names and texts are verbatim: think before you pass this page on." / "名前も文面も元のままです。渡す前によく考えてください。";
}
