//! Memory of what is in flight.

use controller::transaction::Transaction;
use host::Command;
use kit::cause::CAUSE_COUNT;
use kit::{Account, Operation};

/// A command, its account and its place in the controller. The account is the larger part: 8 B for each cause, and
/// the instant up to which it is charged. The aim is 320 B. A part of a read in the flash has an operation and an
/// account of its own.
#[test]
fn a_command_in_flight_takes_little_memory() {
    let account = 8 * (CAUSE_COUNT + 1);
    assert_eq!(size_of::<Command>(), 64);
    assert_eq!(size_of::<Account>(), account);
    assert_eq!(size_of::<Transaction>(), 48);
    assert_eq!(size_of::<Operation>(), 36);
    let in_flight = size_of::<Command>() + size_of::<Account>() + size_of::<Transaction>();
    assert!(in_flight <= 384, "{in_flight} B");
}
