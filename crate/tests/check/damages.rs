//! Damaged qcow2 images, and what a check must find in each.

use super::Found;
use super::qcow2::{COPIED, Qcow2};

/// A change to an image of one kind.
pub struct Damage {
    pub what: &'static str,
    pub base: &'static str,
    pub change: fn(&mut Qcow2),
    pub expected: Expected,
}

pub enum Expected {
    /// Both find nothing.
    Sound,
    /// Both find the same number of leaks.
    Leaked,
    /// Both find the same numbers of corruptions and leaks.
    Corrupt,
    /// Both find the same numbers of corruptions and leaks, and cannot check as much.
    Unchecked,
    /// Decant finds so many corruptions and leaks, and `qemu-img check` something else, for this reason.
    Differs(u64, u64, &'static str),
}
use Expected::{Corrupt, Differs, Leaked, Sound, Unchecked};

impl Expected {
    pub fn is_met(&self, own: Found, qemu: Option<Found>) -> bool {
        match self {
            Sound | Leaked | Corrupt | Unchecked if qemu != Some(own) => false,
            Sound => own.exit_code() == 0,
            Leaked => own.exit_code() == 3,
            Corrupt => own.exit_code() == 2,
            Unchecked => own.exit_code() == 1,
            Differs(corruptions, leaks, reason) => {
                assert!(!reason.is_empty());
                own.counts() == (*corruptions, *leaks, 0) && qemu != Some(own)
            }
        }
    }
}

pub const fn damage(what: &'static str, base: &'static str, change: fn(&mut Qcow2), expected: Expected) -> Damage {
    Damage { what, base, change, expected }
}

pub fn damages() -> Vec<Damage> {
    let mut rows = vec![];
    for base in ["v3", "v2", "512 bytes", "1 bit", "2 bits", "4 bits", "8 bits", "32 bits", "64 bits", "extended"] {
        rows.extend([
            // The flag "copied" of the entry is wrong, too.
            damage("refcount 0 of data", base, |q| q.set_refcount(q.data(), 0), Corrupt),
            damage("refcount 0 of an L2 table", base, |q| q.set_refcount(q.l2(), 0), Corrupt),
            damage("refcount 0 of the header", base, |q| q.set_refcount(0, 0), Corrupt),
            damage(
                "a leaked cluster",
                base,
                |q| {
                    let at = q.grow(1);
                    q.set_refcount(at, 1);
                },
                Leaked,
            ),
            damage(
                "leaked clusters",
                base,
                |q| {
                    let at = q.grow(3);
                    (0..3).for_each(|n| q.set_refcount(at + n * q.cluster(), 1));
                },
                Leaked,
            ),
            damage(
                "an unused end",
                base,
                |q| {
                    q.grow(3);
                },
                Sound,
            ),
            damage("an L2 entry that is lost", base, lose_entry, Leaked),
        ]);
    }
    for base in ["v3", "v2", "2 bits", "8 bits", "64 bits"] {
        rows.extend([
            damage("refcount 2 of data", base, |q| q.set_refcount(q.data(), 2), Corrupt),
            damage("two L2 entries at one cluster", base, |q| q.set(q.l2() + 8, q.number(q.l2())), Corrupt),
            damage(
                "two L2 entries at a cluster of refcount 2",
                base,
                |q| {
                    let entry = q.number(q.l2()) & !COPIED;
                    q.set_refcount(q.data(), 2);
                    q.set(q.l2(), entry);
                    q.set(q.l2() + 8, entry);
                },
                Leaked,
            ),
            damage("an L2 entry into the header", base, |q| q.set(q.l2() + 0x1f0, COPIED | 512), Corrupt),
            damage("an L2 entry into the L1 table", base, |q| q.set(q.l2() + 0x1f0, COPIED | q.l1() as u64), Corrupt),
            damage(
                "an L2 entry into the refcount table",
                base,
                |q| q.set(q.l2() + 0x1f0, COPIED | q.refcount_table() as u64),
                Corrupt,
            ),
            damage(
                "an L2 entry into a refcount block",
                base,
                |q| q.set(q.l2() + 0x1f0, COPIED | q.refcount_block() as u64),
                Corrupt,
            ),
            damage("an L2 entry after the end", base, |q| q.set(q.l2() + 0x1f0, COPIED | 1 << 30), Corrupt),
            damage("an L2 entry that is not aligned", base, |q| q.set(q.l2(), q.number(q.l2()) + 512), Corrupt),
            damage("reserved bits in an L2 entry", base, |q| q.set(q.l2(), q.number(q.l2()) | 2), Corrupt),
            damage("a flag that is missing", base, |q| q.set(q.l2(), q.number(q.l2()) & !COPIED), Corrupt),
            damage("reserved bits in an L1 entry", base, |q| q.set(q.l1(), q.number(q.l1()) | 1), Corrupt),
            damage("an L1 entry with a missing flag", base, |q| q.set(q.l1(), q.number(q.l1()) & !COPIED), Corrupt),
            damage("an L1 entry after the end", base, |q| q.set(q.l1() + 8, COPIED | 1 << 30), Corrupt),
            damage(
                "an L1 entry that is not aligned",
                base,
                |q| q.set(q.l1() + 8, COPIED | (q.l2() as u64 + 512)),
                Corrupt,
            ),
            damage("two L1 entries at one table", base, |q| q.set(q.l1() + 8, q.number(q.l1())), Corrupt),
            damage(
                "reserved bits in the refcount table",
                base,
                |q| q.set(q.refcount_table(), q.number(q.refcount_table()) | 1),
                Corrupt,
            ),
            damage(
                "two entries at one refcount block",
                base,
                |q| q.set(q.refcount_table() + 8, q.number(q.refcount_table())),
                Corrupt,
            ),
            damage("a refcount block after the end", base, |q| q.set(q.refcount_table() + 8, 1 << 30), Corrupt),
            damage(
                "the file is cut off",
                base,
                |q| {
                    let len = q.0.len();
                    q.0.truncate(len - 2 * q.cluster());
                },
                Corrupt,
            ),
        ]);
    }
    rows.extend([
        damage("the dirty bit", "v3", |q| q.0[79] |= 1, Sound),
        damage("the corrupt bit", "v3", |q| q.0[79] |= 2, Sound),
        damage("a zero cluster with a place after the end", "v3", |q| q.set(q.l2(), COPIED | 1 << 30 | 1), Corrupt),
        damage("a zero cluster in version 2", "v2", |q| q.set(q.l2() + 0x1f0, 1), Differs(1, 0, "QEMU reads it")),
        damage("a subcluster that is allocated and zero", "extended", |q| q.set(q.l2() + 8, u64::MAX), Corrupt),
        damage("a subcluster without a place", "extended", |q| q.set(q.l2() + 0x308, 1), Corrupt),
        damage(
            "a compressed cluster with the flag",
            "compressed",
            |q| q.set(q.l2(), q.number(q.l2()) | COPIED),
            Corrupt,
        ),
        damage("a compressed cluster after the end", "compressed", |q| q.set(q.l2(), 1 << 62 | 1 << 30), Corrupt),
        damage("a compressed cluster over another", "compressed", |q| q.set(q.l2(), q.number(q.l2() + 8)), Sound),
        damage("a compressed cluster in a table", "compressed", |q| q.set(q.l2(), 1 << 62 | q.l1() as u64), Corrupt),
        damage(
            "an L1 table of a snapshot that is not aligned",
            "snapshots",
            |q| {
                let at = q.number(64) as usize;
                q.set(at, q.number(at) + 512);
            },
            Corrupt,
        ),
        damage(
            "an L1 table of a snapshot at the active one",
            "snapshots",
            |q| {
                let at = q.number(64) as usize;
                q.set(at, q.l1() as u64);
            },
            Corrupt,
        ),
        damage(
            "an L1 table of a snapshot after the end",
            "snapshots",
            |q| {
                let at = q.number(64) as usize;
                q.set(at, 1 << 30);
            },
            Corrupt,
        ),
        damage(
            "unknown refcounts, and an entry far after the end",
            "v3",
            |q| {
                q.set(q.refcount_table(), q.number(q.refcount_table()) + 0x200);
                q.set(q.l2(), COPIED | 1 << 48);
            },
            Unchecked,
        ),
        damage("a refcount that is too high", "snapshots", |q| q.set_refcount(q.data(), 9), Leaked),
        damage("a refcount that is too low", "snapshots", |q| q.set_refcount(q.data(), 2), Corrupt),
        damage("refcount 1 of a shared cluster", "snapshots", |q| q.set_refcount(q.data(), 1), Corrupt),
        damage("an entry after the end in a shared table", "snapshots", |q| q.set(q.l2() + 0x1f0, 1 << 30), Corrupt),
        damage(
            "a directory of bitmaps with refcount 0",
            "bitmap",
            |q| {
                let at = directory(q);
                q.set_refcount(at, 0);
            },
            Corrupt,
        ),
        damage(
            "a table of a bitmap that is not aligned",
            "bitmap",
            |q| {
                let at = directory(q);
                q.set(at, q.number(at) + 512);
            },
            Differs(1, 2, "QEMU gives up"),
        ),
        damage(
            "a bitmap's table after the end",
            "bitmap",
            |q| {
                let at = directory(q);
                q.set(at, 1 << 30);
            },
            Corrupt,
        ),
        damage(
            "reserved bits in a bitmap's table",
            "bitmap",
            |q| {
                let at = directory(q);
                q.set(q.number(at) as usize, 2);
            },
            Differs(1, 1, "QEMU ends the check"),
        ),
        damage(
            "a bitmap's cluster in the header",
            "bitmap",
            |q| {
                let at = directory(q);
                q.set(q.number(at) as usize, 512 << 3);
            },
            Corrupt,
        ),
        damage("bitmaps that are not consistent", "bitmap", |q| q.0[95] = 0, Leaked),
        damage("a compressed cluster with a data file", "data file", |q| q.set(q.l2(), 1 << 62 | 1), Corrupt),
        damage(
            "an entry that is not the guest offset",
            "data file",
            |q| q.set(q.l2() + 8, COPIED | 0x5000),
            Differs(1, 0, "QEMU does not compare it"),
        ),
        damage(
            "refcount 0 of the LUKS header",
            "LUKS",
            |q| {
                let at = luks_header(q);
                q.set_refcount(at, 0);
            },
            Corrupt,
        ),
        damage(
            "an L2 entry into the LUKS header",
            "LUKS",
            |q| {
                let at = luks_header(q);
                q.set(q.l1(), COPIED | at as u64);
            },
            Corrupt,
        ),
    ]);
    rows
}

/// Removes the first L2 entry.
fn lose_entry(q: &mut Qcow2) {
    let has_subclusters = q.0[7] > 2 && q.0[79] & 1 << 4 != 0;
    q.set(q.l2(), 0);
    if has_subclusters {
        q.set(q.l2() + 8, 0);
    }
}

/// The data of the header extension of type `kind`.
fn extension(q: &Qcow2, kind: u32) -> usize {
    let word = |at: usize| u32::from_be_bytes(q.0[at..at + 4].try_into().unwrap());
    let mut at = word(100) as usize;
    while word(at) != kind {
        at += 8 + (word(at + 4) as usize).next_multiple_of(8);
    }
    at + 8
}

fn directory(q: &Qcow2) -> usize {
    q.number(extension(q, 0x2385_2875) + 16) as usize
}

fn luks_header(q: &Qcow2) -> usize {
    q.number(extension(q, 0x0537_be77)) as usize
}
