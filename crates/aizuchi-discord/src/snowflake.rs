//! The timestamps in Discord's ids.

use jiff::Timestamp;

/// The start of Discord's epoch, as Unix time in milliseconds.
const EPOCH_MS: i64 = 1_420_070_400_000;

/// Returns when the object with this id was created.
pub fn id_timestamp(id: &str) -> Option<Timestamp> {
    let id: u64 = id.parse().ok()?;
    let milliseconds = i64::try_from(id >> 22).ok()?;
    Timestamp::from_millisecond(milliseconds + EPOCH_MS).ok()
}

/// Returns an id after everything created before this time, and before everything else.
pub fn id_before(at: Timestamp) -> u64 {
    first_id_at(at).saturating_sub(1)
}

/// Returns the lowest id that can be created at this time.
pub fn first_id_at(at: Timestamp) -> u64 {
    let milliseconds = u64::try_from(at.as_millisecond() - EPOCH_MS).unwrap_or(0);
    milliseconds << 22
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn ids_hold_their_creation_time() {
        assert_eq!(id_timestamp("175928847299117063").unwrap().as_millisecond(), 1_462_015_105_796);
        assert_eq!(id_timestamp("nonsense"), None);
        let id = id_before(at(1_700_000_000));
        assert!(id_timestamp(&id.to_string()).unwrap() < at(1_700_000_000));
        assert_eq!(id_timestamp(&(id + 1).to_string()).unwrap(), at(1_700_000_000));
        assert_eq!(id_before(at(0)), 0);
    }

    #[test]
    fn the_first_id_of_a_moment_is_not_above_any_other() {
        let at = id_timestamp("175928847299117063").unwrap();
        assert_eq!(at.to_string(), "2016-04-30T11:18:25.796Z");
        assert!(first_id_at(at) <= 175_928_847_299_117_063);
        assert_eq!(id_timestamp(&first_id_at(at).to_string()), Some(at));
        assert_eq!(id_timestamp("x"), None);
    }
}
