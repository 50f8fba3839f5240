//! How the names of parts are numbered: `disk.001`, `diskaa`, `x00.img`.

/// The letters and digits that numbers are written in.
type Alphabet = &'static [u8];
const LETTERS: Alphabet = b"abcdefghijklmnopqrstuvwxyz";
const DIGITS: Alphabet = b"0123456789";
const HEX: Alphabet = b"0123456789abcdef";
/// The longest text of a number.
const MAX_WIDTH: usize = 9;
/// The width of numbers of `split` without `-a`.
const DEFAULT_WIDTH: usize = 2;

/// How numbers are written.
#[derive(Clone, Copy)]
enum Counting {
    /// Numbers of one width, as from `split -a`.
    Fixed(Alphabet, usize),
    /// Numbers that get a digit more when needed: after `999` comes `1000`.
    Growing(usize),
    /// As from `split` by default: after `yz` comes `zaaa`, after `zyzz` `zzaaaa`; after `89` `9000`.
    Widening(Alphabet),
}

/// One way to read the name of a first part, from which the names of the other parts follow.
pub(super) struct Reading {
    pub(super) before: String,
    pub(super) after: String,
    /// The number of the first part.
    pub(super) first: u64,
    counting: Counting,
    /// The reading in which the last letter of `before` belongs to the number, if it may.
    pub(super) wider: Option<Wider>,
    /// For letters: how many parts a shorter number could count. If there are as many parts, the number is probably longer.
    pub(super) exhausted: Option<u64>,
    /// Whether parts are counted so only if one of them has such a text; see [`is_evident`].
    pub(super) needs_evidence: bool,
}

/// A reading with one letter more.
pub(super) struct Wider {
    pub(super) reading: Box<Reading>,
    /// How many of its numbers begin alike.
    pub(super) group: u64,
}

impl Counting {
    /// The number that `text` writes; `None` if it is not written so.
    fn number_of(self, text: &str) -> Option<u64> {
        match self {
            Self::Fixed(alphabet, width) if text.len() == width => place_of(text, alphabet),
            Self::Fixed(..) => None,
            Self::Growing(width) => {
                let is_wider = text.len() > width && text.len() <= MAX_WIDTH && !text.starts_with('0');
                if text.len() == width || is_wider { place_of(text, DIGITS) } else { None }
            }
            Self::Widening(alphabet) => {
                let more = text.len().checked_sub(DEFAULT_WIDTH).filter(|more| more % 2 == 0)? / 2;
                if text.len() > MAX_WIDTH || leading(text, alphabet) != more {
                    return None;
                }
                let shorter: u64 = (0..more).map(|more| amount(alphabet, more)).sum();
                Some(shorter + place_of(&text[more..], alphabet)?)
            }
        }
    }

    /// The text of `number`; `None` if it has none.
    fn text_of(self, number: u64) -> Option<String> {
        match self {
            Self::Fixed(alphabet, width) => Some(written(number, alphabet, width)).filter(|text| text.len() == width),
            Self::Growing(width) => Some(written(number, DIGITS, width)),
            Self::Widening(alphabet) => {
                let (mut rest, mut more) = (number, 0);
                while rest >= amount(alphabet, more) {
                    rest -= amount(alphabet, more);
                    more += 1;
                }
                let last = char::from(alphabet[alphabet.len() - 1]).to_string();
                Some(last.repeat(more) + &written(rest, alphabet, DEFAULT_WIDTH + more))
            }
        }
    }
}

/// Counts the widening numbers that begin with `more` times the last letter of `alphabet`.
fn amount(alphabet: Alphabet, more: usize) -> u64 {
    let len = alphabet.len() as u64;
    (len - 1).saturating_mul(len.saturating_pow(more as u32 + 1))
}

/// How often the last letter of `alphabet` is repeated at the start of `text`.
fn leading(text: &str, alphabet: Alphabet) -> usize {
    text.bytes().take_while(|letter| Some(letter) == alphabet.last()).count()
}

fn place_of(text: &str, alphabet: Alphabet) -> Option<u64> {
    let add = |sum: u64, letter: u8| {
        let place = alphabet.iter().position(|&known| known == letter)?;
        sum.checked_mul(alphabet.len() as u64)?.checked_add(place as u64)
    };
    text.bytes().try_fold(0, add)
}

fn written(number: u64, alphabet: Alphabet, width: usize) -> String {
    let len = alphabet.len() as u64;
    let (mut rest, mut text) = (number, Vec::new());
    while rest > 0 || text.len() < width {
        text.push(alphabet[(rest % len) as usize]);
        rest /= len;
    }
    text.iter().rev().map(|&letter| char::from(letter)).collect()
}

/// Whether `text` shows that numbers are hexadecimal: it lies between `09` and `10`. A name such as `disk.db` does not show that.
pub(super) fn is_evident(text: &str) -> bool {
    let rest = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    rest.len() < text.len() && rest.starts_with(|letter| matches!(letter, 'a'..='f'))
}

impl Reading {
    /// The number of the part called `name`, and how that writes it; `None` if it has not the name of such a part.
    pub(super) fn number_of<'a>(&self, name: &'a str) -> Option<(u64, &'a str)> {
        let text = name.strip_prefix(&*self.before)?.strip_suffix(&*self.after)?;
        let number = self.counting.number_of(text).filter(|&number| number >= self.first)?;
        Some((number, text))
    }

    /// The name of the part with this number; `None` if it has none.
    pub(super) fn name_of(&self, number: u64) -> Option<String> {
        Some([&self.before, &*self.counting.text_of(number)?, &self.after].concat())
    }
}

/// Returns the ways to read `name` as the name of a first part; none if it cannot be one. A suffix may follow the number, as by
/// `split --additional-suffix`.
pub(super) fn readings_of(name: &str) -> Vec<Reading> {
    if let Some((before, text)) = numbered(name).filter(|(_, text)| is_first(text)) {
        return numbers(before, text, "");
    }
    if let Some((before, width)) = lettered(name) {
        return letters(before, width, "");
    }
    let Some((stem, suffix)) = with_suffix(name) else { return Vec::new() };
    if let Some(text) = stem.strip_prefix('x').filter(|text| text.len() >= DEFAULT_WIDTH && is_first(text)) {
        return numbers("x", text, suffix);
    }
    lettered(stem).map_or_else(Vec::new, |(before, width)| letters(before, width, suffix))
}

/// Divides the name of a part that is numbered with digits: `disk.001` into `disk.` and `001`. `None` for other names.
pub(super) fn numbered(name: &str) -> Option<(&str, &str)> {
    let before = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let text = &name[before.len()..];
    let lower = before.to_ascii_lowercase();
    let is_wide = text.len() >= DEFAULT_WIDTH && (before.ends_with('.') || lower == "x");
    let is_part = !text.is_empty() && lower.ends_with(".part");
    ((is_wide || is_part) && text.len() <= MAX_WIDTH).then_some((before, text))
}

/// Whether `text` is the number of a first part: 0 or 1.
pub(super) fn is_first(text: &str) -> bool {
    text.len() <= MAX_WIDTH && matches!(text.trim_start_matches('0'), "" | "1")
}

/// Divides a name that ends in letters `a`: `diskaa` into `disk` and their number, 2. `None` if they are fewer than two, or all of the
/// name.
fn lettered(name: &str) -> Option<(&str, usize)> {
    let count = name.len() - name.trim_end_matches('a').len();
    let width = count.min(MAX_WIDTH).min(name.len().saturating_sub(1));
    (width >= DEFAULT_WIDTH).then(|| (&name[..name.len() - width], width))
}

/// Divides `name` at its last dot, if letters, digits and underscores follow.
fn with_suffix(name: &str) -> Option<(&str, &str)> {
    let (stem, suffix) = name.split_at(name.rfind('.')?);
    let letters = &suffix.as_bytes()[1..];
    let is_suffix = letters.first().is_some_and(u8::is_ascii_alphabetic)
        && letters.iter().all(|letter| letter.is_ascii_alphanumeric() || *letter == b'_');
    is_suffix.then_some((stem, suffix))
}

fn numbers(before: &str, text: &str, after: &str) -> Vec<Reading> {
    let reading = |counting, needs_evidence| Reading {
        before: before.to_owned(),
        after: after.to_owned(),
        first: u64::from(text.ends_with('1')),
        counting,
        wider: None,
        exhausted: None,
        needs_evidence,
    };
    let is_default = text.len() == DEFAULT_WIDTH;
    [
        is_default.then(|| reading(Counting::Widening(DIGITS), false)),
        Some(reading(Counting::Growing(text.len()), false)),
        is_default.then(|| reading(Counting::Widening(HEX), true)),
        Some(reading(Counting::Fixed(HEX, text.len()), true)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the readings of `width` letters `a` after `before`. The first of these letters may be the end of `before`.
fn letters(before: &str, width: usize, after: &str) -> Vec<Reading> {
    let mut readings = Vec::new();
    for of_number in DEFAULT_WIDTH..=width {
        let rest = before.to_owned() + &"a".repeat(width - of_number);
        let reading = |counting| Reading {
            before: rest.clone(),
            after: after.to_owned(),
            first: 0,
            counting,
            wider: wider(&rest, after, of_number),
            exhausted: Some(amount(LETTERS, of_number - DEFAULT_WIDTH)),
            needs_evidence: false,
        };
        if of_number == DEFAULT_WIDTH {
            readings.push(reading(Counting::Widening(LETTERS)));
        }
        readings.push(reading(Counting::Fixed(LETTERS, of_number)));
    }
    readings
}

/// Reads the letter before the number as a part of it: after `sdaaa` to `sdazz`, `sdbaa` may be the next part of the file, or the first part
/// of another one.
fn wider(before: &str, after: &str, width: usize) -> Option<Wider> {
    let shorter = before.strip_suffix(|letter: char| letter.is_ascii_lowercase()).filter(|rest| !rest.is_empty())?;
    let reading = Reading {
        before: shorter.to_owned(),
        after: after.to_owned(),
        first: 0,
        counting: Counting::Fixed(LETTERS, width + 1),
        wider: None,
        exhausted: None,
        needs_evidence: false,
    };
    Some(Wider { reading: Box::new(reading), group: (LETTERS.len() as u64).pow(width as u32) })
}
