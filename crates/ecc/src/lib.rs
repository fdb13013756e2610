//! Error correction as a pure model: what a code corrects, and what it costs in spare area and time.
//!
//! [`binomial`] has exact tails of the number of errors in a codeword, [`bch`] the codes and the latency of their decoders.

pub mod bch;
pub mod binomial;

pub use bch::{Bch, BchDecoder};
