//! The cell laboratory.
pub mod parameter;
pub mod part;
pub mod parts;
