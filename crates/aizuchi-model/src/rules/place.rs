//! Which rules apply where: those of a thread before those of its channel, then those of the workspace, of its
//! platform, and the default ones. Users' orders take precedence over the config, and among them, too, the narrower
//! scope comes first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::chat::{Channel, ChannelId, ConversationId, MessageId, Visibility, WorkspaceId};
use crate::rules::setting_override::{
    self, PlaceSetting, SettingKind, SettingOverride, SettingRole, SettingScope,
};
use crate::rules::{ChannelRules, Rulebook};

/// A channel's top level or a thread, with the keys by which its rules are looked up.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub workspace: &'a WorkspaceId,
    pub channel: &'a ChannelId,
    pub thread: Option<&'a MessageId>,
    /// The channel's name, or empty if it is unknown.
    pub name: &'a str,
    pub visibility: Visibility,
}

/// The source of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SettingSource<'a> {
    /// A user's order.
    Ordered(&'a SettingOverride),
    /// The narrowest place for which the config sets a value that differs from its surroundings.
    Configured(ConfiguredPlace),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfiguredPlace {
    Thread,
    Channel,
    Workspace,
    Everywhere,
}

/// The rules of all channels of one workspace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkspaceRules {
    /// For channels without rules of their own.
    pub default_rules: ChannelRules,
    /// See [`Rulebook::channels`].
    pub channels: BTreeMap<String, ChannelRules>,
    /// See [`Rulebook::threads`].
    pub threads: BTreeMap<String, BTreeMap<String, ChannelRules>>,
}

impl<'a> Place<'a> {
    /// Returns the top level of a channel.
    pub fn new(
        workspace: &'a WorkspaceId,
        channel: &'a ChannelId,
        name: &'a str,
        visibility: Visibility,
    ) -> Self {
        Self { workspace, channel, thread: None, name, visibility }
    }

    pub fn of_channel(channel: &'a Channel) -> Self {
        Self::new(&channel.workspace, &channel.id, &channel.name, channel.visibility)
    }

    pub fn of_conversation(
        conversation: &'a ConversationId,
        name: &'a str,
        visibility: Visibility,
    ) -> Self {
        let ConversationId { workspace, channel, thread } = conversation;
        Self { thread: thread.as_ref(), ..Self::new(workspace, channel, name, visibility) }
    }

    /// Returns the scopes whose orders apply there, narrowest first.
    fn scopes(&self) -> impl Iterator<Item = SettingScope> {
        let thread = self.thread.map(|id| SettingScope::Thread(self.channel.clone(), id.clone()));
        let channel = SettingScope::Channel(self.channel.clone());
        thread.into_iter().chain([channel, SettingScope::Workspace])
    }

    /// Returns the keys of the channel in a config, in order of precedence. The name of a direct message is chosen by
    /// the other user, so it cannot be referred to by name.
    fn keys(&self) -> impl Iterator<Item = String> {
        let name = (self.visibility != Visibility::Direct).then(|| format!("#{}", self.name));
        [self.channel.to_string()].into_iter().chain(name)
    }
}

impl WorkspaceRules {
    /// Returns these rules, each changed by the users' orders.
    fn under(&self, orders: &[&SettingOverride]) -> Self {
        let apply = |rules: &ChannelRules| setting_override::apply(orders, rules);
        let each = |rules: &BTreeMap<String, ChannelRules>| {
            rules.iter().map(|(key, rules)| (key.clone(), apply(rules))).collect()
        };
        Self {
            default_rules: apply(&self.default_rules),
            channels: each(&self.channels),
            threads: self.threads.iter().map(|(key, rules)| (key.clone(), each(rules))).collect(),
        }
    }

    fn all_rules(&self) -> impl Iterator<Item = &ChannelRules> {
        let of_threads = self.threads.values().flat_map(BTreeMap::values);
        [&self.default_rules].into_iter().chain(self.channels.values()).chain(of_threads)
    }
}

/// Returns the rules that a layer has for a place: those of its thread, of the channel's id, of the channel's name, or
/// else the layer's default.
fn find<'b>(
    place: &Place<'_>,
    default_rules: &'b ChannelRules,
    channels: &'b BTreeMap<String, ChannelRules>,
    threads: &'b BTreeMap<String, BTreeMap<String, ChannelRules>>,
) -> &'b ChannelRules {
    let of_thread = || {
        let thread = place.thread.filter(|_| !threads.is_empty())?;
        place.keys().find_map(|key| threads.get(&key)?.get(thread.as_str()))
    };
    let of_channel = || {
        // Most configs have no channel rules.
        let keys = (!channels.is_empty()).then(|| place.keys());
        keys?.find_map(|key| channels.get(&key))
    };
    of_thread().or_else(of_channel).unwrap_or(default_rules)
}

impl Rulebook {
    /// Returns the rules that apply in a place.
    pub fn rules_in(&self, place: &Place<'_>) -> &ChannelRules {
        match self.ordered_in(place).or_else(|| self.configured_in(place.workspace)) {
            Some(layer) => find(place, &layer.default_rules, &layer.channels, &layer.threads),
            None => find(place, &self.default_rules, &self.channels, &self.threads),
        }
    }

    /// Returns the configured rules of a place, ignoring orders.
    pub fn configured_rules_in(&self, place: &Place<'_>) -> &ChannelRules {
        match self.configured_in(place.workspace) {
            Some(layer) => find(place, &layer.default_rules, &layer.channels, &layer.threads),
            None => find(place, &self.default_rules, &self.channels, &self.threads),
        }
    }

    /// Returns the value in force in a place. `None` if no model is chosen there.
    pub fn value_in(&self, place: &Place<'_>, kind: SettingKind) -> Option<PlaceSetting> {
        kind.value_in(self.rules_in(place)).or_else(|| {
            let mut unset = self.unset.iter().filter(|(workspace, setting)| {
                setting.kind() == kind && workspace.as_ref().is_none_or(|it| it == place.workspace)
            });
            unset.next().map(|(_, setting)| setting.clone())
        })
    }

    /// Returns the source of a setting's value in a place.
    pub fn source_in(&self, place: &Place<'_>, kind: SettingKind) -> SettingSource<'_> {
        let orders = self.ordered.get(place.workspace).map(Vec::as_slice).unwrap_or_default();
        let of_room = |order: &&SettingOverride| {
            order.setting.kind() == kind
                && self.allows(order)
                && place.scopes().any(|scope| scope == order.scope)
        };
        let (mut applied, mut narrowing): (Vec<&SettingOverride>, Vec<&SettingOverride>) =
            orders.iter().filter(of_room).partition(|order| order.role == SettingRole::Admin);
        let mut source = applied.iter().copied().max_by(|one, other| one.scope.cmp(&other.scope));
        // In the order in which they are applied. An order that changes nothing is not the source.
        narrowing.sort_by_key(|order| (Reverse(order.role), order.scope.clone()));
        let value_under = |orders: &[&SettingOverride]| {
            let orders: Vec<SettingOverride> = orders.iter().copied().cloned().collect();
            let book = self.clone().with_orders(place.workspace, &orders);
            kind.value_in(book.rules_in(place))
        };
        for order in narrowing {
            let before = value_under(&applied);
            applied.push(order);
            if value_under(&applied) != before {
                source = Some(order);
            }
        }
        if let Some(order) = source {
            return SettingSource::Ordered(order);
        }
        let at = |place: &Place<'_>| kind.value_in(self.configured_rules_in(place));
        let channel = Place { thread: None, ..*place };
        let workspace = self.configured_in(place.workspace).map(|layer| &layer.default_rules);
        let around = kind.value_in(workspace.unwrap_or(&self.default_rules));
        SettingSource::Configured(match at(place) {
            here if here != at(&channel) => ConfiguredPlace::Thread,
            here if here != around => ConfiguredPlace::Channel,
            here if here != kind.value_in(&self.default_rules) => ConfiguredPlace::Workspace,
            _ => ConfiguredPlace::Everywhere,
        })
    }

    /// Returns the rules for what belongs to a whole workspace.
    pub fn workspace_rules(&self, workspace: &WorkspaceId) -> &ChannelRules {
        let ordered = match self.ordered_rules.is_empty() {
            true => None,
            false => self.ordered_rules.get(&(workspace.clone(), SettingScope::Workspace)),
        };
        let layer = ordered.or_else(|| self.configured_in(workspace));
        layer.map_or(&self.default_rules, |layer| &layer.default_rules)
    }

    /// Replaces the users' orders in a workspace, and returns the resulting rulebook.
    pub fn with_orders(mut self, workspace: &WorkspaceId, orders: &[SettingOverride]) -> Self {
        self.ordered_rules.retain(|(other, _), _| other != workspace);
        self.ordered.remove(workspace);
        if orders.is_empty() {
            return self;
        }
        let configured = match self.configured_in(workspace) {
            Some(layer) => layer.clone(),
            None => WorkspaceRules {
                default_rules: self.default_rules.clone(),
                channels: self.channels.clone(),
                threads: self.threads.clone(),
            },
        };
        let allowed: Vec<&SettingOverride> =
            orders.iter().filter(|order| self.allows(order)).collect();
        let scopes: BTreeSet<SettingScope> =
            allowed.iter().map(|order| order.scope.clone()).collect();
        for scope in scopes {
            let here = allowed.iter().copied().filter(|other| other.scope.includes(&scope));
            let here: Vec<&SettingOverride> = here.collect();
            let rules = configured.under(&here);
            self.ordered_rules.insert((workspace.clone(), scope), rules);
        }
        self.ordered.insert(workspace.clone(), orders.to_vec());
        self
    }

    /// Whether an order is valid: the config may no longer name the model that a user chose.
    fn allows(&self, order: &SettingOverride) -> bool {
        let PlaceSetting::Model(name) = &order.setting else { return true };
        self.model_choices.contains(name)
    }

    /// Returns these rules with the orders of another rulebook.
    pub fn with_orders_of(self, other: &Self) -> Self {
        let orders = other.ordered.iter();
        orders.fold(self, |book, (workspace, orders)| book.with_orders(workspace, orders))
    }

    /// Returns all rules that apply anywhere.
    pub fn all_rules(&self) -> impl Iterator<Item = &ChannelRules> {
        let of_threads = self.threads.values().flat_map(BTreeMap::values);
        let layers = self.workspaces.values().chain(self.ordered_rules.values());
        [&self.default_rules]
            .into_iter()
            .chain(self.channels.values())
            .chain(of_threads)
            .chain(layers.flat_map(WorkspaceRules::all_rules))
    }

    /// Changes all configured rules.
    pub fn change_all(&mut self, change: impl Fn(&mut ChannelRules)) {
        let layers = self.workspaces.values_mut().flat_map(|layer| {
            let of_threads = layer.threads.values_mut().flat_map(BTreeMap::values_mut);
            [&mut layer.default_rules]
                .into_iter()
                .chain(layer.channels.values_mut())
                .chain(of_threads)
        });
        let of_threads = self.threads.values_mut().flat_map(BTreeMap::values_mut);
        [&mut self.default_rules]
            .into_iter()
            .chain(self.channels.values_mut())
            .chain(of_threads)
            .chain(layers)
            .for_each(change);
    }

    /// Returns the threads of a channel that the config has settings for.
    pub fn configured_threads(&self, channel: &Place<'_>) -> Vec<MessageId> {
        let layer = self.configured_in(channel.workspace);
        let threads = layer.map_or(&self.threads, |layer| &layer.threads);
        let of_channel = channel.keys().filter_map(|key| threads.get(&key));
        of_channel.flat_map(BTreeMap::keys).map(|id| MessageId::new(id.as_str())).collect()
    }

    /// Returns the layer of the narrowest scope around a place with any order.
    fn ordered_in(&self, place: &Place<'_>) -> Option<&WorkspaceRules> {
        // Usually nothing is overridden in the workspace.
        if !self.ordered.contains_key(place.workspace) {
            return None;
        }
        let key = |scope| (place.workspace.clone(), scope);
        place.scopes().find_map(|scope| self.ordered_rules.get(&key(scope)))
    }

    /// Returns the configured layer of a workspace, by its id, or else by its platform.
    fn configured_in(&self, workspace: &WorkspaceId) -> Option<&WorkspaceRules> {
        if self.workspaces.is_empty() {
            return None;
        }
        self.workspaces
            .get(workspace.as_str())
            .or_else(|| self.workspaces.get(workspace.platform()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::persona::Language;
    use crate::rules::LanguageRule;
    use crate::rules::setting_override::Confidence;

    fn rules(min_confidence: f64) -> ChannelRules {
        ChannelRules { min_confidence, ..ChannelRules::default() }
    }

    fn by_key<T>(entries: Vec<(&str, T)>) -> BTreeMap<String, T> {
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// A config that sets a different confidence for every place.
    fn book() -> Rulebook {
        let layer = |base: f64| WorkspaceRules {
            default_rules: rules(base),
            channels: by_key(vec![("#garden", rules(base + 0.01)), ("C1", rules(base + 0.02))]),
            threads: by_key(vec![
                ("#garden", by_key(vec![("t1", rules(base + 0.03))])),
                ("C1", by_key(vec![("t1", rules(base + 0.04))])),
            ]),
        };
        let WorkspaceRules { default_rules, channels, threads } = layer(0.1);
        let workspaces = by_key(vec![("slack", layer(0.2)), ("T1", layer(0.3))]);
        Rulebook { default_rules, channels, threads, workspaces, ..Rulebook::default() }
    }

    #[test]
    fn the_narrowest_place_decides() {
        let book = book();
        for (workspace, channel, name, thread, expected) in [
            ("local", "c9", "kitchen", None, 0.1),
            ("local", "c9", "garden", None, 0.11),
            ("local", "C1", "garden", None, 0.12),
            ("local", "c9", "garden", Some("t1"), 0.13),
            ("local", "c9", "garden", Some("t2"), 0.11),
            ("local", "C1", "garden", Some("t1"), 0.14),
            ("local", "c9", "kitchen", Some("t1"), 0.1),
            ("T2", "c9", "kitchen", None, 0.2),
            ("T2", "c9", "garden", None, 0.21),
            ("T1", "c9", "kitchen", None, 0.3),
            ("T1", "C1", "kitchen", Some("t1"), 0.34),
            ("discord:T1", "C1", "", None, 0.12),
        ] {
            let (workspace, channel) = (WorkspaceId::new(workspace), ChannelId::new(channel));
            let thread = thread.map(MessageId::new);
            let place = Place::new(&workspace, &channel, name, Visibility::Public);
            let found = book.rules_in(&Place { thread: thread.as_ref(), ..place }).min_confidence;
            assert!((found - expected).abs() < 1e-9, "{workspace} {channel} {name}: {found}");
        }
        assert!((book.workspace_rules(&WorkspaceId::new("T1")).min_confidence - 0.3).abs() < 1e-9);
    }

    #[test]
    fn what_is_ordered_stands_over_the_config_and_the_narrower_order_over_the_wider_one() {
        let workspace = WorkspaceId::new("T1");
        let (garden, thread) = (ChannelId::new("c9"), MessageId::new("t1"));
        let order = |scope: SettingScope, setting| SettingOverride {
            scope,
            setting,
            role: SettingRole::Admin,
            by: "olga".into(),
            at: jiff::Timestamp::UNIX_EPOCH,
        };
        let confidence =
            |value: f64| PlaceSetting::MinConfidence(Confidence::new(value).expect("a share"));
        let orders = [
            order(SettingScope::Workspace, confidence(0.5)),
            order(SettingScope::Channel(garden.clone()), confidence(0.6)),
            order(
                SettingScope::Workspace,
                PlaceSetting::Language(LanguageRule::Fixed(Language::Ja)),
            ),
            order(SettingScope::Thread(garden.clone(), thread.clone()), confidence(0.9)),
        ];
        let ordered = book().with_orders(&workspace, &orders);
        let other = WorkspaceId::new("T2");
        let attic = ChannelId::new("c8");
        for (workspace, channel, thread, expected, language) in [
            (&workspace, &garden, None, 0.6, true),
            (&workspace, &garden, Some(&thread), 0.9, true),
            (&workspace, &attic, Some(&thread), 0.5, true),
            (&other, &garden, None, 0.21, false),
        ] {
            let place = Place::new(workspace, channel, "garden", Visibility::Public);
            let found = ordered.rules_in(&Place { thread, ..place });
            assert!((found.min_confidence - expected).abs() < 1e-9, "{}", found.min_confidence);
            assert_eq!(found.language != LanguageRule::AsWritten, language);
        }
        // Reloading the config keeps the orders, and without orders none of them is left.
        assert_eq!(book().with_orders_of(&ordered), ordered);
        assert_eq!(ordered.with_orders(&workspace, &[]), book());
    }

    #[test]
    fn a_model_that_the_config_does_not_name_any_more_is_not_used() {
        let workspace = WorkspaceId::new("T1");
        let garden = ChannelId::new("c9");
        let order = SettingOverride {
            scope: SettingScope::Channel(garden.clone()),
            setting: PlaceSetting::Model("small".into()),
            role: SettingRole::Admin,
            by: "olga".into(),
            at: jiff::Timestamp::UNIX_EPOCH,
        };
        let place = Place::new(&workspace, &garden, "garden", Visibility::Public);
        let named = Rulebook { model_choices: vec!["small".into()], ..book() };
        let named = named.with_orders(&workspace, &[order]);
        assert_eq!(named.rules_in(&place).models.response.as_deref(), Some("small"));
        // Once the config names the model again, the user's order applies again.
        let unnamed = book().with_orders_of(&named);
        assert!(!unnamed.rules_in(&place).models.is_any());
        let source = unnamed.source_in(&place, SettingKind::Model);
        assert_eq!(source, SettingSource::Configured(ConfiguredPlace::Everywhere));
        assert_eq!(
            Rulebook { model_choices: vec!["small".into()], ..book() }.with_orders_of(&unnamed),
            named
        );
    }

    /// If two orders require the same, one of them is still the source.
    #[test]
    fn one_of_two_orders_that_demand_the_same_is_the_source() {
        let workspace = WorkspaceId::new("T1");
        let (garden, thread) = (ChannelId::new("c9"), MessageId::new("t1"));
        let order = |scope, role| SettingOverride {
            scope,
            setting: PlaceSetting::MinConfidence(Confidence::from_thousandths(900).unwrap()),
            role,
            by: "olga".into(),
            at: jiff::Timestamp::UNIX_EPOCH,
        };
        let here = || SettingScope::Channel(garden.clone());
        let in_thread = || SettingScope::Thread(garden.clone(), thread.clone());
        let place = Place::new(&workspace, &garden, "garden", Visibility::Public);
        let place = Place { thread: Some(&thread), ..place };
        for (orders, expected) in [
            ([order(here(), SettingRole::Member), order(here(), SettingRole::Keeper)], 1),
            ([order(in_thread(), SettingRole::Member), order(here(), SettingRole::Member)], 1),
            ([order(in_thread(), SettingRole::Member), order(here(), SettingRole::Admin)], 1),
        ] {
            let book = book().with_orders(&workspace, &orders);
            assert_eq!(book.rules_in(&place).min_confidence, 0.9);
            let source = book.source_in(&place, SettingKind::MinConfidence);
            assert_eq!(source, SettingSource::Ordered(&orders[expected]), "{orders:?}");
        }
    }

    /// The value is that of the order that narrows.
    #[test]
    fn a_narrowing_order_that_decides_is_the_source_of_a_value() {
        let workspace = WorkspaceId::new("T1");
        let (garden, thread) = (ChannelId::new("c9"), MessageId::new("t1"));
        let order = |scope, thousandths, role| SettingOverride {
            scope,
            setting: PlaceSetting::MinConfidence(
                Confidence::from_thousandths(thousandths).unwrap(),
            ),
            role,
            by: "olga".into(),
            at: jiff::Timestamp::UNIX_EPOCH,
        };
        let here = || SettingScope::Channel(garden.clone());
        let in_thread = SettingScope::Thread(garden.clone(), thread.clone());
        let orders = [
            order(here(), 600, SettingRole::Admin),
            order(here(), 900, SettingRole::Keeper),
            order(in_thread, 500, SettingRole::Admin),
        ];
        let book = book().with_orders(&workspace, &orders);
        let place = Place::new(&workspace, &garden, "garden", Visibility::Public);
        for place in [place, Place { thread: Some(&thread), ..place }] {
            assert_eq!(book.rules_in(&place).min_confidence, 0.9);
            let source = book.source_in(&place, SettingKind::MinConfidence);
            assert_eq!(source, SettingSource::Ordered(&orders[1]));
        }
    }
}
