//! The memos that are visible from one channel, as one reply reads and changes them. Nothing is written before the
//! reply is committed, so discarding a reply also discards its changes.

mod responses;

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, Message, UserId, Visibility};
use aizuchi_model::memo::{
    MAX_LIST_LENGTH, MAX_PER_USER, Memo, MemoChange, MemoError, MemoScope, MemoUpdate, NewMemo,
    parse_content, parse_detail, parse_name, parse_priority, parse_tags,
};
use aizuchi_model::memory::{MemoryId, MessageRef};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::agent::tools::notebook::responses::shown_name;

/// Where and for whom a reply is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoOrigin {
    pub channel: ChannelId,
    pub visibility: Visibility,
    /// Who said the content of a new memo, if known.
    pub said_by: Option<UserId>,
}

/// The memos of one reply. Each operation answers with a sentence for the model.
#[derive(Clone, Debug)]
pub struct Notebook {
    origin: MemoOrigin,
    language: Language,
    zone: TimeZone,
    /// The memos as the store has them.
    stored: Vec<(MemoryId, Memo)>,
    /// The memos with this reply's changes.
    entries: Vec<NotebookEntry>,
    /// The memos that answers disclosed since the last [`Notebook::take_disclosed`].
    disclosed: Vec<MemoryId>,
}

#[derive(Clone, Debug)]
struct NotebookEntry {
    /// The id in the store, if it is stored.
    id: Option<MemoryId>,
    memo: Memo,
}

impl Notebook {
    /// Creates a notebook. Memos that are not visible from this channel are left out.
    pub fn new(
        origin: MemoOrigin,
        memos: Vec<(MemoryId, Memo)>,
        language: Language,
        zone: TimeZone,
    ) -> Self {
        let visible = memos.into_iter().filter(|(_, memo)| memo.is_visible_from(&origin.channel));
        let stored: Vec<(MemoryId, Memo)> = visible.collect();
        let entries =
            stored.iter().cloned().map(|(id, memo)| NotebookEntry { id: Some(id), memo }).collect();
        Self { origin, language, zone, stored, entries, disclosed: Vec::new() }
    }

    /// Takes the memos that answers disclosed, or that were carried over, since the last call.
    pub fn take_disclosed(&mut self) -> Vec<MemoryId> {
        let mut disclosed = std::mem::take(&mut self.disclosed);
        disclosed.sort();
        disclosed.dedup();
        disclosed
    }

    pub fn add(&mut self, entry: NewMemo, now: Timestamp) -> String {
        let memo = match self.parse(&entry, now) {
            Ok(memo) => memo,
            Err(error) => return texts::memos::not_added(self.language, error),
        };
        if self.find(&memo.name).is_some() {
            return texts::memos::name_taken(self.language, &shown_name(&memo.name));
        }
        let answer = texts::memos::added(self.language, &shown_name(&memo.name));
        self.entries.push(NotebookEntry { id: None, memo });
        answer
    }

    pub fn edit(&mut self, name: &str, update: MemoUpdate, now: Timestamp) -> String {
        let Some(number) = self.find(name) else {
            return texts::memos::not_found(self.language, &shown_name(name));
        };
        let updated = match self.apply_update(&self.entries[number].memo, update, now) {
            Ok(updated) => updated,
            Err(error) => return texts::memos::not_edited(self.language, error),
        };
        if self.find(&updated.name).is_some_and(|other| other != number) {
            return texts::memos::name_taken(self.language, &shown_name(&updated.name));
        }
        let answer = texts::memos::edited(self.language, &shown_name(&updated.name));
        self.entries[number].memo = updated;
        self.disclosed.extend(self.entries[number].id);
        answer
    }

    pub fn remove(&mut self, name: &str) -> String {
        let Some(number) = self.find(name) else {
            return texts::memos::not_found(self.language, &shown_name(name));
        };
        if !self.is_changeable(&self.entries[number].memo) {
            return texts::memos::not_removed(self.language, MemoError::ReadOnlyHere);
        }
        let removed = self.entries.remove(number);
        texts::memos::removed(self.language, &shown_name(&removed.memo.name))
    }

    /// Returns one page of the memos, optionally only those with `tag`, highest priority first.
    pub fn list(&mut self, tag: Option<&str>, offset: i64, limit: i64) -> String {
        let tag = tag.map(str::trim).filter(|tag| !tag.is_empty());
        let has = |entry: &NotebookEntry, tag: &str| entry.memo.tags.iter().any(|own| own == tag);
        let is_listed = |entry: &&NotebookEntry| tag.is_none_or(|tag| has(entry, tag));
        let mut listed: Vec<&NotebookEntry> = self.entries.iter().filter(is_listed).collect();
        match tag {
            Some(tag) if listed.is_empty() => {
                return texts::memos::no_memos_with_tag(self.language, &shown_name(tag));
            }
            None if listed.is_empty() => return texts::memos::no_memos(self.language).to_owned(),
            Some(_) | None => {}
        }
        listed.sort_by_key(|NotebookEntry { memo, .. }| {
            (std::cmp::Reverse((memo.priority, memo.updated)), memo.name.as_str())
        });
        let offset = usize::try_from(offset).unwrap_or(0).min(listed.len());
        let limit = usize::try_from(limit).unwrap_or(1).clamp(1, MAX_LIST_LENGTH);
        let shown = || listed.iter().skip(offset).take(limit);
        let memos: Vec<&Memo> = shown().map(|entry| &entry.memo).collect();
        self.disclosed.extend(shown().filter_map(|entry| entry.id));
        responses::list(self.language, &memos, offset, listed.len())
    }

    pub fn get(&mut self, name: &str) -> String {
        let Some(number) = self.find(name) else {
            return texts::memos::not_found(self.language, &shown_name(name));
        };
        self.disclosed.extend(self.entries[number].id);
        responses::details(self.language, &self.entries[number].memo, &self.zone)
    }

    /// Returns the tags, most used first.
    pub fn tags(&mut self) -> String {
        let mut tags: BTreeMap<&str, (usize, Timestamp)> = BTreeMap::new();
        for NotebookEntry { id, memo } in &self.entries {
            self.disclosed.extend(id.filter(|_| !memo.tags.is_empty()));
            for tag in &memo.tags {
                let (count, updated) = tags.entry(tag).or_insert((0, memo.updated));
                *count += 1;
                *updated = memo.updated.max(*updated);
            }
        }
        if tags.is_empty() {
            return texts::memos::no_tags(self.language).to_owned();
        }
        let mut tags: Vec<(&str, usize, Timestamp)> =
            tags.into_iter().map(|(tag, (count, updated))| (tag, count, updated)).collect();
        // The sort is stable: equally used tags stay in alphabetical order.
        tags.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
        responses::tags(self.language, &tags, &self.zone)
    }

    /// Returns the net changes, removals first. A memo is linked to the heard messages that it repeats, even if another
    /// user asked for it.
    pub fn changes(&self, heard: &[Arc<Message>]) -> Vec<MemoChange> {
        let is_there = |id: MemoryId| self.entries.iter().any(|entry| entry.id == Some(id));
        let gone = self.stored.iter().map(|(id, _)| *id).filter(|id| !is_there(*id));
        let is_unchanged = |entry: &&NotebookEntry| {
            self.stored.iter().any(|(id, memo)| entry.id == Some(*id) && entry.memo == *memo)
        };
        let changed = self.entries.iter().filter(|entry| !is_unchanged(entry));
        let upserts = changed.map(|NotebookEntry { id, memo }| {
            let repeated = heard.iter().filter(|message| memo.is_repeating(&message.text));
            let messages = repeated
                .map(|message| MessageRef(message.conversation.channel.clone(), message.id.clone()))
                .collect();
            MemoChange::Upsert { memo: memo.clone(), replaces: *id, messages }
        });
        gone.map(MemoChange::Remove).chain(upserts).collect()
    }

    /// Finds a memo by name. A private channel's own memo takes precedence over a public one that got the same name
    /// elsewhere: telling users there that the name is taken would disclose the private memo.
    fn find(&self, name: &str) -> Option<usize> {
        let name = name.trim();
        let named = || self.entries.iter().enumerate().filter(|(_, entry)| entry.memo.name == name);
        let own = named().find(|(_, entry)| entry.memo.scope() != MemoScope::Workspace);
        own.or_else(|| named().next()).map(|(number, _)| number)
    }

    /// Whether the memo may be changed here: content from a private channel must not get into a public memo (invariant
    /// 9).
    fn is_changeable(&self, memo: &Memo) -> bool {
        self.origin.visibility == Visibility::Public || memo.scope() != MemoScope::Workspace
    }

    fn parse(&self, entry: &NewMemo, now: Timestamp) -> Result<Memo, MemoError> {
        let is_theirs = |entry: &&NotebookEntry| entry.memo.said_by == self.origin.said_by;
        if self.entries.iter().filter(is_theirs).count() >= MAX_PER_USER {
            return Err(MemoError::TooMany);
        }
        Ok(Memo {
            name: parse_name(&entry.name)?,
            content: parse_content(&entry.content)?,
            priority: parse_priority(entry.priority)?,
            tags: parse_tags(entry.tags.as_deref().unwrap_or_default())?,
            detail: None,
            created: now,
            updated: now,
            channel: self.origin.channel.clone(),
            visibility: self.origin.visibility,
            said_by: self.origin.said_by.clone(),
        })
    }

    fn apply_update(
        &self,
        memo: &Memo,
        update: MemoUpdate,
        now: Timestamp,
    ) -> Result<Memo, MemoError> {
        if update == MemoUpdate::default() {
            return Err(MemoError::NothingToChange);
        }
        if !self.is_changeable(memo) {
            return Err(MemoError::ReadOnlyHere);
        }
        let mut updated = Memo { updated: now, ..memo.clone() };
        if let Some(name) = update.new_name {
            updated.name = parse_name(&name)?;
        }
        if let Some(content) = update.content {
            updated.content = parse_content(&content)?;
            // From now on the content has an additional source. Its visibility stays.
            updated.channel = self.origin.channel.clone();
            updated.said_by = self.origin.said_by.clone();
        }
        if let Some(priority) = update.priority {
            updated.priority = parse_priority(priority)?;
        }
        if let Some(tags) = update.tags {
            updated.tags = parse_tags(&tags)?;
        }
        if let Some(detail) = update.detail {
            updated.detail = Some(parse_detail(&detail)?).filter(|detail| !detail.is_empty());
        }
        Ok(updated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn notebook(channel: &str, visibility: Visibility, memos: &[Memo]) -> Notebook {
        let said_by = Some(UserId::new("u-alice"));
        let origin = MemoOrigin { channel: ChannelId::new(channel), visibility, said_by };
        let memos = (1..).map(MemoryId).zip(memos.iter().cloned()).collect();
        Notebook::new(origin, memos, Language::Ja, TimeZone::fixed(jiff::tz::offset(9)))
    }

    fn garden(memos: &[Memo]) -> Notebook {
        notebook("garden", Visibility::Public, memos)
    }

    fn memo(name: &str, priority: u8, tags: &[&str]) -> Memo {
        Memo {
            name: name.to_owned(),
            content: format!("about {name}"),
            priority,
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            detail: None,
            created: at(0),
            updated: at(i64::from(priority)),
            channel: ChannelId::new("garden"),
            visibility: Visibility::Public,
            said_by: None,
        }
    }

    fn secret(name: &str) -> Memo {
        let (channel, visibility) = (ChannelId::new("cellar"), Visibility::Private);
        Memo { channel, visibility, ..memo(name, 1, &[]) }
    }

    fn entry(name: &str) -> NewMemo {
        let (name, content) = (name.to_owned(), format!("about {name}"));
        NewMemo { name, content, priority: 5, tags: None }
    }

    fn upsert(memo: Memo, replaces: Option<i64>) -> MemoChange {
        MemoChange::Upsert { memo, replaces: replaces.map(MemoryId), messages: Vec::new() }
    }

    fn content(content: &str) -> MemoUpdate {
        MemoUpdate { content: Some(content.to_owned()), ..MemoUpdate::default() }
    }

    fn renamed(name: &str) -> MemoUpdate {
        MemoUpdate { new_name: Some(name.to_owned()), ..MemoUpdate::default() }
    }

    #[test]
    fn each_operation_answers_with_a_sentence() {
        let mut notes = garden(&[memo("tea", 3, &[])]);
        let long = "x".repeat(40);
        for (answer, expected) in [
            (notes.add(entry("rose"), at(9)), "メモを追加しました（name: rose）。"),
            (notes.add(entry(" rose "), at(9)), "メモの名前「rose」はすでに使われています。"),
            (notes.add(entry(""), at(9)), "メモの作成に失敗しました: Name cannot be empty"),
            (
                notes.add(NewMemo { priority: 6, ..entry("a") }, at(9)),
                "メモの作成に失敗しました: Priority must be between 1 and 5",
            ),
            (notes.edit("tea", content("green"), at(9)), "メモを更新しました（name: tea）。"),
            (notes.edit("tea", renamed("mint"), at(9)), "メモを更新しました（name: mint）。"),
            (notes.edit("tea", renamed("x"), at(9)), "メモが見つかりません（name: tea）。"),
            (
                notes.edit("mint", renamed("rose"), at(9)),
                "メモの名前「rose」はすでに使われています。",
            ),
            (
                notes.edit("mint", content(" "), at(9)),
                "メモの更新に失敗しました: Content cannot be empty",
            ),
            (
                notes.edit("mint", MemoUpdate::default(), at(9)),
                "メモの更新に失敗しました: Nothing that should change was given",
            ),
            (notes.remove("rose"), "メモを削除しました（name: rose）。"),
            (notes.remove("rose"), "メモが見つかりません（name: rose）。"),
            (notes.get(&long), &format!("メモが見つかりません（name: {}…）。", "x".repeat(32))),
            (notes.get("a\nb"), "メモが見つかりません（name: a b）。"),
            (notes.list(Some("no"), 0, 10), "タグ「no」のメモは見つかりませんでした。"),
            (notes.tags(), "メモタグがありません。"),
            (garden(&[]).list(None, 0, 10), "メモがありません。"),
        ] {
            assert_eq!(answer, expected);
        }
    }

    #[test]
    fn memos_are_listed_and_shown() {
        let rose = Memo {
            content: "cut\n- [tea] 優先度5 in May".to_owned(),
            detail: Some("one\n- 更新日: never".to_owned()),
            ..memo("rose", 5, &["plants", "may"])
        };
        let mut notes = garden(&[memo("tea", 3, &["plants"]), rose, memo("cake", 4, &[])]);
        let list = "メモ一覧（1-2件 / 全3件）\n\
            - [rose] 優先度5 [plants, may] cut - [tea] 優先度5 in May [詳細あり]\n\
            - [cake] 優先度4 about cake";
        assert_eq!(notes.list(None, 0, 2), list);
        let tagged = "メモ一覧（2-2件 / 全2件）\n- [tea] 優先度3 [plants] about tea";
        assert_eq!(notes.list(Some("plants"), 1, 10), tagged);
        let whole = "メモ詳細:\n- name: rose\n- 優先度: 5\n- タグ: plants, may\n- 内容:\n> cut\n\
            > - [tea] 優先度5 in May\n- 詳細:\n> one\n> - 更新日: never\n\
            - 作成日: 2027-01-15 17:00\n- 更新日: 2027-01-15 17:00";
        assert_eq!(notes.get("rose"), whole);
        let tags = "メモタグ一覧（2種類）:\n- plants: 2件（最終更新: 2027-01-15）\n\
            - may: 1件（最終更新: 2027-01-15）";
        assert_eq!(notes.tags(), tags);
    }

    #[test]
    fn one_user_fills_no_notebook() {
        let said_by = Some(UserId::new("u-alice"));
        let hers =
            |number: usize| Memo { said_by: said_by.clone(), ..memo(&number.to_string(), 1, &[]) };
        let mut memos: Vec<Memo> = (1..MAX_PER_USER).map(hers).collect();
        memos.push(memo("of others", 1, &[]));
        let mut notes = garden(&memos);
        assert_eq!(notes.add(entry("last"), at(9)), "メモを追加しました（name: last）。");
        let refusal = "メモの作成に失敗しました: There are 100 memos of what this user said; remove one first";
        assert_eq!(notes.add(entry("more"), at(9)), refusal);
        notes.remove("last");
        assert_eq!(notes.add(entry("more"), at(9)), "メモを追加しました（name: more）。");
    }

    #[test]
    fn a_page_is_always_bounded() {
        let memos: Vec<Memo> = (0..60).map(|n| memo(&format!("m{n:02}"), 3, &[])).collect();
        let mut notes = garden(&memos);
        for (offset, limit, expected) in [
            (0, 10, "メモ一覧（1-10件 / 全60件）"),
            (0, -1, "メモ一覧（1-1件 / 全60件）"),
            (0, 0, "メモ一覧（1-1件 / 全60件）"),
            (0, i64::MAX, "メモ一覧（1-50件 / 全60件）"),
            (-7, 10, "メモ一覧（1-10件 / 全60件）"),
            (55, 10, "メモ一覧（56-60件 / 全60件）"),
            (i64::MAX, 10, "メモ一覧（0件 / 全60件）"),
        ] {
            let list = notes.list(None, offset, limit);
            assert_eq!(list.lines().next(), Some(expected));
        }
    }

    #[test]
    fn a_private_memo_is_visible_nowhere_else() {
        let stored = [memo("tea", 3, &[]), secret("plan"), secret("tea")];
        let mut outside = garden(&stored);
        assert_eq!(outside.get("plan"), "メモが見つかりません（name: plan）。");
        assert_eq!(outside.add(entry("plan"), at(9)), "メモを追加しました（name: plan）。");
        // Where both are visible, a channel's own memo takes precedence.
        let mut inside = notebook("cellar", Visibility::Private, &stored);
        assert_eq!(
            inside.edit("tea", content("hidden"), at(9)),
            "メモを更新しました（name: tea）。"
        );
        let hidden = Memo {
            content: "hidden".to_owned(),
            updated: at(9),
            said_by: Some(UserId::new("u-alice")),
            ..secret("tea")
        };
        assert_eq!(inside.changes(&[]), [upsert(hidden, Some(3))]);
    }

    #[test]
    fn a_private_message_gets_into_no_public_memo() {
        let stored = [memo("tea", 3, &[])];
        for visibility in [Visibility::Private, Visibility::Direct] {
            let mut inside = notebook("cellar", visibility, &stored);
            let refused = format!("メモの更新に失敗しました: {}", MemoError::ReadOnlyHere);
            assert_eq!(inside.edit("tea", content("hidden"), at(9)), refused);
            let refused = format!("メモの削除に失敗しました: {}", MemoError::ReadOnlyHere);
            assert_eq!(inside.remove("tea"), refused);
            assert_eq!(
                inside.add(entry("tea"), at(9)),
                "メモの名前「tea」はすでに使われています。"
            );
            assert_eq!(inside.changes(&[]), []);
            inside.add(entry("plan"), at(9));
            let [MemoChange::Upsert { memo, .. }] = &inside.changes(&[])[..] else { panic!() };
            assert_eq!(memo.scope(), MemoScope::Channel(ChannelId::new("cellar")));
        }
    }

    #[test]
    fn only_net_changes_are_written() {
        let stored = [memo("tea", 3, &[]), memo("cake", 3, &[])];
        let mut notes = garden(&stored);
        notes.add(entry("rose"), at(9));
        notes.remove("rose");
        assert_eq!(notes.changes(&[]), []);
        notes.edit("tea", renamed("mint"), at(9));
        let mint = Memo { name: "mint".to_owned(), updated: at(9), ..memo("tea", 3, &[]) };
        assert_eq!(notes.changes(&[]), [upsert(mint.clone(), Some(1))]);
        notes.remove("cake");
        notes.add(entry("cake"), at(9));
        let cake = Memo { created: at(9), updated: at(9), ..memo("cake", 5, &[]) };
        let cake = Memo { said_by: Some(UserId::new("u-alice")), ..cake };
        let expected = [MemoChange::Remove(MemoryId(2)), upsert(mint, Some(1)), upsert(cake, None)];
        assert_eq!(notes.changes(&[]), expected);
    }

    #[test]
    fn disclosed_memos_are_reported() {
        let mut notes = garden(&[memo("tea", 3, &["plants"]), memo("cake", 4, &[])]);
        notes.list(None, 0, 1);
        assert_eq!(notes.take_disclosed(), [MemoryId(2)]);
        notes.get("tea");
        notes.get("mint");
        notes.tags();
        assert_eq!(notes.take_disclosed(), [MemoryId(1)]);
        notes.add(entry("rose"), at(9));
        notes.get("rose");
        assert_eq!(notes.take_disclosed(), []);
        notes.edit("cake", renamed("pie"), at(9));
        assert_eq!(notes.take_disclosed(), [MemoryId(2)]);
    }

    #[test]
    fn an_answer_is_always_bounded() {
        let long = |text: &str| text.repeat(10_000);
        let memos: Vec<Memo> = (0..60)
            .map(|n| Memo {
                content: long("あ\n"),
                detail: Some(long("い ")),
                tags: vec![long("t"), format!("{n}"), format!("{n}b")],
                ..memo(&format!("m{n:02}"), 3, &[])
            })
            .collect();
        let mut notes = garden(&memos);
        let list = notes.list(None, 0, 50);
        assert_eq!((list.lines().count(), list.chars().count() < 20_000), (51, true));
        assert!(notes.get("m01").chars().count() < 16_000);
        let tags = notes.tags();
        assert_eq!((tags.lines().count(), tags.chars().count() < 5_000), (51, true));
    }
}
