//! A generated matrix: version x cluster size x compression x extended L2 x data file x chain of up to four layers x
//! snapshot x encryption x sizes that are no multiple. The expected bytes are the written ones, and qemu-img must
//! agree. The images stay in `target/matrix` with a list, for the tests of the command.

use crate::common::*;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

const PASSWORD: &str = "correct horse";

/// A xorshift generator: row N is the same in every run.
struct Random(u32);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        u64::from(self.0) % end
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum DataFile {
    None,
    Plain,
    Raw,
}

/// One image of a chain.
#[derive(Debug)]
struct Layer {
    raw: bool,
    version: &'static str,
    cluster: u64,
    zstd: bool,
    extended: bool,
    data_file: DataFile,
    encryption: Option<&'static str>,
    size: u64,
    states_backing_format: bool,
}

impl Layer {
    fn random(random: &mut Random, is_bottom: bool) -> Self {
        let version = if random.one_in(4) { "0.10" } else { "1.1" };
        let is_3 = version == "1.1";
        let data_file = match random.below(8) {
            0 if is_3 => DataFile::Plain,
            1 if is_3 && is_bottom => DataFile::Raw,
            _ => DataFile::None,
        };
        let cluster = 1 << random.pick(&[9, 9, 10, 12, 12, 14, 14, 16, 16, 18, 21]);
        Self {
            raw: is_bottom && random.one_in(6),
            version,
            cluster,
            zstd: is_3 && random.one_in(2),
            extended: is_3 && cluster >= 1 << 14 && random.one_in(2),
            data_file,
            // In a raw data file all clusters are allocated from the start: unwritten ones decrypt to noise.
            encryption: (data_file != DataFile::Raw && random.one_in(5)).then(|| random.pick(&["aes", "luks", "luks"])),
            size: (cluster * (4 + random.below(20))).min(3 << 20) / 512 * 512 + random.below(9) * 512,
            states_backing_format: !random.one_in(4),
        }
    }
}

/// An image file of a row.
struct File {
    layer: Layer,
    path: PathBuf,
}

struct Row {
    /// The top one first.
    files: Vec<File>,
    name: String,
}

/// The content of a disk.
type Model = Vec<u8>;

/// The options with which QEMU opens the chain `files`, including its password.
fn opened(files: &[File]) -> String {
    let mut options = Vec::new();
    let mut prefix = String::new();
    for (depth, File { layer, path }) in files.iter().enumerate() {
        if depth > 0 {
            prefix.push_str("backing.");
        }
        options.push(format!("{prefix}driver={}", if layer.raw { "raw" } else { "qcow2" }));
        options.push(format!("{prefix}file.filename={}", text(path)));
        if let Some(format) = layer.encryption.filter(|_| !layer.raw) {
            options.push(format!("{prefix}encrypt.format={format},{prefix}encrypt.key-secret=s"));
        }
    }
    options.join(",")
}

const SECRET: [&str; 2] = ["--object", "secret,id=s,data=correct horse"];

fn create(file: &File, below: Option<&File>) {
    let File { layer, path } = file;
    if layer.raw {
        qemu("qemu-img", &["create", "-q", "-f", "raw", text(path), &layer.size.to_string()]);
        return;
    }
    let mut options = format!("compat={},cluster_size={}", layer.version, layer.cluster);
    if layer.zstd {
        options += ",compression_type=zstd";
    }
    if layer.extended {
        options += ",extended_l2=on";
    }
    if layer.data_file != DataFile::None {
        let raw = if layer.data_file == DataFile::Raw { "on" } else { "off" };
        options += &format!(",data_file={},data_file_raw={raw}", text(&path.with_extension("data")));
    }
    if let Some(format) = layer.encryption {
        options += &format!(",encrypt.format={format},encrypt.key-secret=s");
        if format == "luks" {
            options += ",encrypt.iter-time=10";
        }
    }
    let size = layer.size.to_string();
    let mut args = vec!["create", "-q", "-u", "-f", "qcow2", SECRET[0], SECRET[1], "-o", &options];
    if let Some(below) = below {
        args.extend(["-b", text(&below.path), "-F", if below.layer.raw { "raw" } else { "qcow2" }]);
    }
    args.extend([text(path), &size]);
    qemu_img_for_luks(&args);
    if !layer.states_backing_format {
        forget_backing_format(path);
    }
}

/// Changes the header extension with the backing file's format to an unknown one, since qemu-img always writes it.
fn forget_backing_format(path: &Path) {
    let mut image = std::fs::read(path).unwrap();
    if let Some(at) = image[..512.min(image.len())].windows(4).position(|four| four == [0xe2, 0x79, 0x2a, 0xca]) {
        image[at..at + 4].copy_from_slice(b"what");
        std::fs::write(path, image).unwrap();
    }
}

/// Writes at random to the top one of `files`, and to the model of its content.
///
/// QEMU compresses only clusters that `touched` does not have. After a write over a compressed cluster, no cluster is
/// compressed: qemu-io 7.2 continues to fill the freed space with compressed data, even over other data, and so
/// corrupts its image.
fn fill(random: &mut Random, files: &[File], disk: &mut Model, touched: &mut Vec<bool>) {
    let layer = &files[0].layer;
    let size = disk.len() as u64;
    let mut commands = Vec::new();
    let (mut compressed, mut may_compress) = (vec![false; touched.len()], true);
    for _ in 0..3 + random.below(6) {
        let unit = if random.one_in(3) { 512 } else { layer.cluster };
        let start = random.below(size.div_ceil(unit)) * unit;
        let len = ((1 + random.below(3)) * unit).min(size - start);
        let pattern = if random.one_in(8) { 0 } else { 1 + random.below(255) as u8 };
        let whole = start.is_multiple_of(layer.cluster) && len.is_multiple_of(layer.cluster);
        let clusters = (start / layer.cluster) as usize..(start + len).div_ceil(layer.cluster) as usize;
        touched.resize(touched.len().max(clusters.end), false);
        let fresh = touched[clusters.clone()].iter().all(|touched| !touched);
        touched[clusters.clone()].fill(true);
        compressed.resize(touched.len(), false);
        may_compress &= !compressed[clusters.clone()].contains(&true);
        let can_compress = whole
            && fresh
            && may_compress
            && !layer.raw
            && layer.encryption.is_none()
            && layer.data_file == DataFile::None;
        let (command, byte) = match random.below(8) {
            0..=2 if can_compress => {
                compressed[clusters].fill(true);
                (format!("write -q -c -P {pattern} {start} {len}"), pattern)
            }
            3 => (format!("write -q -z {start} {len}"), 0),
            4 if whole => (format!("write -q -z -u {start} {len}"), 0),
            _ => (format!("write -q -P {pattern} {start} {len}"), pattern),
        };
        commands.push(command);
        disk[start as usize..(start + len) as usize].fill(byte);
    }
    let image = opened(files);
    let mut args = vec![SECRET[0], SECRET[1], "--image-opts"];
    for command in &commands {
        args.extend(["-c", command]);
    }
    args.push(&image);
    qemu("qemu-io", &args);
}

/// The guest's view of a disk of `size` bytes over `below`.
fn over(below: &Model, size: u64) -> Model {
    let mut disk = below.clone();
    disk.resize(size as usize, 0);
    disk
}

fn convert(row: &Row, snapshot: Option<&str>) -> Model {
    let read = |path: &Path| std::fs::read(path).unwrap();
    let mut companions = Vec::new();
    for (depth, File { layer, path }) in row.files.iter().enumerate() {
        if depth > 0 {
            companions.push((text(path).to_owned(), read(path)));
        }
        if layer.data_file != DataFile::None && !layer.raw {
            let data = path.with_extension("data");
            companions.push((data.file_name().unwrap().to_str().unwrap().to_owned(), read(&data)));
        }
    }
    let case = Case {
        format: row.files[0].layer.raw.then(|| "raw".to_owned()),
        companions,
        snapshot: snapshot.map(str::to_owned),
        password: Some(PASSWORD.as_bytes().to_vec()),
        assume_password: true,
        ..Case::new(read(&row.files[0].path))
    };
    case.bytes().unwrap_or_else(|error| panic!("{}: {error}", row.name))
}

/// Writes the images of every row. Returns its entry in the list.
fn check_row(number: u32, folder: &Path) -> Vec<String> {
    let mut random = Random(0x9e37_79b9 ^ (number + 1).wrapping_mul(0x85eb_ca6b) | 1);
    for _ in 0..4 {
        random.below(2);
    }
    let layers = 1 + if random.one_in(2) { random.below(4) } else { 0 };
    let (mut disk, mut touched) = (Model::new(), Vec::new());
    let mut row = Row { files: Vec::new(), name: format!("row {number}") };
    for depth in 0..layers {
        let layer = Layer::random(&mut random, depth == 0);
        let path = folder.join(format!("{number}-{}.{}", layers - 1 - depth, if layer.raw { "raw" } else { "qcow2" }));
        disk = if depth == 0 { vec![0; layer.size as usize] } else { over(&disk, layer.size) };
        let file = File { layer, path };
        create(&file, row.files.first());
        row.files.insert(0, file);
        row.name += &format!(" {:?}", row.files[0].layer);
        touched.clear();
        fill(&mut random, &row.files, &mut disk, &mut touched);
    }
    let top = &row.files[0].layer;
    let mut wanted = Vec::new();
    if !top.raw && top.data_file == DataFile::None && random.one_in(3) {
        let image = opened(&row.files);
        qemu("qemu-img", &["snapshot", "-q", SECRET[0], SECRET[1], "--image-opts", "-c", "before", &image]);
        wanted.push((Some("before"), disk.clone()));
        if top.encryption.is_none() && top.version == "1.1" && random.one_in(2) {
            disk.resize(disk.len() + 1024, 0);
            let size = disk.len().to_string();
            qemu("qemu-img", &["resize", "-q", SECRET[0], SECRET[1], "--image-opts", &image, &size]);
        }
        fill(&mut random, &row.files, &mut disk, &mut touched);
    }
    // qemu-img assigns the active disk's size to a snapshot, so it reads the active disk only.
    let expected = folder.join(format!("{number}-expected.raw"));
    let image = opened(&row.files);
    qemu("qemu-img", &["convert", SECRET[0], SECRET[1], "--image-opts", "-O", "raw", &image, text(&expected)]);
    assert!(std::fs::read(&expected).unwrap() == disk, "{}: qemu-img has other bytes than were written", row.name);
    std::fs::remove_file(expected).unwrap();
    wanted.push((None, disk));
    let entry = |(snapshot, disk): (Option<&str>, Model)| {
        assert!(convert(&row, snapshot) == disk, "{} {snapshot:?}: other bytes", row.name);
        list_entry(&row, snapshot, &disk)
    };
    wanted.into_iter().map(entry).collect()
}

/// A line of the list, in JSON.
fn list_entry(row: &Row, snapshot: Option<&str>, disk: &Model) -> String {
    let hash: String = Sha256::digest(disk).iter().map(|byte| format!("{byte:02x}")).collect();
    let companions: Vec<String> = row
        .files
        .iter()
        .enumerate()
        .flat_map(|(depth, File { layer, path })| {
            let own = (depth > 0).then(|| path.clone());
            let data = (layer.data_file != DataFile::None && !layer.raw).then(|| path.with_extension("data"));
            own.into_iter().chain(data)
        })
        .map(|path| format!("{:?}", text(&path)))
        .collect();
    let encrypted = row.files.iter().any(|file| file.layer.encryption.is_some() && !file.layer.raw);
    let raw = row.files[0].layer.raw;
    format!(
        "{{\"name\":{:?},\"image\":{:?},\"raw\":{raw},\"companions\":[{}],\"snapshot\":{},\"encrypted\":{encrypted},\"qemu\":{:?},\"sha256\":\"{hash}\"}}",
        row.name,
        text(&row.files[0].path),
        companions.join(","),
        snapshot.map_or("null".to_owned(), |name| format!("{name:?}")),
        opened(&row.files),
    )
}

#[test]
fn bytes_are_those_that_were_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/matrix");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let folder = folder.canonicalize().unwrap();
    let rows = by_scope(60, 60, 300);
    let list = two_at_once(rows, |number| check_row(number as u32, &folder)).concat();
    assert!(list.len() > rows);
    std::fs::write(folder.join("rows.json"), format!("[{}]", list.join(",\n"))).unwrap();
}
