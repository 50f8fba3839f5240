//! An image: recognised, opened, described, listed.

use crate::error::{Error, ErrorKind, Result};
use crate::extent::ExtentWalk;
use crate::format::{self, Disk};
use crate::source::Source;
use serde::Serialize;
use std::rc::Rc;

/// What the headers of an image say. Sizes are in bytes. A field that a format does not have is
/// `None` or empty.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Info {
    /// The format's name, as `qemu-img -f` has it.
    pub format: &'static str,
    /// The size of the disk that the guest sees.
    pub virtual_size: u64,
    /// The size of the image's file.
    pub file_size: u64,
    /// The unit of allocation.
    pub cluster_size: Option<u64>,
    /// The version of the format.
    pub version: Option<u32>,
    /// How compressed clusters are compressed, if there are any: "zlib".
    pub compression: Option<&'static str>,
    /// The width of a reference count, in bits.
    pub refcount_bits: Option<u32>,
    /// The feature bits that are set, by name.
    pub features: Vec<String>,
    /// The internal snapshots, in the order of the image's table.
    pub snapshots: Vec<Snapshot>,
}

/// An internal snapshot as the image's table lists it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Its unique ID.
    pub id: String,
    /// Its name.
    pub name: String,
    /// When it was taken, in seconds since 1970.
    pub date_seconds: u32,
    /// The part of a second of that time, in nanoseconds.
    pub date_nanoseconds: u32,
    /// How long the guest had run, in nanoseconds. A float, since JavaScript shows it.
    pub vm_clock_nanoseconds: f64,
    /// The size of the saved machine state, in bytes. A float, since JavaScript shows it.
    pub vm_state_size: f64,
    /// The guest's instruction count at that time, where recorded. A float, since JavaScript shows it.
    pub icount: Option<f64>,
    /// The size of the disk at that time, in bytes, where recorded. A float, since JavaScript shows it.
    pub virtual_size: Option<f64>,
}

/// How to open an image.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The format, if the caller states it; otherwise the content decides.
    pub format: Option<String>,
    /// The name of the file. It decides nothing, but where content is not recognised a name that
    /// ends in `.raw` or `.img` makes the message offer to read it as raw.
    pub name: Option<String>,
}

/// An opened image.
pub struct Image {
    source: Rc<dyn Source>,
    disk: Rc<dyn Disk>,
}

impl Image {
    /// Opens `source`. Fails with `not-recognised`, `unsupported`, `corrupt`, `limit`, `source`, or
    /// `usage` where the stated format is unknown.
    pub async fn open(source: Rc<dyn Source>, options: &OpenOptions) -> Result<Self> {
        let format = match &options.format {
            Some(name) => format::by_name(name)?,
            None => format::probe(&*source).await?.ok_or_else(|| not_recognised(options, source.size()))?,
        };
        let Some(open) = format.open else {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("The file is {}, which Decant does not read yet", format.label),
            ));
        };
        let disk = open(source.clone()).await?;
        Ok(Self { source, disk })
    }

    /// What the headers say.
    pub fn info(&self) -> Info {
        Info { virtual_size: self.virtual_size(), file_size: self.source.size(), ..self.disk.info() }
    }

    /// The size of the disk that the guest sees, in bytes.
    pub fn virtual_size(&self) -> u64 {
        self.disk.virtual_size()
    }

    /// The bytes that the largest indivisible part of a job can have: one compressed cluster.
    pub fn largest_job(&self) -> u64 {
        self.disk.largest_piece()
    }

    /// Begins a pass over the extents.
    pub fn extents(&self) -> Box<dyn ExtentWalk> {
        self.disk.clone().walk()
    }

    /// Where the image's bytes come from.
    pub fn source(&self) -> &Rc<dyn Source> {
        &self.source
    }
}

fn not_recognised(options: &OpenOptions, size: u64) -> Error {
    let name = options.name.as_deref().unwrap_or_default().to_ascii_lowercase();
    let message = if size == 0 {
        "The file is empty".to_owned()
    } else if name.ends_with(".raw") || name.ends_with(".img") {
        "The file is in no disk image format that Decant recognises; if it is a raw disk, state the format raw"
            .to_owned()
    } else {
        let names: Vec<_> = format::readable().map(|format| format.name).collect();
        format!("The file is in no disk image format that Decant recognises; it reads {}", names.join(" and "))
    };
    Error::new(ErrorKind::NotRecognised, message)
}
