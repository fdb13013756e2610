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
        /// All presets: modern drives, then those of published works, then those for bounds and tests. A preset stands
        /// behind its base.
        pub const PRESETS: &[Preset] = &[$(Preset { name: $name, text: include_str!(concat!("../../../presets/", $name, ".toml")) }),+];
    };
}

presets![
    "tlc-1tb",
    "qlc-2tb",
    "pcie4-tlc-2tb",
    "pcie4-tlc-ldpc-2tb",
    "pcie4-dramless-1tb",
    "pcie5-enterprise-8tb",
    "pcie4-power-2tb",
    "zns-1tb",
    "open-host-2tb",
    "open-mppa-2tb",
    "ofwar-64g",
    "ofwar-disksim",
    "disksim-reference",
    "rr-106g",
    "rr-ecc-106g",
    "agcr-64g",
    "dpes-mobile",
    "dpes-enterprise",
    "vertex-120g",
    "nvram-card-512g",
    "ssdpower-16x8",
    "explorer-c1",
    "explorer-c2",
    "explorer-c3",
    "explorer-c4",
    "explorer-c5",
    "explorer-c6",
    "explorer-c7",
    "explorer-c8",
    "explorer-c9",
    "explorer-c10",
    "qos-8x8-tlc",
    "retry-c1",
    "retry-c2",
    "retry-c3",
    "retry-c4",
    "ldpc-a",
    "ldpc-b",
    "ldpc-c",
    "ldpc-d",
    "rram-512g-800",
    "rram-512g",
    "ideal-512g",
    "tiny"
];

/// Returns the preset called `name`.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}
