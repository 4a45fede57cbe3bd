//! What other settings would have changed in a channel: its last days are replayed under the settings in force and under
//! others, with the verdicts that the ledger has, and what they do differently is told message by message.

pub mod material;
pub mod settings;
pub mod comparison;

use std::sync::Arc;

use jiff::SignedDuration;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::replay::history::History;
use crate::replay::judge::answer_cache::AnswerCache;
use crate::replay::judge::ledger::LedgerJudge;
use crate::replay::judge::model::{CallCounts, CallLimits, ModelJudge};
use crate::replay::judge::recorded::RecordedAnswers;
use crate::replay::moments::Moments;
use crate::replay::{Policy, Replay, ReplayJudge, ReplaySettings};
use crate::what_if::comparison::Comparison;
use crate::what_if::material::Material;
use crate::what_if::settings::TriedSettings;
use aizuchi_core::llm::Llm;

/// A channel's last days, and the settings to try on them.
pub struct WhatIf {
    pub material: Arc<Material>,
    pub tried: TriedSettings,
    pub model: ShadowModel,
}

/// The model for the moments that the ledger has no verdict on.
#[derive(Clone)]
pub struct ShadowModel {
    pub llm: Arc<dyn Llm>,
    /// The parameters of its requests, which make other answers.
    pub parameters: String,
    /// What it was asked before.
    pub cache: Arc<AnswerCache>,
    pub limits: CallLimits,
    /// Where its calls run. `None`: it is not asked, and what it would cost is estimated.
    pub runtime: Option<Handle>,
}

/// What came of it.
pub struct WhatIfResult {
    pub comparison: Comparison,
    /// Of both replays. What was asked if the model was, else what would be.
    pub calls: CallCounts,
}

/// A model call takes as long as in `aizuchi replay`.
const LATENCY_MS: u64 = 4000;
const SEED: u64 = 1;
/// What is not known by then stays unknown, so that the page gets an answer.
const LONGEST_ASKING: SignedDuration = SignedDuration::from_secs(12);

impl WhatIf {
    /// Computes until it is done or stopped. It must not run where tasks do.
    /// `calls` hears what was asked, or would be, also if the replay fails or is stopped.
    pub fn run(
        &self,
        stop: &CancellationToken,
        calls: impl FnOnce(&CallCounts),
    ) -> anyhow::Result<WhatIfResult> {
        let model = Arc::new(self.model.judge().until(stop.clone(), LONGEST_ASKING));
        let comparison = self.compare(&model, stop);
        let counts = model.counts();
        calls(&counts);
        Ok(WhatIfResult { comparison: comparison?, calls: counts })
    }

    fn compare(
        &self,
        model: &Arc<ModelJudge>,
        stop: &CancellationToken,
    ) -> anyhow::Result<Comparison> {
        let before = self.replay(&self.tried.present, model, stop)?;
        let after = match self.tried.is_changed() {
            true => Some(self.replay(&self.tried.policy, model, stop)?),
            false => None,
        };
        Ok(Comparison::new(&self.material, &before, after.as_ref()))
    }

    fn replay(
        &self,
        policy: &Policy,
        model: &Arc<ModelJudge>,
        stop: &CancellationToken,
    ) -> anyhow::Result<Moments> {
        let Material { channel, verdicts, since, .. } = &*self.material;
        let recorded = RecordedAnswers::of_verdicts(&channel.name, verdicts.clone());
        let judge = LedgerJudge::new(recorded, model.clone(), *since);
        // The prompts are the same whether a model is asked or only priced, so that an answer is found again.
        let settings =
            ReplaySettings { judge: ReplayJudge::Model, latency_ms: LATENCY_MS, seed: SEED };
        let history = History { channels: vec![channel.clone()], bad_lines: Vec::new() };
        let replay = Replay::new(policy, settings)?.judged_by(Arc::new(judge)).on_threads(1);
        let mut moments = Moments::default();
        replay.observed().unlogged().until(stop.clone()).run(
            &history,
            0,
            None,
            &mut |_, _, record| {
                moments = record.moments.take().unwrap_or_default();
                Ok(())
            },
        )?;
        moments.moments.retain(|moment| moment.at >= *since);
        Ok(moments)
    }
}

impl ShadowModel {
    pub fn judge(&self) -> ModelJudge {
        let Self { llm, parameters, cache, limits, runtime } = self.clone();
        match runtime {
            Some(runtime) => ModelJudge::live(llm, parameters, cache, limits, runtime),
            None => ModelJudge::pricing(llm, parameters, cache, limits),
        }
    }
}
