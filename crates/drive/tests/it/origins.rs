//! Every value of a summary comes from a model, or is `null`.

use crate::common::session;
use drive::options::RunOptions;
use drive::presets::PRESETS;
use drive::session::{Files, RunRequest};
use drive::summary::origin::{ORIGINS, Origin, origin, walk};
use serde_json::Value;
use std::collections::BTreeSet;
use workload::Input;

const JOB: &str = "[job]\nrw=randrw\nbs=4k\nnorandommap=1\niodepth=8\nio_size=64m\nnumber_ios=2000\n";

/// Returns the summaries of a short run of every preset with few and small blocks, and of further runs that fill the
/// remaining values.
fn summaries() -> Vec<(String, Value)> {
    let run = |name: &str, text: &str, sets: &[&str], job: &str| {
        let outcome = session(text, sets, None, job).unwrap_or_else(|problems| panic!("{name}: {problems}"));
        (name.to_owned(), outcome.summary)
    };
    let small = [
        "flash.blocks_per_plane=128",
        "flash.pages_per_block=96",
        "ftl.overprovisioning=0.3",
        "state.precondition=fill",
        "policy.kind=baseline",
    ];
    let mut all: Vec<(String, Value)> = PRESETS.iter().map(|preset| run(preset.name, preset.text, &small, JOB)).collect();
    let tiny = "base = \"tiny\"";
    let errors = ["state.precondition=fill", "ecc.errors={kind=\"constant\",rates=[3e-3]}", "ecc.plan=\"read_retry\""];
    all.push(run("errors", tiny, &errors, JOB));
    all.push(run("page buffers", tiny, &["controller.page_buffers={count=1}"], JOB));
    all.push(run("steady", tiny, &["state.precondition=steady"], &JOB.replace("2000", "20000")));
    all.push(run("buffer", tiny, &["buffer.policy=write_back", "buffer.capacity=\"1MiB\"", "buffer.flush_after=\"1ms\""], JOB));
    let batches = RunOptions { batches: Some(5), ..RunOptions::default() };
    let request = RunRequest::new("test.toml", tiny).precondition("fill").run(batches);
    let outcome = drive::session::run(&request, &Input::text("workload", JOB), Files::default(), &mut |_| true);
    all.push(("batches".to_owned(), outcome.unwrap_or_else(|problems| panic!("batches: {problems}")).summary));
    all.push(run("streams", tiny, &[], &format!("{JOB}{}", JOB.replace("[job]", "[other]"))));
    all.push(run("waf", tiny, &["ftl.translation=waf"], JOB));
    let ofwar = ["policy.kind=ofwar", "state.precondition=steady", "state.graceful_shutdown=true"];
    let deadlines = "[job]\nrw=randwrite\nbs=4k\nnorandommap=1\nrate_iops=50\nnumber_ios=2000\n";
    all.push(run("ofwar", tiny, &ofwar, JOB));
    all.push(run(
        "deadlines",
        tiny,
        &["policy.kind=all_fast", "flash.write_mode[1].retention=\"10s\"", "ftl.retention_margin=\"1s\""],
        deadlines,
    ));
    all
}

#[test]
fn no_value_is_stated_without_a_model() {
    let (mut seen, mut filled) = (BTreeSet::new(), BTreeSet::new());
    for (name, summary) in summaries() {
        walk(&summary, &mut |path, value| {
            let at = path.join("/");
            let Some((declared, from)) = origin(path) else {
                // An empty table contains no values.
                assert!(value.is_object() || value.is_array(), "{name}: nobody says what fills {at}");
                return;
            };
            seen.insert(declared);
            assert!(from != Origin::Nothing || value.is_null(), "{name}: {at} is {value}, and no model stands behind it");
            if !value.is_null() {
                filled.insert(declared);
            }
        });
    }
    for (declared, from) in ORIGINS {
        assert!(*declared == "power_failure" || seen.contains(declared), "{declared}: no summary has it");
        let asked_for = ["steady", "power_failure"].contains(declared);
        assert!(*from == Origin::Nothing || asked_for || filled.contains(declared), "{declared}: {from:?} never fills it");
    }
}

#[test]
fn what_has_no_limit_cannot_be_late() {
    let unlimited = ["flash.write_mode=[{name=\"normal\"}, {name=\"fast\", program_scale=0.5}]"];
    let outcome = session("base = \"tiny\"", &unlimited, None, JOB).unwrap_or_else(|problems| panic!("{problems}"));
    for key in ["deadline_misses", "at_risk_pages", "retention_refusals", "min_retention_margin_ns"] {
        assert!(outcome.summary["reliability"][key].is_null(), "{key}");
    }
}
