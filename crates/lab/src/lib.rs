//! The cell laboratory: named kinds of flash, each with its code, and the questions that can be asked about them, such
//! as the write modes that they allow.
//!
//! [`parts`] are the named kinds of flash, [`part`] is the contents of each, and [`parameter`] is how its numbers are
//! known. [`question`] defines the questions, in JSON, and [`answer`] has one file for each question.

pub mod answer;
mod code_file;
mod measurements;
mod notation;
pub mod parameter;
pub mod part;
pub mod parts;
pub mod question;
pub mod reference;

pub use answer::ask;
pub use code_file::limits_of as measured_code;
pub use measurements::measured_rows;
pub use part::Part;
