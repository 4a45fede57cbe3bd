//! The parts of a time in Japanese: 「来週の金曜」「午後3時半」「30分後」「毎月第2火曜」.

use jiff::civil::Weekday::{self, Friday, Monday, Saturday, Sunday, Thursday, Tuesday, Wednesday};

use crate::plan::recurrence::LAST;
use crate::plan::time_expression::english::MAX_AMOUNT_TOKENS;
use crate::plan::time_expression::said::SaidDay::{
    Date, DayOfMonth, EndOfWeek, LastDay, Month, NthWeekday, Plus, Week, Weekend, Year,
};
use crate::plan::time_expression::said::{
    CycleUnit, DayHalf, DayPart, SaidClock, SaidDay, SaidLength, SaidTime,
};
use crate::plan::time_expression::token::TokenReader;
use crate::plan::time_expression::zone::read_zone;
use crate::plan::time_expression::{Unclear, is_japanese};

const DAYS: [(&str, SaidDay); 63] = [
    ("今日", Plus(0)),
    ("きょう", Plus(0)),
    ("本日", Plus(0)),
    ("明日", Plus(1)),
    ("あした", Plus(1)),
    ("あす", Plus(1)),
    ("明後日", Plus(2)),
    ("あさって", Plus(2)),
    ("明々後日", Plus(3)),
    ("明明後日", Plus(3)),
    ("しあさって", Plus(3)),
    ("昨日", Plus(-1)),
    ("きのう", Plus(-1)),
    ("一昨日", Plus(-2)),
    ("おととい", Plus(-2)),
    ("来週の今日", Plus(7)),
    ("再来週の今日", Plus(14)),
    ("今週", Week(0)),
    ("来週", Week(1)),
    ("再来週", Week(2)),
    ("さ来週", Week(2)),
    ("さらいしゅう", Week(2)),
    ("らいしゅう", Week(1)),
    ("翌週", Week(1)),
    ("先週", Week(-1)),
    ("週明け", Week(1)),
    ("週あけ", Week(1)),
    ("来週明け", Week(2)),
    ("来週頭", Week(1)),
    ("来週の頭", Week(1)),
    ("来週のはじめ", Week(1)),
    ("来週初め", Week(1)),
    ("週末", Weekend(0)),
    ("今週末", Weekend(0)),
    ("今週の週末", Weekend(0)),
    ("来週末", Weekend(1)),
    ("来週の週末", Weekend(1)),
    ("再来週末", Weekend(2)),
    ("先週末", Weekend(-1)),
    ("今週の終わり", EndOfWeek(0)),
    ("来週の終わり", EndOfWeek(1)),
    ("今月", Month(0)),
    ("来月", Month(1)),
    ("再来月", Month(2)),
    ("先月", Month(-1)),
    ("今年", Year(0)),
    ("来年", Year(1)),
    ("再来年", Year(2)),
    ("去年", Year(-1)),
    ("昨年", Year(-1)),
    ("月末", LastDay(0)),
    ("今月末", LastDay(0)),
    ("来月末", LastDay(1)),
    ("再来月末", LastDay(2)),
    ("末日", LastDay(0)),
    ("最終日", LastDay(0)),
    ("今月の終わり", LastDay(0)),
    ("来月の終わり", LastDay(1)),
    ("月初", DayOfMonth(1, Some(1))),
    ("月初め", DayOfMonth(1, Some(1))),
    ("来月頭", DayOfMonth(1, Some(1))),
    ("来月の頭", DayOfMonth(1, Some(1))),
    ("来月初め", DayOfMonth(1, Some(1))),
];

const DAY_PARTS: [(&str, (i64, DayPart)); 13] = [
    ("今朝", (0, DayPart::Morning)),
    ("けさ", (0, DayPart::Morning)),
    ("今夜", (0, DayPart::Night)),
    ("今晩", (0, DayPart::Night)),
    ("今夕", (0, DayPart::Evening)),
    ("明朝", (1, DayPart::Morning)),
    ("明晩", (1, DayPart::Night)),
    ("明夜", (1, DayPart::Night)),
    ("昨夜", (-1, DayPart::Night)),
    ("昨晩", (-1, DayPart::Night)),
    ("ゆうべ", (-1, DayPart::Night)),
    ("翌朝", (1, DayPart::Morning)),
    ("今日中", (0, DayPart::EndOfWork)),
];

const WEEKDAYS: [(&str, Weekday); 7] = [
    ("月", Monday),
    ("火", Tuesday),
    ("水", Wednesday),
    ("木", Thursday),
    ("金", Friday),
    ("土", Saturday),
    ("日", Sunday),
];

/// Parts of a day that are no beginning of another word.
const PARTS: [(&str, DayPart); 23] = [
    ("朝", DayPart::Morning),
    ("朝一", DayPart::Morning),
    ("朝イチ", DayPart::Morning),
    ("朝いち", DayPart::Morning),
    ("朝一番", DayPart::Morning),
    ("午前", DayPart::Morning),
    ("午前中", DayPart::Morning),
    ("昼", DayPart::Noon),
    ("お昼", DayPart::Noon),
    ("正午", DayPart::Noon),
    ("ランチ", DayPart::Noon),
    ("昼休み", DayPart::Noon),
    ("お昼休み", DayPart::Noon),
    ("ランチタイム", DayPart::Noon),
    ("午後", DayPart::Afternoon),
    ("夕方", DayPart::Evening),
    ("夕刻", DayPart::Evening),
    ("夜", DayPart::Night),
    ("晩", DayPart::Night),
    ("深夜", DayPart::Midnight),
    ("真夜中", DayPart::Midnight),
    ("夜中", DayPart::Midnight),
    ("終業時", DayPart::EndOfWork),
];

const EVERY_PART: [(&str, DayPart); 5] = [
    ("毎朝", DayPart::Morning),
    ("毎晩", DayPart::Night),
    ("毎夜", DayPart::Night),
    ("毎夕", DayPart::Evening),
    ("毎昼", DayPart::Noon),
];

const EVERY: [(&str, (i64, CycleUnit)); 12] = [
    ("毎日", (1, CycleUnit::Day)),
    ("まいにち", (1, CycleUnit::Day)),
    ("日々", (1, CycleUnit::Day)),
    ("隔日", (2, CycleUnit::Day)),
    ("一日おき", (2, CycleUnit::Day)),
    ("毎週", (1, CycleUnit::Week)),
    ("隔週", (2, CycleUnit::Week)),
    ("一週おき", (2, CycleUnit::Week)),
    ("毎月", (1, CycleUnit::Month)),
    ("隔月", (2, CycleUnit::Month)),
    ("毎年", (1, CycleUnit::Year)),
    ("毎週の", (1, CycleUnit::Week)),
];

const WORKDAYS: [&str; 7] =
    ["平日", "毎平日", "平日毎日", "平日は毎日", "毎営業日", "毎日平日", "平日の毎日"];

const TOO_OFTEN: [&str; 6] = ["毎時", "毎分", "毎時間", "毎秒", "一時間ごと", "一時間おき"];

const VAGUE: [&str; 38] = [
    "あとで", "後で", "あとから", "後から", "後ほど", "のちほど", "のちに", "後日", "そのうち",
    "いつか", "いずれ", "近いうち", "近々", "近日中", "また今度", "今度", "しばらくしたら",
    "しばらくして", "しばらく後", "少ししたら", "少し後", "ちょっとしたら", "ちょっと後",
    "少し経ったら", "もう少ししたら", "適当な時", "年末", "今年末", "年明け", "週の半ば", "週半ば",
    "月半ば", "昼過ぎ", "昼すぎ", "お昼過ぎ", "夜遅く", "朝早く", "早朝",
];

const UNITS: [(&str, SaidLength); 14] = [
    ("秒", SaidLength { months: 0, days: 0, seconds: 1, is_from_day: false }),
    ("秒間", SaidLength { months: 0, days: 0, seconds: 1, is_from_day: false }),
    ("分", SaidLength { months: 0, days: 0, seconds: 60, is_from_day: false }),
    ("分間", SaidLength { months: 0, days: 0, seconds: 60, is_from_day: false }),
    ("時間", SaidLength { months: 0, days: 0, seconds: 3600, is_from_day: false }),
    ("日", SaidLength { months: 0, days: 1, seconds: 0, is_from_day: false }),
    ("日間", SaidLength { months: 0, days: 1, seconds: 0, is_from_day: false }),
    ("週間", SaidLength { months: 0, days: 7, seconds: 0, is_from_day: false }),
    ("週", SaidLength { months: 0, days: 7, seconds: 0, is_from_day: false }),
    ("月", SaidLength { months: 1, days: 0, seconds: 0, is_from_day: false }),
    ("年", SaidLength { months: 12, days: 0, seconds: 0, is_from_day: false }),
    ("年間", SaidLength { months: 12, days: 0, seconds: 0, is_from_day: false }),
    ("hour", SaidLength { months: 0, days: 0, seconds: 3600, is_from_day: false }),
    ("min", SaidLength { months: 0, days: 0, seconds: 60, is_from_day: false }),
];

/// What follows a length that is counted from now.
const AFTER: [&str; 16] = [
    "後", "あと", "したら", "経ったら", "たったら", "経過後", "経過したら", "してから",
    "経ってから", "たってから", "ほど後", "くらい後", "ぐらい後", "ほどしたら", "くらいしたら",
    "ぐらいしたら",
];

/// Reads one part of a time, and adds it to what is said.
pub fn read_part(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    if reader.peek().is_ascii() && !reader.peek().starts_with(|it: char| it.is_ascii_digit()) {
        return false;
    }
    read_zone_before(reader, said)
        || read_every(reader, said)
        || read_length(reader, said)
        || read_vague(reader, said)
        || read_day(reader, said)
        || read_weekday(reader, said)
        || read_clock(reader, said)
        || read_part_of_day(reader, said)
        || read_limit(reader, said)
}

/// Reads 「日本時間の」.
fn read_zone_before(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    let is_named = is_japanese(reader.peek()) && said.zone.is_none();
    let Some(zone) = is_named.then(|| read_zone(reader)).flatten() else { return false };
    match zone {
        Ok(zone) => said.zone = Some(zone),
        Err(()) => said.fail(Unclear::Impossible),
    }
    reader.eat_any(&["の", "で"]);
    true
}

fn read_every(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    if reader.eat_any(&TOO_OFTEN) {
        said.fail(Unclear::TooOften);
        return true;
    }
    if reader.eat_any(&WORKDAYS) {
        said.add_every(1, CycleUnit::Week);
        said.weekdays.extend([Monday, Tuesday, Wednesday, Thursday, Friday]);
        return true;
    }
    if reader.eat_any(&["毎週末", "週末ごと", "週末毎"]) {
        said.add_every(1, CycleUnit::Week);
        said.weekdays.push(Saturday);
        return true;
    }
    if reader.eat_any(&["毎月末", "月末ごと", "月末毎"]) {
        reader.eat("日");
        said.add_every(1, CycleUnit::Month);
        said.add_day(LastDay(0));
        return true;
    }
    if let Some(part) = reader.eat_of(&EVERY_PART) {
        said.add_every(1, CycleUnit::Day);
        said.add_part(part);
        return true;
    }
    if let Some((interval, unit)) = reader.eat_of(&EVERY).or_else(|| reader.attempt(read_each)) {
        said.add_every(interval, unit);
        reader.eat("の");
        read_weekdays(reader, said);
        return true;
    }
    let is_every = reader.attempt(|it| {
        it.eat("毎").then(|| {
            let before = said.weekdays.len();
            read_weekdays(it, said);
            said.weekdays.len() > before
        })
    });
    if is_every == Some(true) {
        said.add_every(1, CycleUnit::Week);
        return true;
    }
    let is_too_often = reader.attempt(|it| {
        it.number()?;
        it.eat_any(&["時間", "分", "秒"]).then_some(())?;
        it.eat_any(&["ごと", "おき", "毎"]).then_some(())
    });
    if is_too_often.is_some() {
        said.fail(Unclear::TooOften);
    }
    is_too_often.is_some()
}

/// Reads 「2週間ごと」. What 「2日おき」 means depends on who says it.
fn read_each(reader: &mut TokenReader<'_>) -> Option<(i64, CycleUnit)> {
    let number = reader.number()?;
    let unit = reader.eat_of(&[
        ("日", CycleUnit::Day),
        ("週間", CycleUnit::Week),
        ("週", CycleUnit::Week),
        ("か月", CycleUnit::Month),
        ("ヶ月", CycleUnit::Month),
        ("カ月", CycleUnit::Month),
        ("ヵ月", CycleUnit::Month),
        ("年", CycleUnit::Year),
    ])?;
    match reader.eat_any(&["ごと", "毎", "に一度", "に1度", "に1回", "に一回"]) {
        true => Some((number, unit)),
        // An interval of 0 is impossible, and asked for.
        false => reader.eat("おき").then_some((if number == 1 { 2 } else { 0 }, unit)),
    }
}

/// Reads 「月曜と木曜」「月・水・金」「月〜金」.
fn read_weekdays(reader: &mut TokenReader<'_>, said: &mut SaidTime) {
    let mut days: Vec<Weekday> = Vec::new();
    while let Some(day) = reader.attempt(|it| {
        let is_joined = !days.is_empty() && it.eat_any(&["と", "、", "・", ",", "/", "＆", "&"]);
        let day = read_weekday_name(it, !is_joined)?;
        Some(day)
    }) {
        let last = reader.attempt(|it| {
            it.eat_any(&["〜", "～", "~", "-", "から", "ー"])
                .then(|| read_weekday_name(it, false))
                .flatten()
        });
        let count = last.map_or(0, |last| day.until(last));
        days.extend((0..=count).map(|more| day.wrapping_add(more)));
    }
    said.weekdays.extend(days);
}

/// Reads 「金曜日」, or 「金」 among other days.
fn read_weekday_name(reader: &mut TokenReader<'_>, is_first: bool) -> Option<Weekday> {
    let day = reader.eat_of(&WEEKDAYS)?;
    if reader.eat_any(&["曜日", "曜"]) {
        return Some(day);
    }
    // 「毎週日」「毎月」「月末」「日間」 are others.
    let next = reader.peek();
    let is_name = !["末", "初", "間", "本", "前", "後", "報", "中", "程"].contains(&next);
    (is_name || !is_first).then_some(day)
}

fn read_length(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    if reader
        .attempt(|it| {
            it.eat_any(&["数", "何", "半"]).then_some(())?;
            it.eat_any(&["分", "時間", "日", "週間", "か月", "ヶ月", "年", "分間"]).then_some(())?;
            it.eat_any(&AFTER).then_some(())
        })
        .is_some()
    {
        said.fail(Unclear::Vague);
        return true;
    }
    let start = reader.at;
    let is_led = reader.eat_any(&["あと", "今から", "いまから", "これから"]);
    let Some(mut length) = reader.attempt(read_amounts) else {
        reader.at = start;
        return false;
    };
    if reader.eat_any(&AFTER) || (is_led && reader.eat("で")) {
        said.add_after(length);
    } else if reader.eat_any(&["以内", "以降", "弱", "強"]) {
        said.fail(Unclear::Vague);
    } else if reader.eat_any(&["前", "まえ"]) {
        let before = start.checked_sub(1).map_or("", |at| &reader.tokens[at].text);
        let is_alone = ["", "、", "。", ",", "\n"].contains(&before);
        length = SaidLength {
            months: length.months.saturating_neg(),
            days: length.days.saturating_neg(),
            seconds: length.seconds.saturating_neg(),
            is_from_day: false,
        };
        match is_alone {
            true => said.add_after(length),
            // Of something whose time is not known.
            false => said.fail(Unclear::Vague),
        }
    } else {
        reader.at = start;
        return false;
    }
    true
}

fn read_amounts(reader: &mut TokenReader<'_>) -> Option<SaidLength> {
    let mut total: Option<SaidLength> = None;
    let end = reader.at + MAX_AMOUNT_TOKENS;
    while let Some(amount) = reader.attempt(|it| {
        (it.at < end).then_some(())?;
        if total.is_some() {
            it.eat_any(&["と", "、"]);
        }
        read_amount(it)
    }) {
        let before = total.unwrap_or_default();
        total = Some(SaidLength {
            months: before.months.saturating_add(amount.months),
            days: before.days.saturating_add(amount.days),
            seconds: before.seconds.saturating_add(amount.seconds),
            is_from_day: false,
        });
    }
    total
}

fn read_amount(reader: &mut TokenReader<'_>) -> Option<SaidLength> {
    let number = reader.number()?;
    let tenths = reader.attempt(|it| {
        it.eat_any(&[".", "・"]).then(|| it.digits()).flatten().filter(|(_, digits)| *digits == 1)
    });
    let is_counted = reader.eat_any(&["か", "ヶ", "カ", "ヵ", "ケ", "箇", "個"]);
    let unit = reader.eat_of(&UNITS)?;
    // 「3月」 is a date, 「3か月」 a length.
    ((unit.months == 1) == is_counted).then_some(())?;
    let mut length = SaidLength {
        months: unit.months.saturating_mul(number),
        days: unit.days.saturating_mul(number),
        seconds: unit.seconds.saturating_mul(number),
        is_from_day: false,
    };
    if let Some((tenths, _)) = tenths {
        (unit.seconds > 1).then_some(())?;
        length.seconds = length.seconds.saturating_add(unit.seconds / 10 * tenths);
    }
    if unit.seconds == 3600 && reader.eat("半") {
        length.seconds = length.seconds.saturating_add(1800);
    }
    Some(length)
}

fn read_vague(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    let is_coming_day = reader.attempt(|it| {
        it.eat_any(&["今度の", "次の", "今度", "こんどの"]).then_some(())?;
        let day = it.eat_of(&WEEKDAYS)?;
        it.eat_any(&["曜日", "曜"]).then_some(day)
    });
    if let Some(day) = is_coming_day {
        said.add_day(SaidDay::Weekday(day, None));
        return true;
    }
    if reader.eat_any(&["最終営業日", "月末営業日", "最初の営業日"]) {
        said.fail(Unclear::Vague);
        return true;
    }
    let is_vague = reader.eat_any(&VAGUE);
    said.is_vague |= is_vague;
    if reader
        .attempt(|it| {
            it.number()?;
            it.eat("営業日").then_some(())?;
            it.eat("後").then_some(())
        })
        .is_some()
    {
        said.fail(Unclear::Vague);
        return true;
    }
    is_vague
}

fn read_day(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    if let Some((days, part)) = reader.eat_of(&DAY_PARTS) {
        said.add_day(Plus(days));
        said.add_part(part);
        return true;
    }
    // 「日曜」 and the like are read below.
    if let Some(day) = reader.eat_of(&DAYS) {
        said.add_day(day);
        return true;
    }
    let date = reader.attempt(read_date).or_else(|| reader.attempt(read_nth_weekday));
    date.into_iter().for_each(|date| said.add_day(date));
    date.is_some()
}

/// Reads 「2026年12月4日」「12月4日」「4日」.
fn read_date(reader: &mut TokenReader<'_>) -> Option<SaidDay> {
    let year = reader.attempt(|it| {
        let year = it.number().filter(|year| (1900..2200).contains(year))?;
        it.eat("年").then_some(year)
    });
    let month = reader.attempt(|it| {
        let month = it.number()?;
        it.eat("月").then_some(month)
    });
    if month.is_some() {
        reader.eat("の");
    }
    if month.is_some() && reader.eat_any(&["末日", "末"]) {
        return None;
    }
    let day = reader.number()?;
    reader.eat("日").then_some(())?;
    let is_length = ["後", "間", "以", "前", "お", "ご", "毎", "目", "分", "も", "中"];
    (!is_length.contains(&reader.peek())).then_some(())?;
    match (year, month) {
        (year, Some(month)) => Some(Date { year, month, day }),
        (None, None) => Some(DayOfMonth(day, None)),
        (Some(_), None) => None,
    }
}

/// Reads 「第2火曜日」「最終金曜」.
fn read_nth_weekday(reader: &mut TokenReader<'_>) -> Option<SaidDay> {
    let nth = match reader.eat_any(&["最終", "最後の", "最後"]) {
        true => LAST,
        false => {
            reader.eat("第").then_some(())?;
            i8::try_from(reader.number()?).ok().filter(|nth| (1..=4).contains(nth))?
        }
    };
    reader.eat("の");
    let day = reader.eat_of(&WEEKDAYS)?;
    reader.eat_any(&["曜日", "曜"]).then_some(NthWeekday(nth, day, None))
}

fn read_weekday(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    let has_day = said.day.is_some();
    let day = reader.attempt(|it| {
        let day = it.eat_of(&WEEKDAYS)?;
        let is_named = it.eat_any(&["曜日", "曜"]);
        // 「12月4日(金)」
        (is_named || (has_day && it.eat(")"))).then_some(day)
    });
    let Some(day) = day else { return false };
    reader.eat(")");
    if reader.eat_any(&["ごと", "毎"]) {
        said.add_every(1, CycleUnit::Week);
        said.weekdays.push(day);
    } else if said.every.is_some_and(|every| every.unit == CycleUnit::Week) {
        said.weekdays.push(day);
    } else {
        said.add_day(SaidDay::Weekday(day, None));
    }
    // 「月曜から金曜」
    let last = reader.attempt(|it| {
        it.eat_any(&["から", "〜", "~", "-"]).then_some(())?;
        let day = it.eat_of(&WEEKDAYS)?;
        it.eat_any(&["曜日", "曜"]).then_some(day)
    });
    match last {
        Some(last) if said.every.is_some() => {
            said.weekdays.extend((1..=day.until(last)).map(|more| day.wrapping_add(more)));
        }
        Some(_) => said.fail(Unclear::Several),
        None => {}
    }
    let is_list = reader.attempt(|it| {
        it.eat_any(&["と", "か", "、", "・"]).then_some(())?;
        let day = it.eat_of(&WEEKDAYS)?;
        it.eat_any(&["曜日", "曜"]).then_some(day)
    });
    match is_list {
        Some(day) if said.every.is_some() => said.weekdays.push(day),
        Some(_) => said.fail(Unclear::Several),
        None => {}
    }
    true
}

/// Reads 「午後3時半」「17時30分」「9時5分前」.
fn read_clock(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    const ENDS: [&str; 13] = [
        "ごろ", "頃", "ころ", "くらい", "ぐらい", "ちょうど", "ジャスト", "きっかり", "ぴったり",
        "丁度", "過ぎ", "すぎ", "キッカリ",
    ];
    if reader.eat_any(&[
        "同じ時間", "同じ時刻", "同時刻", "この時間", "この時刻", "今頃", "今ごろ", "いまごろ",
    ]) {
        said.add_clock(SaidClock::Unchanged);
        return true;
    }
    let Some((half, hour, minute)) = reader.attempt(read_hour) else { return false };
    let (mut hour, mut minute) = (hour, minute);
    let before = reader.attempt(|it| {
        it.eat("の");
        let minutes = it.number().filter(|minutes| (1..60).contains(minutes))?;
        it.eat("分前").then_some(minutes)
    });
    if let Some(before) = before {
        let total = hour.min(99) * 60 + minute.min(99) - before;
        (hour, minute) = (total.div_euclid(60).rem_euclid(24), total.rem_euclid(60));
    } else if reader.eat("前") {
        said.fail(Unclear::Vague);
    }
    reader.eat_any(&ENDS);
    said.add_clock(SaidClock::At { hour, minute, half });
    let is_range = reader.attempt(|it| {
        it.eat_any(&["から", "〜", "~", "-", "か", "と", "または", "、"])
            .then(|| read_hour(it))
            .flatten()
    });
    if is_range.is_some() {
        said.fail(Unclear::Several);
    }
    true
}

fn read_hour(reader: &mut TokenReader<'_>) -> Option<(DayHalf, i64, i64)> {
    let half = reader.eat_of(&[("午前", DayHalf::Am), ("午後", DayHalf::Pm)]);
    if half.is_some() {
        reader.eat("の");
    }
    let hour = reader.number()?;
    let minute = match reader.peek() {
        ":" if half.is_some() => {
            reader.eat(":");
            reader.digits()?.0
        }
        "時" if reader.peek_at(1) != "間" => {
            reader.eat("時");
            match reader.eat("半") {
                true => 30,
                false => {
                    let minute = reader.attempt(|it| {
                        let minute = it.number()?;
                        (it.eat("分") && it.peek() != "前" && it.peek() != "後").then_some(minute)
                    });
                    minute.unwrap_or(0)
                }
            }
        }
        _ => return None,
    };
    // Whether twelve o'clock is noon or midnight depends on who says it.
    let hour = if half.is_some() && hour == 12 { 99 } else { hour };
    Some((half.unwrap_or(DayHalf::Whole), hour, minute))
}

fn read_part_of_day(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    let start = reader.at;
    let Some(part) = reader.eat_of(&PARTS) else { return false };
    let next = reader.peek();
    // 「朝会」「夜明け」「昼食」 are things.
    let is_word = |letter: char| {
        matches!(letter, '\u{4e00}'..='\u{9fff}' | '\u{30a1}'..='\u{30ff}')
            && !"一二三四五六七八九十〇頃今毎".contains(letter)
    };
    let is_long = reader.at - start > 1;
    let is_order = ["リマインド", "アラーム"].iter().any(|it| reader.clone().eat(it));
    let is_thing = next.starts_with(is_word) && !is_long && !is_order
        || ["ご飯", "ごはん", "明け"].iter().any(|it| reader.clone().eat(it));
    if is_thing {
        reader.at = start;
        return false;
    }
    reader.eat_any(&["ごろ", "頃", "ころ", "くらい", "ぐらい"]);
    said.add_part(part);
    true
}

fn read_limit(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    let is_from = (said.every.is_some() || said.day.is_some_and(|day| day != Plus(0)))
        && said.clock.is_none()
        && reader
            .attempt(|it| {
                it.eat("から").then_some(())?;
                it.eat("、");
                it.peek().starts_with(['毎', '隔', '平']).then_some(())
            })
            .is_some();
    if is_from {
        said.start = said.day.take();
        return true;
    }
    let is_limited = said.every.is_some() && reader.eat_any(&["まで", "以外", "を除", "を除く"]);
    if is_limited {
        said.fail(Unclear::Vague);
    }
    is_limited
}
