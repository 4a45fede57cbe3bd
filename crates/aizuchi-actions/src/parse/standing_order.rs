//! Commands about standing orders. The text of an order is kept as it was written: `@Aizuchi in this channel: answer in
//! Japanese`, 「@Aizuchi このチャンネルでは：日本語で答えて」.

use crate::command::{Command, StandingOrderCommand, StandingOrderTarget};
use crate::parse::{addressed_order, candidate_forms, is_question, normalize, parse_number};

const IN_THREAD: [&str; 5] =
    ["in this thread", "for this thread", "このスレッドでは", "このスレッドで", "このスレッド"];
const IN_CHANNEL: [&str; 7] = [
    "in this channel",
    "for this channel",
    "in this room",
    "このチャンネルでは",
    "このチャンネルで",
    "このチャンネル",
    "この部屋では",
];
const EVERYWHERE: [&str; 9] = [
    "everywhere",
    "in all channels",
    "in every channel",
    "for all channels",
    "どこでも",
    "全チャンネルでは",
    "全チャンネルで",
    "すべてのチャンネルでは",
    "すべてのチャンネルで",
];
/// What comes before the number of an order whose text is to change.
const ORDER: [&str; 4] = ["change order ", "order ", "指示 ", "指示"];
const LIST: [&str; 14] = [
    "orders",
    "standing orders",
    "list orders",
    "list the orders",
    "list standing orders",
    "show orders",
    "show standing orders",
    "what are your orders",
    "what are your standing orders",
    "指示一覧",
    "指示の一覧",
    "指示を見せて",
    "指示を教えて",
    "どんな指示がある",
];
/// What comes before and after the number of an order that is to be revoked.
const DROP: [&str; 6] = [
    "drop order ", "drop standing order ", "revoke order ", "revoke standing order ",
    "remove order ", "remove standing order ",
];
const DROPPED: [&str; 11] = [
    "を取り消", "を取り消し", "を取り消して", "を取消", "を取り下げて", "を削除", "を破棄",
    "を破棄して", "を消", "を消して", "をやめて",
];
/// What comes before a scope, or before `order`, to make it a draft.
const DRAFT: [&str; 8] =
    ["try ", "draft ", "try out ", "試しに", "試しに、", "下書き、", "下書き ", "案、"];
/// What comes before and after the number of a draft that is to take effect.
const KEEP: [&str; 7] = [
    "keep order ", "keep draft ", "keep standing order ", "save order ", "save draft ",
    "accept order ", "accept draft ",
];
const KEPT: [&str; 8] = [
    "を採用", "を採用して", "を保存", "を保存して", "を有効に", "を有効にして", "に従って",
    "を使って",
];
/// What comes before the number of a draft that is to be discarded.
const DISCARD: [&str; 3] = ["drop draft ", "discard draft ", "discard order "];
/// A scope comes before one of the first colons of a message: another colon may follow the name.
const MAX_COLONS: usize = 2;

/// An order with its text, as a user wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenStandingOrder<'a> {
    pub target: StandingOrderTarget,
    pub text: &'a str,
    /// Whether it is to be kept as a draft first.
    pub is_draft: bool,
}

impl<'a> WrittenStandingOrder<'a> {
    /// Parses the order that a message consists of, if it is one. A question is not an order.
    pub fn parse(message: &'a str, name: &str) -> Option<Self> {
        if is_question(message) {
            return None;
        }
        let colons = message.match_indices([':', '：']).take(MAX_COLONS);
        let mut written = colons.filter_map(|(position, colon)| {
            let head = addressed_order(&normalize(&message[..position]), name);
            let text = message[position + colon.len()..].trim();
            let head = head.trim();
            let head = head.strip_prefix("please ").unwrap_or(head);
            let mut drafted = DRAFT.iter().filter_map(|word| head.strip_prefix(word));
            match target(head) {
                Some(target) => Some(Self { target, text, is_draft: false }),
                None => {
                    let target = drafted.find_map(|head| target(head.trim_start()))?;
                    Some(Self { target, text, is_draft: true })
                }
            }
        });
        written.next()
    }

    /// Returns the command for this order.
    pub fn command(&self) -> Command {
        Command::StandingOrder(match self.is_draft {
            true => StandingOrderCommand::Draft(self.target),
            false => StandingOrderCommand::Give(self.target),
        })
    }
}

fn target(head: &str) -> Option<StandingOrderTarget> {
    match head {
        head if IN_THREAD.contains(&head) => Some(StandingOrderTarget::Thread),
        head if IN_CHANNEL.contains(&head) => Some(StandingOrderTarget::Channel),
        head if EVERYWHERE.contains(&head) => Some(StandingOrderTarget::Workspace),
        head => {
            let number = ORDER.iter().find_map(|word| head.strip_prefix(word))?;
            parse_number(number).map(StandingOrderTarget::Order)
        }
    }
}

/// Whether the text asks for the list of orders: `orders`, 「指示一覧」.
pub(super) fn lists_orders(order: &str) -> bool {
    candidate_forms(order).iter().any(|form| LIST.contains(&form.as_str()))
}

/// Parses `drop order 2`, 「指示2を取り消して」, `keep order 2`, `drop draft 2` and the same in Japanese.
pub(super) fn parse_numbered(form: &str) -> Option<Command> {
    let english = |words: &[&str]| words.iter().find_map(|word| form.strip_prefix(word));
    let japanese = |begin: &str, ends: &[&str]| {
        let rest = form.strip_prefix(begin)?;
        ends.iter().find_map(|word| rest.strip_suffix(word))
    };
    let keep = || english(&KEEP).or_else(|| japanese("指示", &KEPT));
    let keep = || keep().or_else(|| japanese("下書き", &KEPT));
    let discard = || english(&DISCARD).or_else(|| japanese("下書き", &DROPPED));
    let drop = || english(&DROP).or_else(|| japanese("指示", &DROPPED));
    let number = |found: Option<&str>| parse_number(found?);
    number(drop())
        .map(StandingOrderCommand::Drop)
        .or_else(|| number(keep()).map(StandingOrderCommand::Keep))
        .or_else(|| number(discard()).map(StandingOrderCommand::DropDraft))
        .map(Command::StandingOrder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_given_in_both_languages() {
        use StandingOrderTarget::{Channel, Order, Thread, Workspace};
        for (message, target, text) in [
            (
                "@Aizuchi in this channel: answer in Japanese, never about salaries",
                Channel,
                "answer in Japanese, never about salaries",
            ),
            ("@Aizuchi: in this channel: Answer in Japanese", Channel, "Answer in Japanese"),
            ("Aizuchi, please in this thread: be brief", Thread, "be brief"),
            ("in this channel: keep silent about 10:30", Channel, "keep silent about 10:30"),
            ("@Aizuchi everywhere: call Mio “Captain”", Workspace, "call Mio “Captain”"),
            ("@Aizuchi in all channels：be kind", Workspace, "be kind"),
            ("@Aizuchi order 12: be brief", Order(12), "be brief"),
            ("@Aizuchi change order #3: be brief", Order(3), "be brief"),
            (
                "@Aizuchi このチャンネルでは：日本語で答えて。給料の話はしない",
                Channel,
                "日本語で答えて。給料の話はしない",
            ),
            ("@アイズチさん、このスレッドでは: 短く", Thread, "短く"),
            ("@Aizuchi どこでも：やさしく", Workspace, "やさしく"),
            ("@Aizuchi 指示２：短く", Order(2), "短く"),
            ("@Aizuchi 指示 2: 短く", Order(2), "短く"),
            ("@Aizuchi in this channel:", Channel, ""),
            ("@Aizuchi in this channel:\n answer\n in Japanese", Channel, "answer\n in Japanese"),
        ] {
            let written = WrittenStandingOrder::parse(message, "Aizuchi");
            let is_draft = false;
            assert_eq!(written, Some(WrittenStandingOrder { target, text, is_draft }), "{message}");
            let command = Command::parse_message(message, "Aizuchi");
            assert_eq!(
                command,
                Some(Command::StandingOrder(StandingOrderCommand::Give(target))),
                "{message}"
            );
        }
    }

    #[test]
    fn orders_are_drafted_first() {
        use StandingOrderTarget::{Channel, Order, Thread, Workspace};
        for (message, target, text) in [
            ("@Aizuchi try in this channel: be brief", Channel, "be brief"),
            ("@Aizuchi please try in this thread: be brief", Thread, "be brief"),
            ("@Aizuchi: draft everywhere: be kind", Workspace, "be kind"),
            ("@Aizuchi try order 2: be brief", Order(2), "be brief"),
            ("@Aizuchi 試しにこのチャンネルでは：短く", Channel, "短く"),
            ("@Aizuchi 試しに、指示2：短く", Order(2), "短く"),
            ("@Aizuchi 下書き、どこでも：やさしく", Workspace, "やさしく"),
        ] {
            let written = WrittenStandingOrder::parse(message, "Aizuchi");
            let is_draft = true;
            assert_eq!(written, Some(WrittenStandingOrder { target, text, is_draft }), "{message}");
            let command = Command::parse_message(message, "Aizuchi");
            assert_eq!(
                command,
                Some(Command::StandingOrder(StandingOrderCommand::Draft(target))),
                "{message}"
            );
        }
        for (message, expected) in [
            ("@Aizuchi keep order 3", StandingOrderCommand::Keep(3)),
            ("@Aizuchi please keep draft #3.", StandingOrderCommand::Keep(3)),
            ("@Aizuchi 指示3を採用して", StandingOrderCommand::Keep(3)),
            ("@Aizuchi 下書き３を採用してください", StandingOrderCommand::Keep(3)),
            ("@Aizuchi drop draft 3", StandingOrderCommand::DropDraft(3)),
            ("@Aizuchi discard draft 3", StandingOrderCommand::DropDraft(3)),
            ("@Aizuchi 下書き3を破棄して", StandingOrderCommand::DropDraft(3)),
        ] {
            assert_eq!(
                Command::parse_message(message, "Aizuchi"),
                Some(Command::StandingOrder(expected)),
                "{message}"
            );
        }
        for message in [
            "@Aizuchi try the pump: it leaks",
            "@Aizuchi keep order in the shed",
            "@Aizuchi keep order 3?",
            "@Aizuchi 試しに電源を切って：どうなる",
        ] {
            assert_eq!(Command::parse_message(message, "Aizuchi"), None, "{message}");
        }
    }

    #[test]
    fn orders_are_listed_and_revoked() {
        use Command::ListStandingOrders;
        let drop = |number| Command::StandingOrder(StandingOrderCommand::Drop(number));
        for (message, expected) in [
            ("@Aizuchi orders", ListStandingOrders),
            ("@Aizuchi orders?", ListStandingOrders),
            ("@Aizuchi what are your orders?", ListStandingOrders),
            ("@Aizuchi please list the orders", ListStandingOrders),
            ("@Aizuchi 指示一覧", ListStandingOrders),
            ("@Aizuchi 指示を見せてください", ListStandingOrders),
            ("@Aizuchi drop order 2", drop(2)),
            ("@Aizuchi please drop order #12.", drop(12)),
            ("@Aizuchi revoke standing order 3", drop(3)),
            ("@Aizuchi 指示2を取り消して", drop(2)),
            ("@Aizuchi 指示２を取り消してください", drop(2)),
            ("@Aizuchi 指示 2 を削除して", drop(2)),
        ] {
            assert_eq!(Command::parse_message(message, "Aizuchi"), Some(expected), "{message}");
        }
    }

    #[test]
    fn conversation_is_no_order() {
        for message in [
            "@Aizuchi in this channel: what was decided?",
            "@Aizuchi このチャンネルでは：何の話をしていますか？",
            "@Aizuchi in this channel we answer in Japanese",
            "@Aizuchi here is the plan: in this channel: be brief",
            "@Aizuchi the plan: everywhere: be brief: in this channel: x",
            "bob said: in this channel: be brief",
            "@Aizuchi order pizza: two of them",
            "@Aizuchi order 2 pizzas",
            "@Aizuchi drop order two",
            "@Aizuchi drop order 2?",
            "@Aizuchi the orders came in",
            "@Aizuchi 指示2は何ですか",
            "@Aizuchi 指示を待っています",
            "@Aizuchi drop order 99999999999999999999",
        ] {
            assert_eq!(WrittenStandingOrder::parse(message, "Aizuchi"), None, "{message}");
            assert_eq!(Command::parse_message(message, "Aizuchi"), None, "{message}");
        }
    }
}
