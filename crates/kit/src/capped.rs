//! Readers with a bound: what a user names may be a device, a pipe or a bomb of compressed data, which has no end.

use std::io::{BufRead, Error, ErrorKind, Read, Result};

/// Largest text that is read whole: a description, a job or a table \[bytes\]. Real ones are far smaller.
pub const TEXT_MAX: u64 = 16 << 20;

/// Reads all bytes; an error if there are more than `most`.
pub fn read(from: impl Read, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_long(most));
    }
    Ok(bytes)
}

/// Reads a whole text (UTF-8); an error if it has more than [`TEXT_MAX`] bytes.
pub fn read_text(from: impl Read) -> Result<String> {
    let bytes = read(from, TEXT_MAX)?;
    String::from_utf8(bytes)
        .map_err(|error| Error::new(ErrorKind::InvalidData, format!("not UTF-8 text: {}", error.utf8_error())))
}

/// Reads a file that a description names: a text like [`read_text`], or an executable (ELF), whose bytes become the
/// characters U+0000 to U+00FF.
pub fn read_named(from: impl Read) -> Result<String> {
    let bytes = read(from, TEXT_MAX)?;
    if bytes.starts_with(b"\x7fELF") {
        return Ok(bytes.into_iter().map(char::from).collect());
    }
    read_text(&bytes[..])
}

/// Appends a line with its end to `into`; an error above `most` bytes. Returns their number, 0 at the end.
pub fn read_line(from: &mut dyn BufRead, most: u64, into: &mut String) -> Result<usize> {
    let count = from.take(most.saturating_add(1)).read_line(into)?;
    if count as u64 > most { Err(too_long(most)) } else { Ok(count) }
}

fn too_long(most: u64) -> Error {
    let size = crate::words::size(crate::Bytes(most));
    Error::new(ErrorKind::InvalidData, format!("more than {size}: expected a smaller one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_an_executable_are_characters() {
        let file = b"\x7fELF\x00\x80\xff";
        let bytes: Vec<u32> = read_named(&file[..]).expect("an executable").chars().map(u32::from).collect();
        assert_eq!(bytes, file.map(u32::from));
        assert_eq!(read_named("größer".as_bytes()).expect("a text"), "größer");
        assert!(read_named(&file[4..]).is_err());
    }

    #[test]
    fn no_more_is_read_than_the_limit() {
        assert_eq!(read(&b"12345"[..], 5).ok().as_deref(), Some(&b"12345"[..]));
        let told = read(std::io::repeat(0), 1 << 20).expect_err("there is no end").to_string();
        assert_eq!(told, "more than 1 MiB: expected a smaller one");
        assert!(read_text(std::io::repeat(b'x')).is_err());
        let mut line = String::new();
        assert_eq!(read_line(&mut &b"ab\ncd"[..], 3, &mut line).ok(), Some(3));
        assert!(read_line(&mut std::io::BufReader::new(std::io::repeat(b'x')), 100, &mut line).is_err());
        assert!(line.len() < 200, "{}", line.len());
    }
}
