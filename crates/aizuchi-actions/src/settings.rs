//! Commands about settings of a thread, a channel or the workspace: their effects and the answers. Members may only
//! narrow the rules in force; the rest is reserved for admins, within what the config allows.

use aizuchi_model::chat::{Channel, ChannelId, Visibility};
use aizuchi_model::memory::asker::{sign, signer};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Rulebook;
use aizuchi_model::rules::place::{ConfiguredPlace, Place, SettingSource};
use aizuchi_model::rules::setting_override::{
    Confidence, MAX_OF_MEMBERS, MAX_OF_ONE_MEMBER, PlaceSetting, SettingChange, SettingKind,
    SettingOverride, SettingRole, SettingScope,
};
use aizuchi_model::texts;
use aizuchi_store::StoreError;
use aizuchi_store::order::Order;

use crate::command::{Command, CommandRequest, SettingTarget};
use crate::command_replies::{CommandReplies, screen_stored};
use crate::parse::setting::{WrittenChange, WrittenSetting};

/// Why a command about settings has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingRefusal {
    /// The command is about something else.
    NoSetting,
    NotInThread,
    /// Threads do not have this setting.
    NotOfThreads,
    NoSuchChannel,
    NoSuchModel,
    /// Members have reached the maximum number of settings elsewhere.
    TooMany,
    /// This member has.
    TooManyOwn,
}

/// Returns the change that a command makes, and the order to store for it. `written` is the change that it asks for, `find`
/// finds a public channel of the workspace by name, and `bar` is the confidence that speaking unasked needs in a channel now.
pub fn to_order(
    request: &CommandRequest,
    written: Option<WrittenSetting>,
    rulebook: &Rulebook,
    find: impl Fn(&str) -> Option<Channel>,
    bar: impl Fn(&ChannelId) -> f64,
) -> Result<(WrittenSetting, Order), SettingRefusal> {
    let Command::ChangeSetting(wanted) = request.command else {
        return Err(SettingRefusal::NoSetting);
    };
    let written = written.ok_or(SettingRefusal::NoSetting)?;
    let here = &request.conversation;
    let scope = match (wanted.target, here.thread.clone()) {
        (SettingTarget::Workspace, _) => SettingScope::Workspace,
        (SettingTarget::Channel, _) => SettingScope::Channel(here.channel.clone()),
        (SettingTarget::Thread, Some(thread)) => SettingScope::Thread(here.channel.clone(), thread),
        (SettingTarget::Thread, None) => return Err(SettingRefusal::NotInThread),
        (SettingTarget::Named, _) => {
            let named =
                written.channel.as_deref().and_then(find).ok_or(SettingRefusal::NoSuchChannel)?;
            SettingScope::Channel(named.id)
        }
    };
    let is_of_threads = wanted.kind.is_none_or(SettingKind::is_of_threads);
    if matches!(scope, SettingScope::Thread(..)) && !is_of_threads {
        return Err(SettingRefusal::NotOfThreads);
    }
    let (role, by) = (request.setting_role(), sign(&request.user, request.at));
    let orders = rulebook.ordered.get(&here.workspace).map(Vec::as_slice).unwrap_or_default();
    let mut change = match &written.change {
        WrittenChange::Exactly(change) => change.clone(),
        WrittenChange::Quieter => {
            // Carried out before, it is not a step further.
            let mut carried_out =
                orders.iter().filter(|order| order.scope == scope && *order.by == *by);
            let channel = scope.channel().unwrap_or(&here.channel);
            SettingChange::Set(match carried_out.next() {
                Some(order) => order.setting.clone(),
                None => PlaceSetting::MinConfidence(Confidence::step_above(bar(channel))),
            })
        }
    };
    if let SettingChange::Set(PlaceSetting::Model(name)) = &mut change {
        let mut known = rulebook.model_choices.iter();
        let found = known.find(|known| known.eq_ignore_ascii_case(name));
        *name = found.ok_or(SettingRefusal::NoSuchModel)?.clone();
    }
    let is_other = |order: &&SettingOverride| {
        let is_counted = match role {
            SettingRole::Direct => order.scope.channel() == scope.channel(),
            SettingRole::Member => true,
            SettingRole::Keeper | SettingRole::Admin => false,
        };
        is_counted && order.role == role && order.scope != scope
    };
    let is_set = matches!(change, SettingChange::Set(_));
    if is_set && orders.iter().filter(is_other).count() >= MAX_OF_MEMBERS {
        return Err(SettingRefusal::TooMany);
    }
    let is_own = |order: &&SettingOverride| signer(&order.by) == Some(request.user.as_str());
    let is_full = orders.iter().filter(is_other).filter(is_own).count() >= MAX_OF_ONE_MEMBER;
    if is_set && role == SettingRole::Member && is_full {
        return Err(SettingRefusal::TooManyOwn);
    }
    let order = Order::ChangeSetting {
        workspace: here.workspace.clone(),
        scope,
        change,
        role,
        by: by.into(),
        at: request.at,
    };
    Ok((written, order))
}

impl CommandReplies {
    /// Describes the result of a change, and how to undo it.
    pub(super) async fn setting_text(
        &self,
        request: &CommandRequest,
        language: Language,
    ) -> Result<String, StoreError> {
        let channels = self.archive.channels(&request.conversation.workspace).await?;
        let find = |name: &str| {
            let is_meant = |channel: &&Channel| {
                channel.visibility == Visibility::Public
                    && channel.name.to_lowercase() == name.to_lowercase()
            };
            channels.iter().find(is_meant).cloned()
        };
        let (name, rulebook) = (&*self.persona.name, self.rulebook.read());
        let wanted = WrittenSetting::parse_message(&request.text, name);
        // What was carried out is known, and the rest is told to be not done.
        let (written, order) = match to_order(request, wanted, &rulebook, find, |_| 1.0) {
            Ok(found) => found,
            Err(unmet) => return Ok(unmet_text(language, unmet, name, &rulebook)),
        };
        let Order::ChangeSetting { scope, role, change, .. } = &order else {
            return Ok(texts::settings::usage(language, name));
        };
        let orders = rulebook.ordered.get(&request.conversation.workspace);
        let orders = orders.map(Vec::as_slice).unwrap_or_default();
        let is_done = is_in_force(change, orders, (scope, *role));
        let id = scope.channel().unwrap_or(&request.conversation.channel);
        let known = channels.iter().find(|channel| channel.id == *id);
        let (channel_name, visibility) =
            known.map_or((id.as_str(), request.visibility), |it| (&*it.name, it.visibility));
        let target = Place {
            thread: match scope {
                SettingScope::Thread(_, thread) => Some(thread),
                SettingScope::Workspace | SettingScope::Channel(_) => None,
            },
            ..Place::new(&request.conversation.workspace, id, channel_name, visibility)
        };
        let place = match written.target {
            SettingTarget::Named => format!("#{channel_name}"),
            SettingTarget::Thread | SettingTarget::Channel | SettingTarget::Workspace => {
                scope_text(language, scope).to_owned()
            }
        };
        let kind = match change {
            SettingChange::Set(setting) => setting.kind(),
            SettingChange::Clear(kind) => *kind,
            SettingChange::ClearAll if !is_done => {
                let all = texts::settings::all(language);
                return Ok(texts::settings::not_done(language, all));
            }
            SettingChange::ClearAll => {
                return Ok(texts::settings::all_cleared(language, &place));
            }
        };
        let word = texts::settings::setting(language, kind);
        if !is_done {
            return Ok(texts::settings::not_done(language, word));
        }
        let holds = shown_text(language, rulebook.value_in(&target, kind));
        let text = match change {
            SettingChange::Set(setting) => {
                let undo = undo_text(language, kind, &written);
                let ordered = texts::settings::shown_value(language, setting);
                let mut changed =
                    texts::settings::changed(language, &place, word, &ordered, name, &undo);
                if holds != ordered && *scope != SettingScope::Workspace {
                    changed += &texts::settings::holds(language, &holds);
                }
                changed += unpriced_note(language, kind, &rulebook).unwrap_or_default();
                changed
            }
            SettingChange::Clear(_) | SettingChange::ClearAll => {
                let cleared = texts::settings::cleared(language, &place, word, &holds);
                match *role {
                    SettingRole::Admin => cleared,
                    SettingRole::Direct | SettingRole::Keeper | SettingRole::Member => {
                        cleared + texts::settings::admins_stay(language)
                    }
                }
            }
        };
        Ok(screen_stored(&text, language))
    }

    /// Lists the settings that apply where a command was given, each with its source.
    pub(super) async fn settings_text(
        &self,
        request: &CommandRequest,
        language: Language,
    ) -> Result<String, StoreError> {
        let conversation = &request.conversation;
        let channels = self.archive.channels(&conversation.workspace).await?;
        let known = channels.iter().find(|channel| channel.id == conversation.channel);
        let name = known.map_or(conversation.channel.as_str(), |known| &*known.name);
        let visibility = known.map_or(request.visibility, |known| known.visibility);
        let place = Place::of_conversation(conversation, name, visibility);
        let rulebook = self.rulebook.read();
        let line = |kind: SettingKind| {
            let value = shown_text(language, rulebook.value_in(&place, kind));
            let source = source_text(language, rulebook.source_in(&place, kind));
            let word = texts::settings::setting(language, kind);
            texts::settings::line(language, word, &value, &source)
        };
        let kinds = SettingKind::all().filter(|kind| rulebook.offers(*kind));
        let lines: Vec<String> = kinds.map(line).collect();
        let text = texts::settings::list(language, &lines.join("\n"), &self.persona.name);
        Ok(screen_stored(&text, language))
    }
}

/// Whether a change was carried out and is still in force. One that was ordered while the program was down is not
/// carried out.
fn is_in_force(
    change: &SettingChange,
    orders: &[SettingOverride],
    (scope, role): (&SettingScope, SettingRole),
) -> bool {
    let mut here = orders.iter().filter(|order| order.scope == *scope && order.role == role);
    match change {
        SettingChange::Set(setting) => here.any(|order| order.setting == *setting),
        SettingChange::Clear(kind) => here.all(|order| order.setting.kind() != *kind),
        SettingChange::ClearAll => here.next().is_none(),
    }
}

/// Formats a value in the users' words.
fn shown_text(language: Language, value: Option<PlaceSetting>) -> String {
    match value {
        Some(value) => texts::settings::shown_value(language, &value),
        None => texts::settings::default_value(language).to_owned(),
    }
}

/// Formats a value as the config would write it.
pub fn value_text(language: Language, kind: SettingKind, value: Option<PlaceSetting>) -> String {
    match value {
        Some(value) => value.to_string(),
        None if kind == SettingKind::MoneyPerDay => texts::settings::unlimited(language).to_owned(),
        None => texts::settings::as_everywhere(language).to_owned(),
    }
}

/// What a budget in money does not count, if there is anything.
pub fn unpriced_note(
    language: Language,
    kind: SettingKind,
    rulebook: &Rulebook,
) -> Option<&'static str> {
    let is_short = kind == SettingKind::MoneyPerDay && rulebook.has_unpriced_models;
    is_short.then(|| texts::settings::unpriced(language))
}

/// Describes the source of a value.
pub fn source_text(language: Language, source: SettingSource<'_>) -> String {
    match source {
        SettingSource::Ordered(SettingOverride { scope, .. }) => {
            texts::settings::ordered(language, scope_text(language, scope))
        }
        SettingSource::Configured(place) => match place {
            ConfiguredPlace::Thread => texts::settings::of_thread(language),
            ConfiguredPlace::Channel => texts::settings::of_channel(language),
            ConfiguredPlace::Workspace => texts::settings::of_workspace(language),
            ConfiguredPlace::Everywhere => texts::settings::of_everywhere(language),
        }
        .to_owned(),
    }
}

fn scope_text(language: Language, scope: &SettingScope) -> &'static str {
    match scope {
        SettingScope::Workspace => texts::commands::for_all_channels(language),
        SettingScope::Channel(_) => texts::commands::for_this_channel(language),
        SettingScope::Thread(..) => texts::commands::for_this_thread(language),
    }
}

/// Returns the command that undoes a change.
fn undo_text(language: Language, kind: SettingKind, written: &WrittenSetting) -> String {
    let word = texts::settings::command_word(language, kind);
    match (written.target, &written.channel) {
        (SettingTarget::Channel, _) => texts::settings::undo_here(language, word),
        (SettingTarget::Thread, _) => texts::settings::undo_in_thread(language, word),
        (SettingTarget::Workspace, _) => texts::settings::undo_everywhere(language, word),
        (SettingTarget::Named, channel) => {
            let channel = channel.as_deref().unwrap_or_default();
            texts::settings::undo_in(language, word, channel)
        }
    }
}

fn unmet_text(
    language: Language,
    unmet: SettingRefusal,
    name: &str,
    rulebook: &Rulebook,
) -> String {
    match unmet {
        SettingRefusal::NoSetting => texts::settings::usage(language, name),
        SettingRefusal::NotInThread => texts::settings::needs_thread(language).to_owned(),
        SettingRefusal::NotOfThreads => texts::settings::not_of_threads(language).to_owned(),
        SettingRefusal::NoSuchChannel => texts::settings::no_such_channel(language).to_owned(),
        SettingRefusal::TooMany => texts::settings::too_many(language, MAX_OF_MEMBERS),
        SettingRefusal::TooManyOwn => texts::settings::too_many_own(language, MAX_OF_ONE_MEMBER),
        SettingRefusal::NoSuchModel if rulebook.model_choices.is_empty() => {
            texts::settings::no_models(language).to_owned()
        }
        SettingRefusal::NoSuchModel => {
            let separator = texts::ledger::list_separator(language);
            texts::settings::no_such_model(language, &rulebook.model_choices.join(separator))
        }
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::{ConversationId, MessageId, Role, UserId, WorkspaceId};
    use jiff::Timestamp;

    use super::*;

    fn order(channel: &str, thread: usize, role: SettingRole) -> SettingOverride {
        SettingOverride {
            scope: SettingScope::Thread(
                ChannelId::new(channel),
                MessageId::new(format!("t{thread}")),
            ),
            setting: PlaceSetting::MinConfidence(Confidence::from_thousandths(900).unwrap()),
            role,
            by: "alice".into(),
            at: Timestamp::UNIX_EPOCH,
        }
    }

    /// Returns the result of a member's order in a thread, if these orders are in force.
    fn ordered(
        orders: &[SettingOverride],
        (channel, thread): (&str, usize),
        visibility: Visibility,
    ) -> Result<(), SettingRefusal> {
        let workspace = WorkspaceId::new("slack:T1");
        let text = "@Aizuchi set confidence 0.9 in this thread";
        let written = WrittenSetting::parse_message(text, "Aizuchi").expect("it is a change");
        let thread = MessageId::new(format!("t{thread}"));
        let request = CommandRequest {
            command: written.command(),
            conversation: ConversationId {
                workspace: workspace.clone(),
                channel: ChannelId::new(channel),
                thread: Some(thread),
            },
            visibility,
            user: UserId::new("alice"),
            role: Role::Member,
            at: Timestamp::UNIX_EPOCH,
            text: text.into(),
            written_in: None,
            message: None,
            reply_to: None,
        };
        // `with_orders` is not used, because it precomputes the rules of each thread.
        let ordered = [(workspace, orders.to_vec())].into_iter().collect();
        let rulebook = Rulebook { ordered, ..Rulebook::default() };
        to_order(&request, Some(written), &rulebook, |_| None, |_| 0.7).map(|_| ())
    }

    #[test]
    fn members_fill_neither_a_workspace_nor_a_direct_message_with_settings() {
        let full = |channel: &'static str, role| -> Vec<SettingOverride> {
            (0..MAX_OF_MEMBERS).map(|thread| order(channel, thread, role)).collect()
        };
        let too_many: Result<(), _> = Err(SettingRefusal::TooMany);
        let (new, known) = (MAX_OF_MEMBERS, 0);
        let of_members = full("garden", SettingRole::Member);
        assert_eq!(ordered(&of_members, ("kitchen", new), Visibility::Public), too_many);
        assert_eq!(ordered(&of_members, ("garden", known), Visibility::Public), Ok(()));
        assert_eq!(ordered(&of_members, ("dm", new), Visibility::Direct), Ok(()));
        let in_private = full("dm", SettingRole::Direct);
        assert_eq!(ordered(&in_private, ("dm", new), Visibility::Direct), too_many);
        assert_eq!(ordered(&in_private, ("dm", known), Visibility::Direct), Ok(()));
        assert_eq!(ordered(&in_private, ("dm2", new), Visibility::Direct), Ok(()));
        assert_eq!(ordered(&in_private, ("garden", new), Visibility::Public), Ok(()));
        let by_dora = |thread| SettingOverride {
            by: sign(&UserId::new("dora"), Timestamp::UNIX_EPOCH).into(),
            ..order("garden", thread, SettingRole::Member)
        };
        let by_alice = |thread| SettingOverride {
            by: sign(&UserId::new("alice"), Timestamp::UNIX_EPOCH).into(),
            ..by_dora(thread)
        };
        let of_both: Vec<SettingOverride> =
            (0..50).map(by_dora).chain((50..49 + MAX_OF_ONE_MEMBER).map(by_alice)).collect();
        assert_eq!(ordered(&of_both, ("kitchen", new), Visibility::Public), Ok(()));
        let of_both: Vec<SettingOverride> = of_both.into_iter().chain([by_alice(99)]).collect();
        let too_many_own = Err(SettingRefusal::TooManyOwn);
        assert_eq!(ordered(&of_both, ("kitchen", new), Visibility::Public), too_many_own);
        assert_eq!(ordered(&of_both, ("garden", 99), Visibility::Public), Ok(()));
        let of_admins = full("garden", SettingRole::Admin);
        assert_eq!(ordered(&of_admins, ("kitchen", new), Visibility::Public), Ok(()));
    }
}
