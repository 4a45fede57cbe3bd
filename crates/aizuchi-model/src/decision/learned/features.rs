//! The features of a learned gate: numbers that the other gates and the structure of the conversation provide, and no
//! part of the text.

use std::collections::BTreeSet;

use aizuchi_structure::cues::Cues;
use jiff::Timestamp;

use crate::chat::{AuthorKind, Message, UserId};
use crate::context::Context;
use crate::context::conversation_analysis::{
    ConversationAnalysis, QuestionAnalysis, QuestionStatus, is_closing,
};
use crate::decision::gate::GateInput;

/// The version of the features. Moments of another version are not used for training.
pub const VERSION: u32 = 1;

/// The features, in their order.
pub const NAMES: [&str; 34] = [
    "most open question",
    "most open new question",
    "open questions, summed",
    "open questions",
    "age of the most open question",
    "messages since it",
    "words of it",
    "its author wrote since",
    "it is a question in form",
    "directed questions",
    "taken-up questions",
    "new messages",
    "authors of new messages",
    "authors",
    "seconds since the newest",
    "typical gap",
    "messages within five minutes",
    "users within five minutes",
    "newest: begins something",
    "newest: directed",
    "newest: addresses a user",
    "newest: asks",
    "newest: closes",
    "newest: words",
    "newest: replies to the persona",
    "new: trouble",
    "new: first person",
    "new: greeting or news",
    "new: still waits",
    "two users talk",
    "own share",
    "since its own",
    "in a thread",
    "hour of the day",
];

/// Returns the features of a decision that is about to be judged.
pub fn extract(input: &GateInput<'_>) -> Vec<f32> {
    let context = input.context;
    let analysis = ConversationAnalysis::new(context);
    let mut features = Vec::with_capacity(NAMES.len());
    add_questions(&mut features, &analysis, input.now, context);
    add_pace(&mut features, &analysis, input.now, context);
    add_newest(&mut features, &analysis, context);
    add_persona(&mut features, &analysis, input);
    // Three decimal digits are enough, and short to store.
    features.iter().map(|value| (value * 1000.0).round() / 1000.0).collect()
}

fn add_questions(
    features: &mut Vec<f32>,
    analysis: &ConversationAnalysis<'_>,
    now: Timestamp,
    context: &Context,
) {
    let asked = |question: &&QuestionAnalysis<'_>| question.open > 0.0;
    let by_open = |one: &&QuestionAnalysis<'_>, other: &&QuestionAnalysis<'_>| {
        one.open.total_cmp(&other.open)
    };
    let is_new =
        |question: &&QuestionAnalysis<'_>| context.new_messages.contains(&question.message.id);
    let questions = || analysis.questions().iter().filter(asked);
    let most = questions().max_by(by_open);
    let newest = questions().filter(is_new).max_by(by_open);
    let open = |question: Option<&QuestionAnalysis<'_>>| question.map_or(0.0, |it| it.open);
    let of = |is_it: fn(&QuestionStatus) -> bool| {
        analysis.questions().iter().filter(|question| is_it(&question.status)).count() as f32
    };
    let author = most.map(|question| &question.message.author.id);
    let since = most.map_or(0, |question| question.messages_since);
    let later = context.target_messages().iter().rev().take(since);
    let wrote_since = later.filter(|message| Some(&message.author.id) == author).count();
    let cues = most.map_or(Cues::empty(), |question| analysis.cues(question.message));
    features.extend([
        open(most),
        open(newest),
        questions().map(|question| question.open).sum(),
        of(|status| *status == QuestionStatus::Open),
        most.map_or(0.0, |question| log_seconds(question.message.at, now)),
        (since as f32).ln_1p(),
        most.map_or(0.0, |question| words(question.message)),
        (wrote_since as f32).ln_1p(),
        flag(cues.contains(Cues::ASKS)),
        of(|status| matches!(status, QuestionStatus::Directed(_))),
        of(|status| matches!(status, QuestionStatus::TakenUp(..) | QuestionStatus::Resolved)),
    ]);
}

fn add_pace(
    features: &mut Vec<f32>,
    analysis: &ConversationAnalysis<'_>,
    now: Timestamp,
    context: &Context,
) {
    let target = context.target_messages();
    let new = || new_messages(context);
    let gaps = target.windows(2).rev().take(10);
    let gaps: Vec<f32> = gaps.map(|pair| log_seconds(pair[0].at, pair[1].at)).collect();
    let recent = analysis.recent_activity(now);
    features.extend([
        (new().count() as f32).ln_1p(),
        authors(new()) as f32,
        (authors(target.iter().map(|message| &**message)) as f32).ln_1p(),
        target.last().map_or(0.0, |newest| log_seconds(newest.at, now)),
        gaps.iter().sum::<f32>() / gaps.len().max(1) as f32,
        (recent.messages as f32).ln_1p(),
        recent.users as f32,
    ]);
}

fn add_newest(features: &mut Vec<f32>, analysis: &ConversationAnalysis<'_>, context: &Context) {
    let newest = context.newest_human_message();
    let cues = newest.map_or(Cues::empty(), |message| analysis.cues(message));
    let links = newest.and_then(|message| analysis.relation(message)).unwrap_or_default();
    let new_cues = new_messages(context)
        .fold(Cues::empty(), |cues, message| cues.union(analysis.cues(message)));
    features.extend([
        links.begins,
        links.directed,
        flag(links.is_addressed),
        flag(cues.contains(Cues::ASKS)),
        flag(is_closing(cues)),
        newest.map_or(0.0, |message| words(message)),
        links.to_persona,
        flag(new_cues.contains(Cues::TROUBLE)),
        flag(new_cues.contains(Cues::FIRST_PERSON)),
        flag(new_cues.intersects(Cues::GREETING.union(Cues::GOOD_NEWS))),
        flag(new_cues.intersects(Cues::AGAIN.union(Cues::IN_ADVANCE))),
    ]);
}

fn add_persona(
    features: &mut Vec<f32>,
    analysis: &ConversationAnalysis<'_>,
    input: &GateInput<'_>,
) {
    let since_own = analysis.messages_since_own().unwrap_or(100);
    let hour = input.now.to_zoned(input.zone.clone()).hour();
    features.extend([
        flag(analysis.exchange_partners().is_some()),
        input.own_share() as f32,
        (since_own as f32).ln_1p(),
        flag(input.context.conversation.thread.is_some()),
        f32::from(hour),
    ]);
}

fn new_messages(context: &Context) -> impl Iterator<Item = &Message> {
    let target = context.target_messages().iter().map(|message| &**message);
    target.filter(|message| message.is_human() && context.new_messages.contains(&message.id))
}

fn authors<'a>(messages: impl Iterator<Item = &'a Message>) -> usize {
    let humans = messages.filter(|message| message.author.kind == AuthorKind::Human);
    humans.map(|message| &message.author.id).collect::<BTreeSet<&UserId>>().len()
}

fn log_seconds(from: Timestamp, until: Timestamp) -> f32 {
    (until.duration_since(from).as_secs_f64().max(0.0) as f32).ln_1p()
}

/// The logarithm of the number of words, estimated from the length in bytes, since Japanese is written without spaces.
fn words(message: &Message) -> f32 {
    (message.text.len() as f32 / 6.0).ln_1p()
}

fn flag(is_on: bool) -> f32 {
    if is_on { 1.0 } else { 0.0 }
}
