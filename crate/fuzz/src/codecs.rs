//! Changed xz, zstd, bzip2 and lz4 files: our decoders, also by parts, and other libraries must agree. No module of the
//! library: the core's tests contain that, and do without these libraries.

#[path = "lz4_frames.rs"]
mod lz4_frames;

use decant_bzip2::{Bzip2Decoder, Bzip2Divider};
use decant_fuzz::changes;
use decant_fuzz::checksum::crc32;
use decant_fuzz::examine::Seen;
use decant_lz4::Lz4Decoder;
use decant_module::{Fault, PART_SIZE_LEN, StreamDecoder, StreamState, Undivided};
use decant_xz::{XzDecoder, XzDivider};
use decant_zstd::{ZstdDecoder, ZstdDivider};
use liblzma::stream::{Action, CONCATENATED, Check, Filters, LzmaOptions};
use zstd_safe::{CCtx, CParameter, DCtx, InBuffer, OutBuffer};

/// Maximum size of the data of a file, in bytes; files with more are not compared.
const MOST: usize = 1 << 20;
/// Maximum memory for other decoders, in bytes: more than for the largest window of ours.
const MEMORY: u64 = 200 << 20;
/// The lengths of pieces of input and of output.
const PIECES: [(usize, usize); 4] = [(1, 64), (7, 13), (64 << 10, 1), (61, 64 << 10)];

/// A compression method.
struct Method {
    files: fn() -> Vec<Vec<u8>>,
    decoder: fn() -> Box<dyn StreamDecoder>,
    divider: fn() -> Box<dyn StreamDecoder>,
    /// Corrects checksums.
    repaired: fn(Vec<u8>) -> Vec<u8>,
    /// The data by another library; `None` if it refuses the file, or has no room.
    other: fn(&[u8]) -> Option<Vec<u8>>,
}

const XZ: Method = Method {
    files: xz_files,
    decoder: || Box::new(XzDecoder::default()),
    divider: || Box::new(XzDivider::default()),
    repaired: repaired_xz,
    other: liblzma,
};
const ZSTD: Method = Method {
    files: zstd_files,
    decoder: || Box::new(ZstdDecoder::default()),
    divider: || Box::new(ZstdDivider::default()),
    repaired: |file| file,
    other: libzstd,
};
const BZIP2: Method = Method {
    files: bzip2_files,
    decoder: || Box::new(Bzip2Decoder::default()),
    divider: || Box::new(Bzip2Divider::default()),
    repaired: repaired_bzip2,
    other: libbz2,
};

const LZ4: Method = Method {
    files: lz4_frames::files,
    decoder: || Box::new(Lz4Decoder::default()),
    divider: || Box::new(Undivided),
    repaired: lz4_frames::repaired,
    other: lz4_frames::other,
};

thread_local! {
    static FILES: [Vec<Vec<u8>>; 4] = [XZ, ZSTD, BZIP2, LZ4].map(|method| (method.files)());
}

pub fn xz(input: &[u8]) -> Seen {
    FILES.with(|files| check(&XZ, &files[0], input))
}

pub fn zstd(input: &[u8]) -> Seen {
    FILES.with(|files| check(&ZSTD, &files[1], input))
}

pub fn bzip2(input: &[u8]) -> Seen {
    FILES.with(|files| check(&BZIP2, &files[2], input))
}

pub fn lz4(input: &[u8]) -> Seen {
    FILES.with(|files| check(&LZ4, &files[3], input))
}

/// Interprets `input` as changes to one of `files`. Bits of the second byte state how it is decoded, and whether
/// checksums are corrected.
fn check(method: &Method, files: &[Vec<u8>], input: &[u8]) -> Seen {
    let [number, how, rest @ ..] = input else { return Seen::default() };
    let mut file = changes::anywhere(files[usize::from(*number) % files.len()].clone(), rest);
    if how & 1 == 0 {
        file = (method.repaired)(file);
    }
    compare(method, &file, PIECES[usize::from(how >> 1) % PIECES.len()])
}

fn compare(method: &Method, file: &[u8], (input, output): (usize, usize)) -> Seen {
    let ours = decoded(&mut *(method.decoder)(), file, 64 << 10, 64 << 10);
    let again = decoded(&mut *(method.decoder)(), file, input, output);
    // In other pieces, damage is found before or after more data.
    if [&ours, &again].contains(&&Err(Refusal::TooLarge)) {
        return Seen::default();
    }
    assert!(again == ours, "in pieces of {input} and {output} {:?}, not {:?}", told(&again), told(&ours));
    let (parts, is_all) = by_parts(method, file);
    if let Ok(data) = &ours {
        assert!(data.starts_with(&parts), "other bytes by parts");
    }
    assert!(!is_all || ours.as_ref() == Ok(&parts), "by parts only");
    let other = (method.other)(file);
    match (&ours, &other) {
        (Ok(ours), Some(other)) => assert!(ours == other, "other bytes than the other library's"),
        (Ok(ours), None) => panic!("the other library refuses {} bytes: {file:x?}", ours.len()),
        (Err(Refusal::Fault(Fault::Unsupported(..) | Fault::Window(_))), _) | (Err(_), None) => {}
        (Err(refusal), Some(_)) => panic!("only refused by us: {refusal:?}"),
    }
    Seen { opened: ours.is_ok(), read: is_all, converted: ours.is_ok(), compared: ours.is_ok() && other.is_some() }
}

/// Why a file is not decoded.
#[derive(Debug, PartialEq)]
enum Refusal {
    Fault(Fault),
    Truncated,
    TooLarge,
}

/// The length of the data, or why there is none.
fn told(result: &Result<Vec<u8>, Refusal>) -> Result<usize, &Refusal> {
    result.as_ref().map(Vec::len)
}

/// Decodes `file` in pieces of `input` bytes to pieces of `output` bytes.
fn decoded(decoder: &mut dyn StreamDecoder, file: &[u8], input: usize, output: usize) -> Result<Vec<u8>, Refusal> {
    let (mut rest, mut all, mut piece) = (file, Vec::new(), vec![0; output]);
    loop {
        let step = decoder.decode(&rest[..rest.len().min(input)], &mut piece);
        rest = &rest[step.consumed as usize..];
        all.extend_from_slice(&piece[..step.written as usize]);
        match step.state {
            _ if all.len() > MOST => return Err(Refusal::TooLarge),
            StreamState::Failed(fault) => return Err(Refusal::Fault(fault)),
            _ if step.consumed > 0 || step.written > 0 => {}
            StreamState::Whole if rest.is_empty() => return Ok(all),
            _ if rest.is_empty() => return Err(Refusal::Truncated),
            _ => panic!("a decoder makes no progress"),
        }
    }
}

/// Decodes the parts of `file`, as far as it can be divided. Returns the data, and whether it is all.
fn by_parts(method: &Method, file: &[u8]) -> (Vec<u8>, bool) {
    let (mut rest, mut all, mut part, mut piece) = (file, Vec::new(), Vec::new(), vec![0; 4096]);
    let mut divider = (method.divider)();
    loop {
        let step = divider.decode(rest, &mut piece);
        rest = &rest[step.consumed as usize..];
        part.extend_from_slice(&piece[..step.written as usize]);
        let is_whole = step.state == StreamState::Whole;
        match step.state {
            StreamState::Failed(_) => return (all, false),
            _ if is_whole && !part.is_empty() => {
                match decoded(&mut *(method.decoder)(), &part[PART_SIZE_LEN..], 64 << 10, 64 << 10) {
                    Ok(data) => all.extend(data),
                    Err(_) => return (all, false),
                }
                part.clear();
            }
            _ if step.consumed > 0 || step.written > 0 => {}
            _ => return (all, is_whole && rest.is_empty()),
        }
    }
}

/// Data with repetitions, runs, calls of x86, and bytes that do not compress.
fn data() -> Vec<u8> {
    let mut data: Vec<u8> = (0..300u32).map(|at| (at * at / 90) as u8).collect();
    data.extend([b'r'; 300]);
    data.extend((0..40u8).flat_map(|at| [0xe8, at, 1, 0, 0, 0x90]));
    data.extend_from_slice(b"a text, and the text again, and a text, and again the text");
    data.extend((0..60u32).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 24) as u8));
    data
}

/// Bytes that do not compress, with branches of several processors.
fn noise(len: usize) -> Vec<u8> {
    let next = |state: &u64| Some(state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1));
    let numbers = std::iter::successors(Some(1), next).skip(8).take(len);
    let mut noise: Vec<u8> = numbers.map(|state: u64| (state >> 56) as u8).collect();
    noise.chunks_exact_mut(90).for_each(|part| part[..4].copy_from_slice(&[0xe8, 0x30, 0, 0x94]));
    noise.chunks_exact_mut(130).for_each(|part| part[8..12].copy_from_slice(&[0x48, 0, 0xf0, 0xeb]));
    noise
}

fn xz_files() -> Vec<Vec<u8>> {
    let of = |filters: &mut Filters, check: Check, data: &[u8]| {
        let mut options = LzmaOptions::new_preset(6).expect("a preset");
        let mut stream = liblzma::stream::Stream::new_stream_encoder(filters.lzma2(options.dict_size(4096)), check)
            .expect("a valid chain");
        let mut file = Vec::with_capacity(MOST);
        stream.process_vec(data, &mut file, Action::Finish).expect("room");
        file
    };
    let (data, noise) = (data(), noise(400));
    let first = of(&mut Filters::new(), Check::None, &data[..500]);
    let mut files = vec![
        of(&mut Filters::new(), Check::None, &data),
        of(&mut Filters::new(), Check::Crc32, &data),
        of(&mut Filters::new(), Check::Crc64, &noise),
        of(&mut Filters::new(), Check::Sha256, &data),
        [&first[..], &[0; 8], &first].concat(),
        // By xz -T2 --check=none --block-size=400 --lzma2=dict=4KiB: blocks that state their sizes.
        include_bytes!("packed/blocks.xz").to_vec(),
    ];
    // Noise is stored, so that changes of it reach the filters.
    let mut delta = Filters::new();
    delta.delta_properties(&[2]).expect("a distance");
    files.push(of(&mut delta, Check::None, &noise));
    files.push(of(&mut Filters::new(), Check::None, &noise));
    let filters: [fn(&mut Filters) -> &mut Filters; 8] = [
        Filters::x86,
        Filters::powerpc,
        Filters::ia64,
        Filters::arm,
        Filters::arm_thumb,
        Filters::sparc,
        Filters::arm64,
        Filters::riscv,
    ];
    files.extend(filters.iter().map(|filter| of(filter(&mut Filters::new()), Check::None, &noise)));
    files
}

/// Corrects the checksums of the header, of the first block's header, of the index and of the footer, where they should
/// be.
fn repaired_xz(mut file: Vec<u8>) -> Vec<u8> {
    fn seal(file: &mut [u8], covered: std::ops::Range<usize>, at: usize) {
        if let Some(bytes) = file.get(covered) {
            let sum = crc32(bytes).to_le_bytes();
            if let Some(place) = file.get_mut(at..at + 4) {
                place.copy_from_slice(&sum);
            }
        }
    }
    let len = file.len();
    if len < 32 {
        return file;
    }
    seal(&mut file, 6..8, 8);
    let block = 12 + usize::from(file[12]) * 4;
    seal(&mut file, 12..block, block);
    let units = u32::from_le_bytes(file[len - 8..len - 4].try_into().expect("four bytes")) as usize;
    if let Some(start) = (len - 12).checked_sub(4 * units + 4) {
        seal(&mut file, start..len - 16, len - 16);
    }
    seal(&mut file, len - 8..len - 2, len - 12);
    file
}

fn liblzma(file: &[u8]) -> Option<Vec<u8>> {
    // Any number of zeros at the end is ignored.
    let zeros = file.iter().rev().take_while(|&&byte| byte == 0).count();
    let file = &file[..file.len() - zeros.min(file.len() % 4)];
    let mut stream = liblzma::stream::Stream::new_stream_decoder(MEMORY, CONCATENATED).expect("memory");
    let (mut all, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let (read, before) = (stream.total_in() as usize, stream.total_out());
        let status = stream.process(&file[read..], &mut piece, Action::Finish).ok()?;
        let written = (stream.total_out() - before) as usize;
        all.extend_from_slice(&piece[..written]);
        match status {
            liblzma::stream::Status::StreamEnd => return Some(all),
            _ if stream.total_in() as usize == read && written == 0 => return None,
            _ => {}
        }
    }
}

fn zstd_files() -> Vec<Vec<u8>> {
    let of = |level: i32, parameters: &[CParameter], data: &[u8]| {
        let mut context = CCtx::create();
        context.set_parameter(CParameter::CompressionLevel(level)).expect("a level");
        for &parameter in parameters {
            context.set_parameter(parameter).expect("a valid parameter");
        }
        let mut file = vec![0; zstd_safe::compress_bound(data.len())];
        let len = context.compress2(&mut file[..], data).expect("room");
        file.truncate(len);
        file
    };
    let data = data();
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4];
    let (plain, without_size) = (of(3, &[], &data), of(3, &[CParameter::ContentSizeFlag(false)], &data));
    vec![
        plain.clone(),
        of(19, &[], &data),
        of(3, &[CParameter::ChecksumFlag(true)], &data),
        without_size.clone(),
        of(-5, &[], &data),
        of(5, &[], &data[300..600]),
        // Literals in a frame without matches, and four streams of them.
        of(1, &[], &(0..2000u32).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 29) as u8).collect::<Vec<_>>()),
        [&skippable[..], &of(3, &[], &data[..400]), &without_size].concat(),
    ]
}

/// By the streaming call, which does not always check the size of a frame; and by another decoder, whose bytes must be
/// the same if it accepts the file.
fn libzstd(file: &[u8]) -> Option<Vec<u8>> {
    let mut context = DCtx::create();
    let (mut all, mut piece) = (Vec::new(), vec![0; 128 << 10]);
    let mut input = InBuffer::around(file);
    // Where the frame begins, in the file and in its data.
    let (mut frame, mut data) = (0, 0);
    while frame < file.len() || frame == 0 {
        let before = input.pos();
        let mut output = OutBuffer::around(&mut piece[..]);
        let hint = context.decompress_stream(&mut output, &mut input).ok()?;
        all.extend_from_slice(output.as_slice());
        if all.len() > MOST || hint > 0 && input.pos() == before && output.pos() == 0 {
            return None;
        }
        if hint == 0 {
            let stated = zstd_safe::get_frame_content_size(&file[frame..]).ok()?;
            if stated.is_some_and(|size| size != (all.len() - data) as u64) {
                return None;
            }
            (frame, data) = (input.pos(), all.len());
        }
    }
    let mut second = vec![0; all.len()];
    if let Ok(len) = ruzstd::decoding::FrameDecoder::new().decode_all(file, &mut second) {
        assert!(second[..len] == all, "other bytes than ruzstd");
    }
    Some(all)
}

fn bzip2_files() -> Vec<Vec<u8>> {
    let of = |data: &[u8]| {
        let mut file = Vec::with_capacity(MOST);
        let mut stream = bzip2::Compress::new(bzip2::Compression::fast(), 0);
        stream.compress_vec(data, &mut file, bzip2::Action::Finish).expect("room");
        file
    };
    let data = data();
    let text = &data[840..];
    vec![of(&data), of(text), of(&[7; 5000]), [of(&data[..400]), of(text)].concat(), [of(b""), of(text)].concat()]
}

/// Corrects the checksums of a stream of one block: the library writes a block before it checks it.
fn repaired_bzip2(mut file: Vec<u8>) -> Vec<u8> {
    const END: u64 = 0x1772_4538_5090;
    let (mut stream, mut data, mut piece) = (bzip2::Decompress::new(false), Vec::new(), vec![0; 64 << 10]);
    while data.len() < MOST {
        let (read, before) = (stream.total_in() as usize, stream.total_out());
        let result = stream.decompress(&file[read..], &mut piece);
        let written = (stream.total_out() - before) as usize;
        data.extend_from_slice(&piece[..written]);
        if !matches!(result, Ok(bzip2::Status::Ok)) || written == 0 && stream.total_in() as usize == read {
            break;
        }
    }
    let add = |crc: u32, &byte: &u8| {
        (0..8).fold(crc ^ u32::from(byte) << 24, |crc, _| crc << 1 ^ if crc >> 31 == 1 { 0x04c1_1db7 } else { 0 })
    };
    let crc = !data.iter().fold(u32::MAX, add);
    if data.is_empty() || file.len() < 24 {
        return file;
    }
    file[10..14].copy_from_slice(&crc.to_be_bytes());
    let bit = |file: &[u8], at: usize| u64::from(file[at / 8] >> (7 - at % 8) & 1);
    let last = file.len() * 8 - 80;
    let is_end = |at: &usize| (*at..at + 48).fold(0, |bits, at| bits << 1 | bit(&file, at)) == END;
    if let Some(end) = (last.saturating_sub(7)..=last).rev().find(is_end) {
        for at in 0..32 {
            let place = end + 48 + at;
            file[place / 8] &= !(0x80 >> (place % 8));
            file[place / 8] |= ((crc >> (31 - at) & 1) as u8) << (7 - place % 8);
        }
    }
    file
}

fn libbz2(file: &[u8]) -> Option<Vec<u8>> {
    let (mut all, mut rest, mut piece) = (Vec::new(), file, vec![0; 64 << 10]);
    // Zeros at the end are ignored.
    while rest.len() == file.len() || rest.iter().any(|&byte| byte != 0) {
        let mut stream = bzip2::Decompress::new(false);
        loop {
            let (read, before) = (stream.total_in() as usize, stream.total_out());
            let status = stream.decompress(&rest[read..], &mut piece).ok()?;
            let written = (stream.total_out() - before) as usize;
            all.extend_from_slice(&piece[..written]);
            match status {
                bzip2::Status::StreamEnd => break,
                _ if stream.total_in() as usize == read && written == 0 => return None,
                _ => {}
            }
        }
        rest = &rest[stream.total_in() as usize..];
    }
    Some(all)
}
