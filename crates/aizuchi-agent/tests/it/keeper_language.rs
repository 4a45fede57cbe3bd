//! A keeper is asked about a channel in the channel's language, which is also that of the outcome, the buttons and
//! the form. On every store.

use aizuchi_actions::question::{Choice, QuestionSubject};
use aizuchi_harness::fixtures::{JOIN, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::on_every_database;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::UserId;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::{ChannelRules, LanguageRule, Mode, Rulebook};
use aizuchi_platform::keeper::edit::FilledForm;
use aizuchi_platform::keeper::{Click, ClickAnswer, KeeperLengths, Keepers};

use crate::keepers::{TestChat, look};

/// The channel's language takes precedence over the installation's, in both directions.
#[tokio::test]
async fn a_keeper_is_asked_in_the_language_of_the_channel() {
    let cases = [
        (
            Language::En,
            Language::Ja,
            "#garden で、こう話そうと思います。",
            "理由：nobody answers",
            ["話す", "文を変える", "今は話さない", "こういうことは話さない"],
            [
                "あなたは、そのチャンネルの担当の人ではありません。",
                "投稿する文がありません。",
                "文を変えて話す",
            ],
            "#garden の件は「文を変えて承認」となりました。",
            "これについてはもう決まっています。",
        ),
        (
            Language::Ja,
            Language::En,
            "In #garden I’d say:",
            "Why: nobody answers",
            ["Say it", "Edit", "Not now", "Never like this"],
            [
                "You don’t look after that channel.",
                "There are no words to post.",
                "Say it in other words",
            ],
            "In #garden: said in other words.",
            "Somebody has already decided about this.",
        ),
    ];
    for (global, own, heading, why, buttons, [not_keeper, no_words, title], settled, late) in cases
    {
        on_every_database(async |store| {
            let language = LanguageRule::Fixed(own);
            let default_rules =
                ChannelRules { mode: Mode::Propose, language, ..ChannelRules::default() };
            let keeper = Some(UserId::new("ren"));
            let book = Rulebook { default_rules, keeper, ..Rulebook::default() };
            let options = HarnessOptions::from_rulebook(book);
            let harness = Harness::new(store).await.with_options(options);
            harness.mind.script.set_default(PromptVerb::Judge, JOIN);
            let keepers = Keepers {
                inbox: harness.inbox.clone(),
                archive: harness.store.archive.clone(),
                cursors: harness.store.cursors.clone(),
                language: global,
                lengths: KeeperLengths { form: 3_000, post: 3_000 },
            };
            let chat = TestChat::default();
            harness.says("alice", "when do I cut the roses?").await;
            harness.pass(400).await;
            look(&keepers, &chat).await;
            let question = chat.questions.lock().unwrap()[0].clone();
            assert_eq!((question.heading.as_str(), question.note.as_str()), (heading, why));
            let words: Vec<&str> = question.buttons.iter().map(|(_, words)| *words).collect();
            assert_eq!(words, buttons);
            let QuestionSubject::Proposal(proposal) = question.subject else {
                panic!("{question:?}")
            };
            let click = async |user: &str, button| {
                let (workspace, user) = (workspace(), UserId::new(user));
                keepers.answer(Click { workspace, subject: question.subject, user, button }).await
            };
            let told = click("alice", Choice::Never).await;
            assert_eq!(told, ClickAnswer::Tell(not_keeper));
            let ClickAnswer::Open(form) = click("ren", Choice::Edit).await else {
                panic!("no form")
            };
            assert_eq!((form.title, form.language), (title, own));
            let submit = async |text: &str| {
                let (workspace, user) = (workspace(), UserId::new("ren"));
                let text = text.to_owned();
                keepers.submit(FilledForm { workspace, proposal, user, text }).await
            };
            assert_eq!(submit(" ").await, Some(no_words));
            assert_eq!(submit("In March.").await, None);
            let told = click("ren", Choice::Say).await;
            assert_eq!(told, ClickAnswer::Tell(late));
            look(&keepers, &chat).await;
            assert_eq!(chat.texts(), [settled]);
        })
        .await;
    }
}
