//! Credits: a limited number of places, and the transactions that wait for some of them in the order of asking.

use kit::{Bytes, TransactionId};
use std::collections::VecDeque;

/// A pool of credits.
#[derive(Clone, Debug)]
pub struct Credits {
    total: u32,
    free: u32,
    waiting: VecDeque<(TransactionId, u32)>,
}

impl Credits {
    /// Returns a pool of `total` free credits.
    pub fn new(total: u32) -> Credits {
        Credits { total, free: total, waiting: VecDeque::with_capacity(64) }
    }

    /// Returns the number of credits that work in `count` pieces takes: one for each, but no more than there are.
    #[inline]
    pub fn needed(&self, count: u64) -> u32 {
        count.min(u64::from(self.total)) as u32
    }

    /// Takes credits. If too few are free, or others wait, the transaction waits and gets them from
    /// [`Credits::give_back`]. Returns true on success.
    #[inline]
    pub fn take(&mut self, count: u32, transaction: TransactionId) -> bool {
        let success = self.waiting.is_empty() && self.free >= count;
        if success {
            self.free -= count;
        } else {
            self.waiting.push_back((transaction, count));
        }
        success
    }

    /// Returns credits to the pool, and calls `granted` for each of the transactions that have theirs now.
    #[inline]
    pub fn give_back(&mut self, count: u32, mut granted: impl FnMut(TransactionId)) {
        self.free += count;
        debug_assert!(self.free <= self.total, "only what was taken is given back");
        while let Some(&(transaction, count)) = self.waiting.front()
            && count <= self.free
        {
            self.free -= count;
            self.waiting.pop_front();
            granted(transaction);
        }
    }
}

/// Tags of the requests for data in host memory. Data that is larger than a request has several; data that needs more
/// tags than there are has all of them.
#[derive(Clone, Debug)]
pub struct Tags {
    credits: Credits,
    request: Bytes,
}

impl Tags {
    /// Returns `total` tags, for requests of at most `request` bytes.
    pub fn new(total: u32, request: Bytes) -> Tags {
        Tags { credits: Credits::new(total), request }
    }

    /// Returns the tags that `data` needs.
    #[inline]
    pub fn needed(&self, data: Bytes) -> u32 {
        self.credits.needed(data.0.div_ceil(self.request.0))
    }

    /// Takes tags, as [`Credits::take`].
    #[inline]
    pub fn take(&mut self, count: u32, transaction: TransactionId) -> bool {
        self.credits.take(count, transaction)
    }

    /// Returns tags, as [`Credits::give_back`].
    #[inline]
    pub fn give_back(&mut self, count: u32, granted: impl FnMut(TransactionId)) {
        self.credits.give_back(count, granted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every sequence of eight steps on three credits, against a plain list: one, two or three credits are asked for,
    /// or those that were granted first are given back. Nobody overtakes, and no more are out than there are.
    #[test]
    fn every_short_sequence_is_granted_in_order() {
        for sequence in 0..4u32.pow(8) {
            let mut credits = Credits::new(3);
            // The credits of each transaction, in the order of asking; those from `granted` on wait.
            let (mut asked, mut granted, mut returned) = (Vec::new(), 0, 0);
            for step in 0..8 {
                let choice = sequence / 4u32.pow(step) % 4;
                let out = |from: usize, to: usize, asked: &[u32]| asked[from..to].iter().sum::<u32>();
                if choice < 3 {
                    let count = choice + 1;
                    let success = granted == asked.len() && out(returned, granted, &asked) + count <= 3;
                    asked.push(count);
                    assert_eq!(credits.take(count, TransactionId(asked.len() as u32 - 1)), success, "{sequence}");
                    granted += usize::from(success);
                } else if returned < granted {
                    let mut now = Vec::new();
                    credits.give_back(asked[returned], |transaction| now.push(transaction.index()));
                    returned += 1;
                    let first = granted;
                    while granted < asked.len() && out(returned, granted, &asked) + asked[granted] <= 3 {
                        granted += 1;
                    }
                    assert_eq!(now, (first..granted).collect::<Vec<_>>(), "{sequence}");
                }
            }
        }
        assert_eq!([0, 2, 9].map(|count| Credits::new(3).needed(count)), [0, 2, 3]);
    }
}
