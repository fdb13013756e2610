//! Real codecs: BCH and LDPC codes that encode, decode, and can be counted failing on a channel.
//!
//! A channel ([`channel`]) says what a flash read reports of a stored bit; [`measure`] sends codewords over it and counts; [`limit`] reads from the
//! counts the error rate that a code bears.
//!
//! Own code, since no crate served. `ldpc-toolbox` 0.12 has no normalised min-sum and draws a command line's dependencies in; four of its layered
//! decoders made 2 to 165 codewords of 36352 bits a second at an error rate of 4e-3, where ours makes 3000 on the same core. `labrador-ldpc` knows the
//! CCSDS codes alone, of rate 4/5 at most. `bchlib` wraps C under the GPL, for fields up to GF(2^15); `reed-solomon` and its kin are byte codes;
//! `comnum-fec` was not in our registry.

pub mod bch;
pub mod channel;
mod circulant;
pub mod field;
pub mod ldpc;
pub mod limit;
pub mod measure;
mod protograph;

pub use bch::BchCodec;
pub use channel::Channel;
pub use ldpc::{LdpcCodec, LdpcShape};
pub use measure::{Codec, Counted};

/// A decoder saw that a word has more errors than it corrects; it left the word as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure;

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("more errors than the code corrects")
    }
}

impl std::error::Error for Failure {}

/// What became of a codeword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It came out as it was stored.
    Corrected,
    /// The decoder gave up: the error is known to the drive.
    Detected,
    /// The decoder found another codeword: the error is silent.
    Wrong,
}
