//! Throttles clients that send wrong tokens. Clients that sent none never wait.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use crate::peer::Peer;

/// The recent wrong tokens of each client, and how long it has to wait before another try.
#[derive(Default)]
pub struct FailedSignIns(Mutex<FailedSignInTable>);

#[derive(Default)]
struct FailedSignInTable {
    clients: HashMap<Peer, Failures>,
    /// When the current minute began, and the wrong tokens of all clients in it.
    minute: Timestamp,
    in_minute: u32,
}

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    last: Timestamp,
    next: Timestamp,
}

/// The number of wrong tokens without a wait: people make mistakes.
const FREE_FAILURES: u32 = 2;
const MAX_WAIT: SignedDuration = SignedDuration::from_secs(60);
/// More wrong tokens per minute than this are an attack from many addresses. Then every wrong token costs the longest
/// wait.
const ATTACK_PER_MINUTE: u32 = 30;
const FORGET_AFTER: SignedDuration = SignedDuration::from_mins(15);
const MAX_CLIENTS: usize = 4096;

impl FailedSignIns {
    /// How long this client has to wait before its next token is checked. `None` if it does not have to wait.
    pub fn wait(&self, client: Peer, now: Timestamp) -> Option<SignedDuration> {
        let next = self.0.lock().clients.get(&client)?.next;
        let wait = next.duration_since(now);
        // A clock that was set back must not lock clients out.
        wait.is_positive().then_some(wait.min(MAX_WAIT))
    }

    /// Counts a wrong token. Returns how many there were, and how long the client has to wait.
    pub fn fail(&self, client: Peer, now: Timestamp) -> (u32, SignedDuration) {
        let mut table = self.0.lock();
        // A clock that was set back begins a new minute, too.
        let is_new_minute = now.duration_since(table.minute).abs() >= SignedDuration::from_mins(1);
        if is_new_minute {
            (table.minute, table.in_minute) = (now, 0);
        }
        table.in_minute += 1;
        let is_attack = table.in_minute > ATTACK_PER_MINUTE;
        table.make_room(now);
        let failures =
            table.clients.entry(client).or_insert(Failures { count: 0, last: now, next: now });
        failures.count = failures.count.saturating_add(1);
        let wait = if is_attack { MAX_WAIT } else { wait_after(failures.count) };
        (failures.last, failures.next) = (now, now + wait);
        (failures.count, wait)
    }

    pub fn succeed(&self, client: Peer) {
        self.0.lock().clients.remove(&client);
    }
}

/// The wait after this many wrong tokens: it doubles with each.
fn wait_after(failures: u32) -> SignedDuration {
    match failures.saturating_sub(FREE_FAILURES) {
        0 => SignedDuration::ZERO,
        // 2⁸ s exceed the longest wait, and a shift by more could overflow.
        paid => MAX_WAIT.min(SignedDuration::from_secs(1 << paid.min(8))),
    }
}

impl FailedSignInTable {
    fn make_room(&mut self, now: Timestamp) {
        self.clients.retain(|_, failures| now.duration_since(failures.last) < FORGET_AFTER);
        if self.clients.len() < MAX_CLIENTS {
            return;
        }
        let oldest = self.clients.iter().min_by_key(|(_, failures)| failures.last);
        if let Some(oldest) = oldest.map(|(client, _)| *client) {
            self.clients.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(number: u8) -> Peer {
        Peer::new(std::net::Ipv4Addr::new(192, 0, 2, number).into())
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + seconds).unwrap()
    }

    #[test]
    fn the_wait_doubles_up_to_a_minute() {
        let attempts = FailedSignIns::default();
        let waits = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(|second| {
            let now = at(second * 60);
            attempts.fail(client(1), now).1.as_secs()
        });
        assert_eq!(waits, [0, 0, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(attempts.wait(client(1), at(540)), Some(MAX_WAIT));
        assert_eq!(attempts.wait(client(1), at(600)), None);
        assert_eq!(attempts.wait(client(2), at(540)), None);
        attempts.succeed(client(1));
        assert_eq!(attempts.fail(client(1), at(601)), (1, SignedDuration::ZERO));
    }

    #[test]
    fn an_attack_from_many_addresses_makes_each_of_them_wait() {
        let attempts = FailedSignIns::default();
        let waits: Vec<i64> =
            (0..40).map(|number| attempts.fail(client(number), at(0)).1.as_secs()).collect();
        assert_eq!(waits[29..31], [0, 60]);
        // A client without a wrong token does not wait.
        assert_eq!(attempts.wait(client(99), at(0)), None);
    }

    #[test]
    fn a_client_is_forgotten_after_a_while() {
        let attempts = FailedSignIns::default();
        assert_eq!(attempts.fail(client(1), at(0)).0, 1);
        assert_eq!(attempts.fail(client(1), at(0)).0, 2);
        assert_eq!(attempts.fail(client(1), at(3600)).0, 1);
    }
}
