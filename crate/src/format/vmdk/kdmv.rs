//! Reads and validates the header of "KDMV" sparse extents, and their footer.

use super::entries::EntryLayout;
use super::sparse_header::{GrainCompression, SparseHeader, head, position, size};
use super::structures::{
    DEFLATE, FOOTER, HAS_LINE_ENDS, HAS_MARKERS, HAS_REDUNDANT, IN_FOOTER, IS_COMPRESSED, KDMV_MAGIC, KdmvHeader,
    LINE_ENDS, Marker,
};
use crate::error::{COPY_AGAIN, Error, ErrorKind, Result, ensure_header};
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset, SECTOR};

/// Maximum padding after the footer, and the length of a read of it, in bytes.
const MOST_PADDING: u64 = 16 << 20;
const WINDOW: u64 = 64 << 10;

impl KdmvHeader {
    /// Reads the header, or the footer if it has the directory's position. Returns it with its host offset. A salvage
    /// tolerates a missing footer if grains have markers.
    pub(super) async fn open(source: &dyn Source, salvage: bool) -> Result<(Self, HostOffset)> {
        let start = head(source).await?;
        ensure_header(SECTOR, source.size())?;
        let at_start = HostOffset(0);
        let first = Self::checked(&start, at_start)?;
        if first.gd_offset != IN_FOOTER {
            return Ok((first, at_start));
        }
        match first.with_footer(source).await {
            Err(error) if salvage && error.kind == ErrorKind::Corrupt && first.has_marked_grains() => {
                Ok((first, at_start))
            }
            found => found,
        }
    }

    /// Reads the footer and adds the descriptor's position, which only the header has. Fails with `corrupt` if there is
    /// no footer, or it describes another extent.
    async fn with_footer(&self, source: &dyn Source) -> Result<(Self, HostOffset)> {
        let (footer, place) = find_footer(source).await?;
        let footer = Self::checked(&footer, place)?;
        if footer.gd_offset == IN_FOOTER {
            return Err(Error::corrupt("the footer does not have the position of the grain directory", place));
        }
        if footer.shape() != self.shape() {
            let what = "the footer describes another extent than the header: their sizes or flags differ";
            return Err(Error::corrupt(what, place));
        }
        let Self { descriptor_offset, descriptor_size, .. } = *self;
        Ok((Self { descriptor_offset, descriptor_size, ..footer }, place))
    }

    /// The fields that a header and its footer must have in common.
    fn shape(&self) -> (u64, u64, u32, u32, u16) {
        let flags = self.flags & (IS_COMPRESSED | HAS_MARKERS);
        (self.capacity, self.grain_size, self.num_gtes_per_gt, flags, self.compress_algorithm)
    }

    /// Parses the header or footer `bytes`, which begins with the magic number and is at `place`. Fails with
    /// `unsupported` or `corrupt`.
    fn checked(bytes: &[u8], place: HostOffset) -> Result<Self> {
        let header = Self::parse(bytes);
        if !(1..=3).contains(&header.version) {
            return Err(Error::unknown_version(header.version, "VMDK"));
        }
        if header.flags & HAS_LINE_ENDS != 0 && header.end_line_chars != LINE_ENDS {
            let what = "its line ends were changed, probably by a transfer as text; transfer it again as binary";
            return Err(Error::corrupt(what, HostOffset(place.0 + Self::end_line_chars)));
        }
        Ok(header)
    }

    /// Whether the file contains only a descriptor.
    pub(super) fn is_descriptor(&self) -> bool {
        self.capacity == 0 && self.descriptor_offset != 0
    }

    fn has_marked_grains(&self) -> bool {
        self.flags & HAS_MARKERS != 0 && self.compress_algorithm == DEFLATE && self.capacity > 0
    }

    /// Converts the header or footer, which is at `place`, to the header of a sparse extent. Fails with `corrupt`,
    /// `limit` or `unsupported` if a field is out of range.
    pub(super) fn sparse(&self, place: HostOffset) -> Result<SparseHeader> {
        let at = |field: u64| HostOffset(place.0 + field);
        let is_footer_lost = self.gd_offset == IN_FOOTER;
        let (directory, field) =
            if is_footer_lost { (self.over_head, Self::over_head) } else { (self.gd_offset, Self::gd_offset) };
        let directory = position(directory, "the grain directory", at(field))?;
        let redundant = match self.rgd_offset {
            0 | IN_FOOTER => None,
            _ if self.flags & HAS_REDUNDANT == 0 => None,
            sectors => Some(position(sectors, "the redundant grain directory", at(Self::rgd_offset))?),
        };
        Ok(SparseHeader {
            place,
            capacity_place: at(Self::capacity),
            layout: EntryLayout::Kdmv,
            version: self.version,
            capacity: size(self.capacity)?,
            grain: self.grain_size.saturating_mul(SECTOR),
            table_entries: self.num_gtes_per_gt.into(),
            directory,
            markers: is_footer_lost.then_some(directory),
            redundant,
            compressed: self.compressed(at(Self::compress_algorithm))?,
            is_dirty: self.unclean_shutdown != 0,
        })
    }

    /// Returns the compression of grains. `place` is the host offset of `compress_algorithm`.
    fn compressed(&self, place: HostOffset) -> Result<Option<GrainCompression>> {
        match (self.compress_algorithm, self.flags & IS_COMPRESSED != 0) {
            (0, false) => Ok(None),
            (0, true) => {
                let what = "its grains are compressed, but it does not say how";
                Err(Error::corrupt(what, place))
            }
            (DEFLATE, _) => Ok(Some(GrainCompression { has_markers: self.flags & HAS_MARKERS != 0 })),
            (other, _) => Err(Error::unsupported(format!("compression method {other} of VMDK"))),
        }
    }
}

/// Finds the footer: the last sector that is not all zero. The end-of-stream marker and the padding after it are all
/// zero. Returns the footer and its host offset. Fails with `corrupt` if there is none.
async fn find_footer(source: &dyn Source) -> Result<(Vec<u8>, HostOffset)> {
    let end = source.size() / SECTOR * SECTOR;
    let first = end.saturating_sub(MOST_PADDING).max(SECTOR);
    let mut window_end = end;
    while window_end > first {
        let start = window_end.saturating_sub(WINDOW).max(first);
        let range = ByteRange { start: HostOffset(start), len: window_end - start };
        let window = read_exact(source, range, "footer").await?;
        let sectors = window.chunks(SECTOR as usize);
        if let Some(number) = sectors.clone().rposition(|sector| sector.iter().any(|&byte| byte != 0)) {
            let place = start + number as u64 * SECTOR;
            return Ok((footer_at(source, place).await?, HostOffset(place)));
        }
        window_end = start;
    }
    Err(no_footer())
}

/// Reads the footer at `place` and the marker before it. Fails with `corrupt` if it is not a footer.
async fn footer_at(source: &dyn Source, place: u64) -> Result<Vec<u8>> {
    let range = ByteRange { start: HostOffset(place - SECTOR), len: 2 * SECTOR };
    let bytes = read_exact(source, range, "footer").await?;
    let (marker, footer) = bytes.split_at(SECTOR as usize);
    let marker = Marker::parse(marker);
    if marker.size != 0 || marker.marker_type != FOOTER || !footer.starts_with(&KDMV_MAGIC) {
        return Err(no_footer());
    }
    Ok(footer.to_vec())
}

fn no_footer() -> Error {
    let message =
        "The image is truncated: its footer, which has the position of the grain directory, is not at its end";
    Error::new(ErrorKind::Corrupt, message).advised(COPY_AGAIN)
}
