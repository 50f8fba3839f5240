//! The tags of an XML document and their attributes. What cannot be understood is skipped: only the choice and the order of disks, a
//! name and notices depend on a configuration. Entities of a document type are not expanded.

use crate::xml_text::unescaped;

/// A start tag or an end tag.
pub(super) struct Tag<'a> {
    /// Its name, without a prefix.
    pub(super) name: &'a [u8],
    pub(super) is_end: bool,
    /// The text between its brackets.
    inside: &'a [u8],
    /// The text after it.
    after: &'a [u8],
}

impl Tag<'_> {
    /// The value of the attribute `wanted`, with any prefix. `None` if it has a reference that is not one to a character.
    pub(super) fn attribute(&self, wanted: &str) -> Option<String> {
        let mut rest = self.inside;
        loop {
            let equals = find(rest, b"=")?;
            let (name, value) = (rest[..equals].trim_ascii_end(), rest[equals + 1..].trim_ascii_start());
            let (quote @ (b'"' | b'\''), value) = value.split_first()? else { return None };
            let end = find(value, &[*quote])?;
            if local(name) == wanted.as_bytes() {
                return unescaped(str::from_utf8(&value[..end]).ok()?);
            }
            rest = &value[end..];
        }
    }

    /// The text between this start tag and the next tag; `None` if that is empty.
    pub(super) fn content(&self) -> Option<String> {
        let text = &self.after[..find(self.after, b"<")?];
        unescaped(str::from_utf8(text.trim_ascii()).ok()?).filter(|text| !text.is_empty())
    }
}

/// The tags of a document, in its order. An element without content has a start tag and an end tag.
pub(super) struct Tags<'a> {
    rest: &'a [u8],
    /// The name of the element without content that was last.
    unended: Option<&'a [u8]>,
}

impl<'a> Tags<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { rest: text.as_bytes(), unended: None }
    }
}

impl<'a> Iterator for Tags<'a> {
    type Item = Tag<'a>;

    fn next(&mut self) -> Option<Tag<'a>> {
        if let Some(name) = self.unended.take() {
            return Some(Tag { name, is_end: true, inside: b"", after: self.rest });
        }
        let inside = next_inside(&mut self.rest)?;
        let (is_end, inside) = inside.strip_prefix(b"/").map_or((false, inside), |inside| (true, inside));
        let end = inside.iter().position(|&byte| byte.is_ascii_whitespace() || byte == b'/').unwrap_or(inside.len());
        let name = local(&inside[..end]);
        if !is_end && inside.ends_with(b"/") {
            self.unended = Some(name);
        }
        Some(Tag { name, is_end, inside, after: self.rest })
    }
}

/// Returns the text between the brackets of the next tag, and moves `rest` to the text after them. Skips comments and the like.
fn next_inside<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    loop {
        let text = &rest[find(rest, b"<")? + 1..];
        let other: &[u8] = match text {
            [b'!', b'-', b'-', ..] => b"-->",
            [b'!', b'[', ..] => b"]]>",
            [b'!' | b'?', ..] => b">",
            _ => b"",
        };
        if !other.is_empty() {
            *rest = &text[find(text, other)?..];
            continue;
        }
        let mut quote = None;
        let end = text.iter().position(|&byte| {
            match quote {
                None if byte == b'"' || byte == b'\'' => quote = Some(byte),
                Some(open) if open == byte => quote = None,
                _ => {}
            }
            quote.is_none() && byte == b'>'
        })?;
        *rest = &text[end + 1..];
        return Some(&text[..end]);
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// Returns the end of `name` without its prefix, and without a name before it.
fn local(name: &[u8]) -> &[u8] {
    let start = name.iter().rposition(|byte| *byte == b':' || byte.is_ascii_whitespace());
    &name[start.map_or(0, |at| at + 1)..]
}
