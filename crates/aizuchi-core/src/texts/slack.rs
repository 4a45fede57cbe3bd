//! What the Slack adapter answers to its slash command, and the words for files in a message.

texts! {
    not_a_member(name: &str):
        "I’m not in this channel. Invite me with `/invite @{name}`."
        / "このチャンネルに参加していません。`/invite @{name}` で招待してください。";
    still_working:
        "This is taking a moment. I’ll tell you here when it’s done."
        / "少し時間がかかっています。終わったらここでお知らせします。";

    file: "file" / "ファイル";
    list_separator: ", " / "、";
}
