//! What deserves a look before an image of unknown origin is converted. None of it is an error.

use crate::extent::{Extent, ExtentKind, ExtentWalk, Extents};
use crate::image::Info;
use serde::Serialize;

/// One thing that deserves a look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// What, for programs.
    pub code: &'static str,
    /// What, for people: a sentence without a full stop at its end.
    pub message: String,
}

/// A disk so many times as large as its file, and at least so large in bytes, is remarkable.
const HUGE_SHARE: u64 = 10_000;
const HUGE: u64 = 1 << 40;
/// Deflate and zstd reach this on zeros only; more than this over a whole image is remarkable.
const EXPANSION: u64 = 500;
/// Batches of extents that a survey looks at.
const BATCHES: usize = 256;

/// What the headers tell.
pub fn notices(info: &Info) -> Vec<Notice> {
    let mut notices = Vec::new();
    let mut add = |code, message: String| notices.push(Notice { code, message });
    if let Some(backing) = &info.backing_file {
        add(
            "backing-file",
            format!("The image refers to another file, '{}', for what it does not hold itself", backing.name),
        );
        name_notice(&backing.name, &mut add);
        if backing.format.is_none() {
            add("backing-format", "The image does not state the format of its backing file".to_owned());
        }
    }
    if let Some(data) = &info.data_file {
        add("data-file", format!("The data lies in another file, '{}'", data.name));
        name_notice(&data.name, &mut add);
    }
    for layer in info.layers.iter().filter(|layer| layer.guessed) {
        add(
            "format-guessed",
            format!("'{}' is in no format that is recognised and none is stated for it; it is read as raw", layer.name),
        );
    }
    let has = |name: &str| info.features.iter().any(|feature| feature == name);
    if has("dirty") {
        add("dirty", "The image was not closed properly; the guest may want to check its file systems".to_owned());
    }
    if has("corrupt") {
        add("corrupt", "The image is marked as corrupt; it is read as it is".to_owned());
    }
    if has("unknown compatible features") {
        add("unknown-features", "The image uses features that are unknown but do not hinder reading".to_owned());
    }
    if info.virtual_size >= HUGE && info.virtual_size / HUGE_SHARE >= info.file_size.max(1) {
        add(
            "huge",
            format!("The disk of {} bytes is more than {HUGE_SHARE} times the size of its file", info.virtual_size),
        );
    }
    notices
}

fn name_notice(name: &str, add: &mut impl FnMut(&'static str, String)) {
    let is_drive = name.as_bytes().get(1) == Some(&b':') && name.as_bytes()[0].is_ascii_alphabetic();
    let scheme = name.split_once(':').map(|(scheme, _)| scheme);
    if !is_drive && scheme.is_some_and(|scheme| !scheme.is_empty() && !scheme.contains('/')) {
        add("protocol", format!("'{name}' is no plain path: it names a protocol or a driver, which is never followed"));
    } else if is_drive || name.starts_with(['/', '\\']) {
        add("absolute-path", format!("'{name}' is an absolute path, which is never followed"));
    } else if name.split(['/', '\\']).any(|part| part == "..") {
        add("parent-path", format!("'{name}' leads out of the image's folder; it is never followed"));
    }
}

/// What the tables tell: clusters that are shared, or expand beyond reason.
pub async fn survey(walk: Box<dyn ExtentWalk>, virtual_size: u64, file_size: u64) -> Vec<Notice> {
    let mut extents = Extents::new(walk, virtual_size);
    let mut count = Count::default();
    let mut batch = Vec::new();
    for _ in 0..BATCHES {
        batch.clear();
        // Damage is told when the image is read.
        if !matches!(extents.next(&mut batch).await, Ok(true)) {
            break;
        }
        batch.iter().for_each(|extent| count.add(extent));
    }
    count.notices(file_size)
}

/// Bytes that are referred to.
#[derive(Default)]
struct Count {
    plain: u64,
    expanded: u64,
}

impl Count {
    fn add(&mut self, extent: &Extent) {
        match extent.kind {
            ExtentKind::Data { file, .. } if file.0 == 0 => self.plain += extent.len,
            ExtentKind::Compressed { cluster, .. } => self.expanded += cluster,
            _ => {}
        }
    }

    fn notices(&self, file_size: u64) -> Vec<Notice> {
        let mut notices = Vec::new();
        if self.plain > file_size {
            notices.push(Notice {
                code: "shared",
                message: "Parts of the file are used for many places of the disk, which a plain image never has"
                    .to_owned(),
            });
        }
        if self.expanded / EXPANSION > file_size {
            notices.push(Notice {
                code: "expanding",
                message: format!("Compressed data expands to more than {EXPANSION} times the size of the file"),
            });
        }
        notices
    }
}
