//! Parses a command from a message: after the persona's name is removed, every remaining word must belong to one
//! command. Requests to be quiet may have courtesies and reasons around them ([`quiet`]).

pub mod standing_order;
pub mod plan;
pub mod setting;
pub mod phrases;
pub mod duration;
pub mod quiet;

use aizuchi_model::persona::spelling::spellings;
use aizuchi_model::plan::time_expression::{When, parse_time};
use aizuchi_model::rules::Mode;
use aizuchi_structure::prose;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::command::{Command, MuteLength, MuteScope, NearMiss, PlanCommand, STOP_DURATION};
use crate::day_time::DayTime;
use crate::parse::duration::{DURATION_PARTICLES, NUMBER_WORDS, find_duration, parse_duration};
use crate::parse::phrases::{
    CATCH_UP, CommandPhrases, END_MARKS, EVERYWHERE, GO_AHEAD, HELP, MODE, MUTE, NAZE, OPENINGS,
    POLITE_ENDINGS, SETTINGS, STATUS, SURE, VAGUE,
};
use crate::parse::quiet::Quiet;
use crate::parse::setting::{WrittenSetting, near_setting};
use crate::parse::standing_order::{WrittenStandingOrder, lists_orders, parse_numbered};
use crate::quoted_text::Quoted;

impl Command {
    /// Parses the command that a message consists of, if any. `name` is the persona's name, which a mention leaves at
    /// the beginning or end. In a direct message it may be left out, except for “why?”, which is then part of the
    /// conversation.
    pub fn parse_message(text: &str, name: &str) -> Option<Self> {
        if Self::forgets_quotation(text, name) {
            return Some(Command::ForgetThat);
        }
        if let Some(written) = WrittenStandingOrder::parse(text, name) {
            return Some(written.command());
        }
        if let Some(plan) = PlanCommand::parse(text, name) {
            return Some(Command::Plan(plan));
        }
        let whole = normalize(text);
        let order = addressed_order(&whole, name);
        let command = Self::parse_whole(&order).filter(|it| *it != Command::Why || order != whole);
        let command = command.or_else(|| {
            asks_what_was_missed(&order).then(|| match recurs(text) {
                true => Command::Plan(PlanCommand::Make),
                false => Command::CatchUp,
            })
        });
        command
            .or_else(|| quiet_command(&own_words(text, name)))
            .or_else(|| Self::stops_by_name(text, name).then_some(Command::Stop))
    }

    /// Whether a message tells the persona by name to be silent, whatever follows: "shut up Aizuchi, nobody asked you",
    /// 「Aizuchi、黙れ」.
    pub fn stops_by_name(text: &str, name: &str) -> bool {
        let text = own_words(text, "");
        let mut clauses = text.split([',', '.', '!', '、', '。', '！', '，', '\n']).map(str::trim);
        let (first, second) =
            (clauses.next().unwrap_or_default(), clauses.next().unwrap_or_default());
        let is_one_of = |clause: &str, phrases: &[&str]| {
            candidate_forms(clause).iter().any(|form| phrases.contains(&form.as_str()))
        };
        let plainly_stops = |clause: &str| {
            is_one_of(clause, CommandPhrases::Stop.all()) && !is_one_of(clause, &VAGUE)
        };
        let is_name = |clause: &str, name: &str| {
            let clause = clause.strip_prefix('@').unwrap_or(clause);
            clause.strip_suffix("さん").unwrap_or(clause) == name
        };
        let names = spellings(name).into_iter();
        !text.contains(['?', '？'])
            && names.filter(|name| !name.is_empty() && text.contains(&**name)).any(|name| {
                let called = first.strip_prefix('@').unwrap_or(first).strip_prefix(&*name);
                let called = called.map(|rest| rest.strip_prefix("さん").unwrap_or(rest));
                let before =
                    first.strip_suffix(&*name).map(|rest| rest.trim_end_matches([' ', '@']));
                is_name(first, &name) && is_one_of(second, CommandPhrases::Stop.all())
                    || plainly_stops(first) && is_name(second, &name)
                    || called.is_some_and(|rest| plainly_stops(rest.trim_start()))
                    || before.is_some_and(plainly_stops)
            })
    }

    /// Whether a text asks to forget what it quotes: `forget that` below lines that begin with `>`, or with the quoted
    /// text in quotation marks.
    fn forgets_quotation(text: &str, name: &str) -> bool {
        let Quoted { rest, quotations } = Quoted::split(text);
        if quotations.is_empty() {
            return false;
        }
        let order = addressed_order(&normalize(&rest), name);
        let order = order.trim_matches([' ', ':', '：']);
        let is_meant = |form: &str| {
            let form = form.trim_matches([' ', ':', '：', '…']);
            CommandPhrases::ForgetThat.contains(form) || CommandPhrases::ForgetQuoted.contains(form)
        };
        let forms = candidate_forms(order);
        !is_question(order)
            && forms.iter().any(|form| is_meant(form) || confirmed(form).any(is_meant))
    }

    /// Parses a text that can only be a command.
    pub fn parse(order: &str) -> Option<Self> {
        Self::parse_whole(order).or_else(|| quiet_command(&own_words(order, "")))
    }

    /// Parses a command that is the whole text.
    fn parse_whole(order: &str) -> Option<Self> {
        if Self::forgets_quotation(order, "") {
            return Some(Command::ForgetThat);
        }
        if let Some(written) = WrittenStandingOrder::parse(order, "") {
            return Some(written.command());
        }
        if let Some(plan) = PlanCommand::parse(order, "") {
            return Some(Command::Plan(plan));
        }
        let order = normalize(order);
        let forms = candidate_forms(&order);
        let bare = forms.first()?.as_str();
        let question = match bare {
            bare if CommandPhrases::Why.contains(bare) || asks_why_silent(bare) => {
                Some(Command::Why)
            }
            bare if STATUS.contains(&bare) => Some(Command::Status),
            bare if CommandPhrases::Memory.contains(bare) => Some(Command::Memory),
            bare if CATCH_UP.contains(&bare) => Some(Command::CatchUp),
            bare if HELP.contains(&bare) => Some(Command::Help),
            bare if lists_orders(bare) => Some(Command::ListStandingOrders),
            bare if SETTINGS.contains(&bare) => Some(Command::ListSettings),
            _ => None,
        };
        // A question about whether it can be muted does not mute it.
        match is_question(&order) {
            true => question,
            false => question
                .or_else(|| forms.iter().find_map(|form| parse_order(form)))
                .or_else(|| near_miss(bare).map(Command::Usage)),
        }
    }
}

/// Whether a text in lower case asks to be told what its author missed. A long one says more than that.
pub fn asks_what_was_missed(order: &str) -> bool {
    /// In characters.
    const MAX_LENGTH: usize = 160;
    let holds = |list: CommandPhrases| list.all().iter().any(|phrase| order.contains(phrase));
    order.chars().count() <= MAX_LENGTH
        && (holds(CommandPhrases::CatchUp)
            || holds(CommandPhrases::Away) && holds(CommandPhrases::News))
}

/// Whether a text names times that recur. They do so whenever it is read.
fn recurs(text: &str) -> bool {
    let some_time = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
    matches!(parse_time(text, &some_time), Some((When::Every(..), _)))
}

/// Whether the text asks why there was no answer: "why did you not answer my question about the pump?",
/// 「なんでポンプの質問に答えなかったの？」.
fn asks_why_silent(bare: &str) -> bool {
    let holds = |words: &[&str]| words.iter().any(|word| bare.contains(word));
    CommandPhrases::WhySilent.all().iter().any(|start| bare.starts_with(start))
        || holds(&NAZE) && holds(CommandPhrases::DidNotAnswer.all())
}

impl MuteLength {
    /// Finds how long a text in lower case asks for silence.
    pub fn find(text: &str) -> Option<Self> {
        let clock = || DayTime::find_clock(text).map(MuteLength::Until);
        let lasting = || find_duration(text).map(MuteLength::Lasting);
        clock().or_else(lasting).or_else(|| DayTime::find_phrase(text).map(MuteLength::Until))
    }
}

/// Parses a plain request to be quiet. Without a length, the persona stops for a while.
fn quiet_command(text: &str) -> Option<Command> {
    let is_everywhere = EVERYWHERE.iter().any(|word| text.contains(word));
    match Quiet::parse(text)? {
        // It would be of another channel.
        Quiet::Stop if text.contains('#') => None,
        Quiet::Stop if is_everywhere => {
            let length = MuteLength::find(text).unwrap_or(MuteLength::Lasting(STOP_DURATION));
            Some(Command::Mute { length: Some(length), scope: MuteScope::Workspace })
        }
        quiet => Some(quiet.command(text)),
    }
}

impl Quiet {
    /// Returns the command for the channel in which a request in lower case asks for this.
    pub fn command(self, text: &str) -> Command {
        match (self, MuteLength::find(text)) {
            (Quiet::Less, _) => WrittenSetting::quieter(text).command(),
            (Quiet::Stop, None) => Command::Stop,
            (Quiet::Stop, length) => Command::Mute { length, scope: MuteScope::Channel },
        }
    }
}

fn is_question(order: &str) -> bool {
    order.trim_end().ends_with(['?', '？'])
}

fn parse_order(form: &str) -> Option<Command> {
    match form {
        form if CommandPhrases::Stop.contains(form) => Some(Command::Stop),
        form if CommandPhrases::Reset.contains(form) => Some(Command::Reset),
        form if CommandPhrases::ForgetMe.contains(form) => Some(Command::ForgetMe),
        form if CommandPhrases::ForgetThat.contains(form) => Some(Command::ForgetThat),
        form if confirmed(form).any(|form| CommandPhrases::ForgetThat.contains(form)) => {
            Some(Command::ForgetThat)
        }
        form if CommandPhrases::OptOut.contains(form) => Some(Command::OptOut),
        form if CommandPhrases::OptIn.contains(form) => Some(Command::OptIn),
        form if confirmed(form).any(|form| CommandPhrases::ForgetMe.contains(form)) => {
            Some(Command::ForgetMeForSure)
        }
        form => parse_mode(form)
            .or_else(|| parse_mute(form))
            .or_else(|| parse_numbered(form))
            .or_else(|| WrittenSetting::parse(form).map(|written| written.command())),
    }
}

/// Returns what the user confirms: `forget me, yes`, `はい、私のことを忘れて`.
fn confirmed(form: &str) -> impl Iterator<Item = &str> {
    let rest = |sure: &&str| form.strip_suffix(*sure).or_else(|| form.strip_prefix(*sure));
    SURE.iter().filter_map(rest).flat_map(|rest| {
        let rest = rest.trim_matches(END_MARKS);
        let forms = POLITE_ENDINGS.iter().filter_map(move |ending| rest.strip_suffix(ending));
        forms.chain([rest]).map(|form| form.trim_matches(END_MARKS))
    })
}

/// Whether a command in a message is confirmed: 「はい、「…」を忘れて」.
pub fn is_confirmed(text: &str) -> bool {
    let words = own_words(text, "");
    words.split(|character: char| !character.is_alphanumeric()).any(|word| SURE.contains(&word))
}

/// Whether a message says yes to a question of the persona, and nothing else: “yes please”, 「はい、お願いします」.
pub fn is_yes(text: &str, name: &str) -> bool {
    let order = addressed_order(&normalize(text), name);
    let agrees = |form: &str| SURE.contains(&form) || GO_AHEAD.contains(&form);
    let forms = candidate_forms(&order);
    !is_question(&order) && forms.iter().any(|form| agrees(form) || confirmed(form).any(agrees))
}

/// Recognizes a short text that begins like a command and ends differently. Longer ones are conversation.
fn near_miss(text: &str) -> Option<NearMiss> {
    const MAX_WORDS: usize = 2;
    const MAX_JAPANESE: usize = 8;
    let is_short = |rest: &str| {
        let is_sentence = rest.contains(['の', 'が']) || rest.chars().count() > MAX_JAPANESE;
        match rest.is_ascii() {
            true => rest.split(' ').count() <= MAX_WORDS,
            false => !is_sentence,
        }
    };
    if let Some(near) = near_setting(text) {
        return Some(near);
    }
    let begins_with_number =
        |text: &str| text.starts_with(|character: char| character.is_ascii_digit());
    if let Some(rest) = text.strip_prefix("mode") {
        let is_word = rest.is_empty() || rest.starts_with([' ', ':']);
        return (is_word && is_short(rest.trim_matches([' ', ':']))).then_some(NearMiss::Mode);
    }
    if let Some(rest) = text.strip_prefix("モード") {
        return is_short(rest).then_some(NearMiss::Mode);
    }
    let mute = text.strip_prefix("mute ").or_else(|| text.strip_prefix("ミュート"));
    let mute = mute.or_else(|| text.strip_suffix("ミュート"));
    let rest = mute?.trim_matches([' ', '、']);
    let rest = rest.strip_prefix("for ").unwrap_or(rest);
    (begins_with_number(rest) && is_short(rest)).then_some(NearMiss::Mute)
}

fn parse_mode(text: &str) -> Option<Command> {
    let rest = MODE.iter().find_map(|word| text.strip_prefix(word))?;
    let word = rest.trim_start_matches([' ', ':', '：', 'は', 'を']).replace(['-', ' '], "_");
    match word.as_str() {
        "default" | "標準" => Some(Command::Mode(None)),
        word => {
            let mode = Mode::ALL.into_iter().find(|mode| mode.name() == word);
            mode.map(|mode| Command::Mode(Some(mode)))
        }
    }
}

/// Parses `mute`, `mute for 2h`, `unmute everywhere`, `2時間ミュート`, `30分だけ静かに`.
fn parse_mute(text: &str) -> Option<Command> {
    let (text, scope) = match EVERYWHERE.iter().find(|word| text.contains(**word)) {
        Some(word) => (text.replacen(word, " ", 1), MuteScope::Workspace),
        None => (text.to_owned(), MuteScope::Channel),
    };
    let text = text.trim_matches([' ', 'で', 'の']);
    if CommandPhrases::Unmute.contains(text) {
        return Some(Command::Unmute(scope));
    }
    let rest = MUTE.iter().find_map(|word| {
        let beside = text.strip_prefix(word).or_else(|| text.strip_suffix(word))?;
        // A Latin word must end here.
        let is_cut = word.is_ascii()
            && beside.starts_with(|character: char| character.is_ascii_alphabetic());
        (!is_cut).then_some(beside)
    })?;
    let mut rest = rest.trim();
    if rest.is_empty() {
        return Some(Command::Mute { length: None, scope });
    }
    loop {
        if let Some(duration) = parse_duration(rest) {
            let length = Some(MuteLength::Lasting(duration));
            return Some(Command::Mute { length, scope });
        }
        let shorter = DURATION_PARTICLES.iter().find_map(|word| {
            rest.strip_suffix(word).or_else(|| rest.strip_prefix(word)).map(str::trim)
        });
        rest = shorter?;
    }
}

/// Converts to lower case, ASCII digits and quotes, and single spaces.
fn normalize(text: &str) -> String {
    let characters = text.chars().map(|character| match character {
        '０'..='９' => char::from(b'0' + (character as u32 - '０' as u32) as u8),
        '’' => '\'',
        '＠' => '@',
        character if character.is_whitespace() => ' ',
        character => character,
    });
    let lower = characters.collect::<String>().to_lowercase();
    let lower =
        NUMBER_WORDS.iter().fold(lower, |text, (words, digits)| text.replace(words, digits));
    lower.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns the text of a normalized message without the persona's name.
fn addressed_order(text: &str, name: &str) -> String {
    let names = spellings(name);
    let mentioned = names.iter().find(|name| text.contains(&format!("@{name}")));
    without_name(text, &normalize(mentioned.map_or(name, |name| name)))
}

/// Returns the lines of a message in its author's own words, normalized: without quotations, code, and the persona's
/// name with its `@`, honorific and colon.
pub fn own_words(text: &str, name: &str) -> String {
    let words = prose(&Quoted::split(text).rest);
    let text = words.lines().map(normalize).collect::<Vec<_>>().join("\n");
    let names = spellings(name).into_iter().filter(|name| !name.is_empty());
    names.fold(text, |text, name| {
        let text = text.replace(&format!("@{name}"), &name).replace(&format!("{name}さん"), &name);
        text.replace(&format!("{name}:"), ",").replace(&name, "")
    })
}

/// Removes the persona's name from the beginning or end.
fn without_name(text: &str, name: &str) -> String {
    let marks = [' ', ',', ':', '、', '，', '：'];
    let begun = text.strip_prefix('@').unwrap_or(text).trim_start().strip_prefix(name);
    // A Latin name must end here; 相槌さん names 相槌.
    let begun = begun.filter(|rest| {
        !rest.starts_with(|character: char| {
            character.is_ascii_alphanumeric() || "-_.".contains(character)
        })
    });
    if let Some(rest) = begun.filter(|_| !name.is_empty()) {
        let rest = rest.strip_prefix("さん").unwrap_or(rest);
        return rest.trim_start_matches(marks).to_owned();
    }
    let ended = text.trim_end_matches(['?', '!', '？', '！', '.', '。']).strip_suffix(name);
    let ended = ended.and_then(|text| text.strip_suffix('@'));
    ended.map_or(text, |text| text.trim_end_matches(marks)).to_owned()
}

/// Parses the number by which people name a standing order or a plan.
fn parse_number(text: &str) -> Option<i64> {
    let digits = text.trim().trim_start_matches('#');
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

/// Returns a message as it was written, without the persona's name and its `@` at the beginning or end.
pub fn without_called_name(text: &str, name: &str) -> String {
    let text = text.trim();
    for name in spellings(name).into_iter().filter(|name| !name.is_empty()) {
        let is_name = |part: Option<&str>| part.is_some_and(|it| it.to_lowercase() == *name);
        let at = text.strip_prefix(['@', '＠']).unwrap_or(text);
        if is_name(at.get(..name.len())) {
            return without_name(&at.replacen(&at[..name.len()], &name, 1), &name);
        }
        let start = text.len().saturating_sub(name.len());
        if is_name(text.get(start..)) {
            return without_name(&format!("{}{name}", &text[..start]), &name);
        }
    }
    text.to_owned()
}

/// Returns the text without surrounding marks, followed by its forms without polite endings, each also without an
/// opening.
fn candidate_forms(text: &str) -> Vec<String> {
    let mut text = text.trim_matches(END_MARKS);
    text = text.strip_prefix("please ").unwrap_or(text);
    let mut forms = vec![text.to_owned()];
    while let Some(shorter) = POLITE_ENDINGS.iter().find_map(|word| {
        let shorter = text.strip_suffix(word)?;
        // A Latin ending must be a separate word, and politeness alone is not a command.
        let is_cut = word.is_ascii() && !shorter.ends_with(' ');
        (!is_cut && !shorter.trim().is_empty()).then_some(shorter)
    }) {
        text = shorter.trim_end_matches(END_MARKS);
        forms.push(text.to_owned());
    }
    let opened = |form: &String| {
        let mut behind = OPENINGS.iter().filter_map(|opening| form.strip_prefix(opening));
        behind.find(|rest| !rest.is_empty()).map(|rest| rest.trim_start().to_owned())
    };
    let shorter: Vec<String> = forms.iter().filter_map(opened).collect();
    forms.extend(shorter);
    forms
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    fn mute(minutes: Option<i64>, scope: MuteScope) -> Command {
        let lasting = |minutes| MuteLength::Lasting(SignedDuration::from_mins(minutes));
        Command::Mute { length: minutes.map(lasting), scope }
    }

    #[test]
    fn who_was_away_may_ask_what_they_missed() {
        for (text, expected) in [
            ("@Aizuchi catch me up", true),
            ("@Aizuchi what did I miss?", true),
            ("@Aizuchi I was off all week, anything I should know?", true),
            ("@Aizuchi just back from lunch, what happened?", true),
            ("@Aizuchi catchup", true),
            ("@Aizuchi 見逃したところ教えて", true),
            ("@Aizuchi 昨日休んでたんだけど何かあった？", true),
            ("@Aizuchi who missed the rehearsal?", false),
            ("@Aizuchi what happened to the old pump?", false),
            ("@Aizuchi I was on holiday, here are my photos", false),
            ("@Aizuchi did I miss a semicolon here?", false),
            ("@Aizuchi what happened since the deploy?", false),
            ("@Aizuchi 出張の手続きを教えて", false),
            ("@Aizuchi 久しぶりにカレーを作る、レシピ教えて", false),
            ("@Aizuchi 今朝からサーバーが重い。原因を教えて", false),
            ("@Aizuchi 来週休むね、よろしく", false),
            ("@Aizuchi 資料に見落としがあるよ", false),
        ] {
            let command = Command::parse_message(text, "Aizuchi");
            assert_eq!(command == Some(Command::CatchUp), expected, "{text}: {command:?}");
        }
    }

    #[test]
    fn only_a_plain_yes_is_one() {
        for (text, expected) in [
            ("yes", true),
            ("Yes!", true),
            ("@Aizuchi yes", true),
            ("yes please", true),
            ("Yes, please.", true),
            ("yes, please do", true),
            ("yes, I’m sure", true),
            ("ok, do it", true),
            ("yep", true),
            ("はい", true),
            ("@Aizuchi はい！", true),
            ("はい、お願いします", true),
            ("はい、お願い。", true),
            ("お願いします", true),
            ("はい、本当に", true),
            ("うん", true),
            ("yes?", false),
            ("yes, but not today", false),
            ("yes, at noon", false),
            ("no", false),
            ("please", false),
            ("not sure", false),
            ("はい、でも明日", false),
            ("いいえ", false),
            ("", false),
        ] {
            assert_eq!(is_yes(text, "Aizuchi"), expected, "{text}");
        }
    }

    #[test]
    fn commands_are_parsed_in_both_languages() {
        use Command::{
            ForgetMe, ForgetMeForSure, ForgetThat, Help, Memory, OptIn, OptOut, Reset, Status,
            Stop, Unmute, Usage, Why,
        };
        use MuteScope::{Channel, Workspace};
        let mode = |mode| Command::Mode(Some(mode));
        for (text, expected) in [
            ("@アイズチ 黙れ", Stop),
            ("@Aizuchi しばらく黙ってて", Stop),
            ("@Aizuchi ok, you can talk again", Unmute(Channel)),
            ("@Aizuchi もう話していいよ", Unmute(Channel)),
            ("@Aizuchi why?", Why),
            ("Aizuchi, why did you say that?", Why),
            ("why @aizuchi?", Why),
            ("@Aizuchi なんで？", Why),
            ("@Aizuchi どうして？", Why),
            ("status", Status),
            ("forget me", ForgetMe),
            ("@Aizuchi forget me, yes", ForgetMeForSure),
            ("@Aizuchi yes, forget me!", ForgetMeForSure),
            ("@Aizuchi はい、私のことを忘れてください", ForgetMeForSure),
            ("@Aizuchi 私のことを忘れて、はい", ForgetMeForSure),
            ("@Aizuchi mode quiet", Usage(NearMiss::Mode)),
            ("@Aizuchi mode", Usage(NearMiss::Mode)),
            ("@Aizuchi モードは静か", Usage(NearMiss::Mode)),
            ("@Aizuchi mute 2 fortnights", Usage(NearMiss::Mute)),
            ("@Aizuchi mute 0m", Usage(NearMiss::Mute)),
            ("@Aizuchi 5秒ミュート", Usage(NearMiss::Mute)),
            ("@Aizuchi mute for an hour", mute(Some(60), Channel)),
            ("@Aizuchi mute 2 hrs", mute(Some(120), Channel)),
            ("@Aizuchi 1時間半黙ってて", mute(Some(90), Channel)),
            ("@Aizuchi 静かにしてね", Stop),
            ("@Aizuchi be quiet, ok?", Stop),
            ("hey @Aizuchi: please be quiet — we are in a meeting", Stop),
            ("@Aizuchi もう休んでていいよ", Stop),
            ("@Aizuchi 少しの間、静かにしてもらえますか", Stop),
            ("@Aizuchi 私のこと忘れて", ForgetMe),
            ("＠Aizuchiさん、どうして黙っているの？", Why),
            ("@Aizuchi: status", Status),
            ("@Aizuchi 状態", Status),
            ("@Aizuchi what do you remember?", Memory),
            ("@Aizuchi mute", mute(None, Channel)),
            ("@Aizuchi mute 2h", mute(Some(120), Channel)),
            ("@Aizuchi please mute for 2 hours.", mute(Some(120), Channel)),
            ("@Aizuchi MUTE 1h30m please", mute(Some(90), Channel)),
            ("@Aizuchi be quiet for 90 minutes", mute(Some(90), Channel)),
            ("@Aizuchi mute everywhere 1 day", mute(Some(1440), Workspace)),
            ("@Aizuchi ミュート", mute(None, Channel)),
            ("@Aizuchi ２時間ミュートして", mute(Some(120), Channel)),
            ("@Aizuchi 30分だけ静かにしてください", mute(Some(30), Channel)),
            ("@Aizuchi 30分黙っててくれる？", mute(Some(30), Channel)),
            ("@Aizuchi 30分静かにしてもらえますか？", mute(Some(30), Channel)),
            ("@Aizuchi can you be quiet for 10 minutes?", mute(Some(10), Channel)),
            ("@Aizuchi ミュート 1時間30分", mute(Some(90), Channel)),
            ("@Aizuchi どこでも1時間ミュート", mute(Some(60), Workspace)),
            ("@Aizuchi unmute", Unmute(Channel)),
            ("@Aizuchi unmute everywhere", Unmute(Workspace)),
            ("@Aizuchi ミュート解除して", Unmute(Channel)),
            ("@Aizuchi stop!", Stop),
            ("@Aizuchi やめて。", Stop),
            ("@Aizuchi うるさい！", Stop),
            ("@Aizuchi なんで黙ってたの？", Why),
            ("@Aizuchi 静かにして", Stop),
            ("@Aizuchi 黙れ", Stop),
            ("@Aizuchi だまれよ！", Stop),
            ("@Aizuchi しゃべるな", Stop),
            ("@Aizuchi 喋らないでください", Stop),
            ("@Aizuchi お静かにお願いします", Stop),
            ("@Aizuchi うるさいなあ", Stop),
            ("@Aizuchi 静かにしてくれる？", Stop),
            ("@Aizuchi ちょっと静かにしてもらえる？", Stop),
            ("@Aizuchi 少し静かにしてもらえませんか？", Stop),
            ("@Aizuchi ちょっと黙ってて", Stop),
            ("@Aizuchi もうたくさんだ", Stop),
            ("@Aizuchi いい加減にして！", Stop),
            ("@Aizuchi be quiet", Stop),
            ("@Aizuchi shush", Stop),
            ("@Aizuchi zip it!", Stop),
            ("@Aizuchi that's enough", Stop),
            ("@Aizuchi enough", Stop),
            ("@Aizuchi shut up please", Stop),
            ("@Aizuchi just shut up", Stop),
            ("@Aizuchi can you please be quiet?", Stop),
            ("@Aizuchi don’t talk", Stop),
            ("@Aizuchi 黙っててください", Stop),
            ("@Aizuchi mode observe", mode(Mode::Observe)),
            ("@Aizuchi mode mention-only", mode(Mode::MentionOnly)),
            ("@Aizuchi モードは off", mode(Mode::Off)),
            ("@Aizuchi mode default", Command::Mode(None)),
            ("@Aizuchi forget me", ForgetMe),
            ("@Aizuchi forget that, yes", ForgetThat),
            ("@Aizuchi はい、それ忘れて", ForgetThat),
            ("@Aizuchi forget “the ladder”, yes", ForgetThat),
            ("@Aizuchi はい、「はしご」を忘れて", ForgetThat),
            ("> the ladder\n@Aizuchi yes, forget that please", ForgetThat),
            ("@Aizuchi 私のことを忘れてください", ForgetMe),
            ("@Aizuchi opt out", OptOut),
            ("@Aizuchi don’t listen to me", OptOut),
            ("@Aizuchi また聞いて", OptIn),
            ("@Aizuchi reset", Reset),
            ("@Aizuchi please forget this conversation.", Reset),
            ("@Aizuchi 会話をリセットして", Reset),
            ("@Aizuchi help", Help),
            ("@Aizuchi forget that", ForgetThat),
            ("@Aizuchi, please forget that!", ForgetThat),
            ("forget that @Aizuchi", ForgetThat),
            ("@Aizuchi それ忘れて", ForgetThat),
            ("@アイズチ 今のは忘れてください", ForgetThat),
            ("@Aizuchi その記憶を消してください", ForgetThat),
            ("> 2026-03-01: the beans are up\n@Aizuchi forget that", ForgetThat),
            ("@Aizuchi forget that\n> why? forget me, yes", ForgetThat),
            ("@Aizuchi forget that: “the beans are up”", ForgetThat),
            ("@Aizuchi please forget \"the beans are up\".", ForgetThat),
            ("@Aizuchi 「豆が出た」を忘れて", ForgetThat),
            ("> 豆が出た\n@Aizuchi これ忘れて", ForgetThat),
        ] {
            assert_eq!(Command::parse_message(text, "Aizuchi"), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_yes_is_the_users_own() {
        for (text, expected) in [
            ("@Aizuchi forget that, yes", true),
            ("@Aizuchi はい、「はしご」を忘れて", true),
            ("@Aizuchi 「はしご」を忘れて、本当に", true),
            ("@Aizuchi I’m sure, forget that", true),
            ("> yes, I bring it\n@Aizuchi forget that", false),
            ("@Aizuchi forget “yes”", false),
        ] {
            assert_eq!(is_confirmed(text), expected, "{text}");
        }
    }

    #[test]
    fn conversation_is_not_a_command() {
        for text in [
            "",
            "@Aizuchi",
            "@Aizuchi hello",
            "@Aizuchi why is the build red?",
            "@Aizuchi why don't we stop the server",
            "@Aizuchi stop the server",
            "@Aizuchi we have enough cake",
            "@Aizuchi is that enough?",
            "@Aizuchi 話すなら今です",
            "@Aizuchi 図書館では静かにする？",
            "@Aizuchi can you stop the server?",
            "@Aizuchi can you mute the alarm for 2h",
            "@Aizuchi mute 2 of the five speakers",
            "@Aizuchi muted",
            "@Aizuchi mode of transport matters here",
            "@Aizuchi モードの違いを教えて",
            "@Aizuchi yes",
            "@Aizuchi forget meeting",
            "@Aizuchi help me with the printer",
            "@Aizuchi please",
            "@Aizuchi お願いします",
            "@Aizuchi なぜサーバーが落ちたの？",
            "@Aizuchi 静かな部屋だね",
            "@Aizuchi アラームを2時間ミュートする方法は？",
            "@Aizuchi-two why?",
            "why?",
            "@Aizuchi forget me?",
            "@Aizuchi mute?",
            "@Aizuchi 静かだね",
            "@Aizuchi 静かね",
            "@Aizuchi 静か？",
            "@Aizuchi 記憶して",
            "@Aizuchi explain",
            "@Aizuchi reset?",
            "@Aizuchi reset the router",
            "@Aizuchi 解除して",
            "@Aizuchi forget it",
            "@Aizuchi forget that?",
            "@Aizuchi forget that the deploy is on Friday",
            "@Aizuchi did you forget \"the beans\"?",
            "@Aizuchi forget \"the beans\" and buy peas",
            "> forget that\n@Aizuchi why is this here",
            "> the beans are up\n@Aizuchi forget me",
            "@Aizuchi 財布を忘れて困った",
            "@Aizuchi それ忘れてた",
            "> please be quiet\n@Aizuchi how do I say this in French?",
            "> be quiet, please\n@Aizuchi lol",
            "@Aizuchi translate: please be quiet",
            "@Aizuchi stop saying \"utilize\", use \"use\"",
            "@Aizuchi summarize this:\nAnn: please be quiet.\nBob: ok",
            "@Aizuchi my boss said, please don't post here. why?",
            "@Aizuchi wait, shut up, really?",
            "@Aizuchi please answer only if you are sure: when is the deploy?",
            "@Aizuchi 今日は静かだな",
            "@Aizuchi 今日は静かで、仕事が捗る",
            "@Aizuchi 今日休んで、病院に行く",
            "@Aizuchi 明日は静かかな？",
            "@Aizuchi どうすれば黙ってくれるの？",
            "@Aizuchi 明日休んでいい？",
            "@Aizuchi 昨日返事しなくて、ごめん",
        ] {
            assert_eq!(Command::parse_message(text, "Aizuchi"), None, "{text}");
        }
    }
}
