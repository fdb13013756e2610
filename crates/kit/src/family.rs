//! Registering the members of a family: one line a member.
//!
//! A *family* is a folder with a contract (`mod.rs`, an object-safe trait) and one file per member. A member's module holds
//! `Params` (a serde struct: its parameters, with bounds in the schema; its doc comment is the member's entry in the
//! reference) and `build(&Params, context)`, which makes the boxed contract. From the member's one line in the family's list come its
//! configuration variant (`kind = "name"`), the error that lists valid names, and its entry in the schema. A
//! conformance suite walks [`family!`]'s `NAMES` and so runs over every member.

/// Declares a family's configuration enum from the list of its members.
///
/// `Config: context => dyn Contract { Variant = module, ... }`; a member's configuration name is its module's name. In a description a
/// member stands as its bare name (`victim = "greedy"`) or as a table (`victim = { kind = "d_choices", d = 8 }`).
#[macro_export]
macro_rules! family {
    (
        $(#[$doc:meta])*
        $config:ident: $context:ty => $contract:ty { $($variant:ident = $module:ident),+ $(,)? }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        // A variant without a comment takes the comment of its parameters into the schema.
        #[allow(missing_docs)]
        pub enum $config {
            $($variant($module::Params)),+
        }

        impl $config {
            /// The names of all members, in the order of the list.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($module)),+];

            /// The member called `name` with default parameters.
            pub fn named(name: &str) -> Option<Self> {
                $(if name == stringify!($module) {
                    return Some($config::$variant(Default::default()));
                })+
                None
            }

            /// This member's name.
            pub fn name(&self) -> &'static str {
                match self { $($config::$variant(_) => stringify!($module)),+ }
            }

            /// The member itself.
            pub fn build(&self, context: $context) -> Box<$contract> {
                match self { $($config::$variant(params) => $module::build(params, context)),+ }
            }
        }
    };
}
