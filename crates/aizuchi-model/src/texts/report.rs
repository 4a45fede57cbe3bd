//! The report of a replay or of the ledger: what the persona did or would have done in a team's channels, written
//! for people who have never seen it.

use crate::texts::Name;

texts! {
    // The beginning.
    title(name: &str): "{name}, before it speaks" / "{name} が話す前に";
    kicker_replay: "A replay of your own history" / "実際の履歴の再生";
    kicker_ledger: "From its own ledger" / "判断の記録から";
    intro_replay(name: &str, messages: &str, people: &str, dates: &str):
        "This page shows what {name} would "
        "have done in your channels: it read {messages} of {people} ({dates}) in the order in "
        "which they were written, and decided when to speak by the rules that it has live. It is all computed afterwards: nothing was posted, and what people would have replied is not known."
        / "このページは、{name} が皆さんのチャンネルにいたら何をしていたかを示します。"
          "{people}の {messages}（{dates}）を書かれた順に読み、いつ話すかを実際の運用と同じルールで判断しました。"
          "すべて後からの計算で、投稿はしていません。皆さんがどう返したかまではわかりません。";
    intro_ledger(name: &str, messages: &str, people: &str, dates: &str):
        "This page shows what {name} "
        "decided in your channels ({dates}), while {people} wrote {messages}. In channels where it "
        "only observes, it posted nothing and noted what it would have done."
        / "このページは、{name} が皆さんのチャンネルで何を判断したか"
          "（{dates}）を示します。その間に {people}が {messages}をしました。"
          "聞くだけのチャンネルでは投稿せず、どうするつもりだったかを記録しました。";
    dates(from: &str, to: &str): "{from} to {to}" / "{from}〜{to}";

    // The headline.
    headline_replay(period: &str, channels: &str, name: &str, times: &str, rate: &str):
        "Over {period} in {channels}, {name} would have spoken {times}{rate}."
        / "{period}、{channels}の会話に加わっていたら、{name} は自分から {times}話していたはずです{rate}。";
    headline_never(period: &str, channels: &str, name: &str):
        "Over {period} in {channels}, {name} would not have spoken unasked at all."
        / "{period}、{channels}の会話に加わっていても、{name} は自分からは一度も話していませんでした。";
    headline_unknown(period: &str, channels: &str, name: &str, calls: &str):
        "Over {period} in {channels}, {name} would have asked its judge, which decides whether to speak, {calls}. "
        "How often it would have spoken is not known: the judge of this replay always says no."
        / "{period}、{channels}で、話すかどうかの判断は {calls}になります。この再生の判断役は必ず「話さない」と答えるため、{name} が何回話すかはわかりません。";
    headline_no_verdict(period: &str, channels: &str, name: &str):
        "Over {period} in {channels}, how often {name} would have spoken is not known: there is no answer of its judge, which "
        "decides whether to speak."
        / "{period}、{channels}で、{name} が何回話すかはわかりません。話すかどうかを決める判断役の答えが 1 つもないためです。";
    /// Appended to the headline.
    verdicts_unknown(times: &str):
        "What the judge would have said is not known {times}, so it may be more."
        / "判断役の答えがわからない場面が {times}あり、実際はこれより多いかもしれません。";
    headline_at_most(period: &str, channels: &str, name: &str, times: &str, rate: &str):
        "Over {period} in {channels}, {name} would have spoken at most {times}{rate}: the judge of this replay, which decides "
        "whether to speak, always says yes."
        / "{period}、{channels}で、{name} が話すのは最大 {times}です{rate}。この再生の判断役は必ず「話す」と答えるためです。";
    headline_ledger(period: &str, channels: &str, name: &str, times: &str, rate: &str):
        "Over the last {period}, in {channels}, {name} would have spoken {times}{rate} where it only observes."
        / "直近の{period}、{channels}のうち聞くだけのチャンネルで、{name} は {times}「話す」と判断しました{rate}。";
    headline_ledger_spoke(period: &str, channels: &str, name: &str, times: &str, rate: &str):
        "Over the last {period}, in {channels}, {name} spoke unasked {times}{rate}."
        / "直近の{period}、{channels}で、{name} は自分から {times}話しました{rate}。";
    headline_ledger_both(period: &str, channels: &str, name: &str, times: &str, shadow: &str, rate: &str):
        "Over the last {period}, in {channels}, {name} spoke unasked {times}, and would have spoken {shadow} where it only observes{rate}."
        / "直近の{period}、{channels}で、{name} は自分から {times}話し、聞くだけのチャンネルでは {shadow}「話す」と判断しました{rate}。";
    headline_ledger_never(period: &str, channels: &str, name: &str):
        "Over the last {period}, in {channels}, {name} neither spoke unasked nor would have."
        / "直近の{period}、{channels}で、{name} は自分から話すことも、話そうとすることもありませんでした。";
    cost_free_or(money: &str, model: &str):
        "The built-in rules (no model) are free; with {model} it costs {money} a month."
        / "内蔵のルール（モデルを使わず、決まった手順で動くもの）なら無料、{model} なら月に {money} です。";
    cost_free_or_unknown:
        "The built-in rules (no model) are free. What a month with a model costs is not known."
        / "内蔵のルール（モデルを使わず、決まった手順で動くもの）なら無料です。モデルを使った場合の 1 か月の費用はわかりません。";
    cost_free_in_short_time:
        "The built-in rules (no model) are free. This history is too short to tell what a month with a model would cost."
        / "内蔵のルール（モデルを使わず、決まった手順で動くもの）なら無料です。モデルを使った場合の 1 か月の費用は、期間が短いためわかりません。";
    cost_about(money: &str, model: &str):
        "With {model} it costs {money} a month." / "{model} で月に {money} です。";
    cost_spent(money: &str, month: &str):
        "Its models cost {money} in that time, about {month} a month."
        / "その間のモデルの費用は {money}、月に約 {month} です。";
    cost_free:
        "That cost nothing: its built-in rules decided (no model)."
        / "費用はかかっていません。内蔵のルール（モデルを使わず、決まった手順で動くもの）が判断しました。";
    cost_unknown: "What that costs is not known." / "費用はわかりません。";
    rate_clause(rate: &str): ", {rate}" / "（{rate}）";
    date_format: "%-d %B %Y" / "%Y年%-m月%-d日";
    moment_format: "%a %-d %b %Y, %H:%M" / "%Y年%-m月%-d日 %H:%M";
    in_one_hour: "an hour" / "1 時間";
    in_hours(hours: &str): "{hours} hours" / "{hours} 時間";
    in_days(days: &str): "{days} days" / "{days} 日間";
    in_one_day: "one day" / "1 日";
    last_hour: "hour" / "1 時間";
    last_day: "day" / "1 日";
    times_a_day(times: &str): "about {times} times a day" / "1 日に約 {times} 回";
    twice_a_day: "about twice a day" / "1 日に約 2 回";
    once_a_day: "about once a day" / "1 日に約 1 回";
    times_a_week(times: &str): "about {times} times a week" / "週に約 {times} 回";
    twice_a_week: "about twice a week" / "週に約 2 回";
    once_a_week: "about once a week" / "週に約 1 回";
    times_a_month(times: &str): "about {times} times a month" / "月に約 {times} 回";
    twice_a_month: "about twice a month" / "月に約 2 回";
    once_a_month: "about once a month" / "月に約 1 回";
    rarely: "less than once a month" / "月に 1 回未満";

    // The figures at the top.
    figures: "In short" / "要点";
    /// Each is shown below its number: "1 time it would have spoken unasked".
    figure_spoke(times: &str): "{times} it would have spoken unasked" / "自分から話す{times}（見込み）";
    figure_spoke_at_most(times: &str):
        "{times} it would have spoken unasked, at most" / "自分から話す{times}（見込み、最大）";
    figure_spoke_ledger(times: &str):
        "{times} it spoke unasked, or would have" / "自分から話した回数と、「話す」と判断した{times}";
    time: "time" / "回数";
    times: "times" / "回数";
    figure_wrong: "of these would probably have interrupted" / "そのうち、邪魔になりそうな回数";
    /// What it would have done about an unanswered question.
    said_something: "said something" / "発言していた";
    figure_picked_up(done: &str):
        "questions that nobody answered, about which it would have {done}"
        / "誰も答えなかった質問のうち、{done}はずの件数";
    figure_picked_up_in_hour(done: &str):
        "questions left open for an hour, about which it would have {done}"
        / "1 時間以内に誰も応じなかった質問のうち、{done}はずの件数";
    figure_cost: "a month" / "1 か月あたり";
    figure_cost_with(model: &str): "with {model}; free with the built-in rules" / "{model} の場合。内蔵のルールなら無料";
    figure_cost_spent: "at the pace of this period" / "この期間のペースの場合";
    with_share(count: &str, share: &str): "{count} ({share})" / "{count}（{share}）";
    of_total(part: &str, whole: &str): "{part} of {whole}" / "{part} / {whole} 件";
    for_days: "too short a time to tell" / "不明：期間が短いため";
    because_no_verdict: "not known: there is no answer of the judge" / "不明：判断役の答えがありません";
    because_silent_judge: "not known: the judge of this replay always says no" / "不明：この再生の判断役は必ず「話さない」と答えます";

    // How often, and where.
    often: "How often, and where" / "頻度と場所";
    often_channels: "By channel" / "チャンネル別";
    often_hours: "By hour of the day" / "時間帯別";
    channel: "Channel" / "チャンネル";
    spoken: "It would have spoken" / "自分から話す回数（見込み）";
    spoken_ledger: "It spoke or would have" / "話した回数・「話す」と判断した回数";
    of_these_wrong: "Interruptions among them" / "うち邪魔になりそう";
    messages_of_people: "People’s messages" / "人の発言";
    all_channels: "All channels" / "全チャンネル";
    bar_label(spoke: &str, wrong: &str):
        "{spoke}; would probably have interrupted {wrong}" / "{spoke}、うち邪魔になりそう {wrong}";
    legend_fine: "no sign that it would have interrupted" / "邪魔になる様子なし";
    legend_wrong: "would probably have interrupted" / "邪魔になりそう";
    hours_people: "When people write: messages in each hour of the day" / "人が発言する時間帯：1 時間ごとの発言数";
    hours_own: "When it would have spoken, and interrupted: times in each hour of the day" / "話す時間帯と、邪魔になりそうな時間帯（見込み）：1 時間ごとの回数";
    hours_busiest(hour: &str, share: &str):
        "The busiest hour for people begins at {hour} ({share} of their messages)."
        / "人の発言が最も多いのは {hour} からの 1 時間です（全体の {share}）。";
    hour_label(hour: usize, count: &str): "{hour}:00: {count}" / "{hour} 時台：{count}";
    hours_table: "By hour of the day, in numbers" / "時間帯別の数字";
    hour: "Hour" / "時間帯";
    hour_of(hour: usize): "{hour}:00" / "{hour} 時台";
    wrong_per_100: "Share of interruptions" / "邪魔になりそうな割合";
    per_100_rule(least: &str):
        "Shares are given from {least} times on: with fewer, one more or less would change them too much."
        / "割合は、{least} 回以上のところだけ示します。それより少ないと、1 回の違いで大きく変わるためです。";
    /// For the hours of the day, each followed by its share.
    worse_hours(hours: &str, rest: &str):
        "The share of interruptions is higher than chance explains at {hours}; in the rest of the day it is {rest}. An hour begins at the time given."
        / "邪魔になりそうな割合が、偶然とはいえないほど高いのは、次の時刻からの 1 時間です（かっこ内は割合）：{hours}。それ以外の時間帯では {rest} です。";
    quarter(from: usize, end: usize, share: &str): "{from}:00–{end}:00 {share}" / "{from} 時〜{end} 時 {share}";
    /// The hours with the largest numbers, each with its number.
    most_hours(hours: &str):
        "The hours with the most interruptions, by when they begin: {hours}." / "邪魔になりそうな回数が多いのは、次の時刻からの 1 時間です（かっこ内は回数）：{hours}。";
    most_hours_of_moments(hours: &str):
        "The hours with the most moments that would interrupt, by when they begin: {hours}."
        / "邪魔になりそうな「話す場面」が多いのは、次の時刻からの 1 時間です（かっこ内は回数）：{hours}。";
    /// Where it would have interrupted most often, with its numbers.
    worst_channel(channel: &str, wrong: &str, spoke: &str):
        "The channel with the most interruptions is {channel}: {wrong}, of {spoke} posts there."
        / "邪魔になりそうな回数が最も多いチャンネルは {channel} です（そこでの発言 {spoke} 回のうち {wrong} 回）。";
    worst_hour(hour: &str, wrong: &str, spoke: &str):
        "The hour with the most interruptions begins at {hour}: {wrong}, of {spoke} posts in that hour."
        / "邪魔になりそうな回数が最も多いのは {hour} からの 1 時間です（その時間の発言 {spoke} 回のうち {wrong} 回）。";
    hours_details: "More by hour: people, and numbers" / "時間帯別の詳細（人の発言、数字）";
    timing_details: "Show the delays" / "間隔の分布を見る";

    // The moments.
    moments: "Examples" / "場面の例";
    moments_rule(all: &str, wrong: &str, fine: &str, silent: &str):
        "These are examples, picked by a fixed rule from {all} ({wrong} with a probable interruption, {fine} whose timing looks harmless) and from "
        "the questions at which it stayed silent ({silent}). They are spread over time and channels. The interruptions are those closest to another message; the questions are long enough to be understood."
        / "これは例です。話す場面 {all}（邪魔になりそうな {wrong} 回、タイミングに問題のなさそうな {fine} 回）と、質問があって黙っていた場面 {silent} 回から、一定の基準で選びました。"
          "期間とチャンネルが偏らないようにしてあります。邪魔になりそうな例は、ほかの発言に最も近いもの、質問の例は、内容のわかる長さのものです。";
    moments_none: "There is no moment to show." / "示せる場面はありません。";
    moments_wrong: "Where it would probably have interrupted" / "邪魔になりそうな場面";
    badge_wrong: "would probably have interrupted" / "邪魔になりそう";
    badge_spoke: "would have spoken" / "話していたはず";
    badge_said: "spoke" / "話した";
    badge_silent: "stayed silent" / "黙っていた";
    would_say: "would have said" / "言っていたはずの内容";
    would_speak: "would have spoken here" / "ここで話していたはず";
    said_here: "said" / "発言";
    silent_here: "looked here, and stayed silent" / "ここで判断し、黙っていた";
    never_looked: "did not look at this" / "ここでは判断しなかった";
    text_unknown: "What it would have said is not known." / "何と言っていたかはわかりません。";
    because: "Why" / "理由";
    what_happened: "What happened" / "実際には";
    lines_left_out(messages: &str): "{messages} in between" / "この間の {messages}";
    bot_label: "app" / "アプリ";

    note_nobody: "Nobody else answered." / "ほかに誰も答えませんでした。";
    note_nobody_in_hour: "No other person wrote within an hour." / "その後 1 時間、ほかの人の発言はありませんでした。";
    note_it_first(name: Name<'_>, after: &str, time: &str):
        "The first other person to write was {name}, {after} later ({time})." / "ほかの人で最初に発言したのは {name:#}で、{after}後（{time}）でした。";
    note_person_first(name: Name<'_>, before: &str):
        "{name} had written {before} earlier." / "{name:#}が、{before}前に発言していました。";
    note_near_after(name: Name<'_>, after: &str):
        "The next message of {name} came {after} later." / "{after}後に、{name:#}が発言しました。";
    note_near_before(name: Name<'_>, before: &str):
        "{name} had written {before} earlier." / "わずか {before}前に、{name:#}の発言がありました。";
    note_exchange(name: Name<'_>, after: &str):
        "Two or more people had just written, and the next message of {name} came {after} later."
        / "直前に 2 人以上が発言していて、{after}後に{name:#}がまた発言しました。";
    note_missed(persona: &str): "Nobody answered, and neither would {persona} have." / "誰も答えず、{persona} も答えていなかったはずです。";
    note_missed_in_hour(persona: &str): "No other person wrote within an hour, and {persona} stayed silent, too." / "その後 1 時間、ほかの人の発言はなく、{persona} も黙っていました。";
    note_missed_ledger(persona: &str): "Nobody answered, and neither did {persona}." / "誰も答えず、{persona} も答えませんでした。";
    note_answered(name: Name<'_>, after: &str):
        "{name} wrote {after} after the question." / "質問から {after}後に、{name:#}が発言しました。";

    // Whether a user would have answered anyway.
    first_unknown: "When it would have spoken is not known." / "いつ話していたかはわかりません。";
    first_none: "It would not have responded to anything, so there is nothing to compare." / "話す場面がなかったため、比べるものがありません。";
    first_unknown_about(times: &str):
        "It would have spoken {times}; about which messages is not known."
        / "{times}話していたはずですが、どの発言についてかはわかりません。";
    first_of(times: &str): "It would have spoken {times}:" / "話していたはずの {times}のうち：";
    /// If it is not always known which message it would have responded to.
    first_of_known(times: &str, known: &str):
        "It would have spoken {times}, {known} of them about a message of this history:"
        / "話していたはずの {times}のうち、この履歴の発言についてのものは {known} 回です。その内訳：";
    first_annotated: "The history says which message answers which." / "どの発言がどの発言への返事かは、履歴に記されています。";
    first_partly_guessed:
        "The history says only of some messages what they answer. Elsewhere this counts the first message by another person, in the thread or in the channel within an hour, whether it is an answer or not."
        / "どの発言への返事かが履歴に記されているのは、一部の発言だけです。それ以外は、返事かどうかにかかわらず、スレッド内か、1 時間以内にチャンネル内でほかの人が最初に発言したものを数えます。";
    first_guessed:
        "The history does not say which message answers which. So this counts the first message by another person, in the thread or in the channel within an hour, whether it is an answer or not."
        / "履歴には、どの発言がどの発言への返事かが記されていません。そのため、返事かどうかにかかわらず、スレッド内か、1 時間以内にチャンネル内でほかの人が最初に発言したものを数えます。";

    // Unanswered questions.
    unanswered: "Questions that nobody answered" / "誰も答えなかった質問";
    unanswered_for_hour: "Questions that nobody followed up within an hour" / "1 時間以内に誰も応じなかった質問";
    /// Why this number differs from that of moments without another user's message.
    unanswered_bridge:
        "The line “nobody” above counts moments, not questions, so its number is another one: there can be several moments about one question, and moments about no question."
        / "ここで数えるのは質問で、前の節の、誰も応じなかった「話す場面」の数とは一致しません（一つの質問に「話す場面」が何回かあることも、質問でない発言についての「話す場面」もあります）。";
    unanswered_counts(questions: &str, done: &str, which: &str):
        "People left {questions} without any answer. It would have {done} about {which} within an hour."
        / "人が答えないままの質問が {questions}ありました。そのうち、1 時間以内に{done}はずのものは {which}。";
    unanswered_in_hour(questions: &str, done: &str, which: &str):
        "People left {questions} open for an hour or longer. It would have {done} about {which} within that hour."
        / "1 時間以内に誰も応じなかった質問が {questions}ありました。そのうち、その 1 時間のうちに{done}はずのものは {which}。";
    /// For several questions, or for one.
    which_none: "none" / "ありません";
    which_it: "it" / "1 件です";
    which_some(count: &str): "{count} of them" / "{count} 件です";
    which_all(count: &str): "all of them" / "{count} 件すべてです";
    unanswered_annotated: "A question counts if it begins a conversation and the history records no answer of another person." / "会話の始まりとなる質問で、ほかの人の返事が履歴にないものを数えます。";
    unanswered_silence:
        "This counts messages with a question mark outside threads that name nobody and that nobody else followed up, either in the channel within an hour or ever in their thread. Some ask nothing of everyone, and some may have been answered later."
        / "スレッドの外で書かれ、特定の人に宛てていない、疑問符のある発言のうち、その後 1 時間チャンネルにほかの人の発言がなく、その発言のスレッドにもほかの人の発言がないものを数えます。みんなへの質問とは限らず、後で答えがあったものも含まれているかもしれません。";
    unanswered_unjudged: "Which of the unanswered questions it would have taken up is not known." / "答えのなかった質問のうち、どれを取り上げていたかはわかりません。";
    unanswered_unknown: "No question in this history can be said for certain to have gone unanswered." / "この履歴には、誰も答えなかったと言い切れる質問がありません。";

    // Timing.
    timing: "How quickly, compared with people" / "人と比べた速さ";
    timing_sentence(own: &str, people: &str):
        "Half of the time it would have waited about {own} or longer after the last message. Between people that time is about {people}."
        / "ボットが投稿するまでの間隔（最後の発言から）は、中央値で約 {own}です。人どうしの発言の間隔は、中央値で約 {people}です。";
    /// The most common group of its own delays.
    timing_usual(share: &str, group: &str, people: &str):
        "Most often it comes after {group} ({share} of the time); of people’s delays {people} are that long."
        / "ボットで最も多い間隔は {group}で、全体の {share} です。人では、その長さの間隔は {people} です。";
    timing_basis:
        "Its delay is the time from the newest message that it had read to its post: it waits for a pause, a model takes its time, and it answers no faster than a person would. So the delay differs from the wait in the settings."
        / "ボットの間隔は、読んだ最後の発言から投稿までです。会話が止まるのを待つ時間、呼び出しにかかる時間、人のように置く間を合わせたものなので、設定にある待ち時間より短いことも長いこともあります。";
    timing_unknown: "There is nothing to compare: people never wrote within an hour of each other, or it would not have spoken, or only in channels where it just observes and so does not wait for the right moment."
        / "比べるものがありません。人が 1 時間以内に続けて発言したことがないか、話す場面がなかったか、タイミングを計らない「聞くだけ」の判断しかありませんでした。";
    timing_people: "People" / "人";
    timing_caption: "Share of delays: from one message to the next one by someone else (within an hour), and from the last message to its own"
        / "間隔の分布：ある発言からほかの人の次の発言まで（1 時間以内）と、最後の発言から自分の発言まで";
    timing_until(end: u32): "up to {end} s" / "{end} 秒以下";
    timing_seconds(from: u32, end: u32): "{from}–{end} s" / "{from}〜{end} 秒";
    timing_minutes(from: u32, end: u32): "{from}–{end} min" / "{from}〜{end} 分";
    timing_over(end: u32): "over {end} min" / "{end} 分超";
    timing_bin: "Delay" / "間隔";

    // Cost.
    cost: "What it would cost" / "費用";
    /// Precedes the basis.
    cost_of_deciding(share: &str):
        "Deciding takes {share} of the tokens, and it is paid also where it stays silent."
        / "トークンの {share} は判断に使われます。黙っているときにもかかる費用です。";
    cost_basis(judge: &str, reply: &str, judge_tokens: &str, reply_tokens: &str, date: &str):
        "The price is that of {judge}, which read {judge_tokens} tokens each on average, and of {reply}, which read {reply_tokens} tokens each. It does not include remembering (a model is asked to do so an hour after a message), or "
        "tokens that a model spends on thinking. Lengths are estimated from the prompts of this replay, and answers are taken as short. List prices of {date}, so check those of today; nothing saved by a provider’s cache. A model may speak at other moments than this replay found, so treat this as a rough figure."
        / "{judge}で読むのは 1 回平均 {judge_tokens} トークン、{reply}では 1 回平均 {reply_tokens} トークンです（長さはこの再生のプロンプトからの見積もり）。"
          "記憶の費用（発言の 1 時間後にモデルに尋ねます）と、モデルが考えるのに使うトークンは入っていません。答えは短いものとしています。価格は {date} の公開価格で（今の価格を確かめてください）、"
          "キャッシュによる割引は含みません。モデルはこの再生とは別の場面で「話す」と判断することがあるので、正確な額ではなく、おおよその目安です。"
          "既定の設定では、プロンプトはこのレポートと同じ言語になります。日本語のプロンプトは英語よりトークンが多く、その分、費用が高くなります。";
    /// The purposes of the replies.
    cost_replies(unasked: &str, called: &str, more: &str):
        "The replies are {unasked} unasked, {called} to messages that called it or seemed to answer it, and {more} written again or not used, because people went on talking meanwhile."
        / "返答の内訳：自分から話すもの {unasked} 回、ボットへの呼びかけか、ボットの発言への返事と受け取って答えるもの {called} 回、書いている間に会話が進み、書き直したか使わなかったもの {more} 回。";
    /// Of the replies to messages that called it.
    cost_after_moment(count: &str):
        "{count} of the messages that it replies to seemed to answer words that only stand in for a model’s: without a model, none of these replies would exist."
        / "返答の対象になった発言のうち {count} 件は、ルールがモデルの代わりに出した言葉への返事と受け取ったものです。モデルなしではその言葉を投稿しないので、これらの返答もありません。";
    cost_judge: "Each check whether to speak is one call of a model, also where it ends in silence." / "話すかどうかの判断では、黙ることになる場合も含め、そのたびにモデルを 1 回呼び出します。";
    /// Judge calls, and how many of them judged the same again.
    with_second_looks(judge: &str, looks: &str):
        "{judge} ({looks} of them repeated)" / "{judge}（うち {looks} 回は再判断）";
    /// How the checks ended, which adds up to all of them.
    cost_checks(moments: &str, no_question: &str, rest: &str):
        "How these checks ended: {moments} in a moment to speak; {no_question} in silence, as nobody had asked anything; the other {rest} in silence for another reason (a question was answered already or meant for somebody else, say), in an emoji, in another look, in words that were taken back because people went on talking, or in a failed call."
        / "判断の内訳：「話す場面」になったもの {moments} 回、質問がなく黙っていたもの {no_question} 回、残りの {rest} 回は、別の理由で黙っていたもの（質問にすでに返事があった、質問がほかの人に向けたものだったなど）、リアクションだけのもの、見直し、会話が進んで取りやめた発言、失敗した呼び出しです。";
    cost_basis_ledger(judge: &str, reply: &str, date: &str):
        "This is based on {judge} and {reply} of this period and on what they used; for other models, list prices of {date}."
        / "この期間の{judge}と{reply}、およびその使用量に基づきます。ほかのモデルは {date} の公開価格です。";
    cost_model: "Model" / "モデル";
    cost_month: "A month" / "1 か月";
    cost_month_of(policy: &str): "A month with {policy}" / "{policy} での 1 か月";
    cost_builtin: "the built-in rules" / "内蔵のルール";
    cost_nothing: "free" / "無料";
    cost_estimate(money: &str): "about {money}" / "約 {money}";
    cost_less(money: &str): "less than {money}" / "{money} 未満";
    cost_real(period: &str, money: &str, month: &str):
        "Actually spent in this period ({period}): {money}. At the same pace a month of 30.4 days comes to {month}."
        / "この期間（{period}）に実際にかかった費用：{money}。同じペースなら 1 か月（30.4 日）で {month} です。";
    /// How the total and the monthly cost are related.
    cost_period(period: &str, total: &str, model: &str, month: &str):
        "Over {period}, all checks and replies would cost {total} with {model}. At the same pace a month of 30.4 days comes to {month}. Remembering and thinking tokens are not included."
        / "{period}のすべての判断と返答の費用は、{model} なら {total} です。同じペースなら 1 か月（30.4 日）で {month} です。記憶と思考（thinking）の分は入っていません。";
    cost_total: "This period" / "この期間";
    /// In a replay with a model.
    cost_judged(money: &str, month: &str):
        "The answers of the judge in this replay cost {money}, or {month} a month, without the replies."
        / "この再生での判断役の回答には {money} かかりました（月に {month}。返答の費用は含みません）。";
    two_sentences(one: &str, other: &str): "{one} {other}" / "{one}{other}";
    cost_no_tokens: "not known: no tokens were counted" / "不明：トークン数の記録がありません";
    cost_no_price: "not known: no price is configured" / "不明：価格の設定がありません";
    cost_no_calls: "no model was asked" / "モデルには問い合わせていません";
    cost_caption: "Cost of this period, and of a month of 30.4 days, with each model" / "モデルごとの、この期間と 1 か月（30.4 日）の費用";

    // Policies.
    policies: "Policies side by side" / "方針の比較";
    policies_caption: "The same history under each policy" / "同じ履歴での各方針";
    policy: "Policy" / "方針";
    policy_rate: "How often" / "頻度";
    policy_wrong: "Would probably have interrupted" / "邪魔になりそうな回数（割合）";
    policy_picked_up_in_hour(done: &str):
        "Questions that nobody followed up within an hour, about which it would have {done}"
        / "1 時間以内に誰も応じなかった質問のうち、{done}はずの件数";
    policy_picked_up(done: &str):
        "Questions nobody answered, about which it would have {done}" / "誰も答えなかった質問のうち、{done}はずの件数";
    policy_delay: "Usual delay after the last message" / "最後の発言からの間隔の中央値";
    policy_first: "Before another person wrote, without interrupting" / "邪魔せずに、ほかの人より先に話す回数";
    policy_calls: "Judge calls a day" / "1 日の判断回数";
    policy_cost(model: &str): "A month with {model}" / "{model} での 1 か月";
    differences: "Where they differ" / "違いの出る場面";
    differences_rule(messages: &str):
        "There are {messages} that some policies take up and others do not. Examples of each are spread over the period."
        / "ある方針が取り上げ、別の方針が取り上げない発言は {messages}あります。それぞれの例を、期間全体から選んで示します。";
    differences_none: "They respond to the same messages." / "取り上げる発言は同じです。";
    policy_spoke(policy: &str, after: &str):
        "{policy}: would have spoken, {after} after the yellow message" / "{policy}：色の付いた発言から {after}後に話していたはず";
    policy_silent(policy: &str, reason: &str): "{policy}: stayed silent: {reason}" / "{policy}：黙っていた（{reason}）";
    policy_never(policy: &str): "{policy}: did not speak about it" / "{policy}：これについては話していない";

    // What to do next. Text in backquotes is shown as code.
    next: "What you can do next" / "次にできること";
    next_begin_ledger:
        "Which settings should you use? If it would have spoken where you would have liked it to, keep the settings that you have."
        / "どの設定にするか：話してほしいところで「話す」と判断していれば、今の設定のままで構いません。";
    next_why:
        "Ask about single decisions: `aizuchi why --channel \"#general\" --last 10`."
        / "一つ一つの判断の理由を見る：`aizuchi why --channel \"#general\" --last 10`。";

    // What was left out.
    left_out: "What was left out, and how this was counted" / "除いたものと数え方";
    /// Opens it, and what the cost rests on.
    left_out_details: "Show the details" / "詳しく見る";
    cost_details: "How this is estimated" / "見積もりの根拠";
    left_out_bad(records: &str): "{records} of the input could not be read." / "入力のうち {records}は読み取れませんでした。";
    left_out_no_bad: "Every record of the input could be read." / "入力に読み取れないものはありませんでした。";
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
    left_out_period: "The history has what people wrote, not what they said elsewhere. Messages of other bots were read and are not counted as people’s."
        / "履歴にあるのは書かれたものだけです。ほかのボットの発言は読みますが、人の発言には数えません。";
    left_out_opted_out: "Nothing written by people who opted out appears on this page." / "オプトアウトした人の発言は、このページのどこにもありません。";
    counted_wrong:
        "This history does not say what answers what, so any message of the other person counts, whether it is an answer or not. What it says when it is called never counts as an interruption."
        / "どの発言への返事かがこの履歴には記されていないため、返事かどうかにかかわらず、ほかの人の発言を数えます。呼ばれて答えたものは、邪魔とは数えません。";
    /// Where the history says of some messages what they answer.
    counted_wrong_replies:
        "Within a minute of a post, a message of which this history says that it answers something else does not count; any other message of another person does, whether it is an answer or not. Where two or more people have just written, any message counts. What it says when it is called never counts as an interruption."
        / "投稿の前後 1 分以内にあるほかの人の発言のうち、別の発言への返事だと履歴に記されているものは数えず、それ以外は返事かどうかにかかわらず数えます。直前に 2 人以上が発言していた場合は、どの発言も数えます。呼ばれて答えたものは、邪魔とは数えません。";
    /// Where it says so of all.
    counted_wrong_annotated:
        "This history says what answers what, so a message of another person within a minute counts only if it is an answer. Where two or more people have just written, any message counts. What it says when it is called never counts as an interruption."
        / "どの発言への返事かがこの履歴に記されているので、前後 1 分以内のほかの人の発言は、返事だけを数えます。直前に 2 人以上が発言していた場合は、どの発言も数えます。呼ばれて答えたものは、邪魔とは数えません。";
    counted_lower_limit:
        "That is a lower limit: how people would have felt about a post is not known." / "これは少なめの見積もりです。投稿を人がどう感じたかまではわかりません。";
    /// `all` of `spoken` is the total including these `times`.
    counted_went_on(times: &str, all: &str, spoken: &str):
        "Counted apart: the asker was still typing and wrote within a minute after it {times}. If you count these, too, it is {all} of {spoken}."
        / "このほか、尋ねた本人がまだ書き続けていて 1 分以内に発言したものが {times}あります。これも数えると {spoken}のうち {all} になります。";
    counted_ahead:
        "“Before another person wrote” counts the times after which another person did write, and that would probably not have interrupted."
        / "「ほかの人より先」は、その後にほかの人の発言があり、邪魔になりそうでなかったものを数えます。";
    counted_anonymous:
        "Names of people who wrote were replaced, also inside texts, and links and addresses were masked. What can still tell who "
        "somebody is: names of people who never wrote, nicknames, names of products, places and channels that were not replaced, the "
        "times, and what was said. Read the page before you pass it on."
        / "書いた人の名前は発言の中も含めて置き換え、リンクとアドレスは伏せてあります。それでも誰かを特定できるもの：自分では書いていない人の名前、"
          "あだ名、置き換えていない製品・場所・チャンネルの名前、時刻、話の内容。このページをほかの人に渡す前に一読してください。";
    counted_latency(seconds: &str): "How long a model takes was simulated: half of its calls took {seconds} s or longer." / "モデルの呼び出しにかかる時間は実測ではなく、中央値が {seconds} 秒になるように模擬したものです。";
    counted_shadow: "Where it only observes, it does not wait for the right moment and writes no text." / "聞くだけのチャンネルでは、タイミングを計らず、文章も作りません。";

    // Replaced names.
    link_masked: "[link]" / "[リンク]";
    email_masked: "[e-mail]" / "[メールアドレス]";
    person(letters: &str): "Person {letters}" / "人物{letters}";
    room(letters: &str): "room-{letters}" / "チャンネル{letters}";

    // The terminal.
    wrong_line(wrong: &str, posts: &str): "{wrong} of {posts} would probably have interrupted:" / "{posts}のうち、邪魔になりそうなのは {wrong} 回です：";
    no_wrong: "None of these would have interrupted an exchange or come within a minute of another person’s message." / "やり取りに割り込むものも、ほかの人の発言の前後 1 分以内のものもありません。";
    channel_line(spoke: &str, messages: &str): "{spoke} among {messages}" / "{messages}に対して {spoke}";
    write_page: "To show it to others, with the moments: --report FILE.html" / "ほかの人に見せるページ（場面つき）：--report FILE.html";
    write_page_ledger: "To show it to others, with the moments: --html FILE.html" / "ほかの人に見せるページ（場面つき）：--html FILE.html";
}
