//! Machines: each serves one call, by itself, and ends with its first give-up.

mod common;

use std::fmt::Debug;
use std::hash::Hash;
use std::time::{Duration, Instant};

use common::{Call, ms, policy, response, secs, status};
use retry_machine::{
    Decision, DelaySource, ErrorKind, Event, FixedDraw, Reason, Replay, RetryAfterExcess, RetryHeaders, RetryMachine,
    RetryOptions, RetryPolicy, RetryQuota, SeededRng, StatusSet,
};

// RB-128: cenkalti/backoff#120
#[test]
fn a_finished_machine_gives_up_again_for_the_same_reason() {
    let mut call = Call::new(&policy(RetryOptions::default().max_retries(1)), "GET");
    assert!(!call.machine.is_finished() && call.machine.reason().is_none());
    call.at(secs(0), status(503)).waits(ms(500));
    assert!(!call.machine.is_finished());
    let exhausted = Reason::RetriesExhausted { max_retries: 1, requested: None };
    call.at(secs(1), status(503)).because(exhausted);
    // Whatever comes now, at whatever time.
    for event in [status(503), status(200), ErrorKind::NotSent.into(), response(503, &[("Retry-After", "1")])] {
        call.at(secs(0), event).because(exhausted);
        assert!(call.machine.is_finished());
        assert_eq!(call.machine.retry_count(), 1);
    }
}

// RB-128: cenkalti/backoff#120
#[test]
fn a_decision_is_one_of_two_and_a_zero_delay_is_no_give_up() {
    let at_once = Decision::RetryAfter(Duration::ZERO);
    assert_ne!(at_once, Decision::GiveUp);
    // It compiles only while these are all there are.
    let waited = match at_once {
        Decision::RetryAfter(delay) => Some(delay),
        Decision::GiveUp => None,
    };
    assert_eq!(waited, Some(Duration::ZERO));
}

// RB-114: astral-sh/uv#9213
#[test]
fn after_the_head_of_a_success_a_body_failure_comes_too_late() {
    let mut late = Call::new(&RetryPolicy::default(), "GET");
    late.at(secs(0), status(200)).gives_up("status_not_retryable");
    late.at(secs(1), ErrorKind::Connection).because(Reason::StatusNotRetryable { status: 200 });
    // Reported instead of the head, it is retried.
    Call::new(&RetryPolicy::default(), "GET").at(secs(1), ErrorKind::Connection).waits(ms(500));
}

// RB-084: astral-sh/uv#14069
#[test]
fn the_policy_that_never_retries_gives_up_on_the_first_failure() {
    for event in [status(503), ErrorKind::NotSent.into()] {
        let mut call = Call::new(&RetryPolicy::never(), "GET");
        call.at(secs(0), event).because(Reason::RetriesExhausted { max_retries: 0, requested: None });
        assert_eq!(call.machine.retry_count(), 0);
    }
    assert_eq!(RetryPolicy::never(), policy(RetryOptions::default().max_retries(0)));
}

// RB-170: livekit/agents#5335
#[test]
fn the_retry_count_grows_by_one_per_granted_retry_and_by_nothing_else() {
    let mut call = Call::new(&policy(RetryOptions::default().max_retries(3)), "GET");
    for retry in 1..=3 {
        assert_ne!(call.at(secs(retry.into()), status(503)).decision, Decision::GiveUp);
        assert_eq!(call.machine.retry_count(), retry);
    }
    call.at(secs(4), status(503)).gives_up("retries_exhausted");
    assert_eq!(call.machine.retry_count(), 3);
}

// RB-083: giantswarm/kvm-operator#243
#[test]
fn each_machine_counts_its_budget_from_its_own_start() {
    let policy = RetryPolicy::default();
    let start = Instant::now();
    let an_hour_later = start + secs(3600);
    let mut first = RetryMachine::with_rng(&policy, "GET", FixedDraw::new(0.0), start);
    let mut second = RetryMachine::with_rng(&policy, "GET", FixedDraw::new(0.0), an_hour_later);
    for (machine, start) in [(&mut second, an_hour_later), (&mut first, start)] {
        assert_eq!(machine.remaining_budget(start), Some(secs(30)));
        assert_eq!(machine.decide(status(503), start + secs(29)), Decision::RetryAfter(ms(500)));
        assert_eq!(machine.decide(status(503), start + secs(29)), Decision::GiveUp);
    }
}

// RB-120: alexfalkowski/go-service#2523
#[test]
fn a_machine_after_an_exhausted_one_starts_anew() {
    let policy = RetryPolicy::default();
    let mut first = Call::new(&policy, "GET");
    first.at(secs(0), status(503)).waits(ms(500));
    first.at(secs(1), status(503)).waits(secs(1));
    first.at(secs(3), status(503)).gives_up("retries_exhausted");
    let mut second = Call::new(&policy, "GET");
    second.at(secs(0), status(503)).because(Reason::Backoff { retry: 1, delay: policy.backoff(1, 0.0) });
}

// RB-119: kairosdb/kairosdb-client#26
#[test]
fn a_generator_that_is_lent_goes_on_while_each_machine_starts_anew() {
    let (policy, mut rng) = (RetryPolicy::default(), SeededRng::new(0));
    let first = Call::with_rng(&policy, "GET", &mut rng).at(secs(0), status(503)).reason;
    let mut call = Call::with_rng(&policy, "GET", &mut rng);
    assert_eq!((call.machine.retry_count(), call.machine.reason()), (0, None));
    let second = call.at(secs(0), status(503)).reason;
    assert_ne!(first, second);
    for reason in [first, second] {
        let Reason::Backoff { retry: 1, delay } = reason else { panic!("{reason:?} is no first backoff") };
        assert!(policy.backoff_range(1).contains(&delay), "{delay:?}");
    }
}

// RB-118: JustinBeckwith/retry-axios#61
#[test]
fn deciding_marking_and_merging_leave_the_policy_as_it_was() {
    let policy = RetryPolicy::default();
    let before = policy.clone();
    let mut call = Call::new(&policy, "POST");
    call.at(secs(0), status(503)).waits(ms(500));
    let _ = policy.for_method("GET").merge(RetryOptions::default().max_retries(9)).expect("valid");
    assert_eq!(policy, before);
    assert_eq!(*call.machine.policy(), policy.for_method("POST"));
}

// RB-118: JustinBeckwith/retry-axios#61
// RB-162: aws/aws-sdk-net#3374
#[test]
fn two_calls_in_any_order_of_events_decide_as_each_does_alone() {
    let policy = policy(RetryOptions::default().max_retries(3));
    let busy = response(503, &[("Retry-After", "2")]);
    let scripts = [
        [(0, status(503)), (1, busy), (5, ErrorKind::Timeout.into()), (9, status(503))],
        [(2, busy), (3, ErrorKind::NotSent.into()), (4, status(500)), (40, status(500))],
    ];
    let start = Instant::now();
    let machines = || [7, 8].map(|seed| RetryMachine::new(&policy, "GET", seed, start));
    let step = |machine: &mut RetryMachine, (at, event): (u64, Event<'_>)| {
        (machine.decide(event, start + secs(at)), machine.reason(), machine.retry_count())
    };
    let mut alone = machines();
    let expected = [0, 1].map(|which| scripts[which].map(|event| step(&mut alone[which], event)));

    // Every order: the set bits of a byte are the turns of the second call.
    for order in (0..=u8::MAX).filter(|order| order.count_ones() == 4) {
        let (mut together, mut turns) = (machines(), [0, 0]);
        for turn in 0..8 {
            let which = usize::from(order >> turn & 1);
            let answer = step(&mut together[which], scripts[which][turns[which]]);
            assert_eq!(answer, expected[which][turns[which]], "order {order:08b}, turn {turn}");
            turns[which] += 1;
        }
    }
}

// RB-123: spring-attic/spring-retry#1
#[test]
fn a_kept_retry_number_is_enough_to_ask_the_policy_what_the_machine_answers() {
    let policy = policy(RetryOptions::default().max_retries(3).retry_after_jitter(0.5));
    let events = [status(503), response(429, &[("Retry-After", "2")]), ErrorKind::Timeout.into()];
    let mut call = Call::with_rng(&policy, "GET", FixedDraw::new(0.75));
    for (retry, event) in (1..).zip(events) {
        call.at(secs(1), event).waits(policy.delay(event, retry, 0.75, None));
    }
}

// RB-160: cloudflare/backoff#7
#[test]
fn what_calls_share_can_cross_threads_and_a_machine_can_be_moved() {
    fn assert_send_and_sync<T: Send + Sync + 'static>() {}
    assert_send_and_sync::<RetryPolicy>();
    assert_send_and_sync::<RetryOptions>();
    assert_send_and_sync::<RetryMachine>();
    assert_send_and_sync::<RetryMachine<FixedDraw>>();
    assert_send_and_sync::<RetryQuota>();
    assert_send_and_sync::<Reason>();
    // A decision needs the machine for itself, and has no error to give.
    let _: fn(&mut RetryMachine, Event<'static>, Instant) -> Decision = RetryMachine::decide;
}

#[test]
fn what_is_told_and_answered_are_plain_values() {
    fn assert_copy<T: Copy + Debug>() {}
    fn assert_plain_value<T: Copy + Eq + Hash + Debug + Send + Sync + 'static>() {}
    assert_copy::<Event<'_>>();
    assert_copy::<RetryHeaders<'_>>();
    assert_plain_value::<Decision>();
    assert_plain_value::<Reason>();
    assert_plain_value::<ErrorKind>();
    assert_plain_value::<DelaySource>();
    assert_plain_value::<Replay>();
    assert_plain_value::<RetryAfterExcess>();
    assert_plain_value::<StatusSet>();
}

// RB-164: alcionai/corso#3811
#[test]
fn the_response_stays_the_callers() {
    struct Response {
        status: u16,
        headers: Vec<(String, String)>,
        body: &'static str,
    }
    let headers = vec![("Retry-After".to_owned(), "3600".to_owned())];
    let response = Response { status: 503, headers, body: "busy" };
    let mut call = Call::new(&RetryPolicy::never(), "GET");
    let event = Event::response(response.status, RetryHeaders::from_pairs(&response.headers));
    call.at(secs(0), event).gives_up("retries_exhausted");
    // Only borrowed, it can be moved while the machine lives on.
    let returned = response;
    assert_eq!((returned.body, call.machine.is_finished()), ("busy", true));
}
