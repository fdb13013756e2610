//! Memory that a simulated drive takes in its starting state, known before it is built.

use crate::Description;
use crate::description::PreconditionMethod;
use kit::{Bytes, Problems, words};

/// Bytes of the records of a block that holds data, and of a die: measured as the resident memory of drives with eight
/// million blocks and 65,536 dies, within 5 %.
const BLOCK_BYTES: u64 = 64;
const DIE_BYTES: u64 = 4096;

impl Description {
    /// Returns the memory that the tables of the drive take in its starting state \[bytes\]. They grow as data is
    /// overwritten: by up to 8 bytes and a bit for each unit.
    ///
    /// The map of a drive that was filled or brought to a steady state is computed; random overwrites are entered.
    pub fn starting_bytes(&self) -> u64 {
        let geometry = self.geometry();
        let (units, blocks) = (geometry.unit_count(), geometry.block_count as u64);
        let of_dies = DIE_BYTES * geometry.die_count as u64;
        let filled = of_dies + BLOCK_BYTES * blocks + units / 8;
        let has_map = self.ftl.translation.build(()).lacks().is_none();
        // The firmware's tables are made from those of the drive, and copied into its DRAM.
        let firmware = 2 * self.firmware_dram();
        firmware
            + match self.state.precondition {
                _ if !has_map => of_dies + BLOCK_BYTES * blocks,
                PreconditionMethod::None => of_dies,
                PreconditionMethod::Fill | PreconditionMethod::Steady => filled,
                PreconditionMethod::Random => filled + 4 * units + 4 * self.ftl.user_units(&geometry),
            }
    }

    /// Refuses a drive called `name` whose tables take more than `most` bytes in the starting state.
    pub(crate) fn check_memory(&self, name: &str, most: Option<u64>) -> Result<(), Problems> {
        let needed = self.starting_bytes();
        let Some(most) = most.filter(|most| needed > *most) else { return Ok(()) };
        let [needed, most] = [needed, most].map(|bytes| words::size(Bytes(bytes)));
        let expected = "expected a smaller drive (`ssdlab shrink` makes one), or a higher limit";
        Err(Problems::one("--max-memory", format!("the tables of {name} take {needed}, and the limit is {most}: {expected}")))
    }
}

#[cfg(test)]
mod tests {
    use crate::Description;

    #[test]
    fn a_drive_whose_tables_are_larger_than_the_limit_is_refused() {
        let read = |sets: &[String]| Description::read("test.toml", "base = \"tlc-1tb\"", sets).expect("a preset");
        let bytes = |state: &str| read(&[format!("state.precondition={state}")]).starting_bytes();
        assert!(bytes("none") < bytes("fill") && bytes("fill") < bytes("random"));
        // 4 bytes for each of 270,532,608 places, and about as much for the units.
        assert!((2_000_000_000..2_300_000_000).contains(&bytes("random")), "{}", bytes("random"));
        let filled = read(&["state.precondition=fill".to_owned()]);
        assert!(filled.check_memory("big", Some(filled.starting_bytes())).is_ok());
        assert!(filled.check_memory("big", None).is_ok());
        let told = filled.check_memory("big", Some(1 << 20)).expect_err("too large").to_string();
        assert_eq!(
            told,
            "--max-memory: the tables of big take 33 MiB, and the limit is 1 MiB: expected a smaller drive (`ssdlab shrink` \
             makes one), or a higher limit"
        );
    }
}
