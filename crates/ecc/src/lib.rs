//! Error correction as a pure model: what a code corrects, and what it costs in spare area and time.
//!
//! [`binomial`] has exact tails of the number of errors in a codeword, [`sample`] draws that number. [`code`] is what every code is asked;
//! [`bch`] and [`ldpc`] are the codes, [`codec`] real encoders and decoders of them. [`latency`] is what coding and decoding take, [`engine`] how a page's codewords share decoders.
//! [`plan`] is what a read does, and costs, when decoding fails; [`regulator`] what finer sensing and finer programming cost.

pub mod bch;
pub mod binomial;
pub mod code;
pub mod codec;
pub mod engine;
pub mod latency;
pub mod ldpc;
pub mod plan;
pub mod regulator;
pub mod sample;
mod units;

pub use bch::Bch;
pub use code::{BlockCode, Code, Layout, Prepared};
pub use engine::{Engine, Pipeline};
pub use latency::{BchDecoder, Decoder, Encoder, LdpcDecoder, StageTimes};
pub use ldpc::Ldpc;
pub use plan::{Attempt, Expected, Plan, expected};
pub use regulator::Regulator;
pub use sample::Binomial;
