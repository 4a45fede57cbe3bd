//! The report of a replay or of the ledger: what it did or would have done in a team's channels, told to people who
//! have never seen it.

use crate::persona::Language;
use crate::texts::{Name, pick};

texts! {
    // The beginning.
    title(name: &str): "{name}, before it speaks" / "{name} が話す前に";
    kicker_replay: "A replay of your own history" / "実際の履歴による再現";
    kicker_ledger: "From its own ledger" / "判断の記録から";
    intro_replay(name: &str, messages: &str, people: &str, dates: &str):
        "{name} is a chat companion that listens and decides by itself when to say something. This page shows what it would "
        "have done in your channels: it read {messages} messages of {people} people ({dates}) in the order in "
        "which they were written, and decided as it does live. Nothing was posted. What people would have replied is not known."
        / "{name} は、会話を聞いて、いつ話すかを自分で決めるチャットの仲間です。このページは、皆さんのチャンネルで何をしたはずかを示します。"
          "{people} 人の {messages} 件の発言（{dates}）を書かれた順に読み、実際と同じように判断しました。"
          "投稿はしていません。皆さんがどう返したはずかは分かりません。";
    intro_ledger(name: &str, messages: &str, people: &str, dates: &str):
        "{name} is a chat companion that listens and decides by itself when to say something. This page shows what it "
        "decided in your channels ({dates}), while {people} people wrote {messages} messages. In channels where it "
        "only observes, it posted nothing and noted what it would have done."
        / "{name} は、会話を聞いて、いつ話すかを自分で決めるチャットの仲間です。このページは、皆さんのチャンネルで何を判断したか"
          "（{dates}）を示します。その間に {people} 人が {messages} 件の発言を書きました。"
          "見守るだけのチャンネルでは投稿せず、何をしたはずかを書き留めました。";
    dates(from: &str, to: &str): "{from} to {to}" / "{from}～{to}";
    most_in_hour(most: &str): "tallest bar: {most}" / "最も高い棒：{most}";

    // The headline.
    headline_replay(period: &str, channels: &str, name: &str, times: &str, rate: &str):
        "In {period} and {channels}, {name} would have spoken {times}{rate}."
        / "{period}、{channels}で、{name} は {times}話したはずです{rate}。";
    headline_never(period: &str, channels: &str, name: &str):
        "In {period} and {channels}, {name} would not have spoken unasked at all."
        / "{period}、{channels}で、{name} が自分から話すことは一度もなかったはずです。";
    headline_unknown(period: &str, channels: &str, name: &str, calls: &str):
        "In {period} and {channels}, {name} would have asked its judge, which decides whether to speak, {calls}. "
        "How often it would have spoken is not known: the judge of this replay always says no."
        / "{period}、{channels}で、{name} は話すかどうかを決める判断役に {calls}尋ねたはずです。この再現の判断役は必ず断るため、何回話したはずかは分かりません。";
    headline_at_most(period: &str, channels: &str, name: &str, times: &str, rate: &str):
        "In {period} and {channels}, {name} would have spoken at most {times}{rate}: the judge of this replay, which decides "
        "whether to speak, always says yes."
        / "{period}、{channels}で、{name} が話すのは多くても {times}です{rate}。この再現で話すかどうかを決める判断役は、必ず承諾します。";
    headline_ledger(period: &str, channels: &str, name: &str, times: &str, rate: &str):
        "In the last {period} and {channels}, {name} would have spoken {times}{rate} where it only observes."
        / "直近の{period}、{channels}のうち見守るだけの場所で、{name} は {times}話したはずです{rate}。";
    headline_ledger_spoke(period: &str, channels: &str, name: &str, times: &str, rate: &str):
        "In the last {period} and {channels}, {name} spoke unasked {times}{rate}."
        / "直近の{period}、{channels}で、{name} は自分から {times}話しました{rate}。";
    headline_ledger_both(period: &str, channels: &str, name: &str, times: &str, shadow: &str, rate: &str):
        "In the last {period} and {channels}, {name} spoke unasked {times}, and would have spoken {shadow} where it only observes{rate}."
        / "直近の{period}、{channels}で、{name} は自分から {times}話し、見守るだけの場所では {shadow}話したはずです{rate}。";
    headline_ledger_never(period: &str, channels: &str, name: &str):
        "In the last {period} and {channels}, {name} neither spoke unasked nor would have."
        / "直近の{period}、{channels}で、{name} は自分から話すことも、話そうとすることもありませんでした。";
    cost_free_or(money: &str, model: &str):
        "That is free with its built-in mind (fixed rules, no model), and about {money} a month with {model}."
        / "内蔵のルール（モデルを使わない固定の規則）なら無料、{model} なら月に約 {money} です。";
    cost_about(money: &str, model: &str):
        "That is about {money} a month with {model}." / "{model} で月に約 {money} です。";
    cost_spent(money: &str, month: &str):
        "Its models cost {money} in that time, about {month} a month."
        / "その間のモデルの費用は {money}、月に約 {month} です。";
    cost_free:
        "That cost nothing: its built-in mind decided (fixed rules, no model)."
        / "費用はかかっていません。内蔵のルール（モデルを使わない固定の規則）が判断しました。";
    cost_unknown: "What that costs is not known." / "費用は分かりません。";
    /// Stands beside the headline of a replay with the built-in mind.
    judged_by_builtin:
        "The judge of this replay, which decides whether to speak, was the built-in mind. A model would choose other moments and "
        "other words: `--judge model` shows which moments."
        / "この再現で話すかどうかを決める判断役は、内蔵のルールです。モデルなら、選ぶ場面も言葉も変わります。どの場面を選ぶかは "
          "`--judge model` で分かります。";
    rate_clause(rate: &str): ", {rate}" / "（{rate}）";
    date_format: "%-d %B %Y" / "%Y年%-m月%-d日";
    moment_format: "%a %-d %b %Y, %H:%M" / "%Y年%-m月%-d日 %H:%M";
    in_hours(hours: &str): "{hours} hours" / "{hours} 時間";
    in_days(days: &str): "{days} days" / "{days} 日間";
    in_one_day: "one day" / "1 日";
    times_a_day(times: &str): "about {times} times a day" / "1 日に約 {times} 回";
    twice_a_day: "about twice a day" / "1 日に約 2 回";
    once_a_day: "about once a day" / "1 日に約 1 回";
    times_a_week(times: &str): "about {times} times a week" / "週に約 {times} 回";
    once_a_week: "about once a week" / "週に約 1 回";
    times_a_month(times: &str): "about {times} times a month" / "月に約 {times} 回";
    once_a_month: "about once a month" / "月に約 1 回";
    rarely: "less than once a month" / "月に 1 回未満";

    // The figures at the top.
    figures: "In short" / "要点";
    figure_spoke: "times it would have spoken unasked" / "自分から話したはずの回数";
    figure_spoke_at_most: "times it would have spoken unasked, at most" / "自分から話したはずの回数（最大）";
    figure_spoke_ledger: "times it spoke unasked, or would have" / "自分から話した、または話したはずの回数";
    figure_wrong: "of these would probably have disturbed" / "そのうち、おそらく邪魔になった回数";
    figure_wrong_rule:
        "spoken into a quick exchange between people, or within a minute of another person’s answer"
        / "人どうしの速いやり取りの最中か、ほかの人の返事の前後 1 分以内に話すもの";
    two_notes(one: &str, other: &str): "{one}: {other}" / "{one}。{other}";
    busiest_day(rate: &str, most: usize): "{rate}, {most} on its busiest day" / "{rate}、最も多い日は {most} 回";
    /// What it would have done at a question that nobody answered.
    asked_again: "asked the room again" / "皆に改めて尋ねた";
    said_something: "said something" / "何か言った";
    figure_picked_up(done: &str):
        "questions that nobody answered, about which it would have {done}"
        / "誰も答えなかった質問のうち、{done}はずの数";
    figure_picked_up_in_hour(done: &str):
        "questions left open for an hour, about which it would have {done}"
        / "1 時間誰も応じなかった質問のうち、{done}はずの数";
    figure_cost: "a month" / "1 か月あたり";
    figure_cost_with(model: &str): "with {model}; free with the built-in mind" / "{model} の場合。内蔵のルールなら無料";
    figure_cost_spent: "at the pace of these days" / "この期間のペースの場合";
    with_share(count: &str, share: &str): "{count} ({share})" / "{count}（{share}）";
    of_total(part: &str, whole: &str): "{part} of {whole}" / "{part} / {whole} 件";
    for_days: "too short a time to tell" / "期間が短く、分かりません";
    because_silent_judge: "not known: the judge of this replay always says no" / "不明（この再現の判断役は必ず断ります）";

    // How often, and where.
    often: "How often, and where" / "頻度と場所";
    often_channels: "By channel" / "チャンネル別";
    often_hours: "By hour of the day" / "時間帯別";
    channel: "Channel" / "チャンネル";
    spoken: "It would have spoken" / "話したはずの回数";
    spoken_ledger: "It spoke or would have" / "話した・話したはずの回数";
    rate: "How often" / "頻度";
    of_these_wrong: "Of these disturbing" / "うち邪魔";
    messages_of_people: "People’s messages" / "人の発言";
    more_channels(count: usize): "{count} more channels" / "ほか {count} チャンネル";
    all_channels: "All channels" / "全チャンネル";
    bar_label(spoke: usize, wrong: usize):
        "{spoke} times, {wrong} of these would probably have disturbed" / "{spoke} 回、うちおそらく邪魔 {wrong} 回";
    legend_fine: "no sign that it would have disturbed" / "邪魔になった様子なし";
    legend_wrong: "would probably have disturbed" / "おそらく邪魔になった";
    hours_people: "When people write: messages in each hour of the day" / "人が書く時間帯：1 時間ごとの発言数";
    hours_own: "When it would have spoken: times in each hour of the day" / "話したはずの時間帯：1 時間ごとの回数";
    hours_zone(zone: &str): "Hours are in the time zone {zone}." / "時刻のタイムゾーンは {zone} です。";
    hours_busiest(hour: &str, share: &str):
        "The busiest hour for people begins at {hour} ({share} of their messages)."
        / "人の発言が最も多いのは {hour} からの 1 時間です（全体の {share}）。";
    hour_label(hour: usize, count: usize): "{hour}:00: {count}" / "{hour} 時台：{count}";
    as_table: "The same as a table" / "表で見る";
    mentions(times: &str):
        "Besides, it was called by its name and would have answered {times}."
        / "このほか、名前で呼ばれて {times}答えたはずです。";
    mentions_ledger(times: &str):
        "Besides, it was called by its name {times}; where it may speak, it answered."
        / "このほか、名前で {times}呼ばれ、話してよい場所では答えました。";
    reactions(times: &str):
        "{times} it would have reacted with an emoji instead of words."
        / "{times}、言葉の代わりに絵文字で反応したはずです。";
    reactions_ledger(times: &str):
        "{times} it reacted with an emoji instead of words."
        / "{times}、言葉の代わりに絵文字で反応しました。";

    // The moments.
    moments: "The most telling moments" / "特徴的な場面";
    moments_rule(wrong: usize, fine: usize, silent: usize, all: usize):
        "These are examples. They are picked by a fixed rule from the {all} times it would have spoken ({wrong} would probably have "
        "disturbed, {fine} show no sign that it disturbed), and from the questions at which it stayed silent ({silent})."
        / "これは例です。話したはずの {all} 回（おそらく邪魔になった {wrong} 回、邪魔になった様子のない {fine} 回）と、"
          "黙っていた質問 {silent} 件から、決まった規則で選びました。";
    moments_none: "There is no moment to show." / "示せる場面はありません。";
    moments_wrong: "Where it would probably have disturbed" / "おそらく邪魔になった場面";
    moments_spoke: "Where it would have spoken, with no sign that it disturbed" / "話したはずで、邪魔になった様子のない場面";
    moments_silent: "Where somebody asked, and it stayed silent" / "質問があって、黙っていた場面";
    badge_wrong: "would probably have disturbed" / "おそらく邪魔になった";
    badge_spoke: "would have spoken" / "話したはず";
    badge_said: "spoke" / "話した";
    badge_silent: "stayed silent" / "黙っていた";
    would_say: "would have said" / "こう言ったはず";
    would_speak: "would have spoken here" / "ここで話したはず";
    said_here: "said" / "発言";
    silent_here: "looked here, and stayed silent" / "ここで判断し、黙っていた";
    never_looked: "did not look at this" / "ここでは判断しなかった";
    text_unknown: "What it would have said is not known." / "何と言ったはずかは分かりません。";
    because: "Why" / "理由";
    what_happened: "What happened" / "実際には";
    lines_left_out(count: usize): "{count} messages in between" / "この間の発言 {count} 件";
    bot_label: "app" / "アプリ";

    note_nobody: "Nobody else answered." / "ほかに誰も答えませんでした。";
    note_nobody_in_hour: "No other person wrote within an hour." / "1 時間以内に、ほかの人は書きませんでした。";
    note_it_first(name: Name<'_>, after: &str):
        "{name} was the first person to write, {after} later." / "{name:#}が、人では最初に、{after}後に書きました。";
    note_person_first(name: Name<'_>, before: &str):
        "{name} had written {before} earlier." / "{name:#}が、{before}前に書いていました。";
    note_near_after(name: Name<'_>, after: &str):
        "{name} was writing: their message came {after} later." / "{name:#}が書いている最中でした。{after}後に発言しています。";
    note_near_before(name: Name<'_>, before: &str):
        "{name} had written only {before} earlier." / "{name:#}が、わずか {before}前に書いたばかりでした。";
    note_exchange(name: Name<'_>, after: &str):
        "People were in the middle of an exchange: {name} went on {after} later."
        / "人どうしのやり取りの最中でした。{name:#}が、{after}後に続けています。";
    note_missed(persona: &str): "Nobody answered, and neither would {persona} have." / "誰も答えず、{persona} も答えなかったはずです。";
    note_missed_in_hour(persona: &str): "No other person wrote within an hour, and {persona} stayed silent, too." / "1 時間以内にほかの人は書かず、{persona} も黙っていました。";
    note_missed_ledger(persona: &str): "Nobody answered, and neither did {persona}." / "誰も答えず、{persona} も答えませんでした。";
    note_answered(name: Name<'_>, after: &str):
        "{name} wrote {after} after the question." / "{name:#}が、質問の {after}後に書きました。";

    // Who would have written first.
    first: "Who would have written first" / "先に書いたのは誰か";
    first_none: "It would not have taken up anything, so there is nothing to compare." / "何も取り上げなかったはずなので、比べるものがありません。";
    first_of(spoke: &str): "Of the {spoke} times it would have spoken:" / "話したはずの {spoke} 回のうち：";
    /// Where it is not known about which message it would have spoken each time.
    first_of_known(spoke: &str, known: &str):
        "Of the {spoke} times it would have spoken, {known} were about a message of this history. Of these:"
        / "話したはずの {spoke} 回のうち、この履歴の発言についてのものは {known} 回です。その内訳：";
    first_it(median: &str): "it would have written first, half the time by {median} or more" / "先に書いたはず（中央値で {median}早い）";
    first_person(median: &str): "a person wrote first, half the time by {median} or more" / "人が先に書いた（中央値で {median}早い）";
    first_nobody: "no person ever answered" / "人は誰も答えなかった";
    first_nobody_in_hour: "no other person wrote within an hour" / "1 時間以内に、ほかの人は書かなかった";
    first_annotated: "The history says which message answers which." / "どの発言がどの発言への返事かは、履歴に記されています。";
    first_guessed:
        "The history does not say which message answers which. Counted as an answer is the first message of another person in the "
        "thread, or in the channel within an hour; not every such message really answers."
        / "履歴には、どの発言がどの発言への返事かが記されていません。スレッド内、または 1 時間以内にチャンネル内でほかの人が最初に書いたものを返事とみなします。すべてが返事とは限りません。";

    // Unanswered questions.
    unanswered: "Questions that nobody answered" / "誰も答えなかった質問";
    unanswered_counts(questions: usize, done: &str, picked_up: usize, missed: usize):
        "People left {questions} questions without any answer. It would have {done} about {picked_up} of these {questions} within an "
        "hour, and not about the other {missed}."
        / "人が答えないままの質問が {questions} 件ありました。この {questions} 件のうち {picked_up} 件では 1 時間以内に{done}はずで、残る {missed} 件ではそうしなかったはずです。";
    unanswered_in_hour(questions: usize, done: &str, picked_up: usize, missed: usize):
        "People left {questions} questions open for an hour or longer. It would have {done} about {picked_up} of these {questions} "
        "within that hour, and not about the other {missed}."
        / "1 時間以上、誰も応じなかった質問が {questions} 件ありました。この {questions} 件のうち {picked_up} 件ではその 1 時間のうちに{done}はずで、残る {missed} 件ではそうしなかったはずです。";
    unanswered_annotated: "A question counts if it begins a conversation and the history records no answer of another person." / "会話の始まりとなる質問で、ほかの人の返事が履歴にないものを数えます。";
    unanswered_silence:
        "Counted are questions outside of threads that name nobody and after which nobody else wrote for an hour, nor ever in their thread. Some may have been answered later."
        / "スレッドの外で誰も名指ししない質問のうち、その後 1 時間ほかの誰も書かず、スレッドにも返事がないものを数えます。後で答えがあったものも含まれます。";
    unanswered_unknown: "There is no such question for certain in this history." / "この履歴には、確実にそう言える質問がありません。";

    // Timing.
    timing: "How quickly, beside people" / "人と比べた速さ";
    timing_sentence(own: &str, people: &str):
        "Half of the time it would have waited {own} or longer after the last message. Between people that time is {people}."
        / "最後の発言からの間は、中央値で {own}だったはずです。人どうしの返事の間は、中央値で {people}です。";
    timing_unknown: "There is nothing to compare: it would not have spoken, or only while it observes, where it does not wait for its moment."
        / "比べるものがありません。話したはずの場面がないか、時機を待たない見守りの間だけでした。";
    timing_people: "People" / "人";
    timing_caption: "Share of delays: from one message to the next of another person (within an hour), and from the last message to its own"
        / "間の割合：ある発言からほかの人の次の発言まで（1 時間以内）と、最後の発言から自身の発言まで";
    timing_until(end: u32): "up to {end} s" / "{end} 秒以下";
    timing_seconds(from: u32, end: u32): "{from}–{end} s" / "{from}～{end} 秒";
    timing_minutes(from: u32, end: u32): "{from}–{end} min" / "{from}～{end} 分";
    timing_over(end: u32): "over {end} min" / "{end} 分超";
    timing_bin: "Delay" / "間";

    // Cost.
    cost: "What it would cost" / "費用";
    cost_basis(judge: &str, reply: &str, judge_tokens: &str, reply_tokens: &str, date: &str):
        "This rests on {judge} judge calls of {judge_tokens} tokens on average and {reply} replies of {reply_tokens}, estimated from the prompts of this replay; list prices of {date}; nothing "
        "saved by a provider’s cache. A model says yes to other things than the judge of this replay, so take it as the size, not the sum."
        / "この再現のプロンプトから見積もった、判断 {judge} 回（平均 {judge_tokens} トークン）と返答 {reply} 回（平均 {reply_tokens} トークン）に基づきます。価格は {date} の公開価格で、"
          "キャッシュによる割引は含みません。モデルはこの再現の判断役と違うものに承諾するため、正確な額ではなく規模の目安です。";
    cost_basis_ledger(judge: &str, reply: &str, date: &str):
        "This rests on the {judge} judge calls and {reply} replies of these days and on what they used; for other models, list prices of {date}."
        / "この期間の判断 {judge} 回と返答 {reply} 回、およびその使用量に基づきます。ほかのモデルは {date} の公開価格です。";
    cost_model: "Model" / "モデル";
    cost_month: "A month" / "1 か月";
    cost_builtin: "the built-in mind" / "内蔵のルール";
    cost_nothing: "free" / "無料";
    cost_less(money: &str): "less than {money}" / "{money} 未満";
    cost_real(money: &str, month: &str): "Really spent in this time: {money}, that is {month} a month." / "この期間に実際にかかった費用：{money}（月に {month}）。";
    cost_no_tokens: "not known: no tokens were counted" / "不明（トークン数の記録がありません）";
    cost_no_price: "not known: no price is configured" / "不明（価格の設定がありません）";
    cost_no_calls: "no model was asked" / "モデルに尋ねていません";
    cost_caption: "Cost of a month with each model" / "モデルごとの 1 か月の費用";

    // Policies.
    policies: "Policies side by side" / "方針の比較";
    policies_caption: "The same history under each policy" / "同じ履歴での各方針";
    policy: "Policy" / "方針";
    policy_rate: "How often" / "頻度";
    policy_wrong: "Would probably have disturbed" / "おそらく邪魔";
    policy_picked_up(done: &str):
        "Questions nobody answered, about which it would have {done}" / "誰も答えなかった質問のうち、{done}はずの数";
    policy_delay: "Usual delay" / "普通の間";
    policy_calls: "Judge calls a day" / "1 日の判断回数";
    policy_cost(model: &str): "A month with {model}" / "{model} での 1 か月";
    policy_least_wrong(policy: &str, share: &str): "{policy} would disturb least: {share} of its posts." / "邪魔になる割合が最も小さいのは {policy} です（話したうちの {share}）。";
    policy_most_picked_up(policy: &str, count: usize): "{policy} speaks about most of the questions that nobody answered: {count}." / "誰も答えなかった質問に最も多く触れるのは {policy} です（{count} 件）。";
    policy_speaks_least(policy: &str, times: &str): "{policy} speaks least: {times}." / "話す回数が最も少ないのは {policy} です（{times}）。";
    differences: "Where they differ" / "違いの出る場面";
    differences_rule(count: usize): "Of {count} messages that one policy takes up and another does not, these show it best: first those that nobody answered, then those in which it would probably have disturbed."
        / "ある方針が取り上げ、別の方針が取り上げない発言は {count} 件です。そのうち分かりやすいものを示します。誰も答えなかったもの、次におそらく邪魔になったものを優先します。";
    differences_none: "They take up the same messages." / "取り上げる発言は同じです。";
    policy_spoke(policy: &str, after: &str): "{policy}: would have spoken, {after} after it was written" / "{policy}：書かれてから {after}後に話したはず";
    policy_silent(policy: &str, reason: &str): "{policy}: stayed silent: {reason}" / "{policy}：黙っていた（{reason}）";
    policy_never(policy: &str): "{policy}: did not look at it" / "{policy}：見ていない";
    shown_policy(policy: &str): "From here on, where no policy is named, it is {policy}." / "ここから先で方針の名前がないところは、{policy} のものです。";

    // What to do next. What stands in backquotes is shown as code.
    next: "What you can do next" / "次にできること";
    next_begin:
        "Which setting to take? If you are not sure, keep the settings of this replay (the defaults, unless you gave a policy) and "
        "let it only listen for a week: nothing is posted, and you see what it decides among you."
        / "どの設定にするか迷うときは、この再現の設定（方針を指定していなければ既定の設定）のまま、まず一週間見守らせてください。投稿はせず、皆さんの間で何を判断するかが分かります。";
    next_begin_policies:
        "Which setting to take? Put the lines of the policy that you like best into your config, and let it only listen for a "
        "week before it speaks."
        / "どの設定にするか：最もよいと思う方針の内容を設定ファイルに書き、話す前にまず一週間見守らせてください。";
    next_begin_ledger:
        "Which setting to take? If it would have spoken where you would have liked it to, keep the settings that you have."
        / "どの設定にするか：話してほしいところで話したはずなら、今の設定のままで構いません。";
    next_observe:
        "Only listen: set `response.mode: observe`, and after a week run `aizuchi report --last 7d --html week.html`."
        / "見守る：`response.mode: observe` を設定し、一週間後に `aizuchi report --last 7d --html week.html` を実行します。";
    next_speak(channel: &str):
        "Let it speak in one channel: `channels: {{\"{channel}\": {{mode: companion}}}}`. A week later run `aizuchi report --last 7d "
        "--html week.html` again."
        / "一つのチャンネルで話させる：`channels: {{\"{channel}\": {{mode: companion}}}}`。一週間後にもう一度 "
          "`aizuchi report --last 7d --html week.html` を実行します。";
    next_quieter:
        "Quieter: with `response.mode: mention_only` it speaks only when it is called by its name; with `response.cooldown_seconds: "
        "900` it keeps out for a quarter of an hour after it has spoken."
        / "静かにする：`response.mode: mention_only` なら、名前で呼ばれたときだけ話します。`response.cooldown_seconds: 900` なら、"
          "自分から話した後の 15 分間は控えます。";
    next_quieter_channel(channel: &str):
        "Quieter in {channel}, where it would have disturbed most often: `channels: {{\"{channel}\": {{mode: mention_only}}}}`."
        / "邪魔になった回数が最も多い {channel} だけ静かにする：`channels: {{\"{channel}\": {{mode: mention_only}}}}`。";
    next_tune:
        "Let it look for settings: `aizuchi tune INPUT` prints the ones that suit this history better. (INPUT is the history that "
        "this page was made from.)"
        / "設定を探させる：`aizuchi tune INPUT` が、この履歴により合う設定を出力します（INPUT はこのページの元になった履歴です）。";
    next_compare:
        "Compare your own settings: write each into a file and run `aizuchi replay INPUT --policy one.yaml --policy other.yaml "
        "--report page.html`."
        / "自分の設定を比べる：それぞれをファイルに書き、`aizuchi replay INPUT --policy one.yaml --policy other.yaml --report page.html` を実行します。";
    next_why:
        "Ask about single decisions: `aizuchi why --channel \"#general\" --last 10`."
        / "一つ一つの判断の理由を見る：`aizuchi why --channel \"#general\" --last 10`。";

    // What was left out.
    left_out: "What was left out, and how this was counted" / "除いたものと数え方";
    left_out_bad(count: usize): "{count} records of the input could not be read." / "入力のうち {count} 件は読み取れませんでした。";
    left_out_no_bad: "Every record of the input was read." / "入力はすべて読み取りました。";
    left_out_private(count: usize): "{count} private channels were left out." / "非公開チャンネル {count} 件を除きました。";
    left_out_private_unknown: "Whether channels are private is not recorded in this input." / "チャンネルが非公開かどうかは、この入力に記されていません。";
    left_out_period: "The history has what people wrote, not what they said elsewhere. Messages of other bots were read and are not counted as people’s."
        / "履歴にあるのは書かれたものだけです。ほかのボットの発言は読みますが、人の発言には数えません。";
    left_out_opted_out: "What people wrote who asked not to be heard is nowhere on this page." / "聞かれないことを選んだ人の発言は、このページのどこにもありません。";
    counted_wrong:
        "It would probably have disturbed where it would have spoken while two people or more had written within two minutes and one of "
        "them went on within a minute; or within a minute before or after another person’s answer. Answers to its own name are never "
        "counted as that."
        / "おそらく邪魔になったとは、2 分以内に 2 人以上が書き、1 分以内に誰かが続けたやり取りに割り込むこと、またはほかの人の返事の前後 1 分以内に話すことです。"
          "名前で呼ばれて答えたものは数えません。";
    counted_anonymous: "Names were replaced. Names of people who never wrote themselves may still stand in what others wrote: read the page before you pass it on."
        / "名前は置き換えてあります。自分では書いていない人の名前が発言の中に残ることがあるため、渡す前に一読してください。";
    counted_latency(seconds: &str): "A model call was assumed to take {seconds} s, half of them longer." / "モデルの呼び出しは、中央値で {seconds} 秒かかるものとしました。";
    counted_shadow: "Where it only observes, it does not wait for its moment and writes no text." / "見守るだけの場所では、時機を待たず、文章も書きません。";

    // Replaced names.
    link_masked: "[link]" / "[リンク]";
    email_masked: "[e-mail]" / "[メールアドレス]";
    person(letters: &str): "Person {letters}" / "人物{letters}";
    room(letters: &str): "room-{letters}" / "部屋{letters}";

    // The terminal.
    wrong_line(wrong: &str, spoke: &str): "Of these {spoke} posts, {wrong} would probably have disturbed:" / "{spoke} 回のうち、おそらく邪魔になったのは {wrong} 回です：";
    no_wrong: "None of these would have landed in an exchange or on top of a person’s answer." / "やり取りや人の返事に割り込むものはありません。";
    channel_line(spoke: &str, messages: &str): "{spoke} among {messages} messages" / "{messages} 件の発言に対して {spoke}";
    write_page: "To show it to others, with the moments: --report FILE.html" / "ほかの人に見せるページ（場面つき）：--report FILE.html";
    write_page_ledger: "To show it to others, with the moments: --html FILE.html" / "ほかの人に見せるページ（場面つき）：--html FILE.html";
}

/// A number of times.
pub fn times(language: Language, count: usize, shown: &str) -> String {
    match count {
        1 => pick(language, "once", "1 回").to_owned(),
        2 => pick(language, "twice", "2 回").to_owned(),
        _ => many_times(language, shown),
    }
}

/// A number of channels.
pub fn channels(language: Language, count: usize, shown: &str) -> String {
    match count {
        1 => pick(language, "1 channel", "1 チャンネル").to_owned(),
        _ => many_channels(language, shown),
    }
}

texts! {
    many_times(times: &str): "{times} times" / "{times} 回";
    many_channels(channels: &str): "{channels} channels" / "{channels} チャンネル";
}
