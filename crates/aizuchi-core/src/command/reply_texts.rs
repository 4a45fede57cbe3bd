//! The texts of the answers to commands, and of the notice on joining a channel, in both languages.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::command::MuteScope;
use crate::decision::{Decision, DecisionResult};
use crate::persona::Language;
use crate::rules::Mode;
use crate::store::Mute;

/// What the texts depend on: language, names, time zone and time.
#[derive(Clone, Copy)]
pub struct ReplyRenderer<'a> {
    pub language: Language,
    pub name: &'a str,
    pub zone: &'a TimeZone,
    pub now: Timestamp,
}

impl ReplyRenderer<'_> {
    /// Why the persona spoke last, or said nothing.
    pub fn explain_decision(&self, decision: &Decision) -> String {
        let at = self.format_time(decision.closed.unwrap_or(decision.opened));
        let why = decision.why.as_deref().filter(|why| !why.is_empty());
        let why = why.unwrap_or(self.language.pick(
            "what was said then is gone, and the reason with it",
            "そのときの発言が消されたため、理由も残っていません",
        ));
        let did = match (decision.ended, self.language) {
            (Some(DecisionResult::Spoke), Language::En) => "I spoke",
            (Some(DecisionResult::Spoke), Language::Ja) => "話しました",
            (Some(DecisionResult::Reacted), Language::En) => "I only reacted",
            (Some(DecisionResult::Reacted), Language::Ja) => "リアクションだけ付けました",
            (Some(DecisionResult::ChoseSilence), Language::En) => "I said nothing",
            (Some(DecisionResult::ChoseSilence), Language::Ja) => "黙っていました",
            (Some(DecisionResult::Dropped), Language::En) => "I let it be",
            (Some(DecisionResult::Dropped), Language::Ja) => "話すのをやめました",
            (Some(DecisionResult::Muted), Language::En) => "I was not to speak",
            (Some(DecisionResult::Muted), Language::Ja) => "話せないことになっていました",
            (Some(DecisionResult::OverBudget), Language::En) => "I had used up what I may use",
            (Some(DecisionResult::OverBudget), Language::Ja) => "使える分を使い切っていました",
            (Some(DecisionResult::Failed) | None, Language::En) => "I failed",
            (Some(DecisionResult::Failed) | None, Language::Ja) => "うまくいきませんでした",
        };
        match self.language {
            Language::En => format!("At {at} {did}: {}", with_end_mark(why, '.')),
            Language::Ja => format!("{at} に{did}。理由：{}", with_end_mark(why, '。')),
        }
    }

    /// How it takes part.
    pub fn mode(&self, mode: Mode) -> String {
        let (name, manner) = (self.name, describe_mode(mode, self.language));
        match self.language {
            Language::En => format!("In this channel, {name} {manner}."),
            Language::Ja => format!("このチャンネルでは、{name} は{manner}。"),
        }
    }

    /// It is not muted; its mode may still keep it quiet.
    pub fn not_muted(&self, mode: Mode) -> String {
        let awake = self.language.pick("I am not muted. ", "ミュートされていません。");
        format!("{awake}{}", self.mode(mode))
    }

    pub fn muted(&self, mute: Mute, scope: MuteScope) -> String {
        let (until, undo) = (self.format_until(mute), self.unmute_hint(scope));
        match (self.language, scope) {
            (Language::En, MuteScope::Channel) => format!("I say nothing here {until}. {undo}"),
            (Language::En, MuteScope::Workspace) => {
                format!("I say nothing anywhere {until}. {undo}")
            }
            (Language::Ja, MuteScope::Channel) => format!("{until}、ここでは話しません。{undo}"),
            (Language::Ja, MuteScope::Workspace) => format!("{until}、どこでも話しません。{undo}"),
        }
    }

    /// The requesting user may not revoke an admin's order.
    pub fn still_muted(&self, mute: Mute) -> String {
        let until = self.format_until(mute);
        match self.language {
            Language::En => {
                format!(
                    "An admin wants me to say nothing {until}, and only an admin can undo that."
                )
            }
            Language::Ja => {
                format!("管理者の指示で{until}話しません。解除できるのは管理者だけです。")
            }
        }
    }

    fn format_until(&self, mute: Mute) -> String {
        let is_endless = mute.until == Timestamp::MAX;
        match (self.language, is_endless) {
            (Language::En, true) => "until somebody undoes it".to_owned(),
            (Language::En, false) => format!("until {}", self.format_time(mute.until)),
            (Language::Ja, true) => "解除されるまで".to_owned(),
            (Language::Ja, false) => format!("{}まで", self.format_time(mute.until)),
        }
    }

    fn unmute_hint(&self, scope: MuteScope) -> String {
        let name = self.name;
        match (self.language, scope) {
            (Language::En, MuteScope::Channel) => format!("`@{name} unmute` undoes it."),
            (Language::En, MuteScope::Workspace) => {
                format!("`@{name} unmute everywhere` undoes it.")
            }
            (Language::Ja, MuteScope::Channel) => {
                format!("`@{name} ミュート解除` で元に戻ります。")
            }
            (Language::Ja, MuteScope::Workspace) => {
                format!("`@{name} どこでもミュート解除` で元に戻ります。")
            }
        }
    }

    /// As users there would write it: with the date only if it is another day.
    fn format_time(&self, at: Timestamp) -> String {
        let (at, now) = (at.to_zoned(self.zone.clone()), self.now.to_zoned(self.zone.clone()));
        let shape = if at.date() == now.date() { "%H:%M" } else { "%Y-%m-%d %H:%M" };
        at.strftime(shape).to_string()
    }
}

/// How it takes part, as a predicate after its name.
fn describe_mode(mode: Mode, language: Language) -> &'static str {
    match mode {
        Mode::Companion => language.pick(
            "answers when it is mentioned, and joins in when the talk rests and it has something to add",
            "メンションに答え、会話が落ち着いて伝えたいことがあれば加わります",
        ),
        Mode::Facilitator => language.pick(
            "answers when it is mentioned, listens, and helps when the talk needs it",
            "メンションに答え、話を聞いて、必要なときに手助けします",
        ),
        Mode::MentionOnly => {
            language.pick("speaks only when it is mentioned", "メンションされたときだけ話します")
        }
        Mode::Observe => {
            language.pick("listens and remembers, and never speaks", "聞いて覚えますが、話しません")
        }
        Mode::Off => language.pick("does not listen", "聞いていません"),
    }
}

/// Ends the sentence with exactly one mark.
fn with_end_mark(sentence: &str, mark: char) -> String {
    let is_ended = sentence.ends_with(['.', '!', '?', '。', '！', '？', '…']);
    if is_ended { sentence.to_owned() } else { format!("{sentence}{mark}") }
}

pub fn not_allowed(language: Language) -> &'static str {
    language.pick("Only an admin may order that.", "これを指示できるのは管理者だけです。")
}

/// For a message that became a command only by an edit.
pub fn edited_command(language: Language) -> &'static str {
    language.pick(
        "I take commands only as they are first written; please write it anew.",
        "編集された発言はコマンドとして受け付けません。もう一度書いてください。",
    )
}

pub fn nothing_decided(language: Language) -> &'static str {
    language.pick(
        "I have decided nothing here yet; I look at a talk when it has rested for a while.",
        "ここではまだ何も判断していません。会話が少し落ち着いてから判断します。",
    )
}

pub fn nothing_remembered(language: Language) -> &'static str {
    language.pick(
        "I remember nothing of this place yet, apart from what was said last.",
        "最近の発言のほかには、まだ何も覚えていません。",
    )
}

pub fn reset_done(language: Language) -> &'static str {
    language.pick(
        "I begin anew here: what was said in this conversation so far is in nothing that I think or remember.",
        "ここからは新しい会話として聞きます。この会話でこれまでに話されたことは、\
         考えるときにも覚えるときにも使いません。",
    )
}

pub fn forget_done(language: Language) -> &'static str {
    language.pick(
        "I have deleted what you said here and in the rooms that belong with this one, and what I remembered of \
         it. What you say from now on I hear again; with `opt out` I do not.",
        "ここと、ここにつながる部屋でのあなたの発言と、\
         そこから覚えたことを消しました。これからの発言はまた聞きます。聞かれたくないときは \
         `オプトアウト` と伝えてください。",
    )
}

pub fn opt_out_status(has_opted_out: bool, language: Language) -> &'static str {
    match has_opted_out {
        true => language.pick(
            "I do not listen to you here and in the rooms that belong with this one: what you say there is in \
             nothing that I think or remember, and I only take your commands. `opt in` undoes it.",
            "ここと、ここにつながる部屋では、あなたの発言を聞いていません。\
             考えるときにも覚えるときにも使わず、コマンドだけ受け付けます。\
             `オプトイン` で元に戻ります。",
        ),
        false => language.pick("I listen to you.", "あなたの発言を聞いています。"),
    }
}

/// The list of commands.
pub fn help(name: &str, is_admin: bool, language: Language) -> String {
    let for_all = match language {
        Language::En => format!(
            "Say `@{name}` and one of these:\n\
             - `why?`: why I spoke last here, or said nothing\n\
             - `status`, `memory`: how I take part here, what I remember\n\
             - `stop`: I say nothing here for an hour\n\
             - `mute 2h`, `mute`, `unmute`\n\
             - `opt out`, `opt in`: whether I listen to you\n\
             - `forget me`: I delete what you said and what I remember of it\n\
             - `reset`: I begin anew in this conversation (in direct messages; elsewhere for admins)"
        ),
        Language::Ja => format!(
            "`@{name}` に続けて、次のどれかを書いてください。\n\
             - `なぜ？`：最後に話した、または黙っていた理由\n\
             - `状態`、`記憶`：ここでの参加のしかたと、覚えていること\n\
             - `ストップ`：ここでは 1 時間話しません\n\
             - `2時間ミュート`、`ミュート`、`ミュート解除`\n\
             - `オプトアウト`、`オプトイン`：あなたの発言を聞くかどうか\n\
             - `私のことを忘れて`：あなたの発言と、そこから覚えたことを消します\n\
             - `リセット`：この会話を新しく始めます（DM 以外では管理者のみ）"
        ),
    };
    let for_admins = language.pick(
        "\n- `mute everywhere`, `unmute everywhere`\n\
         - `mode companion`, `facilitator`, `mention_only`, `observe`, `off` or `default`",
        "\n- `どこでもミュート`、`どこでもミュート解除`\n\
         - `モード companion`（または `facilitator`、`mention_only`、`observe`、`off`、`標準`）",
    );
    if is_admin { for_all + for_admins } else { for_all }
}

/// The notice on joining a channel: what the persona hears and stores, how to mute it, and how to be forgotten.
pub fn join_notice(name: &str, mode: Mode, language: Language) -> String {
    let manner = describe_mode(mode, language);
    match language {
        Language::En => format!(
            "Hello, I am {name}, a bot. I hear what is said in this channel and keep it, to know what the talk is \
             about; what is said in a private channel stays in it. {name} {manner}.\n\
             `@{name} stop` silences me, `@{name} opt out` keeps me from listening to you, `@{name} forget me` \
             deletes what you said, and `@{name} help` tells the rest."
        ),
        Language::Ja => format!(
            "はじめまして、ボットの {name} です。話の流れを知るために、このチャンネルの発言を聞いて保存します。\
             非公開チャンネルの話をほかで使うことはありません。{name} は{manner}。\n\
             `@{name} ストップ` で静かになります。`@{name} オプトアウト` であなたの発言を聞かなくなり、\
             `@{name} 私のことを忘れて` で発言を消します。ほかは `@{name} ヘルプ` をどうぞ。"
        ),
    }
}
