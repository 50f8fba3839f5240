//! Removes secrets from URLs in texts: a URL may have a user name, a password, or a query with a signature.
//!
//! `worker/errors/secrets.ts` implements the same rule; the cases in `tests/shown.json` test both.

/// Trailing characters that end a sentence, not a URL.
const PUNCTUATION: &[char] = &[':', ';', ',', '.', ')', ']', '}', '\'', '"'];

/// Removes user, password, query and fragment from each URL in `text`; the whole URL after its scheme if no host is
/// recognised.
pub(super) fn without_secrets(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    while let Some((begin, start)) = next(text, at) {
        let end = start + length(&text[start..], text[..begin].chars().next_back());
        result.push_str(&text[at..start]);
        result.push_str(place(&text[start..end]));
        at = end;
    }
    result.push_str(&text[at..]);
    result
}

/// Finds the next URL at or after `at`: any scheme followed by a slash, or http(s) without one. Returns the offset of
/// the scheme, and the offset after the scheme and its slashes.
fn next(text: &str, at: usize) -> Option<(usize, usize)> {
    let mut from = at;
    loop {
        let colon = from + text[from..].find(':')?;
        let (before, after) = (&text[from..colon], &text[colon + 1..]);
        let is_address = |scheme: &&str| scheme.len() > 1 && (after.starts_with(is_slash) || is_http(scheme));
        let scheme = Some(scheme_of(before)).filter(is_address);
        if let Some(scheme) = scheme {
            return Some((colon - scheme.len(), text.len() - after.trim_start_matches(is_slash).len()));
        }
        from = colon + 1;
    }
}

/// Returns the scheme at the end of `before`. A single letter is a drive, as in `C:\`.
fn scheme_of(before: &str) -> &str {
    let is_other = |character: char| !character.is_ascii_alphanumeric() && !"+.-".contains(character);
    let run = before.rsplit(is_other).next().unwrap_or_default();
    run.trim_start_matches(|character: char| !character.is_ascii_alphabetic())
}

/// Whether `scheme` counts as a URL scheme without a slash after the colon.
fn is_http(scheme: &str) -> bool {
    let lower = scheme.to_ascii_lowercase();
    lower.ends_with("http") || lower.ends_with("https")
}

fn is_slash(character: char) -> bool {
    character == '/' || character == '\\'
}

fn is_space(character: char) -> bool {
    matches!(character, '\t'..='\r' | ' ')
}

/// Returns the length of the URL at the start of `rest`, which follows its scheme. `before` is the character before the
/// scheme: possibly a quote.
fn length(rest: &str, before: Option<char>) -> usize {
    if let Some(quote @ ('\'' | '"')) = before {
        let ends = |&(at, _): &(usize, &str)| {
            rest[at + 1..].chars().next().is_none_or(|after| is_space(after) || ":;,.)]}".contains(after))
        };
        return rest.match_indices(quote).find(ends).map_or(rest.len(), |(at, _)| at);
    }
    let word = rest.split(is_space).next().unwrap_or_default();
    word.trim_end_matches(PUNCTUATION).len()
}

/// Returns host and path of `address`, which has no scheme; empty if no host is recognised.
fn place(address: &str) -> &str {
    let authority = authority(address);
    // A password may contain characters that should have been encoded.
    let userinfo = if authority.contains('@') || is_host(authority) { authority } else { address };
    let rest = userinfo.rfind('@').map_or(address, |at| &address[at + 1..]);
    if !is_host(self::authority(rest)) {
        return "";
    }
    rest.split(['?', '#']).next().unwrap_or_default()
}

fn authority(address: &str) -> &str {
    address.split(['\\', '/', '?', '#']).next().unwrap_or_default()
}

/// Whether `authority` is a host name or a bracketed IPv6 address, with or without a port.
fn is_host(authority: &str) -> bool {
    let port = match authority.strip_prefix('[') {
        Some(inner) => match inner.split_once(']') {
            Some((_, port)) => port,
            None => return false,
        },
        None => {
            let name = authority.split(':').next().unwrap_or_default();
            if name.contains(['[', ']']) {
                return false;
            }
            &authority[name.len()..]
        }
    };
    port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}
