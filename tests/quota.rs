//! The quota that the calls to one service share.

mod common;

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

use common::{policy, response, secs, status};
use retry_machine::{
    Decision, ErrorKind, Event, FixedDraw, Reason, RetryMachine, RetryOptions, RetryPolicy, RetryQuota,
};

// RB-125: aws/aws-sdk-go-v2#3550
#[test]
fn a_retry_withdraws_and_its_success_gives_all_of_it_back() {
    let quota = quota(20);
    let mut call = call(&quota);
    assert!(retries(&mut call, status(503)));
    assert_eq!(quota.available(), 15);
    finishes(&mut call, status(200));
    assert_eq!(quota.available(), 20);
}

#[test]
fn a_retry_after_a_timeout_costs_twice_as_much() {
    for (event, cost) in [
        (ErrorKind::Timeout.into(), 10),
        (ErrorKind::Connection.into(), 5),
        (ErrorKind::PoolTimeout.into(), 5),
        (ErrorKind::NotSent.into(), 5),
        (status(408), 5),
    ] {
        let quota = quota(20);
        assert!(retries(&mut call(&quota), event));
        assert_eq!(quota.available(), 20 - cost, "{event:?}");
    }
}

// RB-125: aws/aws-sdk-go-v2#3550
#[test]
fn only_the_last_withdrawal_comes_back_and_only_once() {
    let quota = quota(40);
    let mut call = call(&quota);
    assert!(retries(&mut call, ErrorKind::Timeout) && retries(&mut call, status(503)));
    assert_eq!(quota.available(), 25);
    finishes(&mut call, status(200));
    assert_eq!(quota.available(), 30);
    // The machine is finished: it says nothing more to the quota.
    finishes(&mut call, status(200));
    assert_eq!(quota.available(), 30);
}

#[test]
fn a_success_without_a_retry_deposits_one_token() {
    let quota = drained(20, 10);
    for (status_code, available) in [(200, 11), (204, 12), (304, 13), (399, 14)] {
        finishes(&mut call(&quota), status(status_code));
        assert_eq!(quota.available(), available, "after {status_code}");
    }
}

#[test]
fn what_is_no_success_deposits_nothing() {
    let (get, quota) = (policy(RetryOptions::default().max_retries(0)), drained(20, 10));
    for event in [status(400), status(404), status(503), ErrorKind::Other.into(), ErrorKind::NotSent.into()] {
        finishes(&mut machine(&get, &quota), event);
        assert_eq!(quota.available(), 10, "{event:?}");
    }
    // A status below 400 that is retried is none either.
    let poll = policy(RetryOptions::default().statuses([202]));
    assert!(retries(&mut machine(&poll, &quota), status(202)));
    assert_eq!(quota.available(), 5);
}

#[test]
fn a_quota_gets_back_only_what_was_withdrawn_from_it() {
    let (first, second) = (quota(20), quota(20));
    let mut call = call(&first);
    assert!(retries(&mut call, status(503)));
    assert!(retries(&mut machine(&RetryPolicy::default(), &second), status(503)));
    let mut call = call.with_quota(Arc::clone(&second));
    finishes(&mut call, status(200));
    assert_eq!((first.available(), second.available()), (15, 16));
}

// RB-161: joshrotenberg/tower-resilience#370
#[test]
fn the_quota_stays_between_zero_and_its_capacity() {
    let quota = quota(7);
    finishes(&mut call(&quota), status(200));
    assert_eq!(quota.available(), 7);
    assert!(retries(&mut call(&quota), status(503)));
    let mut refused = call(&quota);
    finishes(&mut refused, status(503));
    assert_eq!(refused.reason(), Some(Reason::QuotaExhausted { available: 2, cost: 5 }));
    assert_eq!((quota.available(), refused.retry_count()), (2, 0));
    // A refund stops at the capacity as well.
    let full = self::quota(5);
    let mut retried = call(&full);
    assert!(retries(&mut retried, status(503)));
    finishes(&mut call(&full), status(200));
    finishes(&mut retried, status(200));
    assert_eq!(full.available(), 5);
}

// RB-125: aws/aws-sdk-go-v2#3550
#[test]
fn a_drained_quota_grants_again_once_successes_have_filled_it() {
    let quota = quota(5);
    assert!(retries(&mut call(&quota), status(503)));
    for _ in 0..4 {
        finishes(&mut call(&quota), status(200));
        finishes(&mut call(&quota), status(503));
    }
    finishes(&mut call(&quota), status(200));
    assert!(retries(&mut call(&quota), status(503)));
}

// RB-161: joshrotenberg/tower-resilience#370
#[test]
fn capacity_decides_and_is_500_unless_given() {
    assert_eq!([RetryQuota::default().capacity(), RetryQuota::DEFAULT_CAPACITY], [500; 2]);
    for (capacity, granted) in [(0, false), (4, false), (5, true), (u32::MAX, true)] {
        let quota = quota(capacity);
        assert_eq!((quota.capacity(), quota.available()), (capacity, capacity));
        assert_eq!(retries(&mut call(&quota), status(503)), granted, "{capacity}");
    }
}

// RB-125: aws/aws-sdk-go-v2#3550
#[test]
fn a_machine_without_a_quota_consults_none() {
    let now = Instant::now();
    for _ in 0..1000 {
        let mut machine = RetryMachine::with_rng(&RetryPolicy::default(), "GET", FixedDraw::new(0.0), now);
        assert_ne!(machine.decide(status(503), now), Decision::GiveUp);
    }
}

#[test]
fn what_is_refused_before_the_quota_costs_nothing() {
    let (quota, now) = (quota(20), Instant::now());
    let mut late = call(&quota);
    assert_eq!(late.decide(status(503), now + secs(60)), Decision::GiveUp);
    assert_eq!(late.reason().map(|reason| reason.name()), Some("budget_exhausted"));
    finishes(&mut machine(&RetryPolicy::never(), &quota), status(503));
    assert_eq!(quota.available(), 20);
}

#[test]
fn a_retry_that_the_server_times_costs_the_same() {
    let quota = quota(20);
    assert!(retries(&mut call(&quota), response(503, &[("Retry-After", "1")])));
    assert_eq!(quota.available(), 15);
}

#[test]
fn a_clone_shares_the_quota_but_carries_no_refund() {
    let quota = quota(20);
    let mut original = call(&quota);
    assert!(retries(&mut original, status(503)));
    let mut clone = original.clone();
    finishes(&mut clone, status(200));
    assert_eq!(quota.available(), 16);
    finishes(&mut original, status(200));
    assert_eq!(quota.available(), 20);
}

// RB-161: joshrotenberg/tower-resilience#370
#[test]
fn eight_threads_lose_no_withdrawal_and_no_deposit() {
    const RETRIES: u32 = 100_000;
    const SUCCESSES: u32 = 5_000;
    let quota = quota(THREADS * RETRIES * 5);
    let endless = policy(RetryOptions::default().max_retries(u32::MAX).no_budget());
    on_every_thread(|| {
        let mut call = machine(&endless, &quota);
        for _ in 0..RETRIES {
            assert!(retries(&mut call, status(503)));
        }
    });
    assert_eq!(quota.available(), 0);
    on_every_thread(|| {
        for _ in 0..SUCCESSES {
            finishes(&mut call(&quota), status(200));
        }
    });
    assert_eq!(quota.available(), THREADS * SUCCESSES);
}

// RB-161: joshrotenberg/tower-resilience#370
#[test]
fn eight_threads_never_leave_the_bounds() {
    let quota = quota(23);
    on_every_thread(|| {
        for _ in 0..2_000 {
            let mut call = call(&quota);
            if retries(&mut call, status(503)) {
                finishes(&mut call, status(200));
            }
            finishes(&mut self::call(&quota), status(200));
            assert!(quota.available() <= 23);
        }
    });
    // Every withdrawal came back.
    assert_eq!(quota.available(), 23);
}

const THREADS: u32 = 8;

/// Runs the work on eight threads that start together.
fn on_every_thread(work: impl Fn() + Sync) {
    let barrier = Barrier::new(THREADS as usize);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                barrier.wait();
                work();
            });
        }
    });
}

fn quota(capacity: u32) -> Arc<RetryQuota> {
    Arc::new(RetryQuota::new(capacity))
}

/// A quota with `available` tokens left, a multiple of 5 below its capacity.
fn drained(capacity: u32, available: u32) -> Arc<RetryQuota> {
    let quota = quota(capacity);
    while quota.available() > available {
        assert!(retries(&mut call(&quota), status(503)));
    }
    quota
}

fn call(quota: &Arc<RetryQuota>) -> RetryMachine<FixedDraw> {
    machine(&RetryPolicy::default(), quota)
}

fn machine(policy: &RetryPolicy, quota: &Arc<RetryQuota>) -> RetryMachine<FixedDraw> {
    RetryMachine::with_rng(policy, "GET", FixedDraw::new(0.0), Instant::now()).with_quota(Arc::clone(quota))
}

/// Whether the machine retries after the event, right at its start.
fn retries<'a>(machine: &mut RetryMachine<FixedDraw>, event: impl Into<Event<'a>>) -> bool {
    machine.decide(event, Instant::now()) != Decision::GiveUp
}

#[track_caller]
fn finishes<'a>(machine: &mut RetryMachine<FixedDraw>, event: impl Into<Event<'a>>) {
    assert!(!retries(machine, event), "{:?}", machine.reason());
}
