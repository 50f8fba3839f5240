//! Conversions of one disk.

use decant::convert::{
    Cancel, ConvertedDisks, DiskSource, Executor, InOrder, Output, Progress, ResumePoint, convert_disks,
};
use decant::{Image, Result};

/// Converts the whole disk of `image`.
pub async fn convert<E: Executor>(
    image: &Image,
    executor: &E,
    output: &Output<'_, E::Bytes>,
    progress: &dyn Fn(Progress),
    cancel: &Cancel,
) -> Result<ConvertedDisks> {
    convert_disks(&[DiskSource::image(image, executor)], output, ResumePoint::default(), progress, cancel).await
}

/// Converts the whole streamed `disk`. `executor` must read from [`InOrder::files`].
pub async fn convert_in_order<E: Executor>(
    disk: &InOrder<'_>,
    executor: &E,
    output: &Output<'_, E::Bytes>,
    progress: &dyn Fn(Progress),
    cancel: &Cancel,
) -> Result<ConvertedDisks> {
    convert_disks(&[DiskSource::in_order(disk, executor)], output, ResumePoint::default(), progress, cancel).await
}
