//! VHDX: valid images for changes. They have MiBs, so they are changed in place, and changed back.

use super::examine::{Seen, compare_once, examine};
use super::files::Files;
use super::vhdx::{Block, HEADERS, ITEMS, METADATA, MIB, REGIONS, TABLE, Vhdx, seal};
use super::{changes, spans};
use std::cell::RefCell;
use std::iter;
use std::ops::Range;
use std::rc::Rc;

/// The number of images.
pub const BASES: u8 = 4;

/// The number of items of the metadata, and the distance of one from the next, in bytes.
const MOST_ITEMS: usize = 6;
const ITEM: usize = 1 << 10;
/// The length of a header that has a checksum, and of a region table.
const HEADER: usize = 4096;
const REGION_TABLE: usize = 64 << 10;

thread_local! {
    static IMAGES: RefCell<Vec<Rc<Vec<u8>>>> = RefCell::new((0..BASES).map(|number| Rc::new(base(number))).collect());
}

/// The image `number`, modulo the number of images.
pub fn base(number: u8) -> Vec<u8> {
    use Block::{Data, State};
    let image = match number % BASES {
        0 => Vhdx { size: 12_288, ..Vhdx::new(&[Data(3)]) },
        1 => Vhdx { size: 2 * MIB as u64 + 8192, ..Vhdx::new(&[State(2), State(0), Data(5)]) },
        2 => Vhdx { size: 8192, sector_size: 4096, ..Vhdx::new(&[Data(4)]) },
        _ => Vhdx { size: 12_288, block_size: 2 * MIB, log: MIB, ..Vhdx::new(&[Data(6)]) },
    };
    let mut file = image.file();
    if image.log > 0 {
        // The log is empty: no GUID.
        HEADERS.into_iter().for_each(|at| {
            file[at + 48..at + 64].fill(0);
            seal(&mut file, at, HEADER);
        });
    }
    file
}

/// The parts of an image with fields.
fn parts() -> Vec<Range<usize>> {
    let header = |at: usize| at..at + 80;
    let region_table = |at: usize| at..at + 16 + 3 * 32;
    let item = |number: usize| ITEMS + number * ITEM..ITEMS + number * ITEM + 16;
    let first = iter::once(0..16).chain(HEADERS.map(header)).chain(REGIONS.map(region_table));
    let metadata = iter::once(METADATA..METADATA + 32 + (MOST_ITEMS + 1) * 32).chain((0..MOST_ITEMS).map(item));
    first.chain(metadata).chain(iter::once(TABLE..TABLE + 64)).collect()
}

/// Interprets `input` as changes to one of the images. Bits of the second byte state how, and whether checksums are
/// corrected.
pub fn vhdx(input: &[u8]) -> Seen {
    let [number, how, rest @ ..] = input else { return Seen::default() };
    let (number, parts) = (usize::from(number % BASES), parts());
    let image = IMAGES.with_borrow(|images| images[number].clone());
    let before = spans::gathered(&image, &parts);
    let change = if how & 1 == 0 { changes::apply } else { changes::anywhere };
    let changed = change(before.clone(), rest);
    let is_examined = how & 0x70 == 0;
    if let Some(end) = spans::end_of(changed.len(), &parts) {
        let mut cut = image[..end].to_vec();
        spans::scatter(&mut cut, &parts, &changed);
        return check(Rc::new(cut), is_examined);
    }
    let mut image = image;
    IMAGES.with_borrow_mut(|images| images[number] = Rc::default());
    let bytes = Rc::get_mut(&mut image).expect("nothing else has it");
    spans::scatter(bytes, &parts, &changed);
    if how & 2 == 0 {
        let is_changed = |at: &usize| {
            let mut place = 0;
            parts.iter().any(|part| {
                let range = place..place + part.len();
                place = range.end;
                part.start == *at && before[range.clone()] != changed[range]
            })
        };
        HEADERS.into_iter().filter(is_changed).for_each(|at| seal(bytes, at, HEADER));
        REGIONS.into_iter().filter(is_changed).for_each(|at| seal(bytes, at, REGION_TABLE));
    }
    let seen = check(image.clone(), is_examined);
    spans::scatter(Rc::get_mut(&mut image).expect("nothing else has it"), &parts, &before);
    IMAGES.with_borrow_mut(|images| images[number] = image);
    seen
}

/// Opens and converts an image, in several ways if it should be `examined`.
pub fn check(image: Rc<Vec<u8>>, examined: bool) -> Seen {
    let files = Files { image, companions: Vec::new(), password: None };
    if examined { examine(&files) } else { compare_once(&files) }
}
