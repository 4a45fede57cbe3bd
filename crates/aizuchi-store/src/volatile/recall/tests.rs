use aizuchi_model::chat::{
    Author, AuthorKind, Channel, Deletion, Edit, Message, MessageId, Role, User, UserId,
};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::{Debounce, Disposition, OnNewMessage};
use aizuchi_model::recall::terms::extract_terms;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;

const WORDS: [&str; 8] = ["roses", "rose", "the ladder", "犬", "京都", "東京都に", "カレー", "…"];
const CHANNELS: [&str; 3] = ["garden", "kitchen", "attic"];

#[derive(Clone, Debug)]
enum Operation {
    Say {
        channel: usize,
        is_in_thread: bool,
        is_withheld: bool,
        earlier: i64,
        words: Vec<usize>,
    },
    Edit {
        number: usize,
        words: Vec<usize>,
    },
    Delete {
        number: usize,
    },
    Open {
        channel: usize,
        visibility: Visibility,
    },
    Name {
        author: usize,
        word: usize,
    },
    Search {
        words: Vec<usize>,
        from: Option<usize>,
        only: Option<usize>,
        before: Option<i64>,
        limit: usize,
    },
}

fn words() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..WORDS.len(), 0..5)
}

fn operation() -> impl Strategy<Value = Operation> {
    let channel = || 0..CHANNELS.len();
    let visibility = prop_oneof![Just(Visibility::Public), Just(Visibility::Private)];
    prop_oneof![
        8 => (channel(), prop::bool::ANY, prop::bool::weighted(0.1), 0..200_i64, words()).prop_map(
            |(channel, is_in_thread, is_withheld, earlier, words)| Operation::Say {
                channel, is_in_thread, is_withheld, earlier, words,
            }
        ),
        1 => (0..60_usize, words()).prop_map(|(number, words)| Operation::Edit { number, words }),
        1 => (0..60_usize).prop_map(|number| Operation::Delete { number }),
        1 => (channel(), visibility)
            .prop_map(|(channel, visibility)| Operation::Open { channel, visibility }),
        1 => (0..3_usize, 0..WORDS.len()).prop_map(|(author, word)| Operation::Name { author, word }),
        4 => (
            words(),
            prop::option::of(channel()),
            prop::option::of(channel()),
            prop::option::of(0..3000_i64),
            0..6_usize,
        ).prop_map(|(words, from, only, before, limit)| Operation::Search {
            words, from, only, before, limit,
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_index_finds_what_looking_at_every_message_finds(
        operations in prop::collection::vec(operation(), 1..80)
    ) {
        // Few are kept, so that many are forgotten in between.
        let mut state = VolatileState { kept_messages: Some(6), ..VolatileState::default() };
        let mut said: Vec<(ConversationId, MessageId)> = Vec::new();
        for (step, operation) in operations.into_iter().enumerate() {
            run(&mut state, &mut said, step, operation)?;
        }
    }
}

fn run(
    state: &mut VolatileState,
    said: &mut Vec<(ConversationId, MessageId)>,
    step: usize,
    operation: Operation,
) -> Result<(), TestCaseError> {
    let at = second(1000 + 30 * step as i64);
    match operation {
        Operation::Say { channel, is_in_thread, is_withheld, earlier, words } => {
            let conversation = ConversationId {
                workspace: workspace(),
                channel: ChannelId::new(CHANNELS[channel]),
                thread: is_in_thread.then(|| MessageId::new("0000")),
            };
            let id = MessageId::new(format!("{step:04}"));
            let gate = if is_withheld { Gate::OptedOut } else { Gate::Backfilled };
            let message = Message {
                conversation: conversation.clone(),
                id: id.clone(),
                at: at - SignedDuration::from_secs(earlier),
                author: Author { id: user(step % 3), kind: AuthorKind::Human },
                text: text(&words).into(),
                mentions: Vec::new(),
                attachments: Vec::new(),
                edits: 0,
            };
            state.hear_message(message, None, Disposition::Settled(gate));
            said.push((conversation, id));
        }
        Operation::Edit { number, words } => {
            let Some((conversation, message)) = said.get(number).cloned() else { return Ok(()) };
            let (text, mentions) = (text(&words).into(), Vec::new());
            let attachments = None;
            let edit = Edit { conversation, message, at, made_at: at, text, mentions, attachments };
            let debounce = Debounce {
                due: at,
                max_wait: SignedDuration::ZERO,
                on_new_message: OnNewMessage::Continue,
            };
            state.hear_edit(&edit, Disposition::Judge(debounce));
        }
        Operation::Delete { number } => {
            let Some((conversation, message)) = said.get(number).cloned() else { return Ok(()) };
            state.delete_message(&Deletion { conversation, message, at });
        }
        Operation::Open { channel, visibility } => {
            let id = ChannelId::new(CHANNELS[channel]);
            let name = id.0.clone();
            state.hear_channel(Channel {
                workspace: workspace(),
                id,
                name,
                visibility,
                topic: None,
            });
        }
        Operation::Name { author, word } => {
            let (id, name) = (user(author), WORDS[word].into());
            let (kind, role) = (AuthorKind::Human, Role::Member);
            state.hear_user(User { workspace: workspace(), id, name, kind, role, zone: None });
        }
        Operation::Search { words, from, only, before, limit } => {
            let query = RecallQuery {
                workspace: workspace(),
                visible_from: from.map(|from| ChannelId::new(CHANNELS[from])),
                channel: only.map(|only| ChannelId::new(CHANNELS[only])),
                text: text(&words),
                before: before.map(second),
                limit,
            };
            let expected = look_at_every_message(state, &query);
            prop_assert_eq!(state.recall(&query), expected, "{:?}", query);
        }
    }
    Ok(())
}

fn look_at_every_message(state: &VolatileState, query: &RecallQuery) -> Vec<RecalledMessage> {
    let mut scorer = RecallScorer::new(query);
    let (mut messages, mut frequencies) = (0, vec![0; scorer.search_terms.len()]);
    let mut candidates = Vec::new();
    for (conversation, record) in &state.conversations {
        let channel = &conversation.channel;
        if query.channel.as_ref().is_some_and(|only| only != channel) {
            continue;
        }
        let is_own = query.visible_from.as_ref().is_none_or(|from| from == channel);
        let is_open = state.is_public(&conversation.workspace, channel);
        for record in record.messages.iter().filter(|record| record.is_visible()) {
            let is_readable = is_own || (is_open && record.visibility == Visibility::Public);
            if !is_readable {
                continue;
            }
            let terms = extract_terms(&record.message.searched_text());
            messages += usize::from(!terms.is_empty());
            for (term, frequency) in scorer.search_terms.iter().zip(&mut frequencies) {
                *frequency += usize::from(term.is_match(&terms));
            }
            if query.before.is_none_or(|before| record.message.at < before) {
                candidates.push(state.to_recalled(record));
            }
        }
    }
    scorer.set_weights(messages, &frequencies);
    scorer.rank(&candidates, query.limit)
}

#[test]
fn an_index_holds_only_what_is_kept() {
    let mut state = VolatileState { kept_messages: Some(10), ..VolatileState::default() };
    let mut said = Vec::new();
    let search = || Operation::Search {
        words: vec![0, 2],
        from: Some(0),
        only: None,
        before: None,
        limit: 3,
    };
    for step in 0..500 {
        let say = Operation::Say {
            channel: 0,
            is_in_thread: false,
            is_withheld: false,
            earlier: 0,
            words: vec![step % 4],
        };
        run(&mut state, &mut said, step, say).expect("it is heard");
        run(&mut state, &mut said, step, search()).expect("it finds the same");
        let index = state.search_indexes.values().next().expect("it was searched");
        assert!(index.messages.len() <= 20, "{}", index.messages.len());
    }
}

fn workspace() -> WorkspaceId {
    WorkspaceId::new("home")
}

fn user(number: usize) -> UserId {
    UserId::new(format!("u{number}"))
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("in range")
}

fn text(words: &[usize]) -> String {
    words.iter().map(|word| WORDS[*word]).collect::<Vec<_>>().join(" ")
}
