//! What stands several times in a row: days of the week, and the amounts of a length.

use jiff::civil::Weekday;

use crate::plan::time_expression::said::SaidLength;
use crate::plan::time_expression::token::TokenReader;

/// "1 year, 2 months, 3 days and 4 hours".
const MAX_AMOUNT_TOKENS: usize = 16;

/// Reads "Monday and Thursday", 「月〜金」. `read_next` is told whether it is the first day, and reads what joins it.
pub fn read_weekdays(
    reader: &mut TokenReader<'_>,
    until: &[&str],
    read_next: impl Fn(&mut TokenReader<'_>, bool) -> Option<Weekday>,
    read_last: impl Fn(&mut TokenReader<'_>) -> Option<Weekday>,
) -> Vec<Weekday> {
    let mut days: Vec<Weekday> = Vec::new();
    while let Some(day) = reader.attempt(|it| read_next(it, days.is_empty())) {
        let last = reader.behind(until, &read_last).unwrap_or(day);
        days.extend((0..=day.until(last)).map(|more| day.wrapping_add(more)));
    }
    days
}

/// Reads "1 hour and 20 minutes", 「1時間20分」.
pub fn read_amounts(
    reader: &mut TokenReader<'_>,
    joints: &[&str],
    read_amount: impl Fn(&mut TokenReader<'_>) -> Option<SaidLength>,
) -> Option<SaidLength> {
    let mut total: Option<SaidLength> = None;
    let end = reader.at + MAX_AMOUNT_TOKENS;
    while let Some(amount) = reader.attempt(|it| {
        (it.at < end).then_some(())?;
        let _ = total.is_some() && it.eat_any(joints);
        read_amount(it)
    }) {
        total = Some(total.unwrap_or_default().plus(amount));
    }
    total
}
