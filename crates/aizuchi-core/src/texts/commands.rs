//! What the persona answers to commands, and its notice on joining a channel.

use crate::decision::DecisionResult;
use crate::persona::Language;
use crate::rules::Mode;
use crate::texts::pick;

texts! {
    admins_only: "Only an admin may order that." / "これを指示できるのは管理者だけです。";
    /// For a message that became a command only by an edit.
    edited_command:
        "I take commands only as they are first written; please write it anew."
        / "編集された発言はコマンドとして受け付けません。もう一度書いてください。";
    failed:
        "That did not work just now; please try again."
        / "いまはできませんでした。もう一度試してください。";

    nothing_decided:
        "I have decided nothing here yet; I look at a talk when it has rested for a while."
        / "ここではまだ何も判断していません。会話が少し落ち着いてから判断します。";
    /// `did` is a [`decision_result`]; `why` is a clause and ends with a full stop.
    last_decision_by_gate(at: &str, did: &str, why: &str):
        "At {at} {did} because {why}"
        / "{at} に{did}。理由：{why}";
    /// The same for a reason that a judge gave, which may be a sentence.
    last_decision(at: &str, did: &str, why: &str):
        "At {at} {did}: {why}"
        / "{at} に{did}。理由：{why}";
    reason_is_gone:
        "what was said then is gone, and the reason with it"
        / "そのときの発言が消されたため、理由も残っていません";
    full_stop: "." / "。";
    nothing_remembered:
        "I remember nothing of this place yet, apart from what was said last."
        / "最近の発言のほかには、まだ何も覚えていません。";

    /// See [`manner`].
    in_mode(name: &str, manner: &str):
        "In this channel, {name} {manner}."
        / "このチャンネルでは、{name} は{manner}。";
    /// A sentence about the mode follows.
    not_muted: "I’m not muted any more. " / "ミュートは解除されています。";
    muted_here(until: &str, name: &str):
        "I say nothing here {until}. `@{name} unmute` undoes it."
        / "{until}、ここでは話しません。`@{name} ミュート解除` で元に戻ります。";
    muted_everywhere(until: &str, name: &str):
        "I say nothing anywhere {until}. `@{name} unmute everywhere` undoes it."
        / "{until}、どこでも話しません。`@{name} どこでもミュート解除` で元に戻ります。";
    /// For a user who may not revoke an admin's order.
    muted_by_admin(until: &str):
        "An admin wants me to say nothing {until}, and only an admin can undo that."
        / "管理者の指示で{until}話しません。解除できるのは管理者だけです。";
    until_undone: "until somebody undoes it" / "解除されるまで";
    until(at: &str): "until {at}" / "{at}まで";

    reset_done:
        "I begin anew here: what was said in this conversation so far is in nothing that I think "
        "or remember."
        / "ここからは新しい会話として聞きます。この会話でこれまでに話されたことは、"
          "考えるときにも覚えるときにも使いません。";
    forget_for_sure(name: &str):
        "I would delete what you said here and in the rooms that belong with this one, and what I remember of it. It cannot "
        "be undone. If you are sure, say `@{name} forget me, yes`."
        / "ここと、ここにつながる部屋でのあなたの発言と、そこから覚えたことを消します。元には戻せません。"
          "よければ `@{name} はい、私のことを忘れて` と書いてください。";
    mode_usage(name: &str):
        "I do not know that mode. There are `companion`, `facilitator`, `mention_only`, `observe`, `off` and `default`, as in "
        "`@{name} mode observe`."
        / "そのモードはありません。`companion`、`facilitator`、`mention_only`、`observe`、`off`、`標準` から選んで、"
          "`@{name} モード observe` のように書いてください。";
    mute_usage(name: &str):
        "I did not understand for how long. Say `@{name} mute 30m`, `@{name} mute 2h` or `@{name} mute 3 days`; without a "
        "time I stay silent until somebody says `@{name} unmute`."
        / "長さがわかりませんでした。`@{name} 30分ミュート`、`@{name} 2時間ミュート`、`@{name} 3日ミュート` のように書いてください。"
          "長さを書かなければ、`@{name} ミュート解除` と言われるまで黙っています。";
    forget_done:
        "I have deleted what you said here and in the rooms that belong with this one, and what I "
        "remembered of it; its last traces leave my database within a day. What you say from now "
        "on I hear again; with `opt out` I do not."
        / "ここと、ここにつながる部屋でのあなたの発言と、そこから覚えたことを消しました。"
          "データベースに残る痕跡も 1 日以内に消えます。"
          "これからの発言はまた聞きます。聞かれたくないときは `オプトアウト` と伝えてください。";
    forgotten_before:
        "I have deleted what you said less than an hour ago. What you have said since then is still "
        "here: ask me again when that hour is over."
        / "1 時間以内にあなたの発言を消したばかりです。それ以降の発言はまだ残っています。"
          "1 時間たってからもう一度伝えてください。";
    opted_out:
        "I do not listen to you here and in the rooms that belong with this one: what you say "
        "there is in nothing that I think or remember, and I only take your commands. `opt in` "
        "undoes it."
        / "ここと、ここにつながる部屋では、あなたの発言を聞いていません。"
          "考えるときにも覚えるときにも使わず、コマンドだけ受け付けます。"
          "`オプトイン` で元に戻ります。";
    not_opted_out: "I listen to you." / "あなたの発言を聞いています。";

    help(name: &str):
        "Say `@{name}` and one of these:\n"
        "- `why?`: why I spoke last here, or said nothing\n"
        "- `status`, `memory`: how I take part here, what I remember\n"
        "- `stop`: I say nothing here for an hour\n"
        "- `mute 2h`, `mute`, `unmute`\n"
        "- `opt out`, `opt in`: whether I listen to you\n"
        "- `forget me`: I ask once more, then delete what you said and what I remember of it\n"
        "- `reset`: I begin anew in this conversation (in direct messages; elsewhere for admins)"
        / "`@{name}` に続けて、次のどれかを書いてください。\n"
          "- `なぜ？`：最後に話した、または黙っていた理由\n"
          "- `状態`、`記憶`：ここでの参加のしかたと、覚えていること\n"
          "- `ストップ`：ここでは 1 時間話しません\n"
          "- `2時間ミュート`、`ミュート`、`ミュート解除`\n"
          "- `オプトアウト`、`オプトイン`：あなたの発言を聞くかどうか\n"
          "- `私のことを忘れて`：確認のあとで、あなたの発言と、そこから覚えたことを消します\n"
          "- `リセット`：この会話を新しく始めます（DM 以外では管理者のみ）";
    /// Follows [`help`].
    help_for_admins:
        "\n- `mute everywhere`, `unmute everywhere`\n"
        "- `mode companion`, `facilitator`, `mention_only`, `observe`, `off` or `default`"
        / "\n- `どこでもミュート`、`どこでもミュート解除`\n"
          "- `モード companion`（または `facilitator`、`mention_only`、`observe`、`off`、`標準`）";
    /// What the persona hears and stores, how to mute it, and how to be forgotten. See [`manner`].
    join_notice(name: &str, manner: &str):
        "Hello, I am {name}, a bot. I hear what is said in this channel and keep it, to know what "
        "the talk is about; what is said in a private channel stays in it. {name} {manner}.\n"
        "`@{name} stop` silences me, `@{name} opt out` keeps me from listening to you, "
        "`@{name} forget me` deletes what you said, and `@{name} help` tells the rest."
        / "はじめまして、ボットの {name} です。話の流れを知るために、"
          "このチャンネルの発言を聞いて保存します。"
          "非公開チャンネルの話をほかで使うことはありません。{name} は{manner}。\n"
          "`@{name} ストップ` で静かになります。"
          "`@{name} オプトアウト` であなたの発言を聞かなくなり、"
          "`@{name} 私のことを忘れて` で発言を消します。ほかは `@{name} ヘルプ` をどうぞ。";
}

/// What the persona did, as it tells it itself. A decision without a result failed.
pub fn decision_result(language: Language, result: Option<DecisionResult>) -> &'static str {
    match result {
        Some(DecisionResult::Spoke) => pick(language, "I spoke", "話しました"),
        Some(DecisionResult::Reacted) => {
            pick(language, "I only reacted", "リアクションだけ付けました")
        }
        Some(DecisionResult::ChoseSilence) => pick(language, "I stayed silent", "黙っていました"),
        Some(DecisionResult::Dropped) => {
            pick(language, "I kept what I had in mind to myself", "話すのをやめました")
        }
        Some(DecisionResult::Muted) => pick(language, "I stayed silent", "黙っていました"),
        Some(DecisionResult::OverBudget) => pick(language, "I stayed silent", "黙っていました"),
        Some(DecisionResult::Failed) | None => {
            pick(language, "I could not answer", "うまく答えられませんでした")
        }
    }
}

/// How the persona takes part, as a predicate after its name.
pub fn manner(language: Language, mode: Mode) -> &'static str {
    match mode {
        Mode::Companion => pick(
            language,
            concat!(
                "answers when it is mentioned, ",
                "and joins in when the talk rests and it has something to add"
            ),
            "メンションに答え、会話が落ち着いて伝えたいことがあれば加わります",
        ),
        Mode::Facilitator => pick(
            language,
            "answers when it is mentioned, listens, and helps when the talk needs it",
            "メンションに答え、話を聞いて、必要なときに手助けします",
        ),
        Mode::MentionOnly => {
            pick(language, "speaks only when it is mentioned", "メンションされたときだけ話します")
        }
        Mode::Observe => pick(
            language,
            "listens and remembers, and never speaks",
            "聞いて覚えますが、話しません",
        ),
        Mode::Off => pick(language, "does not listen", "聞いていません"),
    }
}
