//! XML, as far as descriptors use it: elements and text. Attributes, comments and instructions are skipped.

use crate::xml_text::unescaped;

/// Maximum number of elements, and maximum depth.
const MAX_ELEMENTS: usize = 65_536;
const MAX_DEPTH: usize = 32;

/// An element.
#[derive(Default)]
pub(super) struct Element {
    pub(super) name: String,
    /// Its own text, without white space at the ends.
    pub(super) text: String,
    children: Vec<Element>,
}

impl Element {
    /// Returns the first child called `name`.
    pub(super) fn child(&self, name: &str) -> Option<&Self> {
        self.children_named(name).next()
    }

    pub(super) fn children_named(&self, name: &str) -> impl Iterator<Item = &Self> {
        self.children.iter().filter(move |child| child.name == name)
    }
}

/// Parses `bytes`, a document in UTF-8, to its root; `None` if it is not well formed, or has too many elements.
pub(super) fn parsed(bytes: &[u8]) -> Option<Element> {
    let text = str::from_utf8(bytes).ok()?;
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    // The open elements, the outermost first: one that contains the root, then the root.
    let mut open = vec![Element::default()];
    let mut elements = 0;
    while let Some((before, markup)) = rest.split_once('<') {
        open.last_mut()?.text += &unescaped(before)?;
        if let Some(comment) = markup.strip_prefix("!--") {
            rest = comment.split_once("-->")?.1;
        } else if let Some(data) = markup.strip_prefix("![CDATA[") {
            let (data, after) = data.split_once("]]>")?;
            open.last_mut()?.text += data;
            rest = after;
        } else if markup.starts_with(['?', '!']) {
            rest = markup.split_once('>')?.1;
        } else if let Some(end) = markup.strip_prefix('/') {
            let (name, after) = end.split_once('>')?;
            let element = open.pop()?;
            if element.name != name.trim_end() || open.is_empty() {
                return None;
            }
            close(open.last_mut()?, element);
            rest = after;
        } else {
            let (tag, after) = markup.split_at(tag_end(markup)?);
            let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
            let name = tag.split(char::is_whitespace).next().filter(|name| !name.is_empty())?;
            elements += 1;
            if elements > MAX_ELEMENTS || open.len() > MAX_DEPTH {
                return None;
            }
            let element = Element { name: name.to_owned(), ..Element::default() };
            match is_empty {
                true => close(open.last_mut()?, element),
                false => open.push(element),
            }
            rest = &after[1..];
        }
    }
    let outer = open.pop()?;
    let is_whole = open.is_empty() && outer.children.len() == 1 && rest.trim().is_empty();
    outer.children.into_iter().next().filter(|_| is_whole)
}

/// Adds `element`, which is complete, to `parent`.
fn close(parent: &mut Element, mut element: Element) {
    element.text = element.text.trim().to_owned();
    parent.children.push(element);
}

/// Returns the position of the bracket that ends a tag: values of attributes may contain brackets.
fn tag_end(markup: &str) -> Option<usize> {
    let mut quote = None;
    markup.find(|each| {
        match quote {
            None if each == '"' || each == '\'' => quote = Some(each),
            Some(open) if open == each => quote = None,
            _ => {}
        }
        quote.is_none() && each == '>'
    })
}
