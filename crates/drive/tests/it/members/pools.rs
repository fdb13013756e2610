//! Every pool of the drive at its smallest, and all of them full at once.

use crate::common::{Rig, description};
use kit::{Cause, Op, Rng, SimTime};
use testkit::case;

/// A short queue, one fetch, one read tag, one core, one DMA channel, one read at a die, one page buffer, one decoder,
/// one encoder, the smallest write buffer and the smallest mapping cache. Reads fail, and keep their die until they are
/// corrected.
const SMALLEST: &[&str] = &[
    "host.interface={ kind='nvme', queues=1, queue_depth=16, fetch_batch=1, fetches=1, read_tags=1 }",
    "host.cpu={ cores=1, submission='1us', completion='1us' }",
    "controller.firmware={ kind='cores', count=1, clock='200MHz' }",
    "controller.interconnect='ahb'",
    "controller.dma={ channels=1, setup='1us', rate='200MB/s' }",
    "controller.dram={ kind='ddr', grade='sdr-166', width_bits=16, size='64MiB' }",
    "controller.target_queues={ threshold=1 }",
    "controller.sequencer={ order='in_order', per_die=1 }",
    "controller.page_buffers={ count=1 }",
    "buffer={ policy='write_back', capacity='8KiB', flush_after='1us' }",
    "flash.code={ kind='bch', data='4KiB', t=110 }",
    "flash.encoder=[{ code='bch', throughput='20MB/s' }]",
    "flash.write_mode=[{ name='normal', code='bch' }]",
    "ecc.errors={ kind='constant', rates=[3e-3] }",
    "ecc.plan={ kind='read_retry', steps=3 }",
    "ecc.retries_hold='channel'",
    "ecc.delivery='in_order'",
    "ecc.decoder={ kind='fixed', time='60us', decoders=1, shared='drive' }",
    "ftl.gc_critical_blocks=3",
    "ftl.map_cache={ size='24KiB' }",
    "flash.blocks_per_plane=48",
    "state.precondition=random",
];

/// Pools, by the cause of a command that finds them full.
const POOLS: &[Cause] = &[
    Cause::HostQueue,
    Cause::QueueBlocked,
    Cause::BufferFull,
    Cause::Map,
    Cause::CoreWait,
    Cause::DramWait,
    Cause::InterconnectWait,
    Cause::PageBuffer,
    Cause::EccWait,
    Cause::BusWait,
];

/// Two hundred reads and writes of up to four units arrive at one instant.
#[test]
fn a_drive_whose_pools_are_all_full_makes_progress() {
    let mut rig = Rig::new(SMALLEST);
    let mut rng = Rng::stream(1, "pools");
    for number in 0..200 {
        let op = if number % 3 == 0 { Op::Write } else { Op::Read };
        rig.submit(op, rng.below(1000), 1 + rng.below(4), SimTime(0));
    }
    rig.drain();
    for &pool in POOLS {
        let waited = rig.rows().iter().filter(|row| row.causes.get(pool).0 > 0).count();
        assert!(waited > 0, "no command waited for {pool:?}");
    }
    let most = rig.rows().iter().map(|row| POOLS.iter().filter(|&&pool| row.causes.get(pool).0 > 0).count()).max();
    assert!(most >= Some(5), "one command found {most:?} pools full");
}

/// The same under random loads, which the oracle and the auditor of times follow.
#[test]
fn random_loads_on_full_pools_pass_the_oracle() {
    let description = description(SMALLEST);
    for seed in 0..40 {
        let passed = case::run_described(&description, seed, 200, None);
        passed.unwrap_or_else(|violation| panic!("seed {seed}: {}", violation.0));
    }
}
