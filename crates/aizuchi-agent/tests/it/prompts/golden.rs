//! The prompt layouts that are required word for word, and a snapshot of every prompt in both languages.

use std::sync::Arc;

use aizuchi_harness::harness::prompts;
use aizuchi_llm::prompt::builder::PromptOptions;
use aizuchi_llm::prompt::memory_input::{
    EntryOwner, KnownEntry, MemoryInput, MemorySource, MessageBlock,
};
use aizuchi_model::chat::{ChannelId, MessageId, UserId, Visibility, WorkspaceId};
use aizuchi_model::context::{Context, Intent, ThreadMemory};
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::{MemoryEntry, MemoryKey, MemoryScope, MemoryTerm};
use aizuchi_model::persona::Language;
use aizuchi_model::recall::RecalledMessage;
use aizuchi_model::standing_order::{StandingOrder, StandingOrderScope, StandingOrderText};
use jiff::civil::date;

use crate::prompts::{THREAD, channel, conversation, from, noon, persona, said, scene, talk};

/// Both languages, with the suffixes of their snapshots' names.
const LANGUAGES: [(Language, &str); 2] = [(Language::En, ""), (Language::Ja, "_ja")];

/// The beginning of both required example prompts.
const ORDERED_MEMORY: &str = "## 記憶
### ワークスペースの歴史
- 2024年1月: プロジェクトAが開始された
- 2024年2月: 新メンバーが参加した
### ワークスペースの最近の出来事
- プロジェクトAの進捗確認中
- 来週のミーティング準備
## チャンネル情報
あなたが参加しているチャンネルは以下です。
- #general
現在、あなたは #general にいます。
## 各チャンネルの記憶
### #general
#### 歴史
- チーム全体の連絡に使用
- 週次報告が行われる
#### 最近の出来事
- 今週の進捗報告が投稿された
- 新しいツールの導入検討中
## 現在の会話
現在は、#general チャンネルにいます。
直近の会話は以下の通りです。
";

const ORDERED_THREAD: &str = "### トップレベル
**2024-03-01 10:00:00** alice:
おはよう！
**2024-03-01 10:05:00** bob:
おはよう〜
## 判定対象スレッド: 1709280000.000001
**2024-03-01 10:10:00** alice:
今日のタスク確認しよう
**2024-03-01 10:15:00** bob:
了解、リスト共有するね
---
現在時刻: 2024-03-01 12:00:00 UTC
";

const ORDERED_TOP_LEVEL: &str = "## 判定対象: トップレベル会話
**2024-03-01 10:00:00** alice:
おはよう！
**2024-03-01 10:05:00** bob:
おはよう〜
### スレッド: 1709280000.000001
**2024-03-01 10:10:00** alice:
今日のタスク確認しよう
**2024-03-01 10:15:00** bob:
了解、リスト共有するね
---
現在時刻: 2024-03-01 12:00:00 UTC
";

/// The data of the required example prompts.
pub fn ordered_layout(target: Option<&str>) -> Context {
    let messages = vec![
        said(0, "alice", "おはよう！", None),
        said(5, "bob", "おはよう〜", None),
        said(10, "alice", "今日のタスク確認しよう", Some(THREAD)),
        said(15, "bob", "了解、リスト共有するね", Some(THREAD)),
    ];
    let general = channel(
        "C001",
        "general",
        "- チーム全体の連絡に使用\n- 週次報告が行われる",
        "- 今週の進捗報告が投稿された\n- 新しいツールの導入検討中",
    );
    Context {
        workspace_long_term_memory: Some(
            "\n- 2024年1月: プロジェクトAが開始された\n- 2024年2月: 新メンバーが参加した\n".into(),
        ),
        workspace_short_term_memory: Some(
            "\n- プロジェクトAの進捗確認中\n- 来週のミーティング準備\n".into(),
        ),
        channel_memories: vec![general],
        ..talk(target, messages)
    }
}

/// After the rules, which an order does not change, and before the parts that differ between prompts.
#[test]
fn orders_stand_before_the_memory() {
    for (language, heading, orders, memory) in [
        (
            Language::En,
            "## Standing orders",
            [
                "- Order 3 (for all channels): “be kind”",
                "- Order 5 (for this thread): “say \'plugh\'”",
            ],
            "## Memory",
        ),
        (
            Language::Ja,
            "## 指示",
            ["- 指示3（全チャンネル）: 「be kind」", "- 指示5（このスレッド）: 「say \'plugh\'」"],
            "## 記憶",
        ),
    ] {
        let order = |number, scope, text: &str| StandingOrder {
            number,
            version: 1,
            scope,
            text: StandingOrderText::parse(text).unwrap(),
            visibility: Visibility::Public,
            by: "olga".into(),
            given: noon(),
            ended: None,
            is_draft: false,
        };
        let thread = StandingOrderScope::Thread(ChannelId::new("C001"), MessageId::new(THREAD));
        let standing_orders = vec![
            order(3, StandingOrderScope::Workspace, "be kind"),
            order(5, thread, "say \"plugh\""),
        ];
        let context = Arc::new(Context { standing_orders, ..ordered_layout(Some(THREAD)) });
        let prompts = prompts(language);
        let persona = persona(language);
        for prompt in [
            prompts.judge(&persona, &context, &scene()),
            prompts.reply(&persona, &context, &scene()),
        ] {
            let printed = from(&prompt.text, heading);
            assert_eq!(printed[2..4], orders);
            assert_eq!(printed[4], memory);
        }
        let remembered = prompts.state(&persona, &context, &scene());
        assert!(!remembered.text.contains(heading), "{}", remembered.text);
    }
}

#[test]
fn the_ordered_layout_is_printed() {
    let prompts = prompts(Language::Ja);
    for (target, example) in [(Some(THREAD), ORDERED_THREAD), (None, ORDERED_TOP_LEVEL)] {
        let prompt =
            prompts.judge(&persona(Language::Ja), &Arc::new(ordered_layout(target)), &scene());
        let printed = from(&prompt.text, "## 記憶");
        let whole = format!("{ORDERED_MEMORY}{example}");
        let expected: Vec<&str> = whole.lines().collect();
        assert_eq!(printed[..expected.len()], expected);
        assert_eq!(
            printed[expected.len()],
            "上記の会話を分析し、みゃおとして応答すべきかを判断してください。"
        );
        assert!(prompt.text.starts_with("あなたは「みゃお」という名前の猫キャラクターです。"));
    }
}

/// The fields with their headings and labels as required. Sentences that contradicted the criteria are changed.
pub const VERDICT_FIELDS: &str = "## 出力フィールド

### should_respond (boolean)
- `true`: 応答すべき
- `false`: 応答すべきでない

### reason (string)
判断の理由を一文で簡潔に説明してください。
- 例: 「ユーザーが質問しており、まだ誰も回答していないため」
- 例: 「質問にはもう答えが出ており、付け加えることがないため」

### confidence (float: 0.0-1.0)
判断の確信度を数値で示してください：
- 0.9-1.0: はっきりしている。`true` なら4か5に疑いなく当てはまる。`false` なら声をかける理由がない
- 0.7-0.8: 力になれるのが一部だけか、何を求めているのかを推測するしかない
- 0.4-0.6: 判断基準に当てはまるか疑わしい点がある
- 0.0-0.3: 当て推量

### delay_seconds (integer | null)
応答するまでの遅延秒数を指定してください（should_respond=trueの場合のみ有効）：

**遅延ガイドライン**:
- `0`、`null` または省略: すぐに応答する場合
- `30-120`: 他の人が反応するかもしれない場合
- `180-600`: 会話の流れを妨げたくない場合

**考慮事項**:
- 誤りや危険に気づかないまま動こうとしている人がいる場合は `0`
- 困っている人がいる場合は短めに
- メッセージから経過時間が長い場合は短めに（既に待たせている）

";

#[test]
fn a_verdict_has_its_fields() {
    let context = Arc::new(ordered_layout(None));
    let prompt = prompts(Language::Ja).judge(&persona(Language::Ja), &context, &scene());
    assert!(prompt.text.contains(VERDICT_FIELDS), "{}", prompt.text);
    let headings: Vec<&str> =
        prompt.text.lines().filter(|line| line.starts_with("## ")).take(4).collect();
    assert_eq!(headings, ["## 判断基準", "## 応答しない条件", "## 出力フィールド", "## 記憶"]);
}

const EXAMPLE_WHOLE: &str = "## 記憶
### ワークスペースの歴史
{workspace_long_term_memory}
### ワークスペースの最近の出来事
{workspace_short_term_memory}
## チャンネル情報
あなたが参加しているチャンネルは以下です。
- #general
- #random
- #dev
現在、あなたは #general にいます。
## 各チャンネルの記憶
### #general
#### 歴史
{general_long_term_memory}
#### 最近の出来事
{general_short_term_memory}
### #random
#### 歴史
{random_long_term_memory}
## 現在のスレッド一覧
### スレッド: 1234567890.000000
{thread_summary_1}
### スレッド: 1234567891.000000
{thread_summary_2}
## 現在の会話
### #general
#### スレッド: 1234567890.000000
**2024-03-01 10:00:00** user1:
メッセージ1
**2024-03-01 10:01:00** user2:
メッセージ2
---
上記の情報をもとに、現在の会話に返答してください。";

const EXAMPLE_BARE: &str = "## 現在の会話
### #general
#### トップレベルメッセージ
**2024-03-01 10:00:00** user1:
メッセージ1
---
上記の情報をもとに、現在の会話に返答してください。";

#[test]
fn the_ordered_reply_is_printed() {
    let thread = "1234567890.000000";
    let summary = |thread: &str, text: &str| ThreadMemory {
        thread: MessageId::new(thread),
        memory: text.into(),
    };
    let lines = vec![
        said(0, "user1", "メッセージ1", Some(thread)),
        said(1, "user2", "メッセージ2", Some(thread)),
    ];
    let whole = Context {
        workspace_long_term_memory: Some("{workspace_long_term_memory}".into()),
        workspace_short_term_memory: Some("{workspace_short_term_memory}".into()),
        channel_memories: vec![
            channel("C001", "general", "{general_long_term_memory}", "{general_short_term_memory}"),
            channel("C002", "random", "{random_long_term_memory}", ""),
            channel("C003", "dev", "", ""),
        ],
        thread_memories: vec![
            summary(thread, "{thread_summary_1}"),
            summary("1234567891.000000", "{thread_summary_2}"),
        ],
        ..talk(Some(thread), lines)
    };
    let bare = talk(None, vec![said(0, "user1", "メッセージ1", None)]);
    for (context, first, example) in
        [(whole, "## 記憶", EXAMPLE_WHOLE), (bare, "## 現在の会話", EXAMPLE_BARE)]
    {
        let prompt =
            prompts(Language::Ja).reply(&persona(Language::Ja), &Arc::new(context), &scene());
        // Our prompts have the time before the instruction; the example does not.
        let printed = from(&prompt.text, first).into_iter();
        let printed: Vec<&str> =
            printed.filter(|line| *line != "現在時刻: 2024-03-01 12:00:00 UTC").collect();
        let expected: Vec<&str> = example.lines().collect();
        assert_eq!(printed[..expected.len()], expected);
    }
}

#[test]
fn other_conversations_come_first_and_a_parent_heads_its_thread() {
    let messages = || {
        vec![
            said(0, "alice", "parent", None),
            said(1, "bob", "beside", None),
            said(2, "carol", "reply", Some("00000")),
            said(3, "dave", "elsewhere", Some("00001")),
        ]
    };
    let prompts = prompts(Language::En);
    let printed = |target: Option<&str>| {
        let context = Arc::new(talk(target, messages()));
        let prompt = prompts.reply(&persona(Language::En), &context, &scene());
        let talk = from(&prompt.text, "## Current conversation");
        let end = talk.iter().position(|line| *line == "---").unwrap();
        let talk = talk[2..end].iter().filter(|line| !line.starts_with("**"));
        talk.copied().collect::<Vec<_>>().join("|")
    };
    assert_eq!(
        printed(Some("00000")),
        "#### Top level|beside|#### Thread: 2024-03-01 10:01:00 bob|beside|elsewhere|\
         #### Thread: 2024-03-01 10:00:00 alice|parent|reply"
    );
    assert_eq!(
        printed(None),
        "#### Thread: 2024-03-01 10:00:00 alice|parent|reply|\
         #### Thread: 2024-03-01 10:01:00 bob|beside|elsewhere|#### Top level|parent|beside"
    );
}

/// A context with everything.
pub fn everything(target: Option<&str>) -> (Context, PromptOptions) {
    let memo = |name: &str, tags: &[&str], has_detail: bool| Memo {
        name: name.to_owned(),
        content: format!("about {name}"),
        priority: 4,
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        detail: has_detail.then(|| "more".to_owned()),
        created: noon(),
        updated: noon(),
        channel: ChannelId::new("C001"),
        visibility: Visibility::Public,
        said_by: None,
    };
    let recalled = |minute: i64, who: &str, text: &str| {
        let mut message = said(minute, who, text, None);
        Arc::make_mut(&mut message).conversation.channel = ChannelId::new("C004");
        let (author_name, channel_name) = (who.into(), "garden".into());
        RecalledMessage { message, author_name, channel_name, score: 1.0 }
    };
    let mut messages = vec![
        said(0, "alice", "Who waters the roses?", None),
        said(1, "bob", "Lunch at noon?", None),
        said(2, "(persona)", "I could remind you.", Some("00000")),
        said(3, "alice", "Please do!\n# soon\n- and often", Some("00000")),
    ];
    if target.is_none() {
        messages.push(said(4, "U9", "@Aizuchi what do roses like?", None));
    }
    let owed = if target.is_none() { vec![MessageId::new("00004").into()] } else { Vec::new() };
    let intent = Intent {
        reason: "she asked".to_owned(),
        about: Some(MessageId::new("00003")),
        ..Intent::default()
    };
    let context = Context {
        workspace_long_term_memory: Some("- 2024-01-05: the garden was opened".into()),
        workspace_short_term_memory: Some("- 2024-02-29: everybody plants".into()),
        channel_memories: vec![
            channel("C002", "cellar", "", "- 2024-02-29: the cellar is damp"),
            channel("C001", "general", "- 2024-01-05: for all", "- 2024-02-29: roses"),
            channel("C003", "roof", "", ""),
        ],
        thread_memories: vec![ThreadMemory {
            thread: MessageId::new("00000"),
            memory: "- 2024-03-01: alice wants to be reminded".into(),
        }],
        names: [(UserId::new("U9"), "Aizuchi".into())].into(),
        owed,
        intent: target.is_some().then_some(intent),
        important_memos: vec![
            memo("birthdays", &["people", "dates"], true),
            memo("tea", &[], false),
        ],
        recent_memos: vec![memo("cake", &[], true), memo("roof", &["house"], false)],
        recalled_messages: vec![
            recalled(-9000, "carol", "Roses like it dry."),
            recalled(-8000, "dave", "My roses do not."),
        ],
        ..talk(target, messages)
    };
    (context, scene())
}

#[test]
fn every_prompt_in_both_languages() {
    for (language, suffix) in LANGUAGES {
        let (prompts, persona) = (prompts(language), persona(language));
        for (name, target) in [("thread", Some("00000")), ("top", None)] {
            let (context, scene) = everything(target);
            let context = Arc::new(context);
            let judge = prompts.judge(&persona, &context, &scene);
            insta::assert_snapshot!(format!("judge_{name}{suffix}"), judge.text);
            let reply = prompts.reply(&persona, &context, &scene);
            insta::assert_snapshot!(format!("reply_{name}{suffix}"), reply.text);
            let state = prompts.state(&persona, &context, &scene);
            insta::assert_snapshot!(format!("state_{name}{suffix}"), state.text);
            assert_eq!((reply.max_tokens, state.max_tokens), (None, Some(20)));
        }
    }
}

/// Input for each memory, in every combination of sources.
pub fn materials() -> Vec<(&'static str, MemoryInput)> {
    let known = |number: i8, owner: EntryOwner| {
        MemorySource::Entry(KnownEntry {
            owner,
            entry: MemoryEntry {
                date: date(2024, 2, number),
                text: format!("fact {number}").into(),
                visibility: Visibility::Public,
                messages: Vec::new(),
                pinned: false,
            },
        })
    };
    let of = |name: &str, term: MemoryTerm| EntryOwner::Channel {
        id: ChannelId::new(name),
        name: name.into(),
        term,
    };
    let block = |thread: Option<&str>, messages: Vec<_>| {
        MemorySource::Messages(MessageBlock { conversation: conversation(thread), messages })
    };
    let top = |minute: i64| block(None, vec![said(minute, "alice", "Who waters them?", None)]);
    let reply =
        |minute: i64| block(Some("00000"), vec![said(minute, "bob", "I do.\n---", Some("00000"))]);
    let channel = || MemoryScope::Channel(ChannelId::new("C001"));
    let thread = || MemoryScope::Thread(ChannelId::new("C001"), MessageId::new("00000"));
    let parts = || vec![known(1, EntryOwner::Part), known(2, EntryOwner::Part)];
    let material = |scope: MemoryScope, term: MemoryTerm, sources: Vec<MemorySource>| MemoryInput {
        key: MemoryKey { workspace: WorkspaceId::new("W"), scope, term },
        max_tokens: if term == MemoryTerm::LongTerm { 500 } else { 300 },
        sources,
        channel_name: "general".into(),
        visibility: Visibility::Public,
        names: Default::default(),
        merged: Vec::new(),
        kept: Default::default(),
        seen_revision: 0,
    };
    let (short, long) = (MemoryTerm::ShortTerm, MemoryTerm::LongTerm);
    vec![
        ("thread_short_term", material(thread(), short, vec![reply(1), reply(2)])),
        (
            "channel_short_term",
            material(
                channel(),
                short,
                vec![known(1, EntryOwner::SameMemory), top(0), top(1), reply(2), reply(3)],
            ),
        ),
        (
            "channel_long_term",
            material(
                channel(),
                long,
                vec![known(1, EntryOwner::SameMemory), known(2, of("general", short))],
            ),
        ),
        (
            "workspace_short_term",
            material(
                MemoryScope::Workspace,
                short,
                vec![
                    known(1, of("general", short)),
                    known(2, of("general", short)),
                    known(3, of("roof", short)),
                ],
            ),
        ),
        (
            "workspace_long_term",
            material(
                MemoryScope::Workspace,
                long,
                vec![
                    known(1, EntryOwner::SameMemory),
                    known(2, of("general", long)),
                    known(3, of("roof", long)),
                ],
            ),
        ),
        ("channel_short_term_from_parts", material(channel(), short, parts())),
        ("thread_short_term_from_parts", material(thread(), short, parts())),
        (
            "channel_long_term_with_lost_lines",
            material(channel(), long, vec![known(1, EntryOwner::SameMemory), top(0), reply(2)]),
        ),
        (
            "channel_long_term_with_both",
            material(
                channel(),
                long,
                vec![known(1, EntryOwner::SameMemory), known(2, of("general", short)), top(0)],
            ),
        ),
        ("channel_long_term_of_lost_lines", material(channel(), long, vec![top(0)])),
    ]
}

#[test]
fn every_memory_in_both_languages() {
    for (language, suffix) in LANGUAGES {
        let (prompts, persona) = (prompts(language), persona(language));
        for (name, material) in materials() {
            let material = Arc::new(material);
            let prompt = prompts.remember(&persona, &material, &scene());
            insta::assert_snapshot!(format!("remember_{name}{suffix}"), prompt.text);
            // Dates and source numbers are added to the limit.
            assert_eq!(prompt.max_tokens, Some(2 * material.max_tokens + 100));
            assert_eq!(prompt.memory_input.as_deref(), Some(&*material));
        }
    }
}

/// The headings of myao2's memory prompts.
#[test]
fn memories_have_the_headings_of_myao2() {
    let prompts = prompts(Language::Ja);
    let headings = materials().into_iter().map(|(_, material)| {
        let prompt = prompts.remember(&persona(Language::Ja), &Arc::new(material), &scene());
        let lines = from(&prompt.text, "## 出力形式").into_iter().skip(1);
        let lines = lines.filter(|line| line.starts_with('#') || line.starts_with("以下は"));
        lines.map(str::to_owned).collect::<Vec<_>>().join("|")
    });
    assert_eq!(
        headings.collect::<Vec<_>>(),
        [
            "## 要約対象スレッド: 00000|#### [1]|#### [2]",
            "## 既存のチャンネル短期記憶|## 要約対象: チャンネル会話履歴|以下は #general チャンネルの直近の会話です。|\
             ### トップレベル|#### [2]|#### [3]|### スレッド: 2024-03-01 10:00:00 alice|#### [4]|#### [5]",
            "## 既存のチャンネル長期記憶|## 統合対象: チャンネルの短期記憶",
            "## 統合対象: 各チャンネルの短期記憶|### #general|### #roof",
            "## 統合対象|### 既存のワークスペース長期記憶|### #general の長期記憶|### #roof の長期記憶",
            "## 統合対象: 新しい記憶の各部分",
            "## 統合対象: 新しい記憶の各部分",
            "## 既存のチャンネル長期記憶|## あらためて覚える会話|\
             以下は #general チャンネルの会話のうち、いまの長期記憶に残っていないものです。|\
             ### トップレベル|#### [2]|### スレッド: 2024-03-01 10:00:00 alice|#### [3]",
            "## 既存のチャンネル長期記憶|## 統合対象: チャンネルの短期記憶|## あらためて覚える会話|\
             以下は #general チャンネルの会話のうち、いまの長期記憶に残っていないものです。|\
             ### トップレベル|#### [3]",
            "## あらためて覚える会話|\
             以下は #general チャンネルの会話のうち、いまの長期記憶に残っていないものです。|\
             ### トップレベル|#### [1]",
        ]
    );
}

#[test]
fn channels_of_the_same_name_are_told_apart() {
    let (_, material) =
        materials().into_iter().find(|(name, _)| *name == "workspace_short_term").unwrap();
    let sources = material.sources.into_iter().enumerate().map(|(index, source)| match source {
        MemorySource::Entry(KnownEntry { entry, .. }) => {
            let id = ChannelId::new(if index == 0 { "C001" } else { "C002" });
            let owner =
                EntryOwner::Channel { id, name: "roof".into(), term: MemoryTerm::ShortTerm };
            MemorySource::Entry(KnownEntry { owner, entry })
        }
        MemorySource::Messages(_) => source,
    });
    let material = Arc::new(MemoryInput { sources: sources.collect(), ..material });
    let text = prompts(Language::En).remember(&persona(Language::En), &material, &scene()).text;
    let entries = from(&text, "### #roof");
    let store = entries.iter().filter(|line| line.starts_with("### ") || line.starts_with("- ["));
    let store: Vec<&str> = store.copied().collect();
    assert_eq!(
        store,
        [
            "### #roof",
            "- [1] 2024-02-01: fact 1",
            "### #roof",
            "- [2] 2024-02-02: fact 2",
            "- [3] 2024-02-03: fact 3",
        ]
    );
}
