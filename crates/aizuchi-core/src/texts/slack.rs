//! What the Slack adapter answers to its slash command, and the words for files in a message.

texts! {
    not_a_member(name: &str):
        "{name} is not in this channel. Invite it with /invite."
        / "{name} はこのチャンネルにいません。/invite で招待してください。";
    still_working:
        "This takes a moment. I will tell you here when it is done."
        / "少し時間がかかっています。終わったらここでお知らせします。";

    file: "file" / "ファイル";
    list_separator: ", " / "、";
}
