//! Analyses of traces, on small traces written by hand.

use proptest::prelude::*;
use workload::analysis::{self, GapsQuestion, Retention, RetentionQuestion};
use workload::{Input, Options};

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;

/// Record of a trace as (time \[ns\], device, first sector, sectors, operation), a table of its own.
type Row = (u64, u32, u64, u64, char);

fn input(rows: &[Row]) -> Input {
    let line = |(at, device, sector, sectors, op): &Row| format!("{at} {device} {sector} {sectors} {op}\n");
    Input::text("t", rows.iter().map(line).collect::<String>())
}

fn columns() -> Options {
    let columns = "time=1:ns,stream=2,offset=3:sector,size=4:sector,op=5,sep=blank".to_owned();
    Options { columns: Some(columns), ..Options::default() }
}

fn by(grain: &str) -> RetentionQuestion {
    RetentionQuestion { by: grain.to_owned() }
}

fn retention(rows: &[Row], options: &Options, grain: &str) -> Retention {
    analysis::retention(&input(rows), options, &by(grain)).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Returns the writes by class: below a minute, an hour, a day, a week, longer, unknown.
fn classes(found: &Retention) -> Vec<u64> {
    found.classes.iter().map(|class| class.writes).collect()
}

const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Two pages. The first page is written whole at time 0, its sectors 2 and 3 again after 59 s, and all of it after an
/// hour less 1 ns. The last sector of the second page is written after a minute and trimmed half a day later. A read
/// ends the trace after nine days.
const LIVES: &[Row] = &[
    (0, 0, 0, 8, 'W'),
    (59 * SECOND, 0, 2, 2, 'W'),
    (MINUTE, 0, 15, 1, 'W'),
    (HOUR - 1, 0, 0, 8, 'W'),
    (MINUTE + DAY / 2, 0, 15, 9, 'D'),
    (9 * DAY, 0, 0, 8, 'R'),
];

#[test]
fn sectors_live_from_their_write_to_their_end() {
    let found = retention(LIVES, &columns(), "sector");
    assert_eq!((found.write_requests, found.writes, found.span_ns, found.grain_bytes), (4, 8 + 2 + 1 + 8, 9 * DAY, 512));
    // Of the first eight sectors, two lived 59 s and six an hour less 1 ns. The two written again lived almost an hour,
    // the trimmed one half a day.
    assert_eq!(classes(&found), [2, 8, 1, 0, 0, 8]);
    assert_eq!((found.ends.overwritten, found.ends.trimmed, found.ends.unknown), (10, 1, 8));
    assert_eq!(found.classes[2].trimmed, 1);
    let ended: Vec<u64> = found.marks.iter().map(|mark| mark.ended).collect();
    assert_eq!(ended, [2, 10, 11, 11]);
    // Data that did not end was observed for longer than all data that did: the estimate equals the plain share.
    for mark in &found.marks {
        let estimate = mark.kaplan_meier.expect("watched for nine days");
        assert!((estimate.share - mark.share.expect("writes")).abs() < 1e-12 && estimate.share_max - estimate.share < 1e-12);
    }
    assert_eq!((found.longest.ns, found.longest.ended), (9 * DAY - HOUR + 1, 11));
    assert_eq!(found.pages_alive, 1);
}

#[test]
fn units_are_written_whole_and_trimmed_whole() {
    let found = retention(LIVES, &columns(), "unit");
    // The trim covers one sector of the second unit, which lives on.
    assert_eq!((found.writes, classes(&found)), (4, vec![1, 1, 0, 0, 0, 2]));
    assert_eq!((found.ends.trimmed, found.pages_alive, found.grain_bytes), (0, 2, 4096));
    let whole = retention(&[(0, 0, 8, 8, 'W'), (5, 0, 0, 24, 'D'), (9, 0, 0, 1, 'R')], &columns(), "unit");
    assert_eq!((whole.ends.trimmed, whole.ends.unknown, whole.pages_alive), (1, 0, 0));
}

#[test]
fn a_mark_is_the_least_that_is_no_longer_below_it() {
    for (life, class) in [(MINUTE - 1, 0), (MINUTE, 1), (HOUR, 2), (DAY, 3), (7 * DAY - 1, 3), (7 * DAY, 4)] {
        let found = retention(&[(0, 0, 0, 8, 'W'), (life, 0, 0, 8, 'W')], &columns(), "unit");
        assert_eq!(found.classes[class].writes, 1, "{life}");
    }
}

#[test]
fn nothing_is_said_of_times_for_which_nothing_was_watched() {
    let rows = [(0, 0, 0, 8, 'W'), (30 * SECOND, 0, 8, 8, 'W'), (2 * MINUTE, 0, 0, 8, 'W'), (3 * MINUTE, 0, 0, 1, 'R')];
    let found = retention(&rows, &columns(), "unit");
    // One life ended after 2 min; two were observed for 2.5 min and 1 min. No data was observed for an hour.
    let estimates: Vec<Option<f64>> = found.marks.iter().map(|mark| mark.kaplan_meier.map(|one| one.share)).collect();
    assert_eq!(estimates, [Some(0.0), None, None, None]);
    // Of the two lives observed for two minutes, one ended; the life observed for one minute is left out.
    assert_eq!(found.longest.kaplan_meier.map(|one| one.share), Some(0.5));
    assert_eq!(found.longest.share, Some(1.0 / 3.0));
}

#[test]
fn repetition_and_scale_of_time_are_heeded() {
    let rows = [(0, 0, 0, 8, 'W'), (50 * SECOND, 0, 8, 8, 'W')];
    let twice = Options { repeat: 2, ..columns() };
    // The second pass begins one mean gap after the end of the first.
    let found = retention(&rows, &twice, "unit");
    assert_eq!((found.span_ns, classes(&found)), (150 * SECOND, vec![0, 2, 0, 0, 0, 2]));
    let faster = Options { repeat: 2, time_scale: 4.0, ..columns() };
    let found = retention(&rows, &faster, "unit");
    assert_eq!((found.span_ns, classes(&found)), (37_500_000_000, vec![2, 0, 0, 0, 0, 2]));
    let sliced = Options { slice: Some("1..".into()), ..columns() };
    assert_eq!(retention(&rows, &sliced, "unit").writes, 1);
}

#[test]
fn streams_have_their_own_addresses_unless_they_are_overlaid() {
    let rows = [(0, 0, 0, 8, 'W'), (SECOND, 1, 0, 8, 'W'), (2 * SECOND, 1, 0, 8, 'W')];
    assert_eq!(classes(&retention(&rows, &columns(), "unit")), [1, 0, 0, 0, 0, 2]);
    let overlaid = Options { layout: "overlay".into(), ..columns() };
    assert_eq!(classes(&retention(&rows, &overlaid, "unit")), [2, 0, 0, 0, 0, 1]);
    let one = Options { streams: vec!["0".into()], ..columns() };
    assert_eq!(classes(&retention(&rows, &one, "unit")), [0, 0, 0, 0, 0, 1]);
}

#[test]
fn what_was_misread_is_forgotten() {
    // There are so many issued requests that the first lines look like a trace without queued ones; then requests are
    // queued.
    let issued = (0..2000).map(|i| format!("  8,16 5 {i} {}.000000000 1 D W {} + 8 [x]\n", i / 100, 8 * (i % 40)));
    let queued = (0..3).map(|i| format!("  8,16 5 {i} {}.000000000 1 Q {} 80 + 8 [x]\n", 30 + i, ["W", "W", "R"][i]));
    let input = Input::text("t", issued.chain(queued).collect::<String>());
    let found = analysis::retention(&input, &Options::default(), &by("unit")).expect("reads");
    assert_eq!((found.write_requests, found.writes, found.span_ns), (2, 2, 2 * SECOND));
    assert_eq!(classes(&found), [1, 0, 0, 0, 0, 1]);
    let access = analysis::access(&input, &Options::default()).expect("reads");
    assert_eq!((access.reads, access.writes, access.pages), (1, 2, 1));
    let gaps = analysis::gaps(&input, &Options::default(), &GapsQuestion::default()).expect("reads");
    assert_eq!((gaps.requests, gaps.span_ns, gaps.longest_ns), (2, SECOND, SECOND));
}

#[test]
fn who_accesses_what_by_hand() {
    // Page 0 is read three times, page 1 is written twice, page 2 is written and read; the last read touches pages 2
    // and 3.
    let rows = [
        (0, 0, 0, 8, 'R'),
        (1, 0, 8, 8, 'W'),
        (2, 0, 0, 8, 'R'),
        (3, 0, 16, 8, 'W'),
        (4, 0, 9, 3, 'W'),
        (5, 0, 0, 800, 'D'),
        (6, 0, 0, 1, 'R'),
        (7, 0, 16, 16, 'R'),
    ];
    let found = analysis::access(&input(&rows), &columns()).expect("reads");
    assert_eq!((found.reads, found.writes, found.read_accesses, found.write_accesses), (4, 3, 5, 3));
    let shares: Vec<_> = found
        .classes
        .iter()
        .map(|class| (class.class.as_str(), class.pages, class.read_accesses, class.write_accesses, class.read_request_share))
        .collect();
    // The last read touches the interleaved page and a page that is only read.
    assert_eq!(
        shares,
        [("read_only", 2, 4, 0, Some(3.5 / 4.0)), ("write_only", 1, 0, 2, Some(0.0)), ("interleaved", 1, 1, 1, Some(0.5 / 4.0))]
    );
    let accuracy: Vec<f64> = found.windows.iter().map(|window| window.accuracy.expect("accesses") * 8.0).collect();
    // With a window of one access, no access to the interleaved page is classified correctly; with two, its read is.
    assert_eq!(accuracy, [6.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0]);
    assert_eq!((found.windows[1].full_share, found.windows[1].full_accuracy), (Some(4.0 / 8.0), Some(1.0)));
    assert_eq!((found.windows[3].full_share, found.windows[3].full_accuracy), (Some(0.0), None));
}

#[test]
fn access_needs_no_times_and_the_others_do() {
    let log = "fio version 2 iolog\n/f add\n/f open\n/f write 0 4096\n/f read 0 4096\n/f close\n";
    let input = Input::text("f.log", log);
    assert_eq!(analysis::access(&input, &Options::default()).expect("reads").pages, 1);
    let refused = [
        analysis::retention(&input, &Options::default(), &RetentionQuestion::default()).map(drop),
        analysis::gaps(&input, &Options::default(), &GapsQuestion::default()).map(drop),
    ];
    for refusal in refused {
        let text = refusal.expect_err("no times").to_string();
        assert!(text.starts_with("f.log: iolog2 records no times: expected a trace with times"), "{text}");
    }
}

#[test]
fn gaps_are_those_of_the_requests_asked_for() {
    let rows = [
        (0, 0, 0, 8, 'W'),
        (40_000, 0, 0, 8, 'R'),
        (40_625, 0, 0, 8, 'W'),
        (81_251, 0, 8, 8, 'W'),
        (81_251, 0, 0, 8, 'D'),
        (162_502, 0, 0, 8, 'W'),
        (162_502, 0, 16, 8, 'W'),
    ];
    let ask = |question: GapsQuestion, options: &Options| analysis::gaps(&input(&rows), options, &question).expect("reads");
    let bins = |question, options: &Options| -> Vec<u64> { ask(question, options).bins.iter().map(|bin| bin.gaps).collect() };
    // 1300 us over 32 dies are 40,625 ns. The gap of 40,625 ns is within it, 40,626 ns is not, 81,251 ns is more than
    // twice it, and 0 is within it.
    let found = ask(GapsQuestion::default(), &columns());
    assert_eq!((found.requests, found.gaps, found.effective_ns, found.span_ns), (5, 4, 40_625.0, 162_502));
    assert_eq!((found.mean_ns, found.longest_ns), (Some(162_502.0 / 4.0), 81_251));
    assert_eq!(bins(GapsQuestion::default(), &columns()), [2, 1, 1]);
    let names: Vec<(&str, u64)> = found.histogram.iter().map(|bin| (bin.name.as_str(), bin.gaps)).collect();
    assert_eq!(names, [("t = 0", 1), ("1/2 < t <= 1", 1), ("1 < t <= 2", 1), ("2 < t <= 4", 1)]);
    let all = GapsQuestion { of: Some("all".into()), ..GapsQuestion::default() };
    assert_eq!(bins(all, &columns()), [3, 1, 1]);
    let reads = GapsQuestion { of: Some("read".into()), ..GapsQuestion::default() };
    assert_eq!(bins(reads, &columns()), [0, 0, 0]);
    let faster = Options { time_scale: 100.0, ..columns() };
    assert_eq!(bins(GapsQuestion::default(), &faster), [4, 0, 0]);
    let shorter = GapsQuestion { effective: Some("400ns".into()), ..GapsQuestion::default() };
    assert_eq!(bins(shorter, &faster), [1, 2, 1]);
}

#[test]
fn bad_questions_are_refused() {
    let rows = [(0, 0, 0, 8, 'W')];
    let refused = |what: &str, question: &str, options: &Options| {
        analysis::ask(what, &input(&rows), options, question).map(drop).expect_err("must be refused").to_string()
    };
    assert!(refused("retention", r#"{"by": "unti"}"#, &columns()).contains("did you mean `unit`?"));
    assert!(refused("retention", r#"{"grain": "unit"}"#, &columns()).contains("unknown field `grain`"));
    assert!(refused("access", r#"{"window": 2}"#, &columns()).contains("unknown field `window`"));
    assert!(refused("retenion", "{}", &columns()).contains("did you mean `retention`?"));
    assert!(refused("gaps", r#"{"dies": -1}"#, &columns()).contains("question: "));
    for address in ["wrap", "scale"] {
        let options = Options { address: address.into(), ..columns() };
        assert!(refused("access", "{}", &options).starts_with(&format!("address: `{address}` needs a drive")));
    }
    let eternal = Options { repeat: u32::MAX, ..columns() };
    let slow = Options { time_scale: 1e-12, ..columns() };
    let rows = [(0, 0, 0, 8, 'W'), (1 << 60, 0, 0, 8, 'W')];
    for options in [eternal, slow] {
        let text = analysis::ask("retention", &input(&rows), &options, "{}").map(drop).expect_err("584 years").to_string();
        assert!(text.contains("do not fit 292 years"), "{text}");
    }
}

/// Computes lifetimes by their definition \[ns\], each with true if the data ended; by sector or unit.
fn naive(rows: &[Row], grain: u64) -> Vec<(u64, bool)> {
    let (mut there, mut found) = (std::collections::BTreeMap::new(), Vec::new());
    for (at, device, sector, sectors, op) in rows {
        let (start, end) = (sector * 512, (sector + sectors) * 512);
        let range = if *op == 'W' { start / grain..end.div_ceil(grain) } else { start.div_ceil(grain)..end / grain };
        for place in range.filter(|_| *op != 'R') {
            let key = (*device, place);
            let before: Option<u64> = if *op == 'W' { there.insert(key, *at) } else { there.remove(&key) };
            found.extend(before.map(|from| (at - from, true)));
        }
    }
    let last = rows.last().map_or(0, |row| row.0);
    found.extend(there.values().map(|from| (last - from, false)));
    found
}

proptest! {
    #[test]
    fn random_traces_live_as_by_the_definition(
        seeds in prop::collection::vec((0u64..40 * HOUR, 0u32..3, 0u64..200, 1u64..40, 0usize..5), 1..80),
    ) {
        let mut at = 0;
        let rows: Vec<Row> = seeds
            .iter()
            .enumerate()
            .map(|(index, (gap, device, sector, sectors, op))| {
                at += if index == 0 { 0 } else { *gap };
                (at, *device, *sector, *sectors, ['W', 'W', 'W', 'D', 'R'][*op])
            })
            .collect();
        for (grain, bytes) in [("sector", 512), ("unit", 4096)] {
            let found = retention(&rows, &columns(), grain);
            let lives = naive(&rows, bytes);
            let edges = [0, MINUTE, HOUR, DAY, 7 * DAY, u64::MAX];
            let mut expected: Vec<u64> = edges
                .windows(2)
                .map(|pair| lives.iter().filter(|(ns, ended)| *ended && (pair[0]..pair[1]).contains(ns)).count() as u64)
                .collect();
            expected.push(lives.iter().filter(|(_, ended)| !ended).count() as u64);
            prop_assert_eq!(classes(&found), expected);
            prop_assert_eq!(found.longest.ns, lives.iter().map(|(ns, _)| *ns).max().unwrap_or(0));
            for octave in &found.histogram {
                let inside = |ns: u64| (octave.from_ns..octave.to_ns).contains(&ns);
                let ended = lives.iter().filter(|(ns, ended)| *ended && inside(*ns)).count() as u64;
                let unknown = lives.iter().filter(|(ns, ended)| !ended && inside(*ns)).count() as u64;
                prop_assert_eq!((octave.ends.overwritten + octave.ends.trimmed, octave.ends.unknown), (ended, unknown));
            }
            prop_assert_eq!(found.histogram.iter().map(|octave| {
                octave.ends.overwritten + octave.ends.trimmed + octave.ends.unknown
            }).sum::<u64>(), found.writes);
            for point in &found.curve {
                let ended = lives.iter().filter(|(ns, ended)| *ended && *ns < point.ns).count() as f64;
                prop_assert!((point.ended - ended / found.writes as f64).abs() < 1e-12);
                prop_assert!(point.survives <= 1.0 - point.ended + 1e-12);
            }
        }
    }
}

/// Time and memory follow the number of requests: trims of a petabyte, and thousands of streams that are touched once
/// each, near the largest address that has an index.
#[test]
fn analyses_do_not_follow_the_lengths_of_trims_or_the_addresses() {
    let mut text = String::from("fio version 3 iolog\n");
    for stream in 0..20_000u64 {
        text += &format!("{stream} f{stream} write {} 4096\n{stream} f{stream} trim 0 1000000000000000\n", (8u64 << 40) - 4096);
    }
    let input = Input::text("t", text);
    let info = workload::trace::info(&input, &Options::default()).expect("reads");
    assert_eq!((info.streams, info.footprint_bytes), (20_000, 20_000 * 4096));
    let found =
        workload::analysis::retention(&input, &Options::default(), &RetentionQuestion { by: "unit".into() }).expect("watched");
    assert_eq!((found.writes, found.ends.trimmed), (20_000, 20_000));
    // An index of all regions up to that address would be 2 MiB for each stream.
    assert!(found.state_bytes < 64 << 20, "{}", found.state_bytes);
}
