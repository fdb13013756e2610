//! Checks of what a saved drive claims beside its data: instants, timers, and the gauges of the write queue.

use super::Image;
use crate::drive::Drive;
use ftl::Loaded;
use kit::archive::{Archived, require};
use kit::{Nanos, SimTime, Timer};

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
    /// Checks what a drive of the same description, whose data is `state`, says of its stages.
    pub(super) fn check_image(&self, image: &Image, state: &Loaded) -> Archived {
        image.check_instants()?;
        let queued = (image.queued_write_pages, image.queued_write_requests);
        require(queued == state.queued(), || {
            let (units, requests) = state.queued();
            format!("{units} units of {requests} requests wait for a die, and it claims {} of {}", queued.0, queued.1)
        })?;
        self.host.buffer().check(&image.buffer, state.waiting(), state.flush_until(), image.now)
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
        let map = self.ftl.page_map_mut().expect(super::NO_MAP);
        map.check_restored(timers, self.now, &self.out.signals)
    }
}
