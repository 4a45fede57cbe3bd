//! The report's section on how often, when and how fast it would speak, and at what cost.

texts! {
    // The headline, and the text below it.
    what_it_is(name: &str):
        "{name} is a chat companion that listens and decides by itself when to say something."
        / "{name} は、会話を聞いて、いつ話すかを自分で決めるチャットの仲間です。";
    headline(name: &str, rate: &str, channels: &str, wrong: &str):
        "Switched on without a model, {name} would post {rate} in {channels}. {wrong}; whether a post helps is not measured."
        / "モデルなしで自分から話す設定にすると、{name} は {channels}で {rate}投稿します。{wrong}。投稿が役に立つかどうかは測っていません。";
    headline_no_post(name: &str, channels: &str):
        "Without a model, {name} would post nothing unasked in {channels}."
        / "モデルなしなら、{name} は {channels}で、自分からは何も投稿しません。";
    your_channel: "your channel" / "1 チャンネル";
    your_channels(channels: &str): "your {channels}" / "{channels}";
    rate_changed(rate: &str, first: &str, last: &str):
        "{rate} on average ({first} in the first full month, {last} in the last full one)" / "平均で{rate}（丸ひと月で数えて、最初の月 {first} 回、最後の月 {last} 回）";
    /// The end of the headline: how many of its posts would interrupt.
    wrong_none(posts: &str):
        "Of {posts} in this history, none shows a sign of cutting into a conversation" / "この履歴での投稿 {posts}に、会話に割り込む様子のものはありません";
    wrong_some(wrong: &str, posts: &str):
        "Of {posts} in this history, at least {wrong} would cut into a conversation" / "この履歴での投稿 {posts}のうち、少なくとも {wrong} 回は会話に割り込みます";
    nothing_as_shipped: "As shipped, without a model, it posts nothing unasked." / "モデルなしで既定の設定のままなら、自分からは何も投稿しません。";
    /// The benefit of the posts, next to their cost: `reached` of the unanswered questions got one.
    reached(posts: &str, reached: &str, questions: &str):
        "Of {posts}, {reached} went to a message in the form of a question that nobody else answered; there are {questions} of these. Not every such message wants an answer: read these posts below."
        / "投稿 {posts}のうち、質問の形で書かれ、ほかに誰も答えなかった発言を取り上げたものは {reached} 回です（そうした発言は全部で {questions} 件）。どの発言も答えを求めているとは限らないので、下の投稿を読んでください。";
    reached_in_hour(posts: &str, reached: &str, questions: &str):
        "Of {posts}, {reached} went to a message in the form of a question that nobody else followed up within an hour; there are {questions} of these. Not every such message wants an answer: read these posts below."
        / "投稿 {posts}のうち、質問の形で書かれ、1 時間以内にほかに誰も応じなかった発言を取り上げたものは {reached} 回です（そうした発言は全部で {questions} 件）。どの発言も答えを求めているとは限らないので、下の投稿を読んでください。";
    /// The posts at which users managed without it.
    people_wrote_too(posts: &str, count: &str):
        "At {count} of {posts}, another person wrote within the hour, too, before the post or after it. Whether that was an answer is not known."
        / "投稿 {posts}のうち {count} 回では、投稿の前か後の 1 時間以内に、ほかの人も発言していました。それが答えだったかどうかはわかりません。";
    people_answered_too(posts: &str, count: &str):
        "At {count} of {posts}, another person answered, too, before the post or after it."
        / "投稿 {posts}のうち {count} 回では、投稿の前か後に、ほかの人も答えていました。";
    nothing_in_this_history(period: &str):
        "In this history of {period}, the rules found no earlier message to quote."
        / "この履歴（{period}）では、引用できる前の発言をルールが見つけられませんでした。";
    /// The definition, at its first use and in the section on counting.
    interruption:
        "A post counts as an interruption if somebody other than the asker wrote less than a minute before or after it, and later than the message that it is about; "
        "or if two or more people wrote in the 2 minutes before it, and one of them in the minute after it. That is a lower limit: a message two minutes away counts as harmless, and so does a post while "
        "the asker is still typing. This is about timing: whether a post helps is not measured."
        / "「邪魔になりそう」と数えるのは、次の二つの場合です。一つは、取り上げた発言より後に尋ねた本人以外の人が発言していて、その発言の前後 1 分以内に投稿する場合です。"
          "もう一つは、投稿の直前の 2 分間に 2 人以上が発言していて、そのうちの誰かが投稿後 1 分以内にまた発言する場合です。これは少なめの数え方で、2 分離れた発言や、尋ねた本人がまだ書き続けている間の投稿は数えません。"
          "見ているのはタイミングだけで、投稿が役に立つかどうかは測っていません。";
    as_shipped:
        "Without a model its mode is mention_only as shipped; the posts counted here need response.mode: companion."
        / "モデルがないときの既定のモードは mention_only です。ここで数えた投稿は、response.mode: companion を設定した場合のものです。";
    with_model(checks: &str, moments: &str):
        "With a model: it would be asked {checks} whether to speak. The rules, which stand in for it here, found {moments}; a model may choose fewer, more, or others."
        / "モデルを使う場合：話すかどうかを {checks}モデルに尋ねます。モデルの代わりのルールが選んだ「話す場面」は {moments}ですが、モデルが選ぶ場面はそれより少ないことも、多いことも、別の場面のこともあります。";
    cost(money: &str, model: &str):
        "Without a model it costs nothing. With {model} it costs {money} a month: that pays for all of these checks, also those that end in silence, and for the replies, but not for remembering."
        / "モデルなしなら無料です。{model} なら月に {money} で、これには黙っている場合も含めたすべての判断と、返答の費用が含まれます（記憶の費用は含みません）。";

    // The ways to run it, side by side.
    ways: "Five ways to run it" / "五つの使い方";
    way: "How you run it" / "使い方";
    way_as_shipped: "Without a model, as shipped: `response.mode: mention_only`" / "モデルなし、既定の設定のまま：`response.mode: mention_only`";
    way_companion: "Without a model, with `response.mode: companion`" / "モデルなし、`response.mode: companion`";
    way_model: "With a model, as shipped: `response.mode: companion`" / "モデルあり、既定の設定のまま：`response.mode: companion`";
    way_model_called: "With a model, `response.mode: mention_only`" / "モデルあり、`response.mode: mention_only`";
    way_model_proposed: "With a model, `response.mode: propose`" / "モデルあり、`response.mode: propose`";
    /// All calls of a month, and what they are.
    ways_calls(calls: &str, checks: &str, replies: &str):
        ", for about {calls} calls ({checks} checks, {replies} replies). Remembering and thinking cost extra"
        / "、呼び出し約 {calls} 回分（判断 {checks} 回、返答 {replies} 回）。記憶と思考（thinking）の分は別にかかります";
    /// The definitions for the table. The rules found `moments`, of which `posts` became posts and `empty` did not.
    ways_words(moments: &str, empty: &str, posts: &str):
        "A model is a language model that you pay for, or run yourself: it decides, and writes. Without one, fixed rules decide, and all that they can post is a quote of an earlier message. "
        "A moment is where the rules would speak if they had something to say: there are {moments}; at {empty} of them they had not, and {posts} led to a post."
        / "「モデル」とは、料金を払って使うか、自分で動かす言語モデルのことで、話すかどうかを決め、文章を書きます。モデルなしでは内蔵のルールが判断し、投稿できるのは前の発言の引用だけです。"
          "「話す場面」とは、言うことさえあればルールが話す場面です。全部で {moments}あり、そのうち {empty} 回は言うことがなく、投稿になるのは {posts} 回です。";
    ways_model_speaks:
        "As soon as the config names a model, it speaks unasked, as in the last line, unless `response.mode` says otherwise. `observe` keeps it silent, but costs money with a model: it is asked whether to speak, and to remember."
        / "設定ファイルにモデルを書くと、`response.mode` を設定しない限り、表の最後の行のように、自分から話すようになります。`observe` なら話しませんが、モデルを使う場合は費用がかかります。話すかどうかの判断と記憶のためにモデルに尋ねるからです。";
    ways_posts: "Posts unasked" / "自分からの投稿";
    ways_posts_none: "none. When called it answers with a quote, a short courtesy, or that it does not know" / "なし。呼ばれると、引用か短いあいさつ、または「わかりません」と答えます";
    ways_posts_rate(posts: &str, rate: &str): "{posts}: {rate}" / "{posts}：{rate}";
    ways_posts_called: "none: the model only answers when called" / "なし。呼ばれたときだけモデルが答えます";
    ways_posts_proposed: "only what a person approves" / "人が承認したものだけ";
    ways_posts_model(rate: &str):
        "not known; where the rules would speak: {rate}. A model may choose fewer, or more"
        / "不明。ルールが話す場面は {rate}。モデルが選ぶ場面は、それより少ないことも多いこともあります";
    /// The same pace per month and per day.
    month_and_day(month: &str, day: &str): "{month} ({day})" / "{month}（{day}）";
    ways_decided: "a person decides" / "人が決めます";
    ways_cost_called: "only its answers and remembering: not estimated" / "答えと記憶の分だけ（見積もりなし）";
    ways_cost_as_below: "as in the next line" / "次の行と同じ";
    at_least(count: &str): "at least {count}" / "少なくとも {count}";
    ways_wrong: "Would probably interrupt" / "邪魔になりそうなもの";
    ways_wrong_model(wrong: &str): "not known ({wrong} of these moments)" / "不明：ルールが選んだ「話す場面」では {wrong}";
    ways_reached_in_hour: "Messages in the form of a question, left for an hour, that get a post" / "質問の形で書かれ、1 時間以内に誰も応じなかった発言のうち、投稿で取り上げるもの";
    ways_reached: "Messages in the form of a question, never answered, that get a post" / "質問の形で書かれ、誰も答えなかった発言のうち、投稿で取り上げるもの";
    ways_reached_model(count: &str): "not known (the rules noticed {count})" / "不明：ルールが気づいたものは {count}";
    ways_cost: "A month costs" / "月額";
    ways_cost_with(money: &str, model: &str): "{money} with {model}" / "{money}（{model}）";
    /// Why the number of interruptions is a lower limit, for the posts.
    ways_wider(posts: &str):
        "At least, because a message within one minute counts: within three minutes it is {posts} of the posts."
        / "「少なくとも」とあるのは、前後 1 分以内の発言だけを数えているためです。前後 3 分なら、投稿では {posts} です。";
    ways_with_asker(posts: &str, moments: &str):
        "If you also count the asker who was still typing, it is {posts} of the posts and {moments} of the moments."
        / "尋ねた本人がまだ書き続けていたものも「邪魔になりそう」に数えると、投稿では {posts}、「話す場面」では {moments} になります。";
    /// What is folded below.
    what_interrupts: "What counts as an interruption" / "「邪魔になりそう」の数え方";
    about: "What this page is, and what it cannot say" / "このページでわかることと、わからないこと";

    // The figures at the top.
    share_of_posts(share: &str): "{share} of the posts" / "投稿の {share}";
    with_asker(count: &str):
        "{count} if you also count the asker who was still typing" / "尋ねた本人がまだ書き続けていたものも数えると {count}";

    // How often, and where.
    two_bases(posts: &str, moments: &str):
        "Two numbers say what would probably interrupt: {posts} posts without a model (the headline), and {moments} moments, posted or not (most columns, the bars and the parts of the day)."
        / "「邪魔になりそう」の数字は二つあります。見出しの数字はモデルなしの投稿についてのもので、{posts} です。棒グラフ、時間帯の比較、表の多くの列の数字は、投稿しないものも含めた「話す場面」についてのもので、{moments} です。";
    part_of(part: &str, whole: &str): "{part} of {whole}" / "{whole} 回中 {part}";
    /// Where the posts without a model appear.
    places_posted(channel: &str, threads: &str):
        "It would post where the talk is: {channel} in the channel itself, {threads} in a thread. With slack.reply_in: thread it always posts in a thread."
        / "投稿するのは会話のある場所です。チャンネルに直接が {channel}、スレッドの中が {threads}です。slack.reply_in: thread を設定すると、いつもスレッドの中に投稿します。";
    in_zone(title: &str, zone: &str): "{title} ({zone})" / "{title}（{zone}）";
    hours_posts: "Posts without a model: how many in each hour of the day" / "モデルなしの投稿：1 時間ごとの回数";
    zone(zone: &str):
        "All times on this page are in the time zone {zone}. A line such as timezone: Europe/Berlin in the config sets another."
        / "このページの時刻のタイムゾーンは {zone} です（設定ファイルに timezone: Asia/Tokyo のように書くと変えられます）。";
    wrong_with_share: "Interruptions (share)" / "邪魔になりそう（割合）";
    wrong_moments_with_share: "Moments that would interrupt (share)" / "「話す場面」のうち邪魔になりそう（割合）";
    worst_channel(channel: &str, wrong: &str, moments: &str):
        "The channel with the most moments that would interrupt is {channel}: {wrong}, of {moments} there, posted or not."
        / "邪魔になりそうな回数が最も多いチャンネルは {channel} です（そこでの、投稿しないものも含む「話す場面」{moments}のうち {wrong} 回）。";
    worst_hour(hour: &str, wrong: &str, moments: &str):
        "The hour with the most moments that would interrupt begins at {hour}: {wrong}, of {moments} in that hour, posted or not."
        / "邪魔になりそうな回数が最も多いのは {hour} からの 1 時間です（投稿しないものも含む「話す場面」{moments}のうち {wrong} 回）。";
    /// The parts of the day, each with its share.
    parts_of_day(parts: &str):
        "Share of interruptions by part of the day: {parts}." / "邪魔になりそうなものの割合（一日を 4 つに分けた場合）：{parts}。";
    parts_of_day_moments(parts: &str):
        "Share of interruptions among the moments, by part of the day: {parts}." / "「話す場面」のうち邪魔になりそうなものの割合（一日を 4 つに分けた場合）：{parts}。";
    between(from: usize, end: usize): "between {from}:00 and {end}:00" / "{from} 時〜{end} 時";
    interrupts_more(times: &str, share: &str, rest: &str):
        "It interrupts more {times} ({share}) than in the other hours ({rest}). Chance alone makes such a difference in fewer than 1 of 100 histories."
        / "{times}は邪魔になりそうな割合が {share} で、ほかの時間帯（{rest}）より高くなっています。偶然だけでこれほどの差になるのは、100 回に 1 回未満です。";
    more_moments_interrupt(times: &str, share: &str, rest: &str):
        "More of the moments would interrupt {times} ({share}) than in the other hours ({rest}). Chance alone makes such a difference in fewer than 1 of 100 histories. This is about moments, most of which are not posted."
        / "「話す場面」では、{times}は邪魔になりそうな割合が {share} で、ほかの時間帯（{rest}）より高くなっています。偶然だけでこれほどの差になるのは、100 回に 1 回未満です。これは「話す場面」の数字で、その多くは投稿しません。";
    may_be_chance: "These differences may be chance." / "これらの差は偶然かもしれません。";
    too_few_to_compare: "There are too few interruptions to compare the parts of the day." / "数が少ないため、時間帯どうしは比べられません。";
    /// In the section on counting.
    parts_rule:
        "Parts of the day are compared by a chi-squared test of the whole table. A difference is named if chance alone makes such a one in fewer than 1 of 100 histories. 5 of 100 is the usual limit; "
        "this one is stricter, since moments of one conversation are not independent of each other. Single hours are each compared with the rest of the day, at 5 of 100 divided by the number of hours."
        / "時間帯の割合は、4 つをまとめたカイ二乗検定で比べ、偶然だけでは 100 回に 1 回未満しか起きない差だけを挙げています。ふつうの基準は 100 回に 5 回ですが、"
          "同じ会話の中の場面は互いに無関係ではないため、厳しくしています。1 時間ごとの割合は、それ以外の時間と比べ、100 回に 5 回という基準を時間の数で割っています。";

    // By month.
    by_month: "By month" / "月別";
    month: "Month" / "月";
    month_format: "%b %Y" / "%Y年%-m月";
    part_of_month(month: &str): "{month} (part of it)" / "{month}（途中）";
    posts_column: "Posts without a model" / "モデルなしの投稿";
    /// The numbers of posts in the first and the last whole month.
    more_to_quote(first: &str, last: &str):
        "It posts more as it has more to quote: {first} in its first full month, {last} in the last."
        / "引用できる発言が増えるほど、投稿も増えます。丸ひと月で数えると、最初の月は {first} 回、最後の月は {last} 回です。";
    more_lately(first: &str, last: &str):
        "The number of posts grows: {first} in the first full month, {last} in the last."
        / "投稿は増えています。丸ひと月で数えると、最初の月は {first} 回、最後の月は {last} 回です。";
    less_lately(first: &str, last: &str):
        "The number of posts falls: {first} in the first full month, {last} in the last."
        / "投稿は減っています。丸ひと月で数えると、最初の月は {first} 回、最後の月は {last} 回です。";
    /// How much a new installation has to quote.
    fresh_start:
        "This replay began with nothing to quote. A new installation begins with little, too: on Slack and Discord it reads the last 7 days of each channel when it first sees it "
        "(history_days sets that, up to 3650)."
        / "この再生は、引用できる発言がない状態から始めています。新しく使い始めるときも、ほとんどありません。Slack と Discord では、チャンネルを初めて見たときに最後の 7 日分を読みます"
          "（history_days で 3650 日まで変えられます）。";

    // Questions that nobody answered.
    noticed_in_hour(questions: &str, noticed: &str, posted: &str):
        "Messages in the form of a question that nobody else followed up within an hour: {questions}. The rules noticed {noticed} of them; a post came at {posted}."
        / "質問の形で書かれ、1 時間以内にほかに誰も応じなかった発言：{questions} 件。ルールが気づいたのはそのうち {noticed} 件、投稿で取り上げたのは {posted} 件です。";
    noticed(questions: &str, noticed: &str, posted: &str):
        "Messages in the form of a question that nobody else answered: {questions}. The rules noticed {noticed} of them within an hour; a post came at {posted}."
        / "質問の形で書かれ、ほかに誰も答えなかった発言：{questions} 件。ルールが 1 時間以内に気づいたのはそのうち {noticed} 件、投稿で取り上げたのは {posted} 件です。";

    // Timing.
    after_question(soon: &str, known: &str, late: &str):
        "Of the posts without a model, counted from the message that each answers: {soon} of {known} come within 3 minutes, {late} after more than half an hour."
        / "モデルなしの投稿 {known} 回のうち、対象の発言から 3 分以内のものは {soon} 回、30 分を過ぎたものは {late} 回です。";
}
