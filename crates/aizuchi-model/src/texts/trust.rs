//! The persona's offer to speak without asking from a certain confidence on, after nearly all such proposals were
//! approved: as a channel's keeper is asked, and as the pages show it.

use crate::decision::trust::TrustState;
use crate::persona::Language;
use crate::texts::pick;

texts! {
    /// The question.
    offer(least: f64, percent: f64, channel: &str):
        "With confidence over {least:.2} you would have let {percent:.0} % pass; shall I speak by myself in {channel}?"
        / "これまで、確信度 {least:.2} 以上の案の {percent:.0} % が承認されました。{channel} では、確認せずに自分から話してもいいですか？";
    /// What accepting the offer does.
    means(least: f64):
        "Yes: from a confidence of {least:.2} on I say it without asking (mode companion), and below that nothing. Mentions are answered as ever."
        / "「はい」なら、確信度 {least:.2} 以上のときは確認せずに話し、それより低いときは黙っています（モードは companion）。呼びかけにはこれまでどおり答えます。";
    /// The number of decisions behind it, and how to undo it.
    rests_on(clicks: usize):
        "This rests on {clicks} decisions. The mode propose brings the questions back."
        / "これまでの {clicks} 件の判断によるものです。モードを propose に戻せば、また確認します。";
    by_itself: "Yes, by yourself" / "はい、自分から話して";
    not_yet: "Not yet" / "まだ早い";
    too_late:
        "This is settled already, or what was decided since says otherwise."
        / "この質問にはすでに返事があったか、その後に案が断られるなどして、条件を満たさなくなりました。";
    heading: "Speaking by itself" / "自分から話すこと";
    /// On a channel's page, while it is in force.
    in_force(least: f64):
        "It speaks by itself from a confidence of {least:.2} on, as somebody decided. Another mode ends that."
        / "確信度 {least:.2} 以上なら自分から話すことになっています。モードを変えると終わります。";
}

/// The state of an offer, as a word.
pub fn state(language: Language, state: TrustState) -> &'static str {
    match state {
        TrustState::Open => pick(language, "open", "返事待ち"),
        TrustState::Accepted => pick(language, "I speak by myself", "自分から話す"),
        TrustState::Declined => pick(language, "not yet", "まだ自分からは話さない"),
        TrustState::Withdrawn => pick(language, "no longer asked", "取り下げ"),
    }
}
