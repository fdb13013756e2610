//! Error correction as a pure model: the errors that a code corrects, and its cost in spare area and time.
//!
//! [`binomial`] has exact tails of the number of errors in a codeword, [`sample`] draws that number, and [`quantile`]
//! returns it for a quantile that belongs to the stored data. [`block_code`]
//! is the contract of every code, [`bch`] and [`ldpc`] are the codes, and [`code`] is the one that a description names;
//! [`codec`] has real encoders and decoders of them. [`latency`] is the time of encoding and decoding, [`engine`] the
//! sharing of decoders by the codewords of a page. [`plan`] is the recovery of a read whose decoding fails, with its
//! cost; [`regulator`] is the cost of finer sensing and finer programming.

pub mod bch;
pub mod binomial;
pub mod block_code;
pub mod code;
pub mod codec;
pub mod engine;
pub mod latency;
pub mod ldpc;
pub mod plan;
pub mod quantile;
pub mod regulator;
pub mod sample;
mod units;

pub use bch::Bch;
pub use block_code::{BlockCode, Layout, Prepared};
pub use code::Code;
pub use engine::{Engine, Pipeline};
pub use latency::{BchDecoder, Decoder, Encoder, LdpcDecoder, StageTimes};
pub use ldpc::Ldpc;
pub use plan::{Attempt, Expected, Hold, Plan, RetryPlace, expected};
pub use quantile::Quantiles;
pub use regulator::Regulator;
pub use sample::Binomial;
