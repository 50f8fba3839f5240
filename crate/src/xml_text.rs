//! The text of XML documents (XML 1.0, section 4.1).

/// Replaces references to characters. Returns `None` for any other reference.
pub(crate) fn unescaped(value: &str) -> Option<String> {
    let mut text = String::new();
    for (number, part) in value.split('&').enumerate() {
        let mut literal = part;
        if number > 0 {
            let (reference, rest) = part.split_once(';')?;
            text.push(character(reference)?);
            literal = rest;
        }
        text += literal;
    }
    Some(text)
}

fn character(reference: &str) -> Option<char> {
    const NAMES: [(&str, char); 5] = [("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\'')];
    if let Some((_, named)) = NAMES.iter().find(|(name, _)| *name == reference) {
        return Some(*named);
    }
    let number = reference.strip_prefix('#')?;
    let (digits, radix) = number.strip_prefix('x').map_or((number, 10), |digits| (digits, 16));
    char::from_u32(u32::from_str_radix(digits, radix).ok()?)
}
