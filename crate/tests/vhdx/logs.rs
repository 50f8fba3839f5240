//! Logs: entries, sequences, and what they change outside of the blocks.

use super::*;

/// A log of 1 MiB at the start of the blocks, as Hyper-V has it.
const LOG: usize = MIB;

/// An image with a log, and a disk that ends in its second block.
fn with_log() -> Vhdx<'static> {
    Vhdx { log: LOG, size: MIB as u64 + 8192, ..Vhdx::new(&[Data(1), Data(2)]) }
}

fn page(file: &[u8], at: usize) -> Change {
    Change::Page(at, file[at..at + PAGE].to_vec())
}

/// `file` with these entries in its log, each at its position.
fn logged(image: &Vhdx, mut file: Vec<u8>, entries: &[(usize, Vec<u8>)]) -> Vec<u8> {
    let log = image.log_start()..image.log_start() + LOG;
    entries.iter().for_each(|(at, bytes)| log_at(&mut file, log.clone(), *at, bytes));
    file
}

fn entry(file: &[u8], sequence: u64, tail: usize, changes: Vec<Change>) -> Vec<u8> {
    let size = file.len() as u64;
    Entry { sequence, tail, changes, flushed: size, last: size }.bytes()
}

#[test]
fn a_block_at_the_largest_offset() {
    let misplaced = |image: &Vhdx| changed(image.file(), &[(TABLE, &0xffff_ffff_fff0_0006_u64.to_le_bytes())]);
    let image = with_log();
    let file = misplaced(&image);
    let logged = logged(&image, file.clone(), &[(0, entry(&file, 1, 0, vec![page(&file, METADATA)]))]);
    for (what, file) in [("without a log", misplaced(&Vhdx::new(&[Data(1)]))), ("with a log", logged)] {
        let error = Case::new(file).bytes().unwrap_err();
        assert!(error.kind == Corrupt && error.to_string().contains("far beyond the end"), "{what}: {error}");
    }
}

/// Every structure is read with the changes in the log, and so is data. The file stays as it is.
#[test]
fn logs_are_replayed_in_memory() {
    let image = with_log();
    let (file, disk) = (image.file(), image.disk(&[]));
    let (tables, metadata, items, bat) = (REGIONS, METADATA, ITEMS, TABLE);
    let data = file.len() - MIB - 8192;
    let lose = |at: &[usize]| {
        let page: &[u8] = &[0xee; PAGE];
        changed(file.clone(), &at.iter().map(|&at| (at, page)).collect::<Vec<_>>())
    };
    let all = |at: &[usize]| at.iter().map(|&at| page(&file, at)).collect::<Vec<_>>();
    let places: &[(&str, &[usize])] = &[
        ("nothing", &[]),
        ("the BAT", &[bat]),
        ("a region table", &[tables[0], tables[0] + PAGE]),
        ("the metadata", &[metadata, items]),
        ("data", &[data + 4 * PAGE, data + 9 * PAGE, data]),
        ("everything", &[tables[1], metadata, items, bat, data + MIB - PAGE]),
    ];
    for (what, places) in places {
        let stale = lose(places);
        let stale = if places.contains(&tables[1]) { changed(stale, &[(tables[0], &[0; 4])]) } else { stale };
        let file = logged(&image, stale.clone(), &[(0, entry(&file, 1, 0, all(places)))]);
        let case = Case::new(file);
        check(&case, &disk, what);
        let safety = info(&case).safety;
        if places.is_empty() {
            assert!(safety.is_empty(), "{what}");
        } else {
            assert_eq!(safety[0].code, "vhdx-log-replayed", "{what}");
            assert_eq!(safety[0].fields.get("size"), Some(&((places.len() * PAGE) as u64).into()), "{what}");
        }
    }
}

/// Zeros, and pages that later entries change again.
#[test]
fn later_changes_win() {
    let image = with_log();
    let mut file = image.file();
    let mut disk = image.disk(&[]);
    let data = file.len() - MIB - 8192;
    // The last block of the disk is the last one in the file.
    let (first, second) = (data, file.len() - 8192);
    let filled = |at: usize, byte: u8| Change::Page(at, vec![byte; PAGE]);
    let zeros = |at: usize, len: usize| Change::Zeros(at as u64, len as u64);
    let entries = [
        entry(&file, 5, 0, vec![filled(first + PAGE, 1), zeros(first + 2 * PAGE, 20 * PAGE), filled(second, 2)]),
        entry(
            &file,
            6,
            0,
            vec![filled(first + 4 * PAGE, 3), zeros(first + 6 * PAGE, PAGE), filled(first + 21 * PAGE, 4)],
        ),
        entry(&file, 7, 0, vec![zeros(first + PAGE, 2 * PAGE), zeros(second, 0), filled(first + 6 * PAGE, 5)]),
    ];
    let mut at = 0;
    for bytes in &entries {
        file = logged(&image, file, &[(at, bytes.clone())]);
        at += bytes.len();
    }
    disk[PAGE..22 * PAGE].fill(0);
    disk[4 * PAGE..5 * PAGE].fill(3);
    disk[6 * PAGE..7 * PAGE].fill(5);
    disk[21 * PAGE..22 * PAGE].fill(4);
    disk[MIB..MIB + PAGE].fill(2);
    check(&Case::new(file.clone()), &disk, "three entries");
    // Only the last one is needed if its tail is itself, and the first entries may be gone.
    let last = entry(&file, 7, at - entries[2].len(), vec![page(&image.file(), TABLE)]);
    let file = logged(&image, image.file(), &[(at - entries[2].len(), last)]);
    assert!(Case::new(file).bytes().unwrap() == image.disk(&[]));
}

/// Which of the entries in a log are applied: the BAT of the file is empty, and that in each entry gives the first block
/// another place.
#[test]
fn sequences() {
    const DATA: &[Block] = &[Data(1), Data(2), Data(3)];
    /// No block is read, and the log is whole.
    const NOTHING: usize = 3;
    let image = Vhdx { log: LOG, ..Vhdx::new(DATA) };
    let mut whole = image.file();
    let places: Vec<u64> =
        (0..3).map(|block| u64::from_le_bytes(whole[image.entry(block)..][..8].try_into().unwrap())).collect();
    whole[TABLE..TABLE + PAGE].fill(0);
    let bat = |block: usize| {
        let mut page = vec![0; PAGE];
        page[..8].copy_from_slice(&places[block].to_le_bytes());
        Change::Page(TABLE, page)
    };
    let expected = |block: Option<usize>| {
        let mut disk = vec![0; 3 * MIB];
        if let Some(block) = block.filter(|&block| block != NOTHING) {
            disk[..MIB].copy_from_slice(&image.disk(&[])[block * MIB..][..MIB]);
        }
        disk
    };
    // Each entry has two pages, unless it says otherwise.
    let one = |sequence: u64, tail: usize, block: usize| entry(&whole, sequence, tail, vec![bat(block)]);
    let empty = |sequence: u64, tail: usize| entry(&whole, sequence, tail, vec![]);
    let wrong = |bytes: Vec<u8>, at: usize, value: u8| changed(bytes, &[(at, &[value])]);
    let end = LOG - PAGE;
    type Entries = Vec<(usize, Vec<u8>)>;
    // (what, entries with their positions, the block that is read; `None` if the log is damaged)
    let rows: Vec<(&str, Entries, Option<usize>)> = vec![
        ("one entry", vec![(0, one(1, 0, 1))], Some(1)),
        ("the last of two", vec![(0, one(1, 0, 1)), (2 * PAGE, one(2, 0, 2))], Some(2)),
        ("a gap in the numbers", vec![(0, one(1, 0, 1)), (2 * PAGE, one(3, 2 * PAGE, 2))], Some(2)),
        ("older entries after it", vec![(0, one(9, 0, 1)), (2 * PAGE, one(8, 2 * PAGE, 2))], Some(1)),
        ("the same number twice", vec![(0, one(5, 0, 1)), (2 * PAGE, one(5, 2 * PAGE, 2))], Some(1)),
        ("an entry that was torn", vec![(0, one(1, 0, 1)), (2 * PAGE, wrong(one(2, 0, 2), 6000, 0xff))], Some(1)),
        (
            "a descriptor of another entry",
            vec![(0, one(1, 0, 1)), (2 * PAGE, wrong(one(2, 0, 2), 64 + 24, 9))],
            Some(1),
        ),
        (
            "a data page of another entry",
            vec![(0, one(1, 0, 1)), (2 * PAGE, wrong(one(2, 0, 2), PAGE + 4092, 9))],
            Some(1),
        ),
        ("another log", vec![(0, one(1, 0, 1)), (2 * PAGE, wrong(one(2, 0, 2), 40, 9))], Some(1)),
        ("a wrapped entry", vec![(end, one(7, end, 2))], Some(2)),
        ("a wrapped sequence", vec![(end - PAGE, one(7, end - PAGE, 1)), (0, one(8, end - PAGE, 2))], Some(2)),
        (
            "a wrapped sequence with an entry across the end",
            vec![(end, one(7, end, 1)), (PAGE, one(8, end, 2)), (3 * PAGE, empty(9, end))],
            Some(2),
        ),
        ("an empty entry at its end", vec![(8 * PAGE, one(1, 8 * PAGE, 1)), (10 * PAGE, empty(2, 8 * PAGE))], Some(1)),
        ("a tail that passes over the first", vec![(0, one(1, 0, 1)), (2 * PAGE, empty(2, 2 * PAGE))], Some(NOTHING)),
        ("a tail outside of the sequence", vec![(0, one(1, 16 * PAGE, 1))], None),
        ("a tail in an entry", vec![(0, one(1, PAGE, 1))], None),
        (
            "an incomplete sequence, and an older one",
            vec![(0, one(4, 16 * PAGE, 1)), (8 * PAGE, one(2, 8 * PAGE, 2))],
            Some(2),
        ),
        ("no number", vec![(0, one(0, 0, 1))], None),
        ("nothing", vec![], None),
        ("the last number", vec![(0, one(u64::MAX, 0, 1)), (2 * PAGE, one(0, 0, 2))], Some(1)),
    ];
    for (what, entries, block) in rows {
        let case = Case::new(logged(&image, whole.clone(), &entries));
        match (case.bytes(), block) {
            (Ok(bytes), Some(block)) => assert!(bytes == expected(Some(block)), "{what}"),
            (Err(error), None) => assert!(error.kind == Corrupt && error.code == "vhdx-log", "{what}: {error}"),
            (result, _) => panic!("{what}: {:?}", result.map(|bytes| bytes.len())),
        }
        let salvaged = Case { salvage: true, ..case };
        assert!(salvaged.bytes().unwrap() == expected(block), "{what}");
        let codes: &[&str] = match block {
            Some(NOTHING) => &[],
            Some(_) => &["vhdx-log-replayed"],
            None => &["vhdx-log-damaged"],
        };
        assert_eq!(notices(&salvaged), codes, "{what}");
    }
}

/// In a salvage, a header with a wrong checksum still leads to the log, whose entries have their own. If there may have
/// been changes that are not read, all of the disk is listed.
#[test]
fn logs_of_damaged_headers() {
    let image = with_log();
    let (file, disk) = (image.file(), image.disk(&[]));
    let without_table: &[u8] = &[0; PAGE];
    let lost = changed(file.clone(), &[(TABLE, without_table)]);
    let entries = [(0, entry(&file, 1, 0, vec![page(&file, TABLE)]))];
    let logged = logged(&image, lost, &entries);
    let wrong: &[u8] = &[0; 4];
    let both = |file: &[u8]| changed(file.to_vec(), &[(HEADERS[0] + 4, wrong), (HEADERS[1] + 4, wrong)]);
    let without_guid = |file: Vec<u8>| {
        let guid: &[u8] = &[0; 16];
        changed(file, &[(HEADERS[0] + 48, guid), (HEADERS[1] + 48, guid)])
    };
    let log = image.log_start();
    // (what, file, the code of the notice, whether the disk is in doubt)
    let rows: &[(&str, Vec<u8>, &[&str], bool)] = &[
        ("whole headers", logged.clone(), &["vhdx-log-replayed"], false),
        ("damaged headers", both(&logged), &["vhdx-log-replayed"], false),
        ("a damaged entry", changed(logged.clone(), &[(log + 5000, &[0xaa])]), &["vhdx-log-damaged"], true),
        (
            "damaged headers and a damaged entry",
            changed(both(&logged), &[(log + 5000, &[0xaa])]),
            &["vhdx-log-damaged"],
            true,
        ),
        ("a log of zeros", changed(logged.clone(), &[(log, &vec![0; LOG])]), &["vhdx-log-damaged"], true),
        ("headers without the GUID of the log", without_guid(both(&logged)), &["vhdx-log-damaged"], true),
        ("headers without a log that was ever used", without_guid(both(&file)), &[], false),
    ];
    for (what, file, codes, is_in_doubt) in rows {
        let case = Case { salvage: true, ..Case::new(file.clone()) };
        let (bytes, losses) = salvage(&case).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(notices(&case), *codes, "{what}");
        let size = image.size;
        let expected = Lost { start: GuestOffset(0), len: size, damage: LOG_LOST };
        assert_eq!(losses, [expected][usize::from(!is_in_doubt)..], "{what}");
        assert!(*is_in_doubt || bytes == disk, "{what}: other bytes");
        let examined = case.with(Answers::InOrder, |image| async move { Examination::of(&image, true).await }).unwrap();
        assert_eq!(examined.lost, if *is_in_doubt { size } else { 0 }, "{what}");
    }
}

/// A child reads its own doubt for what it takes from its parent, too.
#[test]
fn a_damaged_log_in_a_chain() {
    let [(_, base), (_, middle), (_, top)] = &chain();
    let logged = Vhdx { log: LOG, ..middle.clone() };
    let companions = vec![("x".to_owned(), base.file()), ("y".to_owned(), logged.file())];
    let case = Case { companions, salvage: true, ..case(top) };
    let (bytes, losses) = salvage(&case).unwrap();
    assert!(bytes == top.disk(&middle.disk(&base.disk(&[]))), "other bytes");
    assert!(!losses.is_empty() && losses.iter().all(|lost| lost.damage == LOG_LOST), "{losses:?}");
    let in_doubt: u64 = losses.iter().map(|lost| lost.len).sum();
    assert!(in_doubt < top.size, "the image itself is not in doubt");
}

/// Changes that are refused: each makes the entry invalid.
#[test]
fn changes_outside_the_blocks() {
    let image = with_log();
    let file = image.file();
    let (table, page, log) = (TABLE as u64, PAGE as u64, image.log_start() as u64);
    let rows: &[(&str, u64, u64, bool)] = &[
        ("a page", table + 64 * page, page, true),
        ("a header", HEADERS[0] as u64, page, false),
        ("the start of the file", 0, page, false),
        ("the log", log + page, page, false),
        ("pages up to the log", log - page, page, true),
        ("pages into the log", log - page, 2 * page, false),
        ("half a page", table + 64 * page + 512, page, false),
        ("a length of half a page", table + 64 * page, 512, false),
        ("the last position", u64::MAX - page + 1, page, false),
        ("more than a file can have", 1 << 54, page, false),
        ("all of the file", table + 64 * page, u64::MAX - page + 1, false),
    ];
    for &(what, at, len, is_valid) in rows {
        let changes = vec![Change::Zeros(at, len)];
        let result = Case::new(logged(&image, file.clone(), &[(0, entry(&file, 1, 0, changes))])).bytes();
        assert_eq!(result.is_ok(), is_valid, "{what}: {:?}", result.err());
    }
}

/// A log states two sizes of the file: it has all bytes up to the first, and those that it lacks up to the second are
/// zeros.
#[test]
fn sizes_of_files_with_logs() {
    let image = with_log();
    let (file, disk) = (image.file(), image.disk(&[]));
    let size = file.len();
    let cut = size - 4096;
    let sized = |flushed: u64, last: u64, changes: Vec<Change>| {
        let entry = Entry { sequence: 1, tail: 0, changes, flushed, last };
        logged(&image, file[..cut].to_vec(), &[(0, entry.bytes())])
    };
    let log = |flushed: usize, last: usize, changes: Vec<Change>| sized(flushed as u64, last as u64, changes);
    let zeros = [&disk[..disk.len() - 4096], &[0; 4096]].concat();
    let filled = [&disk[..disk.len() - 4096], &[7; 4096]].concat();
    assert!(Case::new(log(cut, size, vec![])).bytes().unwrap() == zeros);
    assert!(Case::new(sized(cut as u64, u64::MAX, vec![])).bytes().unwrap() == zeros);
    check(&Case::new(log(cut, size, vec![Change::Page(cut, vec![7; PAGE])])), &filled, "a page after the end");
    check(&Case::new(log(cut, cut, vec![Change::Page(cut, vec![7; PAGE])])), &filled, "a page that makes it longer");
    for file in
        [log(cut, cut, vec![]), log(size, size, vec![]), log(size, size, vec![Change::Page(cut, vec![7; PAGE])])]
    {
        let error = Case::new(file).bytes().unwrap_err();
        assert!(error.code == "truncated", "{error}");
    }
    let error = Case::new(sized(1 << 50, 1 << 50, vec![])).bytes().unwrap_err();
    assert!(error.kind == Corrupt && error.code == "corrupt", "{error}");
    let info = info(&Case::new(log(cut, size, vec![])));
    assert_eq!(info.file_size, Some(cut as u64));
}

/// Changes are bounded, whatever their number in the log.
#[test]
fn logs_with_too_many_changes() {
    const COUNT: usize = 10 << 20;
    let image = Vhdx { log: COUNT, ..with_log() };
    let file = image.file();
    let log = image.log_start()..image.log_start() + COUNT;
    let far = |number: u64| Change::Zeros((1 << 40) + 2 * PAGE as u64 * number, 2 * PAGE as u64);
    let mut entries = file.clone();
    let changes = |first: u64| (first..first + 150_000).map(far).collect::<Vec<_>>();
    let first = Entry { sequence: 1, tail: 0, changes: changes(0), flushed: 0, last: 0 }.bytes();
    log_at(&mut entries, log.clone(), 0, &first);
    assert!(Case::new(entries.clone()).bytes().unwrap() == image.disk(&[]));
    let second = Entry { sequence: 2, tail: 0, changes: changes(150_000), flushed: 0, last: 0 }.bytes();
    log_at(&mut entries, log, first.len(), &second);
    let error = Case::new(entries).bytes().unwrap_err();
    assert!(error.kind == Limit, "{error}");
}
