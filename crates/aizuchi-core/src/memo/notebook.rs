//! The memos that may be seen from one channel, as one reply reads and changes them. Nothing is
//! written before the reply is kept, so a reply that is thrown away takes its changes along.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::chat::{ChannelId, Message, UserId, Visibility};
use crate::memo::{
    MAX_LIST_LENGTH, Memo, MemoChange, MemoError, MemoScope, MemoUpdate, NewMemo, parse_content,
    parse_name, parse_priority, parse_tags, responses,
};
use crate::memory::{MemoryId, MessageRef};
use crate::persona::Language;

/// Where a reply is thought of, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoOrigin {
    pub channel: ChannelId,
    pub visibility: Visibility,
    /// Who said what a new memo holds, where that is known.
    pub said_by: Option<UserId>,
}

/// Each of its verbs answers with a sentence for the model.
#[derive(Clone, Debug)]
pub struct Notebook {
    origin: MemoOrigin,
    language: Language,
    zone: TimeZone,
    /// As the store has them.
    stored: Vec<(MemoryId, Memo)>,
    /// As they will be.
    entries: Vec<NotebookEntry>,
    /// What answers have told of since somebody asked.
    disclosed: Vec<MemoryId>,
}

#[derive(Clone, Debug)]
struct NotebookEntry {
    /// Of the one that the store has.
    id: Option<MemoryId>,
    memo: Memo,
}

impl Notebook {
    /// Memos that may not be seen from here are left out.
    pub fn new(
        place: MemoOrigin,
        memos: Vec<(MemoryId, Memo)>,
        language: Language,
        zone: TimeZone,
    ) -> Self {
        let seen = memos.into_iter().filter(|(_, memo)| memo.is_visible_from(&place.channel));
        let kept: Vec<(MemoryId, Memo)> = seen.collect();
        let pages =
            kept.iter().cloned().map(|(id, memo)| NotebookEntry { id: Some(id), memo }).collect();
        Self { origin: place, language, zone, stored: kept, entries: pages, disclosed: Vec::new() }
    }

    /// The memos that answers have told of, or carried on, since this was asked last.
    pub fn take_disclosed(&mut self) -> Vec<MemoryId> {
        let mut told = std::mem::take(&mut self.disclosed);
        told.sort();
        told.dedup();
        told
    }

    pub fn add(&mut self, entry: NewMemo, now: Timestamp) -> String {
        let memo = match self.parse(&entry, now) {
            Ok(memo) => memo,
            Err(error) => return responses::not_added(self.language, error),
        };
        if self.find(&memo.name).is_some() {
            return responses::name_taken(self.language, &memo.name);
        }
        let answer = responses::added(self.language, &memo.name);
        self.entries.push(NotebookEntry { id: None, memo });
        answer
    }

    pub fn edit(&mut self, name: &str, amendment: MemoUpdate, now: Timestamp) -> String {
        let Some(number) = self.find(name) else {
            return responses::not_found(self.language, name);
        };
        let amended = match self.apply_update(&self.entries[number].memo, amendment, now) {
            Ok(amended) => amended,
            Err(error) => return responses::not_edited(self.language, error),
        };
        if self.find(&amended.name).is_some_and(|other| other != number) {
            return responses::name_taken(self.language, &amended.name);
        }
        let answer = responses::edited(self.language, &amended.name);
        self.entries[number].memo = amended;
        self.disclosed.extend(self.entries[number].id);
        answer
    }

    pub fn remove(&mut self, name: &str) -> String {
        let Some(number) = self.find(name) else {
            return responses::not_found(self.language, name);
        };
        if !self.is_changeable(&self.entries[number].memo) {
            return responses::not_removed(self.language, MemoError::ReadOnlyHere);
        }
        let removed = self.entries.remove(number);
        responses::removed(self.language, &removed.memo.name)
    }

    /// One page of the memos (of those with `tag`), what matters most first.
    pub fn list(&mut self, tag: Option<&str>, offset: i64, limit: i64) -> String {
        let tag = tag.map(str::trim).filter(|tag| !tag.is_empty());
        let has = |page: &NotebookEntry, tag: &str| page.memo.tags.iter().any(|own| own == tag);
        let is_listed = |page: &&NotebookEntry| tag.is_none_or(|tag| has(page, tag));
        let mut listed: Vec<&NotebookEntry> = self.entries.iter().filter(is_listed).collect();
        match tag {
            Some(tag) if listed.is_empty() => {
                return responses::no_memos_with_tag(self.language, tag);
            }
            None if listed.is_empty() => return responses::no_memos(self.language),
            Some(_) | None => {}
        }
        listed.sort_by_key(|NotebookEntry { memo, .. }| {
            (std::cmp::Reverse((memo.priority, memo.updated)), memo.name.as_str())
        });
        let offset = usize::try_from(offset).unwrap_or(0).min(listed.len());
        let limit = usize::try_from(limit).unwrap_or(1).clamp(1, MAX_LIST_LENGTH);
        let shown = || listed.iter().skip(offset).take(limit);
        let memos: Vec<&Memo> = shown().map(|page| &page.memo).collect();
        self.disclosed.extend(shown().filter_map(|page| page.id));
        responses::list(self.language, &memos, offset, listed.len())
    }

    pub fn get(&mut self, name: &str) -> String {
        let Some(number) = self.find(name) else {
            return responses::not_found(self.language, name);
        };
        self.disclosed.extend(self.entries[number].id);
        responses::details(self.language, &self.entries[number].memo, &self.zone)
    }

    /// The tags that are used most.
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
            return responses::no_tags(self.language);
        }
        let mut tags: Vec<(&str, usize, Timestamp)> =
            tags.into_iter().map(|(tag, (count, updated))| (tag, count, updated)).collect();
        // Stable: those that are used alike stay in the order of the alphabet.
        tags.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
        responses::tags(self.language, &tags, &self.zone)
    }

    /// What became different, however often it was changed on the way: removals first. A memo is tied
    /// to the lines that were heard and that it repeats, whoever asked for it.
    pub fn changes(&self, heard: &[Arc<Message>]) -> Vec<MemoChange> {
        let is_there = |id: MemoryId| self.entries.iter().any(|page| page.id == Some(id));
        let gone = self.stored.iter().map(|(id, _)| *id).filter(|id| !is_there(*id));
        let is_kept = |page: &&NotebookEntry| {
            self.stored.iter().any(|(id, memo)| page.id == Some(*id) && page.memo == *memo)
        };
        let fresh = self.entries.iter().filter(|page| !is_kept(page));
        let put = fresh.map(|NotebookEntry { id, memo }| {
            let repeated = heard.iter().filter(|line| memo.is_repeating(&line.text));
            let lines = repeated
                .map(|line| MessageRef(line.conversation.channel.clone(), line.id.clone()))
                .collect();
            MemoChange::Upsert { memo: memo.clone(), replaces: *id, messages: lines }
        });
        gone.map(MemoChange::Remove).chain(put).collect()
    }

    /// A private room's own memo comes before a public one that was given its name elsewhere, since
    /// nobody there could be told that it is taken.
    fn find(&self, name: &str) -> Option<usize> {
        let name = name.trim();
        let named = || self.entries.iter().enumerate().filter(|(_, page)| page.memo.name == name);
        let own = named().find(|(_, page)| page.memo.scope() != MemoScope::Workspace);
        own.or_else(|| named().next()).map(|(number, _)| number)
    }

    /// What is said in a private room may not get into a memo that everybody sees (invariant 9).
    fn is_changeable(&self, memo: &Memo) -> bool {
        self.origin.visibility == Visibility::Public || memo.scope() != MemoScope::Workspace
    }

    fn parse(&self, entry: &NewMemo, now: Timestamp) -> Result<Memo, MemoError> {
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
        amendment: MemoUpdate,
        now: Timestamp,
    ) -> Result<Memo, MemoError> {
        if amendment == MemoUpdate::default() {
            return Err(MemoError::NothingToChange);
        }
        if !self.is_changeable(memo) {
            return Err(MemoError::ReadOnlyHere);
        }
        let mut amended = Memo { updated: now, ..memo.clone() };
        if let Some(name) = amendment.new_name {
            amended.name = parse_name(&name)?;
        }
        if let Some(content) = amendment.content {
            amended.content = parse_content(&content)?;
            // It has another source from now on, besides those that it had. Who may see it stays as it is.
            amended.channel = self.origin.channel.clone();
            amended.said_by = self.origin.said_by.clone();
        }
        if let Some(priority) = amendment.priority {
            amended.priority = parse_priority(priority)?;
        }
        if let Some(tags) = amendment.tags {
            amended.tags = parse_tags(&tags)?;
        }
        if let Some(detail) = amendment.detail {
            amended.detail = Some(detail.trim().to_owned()).filter(|detail| !detail.is_empty());
        }
        Ok(amended)
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
        let place = MemoOrigin { channel: ChannelId::new(channel), visibility, said_by };
        let memos = (1..).map(MemoryId).zip(memos.iter().cloned()).collect();
        Notebook::new(place, memos, Language::Ja, TimeZone::fixed(jiff::tz::offset(9)))
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

    fn put(memo: Memo, replaces: Option<i64>) -> MemoChange {
        MemoChange::Upsert { memo, replaces: replaces.map(MemoryId), messages: Vec::new() }
    }

    fn content(content: &str) -> MemoUpdate {
        MemoUpdate { content: Some(content.to_owned()), ..MemoUpdate::default() }
    }

    fn renamed(name: &str) -> MemoUpdate {
        MemoUpdate { new_name: Some(name.to_owned()), ..MemoUpdate::default() }
    }

    #[test]
    fn each_call_is_answered_with_its_sentence() {
        let mut notes = garden(&[memo("tea", 3, &[])]);
        let long = "x".repeat(40);
        for (answer, expected) in [
            (notes.add(entry("rose"), at(9)), "メモを追加しました（name: rose）"),
            (notes.add(entry(" rose "), at(9)), "メモの名前「rose」は既に使用されています"),
            (notes.add(entry(""), at(9)), "メモの作成に失敗しました: Name cannot be empty"),
            (
                notes.add(NewMemo { priority: 6, ..entry("a") }, at(9)),
                "メモの作成に失敗しました: Priority must be between 1 and 5",
            ),
            (notes.edit("tea", content("green"), at(9)), "メモを更新しました（name: tea）"),
            (notes.edit("tea", renamed("mint"), at(9)), "メモを更新しました（name: mint）"),
            (notes.edit("tea", renamed("x"), at(9)), "メモが見つかりません（name: tea）"),
            (
                notes.edit("mint", renamed("rose"), at(9)),
                "メモの名前「rose」は既に使用されています",
            ),
            (
                notes.edit("mint", content(" "), at(9)),
                "メモの更新に失敗しました: Content cannot be empty",
            ),
            (
                notes.edit("mint", MemoUpdate::default(), at(9)),
                "メモの更新に失敗しました: Nothing that should change was given",
            ),
            (notes.remove("rose"), "メモを削除しました（name: rose）"),
            (notes.remove("rose"), "メモが見つかりません（name: rose）"),
            (notes.get(&long), &format!("メモが見つかりません（name: {}…）", "x".repeat(32))),
            (notes.get("a\nb"), "メモが見つかりません（name: a b）"),
            (notes.list(Some("no"), 0, 10), "タグ「no」のメモは見つかりませんでした"),
            (notes.tags(), "メモタグがありません"),
            (garden(&[]).list(None, 0, 10), "メモがありません"),
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
    fn a_page_is_bounded_whatever_is_asked_for() {
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
    fn a_private_memo_shows_nowhere_else() {
        let kept = [memo("tea", 3, &[]), secret("plan"), secret("tea")];
        let mut outside = garden(&kept);
        assert_eq!(outside.get("plan"), "メモが見つかりません（name: plan）");
        assert_eq!(outside.add(entry("plan"), at(9)), "メモを追加しました（name: plan）");
        // Where both are seen, a room's own memo comes first.
        let mut inside = notebook("cellar", Visibility::Private, &kept);
        assert_eq!(inside.edit("tea", content("hidden"), at(9)), "メモを更新しました（name: tea）");
        let hidden = Memo {
            content: "hidden".to_owned(),
            updated: at(9),
            said_by: Some(UserId::new("u-alice")),
            ..secret("tea")
        };
        assert_eq!(inside.changes(&[]), [put(hidden, Some(3))]);
    }

    #[test]
    fn what_is_said_in_private_gets_into_no_public_memo() {
        let kept = [memo("tea", 3, &[])];
        for visibility in [Visibility::Private, Visibility::Direct] {
            let mut inside = notebook("cellar", visibility, &kept);
            let refused = format!("メモの更新に失敗しました: {}", MemoError::ReadOnlyHere);
            assert_eq!(inside.edit("tea", content("hidden"), at(9)), refused);
            let refused = format!("メモの削除に失敗しました: {}", MemoError::ReadOnlyHere);
            assert_eq!(inside.remove("tea"), refused);
            assert_eq!(inside.add(entry("tea"), at(9)), "メモの名前「tea」は既に使用されています");
            assert_eq!(inside.changes(&[]), []);
            inside.add(entry("plan"), at(9));
            let [MemoChange::Upsert { memo, .. }] = &inside.changes(&[])[..] else { panic!() };
            assert_eq!(memo.scope(), MemoScope::Channel(ChannelId::new("cellar")));
        }
    }

    #[test]
    fn only_what_is_different_in_the_end_is_written() {
        let kept = [memo("tea", 3, &[]), memo("cake", 3, &[])];
        let mut notes = garden(&kept);
        notes.add(entry("rose"), at(9));
        notes.remove("rose");
        assert_eq!(notes.changes(&[]), []);
        notes.edit("tea", renamed("mint"), at(9));
        let mint = Memo { name: "mint".to_owned(), updated: at(9), ..memo("tea", 3, &[]) };
        assert_eq!(notes.changes(&[]), [put(mint.clone(), Some(1))]);
        notes.remove("cake");
        notes.add(entry("cake"), at(9));
        let cake = Memo { created: at(9), updated: at(9), ..memo("cake", 5, &[]) };
        let cake = Memo { said_by: Some(UserId::new("u-alice")), ..cake };
        let expected = [MemoChange::Remove(MemoryId(2)), put(mint, Some(1)), put(cake, None)];
        assert_eq!(notes.changes(&[]), expected);
    }

    #[test]
    fn whoever_reads_memos_knows_which() {
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
    fn an_answer_is_bounded_whatever_a_memo_holds() {
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
