//! Properties: the crate against an independent model of its rules, and laws that need no model.
//!
//! A default run takes seconds. A million cases: `PROPTEST_CASES=1000000 cargo test --release --all-features --test properties`.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use model::retry_after::{Form, WallClock, first, read_date, requested_delay, text};
use model::transcript::{Action, Transcript, event, options, retry_headers};
use model::{Outcome, Policy};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use retry_machine::rand_core::Rng;
use retry_machine::{FixedDraw, RetryHeaders, RetryOptions, RetryPolicy};

#[allow(unreachable_pub, reason = "as in the model")]
#[path = "model/generators.rs"]
mod generators;
mod model;

proptest! {
    #![proptest_config(config(1_000))]

    /// With these laws: no start at or past the budget, no more than `max_retries`, not earlier than the server asked
    /// unless `retry_after_max` says so, a backoff within its range, a finished machine stays finished, a replay decides
    /// the same.
    #[test]
    fn a_transcript_is_decided_as_by_the_model(transcript in generators::transcript()) {
        transcript.check();
    }

    #[test]
    fn a_policy_answers_without_a_machine_as_the_model(
        policy in generators::policy(),
        method in prop::option::of(prop::sample::select(vec!["GET", "HEAD", "OPTIONS", "POST", "get"])),
        outcome in generators::outcome(),
        retry in prop_oneof![0_u32..100, any::<u32>()],
        draw in prop_oneof![Just(0.0), 0.0..=1.0, any::<f64>()],
        wall_clock in prop::option::of(generators::wall_clock()),
    ) {
        let built = RetryPolicy::new(options(&policy)).expect("within bounds");
        let built = method.map_or_else(|| built.clone(), |method| built.for_method(method));
        prop_assert_eq!(built.is_retryable(event(&outcome)), policy.refusal(&outcome, method).is_none());

        let clamped = if f64::is_nan(draw) { 0.0 } else { draw.clamp(0.0, 1.0) };
        prop_assert_eq!(built.backoff(retry, draw), policy.backoff(retry, || clamped));
        let range = policy.backoff(retry, || 1.0)..=policy.backoff(retry, || 0.0);
        prop_assert_eq!(built.backoff_range(retry), range);

        let clock = wall_clock.map_or(WallClock::NotGiven, WallClock::Shows);
        let requested = policy.requested(&outcome, clock).map(|(_, delay)| delay);
        prop_assert_eq!(
            built.delay(event(&outcome), retry, draw, wall_clock),
            policy.delay(requested, retry, || clamped)
        );
    }

    #[test]
    fn the_schedule_has_the_range_of_every_retry_and_its_total(policy in generators::policy(), last in 0_u32..300) {
        let policy = Policy { max_retries: last, ..policy };
        let built = RetryPolicy::new(options(&policy)).expect("within bounds");
        let ranges: Vec<_> =
            (1..=last).map(|retry| policy.backoff(retry, || 1.0)..=policy.backoff(retry, || 0.0)).collect();
        let total = ranges.iter().fold(Duration::ZERO, |total, range| total.saturating_add(*range.end()));
        prop_assert_eq!(built.schedule().collect::<Vec<_>>(), ranges);
        prop_assert_eq!(built.worst_case_wait(), total);
    }

    #[test]
    fn of_merged_options_the_later_win_where_they_set(
        base in generators::policy(),
        changes in generators::policy(),
        mask in any::<u16>(),
    ) {
        let base_options = options(&base);
        let built = RetryPolicy::new(&base_options).expect("within bounds");
        let expected = RetryPolicy::new(options(&overlay(&base, &changes, mask))).expect("within bounds");
        let changes = partial(&changes, mask);
        prop_assert_eq!(built.merge(&changes), Ok(expected.clone()));
        prop_assert_eq!(RetryPolicy::new(base_options.merge(changes)), Ok(expected));
    }

    #[test]
    fn merging_is_associative(
        layers in [generators::policy(), generators::policy(), generators::policy()],
        masks in any::<[u16; 3]>(),
    ) {
        let [first, second, third] = [0, 1, 2].map(|layer: usize| partial(&layers[layer], masks[layer]));
        let from_the_left = first.clone().merge(second.clone()).merge(third.clone());
        prop_assert_eq!(from_the_left, first.merge(second.merge(third)));
    }

    #[test]
    fn a_fixed_draw_is_cut_to_what_a_draw_can_be(draw in any::<f64>()) {
        let steps = 2_f64.powi(53);
        let expected = if draw.is_nan() { 0.0 } else { (draw.clamp(0.0, 1.0) * steps).floor().min(steps - 1.0) / steps };
        prop_assert_eq!(model::draw(FixedDraw::new(draw).next_u64()), expected);
    }
}

proptest! {
    #![proptest_config(config(4_000))]

    #[test]
    fn headers_ask_for_what_the_model_reads(
        headers in generators::headers(),
        wall_clock in prop::option::of(generators::wall_clock()),
    ) {
        let clock = wall_clock.map_or(WallClock::NotGiven, WallClock::Shows);
        let expected = requested_delay(&headers, clock).map(|(_, delay)| delay);
        prop_assert_eq!(retry_headers(&headers).requested_delay(wall_clock), expected);
        let by_name = RetryHeaders::from_fn(|name| first(&headers, name));
        prop_assert_eq!(by_name.requested_delay(wall_clock), expected);
    }
}

#[cfg(feature = "serde")]
proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn options_are_read_back_as_they_were_written(policy in generators::policy(), mask in any::<u16>()) {
        let options = partial(&policy, mask);
        let durations = [
            (1, policy.backoff_initial),
            (2, policy.backoff_max),
            (7, policy.retry_after_min),
            (8, policy.retry_after_max),
            (14, policy.budget.unwrap_or_default()),
        ];
        let is_set = |option: u32| mask & 1 << option != 0;
        let is_whole = |delay: Duration| delay.subsec_nanos() % 1_000_000 == 0 && delay.as_millis() <= u64::MAX.into();
        let can_be_written = durations.iter().all(|(option, delay)| !is_set(*option) || is_whole(*delay));
        match serde_json::to_string(&options) {
            Ok(written) => {
                prop_assert!(can_be_written, "{} rounds", written);
                prop_assert_eq!(serde_json::from_str::<RetryOptions>(&written).expect(&written), options);
            }
            Err(error) => prop_assert!(!can_be_written, "{}", error),
        }
    }
}

/// If the generators missed something, the properties would prove nothing about it.
#[test]
fn the_generators_reach_every_reason_and_every_form_of_a_date() {
    const TRANSCRIPTS: u32 = 1_000;
    let (mut runner, strategy) = (TestRunner::deterministic(), generators::transcript());
    let mut transcripts_with = BTreeMap::new();
    for _ in 0..TRANSCRIPTS {
        let transcript = strategy.new_tree(&mut runner).expect("nothing is rejected").current();
        let mut seen: Vec<String> = transcript.check().iter().map(|reason| reason.name().to_owned()).collect();
        seen.extend(dates(&transcript).iter().map(|form| format!("{form:?}")));
        seen.sort();
        seen.dedup();
        for name in seen {
            *transcripts_with.entry(name).or_insert(0) += 1;
        }
    }
    let reasons = [
        "server_delay",
        "backoff",
        "status_not_retryable",
        "error_not_retryable",
        "server_refused",
        "retries_exhausted",
        "server_delay_too_long",
        "budget_exhausted",
        "quota_exhausted",
    ];
    let forms = [Form::ImfFixdate, Form::Rfc850, Form::Asctime].map(|form| format!("{form:?}"));
    let percent = |name: &str| f64::from(*transcripts_with.get(name).unwrap_or(&0)) * 100.0 / f64::from(TRANSCRIPTS);
    for reason in reasons {
        assert!(percent(reason) >= 2.0, "{reason}: {}", percent(reason));
    }
    for form in &forms {
        assert!(percent(form) >= 1.0, "{form}: {}", percent(form));
    }
    assert_eq!(transcripts_with.len(), reasons.len() + forms.len(), "{transcripts_with:?}");
}

/// The forms of the dates that a machine of the transcript measures a delay by.
fn dates(transcript: &Transcript) -> Vec<Form> {
    let outcomes = transcript.steps.iter().filter_map(|step| match &step.action {
        Action::Decide(Outcome::Response { headers, .. }) => {
            Some((transcript.calls[step.call % transcript.calls.len()].wall_clock, headers))
        }
        _ => None,
    });
    let usable = outcomes.filter(|(wall_clock, headers)| {
        let clock = wall_clock.map_or(WallClock::NotGiven, WallClock::Shows);
        matches!(requested_delay(headers, clock), Some((retry_machine::DelaySource::RetryAfterDate, _)))
    });
    let values = usable.filter_map(|(_, headers)| first(headers, "retry-after").and_then(text).and_then(read_date));
    values.map(|date| date.form).collect()
}

#[test]
fn the_defaults_are_those_of_the_model() {
    assert_eq!(Ok(RetryPolicy::default()), RetryPolicy::new(options(&Policy::default())));
    assert_eq!(Ok(RetryPolicy::default()), RetryPolicy::new(RetryOptions::default()));
}

/// Found by the property of the transcripts.
#[test]
fn a_two_digit_year_that_is_no_number_is_unusable() {
    let value = "Tuesday, 01-Dec-a6 00:00:00 GMT";
    let headers = &[("retry-after", value)];
    assert_eq!(RetryHeaders::from_pairs(headers).requested_delay(Some(UNIX_EPOCH)), None);
}

/// Of the options in the order of [`Policy`]'s fields, those whose bit is set.
fn partial(policy: &Policy, mask: u16) -> RetryOptions {
    type Setter = fn(RetryOptions, &Policy) -> RetryOptions;
    let setters: [Setter; 15] = [
        |options, policy| options.max_retries(policy.max_retries),
        |options, policy| options.backoff_initial(policy.backoff_initial),
        |options, policy| options.backoff_max(policy.backoff_max),
        |options, policy| options.backoff_jitter(policy.backoff_jitter),
        |options, policy| options.statuses(policy.statuses.iter().copied()),
        |options, policy| match &policy.unsafe_statuses {
            Some(statuses) => options.unsafe_statuses(statuses.iter().copied()),
            None => options.same_unsafe_statuses(),
        },
        |options, policy| options.respect_retry_after(policy.respect_retry_after),
        |options, policy| options.retry_after_min(policy.retry_after_min),
        |options, policy| options.retry_after_max(policy.retry_after_max),
        |options, policy| options.retry_after_excess(policy.retry_after_excess),
        |options, policy| options.retry_after_jitter(policy.retry_after_jitter),
        |options, policy| options.respect_should_retry(policy.respect_should_retry),
        |options, policy| options.retry_connection_errors(policy.retry_connection_errors),
        |options, policy| options.retry_timeout_errors(policy.retry_timeout_errors),
        |options, policy| match policy.budget {
            Some(budget) => options.budget(budget),
            None => options.no_budget(),
        },
    ];
    let set = setters.iter().enumerate().filter(|(option, _)| mask & 1 << option != 0);
    set.fold(RetryOptions::default(), |options, (_, setter)| setter(options, policy))
}

/// The base, but for the options whose bit is set: they are as in the changes.
fn overlay(base: &Policy, changes: &Policy, mask: u16) -> Policy {
    let of = |option: u32| if mask & 1 << option == 0 { base } else { changes };
    Policy {
        max_retries: of(0).max_retries,
        backoff_initial: of(1).backoff_initial,
        backoff_max: of(2).backoff_max,
        backoff_jitter: of(3).backoff_jitter,
        statuses: of(4).statuses.clone(),
        unsafe_statuses: of(5).unsafe_statuses.clone(),
        respect_retry_after: of(6).respect_retry_after,
        retry_after_min: of(7).retry_after_min,
        retry_after_max: of(8).retry_after_max,
        retry_after_excess: of(9).retry_after_excess,
        retry_after_jitter: of(10).retry_after_jitter,
        respect_should_retry: of(11).respect_should_retry,
        retry_connection_errors: of(12).retry_connection_errors,
        retry_timeout_errors: of(13).retry_timeout_errors,
        budget: of(14).budget,
    }
}

/// So many cases, unless the environment says otherwise. A failure is kept as a named test, not as a seed.
fn config(cases: u32) -> ProptestConfig {
    let default = ProptestConfig { failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() { default } else { ProptestConfig { cases, ..default } }
}
