//! Restricts memories, memos and standing orders to users who may read their channel both here and where the data comes
//! from.

use std::collections::{HashMap, HashSet};

use aizuchi_model::chat::{ChannelId, Visibility};
use aizuchi_model::memo::{Memo, MemoScope};
use aizuchi_store::StoreError;
use aizuchi_store::archive::Archive;
use aizuchi_store::order::Order;

use crate::{ImportData, ImportedMemo, ImportedMemory, SkippedItems};

const REASON: &str = "the channel is known as public, so everybody would see them";

/// Drops the data of a channel that was not public but is known here as public, and makes the data of a channel that is
/// private here private. Data that is stored already is left unchanged, so that it counts as existing. `known` are the
/// channels that existed before the import.
pub async fn restrict(
    data: &mut ImportData,
    known: &HashMap<ChannelId, Visibility>,
    archive: &dyn Archive,
) -> Result<(), StoreError> {
    let before: HashMap<&ChannelId, Visibility> =
        data.channels.iter().map(|channel| (&channel.id, channel.visibility)).collect();
    let is_public = |visibility: Option<&Visibility>| visibility == Some(&Visibility::Public);
    let is_opened =
        |channel: &ChannelId| is_public(known.get(channel)) && !is_public(before.get(channel));
    let is_private = |channel: &ChannelId| {
        let here = known.get(channel).or(before.get(channel));
        here.is_some() && !is_public(here)
    };

    let stored = archive.all_memos(&data.workspace).await?;
    let stored: HashSet<(MemoScope, String)> =
        stored.into_iter().map(|(_, memo)| (memo.scope(), memo.name)).collect();
    let mut memos = Vec::new();
    let mut private_memos = 0;
    for ImportedMemo { memo, messages } in std::mem::take(&mut data.memos) {
        let was_public = memo.visibility == Visibility::Public;
        let memo = if stored.contains(&(memo.scope(), memo.name.clone())) {
            memo
        } else if was_public && is_private(&memo.channel) {
            Memo { visibility: Visibility::Private, ..memo }
        } else if !was_public && is_opened(&memo.channel) {
            private_memos += 1;
            continue;
        } else {
            memo
        };
        memos.push(ImportedMemo { memo, messages });
    }

    let mut memories = Vec::new();
    let mut private_memories = 0;
    for memory in std::mem::take(&mut data.memories) {
        let ImportedMemory { key, .. } = &memory;
        let is_private =
            key.channel().is_some_and(is_opened) && archive.memory_versions(key).await?.is_empty();
        match is_private {
            true => private_memories += 1,
            false => memories.push(memory),
        }
    }

    let mut orders = Vec::new();
    let mut private_orders = 0;
    for order in std::mem::take(&mut data.orders) {
        let is_private = match &order {
            Order::GiveStandingOrder { scope, .. } => scope.channel().is_some_and(is_opened),
            _ => false,
        };
        match is_private {
            true => private_orders += 1,
            false => orders.push(order),
        }
    }

    (data.memos, data.memories, data.orders) = (memos, memories, orders);
    let skipped = [
        SkippedItems::new_if_any("memos of private channels", private_memos, REASON),
        SkippedItems::new_if_any("memories of private channels", private_memories, REASON),
        SkippedItems::new_if_any("standing orders of private channels", private_orders, REASON),
    ];
    data.skipped.extend(skipped.into_iter().flatten());
    Ok(())
}
