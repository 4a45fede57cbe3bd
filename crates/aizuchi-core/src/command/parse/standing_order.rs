//! Commands about standing orders. What an order says is kept as it was written: `@Aizuchi in this channel: answer in
//! Japanese`, 「@Aizuchi このチャンネルでは：日本語で答えて」.

use crate::command::parse::{addressed_order, candidate_forms, is_question, normalize};
use crate::command::{Command, OrderTarget};

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
/// What stands before the number of an order that is to say something else.
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
/// What stands before and behind the number of an order that is to be revoked.
const DROP: [&str; 6] = [
    "drop order ",
    "drop standing order ",
    "revoke order ",
    "revoke standing order ",
    "remove order ",
    "remove standing order ",
];
const DROPPED: [&str; 9] = [
    "を取り消",
    "を取り消し",
    "を取り消して",
    "を取消",
    "を取り下げて",
    "を削除",
    "を消",
    "を消して",
    "をやめて",
];
/// A scope stands before the first colons of a message: one more may follow the name.
const MAX_COLONS: usize = 2;

/// An order with its text, as somebody wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenOrder<'a> {
    pub target: OrderTarget,
    pub text: &'a str,
}

impl<'a> WrittenOrder<'a> {
    /// The order that a message consists of, if it is one. A question is none.
    pub fn parse(message: &'a str, name: &str) -> Option<Self> {
        if is_question(message) {
            return None;
        }
        let colons = message.match_indices([':', '：']).take(MAX_COLONS);
        let mut written = colons.filter_map(|(position, colon)| {
            let (head, _) = addressed_order(&normalize(&message[..position]), name);
            let text = message[position + colon.len()..].trim();
            Some(Self { target: target(head.trim())?, text })
        });
        written.next()
    }
}

fn target(head: &str) -> Option<OrderTarget> {
    let head = head.strip_prefix("please ").unwrap_or(head);
    match head {
        head if IN_THREAD.contains(&head) => Some(OrderTarget::Thread),
        head if IN_CHANNEL.contains(&head) => Some(OrderTarget::Channel),
        head if EVERYWHERE.contains(&head) => Some(OrderTarget::Workspace),
        head => {
            let number = ORDER.iter().find_map(|word| head.strip_prefix(word))?;
            parse_number(number).map(OrderTarget::Order)
        }
    }
}

/// `orders`, 「指示一覧」.
pub(super) fn lists_orders(order: &str) -> bool {
    candidate_forms(order).iter().any(|form| LIST.contains(&form.as_str()))
}

/// `drop order 2`, 「指示2を取り消して」.
pub(super) fn parse_drop(form: &str) -> Option<Command> {
    let english = DROP.iter().find_map(|word| form.strip_prefix(word));
    let japanese = || {
        let rest = form.strip_prefix("指示")?;
        DROPPED.iter().find_map(|word| rest.strip_suffix(word))
    };
    parse_number(english.or_else(japanese)?).map(Command::DropStandingOrder)
}

fn parse_number(text: &str) -> Option<i64> {
    let digits = text.trim().trim_start_matches('#');
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_given_in_both_languages() {
        use OrderTarget::{Channel, Order, Thread, Workspace};
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
            let written = WrittenOrder::parse(message, "Aizuchi");
            assert_eq!(written, Some(WrittenOrder { target, text }), "{message}");
            let command = Command::parse_message(message, "Aizuchi");
            assert_eq!(command, Some(Command::GiveStandingOrder(target)), "{message}");
        }
    }

    #[test]
    fn orders_are_listed_and_revoked() {
        use Command::{DropStandingOrder, ListStandingOrders};
        for (message, expected) in [
            ("@Aizuchi orders", ListStandingOrders),
            ("@Aizuchi orders?", ListStandingOrders),
            ("@Aizuchi what are your orders?", ListStandingOrders),
            ("@Aizuchi please list the orders", ListStandingOrders),
            ("@Aizuchi 指示一覧", ListStandingOrders),
            ("@Aizuchi 指示を見せてください", ListStandingOrders),
            ("@Aizuchi drop order 2", DropStandingOrder(2)),
            ("@Aizuchi please drop order #12.", DropStandingOrder(12)),
            ("@Aizuchi revoke standing order 3", DropStandingOrder(3)),
            ("@Aizuchi 指示2を取り消して", DropStandingOrder(2)),
            ("@Aizuchi 指示２を取り消してください", DropStandingOrder(2)),
            ("@Aizuchi 指示 2 を削除して", DropStandingOrder(2)),
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
            assert_eq!(WrittenOrder::parse(message, "Aizuchi"), None, "{message}");
            assert_eq!(Command::parse_message(message, "Aizuchi"), None, "{message}");
        }
    }
}
