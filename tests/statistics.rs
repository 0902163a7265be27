//! The statistics of the jitter, over seeds that differ in their low bits alone, as those of a fleet that counts up may.
//!
//! Everything here is deterministic: a test that passes once passes always. Each threshold is the value that a truly
//! uniform and independent source would pass with probability 0.001.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use retry_machine::{Decision, Event, RetryHeaders, RetryMachine, RetryOptions, RetryPolicy};

/// How many neighbouring seeds are looked at.
const SEEDS: u32 = 10_000;

/// Where rows of neighbouring seeds start. The last row wraps around.
const ROWS: [u64; 4] = [0, 1 << 32, 0x0123_4567_89AB_0000, u64::MAX - 5_000];

/// Which draw a seed gives is a public contract: recorded transcripts are replayed by it. The values are those of
/// xoshiro256++ seeded by `SplitMix64`, worked out apart from this crate and its dependencies.
#[test]
fn a_seed_gives_its_pinned_draws() {
    let pinned = [
        (0, [0.324_575_268_031_406_7, 0.382_239_296_511_673_43, 0.359_617_207_647_355_3]),
        (1, [0.811_612_158_881_884_8, 0.747_104_716_158_218_7, 0.100_150_903_533_783_75]),
        (2, [0.765_235_276_126_777, 0.537_162_707_098_335_6, 0.651_291_558_875_231_3]),
        (3, [0.051_451_418_949_999_83, 0.647_917_546_199_268_2, 0.867_014_065_945_923_1]),
        (42, [0.814_305_145_122_909_9, 0.318_821_040_061_661_1, 0.983_894_168_177_488_8]),
        (9_999, [0.184_325_632_382_108_75, 0.583_551_871_367_370_3, 0.080_429_896_916_736_3]),
        (1 << 32, [0.399_781_283_626_102_55, 0.296_431_289_529_951_57, 0.431_948_672_153_082_2]),
        (1 << 63, [0.855_133_490_517_781_8, 0.711_227_947_420_984_6, 0.981_397_450_615_898_7]),
        (u64::MAX, [0.339_065_123_018_877_03, 0.900_475_040_818_812_8, 0.890_284_874_593_908_8]),
    ];
    for (seed, expected) in pinned {
        assert_eq!(draws(seed), expected, "seed {seed}");
    }
}

#[test]
fn first_draws_of_neighbouring_seeds_are_uniform() {
    for row in ROWS {
        let mut draws = first_draws(row);
        // Pearson's chi-square over 100 equal classes: 148.23 for 99 degrees of freedom.
        let mut classes = [0_u32; 100];
        for draw in &draws {
            classes[(draw * 100.0) as usize] += 1;
        }
        let expected = f64::from(SEEDS) / 100.0;
        let chi_square: f64 = classes.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
        assert!(chi_square < 148.23, "chi-square {chi_square} from seed {row}");

        // Kolmogorov-Smirnov: 1.95 / sqrt(n).
        draws.sort_by(f64::total_cmp);
        let distance = (0..SEEDS).zip(&draws).map(|(rank, draw)| {
            let (below, up_to) = (f64::from(rank) / f64::from(SEEDS), f64::from(rank + 1) / f64::from(SEEDS));
            (draw - below).max(up_to - draw)
        });
        let distance = distance.fold(0.0, f64::max);
        assert!(distance < 1.95 / f64::from(SEEDS).sqrt(), "distance {distance} from seed {row}");
    }
}

#[test]
fn draws_of_neighbouring_seeds_and_of_one_seed_are_uncorrelated() {
    // Pearson's coefficient: 3.29 / sqrt(n).
    let bound = 3.29 / f64::from(SEEDS).sqrt();
    for row in ROWS {
        let draws: Vec<[f64; 3]> = seeds(row).map(draws).collect();
        let first: Vec<f64> = draws.iter().map(|draws| draws[0]).collect();
        for distance in [1, 2, 4, 8, 16, 64, 256, 1_024] {
            let neighbours = correlation(&first[distance..], &first[..first.len() - distance]);
            assert!(neighbours.abs() < bound, "{neighbours} at {distance} from seed {row}");
        }
        for (earlier, later) in [(0, 1), (1, 2), (0, 2)] {
            let pick = |draw: usize| draws.iter().map(|draws| draws[draw]).collect::<Vec<f64>>();
            let within = correlation(&pick(earlier), &pick(later));
            assert!(within.abs() < bound, "{within} between draws {earlier} and {later} from seed {row}");
        }
    }
}

/// Jitter at the cap spreads over its whole range, and no delay is a favourite.
#[test]
fn backoffs_at_the_cap_fill_the_range_of_the_jitter() {
    // A cap of 5 s and a jitter of a quarter: the delays are the 1251 whole milliseconds from 3750 to 5000.
    let policy = RetryPolicy::new(RetryOptions::default().backoff_initial(Duration::from_secs(5))).expect("valid");
    let millis: Vec<u128> = seeds(0).map(|seed| delays::<1>(&policy, seed)[0].as_millis()).collect();

    let (earliest, latest) = (*millis.iter().min().expect("many"), *millis.iter().max().expect("many"));
    assert!((3_750..=3_755).contains(&earliest), "earliest {earliest} ms");
    assert!((4_995..=5_000).contains(&latest), "latest {latest} ms");

    // 125 buckets hold 80 delays each on average; the standard deviation is 9, and no bucket is off by five of them.
    let mut buckets = [0_u32; 125];
    // Each millisecond holds 8 on average.
    let mut repeats = BTreeMap::new();
    for delay in millis {
        buckets[usize::try_from((delay - 3_750) / 10).expect("small").min(124)] += 1;
        *repeats.entry(delay).or_insert(0_u32) += 1;
    }
    assert!(buckets.iter().all(|count| (35..=125).contains(count)), "{buckets:?}");
    let most = repeats.values().max().expect("many");
    assert!(*most < SEEDS / 100, "one delay comes {most} times");
}

fn seeds(row: u64) -> impl Iterator<Item = u64> {
    (0..SEEDS).map(move |seed| row.wrapping_add(seed.into()))
}

fn first_draws(row: u64) -> Vec<f64> {
    seeds(row).map(|seed| draws(seed)[0]).collect()
}

/// The first draws of a machine, exactly: with full jitter, a backoff of 2^53 ms less its draw is a whole number of them.
fn draws(seed: u64) -> [f64; 3] {
    let full = 1_u64 << 53;
    let options = RetryOptions::default()
        .max_retries(3)
        .backoff_initial(Duration::from_millis(full))
        .backoff_max(Duration::from_millis(full))
        .backoff_jitter(1.0)
        .no_budget();
    let policy = RetryPolicy::new(options).expect("valid");
    delays(&policy, seed).map(|delay| (u128::from(full) - delay.as_millis()) as f64 / full as f64)
}

/// The first backoffs of a machine.
fn delays<const N: usize>(policy: &RetryPolicy, seed: u64) -> [Duration; N] {
    let now = Instant::now();
    let mut machine = RetryMachine::new(policy, "GET", seed, now);
    [(); N].map(|()| match machine.decide(Event::response(503, RetryHeaders::default()), now) {
        Decision::RetryAfter(delay) => delay,
        Decision::GiveUp => panic!("{:?}", machine.reason()),
    })
}

/// Pearson's coefficient of two rows of equal length.
fn correlation(left: &[f64], right: &[f64]) -> f64 {
    let mean = |row: &[f64]| row.iter().sum::<f64>() / row.len() as f64;
    let (left_mean, right_mean) = (mean(left), mean(right));
    let product = |row: &[f64], mean: f64, other: &[f64], other_mean: f64| {
        row.iter().zip(other).map(|(a, b)| (a - mean) * (b - other_mean)).sum::<f64>()
    };
    let spread = product(left, left_mean, left, left_mean) * product(right, right_mean, right, right_mean);
    product(left, left_mean, right, right_mean) / spread.sqrt()
}
