//! Why the local room refuses a request, and the progress of a backfill.

use std::fmt::Display;

texts! {
    unknown_channel(name: &str):
        "there is no channel {name:?} here"
        / "チャンネル「{name}」はありません";
    unknown_thread(id: &str):
        "there is no message {id:?} in this channel to reply to"
        / "このチャンネルに、返信先の発言「{id}」がありません";
    unknown_message(id: &str):
        "there is no message {id:?} in this channel"
        / "このチャンネルに発言「{id}」はありません";
    not_author:
        "only the person who wrote a message can change it"
        / "発言を変更できるのは、書いた本人だけです";
    invalid_channel_name(longest: usize):
        "a channel name must have 1 to {longest} letters, digits, hyphens or underscores"
        / "チャンネル名は {longest} 文字以内で、文字、数字、「-」、「_」だけを使ってください";
    channel_taken(name: &str):
        "there is a channel {name:?} already"
        / "チャンネル「{name}」はすでにあります";
    invalid_name(longest: usize):
        "a name must be one line of 1 to {longest} characters"
        / "名前は一行、{longest} 文字以内で入力してください";
    /// If the name is the persona's.
    name_taken(name: &str):
        "the name {name:?} belongs to the companion; please choose another"
        / "「{name}」はここのボットの名前です。別の名前にしてください";
    invalid_id:
        "an id has 8 to 64 letters, digits or hyphens"
        / "ID は英数字とハイフンで 8〜64 文字です";
    id_taken: "another message has this id already" / "この ID は別の発言で使われています";
    invalid_emoji(longest: usize):
        "an emoji must be one line of 1 to {longest} characters"
        / "絵文字は一行、{longest} 文字以内で指定してください";
    invalid_minutes(most: u64):
        "it can be muted for 1 to {most} minutes"
        / "ミュートできるのは 1〜{most} 分です";
    empty_text: "the text is empty" / "発言が空です";
    text_too_long(length: usize, longest: usize):
        "the text has {length} characters; at most {longest} are allowed"
        / "発言は {longest} 文字までです（現在 {length} 文字）";
    no_uploads: "no files are taken here" / "ここではファイルを送れません";
    empty_file: "the file is empty" / "ファイルが空です";
    file_too_large(most: &str):
        "the file is too large; at most {most} are allowed"
        / "ファイルは {most} までです";
    untaken_file:
        "only pictures, sound, video, text and PDFs can be sent"
        / "送れるのは画像、音声、動画、テキスト、PDF だけです";
    too_many_uploads:
        "too many files are being uploaded; try again in a while"
        / "アップロード中のファイルが多すぎます。しばらくしてからもう一度お試しください";
    uploads_full:
        "the files of this room already take all the space that they may"
        / "このルームのファイルは、保存できる合計サイズに達しています";
    too_many_files(most: usize):
        "a message can have at most {most} files"
        / "一度に送れるファイルは {most} 個までです";
    unknown_file:
        "the file is not there any more; choose it again"
        / "ファイルが見つかりません。もう一度選んでください";
    not_stored(error: impl Display):
        "{error}"
        / "いまは保存できません。しばらくしてからもう一度お試しください";

    backfill_progress(platform: &str, read: usize, channels: usize, threads: usize):
        "{platform}: caught up on {read} of {channels} channels and {threads} threads"
        / "{platform}: 不在中の発言を、{channels} チャンネル中 {read} チャンネル、"
          "{threads} スレッドまで読みました";
    /// Appended to the progress.
    unreadable_channels(count: usize):
        "; {count} can’t be read at the moment"
        / "（{count} チャンネルはいま読めません）";
}
