//! The report for a team: what the persona did, or would have done, in its channels. It is written for people who have
//! never seen it.

use crate::texts::Name;

texts! {
    title(name: &str): "{name} in your channels" / "皆さんのチャンネルでの {name}";
    kicker_replay: "A replay of your history" / "履歴の再生";
    kicker_ledger: "From its own ledger" / "判断の記録から";
    intro_replay(messages: &str, people: &str, dates: &str):
        "From {messages} of {people}, {dates}. Nothing was posted: all of this was worked out afterwards."
        / "{people}の {messages}（{dates}）をもとに、後から計算したものです。投稿はしていません。";
    intro_ledger(messages: &str, people: &str, dates: &str):
        "From {messages} of {people}, {dates}." / "{people}の {messages}（{dates}）をもとにしています。";
    dates(from: &str, to: &str): "{from} to {to}" / "{from}〜{to}";

    // The sentence at the top. Text in backquotes is shown as code.
    your_channel: "your channel" / "皆さんのチャンネル";
    your_channels(channels: &str): "your {channels}" / "皆さんの {channels}";
    would_have_spoken(channels: &str, name: &str, times: &str):
        "In {channels}, {name} would have spoken {times}." / "{channels}にいたら、{name} は{times}話していたはずです。";
    times_and_rate(times: &str, period: &str, rate: &str): "{times} in {period}, {rate}" / "{period}に{times}（{rate}）";
    would_have_spoken_at_most(channels: &str, name: &str, rate: &str):
        "In {channels}, {name} would have spoken {rate} at most: the judge of this replay always says yes."
        / "{channels}にいたら、{name} が話すのは多くても{rate}です。この再生の判断役は必ず「話す」と答えるためです。";
    would_have_kept_silent(channels: &str, name: &str, period: &str):
        "In {channels}, {name} would have said nothing unasked in {period}."
        / "{channels}にいても、{name} は {period}、自分からは何も話していなかったはずです。";
    needs_model(name: &str):
        "{name} answers when asked, and posts nothing unasked until it has a model."
        / "{name} は呼ばれれば答えます。モデルを設定するまで、自分からは何も投稿しません。";
    all_verdicts_unknown(name: &str):
        "It is not known when {name} would have spoken: the model gave no answer that counts, or was not asked because of a limit."
        / "{name} がいつ話していたかはわかりません。モデルから使える答えが得られなかったか、上限のため尋ねていません。";
    find_out(command: &str, money: &str):
        "To see where it would have spoken, run this replay again with `{command}`. That costs {money}."
        / "どこで話していたかを見るには、この再生に `{command}` を付けてもう一度実行してください。費用は {money} です。";
    find_out_newest(period: &str, command: &str, money: &str, whole: &str):
        "To see where it would have spoken in the last {period}, run this replay again with `{command}`. That costs {money}; all of it costs {whole}."
        / "直近の {period}にどこで話していたかを見るには、この再生に `{command}` を付けてもう一度実行してください。費用は {money}、全期間では {whole} です。";
    find_out_unpriced(command: &str):
        "To see where it would have spoken, run this replay again with `{command}`."
        / "どこで話していたかを見るには、この再生に `{command}` を付けてもう一度実行してください。";
    find_out_from_store(command: &str):
        "No model was asked whether to speak. `{command}` asks one about what was said."
        / "話すかどうかをモデルに尋ねていません。`{command}` で、これまでの発言について尋ねられます。";
    spoke(period: &str, channels: &str, name: &str, times: &str):
        "In the last {period}, {name} spoke unasked {times} in {channels}."
        / "直近の {period}、{channels}で、{name} は自分から {times}話しました。";
    spoke_and_would(period: &str, channels: &str, name: &str, times: &str, unposted: &str):
        "In the last {period}, {name} spoke unasked {times} in {channels}, and would have {unposted} more where it only listens or asks first."
        / "直近の {period}、{channels}で、{name} は自分から {times}話しました。聞くだけのチャンネルと、確認してから話すチャンネルでは、{unposted}「話す」と判断しました。";
    would_where_silent(period: &str, channels: &str, name: &str, times: &str):
        "In the last {period}, {name} would have spoken {times} in {channels}, where it only listens or asks first."
        / "直近の {period}、{channels}（聞くだけ、または確認してから話す）で、{name} は {times}「話す」と判断しました。";
    spoke_never(period: &str, channels: &str, name: &str):
        "In the last {period}, {name} posted nothing unasked in {channels}."
        / "直近の {period}、{channels}で、{name} は自分からは何も投稿しませんでした。";
    here_they_are: "Here they are." / "以下がその場面です。";
    here_are_some(moments: &str): "Here are {moments}." / "以下は、そのうちの {moments}です。";
    two_sentences(one: &str, other: &str): "{one} {other}" / "{one}{other}";
    verdicts_unknown(times: &str):
        "What the judge would have said is not known {times}, so it may be more."
        / "判断がわからない場面が {times}あり、実際はこれより多いかもしれません。";

    // Periods, rates and money.
    date_format: "%-d %B %Y" / "%Y年%-m月%-d日";
    moment_format: "%a %-d %b %Y, %H:%M" / "%Y年%-m月%-d日 %H:%M";
    in_one_hour: "an hour" / "1 時間";
    in_hours(hours: &str): "{hours} hours" / "{hours} 時間";
    in_days(days: &str): "{days} days" / "{days} 日間";
    in_one_day: "a day" / "1 日";
    last_hour: "hour" / "1 時間";
    last_day: "day" / "1 日";
    times_a_month(times: &str): "about {times} times a month" / "月に約 {times} 回";
    twice_a_month: "about twice a month" / "月に約 2 回";
    once_a_month: "about once a month" / "月に約 1 回";
    rarely: "less than once a month" / "月に 1 回未満";
    money_about(money: &str): "about {money}" / "約 {money}";
    money_less(money: &str): "less than {money}" / "{money} 未満";
    of_total(part: &str, whole: &str): "{part} of {whole}" / "{whole} 件中 {part} 件";

    // The ways to run it.
    ways: "Ways to run it" / "動かし方";
    way: "How it is run" / "動かし方";
    only_when_asked: "Only when asked" / "呼ばれたときだけ";
    only_when_asked_means: "answers who calls it" / "呼んだ人に答える";
    proposes_first: "Asks first" / "確認してから話す";
    proposes_first_means: "asks somebody before each post; counted as if all were approved" / "投稿の前に誰かの許可を求める（すべて許可された場合の数）";
    joins_in: "Joins in" / "会話に加わる";
    joins_in_means: "posts when the talk has rested" / "会話が落ち着いたら投稿する";
    with_policy(way: &str, policy: &str): "{way}, {policy}" / "{way}（{policy}）";
    posts_a_week: "Posts a week" / "1 週間の投稿";
    posts_in_period: "Posts" / "投稿";
    at_open_questions: "At questions nobody took up within an hour" / "1 時間以内に誰も応じなかった質問への投稿";
    before_people: "Not needed: somebody took it up soon after" / "なくてもよかった投稿（直後に誰かが応じた）";
    in_mid_talk: "While people were in mid-talk" / "人が話している最中の投稿";
    price_a_month: "Price a month" / "1 か月の費用";
    not_known_yet(command: &str, money: &str): "Not known yet. `{command}` finds out for {money}." / "まだわかりません。`{command}` で調べられます（{money}）。";
    not_known_unpriced(command: &str): "Not known yet. `{command}` finds out." / "まだわかりません。`{command}` で調べられます。";
    before_people_means:
        "Not needed: after the post, another person took up the same message, within an hour of it."
        / "「なくてもよかった投稿」とは、投稿の後、元の発言から 1 時間以内に、ほかの人がその発言に応じていたものです。";
    mid_talk_means:
        "In mid-talk: within a minute before or after the post, somebody other than the one it answers wrote in the same conversation."
        / "「話している最中」とは、投稿の前後 1 分以内に、答える相手以外の人が同じ会話で発言していたことです。";
    price_estimated(model: &str, date: &str, memory: &str):
        "Prices are estimates with {model} at the list prices of {date}: memory (about {memory} % of joining in), checks whether to speak, and replies."
        / "費用は {model} を使った場合の見積もりで、{date} 時点の料金で計算しています。内訳は記憶（会話に加わる場合の約 {memory} %）、話すかどうかの判断、返答です。";
    price_unknown: "What a month with a model costs is not known." / "モデルを使った場合の 1 か月の費用はわかりません。";
    price_from_ledger(money: &str):
        "Prices rest on what its models cost in this period, {money} as the console counts it: checks, replies, memory and all else."
        / "費用は、この期間に実際にかかった {money}（コンソールの数字と同じ。判断、返答、記憶などすべて）をもとにしています。";

    // The moments.
    moments: "The moments" / "場面";
    moments_none: "There is no moment to show." / "お見せできる場面はありません。";
    would_ask_here: "At these moments it would ask its model whether to speak." / "モデルがあれば、話すかどうかを尋ねる場面です。";
    group_open: "At questions that nobody took up" / "誰も応じなかった質問";
    group_other: "At other messages" / "そのほかの発言";
    group_mid_talk: "While people were in mid-talk" / "人が話している最中";
    group_silence: "Where it stayed silent" / "黙っていた場面";
    said: "posted" / "投稿";
    would_say: "would have posted" / "投稿していたはずの文";
    would_speak: "would have spoken here" / "ここで話していたはず";
    would_ask: "would have asked its model here" / "ここでモデルに尋ねていたはず";
    stayed_silent: "stayed silent here" / "ここでは黙っていた";
    because: "Why" / "理由";
    cited: "Cited" / "引用元";
    then: "Then" / "その後";
    left_out_between(messages: &str): "{messages} in between" / "この間の {messages}";
    bot_label: "app" / "アプリ";
    nobody_took_it_up: "Nobody else took it up within an hour." / "1 時間、ほかの誰も応じませんでした。";
    nobody_wrote: "Nobody else wrote within an hour." / "1 時間、ほかの誰も発言しませんでした。";
    not_taken_up_yet: "Nobody had taken it up when this ends, less than an hour later." / "ここまでの記録（1 時間未満）では、誰も応じていません。";
    taken_up(name: Name<'_>, after: &str): "{name} wrote next, {after} after the message." / "発言の {after}後に {name:#}が次の発言をしました。";
    wrote_before(name: Name<'_>, before: &str): "{name} wrote {before} before this moment." / "この場面の {before}前に {name:#}の発言がありました。";
    wrote_after(name: Name<'_>, after: &str): "{name} wrote {after} after this moment." / "この場面の {after}後に {name:#}の発言がありました。";

    // Where and when.
    where_and_when: "Where and when" / "場所と時間帯";
    by_channel: "By channel" / "チャンネル別";
    by_hour: "By hour of the day" / "時間帯別";
    channel: "Channel" / "チャンネル";
    posts: "Posts" / "投稿";
    checks: "Checks whether to speak" / "話すかどうかの判断";
    of_these_in_mid_talk: "In mid-talk" / "話している最中";
    more_channels(channels: &str): "{channels} more" / "ほかの {channels}";
    messages_of_people: "People’s messages" / "人の発言";
    not_in_mid_talk: "other posts" / "そのほかの投稿";
    bar_label(count: &str, mid_talk: &str): "{count}, in mid-talk {mid_talk}" / "{count}、うち話している最中 {mid_talk}";
    hour_label(hour: usize, count: &str): "{hour}:00: {count}" / "{hour} 時台：{count}";

    // What to set.
    what_to_set: "What to set" / "設定";
    set_this:
        "These lines go into the config. `propose` asks first; `companion` joins in, `mention_only` answers only when asked, and `observe` listens and tells in this report what it would have done."
        / "設定ファイルに書く内容です。`propose` は確認してから話し、`companion` は会話に加わり、`mention_only` は呼ばれたときだけ答えます。`observe` は聞くだけで、どうするつもりだったかをこのレポートに残します。";
    your_model: "your model" / "使うモデル";
    often_in_mid_talk: "a third of its posts or more would be in mid-talk" / "投稿の 3 分の 1 以上が話している最中になる";

    // How it was counted.
    details: "How this was counted" / "数え方";
    left_out_bad(records: &str): "{records} of the input could not be read." / "入力のうち {records}は読み取れませんでした。";
    left_out_records(parts: &str): "Left out of the figures: {parts}." / "集計から除いたもの：{parts}。";
    left_out_private(channels: &str): "Left out as private: {channels}." / "非公開の {channels}を除きました。";
    left_out_no_private: "No channel was left out as private." / "非公開のため除いたチャンネルはありません。";
    left_out_private_where_told:
        "The input does not say which channels only some roles see, so others may be private, too."
        / "一部のロールだけが見られるチャンネルかどうかは入力に記されていないため、ほかにも非公開のものがあるかもしれません。";
    private_included:
        "Private channels are included, if there are any: look at what you show to whom."
        / "非公開チャンネルがあれば、それも含まれています。誰に見せるかに注意してください。";
    left_out_private_unknown: "Whether channels are private is not recorded in this input." / "チャンネルが非公開かどうかは、この入力に記されていません。";
    left_out_opted_out: "Nothing written by people who opted out appears on this page." / "オプトアウトした人の発言は、このページのどこにもありません。";
    counted_posts:
        "A post is what it says unasked. Answers to people who call it are counted apart, and messages of other bots are not counted as people’s."
        / "投稿とは、自分から話したものです。呼ばれて答えたものは別に数え、ほかのボットの発言は人の発言に数えません。";
    counted_questions:
        "A question counts as not taken up if it is asked of everybody and no other person writes beside it or in its thread within an hour, or answers it where the history says what answers what. A post at such a question counts if it comes within that hour."
        / "「応じた人がいない質問」とは、全員に向けた質問のうち、1 時間以内に、ほかの人が同じ場所にもスレッドにも書かなかったものです。どの発言への返事かが履歴に記されている場合は、返事の有無で数えます。こうした質問への投稿は、その 1 時間以内のものだけを数えます。";
    counted_answers(answers: &str, reactions: &str, checks: &str):
        "In this period: {answers} when somebody called it, {reactions} with an emoji, {checks}."
        / "この期間：呼びかけへの {answers}、絵文字でのリアクション {reactions}、話すかどうかの {checks}。";
    counted_without_model(posts: &str, mid_talk: &str):
        "If you set `response.mode: companion` without a model, it posts quotes of earlier messages that match a question: {posts} in this history, {mid_talk} of them in mid-talk."
        / "モデルなしで `response.mode: companion` にすると、質問に合う以前の発言を引用して投稿します。この履歴では {posts}、うち話している最中 {mid_talk} 回です。";
    counted_moments:
        "The moments are picked by rule: questions that nobody took up, other messages, posts that were not needed, posts in mid-talk (those closest to a person’s message) and silences, spread over the period."
        / "場面は、誰も応じなかった質問、そのほかの発言、なくてもよかった投稿、話している最中の投稿（人の発言に最も近いもの）、黙っていた場面から、期間が偏らないよう一定の基準で選びました。";
    judged_by_model(model: &str): "{model} decided whether to speak." / "話すかどうかは {model} が判断しました。";
    judged_by_answers_of(models: &str):
        "{models} decided whether to speak; its answers were read from a file." / "話すかどうかは {models} が判断しました（回答はファイルから読みました）。";
    judged_by_answers:
        "Answers from a file decided whether to speak. The file does not say what model gave them."
        / "話すかどうかは、ファイルにある回答によります。どのモデルの回答かは記されていません。";
    counted_only_judged:
        "In a replay the model only decides whether to speak. What it would have written is not known."
        / "再生では、モデルは話すかどうかを決めるだけです。どんな文を書いたかはわかりません。";
    counted_latency(seconds: &str): "How long a model takes was simulated: half of its calls took {seconds} s or longer." / "モデルの呼び出しにかかる時間は実測ではなく、中央値が {seconds} 秒になるように模擬したものです。";
    counted_unposted: "Where it only observes, it does not wait for the right moment and writes no text." / "聞くだけのチャンネルでは、タイミングを計らず、文章も作りません。";
    counted_zone(zone: &str): "Times are in the time zone {zone}." / "時刻のタイムゾーンは {zone} です。";
    counted_memory:
        "The calls for memory are estimated: an hour after new messages, at most once an hour in each channel." / "記憶のための呼び出しは推定です（新しい発言の 1 時間後、チャンネルごとに多くても 1 時間に 1 回）。";
    counted_unpriced(tokens: &str): "The price of calls with {tokens} tokens is not known; they are in no price." / "費用のわからない呼び出し（{tokens} トークン）は含まれていません。";
    counted_whole_workspace: "Prices are those of all channels of the workspace, private ones included." / "費用は、非公開のものも含め、ワークスペースのすべてのチャンネルの合計です。";
    leaves_nothing: "This replay ran on your machine and sent nothing. With a model, its provider gets the newest messages of a channel with the names of their authors, a few old ones that fit, and what it remembers." / "この再生は皆さんのマシンだけで行い、何も送っていません。モデルを使うと、チャンネルの最新の発言（書いた人の名前付き）、関係のありそうな古い発言数件、覚えていることが、モデルのプロバイダーに送られます。";
    leaves_to_model: "Its model’s provider gets the newest messages of a channel with the names of their authors, a few old ones that fit, and what it remembers. A model on your own machine keeps that there." / "モデルのプロバイダーには、チャンネルの最新の発言（書いた人の名前付き）、関係のありそうな古い発言数件、覚えていることが送られます。自分のマシンのモデルなら、外には出ません。";
    counted_anonymous:
        "Names of people who wrote were replaced, also inside texts, and links and addresses were masked. Nicknames, names of people who never wrote, products, places and what was said can still tell who somebody is. Read the page before you pass it on."
        / "書いた人の名前は発言の中も含めて置き換え、リンクとアドレスは伏せてあります。あだ名、自分では書いていない人の名前、製品や場所の名前、話の内容から、誰かがわかることもあります。このページをほかの人に渡す前に一読してください。";
    names_verbatim: "Names and texts are as people wrote them. `--anonymous` replaces the names." / "名前と発言はそのままです。`--anonymous` を付けると名前を置き換えます。";
    names_on_console: "Names and texts are as people wrote them." / "名前と発言はそのままです。";

    // Replaced names.
    link_masked: "[link]" / "[リンク]";
    email_masked: "[e-mail]" / "[メールアドレス]";
    person(letters: &str): "Person {letters}" / "人物{letters}";
    room(letters: &str): "room-{letters}" / "チャンネル{letters}";

    // In the terminal.
    write_page: "With the moments, to show to others: --report FILE.html" / "ほかの人に見せるページ（場面付き）：--report FILE.html";
    write_page_ledger: "With the moments, to show to others: --html FILE.html" / "ほかの人に見せるページ（場面付き）：--html FILE.html";
}
