//! Escapes untrusted text for display: names from images, file names, a caller's input. In a terminal or on a page,
//! such text must not move the cursor, forge lines, change the direction of surrounding text, hide parts of itself, or
//! fill the screen.
//!
//! `worker/errors/shown.ts` implements the same rule; the cases in `tests/shown.json` test both.

use crate::error::secrets::without_secrets;

/// Maximum length of an escaped text, in characters.
const LONGEST: usize = 200;
/// Maximum length of a message, in characters.
pub const LONGEST_MESSAGE: usize = 1000;

/// Characters that are invisible or affect others: control characters (Cc), line and paragraph separators, Unicode's
/// default ignorable characters (including direction marks), and annotation marks.
const HIDDEN: &[(char, char)] = &[
    ('\u{0}', '\u{1f}'),
    ('\u{7f}', '\u{9f}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Removes secrets from URLs in `text` and escapes hidden characters as `\u001b`. If the result has more than 200
/// characters, returns up to 99 from its start and up to 99 from its end, with `…` between them.
pub fn shown(text: &str) -> String {
    at_most(LONGEST, text)
}

/// Applies [`shown`]'s rule to a whole message, with a limit of 1,000 characters. The texts in it are escaped already.
pub(crate) fn message(text: &str) -> String {
    at_most(LONGEST_MESSAGE, text)
}

/// Quotes up to `most` of `names`, and states whether there are others.
pub(crate) fn shown_names<'a>(names: impl ExactSizeIterator<Item = &'a str>, most: usize) -> String {
    let others = if names.len() > most { " and others" } else { "" };
    let names: Vec<_> = names.take(most).map(|name| format!("'{}'", shown(name))).collect();
    names.join(", ") + others
}

fn at_most(most: usize, text: &str) -> String {
    let text = without_secrets(text);
    let all = up_to(most, &mut text.chars());
    if all.len() == text.chars().count() {
        return all.concat();
    }
    let half = most / 2 - 1;
    let mut tail = up_to(half, &mut text.chars().rev());
    tail.reverse();
    [up_to(half, &mut text.chars()).concat(), "…".to_owned(), tail.concat()].concat()
}

/// The first of `characters`, escaped: as many as have at most `most` characters together.
fn up_to(most: usize, characters: &mut dyn Iterator<Item = char>) -> Vec<String> {
    let mut width = 0;
    let fits = |escaped: &String| {
        width += escaped.chars().count();
        width <= most
    };
    characters.map(escaped).take_while(fits).collect()
}

fn is_hidden(character: char) -> bool {
    HIDDEN.iter().any(|&(first, last)| (first..=last).contains(&character))
}

fn escaped(character: char) -> String {
    if !is_hidden(character) {
        return character.to_string();
    }
    character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}
