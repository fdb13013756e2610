//! Checks of what a saved drive claims beside its data: instants, timers, and the gauges of the write queue.

use super::Image;
use crate::drive::Drive;
use kit::archive::{Archived, require};
use kit::{Lpn, Nanos, SimTime, Timer};

/// Longest time for which a server of the controller is busy with messages that nobody waits for.
const LONGEST_MESSAGE: Nanos = Nanos::SECOND;

impl Image {
    /// Checks the clock.
    pub(super) fn check_clock(&self) -> Archived {
        require(self.now <= SimTime::LAST, || {
            format!("its clock stands at {} years: expected at most {}", self.now.years(), SimTime::LAST.years())
        })
    }

    /// Checks the instants, and the timers by themselves: those of the past are past, and those of the future can come.
    fn check_instants(&self) -> Archived {
        let now = self.now;
        let past = [&self.last_host_activity, &self.idle_since].into_iter().chain(&self.channel_idle_since);
        let late = past.copied().find(|at| *at > now);
        require(late.is_none(), || format!("its last activity was at {late:?}, and its clock stands at {now:?}"))?;
        let far = self.servers_free_at.iter().find(|at| **at > now + LONGEST_MESSAGE);
        require(far.is_none(), || format!("a part of its controller has work until {far:?}, and the clock stands at {now:?}"))?;
        let lost = self.timers.iter().find(|(at, _)| *at < now || *at >= SimTime::FOREVER);
        require(lost.is_none(), || format!("a timer is pending for {lost:?}, and the clock stands at {now:?}"))?;
        let flushes = self.timers.iter().filter(|(_, timer)| *timer == Timer::Flush).count();
        require(flushes == usize::from(self.buffer.timer_armed), || {
            format!("{flushes} timers of its write buffer are pending, and it claims: {}", self.buffer.timer_armed)
        })
    }
}

impl Drive {
    /// Checks what a drive of the same description says of its stages. `waiting`: slot, unit and number of each unit of
    /// its write buffer; `queued`: units and requests that wait for a die; units up to the number `flush_until` are to
    /// be programmed.
    pub(super) fn check_image(
        &self,
        image: &Image,
        waiting: impl Iterator<Item = (u32, Lpn, u64)>,
        queued: (u64, u64),
        flush_until: u64,
    ) -> Archived {
        image.check_instants()?;
        let claimed = (image.queued_write_pages, image.queued_write_requests);
        require(claimed == queued, || {
            format!("{} units of {} requests wait for a die, and it claims {} of {}", queued.0, queued.1, claimed.0, claimed.1)
        })?;
        self.host.buffer().check(&image.buffer, waiting, flush_until, image.now)
    }

    /// Checks the restored state of the data together with the gauges and the timers.
    pub(super) fn check_restored(&mut self, timers: &[(SimTime, Timer)]) -> Archived {
        let of_states = timers.iter().filter(|(_, timer)| *timer == Timer::PowerState);
        let armed = self.power_states.as_ref().map(|states| states.armed());
        require(armed.is_some() || of_states.clone().next().is_none(), || {
            "a timer of its power states is pending, and it has none".to_owned()
        })?;
        let is_pending = armed.flatten().is_none_or(|armed| of_states.clone().any(|(at, _)| *at == armed));
        require(is_pending, || format!("its power state changes at {:?}, and no timer is pending for it", armed.flatten()))?;
        if let Some(map) = self.ftl.page_map_mut() {
            return map.check_restored(timers, self.now, &self.out.signals);
        }
        let (dies, plays) = (self.flash.turns().count(), self.ftl.recordable().is_some());
        let signals = &self.out.signals;
        require(!signals.hold && (plays || !signals.no_space), || {
            "it holds reads back, or has no space, under a translation layer that does not".to_owned()
        })?;
        let odd = timers.iter().find(|(_, timer)| match timer {
            Timer::Core => true,
            Timer::Replay(die) => !plays || die.index() >= dies,
            Timer::Flush | Timer::PowerState => false,
            Timer::DieFails(_) | Timer::Hang => true,
            Timer::Idle { .. } | Timer::Rebuild(_) | Timer::Move(_) | Timer::Retention | Timer::Policy => true,
        });
        require(odd.is_none(), || format!("a timer is pending that the translation layer does not have: {odd:?}"))
    }
}
