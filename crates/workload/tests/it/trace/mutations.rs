//! Random bytes, mutated samples and random cuts of the stream.

use super::*;
use proptest::prelude::*;
use workload::trace;
use workload::trace::format::{self, Format};

/// Generates samples with bytes changed, inserted, removed and repeated.
fn mutated() -> impl Strategy<Value = (usize, Vec<u8>)> {
    let members = format::all().count();
    (0..members, proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 0..12)).prop_map(
        |(member, edits)| {
            let sample = format::all().nth(member).map_or("", Format::sample);
            let mut bytes = sample.as_bytes().to_vec();
            for (at, byte, kind) in edits {
                if bytes.is_empty() {
                    break;
                }
                let at = at.index(bytes.len());
                match kind {
                    0 => bytes[at] = byte,
                    1 => bytes.insert(at, byte),
                    2 => drop(bytes.remove(at)),
                    _ => bytes.extend_from_within(at..),
                }
            }
            (member, bytes)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let input = Input::text("f", bytes);
        let _ = open(&input, GIB, &Options::default());
        for member in format::all() {
            let _ = trace::info(&input, &Options { format: Some(member.name().into()), ..Options::default() });
        }
    }

    #[test]
    fn no_mutation_makes_it_panic((member, bytes) in mutated()) {
        let name = format::all().nth(member).map(|format| format.name().to_owned());
        let input = Input::text("f", bytes);
        for (format, address) in [(name, "compact"), (None, "wrap")] {
            let options = Options { format, address: address.into(), ..Options::default() };
            if let Ok(mut workload) = open(&input, GIB, &options) {
                for job in &mut workload.jobs {
                    let mut out = Vec::new();
                    prop_assert!(job.source.fill(&mut out, 10_000).is_ok());
                    prop_assert!(out.iter().all(|request| request.offset.0 + request.length.0 <= GIB));
                    prop_assert!(out.iter().all(|request| (request.offset.0 | request.length.0) % 512 == 0));
                }
            }
        }
    }

    #[test]
    fn no_description_of_columns_makes_it_panic(text in "[a-z0-9=:,/;]{0,40}") {
        let _ = trace::info(&Input::text("f", "1,2,3,4\n"), &Options { columns: Some(text), ..Options::default() });
    }

    #[test]
    fn the_stream_does_not_depend_on_how_it_is_cut(
        times in proptest::collection::vec(0..50_000u64, 1..60),
        cuts in proptest::collection::vec(1..7usize, 1..40),
        address in prop::sample::select(vec!["wrap", "scale", "compact"]),
        repeat in 1..4u32,
    ) {
        let line = |(index, time): (usize, &u64)| {
            let (stream, sector, sectors, read) = (index % 3, (time * 7919) % 40_000, 1 + time % 99, index % 2);
            format!("{} {stream} {sector} {sectors} {read}\n", time * 1000)
        };
        let text: String = times.iter().enumerate().map(line).collect();
        let options = with(|options| (options.address, options.repeat) = (address.into(), repeat));
        let input = Input::text("f", text);
        let whole = all(&mut open(&input, 50 * MIB, &options).expect("a valid trace"));
        let mut workload = open(&input, 50 * MIB, &options).expect("a valid trace");
        let (mut cut, mut sizes) = (Vec::new(), cuts.iter().cycle());
        loop {
            let (before, size) = (cut.len(), *sizes.next().expect("a cycle has no end"));
            workload.jobs[0].source.fill(&mut cut, size).expect("a valid trace");
            prop_assert!(cut.len() - before <= size);
            if cut.len() == before {
                break;
            }
        }
        prop_assert!(whole.windows(2).all(|pair| pair[0].at <= pair[1].at));
        prop_assert_eq!(cut, whole);
    }
}
