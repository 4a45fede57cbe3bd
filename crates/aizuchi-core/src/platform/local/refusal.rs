//! Why the room does not take something, in words for the person who wanted it.

use crate::persona::Language;
use crate::platform::local::orders::LONGEST_MUTE_MINUTES;
use crate::platform::local::reaction::LONGEST_EMOJI;
use crate::platform::local::{LONGEST_LINE, LONGEST_NAME};
use crate::store::StoreError;

/// Why something was not taken.
#[derive(Debug)]
pub enum SayError {
    UnknownChannel(String),
    UnknownThread(String),
    UnknownLine(String),
    /// Only its writer may change a line.
    NotOwn,
    BadName,
    BadChannelName,
    ChannelTaken(String),
    /// The companion's own name.
    NameTaken(String),
    BadId,
    /// Another line has this id.
    IdTaken,
    BadEmoji,
    /// So long cannot be muted.
    BadMinutes,
    Empty,
    /// So many characters.
    TooLong(usize),
    Store(StoreError),
}

impl SayError {
    /// What the person who wrote the line is told.
    pub fn sentence(&self, language: Language) -> String {
        match (self, language) {
            (Self::UnknownChannel(name), Language::En) => {
                format!("there is no channel {name:?} here")
            }
            (Self::UnknownChannel(name), Language::Ja) => {
                format!("チャンネル「{name}」はありません")
            }
            (Self::UnknownThread(id), Language::En) => {
                format!("there is no message {id:?} in this channel to reply to")
            }
            (Self::UnknownThread(id), Language::Ja) => {
                format!("このチャンネルに、返信先の発言「{id}」がありません")
            }
            (Self::UnknownLine(id), Language::En) => {
                format!("there is no message {id:?} in this channel")
            }
            (Self::UnknownLine(id), Language::Ja) => {
                format!("このチャンネルに発言「{id}」はありません")
            }
            (Self::NotOwn, Language::En) => {
                "only the person who wrote a line may change it".to_owned()
            }
            (Self::NotOwn, Language::Ja) => "発言を変更できるのは、書いた本人だけです".to_owned(),
            (Self::BadChannelName, Language::En) => format!(
                "a channel's name has 1 to {LONGEST_NAME} letters, digits, hyphens or underscores"
            ),
            (Self::BadChannelName, Language::Ja) => {
                format!(
                    "チャンネル名は {LONGEST_NAME} 文字以内で、文字、数字、「-」、「_」だけを使ってください"
                )
            }
            (Self::ChannelTaken(name), Language::En) => {
                format!("there is a channel {name:?} already")
            }
            (Self::ChannelTaken(name), Language::Ja) => {
                format!("チャンネル「{name}」はすでにあります")
            }
            (Self::BadName, Language::En) => {
                format!("a name is needed, of at most {LONGEST_NAME} characters on one line")
            }
            (Self::BadName, Language::Ja) => {
                format!("名前は一行、{LONGEST_NAME} 文字以内で入力してください")
            }
            (Self::NameTaken(name), Language::En) => {
                format!("the name {name:?} belongs to the companion; please choose another")
            }
            (Self::NameTaken(name), Language::Ja) => {
                format!("「{name}」はこの部屋のボットの名前です。別の名前にしてください")
            }
            (Self::BadId, Language::En) => {
                "an id has 8 to 64 letters, digits or hyphens".to_owned()
            }
            (Self::BadId, Language::Ja) => "id は英数字とハイフンで 8〜64 文字です".to_owned(),
            (Self::IdTaken, Language::En) => "another line has this id already".to_owned(),
            (Self::IdTaken, Language::Ja) => "この id は別の発言で使われています".to_owned(),
            (Self::BadEmoji, Language::En) => {
                format!("an emoji is needed, of at most {LONGEST_EMOJI} characters on one line")
            }
            (Self::BadEmoji, Language::Ja) => {
                format!("絵文字は一行、{LONGEST_EMOJI} 文字以内で指定してください")
            }
            (Self::BadMinutes, Language::En) => {
                format!("it can be muted for 1 to {LONGEST_MUTE_MINUTES} minutes")
            }
            (Self::BadMinutes, Language::Ja) => {
                format!("ミュートできるのは 1〜{LONGEST_MUTE_MINUTES} 分です")
            }
            (Self::Empty, Language::En) => "the text is empty".to_owned(),
            (Self::Empty, Language::Ja) => "文章が空です".to_owned(),
            (Self::TooLong(length), Language::En) => {
                format!("the text has {length} characters; at most {LONGEST_LINE} are possible")
            }
            (Self::TooLong(length), Language::Ja) => {
                format!("文章が {length} 文字あります。{LONGEST_LINE} 文字までです")
            }
            (Self::Store(error), Language::En) => error.to_string(),
            (Self::Store(_), Language::Ja) => {
                "いまは保存できません。しばらくしてからもう一度お試しください".to_owned()
            }
        }
    }
}

impl From<StoreError> for SayError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
