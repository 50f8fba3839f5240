//! Opens a file for a caller that answers no question.

use decant::open::DiskOfMachine;
use decant::open::streamed_image::StreamedImage;
use decant::{Image, Input, OpenOptions, Result};

/// The result of [`open`].
#[allow(clippy::large_enum_variant, reason = "there is one for each image, and it is moved once or twice")]
pub enum Opened {
    /// An image that can be read at any position.
    Image(Image),
    /// A raw disk that is read in order; if `options` state that there is room, also a file to be unpacked.
    Streamed(StreamedImage),
    /// The configuration of a virtual machine.
    Machine(DiskOfMachine),
}

/// Opens `input`. Fails if a disk must be chosen, or room is needed.
pub async fn open(input: Input, options: &OpenOptions) -> Result<Opened> {
    match decant::open(input, options).await? {
        decant::Opened::Image(image) => Ok(Opened::Image(image)),
        decant::Opened::Streamed(image) => Ok(Opened::Streamed(image)),
        decant::Opened::Machine(disk) => Ok(Opened::Machine(disk)),
        decant::Opened::RoomNeeded(needed) if options.spool => Ok(Opened::Streamed(needed.file)),
        decant::Opened::RoomNeeded(needed) => Err(needed.refusal),
        decant::Opened::Choice(choice) => Err(choice.refusal()),
    }
}
