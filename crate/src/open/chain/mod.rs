//! A chain: an image and the layers below it, opened one by one and read as one disk.

mod companions;
mod layer;
mod merged_walk;
pub(super) mod open_options;
mod overlap_check;
mod parents;
mod walked_check;

pub(crate) use layer::Layer;
pub use open_options::{Companion, OpenOptions, StatedDisk, StatedParent};

use crate::container::Member;
use crate::container::block_source::BlockSource;
use crate::disk::extent::{CheckedWalk, ExtentWalk, Extents};
use crate::disk::file_check::{CheckProgress, FileCheck, FindingKind};
use crate::disk::host_ranges::HostReports;
use crate::disk::info::{ContainerInfo, DiskList, LayerInfo, Need};
use crate::disk::reference::{Reference, Role, base_name};
use crate::disk::{EncryptionInfo, file_name};
use crate::error::place::Place;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{self, Disk, FileChecking, Format, LayerOptions, PartFile, RAW, WalkSetup};
use crate::io::source::{FileId, Source};
use crate::io::table_cache::TableCache;
use crate::offsets::GuestRange;
use crate::open::descent::{Checksum, InnerFile};
use crate::open::identify::{FileType, RawReason, identify, identify_as_qemu, needed_as_raw};
use crate::open::refusals::{not_read_in_order, not_recognised};
use crate::open::safety;
use crate::open::split::split_file::SplitFile;
use companions::Candidates;
use layer::OpenedLayer;
use overlap_check::{CheckedFiles, OverlapCheck};
use parents::{ParentCheck, ParentSearch};
use std::rc::Rc;

/// Upper bound on the layers of a chain. Real ones have a handful; libvirt's limit is 200.
pub const MAX_LAYERS: usize = 128;
/// Maximum memory of a pass for tables, in bytes: for all layers, and for one layer.
const TABLE_MEMORY: u64 = 16 << 20;
const LAYER_TABLE_MEMORY: u64 = 1280 << 10;
/// Maximum number of runs of ranges, of about 64 bytes each, by which a pass finds parts that overlap.
const MOST_RUNS: usize = 1 << 16;

/// The image's own file, as known before the image is opened.
#[derive(Clone)]
pub(crate) struct Top {
    pub(crate) format: &'static Format,
    /// If the format is raw: why.
    pub(crate) reason: RawReason,
    /// The containers around the file, outermost first.
    pub(crate) containers: Vec<ContainerInfo>,
    /// The disks of its container that a caller can choose from.
    pub(crate) list: Rc<DiskList>,
    /// See [`LayerOptions::missing`].
    pub(crate) missing: u64,
    /// The other files of its container, which may include companions.
    pub(crate) beside: Vec<Member>,
    /// The checksum that a container states for the file.
    pub(crate) checksum: Option<Checksum>,
    /// See [`StatedDisk::parents`](crate::open::chain::open_options::StatedDisk::parents).
    pub(crate) parents: Vec<StatedParent>,
    /// The cache of headers and tables, through which the file was identified.
    pub(crate) tables: Rc<TableCache>,
    /// The content of the compressed file around it that is read in place.
    pub(crate) blocks: Option<Rc<BlockSource>>,
}

impl Top {
    /// Describes the file `source`, whose start is read through `tables`. Its format is the one that `options` state, or that its content
    /// has. Fails as [`crate::Image::open`] does.
    pub(crate) async fn of_file(
        source: &Rc<dyn Source>,
        options: &OpenOptions,
        tables: Rc<TableCache>,
    ) -> Result<Self> {
        let stated = options.format.as_deref().map(format::by_name).transpose()?;
        let mut reason = RawReason::default();
        let format = match stated {
            Some(format) if !format.is_raw() => format,
            _ => match (stated, identify(&*tables.over(source.clone()), None).await?) {
                (Some(format), file_type) => {
                    reason = RawReason::stated(file_type);
                    format
                }
                (None, FileType::HybridIso) => {
                    reason = RawReason::HybridIso;
                    RAW
                }
                (None, FileType::Image(format) | FileType::Unsupported(format)) => format,
                (None, FileType::Ambiguous(ambiguity)) => return Err(ambiguity.of_image(&[])),
                (None, FileType::Container(_) | FileType::Unknown) => {
                    return Err(not_recognised(options, source.size()));
                }
            },
        };
        let (containers, list, beside) = (Vec::new(), Rc::default(), Vec::new());
        let parents = options.stated.parents.clone();
        Ok(Self { format, reason, containers, list, missing: 0, beside, checksum: None, parents, tables, blocks: None })
    }
}

/// An image and the available layers below it.
pub(crate) struct Chain {
    /// The layers, top layer (the image) first.
    pub(crate) layers: Vec<Layer>,
    /// The files that were not handed over.
    pub(crate) missing: Vec<Need>,
    /// The names of companions without a reference.
    pub(crate) unused: Vec<String>,
    /// The containers around the image, outermost first.
    pub(crate) containers: Vec<ContainerInfo>,
    /// Whether damaged ranges are read as zeros.
    salvage: bool,
    force_parent: bool,
    /// See [`StatedDisk::parents`](crate::open::chain::open_options::StatedDisk::parents).
    parents: Vec<StatedParent>,
    /// The reference to the layer below that the configuration of a machine states for the image.
    pub(crate) stated: Option<Reference>,
    /// Maximum memory of a pass for tables, in bytes.
    pub(crate) table_memory: u64,
    /// The image as a part of a split file, if it is named as one.
    pub(crate) split: Option<Rc<SplitFile>>,
    tables: Rc<TableCache>,
}

impl Chain {
    /// Opens `files`: the image, described by `top`, then the companions of `options`, then the files beside the image.
    /// If a layer's companion is a container, its entry in `files` becomes the member; see also [`Disk::data_source`].
    /// Fails as [`crate::Image::open`] does.
    pub(crate) async fn open(files: &mut [Rc<dyn Source>], top: Top, options: &OpenOptions) -> Result<Self> {
        let Top { format, containers, missing, beside, parents: stated_parents, tables, .. } = top;
        let beside = in_container(&containers, beside);
        let (mut companions, mut parents) =
            (Candidates::new(options, &beside), ParentSearch::new(&tables, options.salvage));
        let salvage = options.salvage;
        let mut chain = Self {
            layers: Vec::new(),
            missing: Vec::new(),
            unused: Vec::new(),
            containers,
            salvage,
            force_parent: options.force_parent,
            parents: stated_parents,
            stated: None,
            table_memory: TABLE_MEMORY,
            split: None,
            tables,
        };
        let how = LayerOptions { snapshot: options.snapshot.clone(), salvage, is_backing: false, missing };
        let place = ContainerInfo::place_in(&chain.containers);
        let opened = format.open(chain.tables.over(files[0].clone()), how).await;
        let disk = opened.map_err(|error| error.within(place.clone()))?;
        if options.snapshot.is_some() && disk.info().snapshots.is_empty() {
            return Err(has_no_snapshots(format.name));
        }
        files[0] = disk.data_source(files[0].clone());
        let layer = OpenedLayer { format, disk, guessed: false, place, stated_crc: None, notices: Vec::new() };
        let mut below = chain.add(FileId::IMAGE, layer, files, &mut companions, &mut parents).await?;
        while let Some((id, reference)) = below {
            let name = companions.name(id).to_owned();
            let layer = chain
                .open_below((id, &name), &reference, files, &parents)
                .await
                .map_err(|error| error.within(Place::file(&name)))?;
            below = chain.add(id, layer, files, &mut companions, &mut parents).await?;
        }
        chain.unused = companions.unused();
        Ok(chain)
    }

    /// Opens the layer below, the file `id` called `name`, in the format that `reference` states or that its content
    /// has. If the file is a container, the entry in `files` becomes the member.
    async fn open_below(
        &self,
        (id, name): (FileId, &str),
        reference: &Reference,
        files: &mut [Rc<dyn Source>],
        parents: &ParentSearch,
    ) -> Result<OpenedLayer> {
        if self.layers.iter().any(|layer| layer.file == id) {
            return Err(Error::new(
                ErrorKind::Corrupt,
                format!("The image is corrupt: its {}s form a circle", reference.role),
            ));
        }
        if self.layers.len() >= MAX_LAYERS {
            return Err(Error::new(ErrorKind::Limit, format!("The image has more than {MAX_LAYERS} layers")));
        }
        let file = &mut files[usize::from(id.0)];
        let mut how = LayerOptions { salvage: self.salvage, is_backing: true, ..LayerOptions::default() };
        let (mut place, mut file_type, mut stated_crc) = (None, None, None);
        if may_be_packed(reference) {
            let found = self.unpacked(id, file.clone(), reference, parents).await?;
            (place, file_type, stated_crc) = (found.place, Some(found.file_type), found.stated_crc);
            (*file, how.missing) = (found.source, found.missing);
        }
        let source = self.tables.over(file.clone());
        let (format, guessed) = format_below(&*source, name, reference, file_type).await?;
        let opened = format.open(source, how).await;
        let disk = opened.map_err(|error| error.within(place.clone()))?;
        let (child, child_format) = match self.layers.last() {
            Some(layer) => (inner_name(&layer.place, &layer.name), layer.format.name),
            None => ("", ""),
        };
        let check = ParentCheck { reference, child, child_format, is_forced: self.force_parent };
        let unchecked = check.run(&*disk, &**file).await?.map(|notice| notice.of_file(name));
        let mut notices = Vec::from_iter(unchecked);
        if format.is_raw() && !guessed {
            notices.extend(needed_as_raw(&*self.tables.over(file.clone()), name).await?);
        }
        *file = disk.data_source(file.clone());
        Ok(OpenedLayer { format, disk, guessed, place, stated_crc, notices })
    }

    /// Finds the layer below inside the archives around it, in the file `id`. Fails with `unsupported` if it is in a container that is
    /// decoded in order.
    async fn unpacked(
        &self,
        id: FileId,
        file: Rc<dyn Source>,
        reference: &Reference,
        parents: &ParentSearch,
    ) -> Result<InnerFile> {
        let found = match parents.unpacked(id) {
            Some(known) => known.clone(),
            None => InnerFile::of(file, self.salvage, &self.tables).await?,
        };
        let FileType::Container(container) = found.file_type else { return Ok(found) };
        let message = format!(
            "The {} is {}, which can only be decoded in order, but must be read at any position; unpack it first",
            reference.role, container.label
        );
        Err(not_read_in_order(message, Some(container.name)).within(found.place))
    }

    /// Adds `layer`, stored in `file`, and resolves its references. Returns the file of the layer below with the
    /// reference to it, if that file is available. Fails with `usage` or `corrupt` if a reference is ambiguous or
    /// circular, and as [`Disk::attach`] does.
    async fn add(
        &mut self,
        file: FileId,
        layer: OpenedLayer,
        files: &[Rc<dyn Source>],
        companions: &mut Candidates<'_>,
        parents: &mut ParentSearch,
    ) -> Result<Option<(FileId, Reference)>> {
        let OpenedLayer { format, disk, guessed, place, stated_crc, mut notices } = layer;
        let name = companions.name(file).to_owned();
        let cipher = disk.encryption().map(|_| self.ciphers() as u16);
        // The name of this layer comes last.
        let names: Vec<String> = self.layers.iter().map(|layer| layer.name.clone()).chain([name.clone()]).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (mut parts, mut below) = (Vec::new(), None);
        let stated = self.stated_parent(&*disk);
        if self.layers.is_empty() {
            self.stated.clone_from(&stated);
        }
        for reference in disk.references().iter().chain(&stated) {
            let mut found = companions.find(reference, &names)?;
            if found.is_none() && reference.role.is_layer() {
                found = parents.find(reference, files, companions).await?;
            }
            let Some(id) = found else {
                let Reference { role, name: wanted, file_name, .. } = reference.clone();
                let need =
                    Need::MissingFile { role, name: wanted, file_name, of: inner_name(&place, &name).to_owned() };
                self.missing.push(need);
                parts.push(None);
                continue;
            };
            if reference.role.is_layer() {
                below = Some((id, reference.clone()));
                parts.push(None);
            } else {
                let source = self.tables.over(files[usize::from(id.0)].clone());
                if reference.begins_disk {
                    notices.extend(needed_as_raw(&*source, companions.name(id)).await?);
                }
                parts.push(Some(PartFile { id, name: companions.name(id).into(), source }));
            }
        }
        parts.truncate(disk.references().len());
        let attached = disk.attach(&parts).await;
        let attached = attached.map_err(|error| error.within(place.clone()));
        attached.map_err(|error| error.within(place_of(self.layers.len(), &name)))?;
        let source = files[usize::from(file.0)].clone();
        self.layers.push(Layer {
            file,
            name,
            format,
            disk,
            source,
            guessed,
            parts: parts.into(),
            cipher,
            place,
            stated_crc,
            notices,
        });
        Ok(below)
    }

    /// Returns the reference to the parent that the configuration of a machine states for `disk`, the next layer, which has none itself.
    fn stated_parent(&self, disk: &dyn Disk) -> Option<Reference> {
        let StatedParent { name, is_raw } = self.parents.get(self.layers.len())?;
        let has_own = disk.references().iter().any(|reference| reference.role.is_layer());
        let format = is_raw.then(|| RAW.name.to_owned());
        let named = || Reference::named(Role::Parent, base_name(name).to_owned(), vec![name.clone()], format);
        (!has_own).then(|| Reference { is_of_machine: true, ..named() })
    }

    pub(crate) fn ciphers(&self) -> usize {
        self.layers.iter().filter(|layer| layer.cipher.is_some()).count()
    }

    pub(crate) fn virtual_size(&self) -> u64 {
        self.layers[0].disk.virtual_size()
    }

    /// Begins a pass over layer `number` alone.
    pub(crate) fn walk_layer(&self, number: usize) -> CheckedWalk {
        let layer = &self.layers[number];
        let (walk, reports) = self.plain_walk(number, self.salvage);
        let place = layer.place.clone();
        let files = CheckedFiles { own: layer.source.clone(), place: place.clone(), parts: layer.parts.clone() };
        let check = OverlapCheck::new(reports, files, self.salvage, MOST_RUNS / self.layers.len());
        let split = self.split.clone().filter(|_| number == 0);
        let walk = match (&place, &split) {
            (None, None) => walk,
            _ => Box::new(merged_walk::ExplainedWalk { walk, place, split }),
        };
        CheckedWalk { walk, check: Some(Box::new(check)) }
    }

    /// Begins a pass over layer `number` alone that does not compare what it reports.
    fn plain_walk(&self, number: usize, salvage: bool) -> (Box<dyn ExtentWalk>, HostReports) {
        let layer = &self.layers[number];
        let memory = (self.table_memory / self.layers.len() as u64).min(LAYER_TABLE_MEMORY);
        let reports = HostReports::new();
        let walk = layer.disk.clone().walk(WalkSetup {
            file: layer.file,
            disk_size: layer.disk.virtual_size(),
            parts: layer.parts.clone(),
            cipher: layer.cipher,
            layer: number as u16,
            memory,
            salvage,
            reports: reports.clone(),
        });
        (walk, reports)
    }

    /// Checks the structures of the image's own file, and of the files with parts of it. Fails with `limit`, with `corrupt` if the structures
    /// cannot be checked, and as reading does.
    pub(crate) async fn check(&self, progress: CheckProgress) -> Result<FileCheck> {
        let layer = &self.layers[0];
        let mut report = match layer.disk.clone().check(progress.clone()) {
            FileChecking::Own(check) if layer.lacks_part() => check.await?,
            FileChecking::Own(check) => self.with_reading(check.await?).await?,
            FileChecking::ByWalk(how) => walked_check::check(self, 0, how, &progress).await?,
            FileChecking::NoTables => FileCheck::default(),
        };
        for notice in safety::layer_notices(layer.disk.info()) {
            report.add(FindingKind::State, 1, notice);
        }
        Ok(report)
    }

    /// Adds the first fault that makes the image unreadable to `report`, unless that has a corruption already.
    async fn with_reading(&self, mut report: FileCheck) -> Result<FileCheck> {
        let size = self.virtual_size();
        let (mut walk, _) = self.plain_walk(0, false);
        let (mut batch, mut done) = (Vec::new(), 0);
        while report.corruptions == 0 && done < size {
            batch.clear();
            match walk.list(GuestRange::from(done..size), &mut batch).await {
                Ok(()) => done = batch.last().map_or(size, |last| last.end().0),
                Err(error) if error.kind == ErrorKind::Corrupt => report.unreadable(&error),
                Err(error) => return Err(error),
            }
        }
        Ok(report)
    }

    /// Begins a pass over all layers, merged. No file may be missing.
    pub(crate) fn extents(&self) -> Extents {
        self.extents_of(self.layers.len())
    }

    /// Begins a pass over the first `count` layers, merged. What they leave out is unallocated.
    pub(crate) fn extents_of(&self, count: usize) -> Extents {
        let walk = match count {
            1 => self.walk_layer(0),
            _ => CheckedWalk { walk: Box::new(merged_walk::MergedWalk::new(self, count)), check: None },
        };
        Extents::new(walk, self.virtual_size())
    }

    /// Describes the layers for `Info`.
    pub(crate) fn info(&self) -> Vec<LayerInfo> {
        let layer = |layer: &Layer| LayerInfo {
            name: layer.name.clone(),
            format: layer.format.name,
            guessed: layer.guessed,
            virtual_size: layer.disk.virtual_size(),
            encryption: layer.disk.encryption().map(|encryption| EncryptionInfo::of(encryption).format),
        };
        self.layers.iter().map(layer).collect()
    }
}

/// Makes options for finding companions among the files `beside` an image in `containers`.
fn in_container(containers: &[ContainerInfo], beside: Vec<Member>) -> OpenOptions {
    let companion = |Member { name, source, .. }| Companion { source, name, stands_for: None, is_image: false };
    OpenOptions {
        name: containers.last().and_then(|container| container.member.clone()),
        companions: beside.into_iter().map(companion).collect(),
        ..OpenOptions::default()
    }
}

/// Whether to look for a container in the layer that `reference` names. A raw disk is excluded: the guest may have
/// written what looks like a container.
fn may_be_packed(reference: &Reference) -> bool {
    match &reference.format {
        Some(format) => format != RAW.name && !file_name::is_protocol(format),
        None => reference.identity.is_some() || reference.is_of_machine,
    }
}

/// Returns the format of the layer below, the file `source` called `name`: the one that `reference` states, or else that of its
/// `file_type`, which is identified as QEMU does if it is not known. The second value states whether it is raw by default.
async fn format_below(
    source: &dyn Source,
    name: &str,
    reference: &Reference,
    file_type: Option<FileType>,
) -> Result<(&'static Format, bool)> {
    if let Some(stated) = &reference.format {
        return Ok((format::of_backing_file(stated)?, false));
    }
    let file_type = match file_type {
        Some(file_type) => file_type,
        None => identify_as_qemu(source).await?,
    };
    match file_type {
        FileType::Ambiguous(ambiguity) => Err(ambiguity.of_companion(name)),
        FileType::Image(format) | FileType::Unsupported(format) if format.of_qemu => Ok((format, false)),
        _ => Ok((RAW, true)),
    }
}

/// The file of layer `number`, called `name`, for errors; `None` for the image.
pub(crate) fn place_of(number: usize, name: &str) -> Option<Place> {
    (number > 0).then(|| Place::file(name))
}

/// The name of an image for messages: that of the member if it was found at `place` in the file `name`.
fn inner_name<'a>(place: &'a Option<Place>, name: &'a str) -> &'a str {
    match place {
        Some(Place::Member(member)) => member,
        _ => name,
    }
}

/// The error for requesting a snapshot of an image in `format`, which has none.
pub(crate) fn has_no_snapshots(format: &str) -> Error {
    Error::new(ErrorKind::Usage, format!("An image in the format {format} has no internal snapshots"))
}
