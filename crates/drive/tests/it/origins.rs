//! Every value of a summary has a definition, and comes from a model or is `null`.

use crate::common::session;
use drive::definitions;
use drive::options::RunOptions;
use drive::presets::PRESETS;
use drive::session::{Files, RunRequest};
use drive::streams::Outputs;
use drive::summary::keys::{KEYS, Key, find};
use drive::summary::origin::{Origin, walk};
use ftl::policy::PolicyConfig;
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
    let reads = "[job]\nrw=randread\nbs=4k\niodepth=8\nnorandommap=1\nio_size=1g\nnumber_ios=110000\n";
    all.push(run("random", tiny, &["state.precondition=random"], reads));
    let executed = ["controller.firmware.kind=riscv", "ftl.wear_leveling=none", "ftl.partial_write=whole"];
    all.push(run("executed firmware", tiny, &executed, JOB));
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

/// Returns the summaries of runs that start from a saved drive, that lose power, and that replay a firmware trace.
fn special() -> Vec<(String, Value)> {
    let tiny = "base = \"tiny\"";
    let run = |name: &str, request: &RunRequest, files: Files<'_>| {
        let outcome = drive::session::run(request, &Input::text("workload", JOB), files, &mut |_| true);
        (name.to_owned(), outcome.unwrap_or_else(|problems| panic!("{name}: {problems}")).summary)
    };
    let request = RunRequest::new("test.toml", tiny).precondition("fill");
    let (mut saved, mut trace) = (Vec::new(), Vec::new());
    let outputs = Outputs { firmware: Some(&mut trace), ..Outputs::default() };
    let first = run("saving", &request, Files { save: Some(&mut saved), ..Files::default() });
    let recorded = run("recording", &request, Files { outputs, ..Files::default() });
    let load = Some(("saved".to_owned(), Box::new(saved.as_slice()) as Box<dyn std::io::Read>));
    let loaded = run("loading", &RunRequest::new("test.toml", tiny), Files { load, ..Files::default() });
    let trace = String::from_utf8(trace).expect("a trace is a text");
    let named = |_: &str| Ok(trace.clone());
    let replay = request.clone().set("ftl.translation={ kind = \"replay\", file = \"x.fw\" }");
    let replayed = run("replay", &replay, Files { named: Some(&named), ..Files::default() });
    let power = RunOptions { power_cut: Some("20ms,graceful".into()), power_down: Some("40y".into()), ..RunOptions::default() };
    let cut = |set: &str| run(set, &request.clone().set(set).run(power.clone()), Files::default());
    let at_event = RunOptions { power_cut: Some("event:2000".into()), ..RunOptions::default() };
    let abrupt = run("abrupt", &request.clone().run(at_event.clone()), Files::default());
    let suspension =
        "flash.suspension={program=true,erase=true,most=3,suspend_time=\"20us\",resume_time=\"10us\",least_remaining=\"1us\"}";
    let capped = request.clone().sets(crate::power_model::POWER).sets(&["power.cap=100mW", "power.cap_suspends=2", suspension]);
    let capped = run("cap", &capped, Files::default());
    let thermal = "power.thermal={ambient=25.0,r_th=9.0,c_th=1.0,throttle_at=70.0,release_at=60.0,cap=\"1W\",step=\"1ms\"}";
    let states = "power.state=[{max_power=\"1W\",idle_time=\"10us\",idle_state=1},\
        {max_power=\"1mW\",non_operational=true,exit_latency=\"1us\",idle_power=\"1mW\"}]";
    let asleep = run("states", &request.clone().sets(crate::power_model::POWER).set(states).set(thermal), Files::default());
    let rounds = RunOptions { steady_state: true, steady_round: Some("20ms".into()), ..RunOptions::default() };
    let endless = Input::text("workload", JOB.replace("2000", "200000"));
    let steady = drive::session::run(&request.clone().run(rounds), &endless, Files::default(), &mut |_| true);
    let steady = ("steady rounds".to_owned(), steady.unwrap_or_else(|problems| panic!("{problems}")).summary);
    let physical = RunRequest::new("test.toml", tiny).set("ftl.translation={kind=\"pass_through\",full=0.5}");
    let physical = run("physical", &physical, Files::default());
    let faults = [
        "faults.program_failure=0.01",
        "faults.spare_blocks=2",
        "faults.factory_bad=0.01",
        "ftl.user_capacity=64MiB",
        "host.interface=plain",
    ];
    let faults = run("faults", &request.clone().sets(&faults), Files::default());
    let restoring = ["ftl.rain={ dies = 4 }", "ftl.gc_critical_blocks=3", "ftl.gc_low_blocks=4", "faults.spare_blocks=1"];
    let restoring = run("parity", &request.clone().sets(&restoring), Files::default());
    let held_up =
        ["buffer.policy=write_back", "buffer.capacity=1MiB", "buffer.flush_after=1ms", "power_loss={energy=\"1J\",power=\"1W\"}"];
    let held_up = run("held up", &request.clone().sets(&held_up).run(at_event), Files::default());
    let cuts = [cut("policy.kind=ofwar"), cut("flash.cell_model="), abrupt];
    [physical, first, recorded, loaded, replayed, capped, asleep, steady, faults, restoring, held_up]
        .into_iter()
        .chain(cuts)
        .collect()
}

/// Returns the summaries of runs of `tiny` whose controllers have all kinds of resources.
fn controllers() -> Vec<(String, Value)> {
    let interconnects = ["ahb", "multi_layer_ahb", "axi", "{kind=\"axi\",data_lanes=1}", "ocp", "point_to_point"];
    let parts = [
        "state.precondition=fill",
        "controller.firmware=cores",
        "buffer.policy=write_back",
        "buffer.capacity=1MiB",
        "buffer.flush_after=1ms",
        "host.cpu={cores=2,submission=\"1us\",serial=\"1us\"}",
        "ecc.errors={kind=\"constant\",rates=[1e-3]}",
        "ecc.decoder={kind=\"engines\"}",
    ];
    let few = [
        "flash.channels=1",
        "controller.dram=ddr",
        "host.interface=sata",
        "buffer.read_cache=64KiB",
        "buffer.read_ahead=32KiB",
        "controller.dma={channels=1,setup=\"300ns\"}",
    ];
    let several = [
        "controller.dram=ddr",
        "buffer.buffers=2",
        "host.interface=nvme",
        "controller.dma={channels=2,setup=\"0ns\",rate=\"1GB/s\"}",
    ];
    let mut all = Vec::new();
    for kind in interconnects {
        let interconnect = format!("controller.interconnect={kind}");
        for more in [&few[..], &several[..]] {
            let sets = [&parts[..], more, &[&interconnect]].concat();
            let outcome = session("base = \"tiny\"", &sets, None, JOB).unwrap_or_else(|problems| panic!("{kind}: {problems}"));
            all.push((kind.to_owned(), outcome.summary));
        }
    }
    all
}

#[test]
fn every_value_has_a_definition_and_a_model_or_is_null() {
    let (mut seen, mut filled) = (BTreeSet::new(), BTreeSet::new());
    for (name, summary) in summaries().into_iter().chain(special()).chain(controllers()) {
        walk(&summary, &mut |path, value| {
            let at = path.join(".");
            let Some(key) = find(path) else { panic!("{name}: no key of summary/keys.rs is declared for {at}") };
            let from = key.origin;
            assert!(from != Origin::Nothing || value.is_null(), "{name}: {at} is {value}, and no model stands behind it");
            // The sections that a value is in.
            for key in (1..=path.len()).filter_map(|length| find(&path[..length])) {
                seen.insert(key.term.name);
                if !value.is_null() {
                    filled.insert(key.term.name);
                }
            }
        });
        assert_statistics_are_defined(&name, &summary);
    }
    let page = definitions::reference();
    let missing: Vec<_> = seen.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "not on the page: {missing:?}");
    let unseen: Vec<&str> = KEYS.iter().map(|key| key.term.name).filter(|name| !seen.contains(name)).collect();
    assert!(unseen.is_empty(), "no summary has {unseen:?}");
    let is_empty = |Key { term, origin }: &&Key| *origin != Origin::Nothing && !filled.contains(term.name);
    let empty: Vec<&str> = KEYS.iter().filter(is_empty).map(|key| key.term.name).collect();
    assert!(empty.is_empty(), "always `null`: {empty:?}");
}

/// Checks that the policy of a run defines its statistics.
#[track_caller]
fn assert_statistics_are_defined(name: &str, summary: &Value) {
    let policy = summary["policy"].as_str().expect("a name");
    let all = PolicyConfig::statistics();
    let terms = all.iter().find(|(known, _)| *known == policy).map_or(&[][..], |(_, terms)| terms);
    let stated: Vec<&str> = summary["policy_stats"].as_object().expect("a table").keys().map(String::as_str).collect();
    let defined: Vec<&str> = terms.iter().map(|term| term.name).collect();
    assert!(stated.is_empty() || stated == defined, "{name}: {stated:?}");
}

#[test]
fn what_has_no_limit_cannot_be_late() {
    let unlimited = ["flash.write_mode=[{name=\"normal\"}, {name=\"fast\", program_scale=0.5}]"];
    let outcome = session("base = \"tiny\"", &unlimited, None, JOB).unwrap_or_else(|problems| panic!("{problems}"));
    for key in ["deadline_misses", "at_risk_pages", "retention_refusals", "min_retention_margin_ns"] {
        assert!(outcome.summary["reliability"][key].is_null(), "{key}");
    }
}
