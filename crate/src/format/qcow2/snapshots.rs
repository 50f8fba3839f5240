//! The snapshot table (specification: "Snapshots").

use super::qcow2_header::Mapping;
use super::structures::{Qcow2Header, SnapshotExtraData, SnapshotHeader};
use crate::disk::info::Snapshot;
use crate::error::damage::ensure_possible;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Source, copied, read_exact};
use crate::offsets::{ByteRange, HostOffset};

/// QEMU's limits.
const MAX_SNAPSHOTS: u32 = 65_536;
const MAX_EXTRA_DATA: u32 = 1024;
const MAX_TABLE_BYTES: u64 = 16 << 20;

/// Alignment of entries, in bytes.
const ALIGN: u64 = 8;
/// Nanoseconds of a second.
const NANOSECONDS: f64 = 1e9;
/// Length of a read of the table, in bytes.
const WINDOW: u64 = 64 << 10;

/// A snapshot table entry.
#[derive(Clone, Debug)]
pub(super) struct SnapshotEntry {
    pub(super) snapshot: Snapshot,
    pub(super) at: HostOffset,
    /// The end of the entry in the table.
    pub(super) end: HostOffset,
    pub(super) l1_offset: HostOffset,
    pub(super) l1_entries: u32,
    /// The virtual size in bytes, if recorded.
    virtual_size: Option<u64>,
}

impl SnapshotEntry {
    /// Returns the validated mapping of the snapshot. The virtual size defaults to that of the active disk. Fails as
    /// [`Mapping::check`] does.
    pub(super) fn mapping(&self, header: &Qcow2Header) -> Result<Mapping> {
        let mapping = Mapping {
            virtual_size: self.virtual_size.unwrap_or(header.size) / 512 * 512,
            l1_offset: self.l1_offset,
            l1_entries: self.l1_entries,
        };
        mapping.check(
            header,
            [SnapshotHeader::l1_size, SnapshotHeader::l1_table_offset].map(|field| HostOffset(self.at.0 + field)),
        )?;
        Ok(mapping)
    }
}

/// Finds the snapshot with the ID `wanted`, or else with that name. Fails with `usage` if there is none.
pub(super) fn find<'a>(entries: &'a [SnapshotEntry], wanted: &str) -> Result<&'a SnapshotEntry> {
    let by_id = entries.iter().find(|entry| entry.snapshot.id == wanted);
    by_id.or_else(|| entries.iter().find(|entry| entry.snapshot.name == wanted)).ok_or_else(|| {
        let known = listed(entries);
        Error::new(ErrorKind::Usage, format!("The image has no snapshot '{}'; {known}", shown(wanted)))
    })
}

/// Maximum number of snapshots listed in a message, and of characters for them.
const LISTED: usize = 10;
const LISTED_LENGTH: usize = 500;

/// Returns a clause that lists the snapshots, for a message.
fn listed(entries: &[SnapshotEntry]) -> String {
    let mut names = Vec::new();
    let mut length = 0;
    for SnapshotEntry { snapshot, .. } in entries.iter().take(LISTED) {
        let name = format!("{} '{}'", shown(&snapshot.id), shown(&snapshot.name));
        length += name.chars().count();
        if length > LISTED_LENGTH {
            break;
        }
        names.push(name);
    }
    match entries.len() {
        0 => "it has none".to_owned(),
        count if count > names.len() => format!("it has {count}, {} among them", names.join(", ")),
        _ => format!("it has {}", names.join(", ")),
    }
}

/// Reads the snapshot table. Fails with `limit`, `corrupt` or `source`, or with `internal` if memory runs out.
pub(super) async fn read(source: &dyn Source, header: &Qcow2Header) -> Result<Vec<SnapshotEntry>> {
    if header.nb_snapshots == 0 {
        return Ok(Vec::new());
    }
    if header.nb_snapshots > MAX_SNAPSHOTS {
        return Err(Error::new(
            ErrorKind::Limit,
            format!("The image lists {} snapshots, more than {MAX_SNAPSHOTS}", header.nb_snapshots),
        ));
    }
    if !header.is_aligned(header.snapshots_offset) {
        return Err(Error::corrupt(
            "the snapshot table is not aligned to a cluster",
            HostOffset(Qcow2Header::snapshots_offset),
        ));
    }
    ensure_possible("snapshot table", HostOffset(header.snapshots_offset), header.size, source.size())?;
    let mut table = SnapshotTable {
        source,
        start: header.snapshots_offset,
        at: header.snapshots_offset,
        window: Vec::new(),
        window_start: 0,
    };
    let mut snapshots: Vec<SnapshotEntry> = Vec::new();
    for _ in 0..header.nb_snapshots {
        snapshots.try_reserve(1).map_err(|_| Error::out_of_memory(size_of_val(&snapshots[..])))?;
        snapshots.push(table.entry().await?);
    }
    Ok(snapshots)
}

/// Reads the table entry by entry through a window, since the length of an entry is known only from its start.
struct SnapshotTable<'a> {
    source: &'a dyn Source,
    start: u64,
    at: u64,
    window: Vec<u8>,
    window_start: u64,
}

impl SnapshotTable<'_> {
    /// Reads the next entry. Fails as [`read`] does.
    async fn entry(&mut self) -> Result<SnapshotEntry> {
        let at = HostOffset(self.at);
        let fixed = SnapshotHeader::parse(&self.take(SnapshotHeader::LEN as u64).await?);
        if fixed.extra_data_size > MAX_EXTRA_DATA {
            let place = HostOffset(at.0 + SnapshotHeader::extra_data_size);
            return Err(Error::corrupt("a snapshot has too much extra data", place));
        }
        let extra = SnapshotExtraData::parse_start(&self.take(fixed.extra_data_size.into()).await?);
        let if_present =
            |at: u64, value: u64| (u64::from(fixed.extra_data_size) >= at + size_of::<u64>() as u64).then_some(value);
        let vm_state_size = if_present(SnapshotExtraData::vm_state_size_large, extra.vm_state_size_large);
        let virtual_size = if_present(SnapshotExtraData::disk_size, extra.disk_size);
        let icount = if_present(SnapshotExtraData::icount, extra.icount);
        let id = self.text(fixed.id_str_size).await?;
        let name = self.text(fixed.name_size).await?;
        let end = HostOffset(self.at);
        self.at = self.at.next_multiple_of(ALIGN);
        let snapshot = Snapshot {
            id,
            name,
            date: f64::from(fixed.date_sec) + f64::from(fixed.date_nsec) / NANOSECONDS,
            vm_clock: fixed.vm_clock_nsec as f64 / NANOSECONDS,
            vm_state_size: vm_state_size.unwrap_or(fixed.vm_state_size.into()) as f64,
            icount: icount.filter(|&count| count != u64::MAX).map(|count| count as f64),
            virtual_size: virtual_size.map(|size| size as f64),
        };
        let l1_offset = HostOffset(fixed.l1_table_offset);
        Ok(SnapshotEntry { snapshot, at, end, l1_offset, l1_entries: fixed.l1_size, virtual_size })
    }

    /// Reads the next `len` bytes as UTF-8. Invalid sequences are replaced.
    async fn text(&mut self, len: u16) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.take(u64::from(len)).await?).into_owned())
    }

    /// Reads the next `len` bytes, at most 64 KiB. Fails with `limit` past 16 MiB of the table.
    async fn take(&mut self, len: u64) -> Result<Vec<u8>> {
        let start = HostOffset(self.at);
        let range = ByteRange::new(start, len).ok_or_else(|| Error::impossible_position("snapshot table", start))?;
        if range.end() - self.start > MAX_TABLE_BYTES {
            return Err(Error::new(ErrorKind::Limit, "The snapshot table exceeds 16 MiB"));
        }
        if range.end() > self.window_start + self.window.len() as u64 {
            let available = self.source.size().saturating_sub(self.at);
            let window = ByteRange { start: range.start, len: WINDOW.min(available).max(len) };
            self.window = read_exact(self.source, window, "snapshot table").await?;
            self.window_start = self.at;
        }
        let from = (self.at - self.window_start) as usize;
        self.at = range.end();
        copied(&self.window[from..from + len as usize])
    }
}
