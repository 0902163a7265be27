//! Draws: which numbers a generator gives, and when the machine takes one.

mod common;

use std::convert::Infallible;
use std::time::Duration;

use common::{Call, ms, policy, response, secs, status};
use retry_machine::rand_core::{Rng, SeedableRng, TryRng};
use retry_machine::{
    Decision, ErrorKind, Event, FixedDraw, RetryAfterExcess, RetryMachine, RetryOptions, RetryPolicy, SeededRng,
};

#[test]
fn which_draw_a_seed_gives_is_part_of_the_contract() {
    assert_eq!(draw_of(&mut SeededRng::new(0)), 0.324_575_268_031_406_7);
    assert_eq!(draw_of(&mut SeededRng::new(1)), 0.811_612_158_881_884_8);
    assert_eq!(SeededRng::seed_from_u64(7), SeededRng::new(7));
    assert_ne!(SeededRng::from_seed([1; 32]), SeededRng::new(1));
}

// RB-070: cenkalti/backoff#41
#[test]
fn a_seed_settles_the_whole_sequence_and_another_seed_gives_another() {
    let sequence = |seed| {
        let mut call = Call::with_rng(&policy(RetryOptions::default().max_retries(8)), "GET", SeededRng::new(seed));
        [(); 8].map(|()| call.at(Duration::ZERO, status(503)).decision)
    };
    assert_eq!(sequence(7), sequence(7));
    assert_ne!(sequence(7)[0], sequence(8)[0]);

    // `new` takes the seed itself.
    let call = Call::new(&RetryPolicy::default(), "GET");
    let mut machine = RetryMachine::new(&policy(RetryOptions::default().max_retries(8)), "GET", 7, call.start);
    assert_eq!(machine.decide(status(503), call.start), sequence(7)[0]);
}

#[test]
fn a_draw_is_the_upper_53_bits_of_a_word() {
    // So long a delay that its milliseconds show the last bit of a draw.
    let options = RetryOptions::default().backoff_jitter(1.0).backoff_initial(ms(1 << 60)).backoff_max(Duration::MAX);
    let policy = policy(options.no_budget());
    for (word, left) in [
        (0, 1 << 60),
        ((1 << 11) - 1, 1 << 60),
        (1 << 11, (1 << 60) - (1 << 7)),
        (1 << 63, 1 << 59),
        (3 << 62, 1 << 58),
        (u64::MAX, 1 << 7),
    ] {
        Call::with_rng(&policy, "GET", Words { word, taken: 0 }).at(Duration::ZERO, status(503)).waits(ms(left));
    }
}

#[test]
fn a_fixed_draw_is_clamped_and_cut_to_what_a_draw_can_be() {
    let step = 1.0 / (1_u64 << 53) as f64;
    for (given, draw) in [
        (0.5, 0.5),
        (0.3, 0.3 - step / 2.0),
        (step, step),
        (step * 1.9, step),
        (step * 0.9, 0.0),
        (1.0 - step, 1.0 - step),
        (1.0, 1.0 - step),
        (f64::INFINITY, 1.0 - step),
        (-0.1, 0.0),
        (f64::NEG_INFINITY, 0.0),
        (f64::NAN, 0.0),
    ] {
        let mut rng = FixedDraw::new(given);
        assert_eq!((draw_of(&mut rng), draw_of(&mut rng)), (draw, draw), "{given}");
    }
}

#[test]
fn both_generators_give_words_and_bytes_of_the_same_stream() {
    assert_eq!(FixedDraw::new(0.5).next_u32(), 1 << 31);
    let mut bytes = [0; 12];
    FixedDraw::new(0.5).fill_bytes(&mut bytes);
    assert_eq!(bytes, [0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0]);

    let mut bytes = [0; 8];
    SeededRng::new(7).fill_bytes(&mut bytes);
    assert_eq!(u64::from_le_bytes(bytes), SeededRng::new(7).next_u64());
    assert_eq!(u64::from(SeededRng::new(7).next_u32()), SeededRng::new(7).next_u64() >> 32);
}

#[test]
fn a_draw_is_taken_only_where_jitter_meets_a_delay() {
    let (none, busy) = (RetryOptions::default(), response(503, &[("Retry-After", "5")]));
    let spread = none.clone().retry_after_jitter(0.5);
    for (taken, options, event) in [
        (1, none.clone(), status(503)),
        (0, none.clone().backoff_jitter(0.0), status(503)),
        (0, none.clone().backoff_jitter(-0.0), status(503)),
        (0, none.clone().backoff_initial(Duration::ZERO), status(503)),
        (0, none.clone().backoff_max(Duration::ZERO), status(503)),
        (0, none.clone(), busy),
        (1, spread.clone(), busy),
        (0, spread.clone().retry_after_max(Duration::ZERO), busy),
        (1, none.clone().respect_retry_after(false), busy),
        // A decision that is taken before the delay is settled takes none either; by the budget, it is settled.
        (0, none.clone(), status(200)),
        (0, none.clone(), ErrorKind::Other.into()),
        (0, none.clone().max_retries(0), status(503)),
        (0, spread.retry_after_max(secs(4)).retry_after_excess(RetryAfterExcess::GiveUp), busy),
        (1, none.budget(Duration::ZERO), status(503)),
    ] {
        assert_eq!(draws_taken(&options, event), taken, "{options:?}, {event:?}");
    }
}

#[test]
fn a_transcript_replays_to_the_same_decisions_for_a_clone_too() {
    let mut call = Call::with_rng(&policy(RetryOptions::default().max_retries(9)), "GET", SeededRng::new(1));
    call.at(Duration::ZERO, status(503)).waits(ms(399));
    let mut clone = call.machine.clone();
    for at in [ms(500), secs(2), secs(5)] {
        let decision = call.at(at, status(503)).decision;
        assert_eq!(clone.decide(status(503), call.start + at), decision);
        assert_ne!(decision, Decision::GiveUp);
    }
}

/// The draw as the contract has it.
fn draw_of(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * 2_f64.powi(-53)
}

#[track_caller]
fn draws_taken(options: &RetryOptions, event: Event<'_>) -> u32 {
    let mut rng = Words { word: 1 << 63, taken: 0 };
    let _ = Call::with_rng(&policy(options.clone()), "GET", &mut rng).at(Duration::ZERO, event);
    rng.taken
}

/// A generator that gives one word and counts how often it was asked.
struct Words {
    word: u64,
    taken: u32,
}

impl TryRng for Words {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("a draw is made of a whole word")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.taken += 1;
        Ok(self.word)
    }

    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("a draw is made of a whole word")
    }
}
