//! Recorded times.

use super::*;
use workload::trace;

/// Returns lines of the `ssdsim` format: writes of 8 sectors at `times` \[ns\], at consecutive addresses.
fn at_times(times: &[u64]) -> String {
    times.iter().enumerate().map(|(index, time)| format!("{time} 0 {} 8 0\n", index * 8)).collect()
}

#[test]
fn late_records_are_put_in_order_and_counted() {
    let text = at_times(&[1_000_000, 3_000_000, 2_000_000, 2_000_000, 500_000, 4_000_000]);
    let info = trace::info(&Input::text("f", text.clone()), &Options::default()).expect("reads");
    assert_eq!((info.reordered, info.span_ns, info.longest_gap_ns), (3, 3_500_000, 1_000_000));
    let requests = replay(&text, &Options::default()).expect("reads");
    let found: Vec<(u64, u64)> = requests.iter().map(|request| (request.at.0, request.offset.0 / 4096)).collect();
    assert_eq!(found, [(0, 4), (500_000, 0), (1_500_000, 2), (1_500_000, 3), (2_500_000, 1), (3_500_000, 5)]);
    let strict = Options { strict_time: true, ..Options::default() };
    let message = complaint(replay(&text, &strict));
    assert_eq!(message, "t:3: time goes back by 0.001000000 s: refused by `strict_time`");
}

#[test]
fn the_window_holds_65536_records_and_not_one_more() {
    let late_after = |count: u64| {
        let times: Vec<u64> = (1..=count).map(|n| n * 1_000_000).chain([500_000]).collect();
        trace::info(&Input::text("f", at_times(&times)), &Options::default())
    };
    assert_eq!(late_after(65_536).expect("within the window").reordered, 1);
    let message = complaint(late_after(65_537));
    assert!(
        message.starts_with("f:65538: time goes back by 65.536500000 s, further than the reorder window of 65536 records"),
        "{message}"
    );
}

#[test]
fn a_clock_that_is_set_goes_on_from_where_it_was() {
    let line = |time: &str| format!("0\t\t8\t\t4096\t\t1\t\t{time}\t\t0.0\t\t0.0\t\t0.0\n");
    let text: String = ["1.5", "2.0", "1398396748.5", "1398396748.7", "2.1", "1398396749.5"].map(line).concat();
    let info = trace::info(&Input::text("f", text.clone()), &Options::default()).expect("reads");
    assert_eq!((info.format.as_str(), info.clock_sets, info.span_ns), ("bio", 1, 1_500_000_000));
    let times: Vec<u64> =
        replay(&text, &Options::default()).expect("reads").iter().map(|request| request.at.0 / 1_000_000).collect();
    assert_eq!(times, [0, 500, 500, 600, 700, 1500]);
    let strict = Options { strict_time: true, ..Options::default() };
    assert!(complaint(replay(&text, &strict)).starts_with("t:3: the recording clock jumps here, to 1398396748.500000000 s"));
}
