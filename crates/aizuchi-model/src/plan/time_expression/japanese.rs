//! The parts of a time in Japanese: 「来週の金曜」「午後3時半」「30分後」「毎月第2火曜」.

use jiff::civil::Weekday;

use crate::plan::recurrence::LAST;
use crate::plan::time_expression::said::SaidDay::{Date, DayOfMonth, NthWeekday, Plus};
use crate::plan::time_expression::said::{
    CycleUnit, CycleWord, DayHalf, DayPart, SaidClock, SaidDay, SaidLength, SaidTime,
};
use crate::plan::time_expression::token::TokenReader;
use crate::plan::time_expression::zone::read_zone;
use crate::plan::time_expression::{Unclear, is_japanese, series};
use crate::plan::words::{JAPANESE, word_lists};

word_lists! { JAPANESE;
    DAYS: (&str, SaidDay),
    DAY_PARTS: (&str, (i64, DayPart)),
    WEEKDAYS: (&str, Weekday),
    PARTS: (&str, DayPart),
    CYCLES: (&str, CycleUnit),
    CYCLE_WORDS: (&str, CycleWord),
    VAGUE: &str,
    UNITS: (&str, SaidLength),
    AFTER: &str,
}

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
    said.add_zone(zone);
    reader.eat_any(&["の", "で"]);
    true
}

fn read_every(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    let each = |it: &mut TokenReader<'_>| {
        it.attempt(read_each).map(|(interval, unit)| CycleWord::Every(interval, unit))
    };
    if let Some(word) = reader.eat_of(&CYCLE_WORDS).or_else(|| each(reader)) {
        said.add_cycle_word(word);
        if matches!(word, CycleWord::Every(..)) {
            reader.eat("の");
            said.weekdays.extend(read_weekdays(reader));
        }
        return true;
    }
    if let Some(days) =
        reader.behind(&["毎"], |it| Some(read_weekdays(it)).filter(|it| !it.is_empty()))
    {
        said.add_weekdays(&days);
        return true;
    }
    let is_too_often = reader.attempt(|it| {
        it.number()?;
        it.eat_any(&["時間", "分", "秒"]).then_some(())?;
        it.eat_any(&["ごと", "おき", "毎"]).then_some(())
    });
    said.fail_if(is_too_often.is_some(), Unclear::TooOften)
}

/// Reads 「2週間ごと」. What 「2日おき」 means depends on who says it.
fn read_each(reader: &mut TokenReader<'_>) -> Option<(i64, CycleUnit)> {
    let number = reader.number()?;
    let unit = reader.eat_of(&CYCLES)?;
    match reader.eat_any(&["ごと", "毎", "に一度", "に1度", "に1回", "に一回"]) {
        true => Some((number, unit)),
        // An interval of 0 is impossible, and asked for.
        false => reader.eat("おき").then_some((if number == 1 { 2 } else { 0 }, unit)),
    }
}

/// Reads 「月曜と木曜」「月・水・金」「月〜金」.
fn read_weekdays(reader: &mut TokenReader<'_>) -> Vec<Weekday> {
    let read_next = |it: &mut TokenReader<'_>, is_first: bool| {
        let is_joined = !is_first && it.eat_any(&["と", "、", "・", ",", "/", "＆", "&"]);
        read_weekday_name(it, !is_joined)
    };
    let until = ["〜", "～", "~", "-", "から", "ー"];
    series::read_weekdays(reader, &until, read_next, |it| read_weekday_name(it, false))
}

/// Reads 「金曜日」.
fn read_whole_weekday(reader: &mut TokenReader<'_>) -> Option<Weekday> {
    reader.attempt(|it| {
        let day = it.eat_of(&WEEKDAYS)?;
        it.eat_any(&["曜日", "曜"]).then_some(day)
    })
}

/// Reads 「金曜日」, or 「金」 among other days.
fn read_weekday_name(reader: &mut TokenReader<'_>, is_first: bool) -> Option<Weekday> {
    if let Some(day) = read_whole_weekday(reader) {
        return Some(day);
    }
    let day = reader.eat_of(&WEEKDAYS)?;
    // 「毎週日」「毎月」「月末」「日間」 are others.
    let next = reader.peek();
    let is_name = !["末", "初", "間", "本", "前", "後", "報", "中", "程"].contains(&next);
    (is_name || !is_first).then_some(day)
}

fn read_length(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    let is_unsaid = reader.behind(&["数", "何", "半"], |it| {
        it.eat_any(&["分", "時間", "日", "週間", "か月", "ヶ月", "年", "分間"]).then_some(())?;
        it.eat_any(&AFTER).then_some(())
    });
    if said.fail_if(is_unsaid.is_some(), Unclear::Vague) {
        return true;
    }
    let start = reader.at;
    let is_led = reader.eat_any(&["あと", "今から", "いまから", "これから"]);
    let Some(mut length) = series::read_amounts(reader, &["と", "、"], read_amount) else {
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
        length = length.times(-1);
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

fn read_amount(reader: &mut TokenReader<'_>) -> Option<SaidLength> {
    let number = reader.number()?;
    let tenths = reader.attempt(|it| {
        it.eat_any(&[".", "・"]).then(|| it.digits()).flatten().filter(|(_, digits)| *digits == 1)
    });
    let is_counted = reader.eat_any(&["か", "ヶ", "カ", "ヵ", "ケ", "箇", "個"]);
    let unit = reader.eat_of(&UNITS)?;
    // 「3月」 is a date, 「3か月」 a length.
    ((unit.months == 1) == is_counted).then_some(())?;
    let mut length = unit.times(number);
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
    let is_coming_day = reader.behind(&["今度の", "次の", "今度", "こんどの"], read_whole_weekday);
    if let Some(day) = is_coming_day {
        said.add_day(SaidDay::Weekday(day, None));
        return true;
    }
    let is_vague = reader.eat_any(&VAGUE);
    said.is_vague |= is_vague;
    let is_workday = |it: &mut TokenReader<'_>| {
        it.number()?;
        it.eat("営業日後").then_some(())
    };
    said.fail_if(reader.attempt(is_workday).is_some(), Unclear::Vague) || is_vague
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
    Some(NthWeekday(nth, read_whole_weekday(reader)?, None))
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
    let last = reader.behind(&["から", "〜", "~", "-"], read_whole_weekday);
    match last {
        Some(last) if said.every.is_some() => {
            said.weekdays.extend((1..=day.until(last)).map(|more| day.wrapping_add(more)));
        }
        Some(_) => said.fail(Unclear::Several),
        None => {}
    }
    let is_list = reader.behind(&["と", "か", "、", "・"], read_whole_weekday);
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
    let is_range = reader.behind(&["から", "〜", "~", "-", "か", "と", "または", "、"], read_hour);
    said.fail_if(is_range.is_some(), Unclear::Several);
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
    said.fail_if(is_limited, Unclear::Vague)
}
