//! The share of a workload that a run has done, for its progress.

use drive::{Description, Drive, RunLoop};
use workload::{Input, Options};

/// Returns the shares told in the course of a job on `tiny`.
fn shares(job: &str) -> Vec<Option<f64>> {
    let description = Description::read("d.toml", "base = \"tiny\"\n", &[]).expect("a preset");
    let mut drive = Drive::new(&description, 1).expect("a small drive");
    let workload = workload::open(&Input::text("job", job), description.user_bytes(), &Options::default());
    let workload = workload.unwrap_or_else(|problems| panic!("{problems}"));
    let mut told = Vec::new();
    let mut go_on = |_: &mut Drive, reached: drive::Reached| {
        told.push(reached.share);
        reached.commands < 5000
    };
    RunLoop::new(workload).run(&mut drive, &mut go_on).unwrap_or_else(|problems| panic!("{problems}"));
    told
}

#[test]
fn the_share_is_known_where_commands_bytes_or_time_are_limited() {
    let limits = [
        "number_ios=4000",
        "io_size=16m",
        "runtime=1s\ntime_based=1",
        "number_ios=2000\n[second]\nstonewall\nrw=write\nnumber_ios=2000",
    ];
    for limit in limits {
        let job = format!("[job]\nrw=randwrite\nbs=4k\niodepth=4\nnorandommap=1\n{limit}\n");
        let found: Vec<f64> = shares(&job).into_iter().map(|share| share.unwrap_or_else(|| panic!("{limit}"))).collect();
        assert!(found.len() > 4 && found.windows(2).all(|pair| pair[0] <= pair[1]), "{limit}: {found:?}");
        let middle = found[found.len() / 2];
        assert!((0.2..0.8).contains(&middle) || limit.starts_with("runtime"), "{limit}: {middle}");
        assert!(found[found.len() - 1] > 0.5, "{limit}: {found:?}");
    }
}
