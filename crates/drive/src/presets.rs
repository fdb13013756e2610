//! Presets: the drives that come with ssdlab.

/// A preset: a description with a name.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name of the preset.
    pub name: &'static str,
    /// Text of the description, each number with its standing.
    pub text: &'static str,
}

impl Preset {
    /// Returns the preset's title, a one-line description.
    pub fn title(&self) -> &'static str {
        let line = self.text.lines().find_map(|line| line.strip_prefix("title = \""));
        line.and_then(|line| line.strip_suffix('"')).unwrap_or(self.name)
    }
}

macro_rules! presets {
    ($($name:literal),+ $(,)?) => {
        /// All presets.
        pub const PRESETS: &[Preset] = &[$(Preset { name: $name, text: include_str!(concat!("../../../presets/", $name, ".toml")) }),+];
    };
}

presets![
    "ofwar-64g",
    "rr-106g",
    "rr-ecc-106g",
    "agcr-64g",
    "dpes-mobile",
    "dpes-enterprise",
    "tlc-1tb",
    "qlc-2tb",
    "ideal-512g",
    "tiny"
];

/// Returns the preset called `name`.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// Returns the names of all presets.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
}
