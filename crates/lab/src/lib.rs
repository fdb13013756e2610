//! The cell laboratory: kinds of flash under names, each with its code; what one asks of them; and the modes that follow.
//!
//! [`parts`] are the named kinds of flash, [`part`] what each of them is, [`parameter`] how its numbers are known. [`question`] is what one may ask, in JSON,
//! and [`answer`] has one file for each question.

pub mod answer;
pub mod parameter;
pub mod part;
pub mod parts;
pub mod question;
pub mod reference;

pub use answer::ask;
pub use answer::code::limits_of as measured_code;
pub use part::Part;
