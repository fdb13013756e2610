//! Conformance tests, over every member of the family.

use super::*;
use workload::trace;
use workload::trace::format::{self, Writer};

#[test]
fn every_sample_is_recognised_and_read() {
    for member in format::all() {
        let input = Input::text("sample", member.sample());
        let info = trace::info(&input, &Options::default()).unwrap_or_else(|problems| panic!("{}: {problems}", member.name()));
        assert_eq!(info.format, member.name(), "candidates {:?}", info.format_candidates);
        assert!(!info.format_candidates.contains(&info.format));
        let mut workload = open(&input, 1 << 50, &overlaid()).unwrap_or_else(|problems| panic!("{}: {problems}", member.name()));
        let requests = all(&mut workload);
        let found: Vec<_> = requests
            .iter()
            .map(|r| (r.at.0, r.op, r.offset.0, r.length.0, info.by_stream[usize::from(r.stream)].stream.as_str()))
            .collect();
        assert_eq!(found, member.expected(), "{}", member.name());
        let counted = info.requests + info.trims + info.flushes;
        assert_eq!(counted, requests.len() as u64, "{}", member.name());
    }
}

#[test]
fn every_member_is_found_by_its_names() {
    let mut names = Vec::new();
    for member in format::all() {
        names.extend(std::iter::once(member.name()).chain(member.aliases().iter().copied()));
        assert!(format::named(&member.name().to_uppercase()).is_some_and(|found| found.name() == member.name()));
        assert!(member.about().ends_with('.') && member.name().to_lowercase() == member.name());
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "two formats share a name: {names:?}");
    let options = Options { format: Some("mrs".into()), ..Options::default() };
    assert!(complaint(trace::info(&Input::text("t", "1"), &options)).contains("did you mean `msr`?"));
}

/// The page for users has a line for each format.
#[test]
fn every_member_is_described() {
    let page = include_str!("../../../../../docs/reference/traces.md");
    for member in format::all() {
        let rows = page.lines().filter(|line| line.starts_with(&format!("| `{}` | ", member.name())));
        assert_eq!(rows.count(), 1, "docs/reference/traces.md: {}", member.name());
    }
}

#[test]
fn every_member_names_the_line_that_is_wrong() {
    for member in format::all() {
        let lines: Vec<&str> = member.sample().lines().collect();
        let good = member.sample().trim_end_matches(['\r', '\n']).to_owned() + "\n";
        for bad in ["\u{1}\u{2}\u{3}", "no such line, 1 2 3 at all; not here", "9"] {
            let options = Options { format: Some(member.name().into()), ..Options::default() };
            let text = complaint(trace::info(&Input::text("dir/f.txt", format!("{good}{bad}\n{good}")), &options));
            let place = format!("dir/f.txt:{}: ", lines.len() + 1);
            assert!(text.starts_with(&place), "{}: {bad:?}: {text}", member.name());
            assert!(text.contains("found ") && text.contains("expected "), "{}: {text}", member.name());
        }
        // A format is recognised although one of its lines is wrong, and the message names that line.
        let text = complaint(trace::info(&Input::text("f", format!("{good}{bad}\n", bad = "9")), &Options::default()));
        assert!(text.starts_with(&format!("f:{}: ", lines.len() + 1)), "{}: {text}", member.name());
    }
}

#[test]
fn every_member_refuses_its_sample_cut_off_within_a_line_or_reads_less() {
    for member in format::all() {
        let options = Options { format: Some(member.name().into()), ..Options::default() };
        for end in 0..member.sample().len() {
            let result = trace::info(&Input::text("f", &member.sample()[..end]), &options);
            if let Ok(info) = result {
                assert!(
                    (info.requests + info.trims + info.flushes) as usize <= member.expected().len(),
                    "{} at {end}",
                    member.name()
                );
            }
        }
    }
}

#[test]
fn every_member_reads_blank_lines_and_either_line_end() {
    for member in format::all() {
        let options = Options { format: Some(member.name().into()), ..overlaid() };
        let plain = member.sample().replace("\r\n", "\n");
        let read = |text: String| replay_far(&text, &options);
        let expected = read(plain.clone());
        assert_eq!(read(plain.replace('\n', "\r\n")), expected, "{}", member.name());
        assert_eq!(read(format!("{plain}\n  \n\n")), expected, "{}", member.name());
        assert_eq!(read(plain.trim_end_matches('\n').to_owned()), expected, "{}", member.name());
    }
}

fn replay_far(text: &str, options: &Options) -> Vec<Request> {
    let mut workload = open(&Input::text("t", text), 1 << 50, options).unwrap_or_else(|problems| panic!("{problems}"));
    all(&mut workload)
}

#[test]
fn every_writer_is_read_back() {
    // Times that the clocks of all formats can represent; sectors that are not whole pages.
    let text = "0 0 8 16 1\n1000000 1 20 1 0\n5000000000 0 7 9 1\n";
    let options = Options { format: Some("ssdsim".into()), ..Options::default() };
    let input = Input::text("t", text);
    let mut written = 0;
    for member in format::all() {
        let mut out = Vec::new();
        if matches!(member.writer(), Writer::No) {
            let message = complaint(trace::convert(&input, &options, member.name(), &mut out));
            assert!(message.contains("can be read but not written") && out.is_empty(), "{message}");
            continue;
        }
        written += 1;
        trace::convert(&input, &options, member.name(), &mut out)
            .unwrap_or_else(|problems| panic!("{}: {problems}", member.name()));
        let back = Options { format: Some(member.name().into()), ..overlaid() };
        let requests = replay_far(std::str::from_utf8(&out).expect("text"), &back);
        let mut expected = replay_far(text, &Options { format: Some("ssdsim".into()), ..overlaid() });
        if !member.timed() {
            expected.iter_mut().for_each(|request| request.at = kit::SimTime::ZERO);
        }
        assert_eq!(requests, expected, "{}", member.name());
    }
    assert!(written >= 8, "{written}");
}
