//! Operators' templates: used if they are valid, and rejected with a position if they are not.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use aizuchi_llm::prompt::builder::PromptBuilder;
use aizuchi_llm::prompt::builder::sample::SAMPLE_TEXT;
use aizuchi_model::persona::Language;
use tempfile::TempDir;

use crate::prompts::golden::{everything, ordered_layout};
use crate::prompts::{THREAD, from, persona, said, scene, talk};

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// The error for a folder, without its path.
fn refused(folder: &Path) -> String {
    let error = PromptBuilder::load(Language::En, Some(folder)).unwrap_err();
    format!("{error:#}").replace(&folder.display().to_string(), "prompts")
}

#[test]
fn a_file_overrides_the_prompt_of_its_name() {
    let own = "{{ persona.name }} in #{{ current_channel_name }}: {{ owed | length }}\n\
               {% for m in top_level_messages %}{{ m.text }}{% endfor %}";
    let parts = "{% macro notice(name) %}x{% endmacro %}\n{% macro lines(messages) %}{{ messages | length }}{% for m in messages %} {{ m.text }}{% endfor %}{% endmacro %}";
    let folder = folder(&[("reply.j2", own), ("parts.j2", parts), (".hidden", "{{")]);
    let prompts = PromptBuilder::load(Language::En, Some(folder.path())).unwrap();
    let (context, scene) = everything(None);
    let context = Arc::new(context);
    let persona = persona(Language::En);
    let reply = prompts.reply(&persona, &context, &scene).text;
    assert!(reply.starts_with("Aizuchi in #general: 1\n"), "{reply}");
    let judge = prompts.judge(&persona, &context, &scene);
    assert!(judge.text.contains("\n## To be judged: top level\n\n3"), "{}", judge.text);
}

#[test]
fn errors_name_their_position() {
    for (name, text, expected) in [
        ("judge.j2", "a\n{% if %}", "prompts/judge.j2, line 2: syntax error: "),
        ("judge.j2", "a\nb\n{{ nobody }}", "prompts/judge.j2, line 3: unknown variable nobody"),
        ("judge.j2", "{{ persona.nam }}", "prompts/judge.j2, line 1: unknown variable persona.nam"),
        (
            "reply.j2",
            "{% if target_thread_ts and not owed %}\n{% for m in recent_memos %}{{ m.contents }}{% endfor %}\n{% endif %}",
            "prompts/reply.j2, line 2: undefined value",
        ),
        ("state.j2", "\n{{ current_time | shout }}", "prompts/state.j2, line 2: unknown filter"),
        ("state.j2", "{{ current_time.shout() }}", "prompts/state.j2, line 1: unknown method"),
        ("remember.j2", "{{ top_level_messages }}", "line 1: unknown variable top_level_messages"),
        (
            "background.j2",
            "{% if verb == 'reply' %}\n{{ memos }}{% endif %}",
            "prompts/background.j2, line 2: unknown variable memos",
        ),
        ("parts.j2", "x", "line "),
        (
            "state.j2",
            "{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}",
            "prompts/state.j2, line 1: engine ran out of fuel",
        ),
        (
            "reply.j2",
            "{{ persona.name }}, speak!",
            "prompts/reply.j2 (with the files that it includes) shows none of the messages",
        ),
        (
            "remember.j2",
            "Remember.",
            "prompts/remember.j2 (with the files that it includes) shows none of the messages",
        ),
        (
            "parts.j2",
            "{% macro notice(name) %}{% endmacro %}{% macro lines(messages) %}{{ messages | length }}{% endmacro %}",
            ".j2 (with the files that it includes) shows none of the messages",
        ),
        ("jugde.j2", "x", "prompts/jugde.j2 is none of the prompts; did you mean judge.j2?"),
        ("memory.md", "x", "prompts/memory.md is none of the prompts; did you mean remember.j2?"),
    ] {
        let folder = folder(&[(name, text)]);
        let said = refused(folder.path());
        assert!(said.contains(expected), "{name}: {said}");
        assert!(!said.contains('\n'), "{said}");
    }
    let said = refused(Path::new("/nowhere/at/all"));
    assert!(said.starts_with("the folder of prompts prompts cannot be read: "), "{said}");
}

#[test]
fn a_template_that_fails_to_render_falls_back_to_the_built_in_one() {
    // The only text that users post in the samples.
    let own = format!(
        "{{% for m in top_level_messages %}}{{{{ m.text if m.text == '{SAMPLE_TEXT}' else m.no.such }}}}{{% endfor %}}"
    );
    let folder = folder(&[("reply.j2", &own)]);
    let prompts = PromptBuilder::load(Language::En, Some(folder.path())).unwrap();
    let context = Arc::new(talk(None, vec![said(0, "alice", "Good morning", None)]));
    let prompt = prompts.reply(&persona(Language::En), &context, &scene());
    assert!(prompt.text.contains("\nGood morning\n"), "{}", prompt.text);
}

/// A handwritten template of an operator: a macro for messages, and a branch for threads.
const HANDWRITTEN_TEMPLATE: &str = r#"{% macro render_messages(messages) %}
{% for msg in messages %}
**{{ msg.timestamp | format_timestamp }}** {{ msg.user.name }}:
{{ msg.text }}

{% endfor %}
{% endmacro %}
{{ persona.system_prompt }}

{% if channel_memories %}
## チャンネル情報

{% for channel in channel_memories.values() %}
- #{{ channel.channel_name }}
{% endfor %}

{% endif %}
## 現在の会話

{% if target_thread_ts %}
### トップレベル

{{ render_messages(top_level_messages) }}
{% for thread_ts, thread_msgs in thread_messages.items() %}
{% if thread_ts != target_thread_ts %}
### スレッド: {{ thread_ts }}

{{ render_messages(thread_msgs) }}
{% endif %}
{% endfor %}
## 判定対象スレッド: {{ target_thread_ts }}

{{ render_messages(target_thread_messages) }}
{% else %}
## 判定対象: トップレベル会話

{{ render_messages(top_level_messages) }}
{% for thread_ts, thread_msgs in thread_messages.items() %}
### スレッド: {{ thread_ts }}

{{ render_messages(thread_msgs) }}
{% endfor %}
{% endif %}
---
現在時刻: {{ current_time }}
"#;

#[test]
fn a_handwritten_template_can_be_used() {
    let folder = folder(&[("judge.j2", HANDWRITTEN_TEMPLATE)]);
    let prompts = PromptBuilder::load(Language::Ja, Some(folder.path())).unwrap();
    for (target, expected) in [
        (
            Some(THREAD),
            "## チャンネル情報|- #general|## 現在の会話|### トップレベル|おはよう！|おはよう〜|\
             ## 判定対象スレッド: 1709280000.000001|今日のタスク確認しよう|了解、リスト共有するね|---|\
             現在時刻: 2024-03-01 12:00:00 UTC",
        ),
        (
            None,
            "## チャンネル情報|- #general|## 現在の会話|## 判定対象: トップレベル会話|おはよう！|おはよう〜|\
             ### スレッド: 1709280000.000001|今日のタスク確認しよう|了解、リスト共有するね|---|\
             現在時刻: 2024-03-01 12:00:00 UTC",
        ),
    ] {
        let context = Arc::new(ordered_layout(target));
        let prompt = prompts.judge(&persona(Language::Ja), &context, &scene());
        let lines = from(&prompt.text, "## チャンネル情報").into_iter();
        let lines = lines.filter(|line| !line.starts_with("**"));
        assert_eq!(lines.collect::<Vec<_>>().join("|"), expected);
    }
}
