//! The size of an output before the conversion, by the extents of the disk.

use super::{Change, reshaped};
use crate::error::Result;
use crate::open::image::Image;
use crate::output::{Options, OutputFormat};
use serde::Serialize;

/// The sizes of an output, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    /// The size for this disk; an upper bound if the output is compressed. Zeros in its data count as data, so the output may be
    /// smaller.
    pub required: u64,
    /// The size for a disk that has data everywhere. An upper bound if the output is compressed.
    pub fully_allocated: u64,
}

/// Measures the disk of `image` with `change` as `format` with `options`. Reads the tables of the image, which may be locked unless
/// the output depends on the data. Fails as [`reshaped`] and [`Image::layout`] do.
pub async fn measure(image: &Image, format: &OutputFormat, options: Options, change: Change) -> Result<Measured> {
    let (layout, reshaped) = reshaped(image, format, options, change).await?;
    let unit = layout.allocation();
    let mut extents = reshaped.extents(image, image.layout()?);
    // The number of units with data, and the first unit after them.
    let (mut units, mut next) = (0, 0);
    let mut batch = Vec::new();
    while extents.next(&mut batch).await? {
        for extent in batch.drain(..).filter(|extent| extent.has_data()) {
            let (first, end) = ((extent.start.0 / unit).max(next), extent.end().0.div_ceil(unit));
            units += end.saturating_sub(first);
            next = next.max(end);
        }
    }
    let most = layout.disk_size().div_ceil(unit);
    Ok(Measured { required: layout.size_for(units), fully_allocated: layout.size_for(most) })
}
