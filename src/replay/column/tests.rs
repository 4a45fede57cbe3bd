use super::*;

/// More records than stay in memory, and more than are sorted at once.
const MANY: u32 = 600_000;

#[test]
fn a_long_column_says_what_a_short_one_says() {
    let number = |place: u32| u64::from(place) * 7 % 1001;
    let mut column: Column<(u64, u32)> = (0..MANY).map(|place| (number(place), place)).collect();
    assert!(column.stored.is_some() && column.kept() < MAX_KEPT, "{} in memory", column.kept());
    assert_eq!(column.len(), MANY as usize);
    for place in [0, 1, 511, 512, 65_535, 65_536, 300_001, MANY - 1] {
        assert_eq!(column.get(place as usize), Some((number(place), place)));
    }
    assert_eq!(column.get(MANY as usize), None);
    assert!(column.iter().zip(0..).all(|(record, place)| record == (number(place), place)));
    assert_eq!(column.iter().count(), MANY as usize);
    let part = column.part(65_530, 65_545);
    let expected: Vec<u32> = (65_530..65_545).collect();
    assert_eq!(part.iter().map(|record| record.1).collect::<Vec<_>>(), expected);
    assert_eq!(part.records().map(|record| record.1).collect::<Vec<_>>(), expected);
    assert_eq!(part.iter().next_back(), part.get(part.len() - 1));
    assert_eq!(column.partition_point(|record| record.1 < 123_456), 123_456);
    assert_eq!(part.partition_point(|record| record.1 < 65_540), 10);
    assert!(column.part(5, 3).is_empty() && column.part(MANY as usize, usize::MAX / 2).is_empty());
    // Records are replaced in the file, and in memory.
    for place in [3, 99_999, MANY - 1] {
        column.set(place as usize, (5000, place));
        assert_eq!(column.get(place as usize), Some((5000, place)));
    }
    assert_eq!(column.iter().filter(|record| record.0 == 5000).count(), 3);
    let copy = column.clone();
    column.set(3, (0, 3));
    assert_eq!((copy.get(3), column.get(3)), (Some((5000, 3)), Some((0, 3))));
    column.check().unwrap();
}

#[test]
fn a_lost_file_fails_all_that_is_made_of_it() {
    let column: Column<(u64, u32)> = (0..1000).map(|place| (7, place)).collect();
    let derived: Column<u32> = column.derive([1, 2]);
    let copy = column.clone().lost().unwrap();
    copy.check().unwrap();
    assert_eq!(copy.get(3), Some((0, 0)));
    let error = copy.check().unwrap_err().to_string();
    assert!(error.starts_with("cannot use a temporary file in "), "{error}");
    // The failure of the copy shows in the columns that it is related to.
    assert!(column.check().is_err() && derived.check().is_err());
    // So does the failure of a block-wise read, and of a replaced record.
    let column: Column<u32> = (0..1000).collect();
    assert!(column.clone().lost().unwrap().sorted_by_key(|number| *number).iter().eq([0; 1000]));
    assert!(column.check().is_err());
    let mut column = (0..1000).collect::<Column<u32>>().lost().unwrap();
    column.set(5, 6);
    assert!(column.check().is_err());
}

#[test]
fn a_column_that_the_disk_does_not_take_stays_in_memory() {
    let mut column = Column::<u32>::default().lost().unwrap();
    column.extend(0..MANY);
    assert_eq!((column.kept(), column.len()), (MANY as usize, MANY as usize));
    assert!(column.iter().eq(0..MANY));
    assert_eq!(column.partition_point(|number| *number < 123_456), 123_456);
    let sorted = column.sorted_by_key(|number| std::cmp::Reverse(*number));
    assert!(sorted.iter().eq((0..MANY).rev()));
    sorted.check().unwrap();
}

#[test]
fn equal_keys_stay_in_their_order() {
    let key = |record: &(u64, u32)| record.0;
    let records: Vec<(u64, u32)> =
        (0..MANY).map(|place| (u64::from(place) * 48_271 % 997, place)).collect();
    let column: Column<(u64, u32)> = records.iter().copied().collect();
    let sorted = column.sorted_by_key(key);
    let mut expected = records;
    expected.sort_by_key(key);
    assert!(sorted.stored.is_some() && sorted.iter().eq(expected));
}

#[test]
fn numbers_and_times_come_back_exactly() {
    let at = jiff::Timestamp::new(-3, -5).unwrap();
    let mut bytes = [0; 20];
    (-0.1_f64, at).write(&mut bytes);
    assert_eq!(<(f64, jiff::Timestamp)>::read(&bytes), (-0.1, at));
    assert_eq!(jiff::Timestamp::read(&[0; 12]), jiff::Timestamp::UNIX_EPOCH);
}
