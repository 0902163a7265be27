//! Which HTTP status codes are retried: a set, read only from outside.

use std::fmt;
use std::ops::RangeInclusive;

/// A set of HTTP status codes, each from 100 to 999.
///
/// Read only: it comes out of [`RetryPolicy::statuses`](crate::RetryPolicy::statuses), and goes back in, changed or not,
/// as any iterator of codes through [`RetryOptions::statuses`](crate::RetryOptions::statuses).
///
/// ```
/// use retry_machine::{RetryOptions, RetryPolicy};
///
/// let statuses = RetryPolicy::default().statuses();
/// assert!(statuses.contains(503) && !statuses.contains(404));
///
/// let with_409 = RetryOptions::default().statuses(statuses.iter().chain([409]));
/// assert!(RetryPolicy::new(with_409)?.statuses().contains(409));
/// # Ok::<(), retry_machine::PolicyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StatusSet([u64; WORDS]);

impl StatusSet {
    /// Whether `code` is in the set. A code outside 100..=999 never is.
    #[inline]
    pub fn contains(&self, code: u16) -> bool {
        position(code).is_some_and(|(word, bit)| self.0.get(word).is_some_and(|bits| bits & bit != 0))
    }

    /// The codes of the set in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u16> + use<> {
        let set = *self;
        CODES.filter(move |code| set.contains(*code))
    }

    /// The statuses that are retried by default: 408, 429 and 500 to 599, as both reference implementations have it.
    pub(crate) const DEFAULT: Self = {
        let mut words = [0; WORDS];
        let mut code = *CODES.start();
        while let Some((word, bit)) = position(code) {
            if matches!(code, 408 | 429 | 500..=599) {
                words[word] |= bit;
            }
            code += 1;
        }
        Self(words)
    };

    /// The set of `codes`, or the first code that is outside [`CODES`].
    pub(crate) fn collect(codes: impl IntoIterator<Item = u16>) -> Result<Self, u16> {
        let mut set = Self([0; WORDS]);
        for code in codes {
            let slot = position(code).and_then(|(word, bit)| Some((set.0.get_mut(word)?, bit)));
            let (bits, bit) = slot.ok_or(code)?;
            *bits |= bit;
        }
        Ok(set)
    }

    /// The codes of the set as the fewest ascending ranges.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = RangeInclusive<u16>> + use<> {
        let mut codes = self.iter().peekable();
        std::iter::from_fn(move || {
            let first = codes.next()?;
            let mut last = first;
            while let Some(code) = codes.next_if_eq(&(last + 1)) {
                last = code;
            }
            Some(first..=last)
        })
    }
}

/// The set in its shortest form: `{408, 429, 500-599}`.
impl fmt::Debug for StatusSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut set = f.debug_set();
        for range in self.ranges() {
            if range.start() == range.end() {
                set.entry(range.start());
            } else {
                set.entry(&format_args!("{}-{}", range.start(), range.end()));
            }
        }
        set.finish()
    }
}

/// Every code that a set can hold: three digits, the first of them not 0 (RFC 9110, 15).
pub(crate) const CODES: RangeInclusive<u16> = 100..=999;

const WORDS: usize = (*CODES.end() - *CODES.start()) as usize / 64 + 1;

/// The word and the bit of a code, if it is one of [`CODES`].
#[inline]
const fn position(code: u16) -> Option<(usize, u64)> {
    if code < *CODES.start() || code > *CODES.end() {
        return None;
    }
    let index = code - *CODES.start();
    Some(((index / 64) as usize, 1 << (index % 64)))
}
