//! Parses JSON objects in images. Single-quoted strings are allowed, as in QEMU's file names.

/// Maximum nesting depth of objects and arrays.
const MAX_DEPTH: usize = 32;
/// Maximum length of a path, in bytes, and maximum number of values. Together they bound the memory.
const MAX_PATH: usize = 1 << 10;
const MAX_VALUES: usize = 1 << 12;

/// Flattens the JSON object `text` to paths and values: both `{"file": {"filename": "a"}}` and `{"file.filename": "a"}`
/// have the path `file.filename`, and array elements are numbered. Strings are unescaped; other values are returned as
/// written. Returns `None` if `text` is not a valid object, has a path twice, or has longer or more paths than real images.
pub fn paths(text: &str) -> Option<Vec<(String, String)>> {
    let mut reader = JsonReader { rest: text, found: Vec::new() };
    reader.object("", 0)?;
    let mut names: Vec<&String> = reader.found.iter().map(|(path, _)| path).collect();
    names.sort_unstable();
    let is_clear = reader.rest.trim().is_empty() && names.windows(2).all(|pair| pair[0] != pair[1]);
    is_clear.then_some(reader.found)
}

struct JsonReader<'a> {
    rest: &'a str,
    found: Vec<(String, String)>,
}

impl JsonReader<'_> {
    /// Skips white space and consumes `sign`, if it is next.
    fn take(&mut self, sign: char) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(sign)?;
        Some(())
    }

    fn object(&mut self, path: &str, depth: usize) -> Option<()> {
        self.take('{')?;
        if self.take('}').is_some() {
            return Some(());
        }
        loop {
            let key = self.string()?;
            self.take(':')?;
            self.value(&if path.is_empty() { key } else { format!("{path}.{key}") }, depth + 1)?;
            if self.take(',').is_none() {
                return self.take('}');
            }
        }
    }

    fn array(&mut self, path: &str, depth: usize) -> Option<()> {
        self.take('[')?;
        if self.take(']').is_some() {
            return Some(());
        }
        for number in 0.. {
            self.value(&format!("{path}.{number}"), depth + 1)?;
            if self.take(',').is_none() {
                break;
            }
        }
        self.take(']')
    }

    fn value(&mut self, path: &str, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH || path.len() > MAX_PATH {
            return None;
        }
        match self.rest.trim_start().chars().next()? {
            '{' => self.object(path, depth),
            '[' => self.array(path, depth),
            '"' | '\'' => {
                let value = self.string()?;
                self.add(path, value)
            }
            _ => {
                let rest = self.rest.trim_start();
                let end = rest.find(|sign: char| !matches!(sign, 'a'..='z' | '0'..='9' | '+' | '-' | '.' | 'E'))?;
                let (word, rest) = rest.split_at(end);
                self.rest = rest;
                self.add(path, word.to_owned()).filter(|()| !word.is_empty())
            }
        }
    }

    fn add(&mut self, path: &str, value: String) -> Option<()> {
        self.found.push((path.to_owned(), value));
        (self.found.len() <= MAX_VALUES).then_some(())
    }

    fn string(&mut self) -> Option<String> {
        let rest = self.rest.trim_start();
        let quote = rest.chars().next().filter(|sign| matches!(sign, '"' | '\''))?;
        let mut units: Vec<u16> = Vec::new();
        let mut signs = rest[1..].chars();
        loop {
            let sign = match signs.next()? {
                sign if sign == quote => break,
                '\\' => match signs.next()? {
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'u' => {
                        let digits: String = signs.by_ref().take(4).collect();
                        units.push(u16::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 4)?);
                        continue;
                    }
                    sign @ ('"' | '\'' | '\\' | '/') => sign,
                    _ => return None,
                },
                sign => sign,
            };
            units.extend_from_slice(sign.encode_utf16(&mut [0; 2]));
        }
        self.rest = signs.as_str();
        String::from_utf16(&units).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_and_other_values() {
        type Paths<'a> = Option<&'a [(&'a str, &'a str)]>;
        let deep = format!("{}1{}", "{\"a\":".repeat(40), "}".repeat(40));
        let long = format!("{{\"{}\":1}}", "a".repeat(MAX_PATH + 1));
        let many = format!("{{\"a\":[1{}]}}", ",1".repeat(MAX_VALUES));
        let cases: &[(&str, Paths)] = &[
            ("{}", Some(&[])),
            (
                " { \"a\" : 'b' , 'c':{\"d\":-1.5e3,\"e\":[true,null]}} ",
                Some(&[("a", "b"), ("c.d", "-1.5e3"), ("c.e.0", "true"), ("c.e.1", "null")]),
            ),
            (r#"{"a\"\\\/\n":"\u00e9\ud83d\udcbe"}"#, Some(&[("a\"\\/\n", "é💾")])),
            (r#"{"a.b":1,"a":{"b":2}}"#, None),
            (r#"{"a":"\ud83d"}"#, None),
            (r#"{"a":"\u00g0"}"#, None),
            (r#"{"a":"b"}x"#, None),
            (r#"{"a":"b""#, None),
            (r#"{"a":"b"#, None),
            (r#"{"a"}"#, None),
            (r#"{"a":}"#, None),
            (r#"{"a":1,}"#, None),
            ("[1]", None),
            ("", None),
            (&deep, None),
            (&long, None),
            (&many, None),
        ];
        for (text, expected) in cases {
            let found = paths(text);
            let found: Option<Vec<(&str, &str)>> =
                found.as_ref().map(|found| found.iter().map(|(path, value)| (&path[..], &value[..])).collect());
            assert_eq!(found.as_deref(), *expected, "{text}");
        }
    }
}
