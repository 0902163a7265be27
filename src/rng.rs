//! Where draws come from: generators that are seeded or fixed by the caller.

use std::convert::Infallible;

use rand_core::{Rng, SeedableRng, TryRng, utils};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The default generator of a [`RetryMachine`](crate::RetryMachine): the same seed gives the same draws, on every
/// platform. Which draws a seed gives changes only with a major version of this crate.
///
/// It is xoshiro256++ seeded by `SplitMix64`, so that seeds that differ in one bit give unrelated draws. It is fast and
/// well spread, and not for cryptography.
///
/// ```
/// use retry_machine::SeededRng;
/// use retry_machine::rand_core::Rng;
///
/// let (mut a, mut b) = (SeededRng::new(7), SeededRng::new(7));
/// assert_eq!(a.next_u64(), b.next_u64());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeededRng(Xoshiro256PlusPlus);

impl SeededRng {
    /// A generator whose every number follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }
}

impl SeedableRng for SeededRng {
    type Seed = [u8; 32];

    fn from_seed(seed: Self::Seed) -> Self {
        Self(Xoshiro256PlusPlus::from_seed(seed))
    }

    /// The same as [`SeededRng::new`].
    fn seed_from_u64(seed: u64) -> Self {
        Self::new(seed)
    }
}

impl TryRng for SeededRng {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }

    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(dst)
    }
}

/// A generator of which every draw is the same: for tests and transcripts.
///
/// ```
/// use std::time::{Duration, Instant};
/// use retry_machine::{Decision, Event, FixedDraw, RetryHeaders, RetryMachine, RetryPolicy};
///
/// let start = Instant::now();
/// let mut machine = RetryMachine::with_rng(&RetryPolicy::default(), "GET", FixedDraw::new(0.5), start);
/// let decision = machine.decide(Event::response(503, RetryHeaders::default()), start);
/// // 500 ms less half of the default jitter, to the nearest millisecond.
/// assert_eq!(decision, Decision::RetryAfter(Duration::from_millis(438)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FixedDraw(u64);

impl FixedDraw {
    /// A generator whose every draw is `draw`, clamped to what a draw can be: [0, 1 - 2^-53], in steps of 2^-53, the
    /// fraction of a step cut off. NaN is 0.
    pub fn new(draw: f64) -> Self {
        // The cast cuts off the fraction and turns NaN, and everything below 0, into 0.
        let steps = (draw * STEPS) as u64;
        Self(steps.min(STEPS as u64 - 1) << UNUSED_BITS)
    }
}

impl TryRng for FixedDraw {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.0 >> 32) as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0)
    }

    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        utils::fill_bytes_via_next_word(dst, || self.try_next_u64())
    }
}

/// A uniform number in [0, 1) from the upper 53 bits of the generator's next word: as many as an `f64` can tell apart.
#[inline]
pub(crate) fn draw<R: Rng>(rng: &mut R) -> f64 {
    (rng.next_u64() >> UNUSED_BITS) as f64 / STEPS
}

/// How many different draws there are: 2^53.
const STEPS: f64 = (1_u64 << 53) as f64;

/// The low bits of a generator's word that a draw leaves out.
const UNUSED_BITS: u32 = 64 - 53;
