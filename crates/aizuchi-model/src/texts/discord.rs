//! The texts of the Discord adapter: for non-text parts of messages, and for its slash command.

use crate::persona::Language;
use crate::rules::Mode;
use crate::texts::pick;

texts! {
    // In the text of a message.
    stage_begins: "a stage begins" / "ステージ開始";
    stage_ends: "the stage ends" / "ステージ終了";
    stage_topic: "the stage is about" / "ステージの話題";
    poll: "poll" / "投票";
    poll_ended: "the poll has ended" / "投票終了";
    no_winner_one_vote: "no winner, 1 vote" / "最多票なし、1 票";
    no_winner(votes: &str): "no winner, {votes} votes" / "最多票なし、{votes} 票";
    sticker: "sticker" / "スタンプ";
    forwarded: "[forwarded]" / "[転送]";

    /// The name of a thread that was opened by a mention without text.
    unnamed_thread: "Conversation" / "会話";
    not_a_member(name: &str):
        "I can’t see this channel. Allow View Channels for {name}’s role."
        / "このチャンネルが見えません。{name} のロールに「チャンネルを見る」を許可してください。";

    // The slash command: subcommands, options and choices. The core parses the names of subcommands.
    command_description:
        "Ask me why, keep me quiet, or choose how I take part"
        / "理由を聞く、静かにさせる、参加のしかたを決める";
    why_name: "why" / "なぜ";
    why_description:
        "Why I last spoke here, or stayed silent"
        / "最後に話した理由、または黙っていた理由";
    status_name: "status" / "状態";
    status_description: "How I take part here" / "ここでの参加のしかた";
    memory_name: "memory" / "記憶";
    memory_description: "What I remember of this channel" / "ここで覚えたこと";
    catch_up_name: "catch-up" / "見逃したこと";
    catch_up_description: "What was said while you were away" / "離れていた間に話されたこと";
    reminders_name: "reminders" / "リマインダー";
    reminders_description: "What is planned here" / "ここで予定していること";
    mute_name: "mute" / "ミュート";
    mute_description:
        "I stay silent here for a while, or until you unmute me"
        / "しばらく、または解除するまで話さない";
    unmute_name: "unmute" / "ミュート解除";
    unmute_description: "I may speak again" / "また話せるようにする";
    stop_name: "stop" / "ストップ";
    stop_description: "I stay silent here for an hour" / "ここでは 1 時間話さない";
    mode_name: "mode" / "モード";
    mode_description:
        "How I take part in this channel (admins only)"
        / "このチャンネルでの参加のしかたを変える（管理者のみ）";
    reset_name: "reset" / "リセット";
    reset_description:
        "I start fresh in this conversation (admins, or in direct messages)"
        / "この会話を最初からやり直す（ダイレクトメッセージ以外では管理者のみ）";
    opt_out_name: "opt-out" / "オプトアウト";
    opt_out_description: "I stop listening to you" / "あなたの発言を聞かないようにする";
    opt_in_name: "opt-in" / "オプトイン";
    opt_in_description: "I listen to you again" / "あなたの発言をまた聞くようにする";
    forget_me_name: "forget-me" / "私を忘れて";
    forget_me_description:
        "I delete what you said and what I remember of it"
        / "あなたの発言と、そこから覚えたことを消す";
    help_name: "help" / "ヘルプ";
    help_description: "What else you can ask me in plain words" / "ふつうの言葉で頼めること";

    length_name: "length" / "長さ";
    length_description:
        "For how long, such as 2h or 1h30m; if left out, until someone unmutes me"
        / "2時間、1時間30分など。書かなければ、解除されるまで";
    thirty_minutes: "30 minutes" / "30分";
    one_hour: "1 hour" / "1時間";
    two_hours: "2 hours" / "2時間";
    eight_hours: "8 hours" / "8時間";
    one_day: "1 day" / "1日";
    /// Part of the command's text, so it must be a word that the core knows.
    for_sure_name: "yes" / "はい";
    for_sure_description: "Delete it without asking me again" / "確認せずに消す";
    everywhere_name: "everywhere" / "どこでも";
    everywhere_description: "In all channels (admins only)" / "すべてのチャンネルで（管理者のみ）";
    to_mode_name: "to" / "参加のしかた";
    to_mode_description: "How I take part" / "どのように参加するか";
    default_mode: "default: as in the settings" / "標準：設定のとおり";
}

pub fn mode(language: Language, mode: Mode) -> &'static str {
    match mode {
        Mode::Companion => {
            pick(language, "companion: joins in at pauses", "companion：会話の合間に話す")
        }
        Mode::Facilitator => {
            pick(language, "facilitator: helps discussions", "facilitator：話し合いを手伝う")
        }
        Mode::MentionOnly => pick(
            language,
            "mention_only: answers when mentioned",
            "mention_only：メンションにだけ答える",
        ),
        Mode::Propose => {
            pick(language, "propose: asks before it speaks unasked", "propose：確認してから話す")
        }
        Mode::Observe => {
            pick(language, "observe: listens, never speaks", "observe：聞いて覚え、話さない")
        }
        Mode::Off => pick(language, "off: does not listen", "off：聞かない"),
    }
}
