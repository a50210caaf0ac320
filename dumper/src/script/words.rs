//! Lines as words with their places, and the reading of them one by one.

use super::{At, Placed, Problem};

/// A word with its place.
pub(super) type Word<'a> = Placed<&'a str>;

/// The part of a line before its comment: `#` begins one at the start of a word, outside of double quotes.
pub(super) fn without_comment(line: &str) -> &str {
    let (mut quoted, mut escaped, mut between) = (false, false, true);
    for (at, c) in line.char_indices() {
        match c {
            '#' if between && !quoted => return line[..at].trim_end(),
            '"' if !escaped => quoted = !quoted,
            _ => {}
        }
        escaped = quoted && c == '\\' && !escaped;
        between = c.is_whitespace();
    }
    line.trim_end()
}

/// The words of a line, read from left to right.
pub(super) struct Words<'a> {
    line: &'a str,
    number: u32,
    /// Byte and character at which the rest begins.
    at: (usize, u32),
}

impl<'a> Words<'a> {
    /// The words of a line without comment.
    pub(super) const fn new(line: &'a str, number: u32) -> Self {
        Self { line, number, at: (0, 1) }
    }

    /// The rest of the line, without leading space, with its place.
    pub(super) fn rest(&mut self) -> Word<'a> {
        let rest = &self.line[self.at.0..];
        let trimmed = rest.trim_start();
        let space = &rest[..rest.len() - trimmed.len()];
        self.at = (self.at.0 + space.len(), self.at.1 + space.chars().count() as u32);
        Word { at: At { line: self.number, column: self.at.1 }, value: trimmed }
    }

    /// The next word, if there is one; it stays the next.
    pub(super) fn peek(&mut self) -> Option<Word<'a>> {
        let rest = self.rest();
        let word = rest.value.split_whitespace().next()?;
        Some(Word { value: word, ..rest })
    }

    /// The next word, if there is one.
    pub(super) fn next(&mut self) -> Option<Word<'a>> {
        let word = self.peek()?;
        self.at = (self.at.0 + word.value.len(), self.at.1 + word.value.chars().count() as u32);
        Some(word)
    }

    /// The next word; `what` names it, and `help` lists its forms, if it is missing.
    pub(super) fn need(&mut self, what: &str, help: &str) -> Result<Word<'a>, Problem> {
        let end = self.rest().at;
        self.next().ok_or_else(|| Problem::new(end, format!("{what} is missing"), help))
    }

    /// A number within bounds; `what` names it.
    pub(super) fn number(&mut self, what: &str, min: i64, max: i64) -> Result<Placed<i64>, Problem> {
        let word = self.need(&format!("the number after `{what}`"), &format!("allowed: {min} to {max}"))?;
        let value = number(word, what, min, max)?;
        Ok(Placed { at: word.at, value })
    }

    /// One of several names.
    pub(super) fn choice<T: Copy>(&mut self, what: &str, names: &[(&str, T)]) -> Result<Placed<T>, Problem> {
        let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        let word = self.need(what, &allowed(&known))?;
        match names.iter().find(|(name, _)| *name == word.value) {
            Some((_, value)) => Ok(Placed { at: word.at, value: *value }),
            None => Err(unknown(word, &format!("is not {what}"), &known)),
        }
    }

    /// One certain word; `help` names the line that it begins.
    pub(super) fn keyword(&mut self, keyword: &str, help: &str) -> Result<(), Problem> {
        let word = self.need(&quoted(keyword), help)?;
        match word.value == keyword {
            true => Ok(()),
            false => Err(Problem::new(
                word.at,
                format!("expected `{keyword}`, found {}", quoted(word.value)),
                help,
            )),
        }
    }

    /// Nothing more may follow.
    pub(super) fn end(&mut self) -> Result<(), Problem> {
        match self.next() {
            None => Ok(()),
            Some(word) => Err(Problem::new(
                word.at,
                format!("{} is not expected here", quoted(word.value)),
                "the line is complete without it",
            )),
        }
    }
}

/// A number within bounds. Plain digits, or hexadecimal after `0x`.
pub(super) fn number(word: Word<'_>, what: &str, min: i64, max: i64) -> Result<i64, Problem> {
    let allowed = format!("allowed: {min} to {max}");
    let (digits, radix) = match word.value.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (word.value, 10),
    };
    let sign = usize::from(digits.starts_with('-') && radix == 10);
    if digits.len() == sign || !digits[sign..].chars().all(|c| c.is_digit(radix)) {
        return Err(Problem::new(
            word.at,
            format!("{what}: {} is not a number", quoted(word.value)),
            allowed,
        ));
    }
    match i64::from_str_radix(digits, radix) {
        Ok(value) if (min..=max).contains(&value) => Ok(value),
        _ => {
            Err(Problem::new(word.at, format!("{what}: {} is out of range", shortened(word.value)), allowed))
        }
    }
}

/// A problem with an unknown word.
pub(super) fn unknown(word: Word<'_>, message: &str, known: &[&str]) -> Problem {
    let help = match nearest(word.value, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => allowed(known),
    };
    Problem::new(word.at, format!("{} {message}", quoted(word.value)), help)
}

fn allowed(known: &[&str]) -> String {
    match known {
        [] => String::new(),
        [one] => format!("allowed: {one}"),
        [most @ .., last] => format!("allowed: {} or {last}", most.join(", ")),
    }
}

/// A word in messages, cut where a hostile file makes it long.
pub(super) fn quoted(word: &str) -> String {
    format!("`{}`", shortened(word))
}

fn shortened(word: &str) -> String {
    const LONGEST: usize = 40;
    let shown: String = word
        .chars()
        .take(LONGEST)
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect();
    if word.chars().nth(LONGEST).is_some() { format!("{shown}...") } else { shown }
}

/// The known word that an unknown one is a slip of: at most a third of its letters, and at least one, are wrong.
pub fn nearest<'c>(word: &str, known: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // Nobody mistypes a word this long; a hostile file might contain one.
    const LONGEST: usize = 64;
    if word.len() > LONGEST {
        return None;
    }
    // `num_QPs` and `num-qps` differ in habit, not in meaning.
    let plain = |word: &str| word.to_lowercase().replace('_', "-");
    let slips = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&plain(word), &plain(candidate)), candidate))
        .filter(|(distance, _)| *distance <= slips)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_begin_outside_of_quotes() {
        assert_eq!(without_comment("+0 > ACK # said"), "+0 > ACK");
        assert_eq!(without_comment("nic \"a # \\\" # b\" # c"), "nic \"a # \\\" # b\"");
        assert_eq!(without_comment("nic a#b"), "nic a#b");
        assert_eq!(without_comment("# all"), "");
    }

    #[test]
    fn columns_count_characters() {
        let mut words = Words::new("  µµ  x y", 7);
        assert_eq!(words.next().map(|word| word.at.column), Some(3));
        let rest = words.rest();
        assert_eq!((rest.at.line, rest.at.column, rest.value), (7, 7, "x y"));
    }

    #[test]
    fn slips_are_recognised_and_only_slips() {
        let known = ["WRITE_FIRST", "WRITE_LAST", "ACK"];
        assert_eq!(nearest("WRITE-FRIST", known), Some("WRITE_FIRST"));
        assert_eq!(nearest("ack", known), Some("ACK"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest(&"A".repeat(1000), known), None);
    }
}
