//! The registration of the members of the family, by one line for each.

use kit::Term;

/// Contract of the parameters of a member.
pub trait Member {
    /// Returns the write modes that the member requires, each with the parameter that names it (empty if the name is
    /// fixed). The `normal` mode always exists.
    fn modes(&self) -> Vec<(&'static str, &str)> {
        Vec::new()
    }

    /// Returns what is wrong with parameters that are each within their range, with the name of the parameter at fault.
    fn problems(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Returns true if the member chooses among modes; false for a control that uses only the default ones.
    fn chooses_modes(&self) -> bool {
        true
    }

    /// Returns true if the member needs the future accesses of one run of the workload.
    fn needs_future(&self) -> bool {
        false
    }

    /// Scales what the member counts in blocks of a die, for a drive whose dies have `share` of the blocks.
    fn resize(&mut self, _share: f64) {}

    /// Returns the definitions of the member's statistics (`ModePolicy::stats`), in their order.
    fn statistics() -> Vec<Term> {
        Vec::new()
    }
}

/// Contract of the parameters of a member that is made of other members.
pub trait Compound {
    /// Returns the names of the other members.
    fn members(&self) -> &[String];
}

/// Declares the family: the parameters of every member and the choice of one by `[policy] kind = "..."`. Each member's
/// parameters are in a table of its name, so that several policies can be compared on one description.
macro_rules! policy_family {
    ($($module:ident),+ ; over all: $($whole:ident),+ $(,)?) => {
        /// The `[policy]` section of a drive's description.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct PolicyConfig {
            /// Name of the member that runs the drive.
            #[serde(default = "default_kind")]
            pub kind: String,
            $(
                #[doc = concat!("Parameters of `", stringify!($module), "`.")]
                #[serde(default)]
                pub $module: $module::Params,
            )+
            $(
                #[doc = concat!("Parameters of `", stringify!($whole), "`.")]
                #[serde(default)]
                pub $whole: $whole::Params,
            )+
        }

        impl Default for PolicyConfig {
            fn default() -> Self {
                PolicyConfig {
                    kind: default_kind(),
                    $($module: $module::Params::default(),)+
                    $($whole: $whole::Params::default()),+
                }
            }
        }

        impl PolicyConfig {
            /// Names of all members.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($module),)+ $(stringify!($whole)),+];

            /// Builds the chosen member; `None` for a name that is not listed.
            pub fn build(&self, facts: &Facts) -> Option<Box<dyn ModePolicy>> {
                $(if self.kind == stringify!($whole) {
                    return $whole::build(self, facts);
                })+
                self.member(&self.kind, facts)
            }

            /// Builds a member by its name, unless it is made of other members.
            pub fn member(&self, name: &str, facts: &Facts) -> Option<Box<dyn ModePolicy>> {
                $(if name == stringify!($module) {
                    return Some($module::build(&self.$module, facts));
                })+
                None
            }

            /// Returns the write modes that the chosen member requires: the field that names each (empty if the name is
            /// fixed), and the name.
            pub fn modes(&self) -> Vec<(String, String)> {
                self.modes_of(&self.kind)
            }

            /// Returns the write modes that a member requires, like [`modes`](Self::modes), but by its name.
            pub fn modes_of(&self, kind: &str) -> Vec<(String, String)> {
                let modes = match kind {
                    $(kind if kind == stringify!($module) => self.$module.modes(),)+
                    _ => Vec::new(),
                };
                let field = |field: &str| if field.is_empty() { String::new() } else { format!("policy.{kind}.{field}") };
                modes.into_iter().map(|(at, name)| (field(at), name.to_owned())).collect()
            }

            /// Returns the names of the members that the chosen member is made of; `None` if it is not made of others.
            pub fn members(&self) -> Option<&[String]> {
                match self.kind.as_str() {
                    $(kind if kind == stringify!($whole) => Some(self.$whole.members()),)+
                    _ => None,
                }
            }

            /// Returns true if the chosen member chooses among modes; false for a control that uses only the default
            /// ones.
            pub fn chooses_modes(&self) -> bool {
                match self.kind.as_str() {
                    $(kind if kind == stringify!($module) => self.$module.chooses_modes(),)+
                    _ => true,
                }
            }

            /// Returns the name of the member that needs the future accesses of one run of the workload: the chosen
            /// one, or one that it is made of.
            pub fn needs_future(&self) -> Option<&str> {
                let needs_it = |kind: &str| match kind {
                    $(kind if kind == stringify!($module) => self.$module.needs_future(),)+
                    _ => false,
                };
                let parts = self.members().unwrap_or_default().iter().map(String::as_str);
                std::iter::once(self.kind.as_str()).chain(parts).find(|kind| needs_it(kind))
            }

            /// Scales what the chosen member counts in blocks of a die, for a drive whose dies have `share` of the
            /// blocks.
            pub fn resize(&mut self, share: f64) {
                match self.kind.as_str() {
                    $(kind if kind == stringify!($module) => self.$module.resize(share),)+
                    _ => {}
                }
            }

            /// Returns what is wrong with the parameters of the members, chosen or not, with the field of each problem.
            pub fn problems(&self) -> Vec<(String, String)> {
                let mut found = Vec::new();
                $(for (field, what) in self.$module.problems() {
                    found.push((format!("policy.{}.{field}", stringify!($module)), what));
                })+
                found
            }

            /// Returns each member's name and its one-line description (its `SUMMARY`).
            pub fn summaries() -> Vec<(&'static str, &'static str)> {
                vec![$((stringify!($module), $module::SUMMARY),)+ $((stringify!($whole), $whole::SUMMARY)),+]
            }

            /// Returns each member's name and the definitions of its statistics. A member made of others has theirs,
            /// each after the name of its member and a dot.
            pub fn statistics() -> Vec<(&'static str, Vec<kit::Term>)> {
                vec![$((stringify!($module), $module::Params::statistics()),)+]
            }
        }
    };
}

pub(super) use policy_family;
