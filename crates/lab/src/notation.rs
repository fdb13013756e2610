//! Codes in the notation of questions: `bch-110/4KiB` or `ldpc-448B/4KiB`.

use ecc::{Bch, Code, Ldpc};
use kit::Bytes;

/// Parses a code written as `bch-110/4KiB` or `ldpc-448B/4KiB`.
pub fn parse_code(text: &str) -> Result<Code, String> {
    let expected =
        || format!("`{text}`: expected a code such as bch-110/4KiB (errors corrected / data) or ldpc-448B/4KiB (parity / data)");
    let (kind, rest) = text.split_once('-').ok_or_else(expected)?;
    let (strength, data) = rest.split_once('/').ok_or_else(expected)?;
    let data_bits = data.parse::<Bytes>().map_err(|complaint| format!("`{data}`: {complaint}"))?.0.saturating_mul(8);
    match kind {
        "bch" => Ok(Code::Bch(Bch { data_bits, t: strength.parse().map_err(|_| expected())? })),
        "ldpc" => {
            let parity_bits =
                strength.parse::<Bytes>().map_err(|complaint| format!("`{strength}`: {complaint}"))?.0.saturating_mul(8);
            Ok(Code::Ldpc(Ldpc { data_bits, parity_bits, ..Ldpc::default() }))
        }
        _ => Err(expected()),
    }
}

/// Returns a code in the notation of questions.
pub(crate) fn written(code: &Code) -> String {
    let size = |bits: u64| Bytes(bits / 8).to_string();
    match code {
        Code::Bch(bch) => format!("bch-{}/{}", bch.t, size(bch.data_bits)),
        Code::Ldpc(ldpc) => format!("ldpc-{}/{}", size(ldpc.parity_bits), size(ldpc.data_bits)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_as_they_are_written() {
        assert_eq!(parse_code("bch-110/4KiB"), Ok(Code::Bch(Bch { data_bits: 32_768, t: 110 })));
        assert!(matches!(parse_code("ldpc-448B/4KiB"), Ok(Code::Ldpc(code)) if code.parity_bits == 3584));
        for bad in ["", "bch", "bch-x/4KiB", "bch-3/4", "turbo-3/4KiB", "ldpc-4/4KiB"] {
            assert!(parse_code(bad).is_err(), "{bad}");
        }
    }
}
