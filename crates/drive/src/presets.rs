//! The drives that come with the laboratory.

/// A preset: a description with a name.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Its text, each number with its standing.
    pub text: &'static str,
}

impl Preset {
    /// What it is, in one line.
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

/// The preset called `name`.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// The names of all presets.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
}
