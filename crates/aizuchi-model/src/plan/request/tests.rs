use jiff::Zoned;
use proptest::prelude::*;

use super::*;
use crate::plan::time_expression::{Unclear, parse_time};

fn now() -> Zoned {
    "2026-12-02T10:15[Asia/Tokyo]".parse().unwrap()
}

fn shown(request: Option<&PlanRequest>) -> String {
    let time = |at: &Zoned| at.strftime("%Y-%m-%dT%H:%M").to_string();
    match request.map(|request| &request.when) {
        None => "none".to_owned(),
        Some(When::Once(at)) => format!("once {}", time(at)),
        Some(When::Every(recurrence, first)) => {
            let times = std::iter::successors(Some(first.clone()), |at| recurrence.next_after(at));
            format!("every {}", times.take(4).map(|at| time(&at)).collect::<Vec<_>>().join(" "))
        }
        Some(When::Past(_)) => "past".to_owned(),
        Some(When::Unclear(_)) => "unclear".to_owned(),
    }
}

#[test]
fn times_are_those_that_people_mean() {
    let (mut now, mut wrong, mut count) = (now(), Vec::new(), 0);
    for line in
        include_str!("cases.tsv").lines().filter(|it| !it.is_empty() && !it.starts_with('#'))
    {
        let mut columns = line.split('\t');
        let (text, Some(expected)) = (columns.next().unwrap(), columns.next()) else {
            let time = line.strip_prefix('[').and_then(|it| it.split_once("]]"));
            now = time.map(|(time, _)| format!("{time}]").parse().unwrap()).unwrap();
            continue;
        };
        let what = columns.next().unwrap_or_default();
        let request = PlanRequest::parse(text, &now);
        let shown = shown(request.as_ref());
        let is_when = expected.split(" | ").any(|expected| shown.starts_with(expected));
        let is_what = request.as_ref().is_none_or(|request| request.what == what);
        if !is_when || (!what.is_empty() && !is_what) {
            wrong.push(format!("{text}: {expected} {what}\n    {request:?}"));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    assert!(count > 600, "{count} cases");
}

#[test]
fn it_is_known_who_is_meant_and_what_is_to_be_done() {
    use PlanKind::*;
    let named = |name: &str| Whom::Named(name.to_owned());
    for (text, kind, whom, what) in [
        ("remind me tomorrow to eat", Reminder, Whom::Asker, "eat"),
        ("remind us tomorrow to eat", Reminder, Whom::Channel, "eat"),
        ("remind everyone here tomorrow to eat", Reminder, Whom::Channel, "eat"),
        ("remind @bob on Friday at 9 to eat", Reminder, named("bob"), "eat"),
        ("remind @Ann Lee on Friday at 9 to eat", Reminder, named("Ann Lee"), "eat"),
        ("remind @ann.lee to eat tomorrow at 9", Reminder, named("ann.lee"), "eat"),
        ("remind Rin tomorrow to eat", Reminder, named("Rin"), "eat"),
        ("remind @ann and @bob tomorrow to eat", Reminder, named("ann and @bob"), "eat"),
        (
            "tell @山田 花子さん tomorrow at 9 that it is done",
            Reminder,
            named("山田 花子"),
            "it is done",
        ),
        ("every Friday at 17:00 post a recap here", Post, Whom::Channel, "a recap"),
        ("every weekday at 9 ask “standup?”", Post, Whom::Channel, "standup?"),
        (
            "summarize the week here every Friday at 17:00",
            Post,
            Whom::Channel,
            "summarize the week",
        ),
        ("check back in an hour please", CheckBack, Whom::Asker, ""),
        ("ask Rin again if she hasn't answered by five", FollowUp, named("Rin"), ""),
        ("if Rin hasn't answered by five, ask her again", FollowUp, named("Rin"), ""),
        ("follow up with Rin on Friday about the offer", FollowUp, named("Rin"), "the offer"),
        ("明日9時に教えて", Reminder, Whom::Asker, ""),
        ("明日9時に@bobに食べるって伝えて", Reminder, named("bob"), "食べる"),
        ("食べるって明日9時にボブさんに伝えて", Reminder, named("ボブ"), "食べる"),
        (
            "明日9時にボブさんに電話するってリマインドして",
            Reminder,
            Whom::Asker,
            "ボブさんに電話する",
        ),
        ("明日9時にみんなに食べるって伝えて", Reminder, Whom::Channel, "食べる"),
        ("毎週金曜17時にまとめを投稿して", Post, Whom::Channel, "まとめ"),
        ("1時間後にまた見て", CheckBack, Whom::Asker, ""),
        ("17時までに返事がなければリンさんにもう一度聞いて", FollowUp, named("リン"), ""),
    ] {
        let request = PlanRequest::parse(text, &now());
        let expected = Some((kind, whom, what.to_owned()));
        assert_eq!(request.map(|it| (it.kind, it.whom, it.what)), expected, "{text}");
    }
}

#[test]
fn it_is_told_why_a_time_is_not_clear() {
    for (text, reason) in [
        ("remind me to eat", Unclear::NoTime),
        ("remind me later to eat", Unclear::Vague),
        ("remind me tomorrow at midnight to eat", Unclear::Vague),
        ("remind me on February 30 to eat", Unclear::Impossible),
        ("remind me at 25:00 to eat", Unclear::Impossible),
        ("remind me on 5/6 to eat", Unclear::DayOrMonth),
        ("remind me on Monday or Tuesday to eat", Unclear::Several),
        ("remind me every hour to eat", Unclear::TooOften),
        ("食べるってリマインドして", Unclear::NoTime),
        ("あとで教えて", Unclear::Vague),
        ("2月30日にリマインドして", Unclear::Impossible),
        ("9時か10時に教えて", Unclear::Several),
        ("1時間ごとに教えて", Unclear::TooOften),
    ] {
        let request = PlanRequest::parse(text, &now()).unwrap();
        assert_eq!(request.when, When::Unclear(reason), "{text}");
    }
}

#[test]
fn a_time_alone_moves_a_plan() {
    for (text, expected, place) in [
        ("make it 5pm", "once 2026-12-02T17:00", "5pm"),
        ("make it 5", "once 2026-12-02T17:00", "5"),
        ("move it to Friday at 9", "once 2026-12-04T09:00", "Friday at 9"),
        ("tomorrow, please", "once 2026-12-03T09:00", "tomorrow"),
        ("in 20 minutes", "once 2026-12-02T10:35", "in 20 minutes"),
        ("later", "unclear", "later"),
        ("2026-12-04T09:00", "once 2026-12-04T09:00", "2026-12-04T09:00"),
        ("明日にして", "once 2026-12-03T09:00", "明日"),
        ("やっぱり17時で", "once 2026-12-02T17:00", "17時"),
        ("every Friday", "every 2026-12-04T09:00", "every Friday"),
    ] {
        let (when, range) = parse_time(text, &now()).unwrap();
        let request =
            PlanRequest { kind: PlanKind::Reminder, whom: Whom::Asker, when, what: String::new() };
        assert!(shown(Some(&request)).starts_with(expected), "{text}: {request:?}");
        assert_eq!(&text[range], place);
    }
    for text in ["yes", "thanks a lot", "はい", "その5件で"] {
        assert_eq!(parse_time(text, &now()), None, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_can_be_read(
        text in "(\\PC|remind me |every |in |at |on |next |the |of |to |until |from |and |Friday|day|week|month|hours? |minutes |99999999999|[0-9]|:|/|-|\\.|pm|毎週|毎月|来週|の|金曜|日|月|年|時|分|半|後|前|に|から|まで|一|十|百|おき|ごと|教えて|リマインドして|@|さん|\n){0,24}"
    ) {
        if let Some((_, range)) = parse_time(&text, &now()) {
            prop_assert!(text.get(range).is_some());
        }
        PlanRequest::parse(&text, &now());
    }
}
