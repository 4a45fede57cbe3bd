//! The report's section on policies: what each of them is, which is better at what, and what choosing one gives up.

texts! {
    // What a policy is.
    settings: "What each policy is" / "各方針の設定";
    settings_caption:
        "Settings in which they differ from the defaults or from each other, and what such a setting goes with. (default) is what you get if you set nothing."
        / "既定値と違う設定、または方針どうしで違う設定と、それに伴う設定です。（既定）は、設定ファイルに書かなかったときの値です。";
    setting: "Setting" / "設定";
    with_default(value: &str): "{value} (default)" / "{value}（既定）";
    is_default(policy: &str): "{policy} has the default settings." / "{policy} は既定の設定です。";
    settings_same: "All policies have the default settings." / "どの方針も既定の設定です。";
    settings_default: "This replay used the default settings." / "この再生は既定の設定で行いました。";
    // If no model judges, the default mode on Slack and Discord differs from that of a replay.
    is_default_but_mode(policy: &str):
        "{policy} has the default settings, except response.mode: companion." / "{policy} は、response.mode: companion のほかは既定の設定です。";
    settings_same_but_mode:
        "All policies have the default settings, except response.mode: companion." / "どの方針も、response.mode: companion のほかは既定の設定です。";
    /// Text in backquotes is shown as code.
    settings_default_but_mode:
        "This replay used the default settings, except `response.mode: companion`. Without a model, the default on Slack and Discord is `mention_only`: it then says nothing unasked."
        / "この再生は、`response.mode: companion` のほかは既定の設定で行いました。モデルなしの場合、Slack と Discord での既定は `mention_only` で、自分からは何も話しません。";
    /// For a replay with one policy.
    settings_changed(settings: &str):
        "This replay used the default settings, except for these: {settings}."
        / "この再生は既定の設定で行いました。ただし、次の設定は既定値と違います：{settings}。";
    /// One setting, with its name in the config.
    setting_changed(label: &str, key: &str, value: &str, default: &str):
        "{label} (`{key}`): {value} instead of {default}"
        / "{label}（`{key}`）：{value}（既定は {default}）";
    others_changed(label: &str, parts: &str): "{label}: {parts}" / "{label}：{parts}";
    setting_separator: "; " / "、";

    setting_mode: "What it does in a channel" / "チャンネルでの役割";
    setting_wait: "How it waits before it judges" / "判断までの待ち方";
    setting_min_wait: "How long a conversation rests before it is judged" / "会話が止まってから判断するまで";
    at_most(length: &str): "at most {length}" / "最長 {length}";
    setting_min_wait_floor: "The shortest rest, if the wait adapts" / "会話が止まってから判断するまでの最短（ペースに合わせる場合）";
    setting_jitter: "By how much a fixed wait varies" / "一定の待ち時間のばらつき";
    setting_max_wait: "The longest that messages wait while people go on talking" / "会話が続いている間の最長の待ち時間";
    setting_timing: "When it posts after it has decided to" / "話すと決めてから投稿するまで";
    setting_max_delay: "The longest delay of a post" / "投稿までの最長の間";
    setting_min_confidence: "How sure its judge must be" / "話すのに必要な確信度";
    setting_gates: "Rules (gates) that settle a moment without asking the judge, which decides whether to speak" / "判断役（話すかどうかを決めるもの）に尋ねずに黙るルール（ゲート）";
    setting_learned_gate: "Share of its judge’s yes that a learned rule may miss" / "学習したルールで見逃してよい「話す」の割合";
    setting_cooldown: "How long it stays silent after it has joined in" / "自分から話した後、控える時間";
    setting_max_share: "It stays silent while more than this share of the recent messages is its own" / "直近の発言に占める自分の割合がこれを超えたら黙る";
    setting_quiet_hours: "Hours without a word unasked" / "自分からは話さない時間帯";
    setting_rest: "How long a discussion rests before it is judged" / "話し合いが止まってから判断するまで";
    setting_facilitator_cooldown: "How long it stays out of a discussion after a post" / "話し合いで話した後、控える時間";
    setting_tokens: "Tokens that models may use in a day" / "モデルが 1 日に使えるトークン";
    setting_posts: "Posts unasked in a channel within an hour" / "1 時間に 1 チャンネルで自分から話す回数の上限";
    setting_person_calls: "Judge calls within an hour for one person’s messages" / "1 人の発言について 1 時間に判断する回数の上限";
    setting_decision_calls: "Model calls for one decision" / "1 つの判断でのモデル呼び出しの上限";
    setting_channels: "Channels with settings of their own" / "個別の設定があるチャンネルの数";
    setting_others: "Other parts of the config with values of their own" / "ほかに既定値と違うところ";
    wait_adaptive: "as long as the talk’s own pace suggests" / "会話のペースに合わせる";
    wait_fixed: "for a fixed time" / "一定の時間";
    timing_human: "like a person of the channel" / "そのチャンネルの人と同じくらい";
    timing_plain: "at once" / "すぐに";
    no_limit: "no limit" / "上限なし";
    off: "off" / "オフ";
    nothing: "none" / "なし";
    plus_minus(share: &str): "± {share}" / "± {share}";

    by_channel:
        "Each policy by channel: how often it would speak, and in brackets the probable interruptions"
        / "各方針のチャンネル別：話す回数（かっこ内は邪魔になりそうな回数）";
    by_channel_posts:
        "Each policy by channel: posts without a model, of the moments to speak; in brackets the probable interruptions among each"
        / "各方針のチャンネル別：話す場面と、うちモデルなしで投稿する回数（かっこ内はそれぞれ邪魔になりそうな回数）";
    by_hour:
        "Each policy by hour of the day: how often it would speak, and in brackets the probable interruptions"
        / "各方針の時間帯別：話す回数（かっこ内は邪魔になりそうな回数）";
    by_hour_posts:
        "Each policy by hour of the day: posts without a model, of the moments to speak; in brackets the probable interruptions among each"
        / "各方針の時間帯別：話す場面と、うちモデルなしで投稿する回数（かっこ内はそれぞれ邪魔になりそうな回数）";
    with_wrong(spoke: &str, wrong: &str): "{spoke} ({wrong})" / "{spoke}（{wrong}）";
    /// Which of several policies the page's figures are for.
    shown(policy: &str, others: &str):
        "Where no policy is named, the figures are for {policy}. It is compared with {others} under “Policies side by side”."
        / "方針の名前がないところの数字は、{policy} のものです。{others} との比較は「方針の比較」にあります。";
    shown_default(policy: &str, others: &str):
        "Where no policy is named, the figures are for {policy}, which has the default settings. It is compared with {others} under “Policies side by side”."
        / "方針の名前がないところの数字は、{policy}（既定の設定）のものです。{others} との比較は「方針の比較」にあります。";

    /// For each policy whose judge did not always answer.
    not_compared(policy: &str, times: &str):
        "{policy} is not compared: what its judge would have said is not known {times}."
        / "{policy} は比べていません。判断役の答えがわからない場面が {times}あるためです。";

    // Several policies in a sentence: all of them, or one of them.
    all_of_two(one: &str, other: &str): "{one} and {other}" / "{one} と {other}";
    all_of_many(names: &str, last: &str): "{names} and {last}" / "{names}・{last}";
    one_of_two(one: &str, other: &str): "either {one} or {other}" / "{one} と {other} のどちらか";
    one_of_many(names: &str, last: &str): "any of {names} and {last}" / "{names}・{last} のどれか";
    name_separator: ", " / "・";

    // A policy without a limit or a rule that the defaults have.
    no_limits(policy: &str, parts: &str):
        "{policy} has no limit on {parts}. The defaults have one: with --report it is measured with the limits of the defaults, too."
        / "{policy} では、{parts}に上限がありません。既定の設定には上限があります。--report を付けると、既定の上限つきでも再生します。";
    /// As [`no_limits`], on the page.
    no_limits_but(policy: &str, parts: &str, limited: &str):
        "{policy} has no limit on {parts}. The defaults have one, so this page has measured it with the gates and limits of the defaults, too, and offers only that: {limited}."
        / "{policy} では、{parts}に上限がありません。既定の設定には上限があるため、既定のゲートと上限つきでも再生しました。このページで勧めるのはそちらだけです：{limited}。";
    /// For a policy that only turns off gates.
    offered_with_limits(policy: &str, limited: &str):
        "{policy} has also been measured with the gates and limits of the defaults, and only that is on offer: {limited}."
        / "{policy} は、既定のゲートと上限つきでも再生しました。このページで勧めるのはそちらだけです：{limited}。";
    /// The name of such a policy with the default limits.
    with_default_limits(policy: &str): "{policy} with the default limits" / "{policy}（既定の上限つき）";
    /// What the column of differences compares.
    offered(policies: &str):
        "On offer are {policies}, and the differences are those between them. Policies without the limits of the defaults stand here for comparison only."
        / "選べるのは {policies} で、差はこれらの間のものです。既定の上限を外した方針は、比較のために示しています。";
    no_gates(policy: &str):
        "{policy} has none of the rules (gates) that keep it from asking its judge, so it asks whenever the talk rests: with a model that costs more."
        / "{policy} には、判断役に尋ねずに黙るルール（ゲート）がありません。会話が止まるたびに尋ねるので、モデルを使うと費用が増えます。";
    limit_tokens: "tokens a day" / "1 日のトークン";
    limit_posts: "posts an hour in a channel" / "1 時間の発言回数";
    limit_person_calls: "judge calls an hour for one person" / "1 人あたりの判断回数";
    limit_decision_calls: "calls for one decision" / "1 つの判断での呼び出し";
    limit_wait: "how long messages wait while people go on talking" / "会話が続いている間の待ち時間";

    /// The heading of a column, and whether a difference is larger than chance explains.
    verdict: "Difference" / "差";
    verdict_clear: "clear" / "はっきりした差";
    verdict_unclear: "not clear" / "偶然の範囲";
    verdict_none: "none" / "なし";
    verdict_too_few: "too few to tell" / "少なすぎて不明";

    // Where the policies differ.
    /// What only these policies take up.
    side(policies: &str, messages: &str): "Taken up only by {policies}: {messages}" / "{policies} だけが取り上げるもの：{messages}";
    /// For a policy that stayed silent.
    policy_looked(policy: &str, after: &str, reason: &str):
        "{policy}: looked {after} after the yellow message, and stayed silent: {reason}"
        / "{policy}：色の付いた発言から {after}後に判断し、黙っていた（{reason}）";

    // Which policy is better at what.
    findings: "Which one is ahead, and in what" / "どの方針がどこで優れているか";
    measure_wrong: "Interruptions" / "邪魔になりそうな回数";
    measure_picked_up: "Questions that nobody answered" / "誰も答えなかった質問";
    measure_first: "Ahead of people without interrupting" / "邪魔せずに人より先に話す回数";
    measure_spoke: "How much it speaks" / "話す回数";
    /// A policy and its value.
    policy_value(policy: &str, value: &str): "{policy} {value}" / "{policy} {value}";
    finding_equal(measure: &str, values: &str): "{measure}: no difference ({values})." / "{measure}：差はありません（{values}）。";
    finding_alike(measure: &str, values: &str):
        "{measure}: no clear difference ({values}). Chance alone can make such a difference."
        / "{measure}：はっきりした差はありません（{values}）。偶然でも出る程度の差です。";
    finding_wrong(policies: &str, values: &str):
        "{policies} would interrupt clearly less often: {values}." / "邪魔になりそうな回数が明らかに少ないのは {policies} です（{values}）。";
    finding_picked_up(policies: &str, values: &str):
        "{policies} would reach clearly more of the questions that nobody answered: {values}."
        / "誰も答えなかった質問に明らかに多く触れるのは {policies} です（{values}）。";
    finding_first(policies: &str, values: &str):
        "{policies} would clearly more often be ahead of people without interrupting: {values}."
        / "邪魔せずに人より先に話す回数が明らかに多いのは {policies} です（{values}）。";
    finding_spoke(policies: &str, values: &str):
        "{policies} would speak clearly less: {values}." / "話す回数が明らかに少ないのは {policies} です（{values}）。";
    noise: "When a difference is called clear" / "「はっきりした差」の基準";
    noise_rule:
        "A difference is called clear only if it is larger than chance explains in 95 of 100 cases. The check is McNemar’s test, which compares the cases that only one of two policies has, with a correction for small numbers. "
        "With more than two policies it must be larger still, since more pairs are compared (Bonferroni’s correction: the 5 % are divided by the number of pairs). “Too few to tell”: counts under ten that differ. "
        "It takes each case as independent of the others, so a difference close to that limit deserves little trust."
        / "はっきりした差とみなすのは、偶然だけなら 100 回中 95 回はこれより小さくなる、という大きさを超えたときだけです。判定には、二つの方針の一方だけにある場面を比べるマクネマー検定（少数の場合の補正つき）を使っています。"
          "方針が 3 つ以上なら、比べる組が増える分、基準を厳しくしています（ボンフェローニ補正：5 % を組の数で割ります）。「少なすぎて不明」は、10 未満で差のあるものです。"
          "一つ一つの場面が互いに無関係だとして計算しているので、境目に近い差はあまり当てになりません。";

    // What choosing a policy gives up.
    gives_up(policy: &str, parts: &str): "With {policy} you give up: {parts}." / "{policy} にすると：{parts}。";
    gives_up_nothing(policy: &str):
        "With {policy} you give up nothing that this history shows." / "{policy} にしても、この履歴でわかる限り失うものはありません。";
    part_separator: "; " / "、";
    part_wrong(own: &str, best: &str): "undisturbed talk ({own} interruptions instead of {best})" / "邪魔になりそうな回数が {best} 回から {own} 回に増える";
    part_picked_up(own: &str, best: &str):
        "open questions (it reaches {own} instead of {best})" / "触れる「誰も答えなかった質問」が {best} 件から {own} 件に減る";
    part_first(own: &str, best: &str):
        "being early ({own} times ahead of people without interrupting instead of {best})"
        / "邪魔せずに人より先に話す回数が {best} 回から {own} 回に減る";
    part_delay(own: &str, best: &str):
        "speed (it usually waits {own} instead of {best})" / "間隔の中央値が {best}から {own}に延びる";
    part_cost(own: &str, best: &str): "money ({own} a month instead of {best})" / "1 か月の費用が {best} から {own} に増える";

    /// If it asks its judge more often than the cheapest policy.
    part_cost_of_calls(own: &str, best: &str, calls: &str, fewer: &str):
        "money ({own} a month instead of {best}, since it asks its judge {calls} times a day instead of {fewer})"
        / "1 か月の費用が {best} から {own} に増える（1 日の判断が {fewer} 回から {calls} 回に増えるため）";

    // Which policy to choose.
    advice_alike:
        "Which one to take: this history does not tell. There is no clear difference in interruptions, in the questions that they reach and in how often they are ahead of people without interrupting."
        / "どれを選ぶか：この履歴からは決められません。邪魔になりそうな回数にも、触れる質問にも、邪魔せずに人より先に話す回数にも、はっきりした差はありません。";
    advice_unclear:
        "Which one to take: this history does not settle it. What differs may be chance, or what one is ahead in costs something else."
        / "どれを選ぶか：この履歴からは決められません。差が偶然かもしれないか、優れた点があっても別の点で失うものがあるためです。";
    advice_take(policies: &str):
        "Which one to take: {policies}. It is clearly better in at least one of interruptions, questions reached and being ahead of people without interrupting, and clearly worse in none."
        / "どれを選ぶか：{policies} です。邪魔になりそうな回数、触れる質問、邪魔せずに人より先に話す回数のうち、少なくとも一つが明らかに優れ、明らかに劣るものはありません。";
    advice_choose_answers(quiet: &str, other: &str):
        "Which one to take: if you dislike interruptions, take {quiet}. If you want fewer questions left alone, take {other}."
        / "どれを選ぶか：邪魔をされたくないなら {quiet}、放っておかれる質問を減らしたいなら {other} です。";
    advice_choose_speed(quiet: &str, other: &str):
        "Which one to take: if you dislike interruptions, take {quiet}. If it should be there before people are, take {other}."
        / "どれを選ぶか：邪魔をされたくないなら {quiet}、人より先に応じてほしいなら {other} です。";
}
