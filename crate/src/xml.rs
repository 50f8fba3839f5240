//! XML, by quick-xml. References to entities of a document type are errors: they are never expanded.

use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesRef, BytesStart, Event};

/// Maximum number of elements, and maximum depth.
const MAX_ELEMENTS: usize = 65_536;
const MAX_DEPTH: usize = 32;

/// An element of a document and its text. Attributes, comments and instructions are skipped.
#[derive(Default)]
pub(crate) struct Element {
    pub(crate) name: String,
    /// The text of the element without that of its children, and without white space at the ends.
    pub(crate) text: String,
    children: Vec<Element>,
}

impl Element {
    fn of(start: &BytesStart<'_>) -> Self {
        Self { name: start.name().into_inner().to_owned(), ..Self::default() }
    }

    /// Returns the first child called `name`.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.children_named(name).next()
    }

    pub(crate) fn children_named(&self, name: &str) -> impl Iterator<Item = &Self> {
        self.children.iter().filter(move |child| child.name == name)
    }
}

/// Returns the root of the document `text`; `None` if it is not well formed, or has too many elements.
pub(crate) fn root_of(text: &str) -> Option<Element> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    // The open elements, the outermost first: one that stands for the document, then the root.
    let mut open = vec![Element::default()];
    let mut elements = 0;
    loop {
        let last = open.last_mut()?;
        match reader.read_event().ok()? {
            Event::Start(start) => {
                elements += 1;
                if elements > MAX_ELEMENTS || open.len() > MAX_DEPTH {
                    return None;
                }
                open.push(Element::of(&start));
            }
            Event::End(_) => {
                let mut element = open.pop()?;
                element.text = element.text.trim().to_owned();
                open.last_mut()?.children.push(element);
            }
            Event::Text(text) => last.text += &text,
            Event::CData(text) => last.text += &text,
            Event::GeneralRef(reference) => last.text.push(character(&reference)?),
            Event::Eof => break,
            _ => {}
        }
    }
    let outer = open.pop()?;
    let is_whole = open.is_empty() && outer.children.len() == 1 && outer.text.trim().is_empty();
    outer.children.into_iter().next().filter(|_| is_whole)
}

/// Returns the character that `reference` stands for; `None` for an entity of a document type.
fn character(reference: &BytesRef<'_>) -> Option<char> {
    match reference.resolve_char_ref().ok()? {
        None => resolve_predefined_entity(reference)?.chars().next(),
        found => found,
    }
}

/// A start tag or an end tag.
pub(crate) struct Tag<'a> {
    /// Its name, without a prefix.
    pub(crate) name: String,
    pub(crate) is_end: bool,
    /// The start tag; `None` for an end tag.
    start: Option<BytesStart<'a>>,
    /// The text after the tag.
    after: &'a str,
}

impl Tag<'_> {
    /// Returns the value of the first attribute called `name`, with any prefix. `None` if the value has a reference to anything but a
    /// character.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        let mut attributes = self.start.as_ref()?.attributes();
        let found = attributes
            .with_checks(false)
            .map_while(Result::ok)
            .find(|attribute| attribute.key.local_name().into_inner() == name)?;
        Some(unescape(&found.value).ok()?.into_owned())
    }

    /// Returns the text between this tag and the next one, without white space at its ends. `None` if it is empty, or has a reference
    /// to anything but a character.
    pub(crate) fn content(&self) -> Option<String> {
        let (text, _) = self.after.split_once('<')?;
        Some(unescape(text.trim()).ok()?.into_owned()).filter(|text| !text.is_empty())
    }
}

/// The tags of a document, in its order, up to the first fault: for a configuration, on which only the choice and the order of disks, a
/// name and notices depend. An element without content has a start tag and an end tag.
pub(crate) struct Tags<'a> {
    text: &'a str,
    reader: Reader<&'a [u8]>,
}

impl<'a> Tags<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.allow_dangling_amp = true;
        config.allow_unmatched_ends = true;
        config.check_end_names = false;
        config.expand_empty_elements = true;
        Self { text, reader }
    }
}

impl<'a> Iterator for Tags<'a> {
    type Item = Tag<'a>;

    fn next(&mut self) -> Option<Tag<'a>> {
        loop {
            let (name, start) = match self.reader.read_event().ok()? {
                Event::Start(start) => (start.local_name().into_inner().to_owned(), Some(start)),
                Event::End(end) => (end.local_name().into_inner().to_owned(), None),
                Event::Eof => return None,
                _ => continue,
            };
            let after = self.text.get(self.reader.buffer_position() as usize..)?;
            return Some(Tag { name, is_end: start.is_none(), start, after });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents() {
        type Texts<'a> = (&'a str, Option<&'a str>);
        // (document, the text of the root and of its first child `b`, if the document is well formed)
        let rows: &[(&str, Option<Texts<'_>>)] = &[
            ("<a> x<b>y</b>z </a>", Some(("xz", Some("y")))),
            ("<a/>", Some(("", None))),
            ("<a></a >\n<!-- <c> -->", Some(("", None))),
            ("\u{feff}<?xml version='1.0'?>\n<?p <c> ?><!DOCTYPE a [<!ENTITY x 'y'>]><a>y</a>", Some(("y", None))),
            ("<a>&#97;&#x62;&amp;&lt;&gt;&quot;&apos;<![CDATA[<&]]></a>", Some(("ab&<>\"'<&", None))),
            ("<a c='>' d=\"/>\"><b c='</b>'/></a>", Some(("", Some("")))),
            ("<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", None),
            ("<a>&</a>", None),
            ("<a>&#0;&#xd800;</a>", None),
            ("<a>", None),
            ("<a><b></a></b>", None),
            ("</a>", None),
            ("<a></a></a>", None),
            ("<a/><b/>", None),
            ("x<a/>", None),
            ("<a/>x", None),
            ("<a", None),
            ("<a><!-- </a>", None),
            ("<a><![CDATA[</a>", None),
            ("x", None),
            ("", None),
        ];
        for (document, expected) in rows {
            let root = root_of(document);
            let found = root.as_ref().map(|root| (&*root.text, root.child("b").map(|child| &*child.text)));
            assert_eq!(found, *expected, "{document}");
        }
    }

    #[test]
    fn many_elements() {
        let deep = |depth: usize| "<a>".repeat(depth) + &"</a>".repeat(depth);
        let wide = |count: usize| format!("<a>{}</a>", "<b/>".repeat(count));
        let rows = [
            (deep(MAX_DEPTH), true),
            (deep(MAX_DEPTH + 1), false),
            ("<a>".repeat(300_000), false),
            (wide(MAX_ELEMENTS - 1), true),
            (wide(MAX_ELEMENTS), false),
        ];
        for (document, is_read) in rows {
            assert_eq!(root_of(&document).is_some(), is_read, "{} bytes", document.len());
        }
    }
}
