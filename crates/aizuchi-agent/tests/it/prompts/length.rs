//! Content that exceeds a limit is omitted, the least important first, and the prompt says so.

use std::sync::Arc;
use std::time::Instant;

use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_harness::harness::prompts;
use aizuchi_llm::prompt::budget::{PromptBudget, SectionLimits};
use aizuchi_llm::prompt::builder::PromptOptions;
use aizuchi_llm::prompt::tokens::estimate;
use aizuchi_llm::prompt::tool::spec_tokens;
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_model::chat::MessageId;
use aizuchi_model::chat::owed::Owed;
use aizuchi_model::context::{Context, Intent, ThreadMemory};
use aizuchi_model::persona::{Language, Persona};

use crate::prompts::golden::everything;
use crate::prompts::{channel, persona, said, scene, talk};

fn within(max_tokens: u64) -> PromptOptions {
    let budget = PromptBudget { max_tokens, sections: SectionLimits::default() };
    PromptOptions { budget, ..scene() }
}

fn reply(context: Context, scene: &PromptOptions) -> Prompt {
    prompts(Language::En).reply(&persona(Language::En), &Arc::new(context), scene)
}

fn trimmed(prompt: &Prompt) -> Vec<(&str, usize)> {
    prompt.trimmed.iter().map(|trimmed| (trimmed.section, trimmed.count)).collect()
}

/// The part between the target's heading and the task.
fn target(prompt: &Prompt) -> Vec<&str> {
    let lines = prompt.text.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines.take_while(|line| *line != "---").collect();
    let heading = lines.iter().rposition(|line| line.starts_with("#### ")).unwrap();
    lines[heading + 1..].to_vec()
}

/// Fifty filler words, with a number that makes them unique.
fn words(number: i64) -> String {
    format!("n{number} {}", "some words that matter little ".repeat(10))
}

#[test]
fn a_prompt_that_fits_is_complete_and_counted() {
    let (context, scene) = everything(None);
    let prompt = reply(context, &scene);
    assert_eq!(prompt.trimmed, []);
    assert_eq!(prompt.tokens, estimate(&prompt.text));
    let sections: Vec<&str> = prompt.sections.iter().map(|(section, _)| *section).collect();
    assert_eq!(
        sections,
        [
            "instructions", "workspace_memory", "channel_memories", "thread_memories", "memos",
            "recalled", "other_talk", "target"
        ]
    );
    let sum: u64 = prompt.sections.iter().map(|(_, tokens)| tokens).sum();
    assert_eq!(sum, prompt.tokens);
}

#[test]
fn the_minimum_length_leaves_room_for_the_conversation() {
    let tools = ToolSettings::specs(Language::Ja);
    for (language, system_prompt, tools) in [
        (Language::En, String::new(), Vec::new()),
        (Language::Ja, "静かに話を聞く。".repeat(200), Vec::new()),
        (Language::Ja, String::new(), tools.clone()),
        (Language::Ja, "静かに話を聞く。".repeat(200), tools),
    ] {
        let prompts = prompts(language);
        let persona = Arc::new(Persona { system_prompt, ..(*persona(language)).clone() });
        let messages = (0..60).map(|n| said(n, "alice", &words(n), None)).collect();
        let context = Arc::new(talk(None, messages));
        for verb in [PromptVerb::Judge, PromptVerb::Reply, PromptVerb::State] {
            let least = prompts.min_budget_tokens(verb, &persona, &tools);
            let room = |max_tokens: u64| {
                let budget = within(max_tokens).budget;
                let budget = if tools.is_empty() {
                    budget
                } else {
                    budget.reserve_for_tools(spec_tokens(&tools, language))
                };
                let scene = PromptOptions { budget, ..scene() };
                let prompt = match verb {
                    PromptVerb::Judge => prompts.judge(&persona, &context, &scene),
                    PromptVerb::Reply
                    | PromptVerb::Remember
                    | PromptVerb::Describe
                    | PromptVerb::Transcribe => prompts.reply(&persona, &context, &scene),
                    PromptVerb::State => prompts.state(&persona, &context, &scene),
                };
                let (name, target) = *prompt.sections.last().unwrap();
                assert_eq!(name, "target");
                let all = prompt.with_tools(tools.clone()).total_tokens();
                assert!(all <= max_tokens, "{verb:?}: {all} of {max_tokens}");
                target
            };
            // Except for the last messages that did not fit: they are left out in steps.
            assert!(room(least) > 430, "{verb:?}: {} of {least}", room(least));
            assert!(least > 2000 || persona.system_prompt.is_empty(), "{verb:?}: {least}");
        }
    }
}

#[test]
fn the_least_important_parts_are_dropped_first() {
    let fact = format!("- 2024-01-05: {}", "a fact of some length ".repeat(20));
    let memory: Option<Arc<str>> = Some(fact.as_str().into());
    let mut messages: Vec<_> = (0..10).map(|n| said(n, "alice", &words(n), None)).collect();
    messages.push(said(20, "bob", &words(20), Some("00001")));
    messages.push(said(21, "carol", "the newest line", Some("00000")));
    let context = || Context {
        workspace_long_term_memory: memory.clone(),
        workspace_short_term_memory: memory.clone(),
        channel_memories: vec![
            channel("C001", "general", &fact, &fact),
            channel("C002", "other", &fact, &fact),
        ],
        thread_memories: vec![ThreadMemory {
            thread: MessageId::new("00001"),
            memory: fact.as_str().into(),
        }],
        ..talk(Some("00000"), messages.clone())
    };
    let whole = reply(context(), &scene());
    assert_eq!(whole.trimmed, []);
    let mut gone = Vec::new();
    for max_tokens in (whole.sections[0].1 + 170..=whole.tokens).rev().step_by(5) {
        let prompt = reply(context(), &within(max_tokens));
        let instructions = prompt.sections[0].1;
        let has = |section| prompt.sections.iter().any(|(other, _)| *other == section);
        for (what, is_there) in [
            ("old top level", prompt.text.contains("\nn2 ")),
            ("other's lately", prompt.text.matches("#### Lately").count() > 1),
            ("other thread", prompt.text.contains("#### Thread: 2024-03-01 10:01:00 alice")),
            ("thread memory", has("thread_memories")),
            ("other's history", prompt.text.matches("#### History").count() > 1),
            ("the other's name", prompt.text.contains("- #other")),
            ("new top level", prompt.text.contains("\nn9 ")),
            ("workspace, lately", prompt.text.contains("### Lately in the workspace")),
            ("own lately", prompt.text.contains("#### Lately")),
            ("workspace, history", prompt.text.contains("### History of the workspace")),
            ("own history", prompt.text.contains("#### History")),
        ] {
            if !is_there && !gone.contains(&what) {
                gone.push(what);
            }
        }
        let own: u64 =
            prompt.sections.iter().filter(|(name, _)| *name == "target").map(|s| s.1).sum();
        assert!(prompt.tokens <= max_tokens.max(instructions + own + 40), "{max_tokens}");
        assert!(prompt.text.contains("\nthe newest line\n"));
    }
    assert_eq!(
        gone,
        [
            "old top level", "other's lately", "other thread", "thread memory", "other's history",
            "the other's name", "new top level", "workspace, lately", "own lately",
            "workspace, history", "own history"
        ]
    );
}

#[test]
fn each_section_keeps_to_its_own_limit() {
    let (context, scene) = everything(Some("00000"));
    let sections =
        SectionLimits { memos: 0, recalled: 0, workspace_memory: 24, ..SectionLimits::default() };
    let scene = PromptOptions { budget: PromptBudget { max_tokens: 16_000, sections }, ..scene };
    let prompt = reply(context, &scene);
    assert_eq!(trimmed(&prompt), [("workspace_memory", 1), ("memos", 4), ("recalled", 2)]);
    assert!(prompt.text.contains("### History of the workspace"));
    assert!(!prompt.text.contains("### Lately in the workspace"));
}

#[test]
fn a_long_target_keeps_its_parent_owed_messages_and_the_newest_messages() {
    let mut messages = vec![said(0, "alice", "the parent", None)];
    messages.extend((1..500).map(|n| said(n, "bob", &words(n), Some("00000"))));
    let owed = ["00030", "00031", "00200"].map(|id| Owed::Message(MessageId::new(id))).to_vec();
    let context = Context { owed, ..talk(Some("00000"), messages) };
    let prompt = reply(context.clone(), &within(3000));
    assert!(prompt.tokens <= 3000, "{}", prompt.tokens);
    let shown = target(&prompt);
    let said: Vec<&str> = shown
        .iter()
        .filter(|line| !line.starts_with("**2024"))
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    let said = said.join(" ").replace("**(", "(");
    assert!(said.starts_with("the (29 n30 n31 (168 n200 ("), "{said}");
    assert!(said.ends_with("n497 n498 n499"), "{said}");
    assert_eq!(shown[1], "the parent");
    assert_eq!(shown[2], "**(29 omitted)**");
    let left_out: usize = shown
        .iter()
        .filter_map(|line| {
            line.strip_prefix("**(")?.strip_suffix(" omitted)**")?.parse::<usize>().ok()
        })
        .sum();
    assert_eq!(trimmed(&prompt), [("target", left_out)]);
    assert_eq!(left_out + shown.iter().filter(|line| line.starts_with("**2024")).count(), 500);

    // In Japanese, and for the judge.
    let persona = persona(Language::Ja);
    let prompt = prompts(Language::Ja).judge(&persona, &Arc::new(context), &within(4000));
    assert!(prompt.text.contains("\n**（29件の発言を省略）**\n"), "{}", prompt.text);
    assert!(prompt.tokens <= 4000);
}

/// A prompt that is too long begins with the same messages as the previous one, for some messages.
#[test]
fn what_is_left_out_changes_in_steps() {
    let begins_with = |count: i64| {
        let messages = (0..count).map(|n| said(n, "bob", &words(n), None)).collect();
        let prompt = reply(talk(None, messages), &within(3000));
        assert!(prompt.tokens <= 3000, "{}", prompt.tokens);
        target(&prompt)[2].split(' ').next().unwrap().to_owned()
    };
    let mut begins: Vec<String> = (60..100).map(begins_with).collect();
    begins.dedup();
    assert!(begins.len() <= 12, "{begins:?}");
}

#[test]
fn the_message_that_would_be_answered_is_kept() {
    let messages = (0..100).map(|n| said(n, "bob", &words(n), None)).collect();
    let intent = Intent {
        reason: "nobody answers".into(),
        about: Some(MessageId::new("00003")),
        ..Intent::default()
    };
    let context = Context { intent: Some(intent), ..talk(None, messages) };
    let prompt = reply(context, &within(2000));
    assert!(prompt.text.contains("\n**(3 omitted)**\n"), "{}", prompt.text);
    assert!(prompt.text.contains("\nn3 ") && !prompt.text.contains("\nn4 "));
}

#[test]
fn a_paste_loses_its_middle() {
    let paste = format!("begin{}end", "0123456789 ".repeat(4000));
    let messages = vec![said(0, "alice", "hi", None), said(1, "bob", &paste, None)];
    let context = Context { owed: vec![MessageId::new("00001").into()], ..talk(None, messages) };
    for (max_tokens, limit) in [(16_000, 16_000), (3000, 3000), (1000, 1000)] {
        let prompt = reply(context.clone(), &within(max_tokens));
        assert!(prompt.tokens <= limit, "{}", prompt.tokens);
        let shown = target(&prompt);
        assert!(shown[3].starts_with("begin0123"), "{}", shown[3]);
        assert!(shown[4].starts_with("**(") && shown[4].ends_with(" characters left out)**"));
        assert!(shown[5].ends_with("end"));
        assert_eq!(shown.len(), 6);
        assert!(trimmed(&prompt).contains(&("long_lines", 1)));
    }
}

#[test]
fn an_omitted_message_is_counted_once() {
    // First each message is shortened separately, then all of them together.
    let messages: Vec<_> = (0..8).map(|n| said(n, "bob", &words(n).repeat(40), None)).collect();
    let owed = messages.iter().map(|line| Owed::from(line.id.clone())).collect();
    let context = Context { owed, ..talk(None, messages) };
    let target = |prompt: &Prompt| prompt.sections.last().unwrap().1;
    let whole = target(&reply(context.clone(), &within(1_000_000)));
    let prompt = reply(context, &within(3000));
    assert_eq!(trimmed(&prompt), [("long_lines", 8)]);
    assert_eq!(prompt.trimmed[0].tokens, whole - target(&prompt));

    // A parent is shown at the top level and before its thread, where it is shorter.
    let parent = said(0, "alice", &words(0).repeat(30), None);
    let messages = || vec![parent.clone(), said(1, "bob", "yes", Some("00000"))];
    for (max_tokens, expected) in [(3000, vec![("long_lines", 1)]), (16_000, vec![])] {
        let prompt = reply(talk(None, messages()), &within(max_tokens));
        assert_eq!(prompt.text.matches("** alice:").count(), 2, "{}", prompt.text);
        assert!(prompt.text.contains(" characters left out)**"), "{}", prompt.text);
        assert_eq!(trimmed(&prompt), expected, "{max_tokens}");
    }
    // An omitted message does not count as shortened, too.
    let mut messages: Vec<_> =
        (0..40).map(|n| said(n, "bob", &words(n).repeat(10), None)).collect();
    messages.push(said(40, "carol", "hello", None));
    let prompt = reply(talk(None, messages), &within(2000));
    let [left_out, shortened] = &trimmed(&prompt)[..] else { panic!("{:?}", prompt.trimmed) };
    assert_eq!((left_out.0, shortened.0), ("target", "long_lines"));
    assert_eq!(left_out.1 + shortened.1, 40);
}

#[test]
fn each_of_many_owed_messages_keeps_a_part() {
    let messages: Vec<_> = (0..30).map(|n| said(n, "bob", &words(n).repeat(8), None)).collect();
    let owed: Vec<_> = messages.iter().map(|line| Owed::from(line.id.clone())).collect();
    let prompt = reply(Context { owed, ..talk(None, messages) }, &within(5000));
    assert!(prompt.tokens <= 5000, "{}", prompt.tokens);
    for number in 0..30 {
        assert!(prompt.text.contains(&format!("\nn{number} some")), "{number}");
    }
}

#[test]
fn a_model_that_counts_more_gets_less() {
    let messages = || (0..100).map(|n| said(n, "bob", &words(n), None)).collect();
    let usual = reply(talk(None, messages()), &within(4000));
    let scene = PromptOptions { token_factor: 1.5, ..within(4000) };
    let less = reply(talk(None, messages()), &scene);
    assert!(usual.tokens <= 4000 && usual.tokens > 3000, "{}", usual.tokens);
    assert!(less.tokens * 3 / 2 <= 4000 && less.tokens * 3 / 2 > 3000, "{}", less.tokens);
}

/// Not a benchmark: it detects only slowdowns by orders of magnitude. The quickest counts, since other tests interrupt
/// most of them.
#[test]
fn rendering_is_quick() {
    let memory = "- 2024-02-29: a fact that is worth a line of its own\n".repeat(6);
    let messages = (0..50).map(|n| said(n, "bob", &words(n), None)).collect();
    let mut context = talk(None, messages);
    context.channel_memories =
        (0..50).map(|n| channel(&format!("C{n:03}"), &format!("c{n}"), &memory, &memory)).collect();
    let (context, prompts) = (Arc::new(context), prompts(Language::En));
    let budget = PromptBudget {
        max_tokens: 100_000,
        sections: SectionLimits { channel_memories: 50_000, ..SectionLimits::default() },
    };
    let scene = PromptOptions { budget, ..scene() };
    let persona = persona(Language::En);
    let renderings = (0..20).map(|_| {
        let began = Instant::now();
        let prompt = prompts.judge(&persona, &context, &scene);
        let took = began.elapsed();
        assert_eq!(prompt.trimmed, []);
        took
    });
    let quickest = renderings.min().unwrap();
    println!("{quickest:?}");
    assert!(quickest.as_millis() < 500, "{quickest:?}");
}
