//! Line numbers of the places in a text.

/// The ends of the lines of a text. The line of a place is found without reading the text again, so that a long text is
/// not read once for each of its fields.
#[derive(Clone, Debug)]
pub struct Newlines(Vec<usize>);

impl Newlines {
    /// Finds the ends of the lines of `text`.
    pub fn of(text: &str) -> Newlines {
        Newlines(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    /// Returns the line of a byte, counted from 1; of one past the end, the last line.
    pub fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|end| *end < offset) + 1
    }
}

/// Returns true if a text cannot be a description in TOML but may be a table: none of its first lines is a heading, a
/// key with a value or a comment.
pub fn looks_like_a_table(text: &str) -> bool {
    /// Lines that are looked at.
    const HEAD: usize = 20;
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).take(HEAD).peekable();
    lines.peek().is_some() && !lines.any(|line| line.starts_with('[') || line.contains('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_with_its_line_feed() {
        let lines = Newlines::of("a\n\nb");
        assert_eq!([0, 1, 2, 3, 4, 100].map(|offset| lines.line(offset)), [1, 1, 2, 3, 3, 3]);
    }

    #[test]
    fn a_table_has_no_fields() {
        assert!(looks_like_a_table("# t,op\n1,R,0,8\n2,W,8,8\n"));
        assert!(!looks_like_a_table("title = 1\n") && !looks_like_a_table("[flash]\n") && !looks_like_a_table("\n# only this\n"));
    }
}
