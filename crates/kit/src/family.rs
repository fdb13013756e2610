//! Registration of the members of a family, by one line for each member.
//!
//! A *family* is a folder with a contract (`mod.rs`, an object-safe trait) and one file per member. A member's module
//! holds `Params` (a serde struct: its parameters, with bounds in the schema; its doc comment is the member's entry in
//! the reference) and `build(&Params, context)`, which returns the member as a boxed trait object. From the member's
//! one line in the family's list follow its configuration variant (`kind = "name"`), the error that lists valid names,
//! and its entry in the schema. A conformance suite iterates over the `NAMES` that [`family!`] declares and thus covers
//! every member.

/// Declares a family's configuration enum from the list of its members.
///
/// Syntax: `Config: context => dyn Contract { Variant = module, ... }`. A member's configuration name is its module's
/// name. A description gives a member as its bare name (`victim = "greedy"`) or as a table
/// (`victim = { kind = "d_choices", d = 8 }`).
#[macro_export]
macro_rules! family {
    (
        $(#[$doc:meta])*
        $config:ident: $context:ty => $contract:ty { $($variant:ident = $module:ident),+ $(,)? }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        // In the schema, a variant without a comment takes the comment of its parameters.
        #[allow(missing_docs)]
        pub enum $config {
            $($variant($module::Params)),+
        }

        impl $config {
            /// Names of all members, in the order of the list.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($module)),+];

            /// Returns the member called `name` with default parameters, if there is one.
            pub fn named(name: &str) -> Option<Self> {
                $(if name == stringify!($module) {
                    return Some($config::$variant(Default::default()));
                })+
                None
            }

            /// Returns this member's name.
            pub fn name(&self) -> &'static str {
                match self { $($config::$variant(_) => stringify!($module)),+ }
            }

            /// Builds this member.
            pub fn build(&self, context: $context) -> Box<$contract> {
                match self { $($config::$variant(params) => $module::build(params, context)),+ }
            }
        }
    };
}
