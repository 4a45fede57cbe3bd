//! The console's pages on shadow calls to models: with other settings, with a judge asked again, and with another
//! persona.

texts! {
    // Asking a judge again.
    judge_again: "Judge again now" / "いま判断し直す";
    judge_again_link: "Judge again now …" / "いま判断し直す…";
    judge_again_explained:
        "The judge’s prompt of that time is sent once more, word for word, to the model that judges now. So the talk is judged as it was then. "
        "Nothing is posted, and the record of the decision stays as it is."
        / "当時の判断に使ったプロンプトを、いま判断を担当しているモデルに一字一句そのまま送ります。判断の対象は当時の会話です。"
        "投稿はせず、判断の記録も変えません。";
    builtin_reads_messages:
        "The built-in rules read the messages of that time themselves, without memories."
        / "内蔵のルールは、プロンプトではなく当時の発言を直接読みます。記憶は使いません。";
    no_judge:
        "This can’t be judged again: no judge was asked about it. A rule settled it, or somebody was owed an answer."
        / "判断し直せません。ルールで決まったか、呼びかけへの返答だったため、モデルに判断を求めていません。";
    prompt_gone:
        "This can’t be judged again: its prompt is not kept. Prompts are kept for retention.prompts_days, and go when a message behind them is edited, deleted, forgotten or older than retention.messages_days."
        / "判断し直せません。当時のプロンプトが残っていません。プロンプトの保存期間は retention.prompts_days で、元の発言が編集・削除・消去されたり、retention.messages_days より古くなったりすると消えます。";
    messages_gone:
        "This can’t be judged again: the messages that it was about are not there any more."
        / "判断し直せません。対象の発言が残っていません。";
    recorded(model: &str): "Recorded ({model})" / "当時（{model}）";
    judged_now(model: &str): "Now ({model})" / "いま（{model}）";
    value: "Value" / "項目";
    changed: "changed" / "変化あり";
    unchanged: "same" / "同じ";
    comparison: "Then and now" / "当時といま";
    is_changed: "The verdict has changed." / "判断が変わりました。";
    is_same: "The verdict is the same." / "判断は同じです。";
    no_verdict_then: "There was no verdict that could be used." / "当時は、使える判断が得られませんでした。";
    unreadable(why: &str): "The answer can’t be used: {why}." / "回答を判断として読めません：{why}";
    reaction: "Reaction" / "リアクション";
    none: "none" / "なし";

    // What is asked, and its cost.
    estimate(model: &str, cost: &str):
        "{model} would be asked once: {cost}."
        / "{model} に 1 回問い合わせます：{cost}。";
    estimate_many(models: &str, calls: u64, cost: &str):
        "{models} would be asked. Model calls: at most {calls}; {cost}."
        / "{models} に問い合わせます。最大 {calls} 回：{cost}。";
    nothing_to_ask: "All of this is known already; nothing would be asked." / "すべて回答済みです。問い合わせはありません。";
    spent(calls: u64, tokens: u64, cost: &str):
        "Model calls: {calls}; tokens: {tokens}; cost: {cost}. It counts in the budget like any other call."
        / "問い合わせ {calls} 回、{tokens} トークン、{cost}。ほかの呼び出しと同じく予算に含まれます。";
    over_budget(why: &str): "The model was not asked: {why}" / "モデルには問い合わせていません：{why}";
    cap_reached: "The cap was reached." / "上限に達しました。";
    late:
        "What was not answered in time stays unknown. Ask again to go on."
        / "時間内に答えがなかったものは不明のままです。もう一度押すと続きを聞きます。";
    unanswered: "The model did not answer." / "モデルが答えませんでした。";
    cap_of_one:
        "It is asked only if it can’t cost more than that. What was said is sent to the model; nothing is posted."
        / "費用がこの上限を超え得る場合は問い合わせません。発言をモデルに送りますが、投稿はしません。";
    cap_explained(calls: u64):
        "It stops at the cap, and after {calls} calls in any case. What was said is sent to the model; nothing is posted."
        / "上限に達すると止まります（最大 {calls} 回）。発言をモデルに送りますが、投稿はしません。";
    ask: "Ask the model" / "モデルに聞く";
    cap: "At most" / "上限";
    patch: "As a part of the config" / "設定ファイルに書く内容";
    copy: "Copy" / "コピー";
    copied: "Copied" / "コピーしました";
    model_failed: "The model did not answer everything." / "モデルが答えなかった場面があります。";
    free: "it costs nothing" / "費用はかかりません";
    about_cost(cost: &str): "about {cost}" / "約 {cost}";
    price_unknown: "its price is not known" / "料金は不明です";

    // The persona workshop.
    persona: "Persona" / "ペルソナ";
    persona_title: "Persona workshop" / "ペルソナを試す";
    persona_explained:
        "Edit the persona and try it on moments of a real channel, beside the present one: whether each would have spoken, and what it would have said. "
        "Nothing is posted, and nothing changes until the config does."
        / "ペルソナを書き換えて、実際のチャンネルの場面で現在のものと並べて試します。発言するか、何と言うかを比べられます。"
        "投稿はせず、設定ファイルを変えるまで何も変わりません。";
    persona_builtin:
        "The built-in rules judge and reply here. They hardly depend on the persona: only its name and language show. Choose a model to see what the text of the persona does."
        / "いまは内蔵のルールが判断と返答をしています。名前と言語のほかは、ペルソナにほとんど左右されません。文章の効果を見るにはモデルを選んでください。";
    persona_limits:
        "Both get the messages of that time, as they stand now, and neither gets memories, memos or tools. So the present persona may answer otherwise than it did."
        / "どちらにも当時の発言（編集後の内容）だけを渡し、記憶・メモ・ツールは使いません。そのため、現在のペルソナの答えも当時と違うことがあります。";
    persona_withheld:
        "Here what was said is read, and judges’ reasons. Your role can’t do that in any workspace."
        / "このページでは発言と判断の理由を読みます。あなたの役割では、どのワークスペースでも読めません。";
    name: "Name" / "名前";
    system_prompt: "Who it is and how it speaks" / "人物像と話し方";
    channel: "Channel" / "チャンネル";
    no_channel: "No channel that you may read has been heard yet." / "読めるチャンネルには、まだ発言がありません。";
    moments: "Moments" / "場面";
    newest_moments(count: usize): "the newest {count}" / "最近の {count} 件";
    try_persona: "See what it would cost" / "費用を見積もる";
    back_to_present: "Back to the present persona" / "現在のペルソナに戻す";
    results: "Moment by moment" / "場面ごとの比較";
    no_moments:
        "No model was asked about anything here lately, so there is nothing to try it on."
        / "最近、モデルが判断した場面がありません。";
    present_persona: "Present" / "現在";
    edited_persona: "Edited" / "変更後";
    unchanged_persona:
        "The persona is unchanged, so only the present one is tried."
        / "変更がないため、現在のペルソナだけを試します。";
    would_speak: "would speak" / "発言する";
    would_react(emoji: &str): "would react with {emoji}" / "{emoji} でリアクションする";
    would_be_silent: "would stay silent" / "黙る";
    below_threshold: "would stay silent: not sure enough" / "黙る（確信度が足りない）";
    is_owed: "was asked: it answers" / "呼びかけあり：返答する";
    not_known: "not known" / "不明";
    not_readable: "answered what is no judgment" / "判断として読めない回答";
    reply: "Reply" / "返答";
    reply_unknown: "What it would say is not known." / "何と言うかは不明です。";
    nothing_to_say: "It has nothing to say." / "言うことはありません。";
    differs: "differs" / "違いあり";
    too_long(most: usize):
        "The persona is longer than {most} characters."
        / "ペルソナは {most} 文字までです。";
    patch_explained:
        "Copy this into config.yaml; it holds after the next start."
        / "config.yaml に書き写してください。次の起動から有効です。";
    wrong_name: "The name must have 1 to 40 characters on one line." / "名前は 1 行で 1〜40 文字にしてください。";
    does_not_fit:
        "With this persona, context.max_tokens leaves too little room for messages; a config with it would be refused."
        / "このペルソナでは context.max_tokens に発言の入る余地がありません。設定としても受け付けられません。";
    model_unprepared: "The model could not be prepared. The log says why." / "モデルの準備に失敗しました。理由はログにあります。";
    prompt_unprepared: "The prompt could not be prepared. The log says why." / "プロンプトの準備に失敗しました。理由はログにあります。";
    unpriced: "The model’s price is not known. Write it to models.prices first." / "モデルの料金が不明です。先に models.prices に書いてください。";
    wrong_form: "This form can’t be read. Open the page again, and send its own form." / "フォームを読み取れません。ページを開き直して送り直してください。";
    wrong_cap: "The cap must be an amount from 0 to 5." / "上限は 0 から 5 の金額にしてください。";
    may_not_ask: "Your role may look, and ask nobody." / "あなたの役割では、見ることはできますが、モデルには聞けません。";
}
