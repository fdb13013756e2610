//! The builder of an embedded drive: from the text of a description to a drive in its starting state.

use super::contents::Kept;
use super::{EmbedError, EmbedErrorKind, EmbeddedDrive, Origin};
use crate::description::{File, no_file};
use crate::drive::{Drive, Identity};
use crate::options::Setup;
use crate::session::{DriveText, Files, Progress, ProgressMeter, Session, Start, UNREAD, description, prepare, too_large};
use crate::totals::Streams;
use kit::Problems;
use std::io::Read;
use std::path::PathBuf;

/// Makes an [`EmbeddedDrive`] from the text of a description.
#[derive(Clone, Debug)]
pub struct Builder {
    drive: DriveText,
    setup: Setup,
    host: String,
    streams: Vec<String>,
    open_loop: bool,
    causes: bool,
    history: bool,
    contents: Option<u64>,
    contents_folder: Option<PathBuf>,
    power_losses: bool,
}

impl Builder {
    /// Takes the text of a description (TOML). `name` stands for it in messages and results.
    pub fn new(name: &str, text: &str) -> Builder {
        Builder {
            drive: DriveText::new(name, text),
            setup: Setup::default(),
            host: "host".to_owned(),
            streams: Vec::new(),
            open_loop: false,
            causes: false,
            history: false,
            contents: None,
            contents_folder: None,
            power_losses: false,
        }
    }

    /// Takes a preset.
    pub fn preset(name: &str) -> Result<Builder, EmbedError> {
        let known = crate::presets::PRESETS.iter().map(|preset| preset.name);
        let unknown = || Problems::from(kit::Problem::unknown("preset", "preset", name, known));
        let preset = crate::presets::find(name).ok_or_else(unknown)?;
        Ok(Builder::new(preset.name, preset.text))
    }

    /// Sets the seed of all random streams; without it 1.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Builder {
        self.setup.seed = seed;
        self
    }

    /// Adds an override `KEY=VALUE` of a field of the description.
    #[must_use]
    pub fn set(mut self, set: &str) -> Builder {
        self.setup.set.push(set.to_owned());
        self
    }

    /// Sets the mode policy in place of the description's.
    #[must_use]
    pub fn policy(mut self, policy: &str) -> Builder {
        self.setup.policy = Some(policy.to_owned());
        self
    }

    /// Sets the starting state (`none`, `fill`, `random`, `steady`) in place of the description's.
    #[must_use]
    pub fn precondition(mut self, method: &str) -> Builder {
        self.setup.precondition = Some(method.to_owned());
        self
    }

    /// Sets the name that the summary gives the source of the commands; without it `host`.
    #[must_use]
    pub fn host(mut self, name: &str) -> Builder {
        self.host = name.to_owned();
        self
    }

    /// Names the streams of the commands. Two or more are measured apart.
    #[must_use]
    pub fn streams(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Builder {
        self.streams = names.into_iter().map(Into::into).collect();
        self
    }

    /// Declares that the host submits at instants of its own, whatever the drive does. The summary then says whether
    /// the drive was saturated.
    #[must_use]
    pub fn open_loop(mut self) -> Builder {
        self.open_loop = true;
        self
    }

    /// Requests the latency of each completed command by cause ([`EmbeddedDrive::causes`]).
    #[must_use]
    pub fn causes(mut self) -> Builder {
        self.causes = true;
        self
    }

    /// Requests the digest of the physical history ([`EmbeddedDrive::history`]).
    #[must_use]
    pub fn history(mut self) -> Builder {
        self.history = true;
        self
    }

    /// Requests that the drive keeps its contents, in at most `limit` bytes beside its tables: writes come with their
    /// data ([`EmbeddedDrive::submit_write`]), and reads return it ([`super::Taken::data`]). It must have a page map.
    /// The data of the starting state is zeroes.
    #[must_use]
    pub fn contents(mut self, limit: u64) -> Builder {
        self.contents = Some(limit);
        self
    }

    /// Requests that the contents ([`Builder::contents`]) are in a file without a name in this folder, which is gone
    /// with the drive; without a folder they are in memory. [`EmbeddedDrive::after_power_loss`] is refused then.
    #[must_use]
    pub fn contents_folder(mut self, folder: impl Into<PathBuf>) -> Builder {
        self.contents_folder = Some(folder.into());
        self
    }

    /// Prepares the drive for losses of power ([`EmbeddedDrive::lose_power`]). It must have a page map.
    #[must_use]
    pub fn power_losses(mut self) -> Builder {
        self.power_losses = true;
        self
    }

    /// Makes the drive in its starting state. Its description names no file.
    pub fn build(&self) -> Result<EmbeddedDrive, EmbedError> {
        self.build_with(&no_file)
    }

    /// Makes the drive in its starting state. `file` returns the texts of the files that its description names.
    pub fn build_with(&self, file: File<'_>) -> Result<EmbeddedDrive, EmbedError> {
        self.start(None, file)
    }

    /// Makes the drive and loads the state of a saved one ([`EmbeddedDrive::save`]). Under the same description, policy
    /// and seed it continues exactly; otherwise it adopts the saved data, and [`EmbeddedDrive::notes`] says why.
    /// `name` stands for the saved drive in messages.
    pub fn load(&self, name: &str, from: &mut dyn Read, file: File<'_>) -> Result<EmbeddedDrive, EmbedError> {
        if self.setup.precondition.is_some() {
            let text = "precondition: the state is that of the saved drive: expected only one of the two";
            return Err(EmbedError::new(EmbedErrorKind::Description, text));
        }
        self.start(Some((name.to_owned(), Box::new(from))), file)
    }

    fn start(&self, load: Option<(String, Box<dyn Read + '_>)>, file: File<'_>) -> Result<EmbeddedDrive, EmbedError> {
        let description = description(&self.drive, &self.setup, file)?;
        let seed = self.setup.seed;
        let mut drive = Drive::new(&description, seed).map_err(|error| too_large(&self.drive.name, &error))?;
        if drive.translator().map().is_some_and(|map| map.policy().wants_future()) {
            let text = format!(
                "policy.kind = \"{}\": needs the future commands, which are not known here: expected another policy",
                description.policy.kind
            );
            return Err(EmbedError::new(EmbedErrorKind::Unsupported, text));
        }
        let asked = [(self.contents.is_some(), "contents"), (self.power_losses, "losses of power")];
        if let Some((_, what)) = asked.iter().find(|(is_asked, _)| *is_asked && drive.translator().map().is_none()) {
            let text = format!("ftl.translation: {what} need a map of the data: expected \"page_map\"");
            return Err(EmbedError::new(EmbedErrorKind::Unsupported, text));
        }
        if self.power_losses {
            drive.keep_metadata().map_err(|error| too_large(&self.drive.name, &error))?;
        }
        let identity = Identity::of(&description, &description.policy.kind, seed);
        let is_load = load.is_some();
        let mut files = Files { load, ..Files::default() };
        let (session, mut go_on) = (Session::default(), |_: &Progress| true);
        let mut start =
            prepare(&mut drive, &description, &identity, &mut files, &session, &mut ProgressMeter::new(&mut go_on))
                .map_err(|problems| if is_load { EmbedError::new(EmbedErrorKind::Saved, problems) } else { problems.into() })?;
        let kept = self.kept(&drive, &start, &mut files)?;
        if kept.is_some() {
            start.notes.retain(|note| !note.ends_with(UNREAD));
        }
        drive.journal().enable(kept.is_some());
        start.begin(&mut drive);
        drive.record(true);
        drive.statistics.log = self.causes.then(Vec::new);
        drive.statistics.streams = Streams::of(self.streams.clone());
        if self.history {
            drive.history().enable(false);
        }
        let origin = Origin {
            drive: self.drive.name.clone(),
            host: self.host.clone(),
            seed,
            open_loop: self.open_loop,
            keeps_history: self.history,
            description,
            identity,
            start,
        };
        let mut made = EmbeddedDrive::new(drive, origin, kept);
        made.follow();
        Ok(made)
    }

    /// Returns the contents of the drive, if it is to keep any: zeroes, or those that follow the saved drive in its
    /// file.
    fn kept(&self, drive: &Drive, start: &Start, files: &mut Files<'_>) -> Result<Option<Kept>, EmbedError> {
        let Some(limit) = self.contents else { return Ok(None) };
        let file = self.contents_folder.as_deref().map(|folder| {
            let cannot = |error| format!("{}: {error}: expected a folder for the contents", folder.display());
            tempfile::tempfile_in(folder).map_err(|error| EmbedError::new(EmbedErrorKind::Unsupported, cannot(error)))
        });
        let zeroes = Kept::of(drive, limit, file.transpose()?);
        let Some((name, from)) = &mut files.load else { return Ok(Some(zeroes)) };
        if !start.has_contents {
            let text = format!("{name}: a saved drive without its contents: expected one that was saved with them");
            return Err(EmbedError::new(EmbedErrorKind::Saved, text));
        }
        let kept = zeroes.load(drive, from);
        kept.map(Some).map_err(|complaint| EmbedError::new(EmbedErrorKind::Saved, format!("{name}: {complaint}")))
    }
}
