//! The persona's answers to commands, and its notice on joining a channel.

use crate::chat::{Visibility, WorkspaceKind};
use crate::decision::DecisionResult;
use crate::memory::layer::Layer;
use crate::persona::Language;
use crate::rules::Mode;
use crate::texts::pick;

texts! {
    admins_only: "Only an admin can do that." / "このコマンドを使えるのは管理者だけです。";
    /// For a message that became a command only by an edit.
    edited_command:
        "I don’t take commands from edited messages. Please send it as a new message."
        / "編集された発言はコマンドとして受け付けません。新しい発言として送ってください。";
    enough_answers(most: usize):
        "That was a lot at once: I answer {most} commands a minute in a channel, and carry out the others without a word."
        / "続けてたくさん届いたので、お知らせします。返事をするのは、1 つのチャンネルで 1 分に {most} 件のコマンドまでです。それを超えた分は、返事をせずに実行します。";
    /// Why a command got no answer.
    unanswered:
        "its author had just got many answers to commands here"
        / "直前に、この人のコマンドに何度も返事をしていました";
    failed:
        "That didn’t work just now. Please try again."
        / "うまくいきませんでした。もう一度お試しください。";
    not_carried_out:
        "I did not carry that out: I read it too late, after I had been away or after a newer command, or somebody has changed it since. Please say it again if you still want it."
        / "このコマンドは実行していません。私が止まっていて読むのが遅れたか、あとから別のコマンドや変更があったためです。必要なら、もう一度書いてください。";

    nothing_decided:
        "I haven’t decided anything here yet. I look at a conversation once it has gone quiet for a while."
        / "ここではまだ何も判断していません。会話が落ち着いてから判断します。";
    /// `did` is a [`decision_result`]; `why` is a clause and ends with a full stop.
    last_decision_by_gate(at: &str, did: &str, why: &str):
        "At {at} {did} because {why}"
        / "{at}：{did}。理由：{why}";
    /// As [`last_decision_by_gate`], for a judge's reason, which may be a sentence.
    last_decision(at: &str, did: &str, why: &str):
        "At {at} {did}: {why}"
        / "{at}：{did}。理由：{why}";
    /// For a message that the user asked about; `why` is one of those above.
    why_about(quote: &str, why: &str): "About “{quote}”: {why}" / "「{quote}」について。{why}";
    /// As [`why_about`], if another of the considered messages was answered.
    why_together(quote: &str, why: &str):
        "I looked at “{quote}” together with what was written around it. {why}"
        / "「{quote}」は、前後の発言と一緒に見ました。{why}";
    /// For a message that waits to be judged or answered.
    not_decided_yet:
        "I haven’t decided about it yet. I look at a conversation once it has gone quiet for a while."
        / "まだ判断していません。会話が落ち着いてから判断します。";
    nothing_decided_about(quote: &str):
        "About “{quote}”: I haven’t decided anything."
        / "「{quote}」については、何も判断していません。";
    reason_is_gone:
        "the messages behind it were deleted, and the reason with them"
        / "そのときの発言が消されたため、理由も残っていません";
    reason_has_expired:
        "the messages behind it are past the time that I keep them, and the reason went with them"
        / "そのときの発言は保存期間が過ぎたため、理由も残っていません";
    full_stop: "." / "。";
    nothing_remembered:
        "I don’t remember anything about this channel yet, apart from the latest messages."
        / "最近の発言のほかには、まだ何も覚えていません。";
    /// Appended to a section that is too long.
    more_remembered(count: usize): "(and {count} more)" / "（ほか {count} 件）";

    /// `quotes` are lines that begin with “>”.
    forgot_that(quotes: &str):
        "I’ve forgotten this:\n{quotes}\nWhat was said so far won’t bring it back. The messages themselves stay where they are."
        / "次のことを忘れました。\n{quotes}\nこれまでの発言から覚え直すことはありません。発言そのものは残ります。";
    /// If the memo's text is gone.
    forgot_memo:
        "I’ve thrown that note away. The message itself stays in the chat until its author deletes it."
        / "そのメモを消しました。チャットの発言そのものは、書いた人が削除するまで残ります。";
    forgot_quoted_memo(quote: &str):
        "I’ve thrown this note away: “{quote}”. The message itself stays in the chat until its author deletes it."
        / "次のメモを消しました：「{quote}」。チャットの発言そのものは、書いた人が削除するまで残ります。";
    which_to_forget(name: &str, quotes: &str):
        "I remember more than one thing like that:\n{quotes}\nPlease quote the one you mean, with `@{name} forget that` below it."
        / "当てはまることがいくつかあります。\n{quotes}\nどれか 1 つを引用して、その下に `@{name} それ忘れて` と書いてください。";
    nothing_to_forget(name: &str):
        "I don’t remember anything like that here. `@{name} memory` shows what I remember; quote a line of it and write `@{name} forget that` "
        "below."
        / "ここでは、当てはまることを覚えていません。`@{name} 記憶` で覚えていることを見て、その 1 行を引用し、下に `@{name} それ忘れて` と"
          "書いてください。";
    pinned_memory:
        "That is pinned, so only an admin can have me forget it. I still remember it."
        / "固定された記憶なので、消せるのは管理者だけです。まだ覚えています。";

    forget_others_for_sure(name: &str, quote: &str):
        "This is from what others said, too, so I still remember it:\n{quote}\nIf you’re sure, quote it again, with `@{name} forget that, yes` below."
        / "これは、ほかの人の発言からも覚えたことなので、まだ覚えています。\n{quote}\nよければ、もう一度引用して、その下に `@{name} はい、それ忘れて` と書いてください。";
    forgot_too_much(most: usize):
        "This is from what others said, too. I forget at most {most} such things an hour for one person, so I still remember it."
        / "これは、ほかの人の発言からも覚えたことです。そのような記憶を消せるのは 1 人 1 時間に {most} 件までなので、まだ覚えています。";

    /// See [`manner`]; `mode` is the word for commands.
    in_mode(manner: &str, mode: &str):
        "In this channel I {manner} (mode `{mode}`)."
        / "このチャンネルでは、{manner}（モード：`{mode}`）。";
    /// A sentence about the mode follows.
    not_muted: "I’m not muted any more. " / "いまはミュートされていません。";
    /// A sentence about who can unmute follows.
    muted_here(until: &str): "I’ll stay silent here {until}. " / "{until}、このチャンネルでは話しません。";
    /// A sentence about who can unmute follows.
    muted_everywhere(until: &str):
        "I’ll stay silent everywhere {until}. " / "{until}、どのチャンネルでも話しません。";
    anyone_unmutes(name: &str, order: &str):
        "Anyone here can unmute me with `@{name} {order}`."
        / "`@{name} {order}` で誰でも解除できます。";
    admins_unmute(name: &str, order: &str):
        "Only an admin can unmute me, with `@{name} {order}`."
        / "`@{name} {order}` で解除できるのは管理者だけです。";
    unmute: "unmute" / "ミュート解除";
    unmute_everywhere: "unmute everywhere" / "どこでもミュート解除";
    /// For a user who may not revoke an admin's order.
    muted_by_admin(until: &str):
        "I’ll stay silent {until}. An admin muted me, so only an admin can unmute me."
        / "管理者がミュートしました。{until}、話しません。解除できるのは管理者だけです。";
    until_undone: "until I’m unmuted" / "解除されるまで";
    /// `left` is the time from now on.
    until(at: &str, left: &str): "until {at}" / "{left}（{at}まで）";

    /// `scope` is one of those below.
    order_given(number: i64, scope: &str, text: &str, name: &str):
        "Noted as order {number}, {scope}: “{text}”. I follow it in what I decide and write there. It changes neither who may know what, nor "
        "what I may use or spend. `@{name} orders` lists the orders, `@{name} drop order {number}` revokes this one."
        / "指示{number}として受け付けました（{scope}）：「{text}」。そこで話すかどうかを決めるときと、文を書くときに従います。誰に何を話してよいかや、使えるツール・予算は、指示では変わりません。"
          "`@{name} 指示一覧` で一覧を見られます。`@{name} 指示{number}を取り消して` で取り消せます。";
    /// `told` says what the draft would have changed.
    order_drafted(number: i64, scope: &str, text: &str, told: &str, name: &str):
        "Draft {number}, {scope}: “{text}”. I don’t follow it yet. {told} `@{name} keep draft {number}` puts it in force, "
        "`@{name} drop draft {number}` discards it; in a week it lapses."
        / "下書き{number}（{scope}）：「{text}」。まだ従いません。{told}"
          "`@{name} 下書き{number}を採用して` で従い始めます。`@{name} 下書き{number}を破棄して` で破棄できます。1 週間たつと失効します。";
    for_this_thread: "for this thread" / "このスレッド";
    for_this_channel: "for this channel" / "このチャンネル";
    for_all_channels: "for all channels" / "全チャンネル";
    for_all_channels_of(workspace: &str): "for all channels of {workspace}" / "{workspace} の全チャンネル";
    // The number is one of those in the list.
    orders_here(lines: &str, number: i64, name: &str):
        "These orders hold here:\n{lines}\n`@{name} drop order {number}` revokes one, `@{name} order {number}: …` changes it."
        / "ここでの指示は次のとおりです。\n{lines}\n`@{name} 指示{number}を取り消して` で取り消し、`@{name} 指示{number}：…` で変えられます。";
    drafts_here(lines: &str, number: i64, name: &str):
        "I don’t follow these drafts yet:\n{lines}\n`@{name} keep draft {number}` puts one in force, `@{name} drop draft {number}` discards it."
        / "まだ従っていない下書きです。\n{lines}\n`@{name} 下書き{number}を採用して` で従い始め、`@{name} 下書き{number}を破棄して` で破棄します。";
    order_line(number: i64, scope: &str, text: &str, by: &str):
        "- {number}, {scope}: “{text}” ({by})"
        / "- {number}（{scope}）：「{text}」（{by}）";
    this_machine: "the command line" / "コマンドライン";
    no_orders(name: &str):
        "No orders hold here. An admin gives one with `@{name} in this channel: …`."
        / "ここでの指示はありません。管理者は `@{name} このチャンネルでは：…` と書いて指示できます。";
    order_usage(name: &str):
        "Write what I’m to do behind the colon, as in `@{name} in this channel: answer in Japanese`."
        / "`@{name} このチャンネルでは：日本語で答えて` のように、指示をコロンのあとに書いてください。";
    order_too_long(most: usize):
        "That’s too long for an order: I can keep up to {most} characters."
        / "指示が長すぎます。{most} 文字までにしてください。";
    order_needs_thread:
        "Please give an order for a thread in that thread."
        / "スレッドへの指示は、そのスレッドの中で書いてください。";
    order_needs_public_channel:
        "What is said here stays here. Please give an order for all channels in a public channel, or on the console."
        / "ここで話されたことは、ほかには持ち出しません。全チャンネルへの指示は、公開チャンネルかコンソールで出してください。";
    too_many_orders(most: usize, name: &str):
        "There are {most} orders or drafts there already. Please drop one first; `@{name} orders` lists them."
        / "指示（または下書き）がすでに {most} 件あるため、追加できません。先にどれかを取り消してください。`@{name} 指示一覧` で見られます。";
    /// If it was dropped, or never existed.
    no_such_order(number: i64):
        "Order {number} doesn’t hold here." / "指示{number}は、いまここにはありません。";

    draft_dropped(number: i64): "Draft {number} is discarded." / "下書き{number}を破棄しました。";
    no_such_draft(number: i64): "There’s no draft {number} here." / "ここに下書き{number}はありません。";

    reset_done:
        "I’ll start fresh here. From now on I won’t use anything said in this conversation before now, "
        "either to answer or to remember."
        / "ここからは新しい会話として聞きます。この会話でこれまでに話されたことは、"
          "返事にも記憶にも使いません。";
    /// See [`elsewhere`].
    forget_for_sure(elsewhere: &str, name: &str):
        "This deletes what you said here and {elsewhere}, what I remember of it, and what I "
        "said after reading it. It can’t be undone. If you’re sure, say `@{name} forget me, yes`."
        / "ここと、{elsewhere} でのあなたの発言、そこから覚えたこと、それを読んで私が話したことを消します。元には戻せません。"
          "よければ `@{name} はい、私のことを忘れて` と書いてください。";
    /// Follows such a question in the chat.
    or_yes: " Or answer “yes” within a minute." / "1 分以内なら「はい」と答えるだけでもかまいません。";
    mode_usage(name: &str):
        "I don’t know that mode. Choose `companion`, `facilitator`, `mention_only`, `propose`, `observe`, `off` or `default`, as in "
        "`@{name} mode observe`."
        / "そのモードはありません。`companion`、`facilitator`、`mention_only`、`propose`、`observe`、`off`、`標準` から選んで、"
          "`@{name} モード observe` のように書いてください。";
    mute_usage(name: &str):
        "I didn’t understand how long you want me to be quiet. Say `@{name} mute 30m`, `@{name} mute 2h` or `@{name} mute 3 days`. Without a "
        "time I stay silent until I’m unmuted with `@{name} unmute`."
        / "ミュートする時間を読み取れませんでした。`@{name} 30分ミュート`、`@{name} 2時間ミュート`、`@{name} 3日ミュート` のように書いてください。"
          "時間を書かなければ、`@{name} ミュート解除` で解除されるまで黙っています。";
    forget_done(elsewhere: &str, name: &str):
        "I’ve deleted what you said here and {elsewhere}, and what I "
        "remembered of it. The last traces leave my database within a day. I’ll hear what you say "
        "from now on; if you don’t want that, say `@{name} opt out`."
        / "ここと、{elsewhere} でのあなたの発言、そこから覚えたことを消しました。"
          "データベースに残っている分も、1 日以内にすべて消えます。"
          "これからの発言はまた聞きます。聞かれたくないときは `@{name} オプトアウト` と書いてください。";
    forgotten_before:
        "I last deleted your messages less than an hour ago. What you’ve said since then is still here. "
        "Ask me again once the hour is up."
        / "あなたの発言は、この 1 時間のうちに一度消しています。それ以降の発言はまだ残っています。"
          "1 時間たってからもう一度書いてください。";
    opted_out(elsewhere: &str, name: &str):
        "I’m not listening to you any more, here or {elsewhere}. I "
        "won’t use anything you say there, either to answer or to remember; I only take your commands. "
        "Say `@{name} opt in` to undo this."
        / "あなたはオプトアウト中です。ここでも、{elsewhere} でも、あなたの発言は聞きません。"
          "返事にも記憶にも使わず、コマンドだけ受け付けます。"
          "`@{name} オプトイン` で元に戻ります。";
    not_opted_out: "I’m listening to you." / "あなたの発言を聞いています。";

    help(name: &str):
        "Say `@{name}` and one of these:\n"
        "- `why?`: why I last spoke here, or stayed silent\n"
        "- `status`, `memory`: how I take part here, and what I remember\n"
        "- `stop`: I stay silent here for an hour\n"
        "- `mute 2h`, `mute`, `unmute`: I stay silent here for that long, or until I’m unmuted\n"
        "- `opt out`, `opt in`: whether I listen to you\n"
        "- `remind me tomorrow at 9 to …`, `reminders`: I remind you then, or list what is planned here\n"
        "- `what did I miss?`: what was said while you were away\n"
        "- `forget that`, below a quote of it (`> …`) or right after I said it: I forget that one thing\n"
        "- `forget me`: I ask once more, then delete what you said and what I remember of it\n"
        "- `settings`: which settings hold here; `set memory off`, `set tools off` or `set confidence 0.9` narrow them\n"
        "- `reset`: I start fresh in this conversation (in direct messages; elsewhere only for admins)"
        / "`@{name}` に続けて、次のどれかを書いてください。\n"
          "- `なぜ？`：最後に話した理由、または黙っていた理由\n"
          "- `状態`、`記憶`：ここでの参加のしかたと、覚えていること\n"
          "- `ストップ`：このチャンネルでは 1 時間話しません\n"
          "- `2時間ミュート`、`ミュート`、`ミュート解除`：その時間だけ、または解除されるまで、このチャンネルでは話しません\n"
          "- `オプトアウト`、`オプトイン`：あなたの発言を聞くかどうか\n"
          "- `明日の9時に…って教えて`、`リマインダー一覧`：その時刻にお知らせします。予定を一覧にします\n"
          "- `見逃したところ教えて`：離れていた間に話されたこと\n"
          "- `それ忘れて`（引用の下、または私が話した直後に）：そのことだけを忘れます\n"
          "- `私のことを忘れて`：確認のあとで、あなたの発言と、そこから覚えたことを消します\n"
          "- `設定`：ここでの設定。`記憶をオフにして`、`ツールをオフにして`、`確信度を0.9にして` のように書くと、ここでの振る舞いを控えめにできます\n"
          "- `リセット`：この会話を新しく始めます（ダイレクトメッセージ以外では管理者のみ）";
    /// Appended to [`help`].
    help_for_admins:
        "\n- `mute everywhere`, `unmute everywhere`: the same in every channel\n"
        "- `in this channel: …`, `in this thread: …`, `everywhere: …`: an order that I follow from now on, like `in this channel: answer in Japanese`\n"
        "- `try in this channel: …`, `keep draft 2`: a draft first, with what it would have changed; then it holds\n"
        "- `orders`, `drop order 2`: which orders hold here; revokes one\n"
        "- `set language ja`, `set model NAME in #garden`, `set confidence default everywhere`, `reset settings`: changes a setting, takes it back\n"
        "- `mode companion` (joins in at pauses), `facilitator` (helps discussions), `mention_only` (only when mentioned), `propose` (asks before it speaks), `observe` (only listens), `off` or "
        "`default`"
        / "\n- `どこでもミュート`、`どこでもミュート解除`：すべてのチャンネルで同じことをします\n"
          "- `このチャンネルでは：…`、`このスレッドでは：…`、`どこでも：…`：これから従う指示を出します（例：`このチャンネルでは：日本語で答えて`）\n"
          "- `試しにこのチャンネルでは：…`、`下書き2を採用して`：まず下書きにして、何が変わっていたかを答えます。採用すると従い始めます\n"
          "- `指示一覧`、`指示2を取り消して`：ここでの指示の一覧を示すか、指示を取り消します\n"
          "- `言語を日本語にして`、`#garden のモデルを NAME にして`、`どこでも確信度を標準に戻して`、`設定をリセット`：設定を変えるか、元に戻します\n"
          "- `モード companion`（会話の合間に話す）、`facilitator`（話し合いを手伝う）、`mention_only`（メンションのみ）、`propose`（確認してから話す）、`observe`（聞くだけ）、`off`（オフ）、`標準`（設定のとおり）";
    /// What the persona hears and stores, how to mute it, and how to be forgotten. See [`manner`].
    join_notice(name: &str, manner: &str):
        "Hello, I’m {name}, a bot. I read the messages in this channel and keep them, so that I can "
        "follow the conversation. What is said in a private channel stays there. I {manner}.\n"
        "Say `@{name} stop` to silence me, `@{name} opt out` if you don’t want me to listen to you, "
        "`@{name} forget me` to delete what you said, and `@{name} help` for the rest."
        / "はじめまして、ボットの {name} です。話の流れを知るために、"
          "このチャンネルの発言を読んで保存します。"
          "非公開チャンネルの話をほかで使うことはありません。{manner}。\n"
          "`@{name} ストップ` で静かになります。"
          "`@{name} オプトアウト` であなたの発言を聞かなくなり、"
          "`@{name} 私のことを忘れて` で発言を消します。ほかは `@{name} ヘルプ` をどうぞ。";
}

/// What the persona did, in the first person. A decision without a result failed.
pub fn decision_result(language: Language, result: Option<DecisionResult>) -> &'static str {
    match result {
        Some(DecisionResult::Spoke) => pick(language, "I spoke", "話しました"),
        Some(DecisionResult::Reacted) => {
            pick(language, "I only reacted with an emoji", "リアクションだけ付けました")
        }
        Some(DecisionResult::Proposed) => {
            pick(language, "I asked whether I may speak", "話してよいか確認しました")
        }
        Some(DecisionResult::ChoseSilence) => pick(language, "I stayed silent", "黙っていました"),
        Some(DecisionResult::Dropped) => {
            pick(language, "I decided not to speak after all", "話すのをやめました")
        }
        Some(DecisionResult::Muted) => pick(language, "I stayed silent", "黙っていました"),
        Some(DecisionResult::OverBudget) => pick(language, "I stayed silent", "黙っていました"),
        Some(DecisionResult::Failed) | None => {
            pick(language, "I couldn’t answer", "うまく答えられませんでした")
        }
    }
}

/// Where it hears users besides the channel in which it says so.
pub fn elsewhere(language: Language, kind: WorkspaceKind) -> &'static str {
    match kind {
        WorkspaceKind::Workspace => pick(
            language,
            "in the other channels of this workspace",
            "このワークスペースのほかのチャンネル",
        ),
        WorkspaceKind::Server => {
            pick(language, "in the other channels of this server", "このサーバーのほかのチャンネル")
        }
        WorkspaceKind::DirectMessages => {
            pick(language, "in other direct messages", "ほかのダイレクトメッセージ")
        }
    }
}

/// The heading of a section of memories, in a channel or a direct message.
pub fn remembered_heading(
    language: Language,
    layer: Layer,
    visibility: Visibility,
) -> &'static str {
    match (layer, visibility) {
        (Layer::Thread, _) => pick(language, "From this thread:", "このスレッドのこと："),
        (Layer::Channel, Visibility::Direct) => {
            pick(language, "From our direct messages:", "このダイレクトメッセージのこと：")
        }
        (Layer::Channel, Visibility::Public | Visibility::Private) => {
            pick(language, "From this channel:", "このチャンネルのこと：")
        }
        (Layer::Recent, _) => pick(language, "Recently:", "最近のこと："),
        (Layer::Workspace, _) => {
            pick(language, "From the public channels:", "公開チャンネルのこと：")
        }
        (Layer::Memos, _) => pick(language, "My notes:", "メモ："),
    }
}

/// How the persona takes part, in the first person: a predicate after "I".
pub fn manner(language: Language, mode: Mode) -> &'static str {
    match mode {
        Mode::Companion => pick(
            language,
            concat!(
                "answer when I’m mentioned, ",
                "and join in when the conversation goes quiet and I have something to add"
            ),
            "メンションされたら答えます。会話が落ち着いたときも、伝えたいことがあれば加わります",
        ),
        Mode::Facilitator => pick(
            language,
            concat!(
                "answer when I’m mentioned, listen while you talk, and step in when a discussion ",
                "is stuck, heated or at cross purposes"
            ),
            "メンションされたら答えます。話し合いを聞いていて、行き詰まったときや、行き違いや言い争いになったときに加わります",
        ),
        Mode::MentionOnly => {
            pick(language, "speak only when I’m mentioned", "メンションされたときだけ話します")
        }
        Mode::Propose => pick(
            language,
            "answer when I’m mentioned, and ask somebody before I say anything else",
            "メンションされたら答えます。ほかに伝えたいことがあるときは、担当の人に確認してから話します",
        ),
        Mode::Observe => {
            pick(language, "listen and remember, but never speak", "聞いて覚えますが、話しません")
        }
        Mode::Off => pick(language, "don’t listen", "発言を聞いていません"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_stands_apart_from_what_lasted() {
        let did = decision_result(Language::Ja, Some(DecisionResult::ChoseSilence));
        let told = last_decision(Language::Ja, "12:30", did, "質問がありませんでした。");
        assert_eq!(told, "12:30：黙っていました。理由：質問がありませんでした。");
    }
}
