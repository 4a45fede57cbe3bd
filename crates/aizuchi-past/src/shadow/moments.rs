//! Reads the moments of past decisions, with the prompts that they would get.

use std::sync::Arc;

use aizuchi_config::Config;
use aizuchi_model::chat::Channel;
use aizuchi_model::context::Context;
use aizuchi_model::decision::Decision;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Rulebook;
use aizuchi_store::archive::Archive;
use aizuchi_store::spoken_language::SpokenLanguage;
use aizuchi_store::{Store, StoreError};

use crate::past_moment::PastMoment;
use crate::shadow::prompts::PastPrompts;

/// The sources from which moments are read.
pub struct MomentSource<'a> {
    archive: &'a dyn Archive,
    store: &'a dyn Store,
    config: &'a Config,
    /// The rules in force.
    pub rulebook: Arc<Rulebook>,
    /// The config with another persona, if one is tried.
    tried: Option<Config>,
    loaded: Vec<(Language, Vec<Arc<PastPrompts>>)>,
}

/// A moment that can be judged and answered again.
pub struct TriedMoment {
    pub moment: PastMoment,
    pub context: Context,
    /// The prompts of the present persona, and those of the one that is tried.
    pub prompts: Vec<Arc<PastPrompts>>,
}

/// Why a moment could not be read.
#[derive(Debug)]
pub enum MomentError {
    Store(StoreError),
    /// No prompts can be built.
    Prompts(anyhow::Error),
}

impl From<StoreError> for MomentError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl<'a> MomentSource<'a> {
    pub fn new(
        (archive, store): (&'a dyn Archive, &'a dyn Store),
        config: &'a Config,
        rulebook: Arc<Rulebook>,
    ) -> Self {
        Self { archive, store, config, rulebook, tried: None, loaded: Vec::new() }
    }

    /// Has each moment get the prompts of another config, too.
    pub fn trying(self, tried: Option<Config>) -> Self {
        Self { tried, ..self }
    }

    pub fn archive(&self) -> &'a dyn Archive {
        self.archive
    }

    /// Reads the moment of a decision. `None` if the messages of the decision are gone.
    pub async fn read(
        &mut self,
        channel: &Channel,
        decision: Decision,
    ) -> Result<Option<TriedMoment>, MomentError> {
        let Self { archive, store, config, .. } = *self;
        let window = config.limits().channel_messages;
        let moment = PastMoment::read(archive, store, decision, window).await?;
        let Some(moment) = moment.filter(|moment| moment.covered().next().is_some()) else {
            return Ok(None);
        };
        let context = moment.context(archive, channel).await?;
        let (rulebook, own) = (&*self.rulebook, config.language.own());
        let spoken = SpokenLanguage { archive, rulebook, own };
        let language = spoken.of(&moment.decision.conversation).await?;
        let prompts = self.prompts(language).map_err(MomentError::Prompts)?;
        Ok(Some(TriedMoment { moment, context, prompts }))
    }

    fn prompts(&mut self, language: Language) -> anyhow::Result<Vec<Arc<PastPrompts>>> {
        if let Some((_, prompts)) = self.loaded.iter().find(|(known, _)| *known == language) {
            return Ok(prompts.clone());
        }
        let load = |config: &Config| {
            PastPrompts::new(config, self.rulebook.clone(), language).map(Arc::new)
        };
        let configs = [self.config].into_iter().chain(&self.tried);
        let prompts: Vec<_> = configs.map(load).collect::<anyhow::Result<_>>()?;
        self.loaded.push((language, prompts.clone()));
        Ok(prompts)
    }
}
