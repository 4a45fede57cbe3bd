//! Shows what other settings would have changed in a channel. Its last days are replayed with the settings in force and
//! with others, using the verdicts of the ledger, and the differences are reported message by message.

pub mod material;
pub mod settings;
pub mod comparison;

use std::sync::Arc;

use aizuchi_import::input::database::LabelsByChannel;
use aizuchi_model::decision::tolerance::Label;
use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

use crate::replay::judge::model::{CallCounts, ModelJudge, ShadowModel};
use crate::replay::judge::recorded::RecordedAnswers;
use crate::replay::moments::Moments;
use crate::replay::{Policy, Replay, ReplayJudge, ReplaySettings};
use crate::what_if::comparison::WhatIfComparison;
use crate::what_if::material::Material;
use crate::what_if::settings::TriedSettings;

/// A channel's last days, and the settings to try on them.
pub struct WhatIf {
    pub material: Arc<Material>,
    pub tried: TriedSettings,
    /// The model for the moments for which the ledger has no verdict.
    pub model: ShadowModel,
    /// The welcome labels of the channel, oldest first, for `response.tolerance`. Today's labels apply to all of the
    /// days, as they would from now on.
    pub labels: Vec<Label>,
}

/// The result of a trial.
pub struct WhatIfResult {
    pub comparison: WhatIfComparison,
    /// The calls of both replays: those that were made or, if the model was not asked, those that would be.
    pub calls: CallCounts,
}

/// A model call takes as long as in `aizuchi replay`.
const LATENCY_MS: u64 = 4000;
const SEED: u64 = 1;
/// No call starts later than this, so that the page gets an answer in time. Judgments without an answer stay unknown.
const LONGEST_ASKING: SignedDuration = SignedDuration::from_secs(12);

impl WhatIf {
    /// Runs until it is done or stopped. It blocks, so it must not run on a thread of async tasks.
    pub fn run(&self, stop: &CancellationToken) -> anyhow::Result<WhatIfResult> {
        let model = Arc::new(self.model.judge().until(stop.clone(), LONGEST_ASKING));
        let comparison = self.compare(&model, stop)?;
        Ok(WhatIfResult { comparison, calls: model.counts() })
    }

    fn compare(
        &self,
        model: &Arc<ModelJudge>,
        stop: &CancellationToken,
    ) -> anyhow::Result<WhatIfComparison> {
        let before = self.replay(&self.tried.present, model, stop)?;
        let after = match self.tried.is_changed() {
            true => Some(self.replay(&self.tried.policy, model, stop)?),
            false => None,
        };
        Ok(WhatIfComparison::new(&self.material, &before, after.as_ref()))
    }

    fn replay(
        &self,
        policy: &Policy,
        model: &Arc<ModelJudge>,
        stop: &CancellationToken,
    ) -> anyhow::Result<Moments> {
        let Material { channel, verdicts, since, .. } = &*self.material;
        let recorded = RecordedAnswers::from_verdicts(&channel.name, verdicts.clone());
        let judge = recorded.or_asking(model.clone(), *since);
        // The prompts must be the same whether a model is asked or only priced, so that a cached answer is found again.
        let settings =
            ReplaySettings { judge: ReplayJudge::Model, latency_ms: LATENCY_MS, seed: SEED };
        let replay = Replay::new(policy, settings)?.judged_by(Arc::new(judge)).on_threads(1);
        let labels = LabelsByChannel::from([(channel.name.clone(), self.labels.clone())]);
        let mut moments = Moments::default();
        replay.knowing(&labels).observed().unlogged().until(stop.clone()).run(
            std::slice::from_ref(channel),
            None,
            &mut |_, record| {
                moments = record.moments.take().unwrap_or_default();
                Ok(())
            },
        )?;
        moments.moments.retain(|moment| moment.at >= *since);
        Ok(moments)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use aizuchi_config::Config;
    use aizuchi_config::values::Ratio;
    use aizuchi_llm::builtin::BuiltinMind;
    use aizuchi_llm::price::Prices;
    use aizuchi_model::chat::{
        Author, AuthorKind, Channel, ChannelId, ConversationId, Message, MessageId, UserId,
        Visibility, WorkspaceId,
    };
    use aizuchi_model::decision::Judgment;
    use aizuchi_model::rules::Mode;
    use aizuchi_store::stored_message::StoredMessage;
    use jiff::Timestamp;

    use super::*;
    use crate::replay::judge::model::CallBudget;
    use crate::what_if::comparison::Tally;
    use aizuchi_import::history::{RecordedChannel, RecordedMessage};

    const TEXT: &str = "does anybody know where the spare key is?";

    fn channel() -> Channel {
        Channel {
            workspace: WorkspaceId::new("slack:T1"),
            id: ChannelId::new("C1"),
            name: "tea".into(),
            visibility: Visibility::Public,
            topic: None,
        }
    }

    /// Returns a question that nobody answered, and a judge that would answer it with this confidence.
    fn material(confidence: f64) -> Material {
        let at = Timestamp::from_second(1_700_000_000).unwrap();
        let message = Message {
            conversation: ConversationId {
                workspace: channel().workspace,
                channel: channel().id,
                thread: None,
            },
            id: MessageId::new("m1"),
            at,
            author: Author { id: UserId::new("mia"), kind: AuthorKind::Human },
            text: TEXT.into(),
            mentions: Vec::new(),
            attachments: Vec::new(),
            edits: 0,
        };
        let recorded = RecordedMessage {
            channel: "C1".to_owned(),
            thread: None,
            id: "m1".to_owned(),
            ts: at.as_millisecond() as f64 / 1000.0,
            author: "mia".to_owned(),
            name: Some("Mia".to_owned()),
            text: TEXT.to_owned(),
            reply_to: Vec::new(),
            bot: false,
            opener: false,
        };
        let stored = StoredMessage {
            message: Arc::new(message),
            author_name: "Mia".into(),
            visibility: Visibility::Public,
            is_deleted: false,
            is_expired: false,
            is_withheld: false,
            gate: None,
            reactions: Vec::new(),
            revision: 1,
        };
        let reason = "nobody answers".to_owned();
        let verdict = Judgment { should_respond: true, reason, confidence, ..Judgment::default() };
        Material {
            channel: RecordedChannel::from_messages("C1".to_owned(), vec![recorded]),
            messages: vec![stored],
            since: at,
            is_cut: false,
            verdicts: HashMap::from([(MessageId::new("m1"), verdict)]),
            decisions: HashMap::new(),
        }
    }

    fn spoken_to(tolerance: Option<f64>, labels: Vec<Label>) -> usize {
        let mut config = Config::default();
        config.response.tolerance = tolerance.map(Ratio);
        let tried = TriedSettings::new(&config, &config.rulebook(), &channel(), Mode::Companion);
        let model = ShadowModel {
            llm: Arc::new(BuiltinMind),
            parameters: String::new(),
            cache: Arc::default(),
            limits: CallBudget {
                prices: Prices::default(),
                max_cost_micros: 0,
                max_calls: Some(0),
                timeout: SignedDuration::from_secs(1),
            },
            runtime: None,
        };
        let what_if = WhatIf { material: Arc::new(material(0.75)), tried, model, labels };
        let found = what_if.run(&CancellationToken::new()).unwrap();
        let Tally { spoken_to, kept_silent, .. } = found.comparison.before;
        assert_eq!(spoken_to + kept_silent, 1);
        spoken_to
    }

    /// As the gate does while the program runs: too few labels change nothing.
    #[test]
    fn a_word_that_would_be_unwelcome_is_held_back_in_a_trial_too() {
        let labels = |count| vec![Label { confidence: 0.75, is_welcome: false }; count];
        assert_eq!(spoken_to(None, labels(200)), 1);
        assert_eq!(spoken_to(Some(0.05), labels(49)), 1);
        assert_eq!(spoken_to(Some(0.05), labels(200)), 0);
        let welcome = vec![Label { confidence: 0.75, is_welcome: true }; 200];
        assert_eq!(spoken_to(Some(0.05), welcome), 1);
    }
}
