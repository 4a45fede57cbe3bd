//! The Slack adapter's answers to its slash command, and the word for files in exports.

texts! {
    not_a_member(name: &str):
        "I’m not in this channel. Invite me with `/invite @{name}`."
        / "このチャンネルに参加していません。`/invite @{name}` で招待してください。";
    still_working:
        "This is taking a moment. I’ll tell you here when it’s done."
        / "少し時間がかかっています。終わったらここでお知らせします。";

    /// In exports from other systems.
    file: "file" / "ファイル";
}
