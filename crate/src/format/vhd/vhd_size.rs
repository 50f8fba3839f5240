//! The size of the disk. Programs disagree: some take the size that the footer states, others that of the geometry.

use super::Content;
use super::vhd_footer::VhdFooter;
use crate::disk::info::Notice;
use crate::error::{Error, Result};
use crate::io::source::Source;
use std::rc::Rc;

/// Programs whose VHDs have the stated size for all readers: Windows, XenServer, Disk2vhd, and QEMU with `force_size`.
const SIZED_ALIKE: [[u8; 4]; 5] = [*b"win ", *b"tap\0", *b"CTXS", *b"d2v ", *b"qem2"];

/// Returns the virtual size, in bytes, and a notice if other programs may read another size. It is never less than the
/// disk for which data is stored. Fails with `corrupt` if the blocks cannot hold the disk, and as reading does.
pub(super) async fn virtual_size(
    footer: &VhdFooter,
    content: &Content,
    source: &Rc<dyn Source>,
) -> Result<(u64, Option<Notice>)> {
    let stated = footer.current_size;
    let geometry = footer.geometry_size().filter(|&size| size != stated);
    let wanted = footer.wanted_size();
    let size = match content {
        // The file may hold the larger of the two sizes: then no byte is dropped.
        Content::Fixed { present } if wanted <= *present => wanted.max(stated.min(*present)),
        Content::Fixed { .. } => stated,
        Content::Blocks(table) => {
            let room = table.room();
            if stated > room {
                let message = format!("the virtual size is {stated}, but {} blocks have {room} bytes", table.blocks);
                return Err(Error::corrupt(message, table.entries_place));
            }
            let loses_data = wanted < stated && table.has_data_from(source, wanted, stated).await?;
            if wanted > room || loses_data { stated } else { wanted }
        }
    };
    let other = [Some(stated), geometry].into_iter().flatten().find(|&other| other != size);
    let notice = other.filter(|_| !SIZED_ALIKE.contains(&footer.creator_application)).map(|other| {
        let message = format!(
            "Programs disagree on the size of this disk: it is read with {size} bytes; others may read {other}"
        );
        Notice::new("vhd-size", message).field("size", size).field("otherSize", other)
    });
    Ok((size, notice))
}
