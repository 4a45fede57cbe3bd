//! Changes that users make to memories on the console and in the chat, and the journal of all changes. Pinned and
//! removed entries survive every new version.

use std::sync::Arc;

use jiff::Timestamp;

use crate::memory::asker::Asker;
use crate::memory::{Memory, MemoryEntry, MemoryId, MemoryKey};
use crate::overlap::{OverlapIndex, OverlapThreshold};

/// The overlap from which two entries made from the same message count as saying the same.
const SAME_FACT: OverlapThreshold =
    OverlapThreshold { min_run: 16, min_whole_length: 6, unspaced_weight: 2 };
/// The maximum number of removed entries per memory. The oldest are dropped.
const MAX_REMOVED: usize = 50;

/// The entries of a memory that users pinned or removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptEntries {
    /// Entries that stay as they are.
    pub pinned: Vec<MemoryEntry>,
    /// Entries that are not remembered again.
    pub removed: Vec<MemoryEntry>,
}

/// A user's change to a memory. An entry is identified by its value, since it has no id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryChange {
    /// Reword an entry and pin it, also where the workspace's other memories say the same.
    Edit {
        entry: MemoryEntry,
        text: Arc<str>,
    },
    Pin(MemoryEntry),
    Unpin(MemoryEntry),
    /// Remove an entry, and the entries in the workspace's other memories that say the same and were made from the
    /// same messages.
    Remove(MemoryEntry),
    /// Remove an entry by a command in the chat, as far as the user may: entries that they may not see stay, and
    /// pinned ones may, too.
    Forget(MemoryEntry, Asker),
    /// Restore a removed entry.
    Restore(MemoryEntry),
    /// Restore an earlier version.
    Revert(MemoryId),
    /// Make the memory again from its source messages.
    Regenerate,
}

/// A user's change to a memo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoEdit {
    pub content: String,
    pub priority: u8,
    pub tags: Vec<String>,
    pub detail: Option<String>,
}

named_enum! {
    /// The kind of a change to a memory or a memo.
    pub enum JournalKind {
        /// A memo was written.
        Created,
        /// A model folded new messages into the memory.
        Folded,
        /// A source message was edited, deleted or made private.
        Forgotten,
        Edited,
        Pinned,
        Unpinned,
        Removed,
        Restored,
        Reverted,
        Regenerated,
    }
}

/// One change to a memory or a memo. It contains no text; the versions do, as long as they are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// Increases with each change.
    pub number: i64,
    /// The memory that changed, or `None` for a memo.
    pub key: Option<MemoryKey>,
    pub at: Timestamp,
    /// Who made or requested the change. Empty for this machine, or no one.
    pub by: Arc<str>,
    pub kind: JournalKind,
    /// The previous version, if it is still kept.
    pub before: Option<MemoryId>,
    /// The version that the change created, or the memo.
    pub after: MemoryId,
    /// The number of the decision for whose reply a tool changed a memo.
    pub decision: Option<i64>,
}

impl MemoryEntry {
    /// Whether the entry says the same as another one, from the same message.
    pub fn is_repeating(&self, other: &MemoryEntry) -> bool {
        let shares_message = self.messages.iter().any(|message| other.messages.contains(message));
        shares_message && OverlapIndex::new([&*other.text], SAME_FACT).has_overlap_with(&self.text)
    }
}

impl KeptEntries {
    /// The entries that everyone in the workspace may see.
    pub fn to_public(&self) -> Self {
        let public = |entries: &[MemoryEntry]| {
            entries.iter().filter(|entry| entry.is_public()).cloned().collect()
        };
        Self { pinned: public(&self.pinned), removed: public(&self.removed) }
    }
}

impl Memory {
    /// The entries that survive this version.
    pub fn kept(&self) -> KeptEntries {
        let pinned = self.entries.iter().filter(|entry| entry.pinned);
        KeptEntries { pinned: pinned.cloned().collect(), removed: self.removed.clone() }
    }

    /// The entries of the next version, for which a model made these: adds the pinned ones, and drops those that
    /// repeat a pinned or a removed one.
    pub fn carry_into(&self, made: Vec<MemoryEntry>) -> Vec<MemoryEntry> {
        let KeptEntries { pinned, removed } = self.kept();
        let is_new = |entry: &MemoryEntry| {
            let mut known = pinned.iter().chain(&removed);
            !known.any(|known| entry.is_repeating(known))
        };
        let mut entries: Vec<MemoryEntry> = made.into_iter().filter(is_new).collect();
        entries.extend(pinned);
        entries.sort_by_key(|entry| entry.date);
        entries
    }
}

impl MemoryChange {
    pub fn kind(&self) -> JournalKind {
        match self {
            MemoryChange::Edit { .. } => JournalKind::Edited,
            MemoryChange::Pin(_) => JournalKind::Pinned,
            MemoryChange::Unpin(_) => JournalKind::Unpinned,
            MemoryChange::Remove(_) | MemoryChange::Forget(..) => JournalKind::Removed,
            MemoryChange::Restore(_) => JournalKind::Restored,
            MemoryChange::Revert(_) => JournalKind::Reverted,
            MemoryChange::Regenerate => JournalKind::Regenerated,
        }
    }

    /// Applies the change to the entries of another memory that repeat this one. `None` if none does.
    pub fn repeated_in(&self, other: &Memory, entry: &MemoryEntry) -> Option<Memory> {
        let mut changed: Option<Memory> = None;
        for repeat in other.entries.iter().filter(|known| known.is_repeating(entry)) {
            let change = match self {
                // A text about something private stays private, and is used only once.
                MemoryChange::Edit { text, .. }
                    if changed.is_none() && (entry.is_public() || !repeat.is_public()) =>
                {
                    MemoryChange::Edit { entry: repeat.clone(), text: text.clone() }
                }
                MemoryChange::Edit { .. } | MemoryChange::Remove(_) => {
                    MemoryChange::Remove(repeat.clone())
                }
                MemoryChange::Forget(_, asker) if asker.may_remove(&other.key, repeat) => {
                    MemoryChange::Remove(repeat.clone())
                }
                MemoryChange::Forget(..) => continue,
                MemoryChange::Pin(_)
                | MemoryChange::Unpin(_)
                | MemoryChange::Restore(_)
                | MemoryChange::Revert(_)
                | MemoryChange::Regenerate => return None,
            };
            changed = change.apply_to(changed.as_ref().unwrap_or(other)).or(changed);
        }
        changed
    }

    /// Applies a change to an entry. `None` if the memory has no such entry, or this is a change to the whole
    /// memory.
    pub fn apply_to(&self, memory: &Memory) -> Option<Memory> {
        let mut memory = memory.clone();
        let place = |entries: &[MemoryEntry], wanted: &MemoryEntry| {
            entries.iter().position(|entry| entry == wanted)
        };
        match self {
            MemoryChange::Edit { entry, text } => {
                let index = place(&memory.entries, entry)?;
                let edited = MemoryEntry { text: text.clone(), pinned: true, ..entry.clone() };
                let old = std::mem::replace(&mut memory.entries[index], edited);
                // The old text must not return from its sources.
                memory.removed.push(MemoryEntry { pinned: false, ..old });
            }
            MemoryChange::Pin(entry) => {
                let index = place(&memory.entries, entry)?;
                memory.entries[index].pinned = true;
            }
            MemoryChange::Unpin(entry) => {
                let index = place(&memory.entries, entry)?;
                memory.entries[index].pinned = false;
            }
            MemoryChange::Forget(entry, asker) if !asker.may_remove(&memory.key, entry) => {
                return None;
            }
            MemoryChange::Remove(entry) | MemoryChange::Forget(entry, _) => {
                let index = place(&memory.entries, entry)?;
                let old = memory.entries.remove(index);
                memory.removed.push(MemoryEntry { pinned: false, ..old });
            }
            MemoryChange::Restore(entry) => {
                let old = memory.removed.remove(place(&memory.removed, entry)?);
                memory.entries.push(old);
                memory.entries.sort_by_key(|entry| entry.date);
            }
            MemoryChange::Revert(_) | MemoryChange::Regenerate => return None,
        }
        let surplus = memory.removed.len().saturating_sub(MAX_REMOVED);
        // The oldest removed entries may then be remembered again.
        memory.removed.drain(..surplus);
        Some(memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{ChannelId, MessageId, Role, Visibility, WorkspaceId};
    use crate::memory::{MemoryScope, MemoryTerm, MessageRef};

    fn entry(day: i8, text: &str, messages: &[&str]) -> MemoryEntry {
        let message = |id: &&str| MessageRef(ChannelId::new("c"), MessageId::new(*id));
        MemoryEntry {
            date: jiff::civil::date(2027, 1, day),
            text: text.into(),
            visibility: Visibility::Public,
            messages: messages.iter().map(message).collect(),
            pinned: false,
        }
    }

    fn memory(entries: Vec<MemoryEntry>) -> Memory {
        Memory {
            id: MemoryId(1),
            key: MemoryKey {
                workspace: WorkspaceId::new("w"),
                scope: MemoryScope::Workspace,
                term: MemoryTerm::LongTerm,
            },
            entries,
            removed: Vec::new(),
            orphaned_messages: Vec::new(),
            newest_message_at: Timestamp::UNIX_EPOCH,
            created: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn what_users_pinned_or_removed_outlives_a_new_version() {
        let (birthday, tea) = (
            entry(3, "Mia's birthday is on May 3rd", &["a"]),
            entry(4, "Tom likes green tea", &["b"]),
        );
        let first = memory(vec![birthday.clone(), tea.clone()]);
        let removed = MemoryChange::Remove(birthday.clone()).apply_to(&first).unwrap();
        assert_eq!(
            (&*removed.entries, &*removed.removed),
            (&[tea.clone()][..], &[birthday.clone()][..])
        );
        let edit = MemoryChange::Edit { entry: tea.clone(), text: "Tom likes oolong".into() };
        let edited = edit.apply_to(&removed).unwrap();
        let oolong = MemoryEntry { text: "Tom likes oolong".into(), pinned: true, ..tea.clone() };
        assert_eq!(edited.entries, std::slice::from_ref(&oolong));
        // A model repeats both in other words, and adds facts from the same message and from another one.
        let made = vec![
            entry(3, "On 3 May: Mia's birthday is on May 3rd", &["a", "x"]),
            entry(3, "Mia has a dog", &["a"]),
            entry(4, "Tom likes green tea, he said", &["b"]),
            entry(5, "Mia's birthday is on May 3rd", &["c"]),
        ];
        let kept = edited.carry_into(made);
        let texts: Vec<&str> = kept.iter().map(|entry| &*entry.text).collect();
        assert_eq!(texts, ["Mia has a dog", "Tom likes oolong", "Mia's birthday is on May 3rd"]);
        assert!(kept[1].pinned);
        let restored = MemoryChange::Restore(birthday.clone()).apply_to(&edited).unwrap();
        assert_eq!(restored.entries, [birthday.clone(), oolong.clone()]);
        let free = MemoryChange::Unpin(oolong.clone()).apply_to(&edited).unwrap();
        assert!(free.kept().pinned.is_empty());
        // The entry has been replaced in the meantime.
        assert_eq!(MemoryChange::Pin(oolong).apply_to(&free), None);
        assert_eq!(MemoryChange::Remove(birthday).apply_to(&edited), None);
    }

    #[test]
    fn what_somebody_wrote_of_something_private_stays_private() {
        let public = entry(3, "Mia's birthday is on May 3rd", &["a"]);
        let private = MemoryEntry { visibility: Visibility::Private, ..public.clone() };
        let edit = |entry: &MemoryEntry| MemoryChange::Edit {
            entry: entry.clone(),
            text: "Mia's birthday is on May 5th".into(),
        };
        let twice = memory(vec![public.clone(), entry(4, "Mia's birthday is on May 3rd!", &["a"])]);
        let texts = |entry: &MemoryEntry| {
            let changed = edit(entry).repeated_in(&twice, entry).unwrap();
            changed.entries.into_iter().map(|entry| entry.text.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(texts(&public), ["Mia's birthday is on May 5th"]);
        assert!(texts(&private).is_empty());
        let other = memory(vec![entry(4, "Tom likes green tea", &["a"])]);
        assert_eq!(edit(&public).repeated_in(&other, &public), None);
    }

    /// What was said in a channel while it was private is visible only there.
    #[test]
    fn what_somebody_has_forgotten_stays_where_they_do_not_see_it_or_may_not() {
        let public = entry(3, "Mia's birthday is on May 3rd", &["a"]);
        let private = MemoryEntry { visibility: Visibility::Private, ..public.clone() };
        let pinned = MemoryEntry { pinned: true, ..public.clone() };
        let cellar = MemoryKey {
            scope: MemoryScope::Channel(ChannelId::new("cellar")),
            ..memory(Vec::new()).key
        };
        for (channel, role, repeat, is_removed) in [
            ("c", Role::Member, &public, true),
            ("c", Role::Member, &private, false),
            ("c", Role::Admin, &private, false),
            ("cellar", Role::Member, &private, true),
            ("c", Role::Member, &pinned, false),
            ("c", Role::Admin, &pinned, true),
        ] {
            let asker = Asker { channel: ChannelId::new(channel), role };
            let other = Memory { key: cellar.clone(), ..memory(vec![repeat.clone()]) };
            let forget = MemoryChange::Forget(public.clone(), asker.clone());
            let changed = forget.repeated_in(&other, &public);
            let told = format!("{channel} {role:?} {repeat:?}");
            assert_eq!(changed.is_some_and(|it| it.entries.is_empty()), is_removed, "{told}");
            let forget = MemoryChange::Forget(repeat.clone(), asker);
            assert_eq!(forget.apply_to(&other).is_some(), is_removed, "{told}");
        }
    }

    #[test]
    fn the_oldest_removals_give_way() {
        let mut memory = memory((0..60).map(|n| entry(1, &format!("fact {n}"), &["a"])).collect());
        while let Some(first) = memory.entries.first().cloned() {
            memory = MemoryChange::Remove(first).apply_to(&memory).unwrap();
        }
        assert_eq!(memory.removed.len(), MAX_REMOVED);
        assert_eq!(&*memory.removed[0].text, "fact 10");
    }
}
