//! An image with everything for its conversion, by every route.

use super::*;

/// The result of a conversion.
pub struct Converted {
    pub result: Result<Progress>,
    pub lost: Losses,
    pub notices: Vec<Notice>,
    /// Offsets and lengths.
    pub rewritten: Vec<(u64, u64)>,
    pub output_size: u64,
    pub digest: Option<DiskDigest>,
    pub target: Rc<MemoryTarget>,
    pub source: Rc<HeldSource>,
    pub companions: Vec<Rc<HeldSource>>,
}

/// A digest that a conversion computes.
#[derive(Clone, Copy, Debug)]
pub enum Digested {
    Sha256,
    FsVerity,
}

/// An image with everything for its conversion.
#[derive(Clone, Default)]
pub struct Case {
    pub image: Vec<u8>,
    pub format: Option<String>,
    /// Its name; by default "image.qcow2".
    pub name: Option<String>,
    /// (name, content)
    pub companions: Vec<(String, Vec<u8>)>,
    /// See `OpenOptions::file`.
    pub file: Option<String>,
    pub snapshot: Option<String>,
    pub disk: Option<DiskChoice>,
    pub password: Option<Vec<u8>>,
    pub assume_password: bool,
    pub salvage: bool,
    pub force_parent: bool,
    pub check_manifest: Option<bool>,
    /// Whether the caller can unpack it: its bytes are those of the packed file then.
    pub spool: bool,
    /// See `OpenOptions::unpack`.
    pub unpack: bool,
    /// Whether compressed files are read in place.
    pub in_place: bool,
    /// Whether the image is a stream.
    pub as_stream: bool,
    /// The size of a streamed disk, if it was determined before.
    pub size: Option<u64>,
    /// Decodes a compressed file by parts.
    pub by_parts: Option<Rc<dyn PartDecoder>>,
    /// How the disk differs in the output.
    pub change: Change,
    /// Whether the SHA-256 of the disk is computed, or the digest of fs-verity.
    pub digest: Option<Digested>,
}

/// Bytes as a stream.
struct Trickle {
    bytes: Vec<u8>,
    at: usize,
}

impl ByteStream for Trickle {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        let len = buf.len().min(self.bytes.len() - self.at);
        buf[..len].copy_from_slice(&self.bytes[self.at..self.at + len]);
        self.at += len;
        ready(Ok(len)).boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.at as u64
    }
}

impl Case {
    pub fn new(image: Vec<u8>) -> Self {
        Self { image, ..Self::default() }
    }

    /// The files in memory, and how to open them.
    fn files(&self) -> (Rc<HeldSource>, Vec<Rc<HeldSource>>, OpenOptions) {
        let source = HeldSource::new(self.image.clone());
        let held: Vec<_> = self.companions.iter().map(|(_, bytes)| source.companion(bytes.clone())).collect();
        let companion = |((name, _), source): (&(String, Vec<u8>), &Rc<HeldSource>)| Companion {
            source: source.clone(),
            name: name.clone(),
            stands_for: None,
            is_image: false,
        };
        let options = OpenOptions {
            format: self.format.clone(),
            name: Some(self.name.clone().unwrap_or("image.qcow2".to_owned())),
            companions: self.companions.iter().zip(&held).map(companion).collect(),
            file: self.file.clone(),
            snapshot: self.snapshot.clone(),
            disk: self.disk.clone(),
            salvage: self.salvage,
            force_parent: self.force_parent,
            check_manifest: self.check_manifest,
            spool: self.spool,
            unpack: self.unpack,
            in_place: self.in_place.then(|| InPlace { decoder: Rc::new(InlineParts), measured: Rc::new(|_| ()) }),
            ..OpenOptions::default()
        };
        (source, held, options)
    }

    fn input(&self, source: &Rc<HeldSource>) -> Input {
        match self.as_stream {
            true => Input::Stream(Box::new(Trickle { bytes: self.image.clone(), at: 0 })),
            false => Input::File(source.clone()),
        }
    }

    /// Opens it and returns its description.
    pub fn info(&self) -> Result<Info> {
        let (source, _, options) = self.files();
        let input = self.input(&source);
        let work = async move {
            Ok(match open_disk(input, options).await? {
                Opened::Image(image) => image.info(),
                Opened::Streamed(image) => image.info(),
                Opened::Machine(_) => panic!("it is a disk"),
            })
        };
        drive(&source, Answers::InOrder, work).expect("opening waits for nothing")
    }

    /// Opens it, and lists all extents of its disk. Returns the reads of the image and of each companion.
    pub fn reads(&self) -> Vec<Vec<(u64, u64)>> {
        let (source, companions, options) = self.files();
        let list = |image| async move { Ok(all_extents(&image).await) };
        self.run(source.clone(), options, Answers::InOrder, list).unwrap();
        std::iter::once(source).chain(companions).map(|file| file.reads.take()).collect()
    }

    /// Opens it, unlocks it if there is a password, and runs `work` with it.
    pub fn with<T: 'static, F: std::future::Future<Output = Result<T>> + 'static>(
        &self,
        answers: Answers,
        work: impl FnOnce(Image) -> F + 'static,
    ) -> Result<T> {
        let (source, _, options) = self.files();
        self.run(source, options, answers, work)
    }

    fn run<T: 'static, F: std::future::Future<Output = Result<T>> + 'static>(
        &self,
        source: Rc<HeldSource>,
        options: OpenOptions,
        answers: Answers,
        work: impl FnOnce(Image) -> F + 'static,
    ) -> Result<T> {
        let (reading, password, assume) = (self.input(&source), self.password.clone(), self.assume_password);
        let all = async move {
            let Opened::Image(image) = open_disk(reading, options).await? else {
                panic!("it is read at any position");
            };
            if let Some(password) = password {
                while image.is_locked() {
                    image.unlock_next(&password, assume, &|_| ready(Ok(())).boxed_local()).await?;
                }
            }
            work(image).await
        };
        drive(&source, answers, all).expect("it waits for nothing")
    }

    pub fn convert(&self, answers: Answers, abilities: Abilities, job: u64) -> Converted {
        self.convert_to("raw", answers, abilities, job)
    }

    /// Converts it to the output format `format` with its recommended options, in jobs of about `job` bytes.
    pub fn convert_to(&self, format: &str, answers: Answers, abilities: Abilities, job: u64) -> Converted {
        let format = output::by_name(format).unwrap();
        self.convert_with(format, Options::recommended(format), answers, abilities, job)
    }

    /// Converts it to the output format `format` with `options`, in jobs of about `job` bytes.
    pub fn convert_with(
        &self,
        format: &'static OutputFormat,
        options_of_format: Options,
        answers: Answers,
        abilities: Abilities,
        job: u64,
    ) -> Converted {
        let (source, companions, options) = self.files();
        let target = MemoryTarget::new(abilities);
        let writing = target.clone();
        let (password, assume, by_parts) = (self.password.clone(), self.assume_password, self.by_parts.clone());
        let (input, size, change) = (self.input(&source), self.size, self.change);
        let digest = self.digest;
        let work = async move {
            let (progress, cancel) = (|_| {}, Cancel::default());
            let hasher = InlineHasher::new()?;
            let digest = digest.map(|digest| match digest {
                Digested::Sha256 => Digest::Sha256(&hasher),
                Digested::FsVerity => Digest::FsVerity,
            });
            let image = match open_disk(input, options).await? {
                Opened::Machine(_) => panic!("it is a disk"),
                Opened::Image(image) => image,
                Opened::Streamed(image) => {
                    let disk = InOrder::new(&image, by_parts).of_size(size);
                    let executor = Inline::new(disk.files(), Keys::default(), 4, job);
                    let known = change.size.or(size);
                    let layout = match known {
                        Some(size) => (format.layout)(size, &options_of_format)?,
                        None => format.layout_in_order(&options_of_format)?,
                    };
                    let disk = disk.changed(change, known.map(|_| &*layout))?;
                    writing.expect(&*layout);
                    let output = Output { may_read_twice: true, digest, ..Output::new(&*layout, STAMP, &*writing) };
                    return convert_in_order(&disk, &executor, &output, &progress, &cancel).await;
                }
            };
            if let Some(password) = password {
                while image.is_locked() {
                    image.unlock_next(&password, assume, &|_| ready(Ok(())).boxed_local()).await?;
                }
            }
            let (layout, reshaped) = reshaped(&image, format, options_of_format, change).await?;
            let executor = Inline::new(reshaped.files(&image), image.keys(), 4, job);
            writing.expect(&*layout);
            let disk = DiskSource::reshaped(&image, Rc::new(reshaped), &executor);
            let output = Output { may_read_twice: true, digest, ..Output::new(&*layout, STAMP, &*writing) };
            convert_disks(&[disk], &output, ResumePoint::default(), &progress, &cancel).await
        };
        let result = drive(&source, answers, work).expect("it waits for nothing");
        let (result, output_size, disk) = match result {
            Ok(mut done) => (Ok(done.progress), done.output_size, Some(done.disks.remove(0))),
            Err(error) => (Err(error), 0, None),
        };
        let (lost, notices, rewritten, digest) = match disk {
            Some(ConvertedDisk { lost, notices, rewritten, digest, .. }) => (lost, notices, rewritten, digest),
            None => (Losses::default(), Vec::new(), Vec::new(), None),
        };
        let rewritten = rewritten.iter().map(|range| (range.start.0, range.len())).collect();
        Converted { result, lost, notices, rewritten, output_size, digest, target, source, companions }
    }

    /// The bytes of the disk. They are the same if a compressed file is decoded by parts, and so is the error.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let in_order = self.bytes_in_order();
        let is_divided =
            [&b"\xfd7zXZ"[..], b"BZh", &[0x28, 0xb5, 0x2f, 0xfd], b"PK"].map(|sign| self.image.starts_with(sign));
        if is_divided.contains(&true) && !self.as_stream && self.by_parts.is_none() {
            let divided = Self { by_parts: Some(Rc::new(InlineParts)), ..self.clone() }.bytes_in_order();
            assert!(divided == in_order, "by parts: {:?} and {:?}", divided.err(), in_order.as_ref().err());
        }
        in_order
    }

    fn bytes_in_order(&self) -> Result<Vec<u8>> {
        let converted = self.convert(Answers::InOrder, Abilities::default(), 64 << 10);
        match converted.result {
            Ok(_) => Ok(converted.target.bytes.take()),
            Err(error) => {
                assert!(!converted.target.finished.get(), "a failed conversion was completed");
                Err(error)
            }
        }
    }
}
