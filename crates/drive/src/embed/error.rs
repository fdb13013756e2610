//! Errors of an embedded drive.

use kit::Problems;
use std::fmt;

/// Kind of an error of an embedded drive. After each of them the drive is as it was before the call, unless the kind
/// says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbedErrorKind {
    /// The description, an override or an option has errors; there is no drive.
    Description,
    /// The saved drive cannot be loaded; there is no drive.
    Saved,
    /// The range of a command is not in the drive, is empty, or is not a multiple of sectors.
    Range,
    /// The number of a queue is not below the number of queues.
    Queue,
    /// An instant lies in the past, or beyond the end of the simulated clock.
    Time,
    /// The call needs a drive without commands in flight.
    InFlight,
    /// The drive is worn out, and many instants have passed without a completion: commands in flight may never
    /// complete. Time has passed up to [`super::EmbeddedDrive::now`].
    WornOut,
    /// The translation layer cannot go on, or the file of the contents cannot be read or written. Time has passed up to
    /// [`super::EmbeddedDrive::now`].
    Failed,
    /// The drive lacks what the call needs, such as a page map for saving.
    Unsupported,
    /// The saved drive could not be written.
    Write,
    /// The drive has lost power, and must recover first. Commands in flight are gone.
    PowerLost,
    /// The watch of the drive's steps has ended with an error. Time has passed.
    Stopped,
    /// The contents of the drive would take more than their limit.
    Full,
}

/// An error of an embedded drive: its kind, and a text that says what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedError {
    /// Kind of the error.
    pub kind: EmbedErrorKind,
    /// Text for people: one line for each problem.
    pub text: String,
}

impl EmbedError {
    /// Returns an error.
    pub fn new(kind: EmbedErrorKind, text: impl fmt::Display) -> EmbedError {
        EmbedError { kind, text: text.to_string() }
    }
}

impl fmt::Display for EmbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for EmbedError {}

impl From<Problems> for EmbedError {
    fn from(problems: Problems) -> EmbedError {
        EmbedError::new(EmbedErrorKind::Description, problems)
    }
}
