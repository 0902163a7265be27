//! What the picture of `examples/herd` claims, on a smaller fleet.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use simulation::{OUTAGE, Outcome, Scene, capacity};

#[allow(dead_code, reason = "the example also prints and draws")]
#[path = "../examples/herd/simulation.rs"]
mod simulation;

#[test]
fn without_jitter_the_whole_fleet_comes_back_in_one_second() {
    let [no_jitter, ..] = &*OUTCOMES;
    assert!(no_jitter.peak_in_outage() >= CLIENTS);
    assert!(no_jitter.peak_after_outage() >= CLIENTS);
}

#[test]
fn jitter_halves_the_peak_and_recovers_in_a_third_of_the_time() {
    let [no_jitter, jitter, ..] = &*OUTCOMES;
    assert!(jitter.peak_after_outage() * 2 < no_jitter.peak_after_outage());
    assert!(jitter.time_to_recovery() * 3 < no_jitter.time_to_recovery());
}

#[test]
fn jitter_lowers_neither_the_first_waves_nor_much_the_number_of_attempts() {
    let [no_jitter, jitter, ..] = &*OUTCOMES;
    assert_eq!(jitter.peak_in_outage(), no_jitter.peak_in_outage());
    assert!(jitter.total_attempts() * 5 > no_jitter.total_attempts() * 4);
}

#[test]
fn patience_with_backoff_loses_no_call() {
    let [no_jitter, jitter, ..] = &*OUTCOMES;
    assert_eq!((no_jitter.calls_lost, jitter.calls_lost), (0, 0));
}

#[test]
fn a_requested_delay_saves_attempts_but_keeps_the_fleet_in_step_until_most_calls_are_lost() {
    let [_, jitter, retry_after, ..] = &*OUTCOMES;
    assert!(retry_after.total_attempts() * 2 < jitter.total_attempts());
    assert!(retry_after.peak_after_outage() >= CLIENTS);
    assert!(retry_after.time_to_recovery() > jitter.time_to_recovery());
    assert!(retry_after.calls_lost * 2 > CLIENTS);
}

#[test]
fn a_requested_delay_that_is_spread_brings_the_fleet_back_at_the_rate_of_the_service() {
    let [_, jitter, retry_after, retry_after_jitter, _] = &*OUTCOMES;
    assert!(retry_after_jitter.total_attempts() < retry_after.total_attempts());
    assert!(retry_after_jitter.peak_after_outage() * 4 < capacity(CLIENTS) * 5);
    assert_eq!(retry_after_jitter.calls_lost, 0);
    // Its price: the requested delay is waited out, though the service is back.
    assert!(retry_after_jitter.time_to_recovery() < retry_after.time_to_recovery());
    assert!(retry_after_jitter.time_to_recovery() > jitter.time_to_recovery());
}

#[test]
fn a_quota_makes_the_fewest_attempts_recovers_at_once_and_loses_the_most_calls() {
    let [others @ .., quota] = &*OUTCOMES;
    assert_eq!(quota.time_to_recovery(), Duration::ZERO);
    for other in others {
        assert!(quota.total_attempts() < other.total_attempts());
        assert!(quota.peak_after_outage() < other.peak_after_outage());
        assert!(quota.calls_lost > other.calls_lost);
    }
}

#[test]
fn with_a_quota_the_load_in_the_outage_stays_within_the_usual_load_after_the_first_second() {
    let [.., quota] = &*OUTCOMES;
    let usual_load = capacity(CLIENTS) / 3;
    let in_outage = &quota.attempts[1..OUTAGE.as_secs() as usize];
    assert!(in_outage.iter().sum::<u32>() < usual_load * in_outage.len() as u32);
}

#[test]
fn the_service_never_answers_beyond_its_capacity() {
    for outcome in &*OUTCOMES {
        assert!(outcome.answers.iter().all(|&answers| answers <= capacity(CLIENTS)));
    }
}

#[test]
fn one_seed_gives_the_same_numbers_whenever_it_starts() {
    assert_eq!(outcomes(SEED, Instant::now() + Duration::from_secs(1_000_000)), *OUTCOMES);
}

#[test]
fn another_seed_gives_other_numbers() {
    let other = outcomes(SEED + 1, Instant::now());
    for (outcome, other) in OUTCOMES.iter().zip(&other) {
        assert_ne!(outcome, other);
    }
}

fn outcomes(seed: u64, start: Instant) -> [Outcome; 5] {
    Scene::all().expect("the policies are valid").map(|scene| scene.run(CLIENTS, seed, start))
}

static OUTCOMES: LazyLock<[Outcome; 5]> = LazyLock::new(|| outcomes(SEED, Instant::now()));

const CLIENTS: u32 = 2000;
const SEED: u64 = 1;
