//! Drives with contents: data through pointers, losses of power.

use crate::door::{CAUSES, Door, POWER_LOSSES, READ, Setup, block};
use ssdlab::abi::*;
use ssdlab::{Options, RecoveryRecord, Status};
use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

fn buffered() -> Setup {
    let sets = ["buffer.policy=write_back", "buffer.capacity=256KiB", "buffer.flush_after=1ms"];
    let sets = sets.iter().map(|set| (*set).to_owned()).collect();
    Setup { sets, flags: CAUSES | POWER_LOSSES, contents: 1 << 24, ..Setup::preset("tiny") }
}

fn write(drive: &Door, offset: u64, data: &[u8], flags: u32) -> Status {
    // SAFETY: the drive lives, and the data has as many bytes. The same holds below.
    unsafe { ssdlab_write(drive.0, offset, data.as_ptr().cast(), data.len() as u64, flags, null_mut(), null_mut()) }
}

fn read(drive: &Door, offset: u64, length: usize) -> Result<(Vec<u8>, u64, Vec<u64>), Status> {
    let (mut data, mut latency, mut causes) = (vec![0xee; length], 0, vec![0; ssdlab_cause_count() as usize]);
    let to = data.as_mut_ptr().cast();
    // SAFETY: see above; there is a number for each cause.
    match unsafe { ssdlab_read(drive.0, offset, to, length as u64, &mut latency, causes.as_mut_ptr()) } {
        Status::Ok => Ok((data, latency, causes)),
        status => Err(status),
    }
}

#[test]
fn what_was_written_is_read_and_its_causes_add_up() {
    let drive = buffered().create().unwrap_or_else(|(_, text)| panic!("{text}"));
    let data: Vec<u8> = (0..16_384u32).map(|byte| (byte / 512) as u8 + 1).collect();
    assert_eq!(write(&drive, 4096, &data, 0), Status::Ok);
    let (found, latency, causes) = read(&drive, 4096, data.len()).expect("it is there");
    assert_eq!((found, causes.iter().sum()), (data.clone(), latency));
    assert_eq!(read(&drive, 4096 + 512, 512).expect("a part").0, data[512..1024]);
    // SAFETY: the drive lives.
    unsafe {
        assert_eq!(ssdlab_flush(drive.0, null_mut(), null_mut()), Status::Ok);
        assert_eq!(ssdlab_trim(drive.0, 4096, 4096, null_mut(), null_mut()), Status::Ok);
    }
    assert_eq!(read(&drive, 4096, 4096).expect("it was trimmed").0, [0; 4096]);
    assert_eq!(read(&drive, 8192, 4096).expect("it was not").0, data[4096..8192]);
}

#[test]
fn after_a_loss_of_power_durable_data_is_there() {
    let drive = buffered().create().unwrap_or_else(|(_, text)| panic!("{text}"));
    assert_eq!((write(&drive, 0, &[1; 4096], 1), write(&drive, 0, &[2; 4096], 0)), (Status::Ok, Status::Ok));
    // SAFETY: the drive lives.
    assert_eq!(unsafe { ssdlab_cut(drive.0, 0) }, Status::Ok);
    assert_eq!((read(&drive, 0, 4096), write(&drive, 0, &[3; 4096], 0)), (Err(Status::PowerLost), Status::PowerLost));
    let mut found = RecoveryRecord::default();
    // SAFETY: as above.
    assert_eq!(unsafe { ssdlab_recover(drive.0, 1_000_000, &mut found) }, Status::Ok);
    assert_eq!((found.durable_lost, found.volatile_lost), (0, 1));
    assert!(found.recovery > 0 && found.recovery_reads > 0);
    assert_eq!(read(&drive, 0, 4096).expect("it is durable").0, [1; 4096]);
}

/// Whatever the event of a write at which power is lost, also that of its completion: the call fails, and the drive can
/// be used once it has recovered.
#[test]
fn a_call_in_which_power_is_lost_leaves_no_completion() {
    let mut cuts = 0;
    for events in 1.. {
        let drive = buffered().create().unwrap_or_else(|(_, text)| panic!("{text}"));
        // SAFETY: the drive lives.
        assert_eq!(unsafe { ssdlab_cut(drive.0, events) }, Status::Ok);
        match write(&drive, 0, &[1; 4096], 1) {
            Status::Ok => break,
            status => assert_eq!(status, Status::PowerLost, "after {events} events"),
        }
        // SAFETY: as above; the figures are not asked for.
        assert_eq!(unsafe { ssdlab_recover(drive.0, 1_000_000, null_mut()) }, Status::Ok);
        let found = read(&drive, 0, 4096).unwrap_or_else(|status| panic!("after {events} events: {status:?}")).0;
        assert!(found == [0; 4096] || found == [1; 4096], "after {events} events");
        cuts += 1;
    }
    assert!(cuts > 1, "{cuts}");
}

#[test]
fn what_cannot_be_done_is_said() {
    let plain = Setup::preset("tiny").create().unwrap_or_else(|(_, text)| panic!("{text}"));
    assert_eq!(write(&plain, 0, &[1; 512], 0), Status::Unsupported);
    // SAFETY: the drive lives.
    assert_eq!(unsafe { ssdlab_cut(plain.0, 0) }, Status::Unsupported);
    let small = Setup { contents: 4096, flags: 0, ..buffered() }.create().unwrap_or_else(|(_, text)| panic!("{text}"));
    assert_eq!((write(&small, 0, &[1; 4096], 0), write(&small, 8192, &[2; 4096], 0)), (Status::Ok, Status::Full));
    assert_eq!((write(&small, 1, &[1; 512], 0), write(&small, 0, &[1; 512], 2)), (Status::Range, Status::Argument));
    assert_eq!(read(&small, 0, 512), Err(Status::Unsupported), "no causes");
    // SAFETY: the drive lives; there is no data.
    assert_eq!(unsafe { ssdlab_write(small.0, 0, null(), 512, 0, null_mut(), null_mut()) }, Status::Null);
    small.submit(&block(READ, 1, 0), small.now());
    assert_eq!(write(&small, 0, &[1; 4096], 0), Status::InFlight);
}

#[test]
fn contents_are_in_a_file_of_the_folder_that_is_named() {
    let folder = CString::new(std::env::temp_dir().into_os_string().into_encoded_bytes()).expect("a path");
    let create = |folder: &CStr| {
        let (contents, contents_folder) = (1 << 24, folder.as_ptr());
        let options = Options { preset: c"tiny".as_ptr(), contents, contents_folder, ..Options::new() };
        let mut drive = Door(null_mut());
        // SAFETY: the options are valid.
        let status = unsafe { ssdlab_create(&options, &mut drive.0, null_mut()) };
        (status, drive)
    };
    let (status, drive) = create(&folder);
    assert_eq!((status, write(&drive, 4096, &[7; 4096], 0)), (Status::Ok, Status::Ok));
    assert_eq!(create(c"nowhere/at/all").0, Status::Unsupported);
}

#[test]
fn options_of_an_older_header_have_no_contents() {
    let preset = c"tiny";
    let size = std::mem::offset_of!(Options, contents) as u64;
    let options = Options { size, preset: preset.as_ptr(), contents: u64::MAX, ..Options::new() };
    let mut drive = Door(null_mut());
    // SAFETY: the options are longer than they say.
    assert_eq!(unsafe { ssdlab_create(&options, &mut drive.0, null_mut()) }, Status::Ok);
    assert_eq!(write(&drive, 0, &[1; 512], 0), Status::Unsupported);
}
