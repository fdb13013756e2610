//! Inputs as texts, and texts whose numbers are replaced.

use crate::Number;
use arbitrary::{Arbitrary, Unstructured};
use kit::Problems;

/// First byte of an input that is a value and not a text; no text in UTF-8 has it.
pub const TYPED: u8 = 0xff;

/// Returns the value that an input holds, if it is one.
pub fn typed<T: for<'a> Arbitrary<'a>>(input: &[u8]) -> Option<T> {
    let bytes = input.strip_prefix(&[TYPED])?;
    T::arbitrary_take_rest(Unstructured::new(bytes)).ok()
}

/// Returns an input as a text; `None` if it is not UTF-8 or a value.
pub fn plain(input: &[u8]) -> Option<&str> {
    std::str::from_utf8(input).ok()
}

/// Change of one number of a line: its index among the numbers of the line, and the number that replaces it.
pub type Change = (u8, Number);

/// Returns a line with numbers replaced. Other text stays as it is.
pub fn renumbered(line: &str, changes: &[Change]) -> String {
    let mut text = String::with_capacity(line.len() + 16);
    let (mut rest, mut index) = (line, 0u8);
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let end = rest[start..].find(|letter: char| !letter.is_ascii_digit()).map_or(rest.len(), |length| start + length);
        text.push_str(&rest[..start]);
        match changes.iter().find(|(at, _)| *at == index) {
            Some((_, number)) => text.push_str(&number.to_string()),
            None => text.push_str(&rest[start..end]),
        }
        index = index.wrapping_add(1);
        rest = &rest[end..];
    }
    text.push_str(rest);
    text
}

/// Text made from a template: lines of the template, each with changes of its numbers.
#[derive(Arbitrary, Clone, Debug)]
pub struct Lines(Vec<(u8, Vec<Change>)>);

impl Lines {
    /// Returns the text, from lines of the template. The numbers of lines count from its first line, and again from
    /// there after its last.
    pub fn of(&self, template: &[&str]) -> String {
        let line = |(index, changes): &(u8, Vec<Change>)| {
            let line = template.get(usize::from(*index) % template.len().max(1)).copied().unwrap_or_default();
            renumbered(line, changes) + "\n"
        };
        self.0.iter().map(line).collect()
    }
}

/// Asserts that a refusal says what is wrong, and where.
pub fn assert_told(problems: &Problems) {
    assert!(!problems.0.is_empty(), "a refusal without a problem");
    for problem in &problems.0 {
        assert!(!problem.place.is_empty(), "a problem without a place: {problem}");
        assert!(!problem.complaint.is_empty(), "a problem without a complaint: {problem}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_line_are_replaced() {
        let changes = [(1, Number::Small(7)), (2, Number::Absent)];
        assert_eq!(renumbered("a 12,34 b56c", &changes), "a 12,7 bc");
    }

    #[test]
    #[should_panic(expected = "without a place")]
    fn a_problem_without_a_place_is_found() {
        assert_told(&Problems::one("", "wrong"));
    }
}
