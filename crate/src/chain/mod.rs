//! An image over its backing files: opened layer by layer, read as one disk.

mod companions;
mod walk;

pub use companions::{Companion, Role};

use crate::error::{Error, ErrorKind, Result};
use crate::extent::{ExtentWalk, Extents};
use crate::format::{self, Disk, Format, LayerOptions, Reference, WalkSetup};
use crate::image::{LayerInfo, Need, OpenOptions};
use crate::source::{FileId, Files, Source};
use companions::Companions;
use std::rc::Rc;

/// The most layers of a chain. People's chains have a handful; libvirt's own limit is 200.
pub const MAX_LAYERS: usize = 128;
/// Bytes of tables that all layers of a pass hold together, and one layer at most.
const TABLES: u64 = 16 << 20;
const LAYER_TABLES: u64 = 1280 << 10;

/// One image of a chain.
pub struct Layer {
    /// Which file it is.
    pub file: FileId,
    /// The name of that file, for messages.
    pub name: String,
    /// What it says.
    pub disk: Rc<dyn Disk>,
    /// Whether its format was guessed, since nothing states it and its content is not recognised.
    guessed: bool,
    /// Its data file, if it was handed over, and the size of that.
    data: Option<(FileId, u64)>,
    /// The number of its cipher, if it is encrypted.
    pub cipher: Option<u16>,
}

/// An image and what lies below it, as far as it was handed over.
pub struct Chain {
    /// The image first.
    pub layers: Vec<Layer>,
    /// The files that were not handed over.
    pub missing: Vec<Need>,
    /// The names of companions that nothing refers to.
    pub unused: Vec<String>,
    salvage: bool,
}

impl Chain {
    /// Opens `files`, of which the first is the image.
    pub async fn open(files: &Files, options: &OpenOptions) -> Result<Self> {
        let mut companions = Companions::new(options);
        let mut chain = Self { layers: Vec::new(), missing: Vec::new(), unused: Vec::new(), salvage: options.salvage };
        let top = match &options.format {
            Some(name) => format::by_name(name)?,
            None => format::probe(&*files[0]).await?.ok_or_else(|| not_recognised(options, files[0].size()))?,
        };
        let how = LayerOptions { snapshot: options.snapshot.clone(), salvage: options.salvage, is_backing: false };
        let disk = open_as(top, files[0].clone(), how).await?;
        let mut below = chain.add(FileId::IMAGE, disk, false, files, &mut companions)?;
        while let Some((id, reference)) = below {
            let name = companions.name(id).to_owned();
            let opened = chain.open_backing(id, &reference, files).await.map_err(|error| error.within(&name))?;
            below = chain.add(id, opened.0, opened.1, files, &mut companions)?;
        }
        chain.unused = companions.unused();
        Ok(chain)
    }

    /// Opens a backing file, as `reference` states it or by its content; tells whether the format
    /// was guessed.
    async fn open_backing(&self, id: FileId, reference: &Reference, files: &Files) -> Result<(Rc<dyn Disk>, bool)> {
        if self.layers.iter().any(|layer| layer.file == id) {
            return Err(Error::new(ErrorKind::Corrupt, "The image is corrupt: its backing files form a circle"));
        }
        if self.layers.len() >= MAX_LAYERS {
            return Err(Error::new(ErrorKind::Limit, format!("The image has more than {MAX_LAYERS} layers")));
        }
        let source = files[usize::from(id.0)].clone();
        let how = LayerOptions { snapshot: None, salvage: self.salvage, is_backing: true };
        let (format, guessed) = match &reference.format {
            Some(name) => (format::stated(name)?, false),
            None => match format::probe(&*source).await?.filter(|format| format.of_qemu) {
                Some(format) => (format, false),
                None => (format::by_name("raw")?, true),
            },
        };
        Ok((open_as(format, source, how).await?, guessed))
    }

    /// Takes in a layer and finds its companions; answers with its backing file, if there is one.
    fn add(
        &mut self,
        file: FileId,
        disk: Rc<dyn Disk>,
        guessed: bool,
        files: &Files,
        companions: &mut Companions,
    ) -> Result<Option<(FileId, Reference)>> {
        let references = disk.references();
        let name = companions.name(file).to_owned();
        let cipher = disk.encryption().map(|_| self.ciphers() as u16);
        let above: Vec<&str> = self.layers.iter().map(|layer| layer.name.as_str()).chain([name.as_str()]).collect();
        let mut find = |reference: &Reference, role| {
            let found = companions.find(reference, role, &above)?;
            if found.is_none() {
                self.missing.push(Need::MissingFile { role, name: reference.name.clone(), of: name.clone() });
            }
            Ok::<_, Error>(found)
        };
        let data_file = references.data_file.as_ref().map(|reference| find(reference, Role::DataFile)).transpose()?;
        let data = data_file.flatten().map(|id| (id, files[usize::from(id.0)].size()));
        let backing =
            references.backing_file.as_ref().map(|reference| find(reference, Role::BackingFile)).transpose()?;
        self.layers.push(Layer { file, name, disk, guessed, data, cipher });
        Ok(backing.flatten().zip(references.backing_file))
    }

    /// How many layers are encrypted.
    pub fn ciphers(&self) -> usize {
        self.layers.iter().filter(|layer| layer.cipher.is_some()).count()
    }

    /// The size of the disk, in bytes.
    pub fn virtual_size(&self) -> u64 {
        self.layers[0].disk.virtual_size()
    }

    /// Begins a pass over layer `depth` alone.
    pub fn walk_layer(&self, depth: usize) -> Box<dyn ExtentWalk> {
        let layer = &self.layers[depth];
        let memory = (TABLES / self.layers.len() as u64).min(LAYER_TABLES);
        layer.disk.clone().walk(WalkSetup {
            file: layer.file,
            data: layer.data,
            cipher: layer.cipher,
            depth: depth as u16,
            memory,
            salvage: self.salvage,
        })
    }

    /// Begins a pass over all layers, merged. All companions must be there.
    pub fn extents(&self) -> Extents {
        let walk: Box<dyn ExtentWalk> = match self.layers.len() {
            1 => self.walk_layer(0),
            _ => Box::new(walk::Merged::new(self)),
        };
        Extents::new(walk, self.virtual_size())
    }

    /// As `info` lists it.
    pub fn info(&self) -> Vec<LayerInfo> {
        let layer = |layer: &Layer| LayerInfo {
            name: layer.name.clone(),
            format: layer.disk.format(),
            guessed: layer.guessed,
            virtual_size: layer.disk.virtual_size(),
            encryption: layer.disk.encryption().map(|encryption| encryption.info().format),
        };
        self.layers.iter().map(layer).collect()
    }
}

async fn open_as(format: &Format, source: Rc<dyn Source>, options: LayerOptions) -> Result<Rc<dyn Disk>> {
    let Some(open) = format.open else {
        let message = format!("The file is {}, which Decant does not read yet", format.label);
        return Err(Error::new(ErrorKind::Unsupported, message));
    };
    open(source, options).await
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
