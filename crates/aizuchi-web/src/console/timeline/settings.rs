//! The ordered settings on the page of a channel: those of the channel, and those of its threads.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_actions::settings::{source_text, unpriced_note, value_text};
use aizuchi_model::access_role::AccessRole;
use aizuchi_model::chat::{Channel, MessageId, UserId, Visibility, to_single_line};
use aizuchi_model::memory::asker::signer;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Rulebook;
use aizuchi_model::rules::place::{ConfiguredPlace, Place, SettingSource};
use aizuchi_model::rules::setting_override::{SettingKind, SettingOverride, SettingScope};
use aizuchi_model::texts;
use jiff::SignedDuration;

use crate::order_journal::user_names;
use crate::{ApiProblem, Web};

/// The maximum age of the newest message of a thread that can be chosen.
const CHOOSABLE: SignedDuration = SignedDuration::from_hours(30 * 24);
/// The maximum number of threads to choose from, newest first.
const MOST_THREADS: usize = 20;
/// The maximum length of the excerpt from a thread's first message, in characters.
const MAX_LABEL: usize = 40;

/// A setting as it applies in the channel.
pub struct ChannelSettingRow {
    pub name: &'static str,
    pub word: &'static str,
    pub value: String,
    /// What a budget does not count.
    pub note: Option<&'static str>,
    /// The value with which the field begins. Empty if there is none.
    pub entered: String,
    /// Where it comes from.
    pub source: String,
    /// Who ordered it, if it was ordered.
    pub by: Option<String>,
    /// The values to choose from. Empty if any valid value can be entered.
    pub choices: Vec<String>,
    /// Whether the value in force is one of the choices.
    pub is_chosen: bool,
    pub may_change: bool,
    /// The places in which it was ordered: this channel, or an empty id for all.
    pub set_in: Vec<String>,
}

/// The threads that have settings of their own, and those for which settings can be ordered.
#[derive(Default)]
pub struct SettingsOfThreads {
    pub threads: Vec<ThreadWithSettings>,
    pub choices: Vec<ThreadChoice>,
    pub kinds: Vec<KindChoice>,
}

pub struct ThreadWithSettings {
    pub id: String,
    pub label: String,
    pub settings: Vec<ThreadSettingRow>,
}

pub struct ThreadSettingRow {
    pub name: &'static str,
    pub word: &'static str,
    pub value: String,
    pub source: String,
    pub by: Option<String>,
    /// Only an order can be cleared here. The config's own value is changed in the config.
    pub may_clear: bool,
}

pub struct ThreadChoice {
    pub id: String,
    pub label: String,
}

/// A setting that a thread may have.
pub struct KindChoice {
    pub name: &'static str,
    pub word: &'static str,
    pub hint: String,
}

/// Describes the settings of a channel and its threads.
pub struct SettingsRenderer<'a> {
    pub web: &'a Web,
    pub access: &'a Access,
    pub channel: &'a Channel,
    pub language: Language,
    pub rulebook: &'a Rulebook,
}

impl SettingsRenderer<'_> {
    fn ordered(&self) -> &[SettingOverride] {
        self.rulebook.ordered.get(&self.channel.workspace).map(Vec::as_slice).unwrap_or_default()
    }

    fn may_change(&self, kind: SettingKind) -> bool {
        let is_operator = self.access.role() == Some(AccessRole::Operator);
        self.rulebook.offers(kind) && !(kind == SettingKind::Model && is_operator)
    }

    fn choices(&self, kind: SettingKind) -> Vec<String> {
        if kind == SettingKind::Model {
            return self.rulebook.model_choices.iter().map(ToString::to_string).collect();
        }
        kind.choices().unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    /// Returns the names of the users whose orders apply in the workspace.
    async fn names(&self) -> Result<HashMap<UserId, Arc<str>>, ApiProblem> {
        let signers = self.ordered().iter().filter_map(|order| signer(&order.by));
        let ids: BTreeSet<UserId> = signers.map(UserId::new).collect();
        user_names(self.web, self.access, &self.channel.workspace, &ids).await
    }

    fn set_by(&self, by: &str, names: &HashMap<UserId, Arc<str>>) -> String {
        let name = match signer(by) {
            Some(id) => names.get(&UserId::new(id)).map_or(id.to_owned(), ToString::to_string),
            None if by.is_empty() => texts::console::this_machine(self.language).to_owned(),
            None => by.to_owned(),
        };
        texts::settings::set_by(self.language, &name)
    }

    /// Returns the settings of the channel.
    pub async fn rows(&self) -> Result<Vec<ChannelSettingRow>, ApiProblem> {
        let (language, place) = (self.language, Place::of_channel(self.channel));
        let rules = self.rulebook.rules_in(&place);
        let names = self.names().await?;
        let row = |kind: SettingKind| {
            let source = self.rulebook.source_in(&place, kind);
            let (value, choices) = (kind.value_in(rules), self.choices(kind));
            let entered = value.as_ref().map(ToString::to_string).unwrap_or_default();
            let value = value_text(language, kind, value);
            ChannelSettingRow {
                name: kind.name(),
                word: texts::settings::command_word(language, kind),
                is_chosen: choices.contains(&value),
                value,
                note: unpriced_note(language, kind, self.rulebook).filter(|_| !entered.is_empty()),
                entered,
                source: source_text(language, source),
                by: match source {
                    SettingSource::Ordered(order) => Some(self.set_by(&order.by, &names)),
                    SettingSource::Configured(_) => None,
                },
                choices,
                may_change: self.may_change(kind),
                set_in: self.set_in(kind),
            }
        };
        Ok(SettingKind::all().map(row).collect())
    }

    fn set_in(&self, kind: SettingKind) -> Vec<String> {
        let is_set = |scope: &SettingScope| {
            let mut ordered = self.ordered().iter();
            ordered.any(|order| order.scope == *scope && order.setting.kind() == kind)
        };
        let places = [SettingScope::Channel(self.channel.id.clone()), SettingScope::Workspace];
        let places = places.iter().filter(|scope| is_set(scope));
        places.map(|scope| scope.columns().0.to_owned()).collect()
    }

    /// Returns the settings of the channel's threads.
    pub async fn of_threads(&self) -> Result<SettingsOfThreads, ApiProblem> {
        let (workspace, id) = (&self.channel.workspace, &self.channel.id);
        let since = self.web.clock.now() - CHOOSABLE;
        let mut active = self.web.archive.threads_since(workspace, id, since).await?;
        active.sort_by_key(|(_, newest)| std::cmp::Reverse(*newest));
        active.truncate(MOST_THREADS);
        let ordered = self.ordered().iter().filter_map(|order| match &order.scope {
            SettingScope::Thread(channel, thread) if channel == id => Some(thread.clone()),
            SettingScope::Thread(..) | SettingScope::Channel(_) | SettingScope::Workspace => None,
        });
        let mut own: BTreeSet<MessageId> = ordered.collect();
        own.extend(self.rulebook.configured_threads(&Place::of_channel(self.channel)));
        let names = self.names().await?;
        let mut threads = Vec::new();
        for thread in own {
            let settings = self.thread_rows(&thread, &names);
            if !settings.is_empty() {
                let (id, label) = (thread.to_string(), self.label(&thread).await?);
                threads.push(ThreadWithSettings { id, label, settings });
            }
        }
        let mut choices: Vec<ThreadChoice> = Vec::new();
        for (thread, _) in active {
            let label = self.label(&thread).await?;
            choices.push(ThreadChoice { id: thread.to_string(), label });
        }
        for thread in &threads {
            if choices.iter().all(|choice| choice.id != thread.id) {
                let (id, label) = (thread.id.clone(), thread.label.clone());
                choices.push(ThreadChoice { id, label });
            }
        }
        let kinds = SettingKind::all().filter(|kind| kind.is_of_threads());
        let kinds = kinds.filter(|kind| self.may_change(*kind)).map(|kind| KindChoice {
            name: kind.name(),
            word: texts::settings::command_word(self.language, kind),
            hint: match kind.choices() {
                Ok(_) => self.choices(kind).join(", "),
                Err(hint) => hint.to_owned(),
            },
        });
        Ok(SettingsOfThreads { threads, choices, kinds: kinds.collect() })
    }

    /// Returns the settings that were ordered in a thread, or that the config has for it alone.
    fn thread_rows(
        &self,
        thread: &MessageId,
        names: &HashMap<UserId, Arc<str>>,
    ) -> Vec<ThreadSettingRow> {
        let (language, channel) = (self.language, Place::of_channel(self.channel));
        let place = Place { thread: Some(thread), ..channel };
        let here = SettingScope::Thread(self.channel.id.clone(), thread.clone());
        let mut rows = Vec::new();
        for kind in SettingKind::all().filter(|kind| kind.is_of_threads()) {
            let row = |value: String, source: String, by: Option<String>| ThreadSettingRow {
                name: kind.name(),
                word: texts::settings::command_word(language, kind),
                value,
                source,
                may_clear: by.is_some() && self.may_change(kind),
                by,
            };
            let ordered = self.ordered().iter();
            let ordered =
                ordered.filter(|order| order.scope == here && order.setting.kind() == kind);
            rows.extend(ordered.map(|order| {
                let source = source_text(language, SettingSource::Ordered(order));
                row(order.setting.to_string(), source, Some(self.set_by(&order.by, names)))
            }));
            let configured = kind.value_in(self.rulebook.configured_rules_in(&place));
            if configured != kind.value_in(self.rulebook.configured_rules_in(&channel)) {
                let source = SettingSource::Configured(ConfiguredPlace::Thread);
                rows.push(row(
                    value_text(language, kind, configured),
                    source_text(language, source),
                    None,
                ));
            }
        }
        rows
    }

    /// Returns the beginning of a thread's first message if everybody may know it, else its id.
    async fn label(&self, thread: &MessageId) -> Result<String, ApiProblem> {
        let (workspace, id) = (&self.channel.workspace, &self.channel.id);
        let found = self.web.archive.message(workspace, id, thread).await?;
        let shown = found.filter(|stored| {
            let is_hidden = stored.is_withheld || stored.is_deleted || stored.is_expired;
            // A read of a private message would have to be recorded.
            let is_public = stored.visibility == Visibility::Public;
            is_public && !is_hidden && self.access.may_read_message(stored)
        });
        let text = shown.map(|stored| to_single_line(&stored.message.text)).unwrap_or_default();
        let label: String = text.chars().take(MAX_LABEL).collect();
        Ok(match (label.is_empty(), label.len() < text.len()) {
            (true, _) => thread.to_string(),
            (false, true) => format!("{}…", label.trim_end()),
            (false, false) => label,
        })
    }
}
