//! The tags of a document, up to the first fault: for a configuration, on which only the choice and the order of disks, a name and
//! notices depend.

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};

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

/// The tags of a document, in its order. An element without content has a start tag and an end tag.
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
