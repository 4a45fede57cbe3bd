//! Reads and writes the rows of weekly notes, in memory.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::StoreError;
use crate::volatile::records::truncate_to_milliseconds;
use crate::volatile::{VolatileState, VolatileStore};
use crate::weekly_notes::{NoteChange, NoteKey, NoteState, RETENTION, StoredNote, WeeklyNotes};

#[async_trait]
impl WeeklyNotes for VolatileStore {
    async fn weekly_note(&self, key: &NoteKey) -> Result<Option<StoredNote>, StoreError> {
        Ok(self.lock().weekly_notes.get(key).copied())
    }

    async fn change_weekly_note(
        &self,
        key: NoteKey,
        change: NoteChange,
    ) -> Result<bool, StoreError> {
        Ok(self.lock().change_weekly_note(key, &change))
    }
}

impl VolatileState {
    fn change_weekly_note(&mut self, key: NoteKey, change: &NoteChange) -> bool {
        let known = self.weekly_notes.get(&key).copied();
        let changed = match (change, known) {
            (NoteChange::Begin { now, .. }, None) => {
                Some(StoredNote { state: NoteState::Sending, begun: *now })
            }
            (NoteChange::Begin { now, before }, Some(known)) => {
                let before = before.map(truncate_to_milliseconds);
                let is_expected = known.state == NoteState::Sending && Some(known.begun) == before;
                is_expected.then_some(StoredNote { begun: *now, ..known })
            }
            (NoteChange::End(state), known) => {
                known.map(|known| StoredNote { state: *state, ..known })
            }
        };
        let Some(changed) = changed else { return false };
        let begun = truncate_to_milliseconds(changed.begun);
        self.weekly_notes.insert(key, StoredNote { begun, ..changed });
        true
    }

    pub(super) fn drop_old_weekly_notes(&mut self, now: Timestamp) {
        let before = now.checked_sub(RETENTION).unwrap_or(Timestamp::MIN);
        self.weekly_notes.retain(|_, note| note.begun >= before);
    }
}
