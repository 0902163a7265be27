//! Delays as pure sums: values in, a delay out. A draw is asked for only where it can change the result.

use std::time::Duration;

/// `min(initial * 2^(retry - 1), max)`, exact, for every retry number (1-based; 0 counts as 1).
#[inline]
pub(crate) fn exponential(initial: Duration, max: Duration, retry: u32) -> Duration {
    let mut doublings = retry.saturating_sub(1).min(ENOUGH_DOUBLINGS);
    let mut delay = initial;
    // A factor is a u32, so it takes at most four of them to get to the largest of all delays.
    while doublings > 0 {
        if delay >= max {
            return max;
        }
        let step = doublings.min(31);
        delay = delay.saturating_mul(1 << step);
        doublings -= step;
    }
    delay.min(max)
}

/// `delay` less up to the fraction `jitter` of it, never above `delay`: at one millisecond or more to the nearest whole
/// millisecond, below that to the nearest nanosecond. Without jitter `delay` exactly.
#[inline]
pub(crate) fn subtract_jitter(delay: Duration, jitter: f64, draw: impl FnOnce() -> f64) -> Duration {
    if jitter == 0.0 || delay.is_zero() {
        return delay;
    }
    let kept = 1.0 - draw() * jitter;
    let jittered = if delay >= MILLISECOND {
        nearest_millis(as_millis(delay) * kept)
    } else {
        Duration::try_from_secs_f64(delay.as_secs_f64() * kept).unwrap_or(delay)
    };
    jittered.min(delay)
}

/// `delay` plus up to the fraction `jitter` of it, saturating, never below `delay`. Without jitter `delay` exactly.
#[inline]
pub(crate) fn add_jitter(delay: Duration, jitter: f64, draw: impl FnOnce() -> f64) -> Duration {
    if jitter == 0.0 || delay.is_zero() {
        return delay;
    }
    let seconds = delay.as_secs_f64() * (1.0 + draw() * jitter);
    // An f64 of seconds has fewer digits than a long `Duration`: rounding alone must not make the wait shorter.
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX).max(delay)
}

/// The milliseconds of a duration, correctly rounded: the f64 that is nearest to the exact fraction.
fn as_millis(duration: Duration) -> f64 {
    // Under 2^23 seconds (97 days) the nanoseconds are exact as f64, so the division rounds once.
    if duration.as_secs() >> 23 == 0 {
        return (duration.as_secs() * 1_000_000_000 + u64::from(duration.subsec_nanos())) as f64 / 1e6;
    }
    let nanos = duration.as_nanos();
    // The quotient keeps 33 bits behind the point and, as its last bit, whether anything was cut off; the cast then
    // rounds once, and the power of two is exact. `Duration::MAX` has 94 bits of nanoseconds: the shift loses none.
    let (shifted, million) = (nanos << POINT, 1_000_000);
    let quotient = (shifted / million) | u128::from(shifted % million != 0);
    quotient as f64 / (1_u64 << POINT) as f64
}

/// The duration of `millis`, which is not negative, to the nearest whole millisecond, halves up, saturating.
#[inline]
fn nearest_millis(millis: f64) -> Duration {
    if millis < i64::MAX as f64 {
        let whole = millis as i64;
        // `f64::round` is a library call on most targets, and would cost more than most of a decision. The difference is
        // exact, and zero long before the sum could saturate.
        let half_or_more = millis - whole as f64 >= 0.5;
        return Duration::from_millis((whole as u64).saturating_add(half_or_more.into()));
    }
    // So large an f64 is a whole number, and the casts saturate.
    let millis = millis as u128;
    match u64::try_from(millis / 1000) {
        Ok(seconds) => Duration::new(seconds, (millis % 1000) as u32 * 1_000_000),
        Err(_) => Duration::MAX,
    }
}

/// The number of doublings that takes one nanosecond past `Duration::MAX`, which has a little under 2^94 of them.
pub(crate) const ENOUGH_DOUBLINGS: u32 = 94;

const MILLISECOND: Duration = Duration::from_millis(1);

/// Where [`as_millis`] puts its binary point.
const POINT: u32 = 33;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_the_nearest_f64_where_two_roundings_would_miss_it() {
        // 2^53 + 1 milliseconds lie halfway between two f64; one nanosecond more decides for the upper one.
        let halfway = Duration::from_millis((1 << 53) + 1);
        assert_eq!(as_millis(halfway), 9_007_199_254_740_992.0);
        assert_eq!(as_millis(halfway + Duration::from_nanos(1)), 9_007_199_254_740_994.0);
        // Just past 2^53 nanoseconds, where a plain division starts to round twice.
        // (The last one is just above the middle of two f64, by less than the quotient keeps.)
        for nanos in [1_500_000_001, (1 << 53) - 1, 1 << 53, (1 << 53) + 1, (1 << 53) + 3, 1 << 60, (1 << 53) + 300] {
            let text = format!("{}.{:06}", nanos / 1_000_000, nanos % 1_000_000);
            assert_eq!(as_millis(Duration::from_nanos(nanos)), text.parse::<f64>().unwrap(), "{nanos} ns");
        }
        assert_eq!(as_millis(Duration::MAX), 18_446_744_073_709_551_615_999.999_999);
    }

    #[test]
    fn milliseconds_become_the_nearest_whole_one_and_saturate() {
        assert_eq!(nearest_millis(0.0), Duration::ZERO);
        assert_eq!(nearest_millis(0.499_999_999_999_999_94), Duration::ZERO);
        assert_eq!(nearest_millis(437.5), Duration::from_millis(438));
        assert_eq!(nearest_millis(4_503_599_627_370_495.5), Duration::from_millis(1 << 52));
        assert_eq!(nearest_millis(9_223_372_036_854_775_808.0), Duration::from_millis(1 << 63));
        let two_to_64 = Duration::from_millis(u64::MAX) + MILLISECOND;
        assert_eq!(nearest_millis(18_446_744_073_709_551_616.0), two_to_64);
        assert_eq!(nearest_millis(1e300), Duration::MAX);
    }
}
