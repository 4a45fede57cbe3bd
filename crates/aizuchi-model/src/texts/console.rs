//! The console: an overview of every workspace, a channel's timeline, and what is stuck.

use crate::decision::mark::Mark;
use crate::decision::proposal::ProposalState;
use crate::persona::Language;
use crate::texts::pick;

texts! {
    title: "Console" / "コンソール";
    overview: "Home" / "ホーム";
    queue: "Queue and health" / "処理待ちと稼働状況";
    memory_and_people: "Memory & people" / "記憶とメンバー";
    figures_and_report: "Figures & report" / "数値とレポート";
    administration: "Administration" / "管理";
    room: "Local room" / "ローカルルーム";
    role: "Signed in as" / "ログイン中：";
    this_machine: "this machine (not signed in)" / "このマシン（ログインなし）";
    withheld:
        "Your role can’t read what was said here."
        / "あなたの役割では、ここでの発言は読めません。";
    withheld_here:
        "What was said outside the local room is shown only to people who have signed in. The command aizuchi console link makes a sign-in link."
        / "ローカルルーム以外での発言は、ログインした人にだけ表示します。ログイン用のリンクは、コマンド aizuchi console link で作れます。";
    skip: "Skip to the content" / "本文へ移動";
    times_in_zone(zone: &str):
        "Days, and times without a zone, are those of {zone}."
        / "日付と、時間帯の表記がない時刻は {zone} のものです。";

    // A truncated list.
    newest_of_more(shown: usize):
        "The newest {shown} are shown here; there are older ones."
        / "新しい {shown} 件を表示しています。以前のものもあります。";
    between_others(shown: usize):
        "{shown} are shown here; there are newer and older ones."
        / "{shown} 件を表示しています。これより新しいものも以前のものもあります。";
    oldest_of_more(shown: usize):
        "The oldest {shown} are shown here; there are newer ones."
        / "最も古い {shown} 件を表示しています。これより新しいものもあります。";
    some_of(shown: usize, all: usize):
        "{shown} of {all} are shown here."
        / "{all} 件のうち {shown} 件を表示しています。";
    first_part: "First" / "先頭";
    next_part: "Next" / "続き";
    all_workspaces: "all" / "すべて";

    // The overview.
    show_all: "All workspaces" / "すべてのワークスペース";
    connected: "connected" / "接続中";
    not_connected(why: &str): "not connected: {why}" / "受信していません：{why}";
    no_platform:
        "not connected: the config has no app for it"
        / "受信していません：設定ファイルにこのワークスペースのアプリがありません";
    catching_up(read: usize, channels: usize):
        "caught up on {read} of {channels} channels"
        / "{channels} チャンネルのうち {read} チャンネルで、不在中の発言を確認済み";
    failing(count: usize): "{count} cannot be read" / "{count} チャンネルは読めません";
    workspace_muted: "muted everywhere" / "すべてのチャンネルでミュート中";
    today_cost(tokens: &str, money: &str):
        "since midnight: {tokens} tokens, {money}"
        / "今日 0 時から：{tokens} トークン、{money}";
    month_cost(money: &str): "30 days: {money}" / "30 日間：{money}";
    cost_unknown: "cost unknown" / "費用不明";
    cost_partly_unknown(known: &str): "at least {known}" / "{known} 以上";
    channel: "Channel" / "チャンネル";
    mode: "Mode" / "モード";
    heard: "Last heard" / "最後に聞いた";
    spoke: "Last spoke" / "最後に話した";
    decisions_today: "Decisions today" / "今日の判断";
    cost_today: "Cost today" / "今日の費用";
    orders: "Orders" / "操作";
    private: "private" / "非公開";
    direct: "direct message" / "ダイレクトメッセージ";
    muted: "muted" / "ミュート中";
    no_channels:
        "Nothing has been heard here yet. A channel appears here once somebody writes in it."
        / "まだ何も聞いていません。誰かが発言すると、そのチャンネルがここに表示されます。";
    nothing: "none" / "なし";
    now: "now" / "いま";
    owed: "waiting for an answer" / "呼びかけあり";
    was_owed: "somebody asked for it" / "呼びかけがあった";
    model_fails(model: &str): "{model} fails" / "{model} が失敗しています";

    // Orders.
    mute_two_hours: "Mute for 2 hours" / "2 時間ミュート";
    mute: "Mute until unmuted" / "解除するまでミュート";
    mute_workspace: "Mute this workspace" / "このワークスペースをミュート";
    unmute_workspace: "Unmute this workspace" / "このワークスペースのミュートを解除";
    unmute: "Unmute" / "ミュートを解除";
    mute_hour: "Mute for 1 hour" / "1 時間ミュート";
    hour: "1 hour" / "1 時間";
    two_hours: "2 hours" / "2 時間";
    mute_drops: "What it is writing is dropped, too." / "作成中の発言も取りやめます。";
    set_mode: "Set the mode" / "モードを変更";
    configured_mode: "as configured" / "設定のとおり";
    own_models(judge: &str, speaker: &str):
        "Models of this channel’s own: {judge} judges, {speaker} replies."
        / "このチャンネルのモデル：判断は {judge}、返答は {speaker}。";
    standing_orders: "Standing orders" / "指示";
    standing_orders_explained:
        "A language model follows these in what it decides and writes here; the built-in rules do not. They change neither who may read what, nor "
        "tools or budget. Before one holds, it can be tried on the last days."
        / "言語モデルは、ここで話すかどうかを決めるときと文を書くときに、これらの指示に従います。内蔵のルールは従いません。誰が何を読めるかや、使えるツール、予算は、指示では変わりません。"
          "従い始める前に、直近の会話で試せます。";
    standing_order_withheld:
        "Given for a channel that your role can’t read." / "あなたの役割では読めないチャンネルへの指示です。";
    standing_order_text: "What it is to do, or to leave" / "すること、しないこと";
    standing_order_scope: "Where it holds" / "対象";
    give_standing_order: "Give the order" / "指示を追加";
    drop_standing_order: "Revoke" / "取り消す";
    try_standing_order: "Try it first …" / "先に試す…";
    draft: "draft" / "下書き";
    keep_draft: "Keep" / "採用する";
    drop_draft: "Discard" / "破棄する";
    for_a_thread: "for a thread" / "スレッド";

    // The timeline.
    outcome: "Outcome" / "結果";
    gate: "Rule" / "ルール";
    person: "Person" / "発言者";
    from: "From" / "開始";
    until: "Until" / "終了";
    search: "Search" / "検索";
    show: "Show" / "表示";
    anything: "any" / "すべて";
    older: "Older" / "以前の発言";
    not_all: "These are not all:" / "これより前の発言もあります：";
    best_matches:
        "Only the best matches are shown; a narrower search or time may find others."
        / "よく合うものだけを表示しています。検索語や期間を絞ると、ほかの発言も見つかることがあります。";
    newest: "Newest" / "最新";
    nobody_named(name: &str):
        "Nobody who is known here is called {name}."
        / "{name} という名前の人は見当たりません。";
    namesakes:
        "More than one person has this name. Choose whose messages are shown:"
        / "同じ名前の人が複数います。誰の発言を表示するか選んでください：";
    no_messages:
        "Nothing matches. What is said here appears with what was decided about it."
        / "該当するものはありません。発言と、それについての判断がここに表示されます。";
    text_withheld: "(text not shown)" / "（内容は非表示）";
    deleted: "(deleted)" / "（削除済み）";
    expired: "(expired)" / "（保存期間終了）";
    in_thread: "in a thread" / "スレッド内";
    superseded: "superseded" / "やり直し";

    // A decision.
    models_withheld:
        "Reasons, prompts and answers are shown to admins."
        / "理由、プロンプト、回答は管理者にだけ表示します。";
    still_open:
        "This has not been decided yet."
        / "まだ判断していません。";
    asked: "Answer" / "返答";
    links: "What it replies to" / "返信先";
    begins: "begins something new" / "新しい話題の始まり";
    replies_to(name: &str, text: &str): "replies to {name}: {text}" / "{name} への返信：{text}";
    replies_to_hidden: "replies to a message that is not shown" / "表示できない発言への返信";
    certain: "(the platform says so)" / "（プラットフォームの情報）";
    gates: "Rules, in their order" / "ルール（確認した順）";
    no_gates: "No rule was checked." / "ルールは確認していません。";
    no_gates_yet: "No rule has been checked yet." / "ルールはまだ確認していません。";
    settled_it: "settled it" / "これで決まりました";
    verdict: "Verdict" / "判断の内容";
    beginning: "Beginning" / "冒頭";
    about_tokens(tokens: u64): "≈ {tokens} tokens" / "約 {tokens} トークン";
    said: "What was said" / "発言した内容";
    said_after: "Who spoke next" / "その後の発言";
    nothing_yet: "Nothing has followed yet." / "その後の動きはまだありません。";

    // Marks.
    mark_it: "Mark" / "評価する";
    marked_by(name: &str): "marked by {name}" / "評価者：{name}";

    // The report.
    report: "Report" / "レポート";
    report_days(days: i64): "last {days} days" / "直近 {days} 日間";
    report_day: "last 24 hours" / "直近 24 時間";
    with_private: "with private channels" / "非公開チャンネルも含める";
    report_withheld:
        "A report quotes what was said and why it was decided so: it is for admins."
        / "レポートには発言と判断の理由が含まれるため、管理者だけが読めます。";
    report_as_of(time: &str): "As of {time}." / "{time} 時点の内容です。";
    report_renewed(time: &str):
        "As of {time}. A newer one is being made: show it again in a moment."
        / "{time} 時点の内容です。新しいレポートを作成しているので、少し待ってからもう一度表示してください。";
    report_empty: "Nothing was decided in this time." / "この期間の判断はありません。";

    // The figures.
    figures: "Figures" / "数値";
    workspace: "Workspace" / "ワークスペース";
    period: "Period" / "期間";
    last_days(days: i64): "last {days} days" / "直近 {days} 日間";
    messages_heard: "Messages heard" / "聞いた発言";
    in_all(count: &str): "{count} in all" / "計 {count} 件";
    outcomes: "Decisions by outcome" / "判断の結果";
    tokens: "Tokens" / "トークン";
    input_tokens: "input, not cached" / "入力（キャッシュ外）";
    cached_tokens: "input from the cache" / "入力（キャッシュ）";
    output_tokens: "output" / "出力";
    token_count(count: &str, cached: &str):
        "{count} tokens, {cached} of the input cached"
        / "{count} トークン、入力のキャッシュ率 {cached}";
    money: "Money" / "費用";
    money_count(money: &str, per_thousand: &str):
        "{money}, {per_thousand} per 1 000 messages heard"
        / "{money}、発言 1,000 件あたり {per_thousand}";
    delays: "How quickly it answers (medians)" / "返答までの時間（中央値）";
    when_asked: "when asked" / "呼びかけへの返答";
    when_unasked: "unasked" / "自分からの発言";
    marks: "Marks" / "評価";
    open_questions: "Unanswered questions" / "答えのなかった質問";
    open_questions_explained:
        "What people asked everybody at the top level of a channel and no other person followed within an hour or in its thread. The newest hour and erased messages are not counted."
        / "スレッドの外で全員に向けて尋ねられ、そのあと 1 時間以内にほかの人が発言せず、スレッドにもほかの人の返信がなかった質問です。直近 1 時間の質問と、消去された発言は数えません。";
    taken_up: "it spoke to it" / "発言した";
    missed: "nobody spoke to it" / "誰も答えなかった";
    taken_up_of(taken_up: &str, questions: &str):
        "{taken_up} of {questions} taken up"
        / "{questions} 件中 {taken_up} 件に発言";
    reactions: "Reactions" / "リアクション";
    reactions_explained:
        "Those of people are counted on the day of the post, as long as they stand."
        / "人が付けたリアクションは、元の投稿の日の分として数えます。取り消されたものは数えません。";
    reactions_given: "it reacted" / "付けたリアクション";
    reactions_received: "reactions to its posts" / "投稿へのリアクション";
    reaction_count(given: &str, received: &str):
        "it reacted {given} times, people reacted {received} times"
        / "付けた {given} 件、付けられた {received} 件";
    welcome: "How welcome it was" / "歓迎されたか";
    welcome_explained:
        "What it said unasked and what its judge left, by what happened next: thanks, replies and reactions; or deletions, mutes and being told to stop. A silence is good where a person answered within an hour. A mark wins. The last hour is not known yet. Where the setting response.tolerance is given, clear words, declined proposals and marks of the last 12 weeks tell from which confidence on it speaks, and that moves by 0.05 a day at most; with too few of them nothing moves, and it is never less than min_confidence."
        / "自分から話した発言と、判断役が見送った場面を、その後の反応で分類しています。お礼・返信・好意的なリアクションがあれば「歓迎された」、削除・ミュート・否定的なリアクション・「やめて」という発言があれば「歓迎されなかった」です（両方あれば不明のこともあります）。見送った場面は、1 時間以内に人が答えていれば適切とします。人による評価があれば、それを優先します。直近 1 時間はまだ数えません。設定 response.tolerance を指定すると、直近 12 週間の、歓迎されたかどうかがはっきりした発言、断られた案、人による評価をもとに、自分から話すのに必要な確信度を調整します。調整は 1 日に 0.05 までです。件数が足りないうちは変わらず、min_confidence を下回ることもありません。";
    posts_welcome: "Words: welcome" / "発言：歓迎された";
    posts_unwelcome: "Words: unwelcome" / "発言：歓迎されなかった";
    posts_unclear: "Words: unclear" / "発言：不明";
    silences_answered: "Silences: a person answered" / "見送り：人が答えた";
    silences_unanswered: "Silences: nobody answered" / "見送り：誰も答えなかった";
    silences_unclear: "Silences: unclear" / "見送り：不明";
    labels: "Clear words and marks" / "学習に使える件数";
    labels_missing(labels: usize, missing: usize):
        "{labels}, {missing} missing"
        / "{labels} 件（あと {missing} 件必要）";
    threshold: "Speaks from confidence" / "必要な確信度";
    by_channel: "By channel" / "チャンネル別";
    find_channel: "Channel's name" / "チャンネル名";
    no_channel_found: "No channel has such a name." / "その名前のチャンネルはありません。";
    whole_workspace: "for the whole workspace" / "ワークスペース全体";
    by_model: "Cost by model" / "モデル別の費用";
    unknown_model: "not known" / "不明";
    by_kind: "Cost by purpose" / "目的別の費用";
    total: "in all" / "合計";
    kind: "Purpose" / "目的";
    decisions: "Decisions" / "判断";
    calls: "Calls" / "呼び出し";
    cached_share: "Cached" / "キャッシュ率";
    per_thousand: "per 1 000 heard" / "発言 1,000 件あたり";
    as_table: "As a table" / "表で見る";
    day: "Day" / "日";
    by_day: "By day" / "日ごと";
    calls_explained:
        "All calls are in each of these tables, what costs most first, on the day on which they were made. Of a call that the program did not see the end of, the most that it may have cost is counted."
        / "どの表もすべての呼び出しを含み、呼び出した日の分として、費用の多い順に並べています。完了を確認できなかった呼び出しは、かかった可能性のある最大の額で数えます。";
    no_figures: "Nothing happened in this period." / "この期間の記録はありません。";

    // The queue.
    older_letters: "Older" / "以前のもの";
    retry: "Try again" / "もう一度試す";
    proposals: "Proposals" / "発言の案";
    no_proposals:
        "Nothing waits to be approved. Where it asks before it speaks, what it would say appears here."
        / "承認を待っている案はありません。確認してから話すチャンネルでは、話したいことがここに表示されます。";
    would_say: "would say" / "話したいこと";
    lapses: "lapses" / "期限：";
    say_it: "Say it" / "話す";
    other_words: "Other words" / "文を変える";
    say_this: "Say this instead" / "この文で話す";
    not_now: "Not now" / "今は話さない";
    never_like_this: "Never like this" / "こういうことは話さない";
    /// `what` is a word for the decision.
    decided_by(what: &str, name: &str): "{what}, by {name}" / "{what}（{name}）";
    proposal_heading: "Proposal" / "発言の案";
    /// The text before a user edited it.
    proposed_text: "Proposed words" / "元の案";
    decided_proposals: "Decided lately" / "最近決まったもの";
    confidence(value: f64): "confidence {value:.2}" / "確信度 {value:.2}";
    drop: "Drop" / "破棄";
    steps: "Waiting" / "待っている処理";
    no_steps:
        "Nothing is waiting. What it is about to decide, say or remember appears here."
        / "待っている処理はありません。これから判断すること、話すこと、覚えることがここに表示されます。";
    next_steps(shown: usize, all: usize):
        "The next {shown} of {all} are shown here; /api/health has all."
        / "{all} 件のうち、次に行う {shown} 件を表示しています。すべては /api/health で読めます。";
    due: "Due" / "予定";
    models: "Models" / "モデル";
    model: "Model" / "モデル";
    no_calls: "No model has been asked lately." / "最近、モデルへの問い合わせはありません。";
    works: "works" / "正常";
    not_in_use: "no longer in the config" / "現在の設定にはありません";
    judging_now: "Judging now:" / "現在の判断役：";
    fails_since: "failing since" / "失敗が続いています：";
    failures(failed: usize, calls: usize):
        "{failed} of the last {calls} calls failed"
        / "直近 {calls} 回のうち {failed} 回失敗";
    last_error: "Last error" / "最後のエラー";
    program: "Program" / "プログラム";
    version: "Version" / "バージョン";
    database: "Database" / "データベース";
    size: "Size" / "サイズ";
    last_backup: "Last backup" / "最後のバックアップ";
    next_backup: "Next backup" / "次のバックアップ";
    no_backup: "none is scheduled; storage.backup schedules them" / "予定なし（storage.backup で設定）";
    never: "none known" / "記録なし";
    what: "What" / "対象";
    when: "When" / "日時";
}

/// The outcome of a decision, as a word next to a mark.
pub fn outcome_word(language: Language, outcome: &str) -> &'static str {
    match outcome {
        "spoke" => pick(language, "spoke", "発言"),
        "reacted" => pick(language, "reacted", "リアクション"),
        "proposed" => pick(language, "proposed", "提案"),
        "chose_silence" => pick(language, "chose silence", "見送り"),
        "dropped" => pick(language, "dropped", "取りやめ"),
        "muted" => pick(language, "muted", "ミュート"),
        "over_budget" => pick(language, "over budget", "上限到達"),
        "failed" => pick(language, "failed", "失敗"),
        "superseded" => superseded(language),
        _ => pick(language, "open", "判断前"),
    }
}

/// The purpose of a model call.
pub fn call_kind(language: Language, kind: &str) -> &'static str {
    match kind {
        "judge" => pick(language, "deciding", "判断"),
        "state" => pick(language, "state of the conversation", "会話の状態"),
        "reply" => pick(language, "answers", "返答"),
        "describe" => pick(language, "descriptions of pictures", "画像の説明"),
        "transcribe" => pick(language, "transcripts of recordings", "音声の文字起こし"),
        "remember" => pick(language, "memory", "記憶"),
        "trial" => pick(language, "what operators tried", "運用担当者による試行"),
        _ => pick(language, "not finished", "未完了"),
    }
}

/// A user's opinion of a decision.
pub fn mark(language: Language, mark: Mark) -> &'static str {
    match mark {
        Mark::Right => pick(language, "right", "適切"),
        Mark::ShouldHaveSpoken => pick(language, "should have spoken", "発言すべきだった"),
        Mark::ShouldHaveKeptSilent => {
            pick(language, "should have kept silent", "黙っているべきだった")
        }
    }
}

/// The outcome of a proposal, as a word.
pub fn proposal_state(language: Language, state: ProposalState) -> &'static str {
    match state {
        ProposalState::Open => pick(language, "open", "承認待ち"),
        ProposalState::Approved => pick(language, "approved", "承認"),
        ProposalState::Edited => pick(language, "said in other words", "文を変えて承認"),
        ProposalState::Declined => pick(language, "not now", "今は話さない"),
        ProposalState::Never => pick(language, "never like this", "こういうことは話さない"),
        ProposalState::Lapsed => pick(language, "lapsed", "期限切れ"),
    }
}

/// What was read from a private channel.
pub fn private_text(language: Language, what: &str) -> &'static str {
    match what {
        "messages" => pick(language, "messages", "発言"),
        "decisions" => pick(language, "decisions", "判断"),
        "memories" => pick(language, "memories", "記憶"),
        "proposals" => pick(language, "proposals", "発言の案"),
        "calls" => pick(language, "calls to allow", "許可待ちの呼び出し"),
        _ => pick(language, "what could not be posted", "投稿できなかったもの"),
    }
}

/// What was given up on, and after how many attempts.
pub fn given_up(language: Language, verb: &str, attempts: u32) -> String {
    let what = match verb {
        "reply" => pick(language, "no reply was made", "返信を作れませんでした"),
        _ => pick(language, "the platform did not take it", "投稿できませんでした"),
    };
    match language {
        Language::En if attempts == 1 => format!("{what} (1 attempt)"),
        Language::En => format!("{what} ({attempts} attempts)"),
        Language::Ja => format!("{what}（{attempts} 回試行）"),
    }
}

/// The verb of a pending step.
pub fn pending_verb(language: Language, verb: &str) -> &'static str {
    match verb {
        "judge" => pick(language, "will decide", "判断待ち"),
        "reply" => pick(language, "will think of a reply", "返答を考える予定"),
        "remember" => pick(language, "will remember", "記憶する予定"),
        _ => pick(language, "will post", "投稿予定"),
    }
}
