//! Voice messages and other recordings: known by their names, transcribed only when needed.

use std::sync::Arc;

use aizuchi_agent::agent::AgentSettings;
use aizuchi_agent::agent::files::FileSettings;
use aizuchi_harness::fixtures::{at, message, new_channel, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::providers::{ProviderResponse, Server, ServerLimits};
use aizuchi_harness::test_mind::TestMind;
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_llm::builtin::BuiltinMind;
use aizuchi_llm::prompt::recording::{AudioFormat, AudioRecording};
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_llm::provider::transcription::TranscriptionMind;
use aizuchi_llm::provider_list::Provider;
use aizuchi_llm::{Llm, LlmError};
use aizuchi_model::chat::attachment::{Attachment, AttachmentContent, UnheardReason};
use aizuchi_model::chat::{Heard, Message, MessageId, UserId, Visibility};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::Usage;
use aizuchi_model::decision::model_problem::ModelProblem;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::{BudgetLimits, Rulebook};
use aizuchi_store::order::Order;
use serde_json::json;

use crate::models::{advance_while, prompt, settings};

/// A voice message that appears to have this length unless it is played.
fn ogg(seconds: u64) -> Vec<u8> {
    [&b"OggS\0\x04"[..], &(seconds * 48_000).to_le_bytes(), b"sound"].concat()
}

fn note(id: &str) -> Attachment {
    Attachment::new(id, "voice-message.ogg", "audio/ogg", 19).with_seconds(Some(3.0))
}

/// A harness with a model that can hear, and the voice messages V1 and V2 on its platform.
async fn hearing(store: TestStore) -> (Harness, Arc<TestMind>) {
    hearing_with(store, HarnessOptions::default()).await
}

async fn hearing_with(store: TestStore, options: HarnessOptions) -> (Harness, Arc<TestMind>) {
    let ears = Arc::new(TestMind::default());
    ears.script.set_default(PromptVerb::Transcribe, "The boat\nleaves at “nine”.");
    let options = HarnessOptions { transcription: Some(ears.clone()), ..options };
    let harness = Harness::new(store).await.with_options(options);
    for id in ["V1", "V2"] {
        put(&harness, id, ogg(3));
    }
    (harness, ears)
}

fn put(harness: &Harness, id: &str, bytes: Vec<u8>) {
    harness.platform.files.lock().unwrap().insert(id.to_owned(), bytes);
}

fn fetched(harness: &Harness) -> Vec<String> {
    harness.platform.fetched.lock().unwrap().clone()
}

fn newest_prompt(harness: &Harness) -> String {
    harness.mind.prompt_texts(PromptVerb::Reply).pop().unwrap()
}

async fn sends(harness: &Harness, id: &str, text: &str, files: Vec<Attachment>) -> MessageId {
    let sent = message(top_level("garden"), id, harness.clock.now(), "alice", text);
    harness.hear(Message { attachments: files, ..sent }).await;
    MessageId::new(id)
}

async fn stored(harness: &Harness) -> Vec<Vec<Attachment>> {
    let stored = harness.messages("garden").await;
    stored.iter().map(|stored| stored.message.attachments.clone()).collect()
}

/// What is known about the recording in this message. The answer may come before it, since both can have the same
/// time.
async fn known(harness: &Harness, id: &str) -> Option<AttachmentContent> {
    let stored = harness.messages("garden").await;
    let stored = stored.iter().find(|stored| stored.message.id == MessageId::new(id)).unwrap();
    stored.message.attachments[0].content.clone()
}

#[tokio::test]
async fn without_a_model_that_hears_nobody_has_listened() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        sends(&harness, "v1", "@Aizuchi", vec![note("V1")]).await;
        harness.pass(10).await;
        let prompt = newest_prompt(&harness);
        let line = "[audio “voice-message.ogg”, its content is unknown]";
        assert!(prompt.contains(line), "{prompt}");
        assert!(prompt.contains("you cannot hear the recordings"), "{prompt}");
        assert_eq!(fetched(&harness), Vec::<String>::new());
    })
    .await;
    on_every_store(async |store| {
        let options = HarnessOptions { language: Language::Ja, ..HarnessOptions::default() };
        let harness = Harness::new(store).await.with_options(options);
        sends(&harness, "v1", "@Aizuchi", vec![note("V1")]).await;
        harness.pass(10).await;
        let prompt = newest_prompt(&harness);
        let line = "[音声「voice-message.ogg」、内容は未確認]";
        assert!(prompt.contains(line), "{prompt}");
        assert!(prompt.contains("画像は見られない、音声は聞けない"), "{prompt}");
    })
    .await;
}

/// The rules cannot hear, and say so, in both languages.
#[tokio::test]
async fn the_built_in_mind_says_that_it_hears_no_recordings() {
    for (language, expected, question) in [
        (Language::En, "I can’t hear recordings", "@Aizuchi what is in this voice message?"),
        (Language::Ja, "音声は聞けません", "@Aizuchi このボイスメッセージは何と言っていますか？"),
    ] {
        on_every_store(async |store| {
            let llm: Option<Arc<dyn Llm>> = Some(Arc::new(BuiltinMind));
            let options = HarnessOptions { llm, language, ..HarnessOptions::default() };
            let harness = Harness::new(store).await.with_options(options);
            for (id, text, files) in
                [("v1", "@Aizuchi", vec![note("V1")]), ("v2", question, Vec::new())]
            {
                let before = harness.platform.posted_texts().len();
                sends(&harness, id, text, files).await;
                harness.pass(60).await;
                let posted = harness.platform.posted_texts().split_off(before);
                assert!(posted[0].contains(expected), "{text}: {posted:?}");
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_voice_message_is_heard_once_when_it_is_needed() {
    on_every_store(async |store| {
        let (harness, ears) = hearing(store).await;
        sends(&harness, "v1", "", vec![note("V1")]).await;
        harness.pass(300).await;
        // Judging needs no transcript.
        assert_eq!((ears.verbs(), fetched(&harness)), (String::new(), Vec::new()));
        for question in ["v2", "v3"] {
            sends(&harness, question, "@Aizuchi what does she say?", Vec::new()).await;
            harness.pass(10).await;
            let prompt = newest_prompt(&harness);
            let line = "[audio “voice-message.ogg”, someone says: “The boat leaves at 'nine'.”]\n";
            assert!(prompt.contains(line), "{prompt}");
            assert!(!prompt.contains("you cannot hear"), "{prompt}");
        }
        assert_eq!(ears.verbs(), "transcribe");
        assert_eq!(fetched(&harness), ["V1"]);
        let [asked] = &ears.prompts(PromptVerb::Transcribe)[..] else { panic!() };
        assert_eq!(asked.text, "", "nothing that anybody wrote goes along");
        let heard = asked.recording.as_ref().map(|it| (it.format, it.seconds));
        assert_eq!(heard, Some((AudioFormat::Ogg, 3)));
        let known = AttachmentContent::Transcript("The boat leaves at “nine”.".into());
        assert_eq!(stored(&harness).await[0][0].content, Some(known));
        let decisions = harness.decisions("garden").await;
        let calls = decisions.iter().flat_map(|decision| &decision.attempts);
        let tokens: Vec<u64> = calls
            .filter(|call| &*call.verb == "transcribe")
            .map(|call| call.usage.input_tokens)
            .collect();
        assert_eq!(tokens, [30]);
        // Deleting the message deletes the transcript.
        harness.deletes(&MessageId::new("v1")).await;
        assert_eq!(stored(&harness).await[0], []);
        for decision in harness.decisions("garden").await {
            for exchange in harness.store.archive.exchanges(decision.id).await.unwrap() {
                let prompt = exchange.map(|exchange| exchange.prompt.to_string());
                assert!(!prompt.unwrap_or_default().contains("The boat"));
            }
        }
    })
    .await;
}

/// Recordings from private channels, direct messages, and users who opted out are sent nowhere.
#[tokio::test]
async fn private_recordings_are_heard_only_where_that_is_allowed() {
    on_every_store(async |store| {
        let (harness, ears) = hearing(store).await;
        for (channel, visibility) in [("den", Visibility::Private), ("dm", Visibility::Direct)] {
            let channel = new_channel(channel, visibility);
            harness.inbox.hear(Heard::Channel(channel.clone())).await.unwrap();
            let conversation = top_level(channel.id.as_str());
            let id = format!("v-{}", channel.id);
            let sent = message(conversation, &id, harness.clock.now(), "alice", "@Aizuchi listen");
            harness.hear(Message { attachments: vec![note("V1")], ..sent }).await;
            harness.pass(10).await;
            assert!(newest_prompt(&harness).contains("its content is unknown"));
        }
        let user = UserId::new("u-carol");
        harness.order(Order::OptOut { workspace: workspace(), user }).await;
        let sent = message(top_level("garden"), "v-carol", harness.clock.now(), "carol", "listen");
        harness.hear(Message { attachments: vec![note("V1")], ..sent }).await;
        harness.says("bob", "@Aizuchi what did she say?").await;
        harness.pass(10).await;
        assert!(!newest_prompt(&harness).contains("voice-message.ogg"));
        assert_eq!((ears.verbs(), fetched(&harness)), (String::new(), Vec::new()));

        let files = FileSettings { transcribes_private: true, ..FileSettings::default() };
        let settings = AgentSettings { files, ..HarnessOptions::default().settings };
        let options = HarnessOptions { settings, ..harness.options.clone() };
        let harness = harness.with_options(options);
        let again =
            message(top_level("den"), "v-more", harness.clock.now(), "alice", "@Aizuchi and now?");
        harness.hear(again).await;
        harness.pass(10).await;
        assert_eq!(ears.verbs(), "transcribe");
        assert!(newest_prompt(&harness).contains("someone says: “The boat"));
    })
    .await;
}

/// Each failure has a reason, which is kept, and nothing that was paid or refused is requested twice.
#[tokio::test]
async fn what_cannot_be_heard_is_kept_with_its_reason() {
    let busy = |usage| LlmError::Busy { why: "no".to_owned(), retry_after: None, usage };
    let charged = Usage { input_tokens: 30, ..Usage::default() };
    let long = || note("V1").with_seconds(Some(301.0));
    let large = || Attachment { size_bytes: 10_000_001, ..note("V1") };
    let unusable = LlmError::Unusable { why: "no text".to_owned(), usage: charged };
    let late = LlmError::TimedOut("no answer".to_owned());
    for (file, bytes, answer, expected, calls) in [
        (long(), ogg(3), Ok("hi"), Some(UnheardReason::TooLong), 0),
        (large(), ogg(3), Ok("hi"), Some(UnheardReason::TooLong), 0),
        // It claims to be short.
        (note("V1"), ogg(301), Ok("hi"), Some(UnheardReason::TooLong), 0),
        (note("V1"), b"<html>".to_vec(), Ok("hi"), Some(UnheardReason::NoRecording), 0),
        (note("V1"), ogg(3), Ok(" \u{200b}\n"), Some(UnheardReason::NoWords), 1),
        (
            note("V1"),
            ogg(3),
            Err(LlmError::Refused("no".to_owned())),
            Some(UnheardReason::Failed),
            1,
        ),
        (note("V1"), ogg(3), Err(unusable.clone()), Some(UnheardReason::Failed), 1),
        (note("V1"), ogg(3), Err(busy(charged)), Some(UnheardReason::Failed), 1),
        // It has probably been charged.
        (note("V1"), ogg(3), Err(late), Some(UnheardReason::Failed), 1),
        // A free failure is retried with the next answer.
        (note("V1"), ogg(3), Err(busy(Usage::default())), None, 1),
    ] {
        on_every_store(async |store| {
            let (harness, ears) = hearing(store).await;
            put(&harness, "V1", bytes.clone());
            ears.script.push(PromptVerb::Transcribe, answer.clone());
            sends(&harness, "v1", "@Aizuchi listen", vec![file.clone()]).await;
            harness.pass(10).await;
            assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
            assert_eq!(ears.prompts(PromptVerb::Transcribe).len(), calls);
            assert_eq!(known(&harness, "v1").await, expected.map(AttachmentContent::Unheard));
            sends(&harness, "v2", "@Aizuchi and now?", Vec::new()).await;
            harness.pass(10).await;
            let more = usize::from(expected.is_none());
            assert_eq!(ears.prompts(PromptVerb::Transcribe).len(), calls + more);
            let is_heard = newest_prompt(&harness).contains("someone says");
            assert_eq!(is_heard, expected.is_none());
        })
        .await;
    }
}

/// A long transcript is cut.
#[tokio::test]
async fn a_transcript_that_never_ends_is_cut() {
    on_every_store(async |store| {
        let (harness, ears) = hearing(store).await;
        ears.script.push(PromptVerb::Transcribe, Ok(&"あ".repeat(100_000)));
        sends(&harness, "v1", "@Aizuchi listen", vec![note("V1")]).await;
        harness.pass(10).await;
        let known = known(&harness, "v1").await;
        let Some(AttachmentContent::Transcript(text)) = &known else { panic!("{known:?}") };
        assert_eq!(text.chars().count(), 3_001);
    })
    .await;
}

#[tokio::test]
async fn few_recordings_are_heard_for_a_reply_and_from_the_same_budget() {
    on_every_store(async |store| {
        let (harness, ears) = hearing(store).await;
        put(&harness, "V3", ogg(3));
        sends(&harness, "v1", "@Aizuchi listen", vec![note("V1"), note("V2"), note("V3")]).await;
        harness.pass(10).await;
        assert_eq!(ears.verbs(), "transcribe transcribe");
    })
    .await;
    on_every_store(async |store| {
        let limits = BudgetLimits { tokens_per_day: Some(1), ..BudgetLimits::default() };
        let rulebook = Rulebook { workspace_limits: limits, ..Rulebook::default() };
        let (harness, ears) = hearing_with(store, HarnessOptions::from_rulebook(rulebook)).await;
        // The first call may exceed the limit.
        harness.says("bob", "@Aizuchi are you there?").await;
        harness.pass(10).await;
        sends(&harness, "v1", "@Aizuchi listen", vec![note("V1")]).await;
        harness.pass(10).await;
        assert_eq!(ears.verbs(), "");
    })
    .await;
}

fn transcription(provider: Provider, server: &Server, clock: &Clock) -> TranscriptionMind {
    TranscriptionMind::new(&settings(provider, &server.base), clock.clone()).unwrap()
}

fn asked() -> Prompt {
    let recording = AudioRecording::new(ogg(3), None);
    let text = String::new();
    Prompt { verb: PromptVerb::Transcribe, text, recording, ..prompt(PromptVerb::Reply) }
}

#[tokio::test]
async fn a_recording_goes_to_the_address_for_recordings() {
    for provider in [Provider::OpenAi, Provider::Groq, Provider::Mistral] {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mind = transcription(provider, &server, &clock);
        server.will_say(&["  Good morning. "]);
        let answer = advance_while(&clock, at(59), mind.ask(&asked())).await.unwrap();
        assert_eq!(answer.text, "Good morning.");
        assert_eq!(answer.usage, Usage { input_tokens: 30, ..Usage::default() });
        let [request] = &server.requests()[..] else { panic!() };
        assert_eq!(request.path, "/v1/audio/transcriptions");
        let expected = json!({
            "model": "large-1", "response_format": "json", "temperature": "0.5",
            "file": { "name": "recording.ogg", "type": "audio/ogg", "size": ogg(3).len() },
        });
        assert_eq!(request.body, expected);
        assert_eq!(mind.problem(), None);
        // The operator's additional text is a hint.
        let hint = Prompt { text: "Aizuchi, Mio".to_owned(), ..asked() };
        advance_while(&clock, at(59), mind.ask(&hint)).await.unwrap();
        assert_eq!(server.requests()[1].body["prompt"], "Aizuchi, Mio");
        assert!(advance_while(&clock, at(59), mind.check()).await.is_ok());
    }
}

/// The kind of a server's failure determines what to do next, and no error contains the server's text.
#[tokio::test]
async fn the_failures_of_a_server_that_hears_are_told_apart() {
    let status = |code| {
        let body = json!({ "error": { "code": "no_sound", "message": "the secret words" } });
        ProviderResponse::Status(code, Vec::new(), body.to_string())
    };
    let raw = |body: &str| ProviderResponse::Raw("application/json", body.to_owned());
    for (responses, expected, problem) in [
        (vec![status(400)], "refuses", Some(ModelProblem::RequestRejected)),
        (vec![status(413)], "refuses", Some(ModelProblem::RequestRejected)),
        (vec![status(401)], "refuses", Some(ModelProblem::KeyRefused)),
        (vec![status(404)], "refuses", Some(ModelProblem::UnknownModel)),
        (vec![status(503), status(503), status(503)], "now", Some(ModelProblem::Overloaded)),
        (vec![raw("[]")], "of no use", None),
        (vec![raw(r#"{"text": ["the secret words"]}"#)], "of no use", None),
        (vec![raw("the secret words")], "of no use", None),
        (vec![ProviderResponse::Never], "now", Some(ModelProblem::TimedOut)),
    ] {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mind = transcription(Provider::OpenAi, &server, &clock);
        server.then(responses.clone());
        // Only a server that never answers causes a wait.
        let limit = if problem == Some(ModelProblem::TimedOut) { 61 } else { 59 };
        let error = advance_while(&clock, at(limit), mind.ask(&asked())).await.unwrap_err();
        let sentence = error.to_string();
        assert!(sentence.contains(expected), "{responses:?}: {sentence}");
        assert!(!sentence.contains("secret") && !sentence.contains("sk-test"), "{sentence}");
        assert_eq!(mind.problem(), problem, "{responses:?}");
    }
    // An overload is temporary.
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let mind = transcription(Provider::OpenAi, &server, &clock);
    server.then([status(429)]);
    server.will_say(&["Good morning."]);
    let answer = advance_while(&clock, at(59), mind.ask(&asked())).await.unwrap();
    assert_eq!(answer.text, "Good morning.");
}
