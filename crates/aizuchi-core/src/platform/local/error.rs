//! Why the local room refuses something, in words for the user.

use crate::persona::Language;
use crate::platform::local::limits::{
    MAX_EMOJI_LENGTH, MAX_MESSAGE_LENGTH, MAX_MUTE_MINUTES, MAX_NAME_LENGTH,
};
use crate::store::StoreError;

/// Why something was refused.
#[derive(Debug)]
pub enum LocalRoomError {
    UnknownChannel(String),
    UnknownThread(String),
    UnknownMessage(String),
    /// Only the author may change a message.
    NotAuthor,
    InvalidName,
    InvalidChannelName,
    ChannelTaken(String),
    /// The persona's own name.
    NameTaken(String),
    InvalidId,
    /// Another message has this id.
    IdTaken,
    InvalidEmoji,
    /// A mute of this length is not possible.
    InvalidMinutes,
    EmptyText,
    /// The number of characters.
    TextTooLong(usize),
    Store(StoreError),
}

impl LocalRoomError {
    /// The text for the user whose request was refused.
    pub fn describe(&self, language: Language) -> String {
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
            (Self::UnknownMessage(id), Language::En) => {
                format!("there is no message {id:?} in this channel")
            }
            (Self::UnknownMessage(id), Language::Ja) => {
                format!("このチャンネルに発言「{id}」はありません")
            }
            (Self::NotAuthor, Language::En) => {
                "only the person who wrote a line may change it".to_owned()
            }
            (Self::NotAuthor, Language::Ja) => {
                "発言を変更できるのは、書いた本人だけです".to_owned()
            }
            (Self::InvalidChannelName, Language::En) => format!(
                "a channel's name has 1 to {MAX_NAME_LENGTH} letters, digits, hyphens or underscores"
            ),
            (Self::InvalidChannelName, Language::Ja) => {
                format!(
                    "チャンネル名は {MAX_NAME_LENGTH} 文字以内で、文字、数字、「-」、「_」だけを使ってください"
                )
            }
            (Self::ChannelTaken(name), Language::En) => {
                format!("there is a channel {name:?} already")
            }
            (Self::ChannelTaken(name), Language::Ja) => {
                format!("チャンネル「{name}」はすでにあります")
            }
            (Self::InvalidName, Language::En) => {
                format!("a name is needed, of at most {MAX_NAME_LENGTH} characters on one line")
            }
            (Self::InvalidName, Language::Ja) => {
                format!("名前は一行、{MAX_NAME_LENGTH} 文字以内で入力してください")
            }
            (Self::NameTaken(name), Language::En) => {
                format!("the name {name:?} belongs to the companion; please choose another")
            }
            (Self::NameTaken(name), Language::Ja) => {
                format!("「{name}」はこの部屋のボットの名前です。別の名前にしてください")
            }
            (Self::InvalidId, Language::En) => {
                "an id has 8 to 64 letters, digits or hyphens".to_owned()
            }
            (Self::InvalidId, Language::Ja) => "id は英数字とハイフンで 8〜64 文字です".to_owned(),
            (Self::IdTaken, Language::En) => "another line has this id already".to_owned(),
            (Self::IdTaken, Language::Ja) => "この id は別の発言で使われています".to_owned(),
            (Self::InvalidEmoji, Language::En) => {
                format!("an emoji is needed, of at most {MAX_EMOJI_LENGTH} characters on one line")
            }
            (Self::InvalidEmoji, Language::Ja) => {
                format!("絵文字は一行、{MAX_EMOJI_LENGTH} 文字以内で指定してください")
            }
            (Self::InvalidMinutes, Language::En) => {
                format!("it can be muted for 1 to {MAX_MUTE_MINUTES} minutes")
            }
            (Self::InvalidMinutes, Language::Ja) => {
                format!("ミュートできるのは 1〜{MAX_MUTE_MINUTES} 分です")
            }
            (Self::EmptyText, Language::En) => "the text is empty".to_owned(),
            (Self::EmptyText, Language::Ja) => "文章が空です".to_owned(),
            (Self::TextTooLong(length), Language::En) => {
                format!(
                    "the text has {length} characters; at most {MAX_MESSAGE_LENGTH} are possible"
                )
            }
            (Self::TextTooLong(length), Language::Ja) => {
                format!("文章が {length} 文字あります。{MAX_MESSAGE_LENGTH} 文字までです")
            }
            (Self::Store(error), Language::En) => error.to_string(),
            (Self::Store(_), Language::Ja) => {
                "いまは保存できません。しばらくしてからもう一度お試しください".to_owned()
            }
        }
    }
}

impl From<StoreError> for LocalRoomError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
