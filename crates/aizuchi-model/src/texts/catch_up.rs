//! What a user missed.

use crate::persona::Language;

texts! {
    since(moment: &str): "Since {moment}:" / "{moment} からのことです。";
    nothing(moment: &str):
        "You missed nothing: nobody wrote here or in a public channel since {moment}."
        / "見逃したものはありません。{moment} から、ここにも公開チャンネルにも投稿がありませんでした。";
    asked: "For you:" / "あなたへ：";
    open: "Still open:" / "まだ答えのない質問：";
    decided: "Decided or changed:" / "決まったこと・変わったこと：";
    otherwise: "In all:" / "全体：";
    line(channel: &str, author: &str, at: &str, quote: &str):
        "• {channel}, {author}, {at}: “{quote}”"
        / "• {channel}、{author}、{at}：「{quote}」";
    more(count: usize): "… and {count} more" / "… ほか {count} 件";
    by(channel: &str, messages: &str, names: &str): "{channel}: {messages} by {names}" / "{channel}：{names}（{messages}）";
    one_message: "1 message" / "1 件";
    messages(count: usize): "{count} messages" / "{count} 件";
    and_others(names: &str, count: usize): "{names} and {count} more" / "{names} ほか {count} 人";
}

/// “#garden: 34 messages by Mia, Ren and 2 more”
pub fn all_of_channel(
    language: Language,
    channel: &str,
    count: usize,
    names: &[String],
    others: usize,
) -> String {
    let names = names.join(match language {
        Language::En => ", ",
        Language::Ja => "、",
    });
    let names = match others {
        0 => names,
        others => and_others(language, &names, others),
    };
    let messages = match count {
        1 => one_message(language).to_owned(),
        count => messages(language, count),
    };
    by(language, channel, &messages, &names)
}
