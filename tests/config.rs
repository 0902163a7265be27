//! Options as configuration: what is read, and what is written.

#![cfg(feature = "serde")]

mod common;

use std::time::Duration;

use common::{ms, policy, secs};
use retry_machine::{Replay, RetryAfterExcess, RetryOptions, RetryPolicy};
use serde::de::IntoDeserializer;
use serde::de::value::{Error, MapDeserializer};
use serde::{Deserialize, Serialize};

#[test]
fn every_option_is_read_under_its_name() {
    let every = read(EVERY_OPTION);
    assert_eq!(every, every_option());
}

#[test]
fn every_option_is_written_as_it_is_read() {
    let compact: String = EVERY_OPTION.split_whitespace().collect();
    assert_eq!(written(&every_option()), compact);
    assert_eq!(written(&RetryOptions::default()), "{}");
    assert_eq!(written(&RetryOptions::default().no_budget()), r#"{"budget":null}"#);
    assert_eq!(written(&RetryOptions::default().same_unsafe_statuses()), r#"{"unsafe_statuses":"same"}"#);
    let toggles = RetryOptions::default().retry_connection_errors(Replay::Auto).retry_timeout_errors(false);
    assert_eq!(written(&toggles), r#"{"retry_connection_errors":"auto","retry_timeout_errors":false}"#);
}

#[test]
fn what_is_absent_stays_unset() {
    assert_eq!(read("{}"), RetryOptions::default());
    let base = policy(RetryOptions::default().max_retries(5).no_budget());
    let merged = base.merge(read(r#"{"backoff_jitter": 0}"#)).expect("valid");
    assert_eq!((merged.max_retries(), merged.budget(), merged.backoff_jitter()), (5, None, 0.0));
}

#[test]
fn a_policy_is_read_over_the_defaults_and_written_whole() {
    let read: RetryPolicy = serde_json::from_str(r#"{"max_retries": 5}"#).expect("valid");
    assert_eq!(read, policy(RetryOptions::default().max_retries(5)));
    for policy in [RetryPolicy::default(), policy(every_option()), policy(RetryOptions::default().no_budget())] {
        let text = written(&policy);
        assert_eq!(serde_json::from_str::<RetryPolicy>(&text).expect("valid"), policy, "{text}");
        assert_eq!(self::read(&text), RetryOptions::from(&policy), "{text}");
        // The marked method is no option.
        assert_eq!(written(&policy.for_method("GET")), text);
    }
}

#[test]
fn a_count_above_what_can_be_counted_is_the_largest() {
    for count in ["4294967295", "4294967296", "18446744073709551615"] {
        let text = format!(r#"{{"max_retries": {count}}}"#);
        assert_eq!(read(&text), RetryOptions::default().max_retries(u32::MAX), "{count}");
    }
}

#[test]
fn no_limit_is_null_or_none_and_the_same_statuses_are_null_or_same() {
    for text in [r#"{"budget": null}"#, r#"{"budget": "none"}"#] {
        assert_eq!(read(text), RetryOptions::default().no_budget(), "{text}");
    }
    for text in [r#"{"unsafe_statuses": null}"#, r#"{"unsafe_statuses": "same"}"#] {
        assert_eq!(read(text), RetryOptions::default().same_unsafe_statuses(), "{text}");
    }
}

#[test]
fn whole_fractions_may_be_integers() {
    let ones = read(r#"{"backoff_jitter": 1, "retry_after_jitter": 0}"#);
    assert_eq!(ones, RetryOptions::default().backoff_jitter(1.0).retry_after_jitter(0.0));
}

// RB-103: PaddleHQ/paddle-python-sdk#157
#[test]
fn statuses_are_codes_and_ranges_and_come_back_as_the_fewest() {
    for (given, codes, back) in [
        ("[]", vec![], "[]"),
        (r#"[429, "503-503", 408]"#, vec![408, 429, 503], "[408,429,503]"),
        (r#"["500-502", 503, "502-504", 503]"#, (500..=504).collect(), r#"["500-504"]"#),
        (r#"["100-999"]"#, (100..=999).collect(), r#"["100-999"]"#),
        (r#"["100-101", "998-999"]"#, vec![100, 101, 998, 999], r#"["100-101","998-999"]"#),
    ] {
        let options = read(&format!(r#"{{"statuses": {given}}}"#));
        assert!(policy(options.clone()).statuses().iter().eq(codes), "{given}");
        assert_eq!(written(&options), format!(r#"{{"statuses":{back}}}"#));
    }
    for code in 100..=999_u16 {
        let text = format!(r#"{{"statuses":[{code}]}}"#);
        assert_eq!(written(&read(&text)), text);
    }
}

#[test]
fn durations_reach_from_zero_to_the_largest_count_of_milliseconds() {
    for millis in [0, 1, 1 << 53, (1 << 53) + 1, u64::MAX] {
        let text = format!(r#"{{"budget":{millis}}}"#);
        assert_eq!(read(&text), RetryOptions::default().budget(ms(millis)));
        assert_eq!(written(&RetryOptions::default().budget(ms(millis))), text);
    }
}

#[test]
fn options_can_be_a_part_of_a_larger_configuration() {
    #[derive(Debug, Deserialize, PartialEq, Serialize)]
    struct Client {
        name: String,
        #[serde(default)]
        retry: RetryOptions,
    }
    let given = r#"{"name":"billing","retry":{"max_retries":5,"budget":null}}"#;
    let client: Client = serde_json::from_str(given).expect("valid");
    assert_eq!(client.retry, RetryOptions::default().max_retries(5).no_budget());
    assert_eq!(written(&client), given);
    let client: Client = serde_json::from_str(r#"{"name":"billing"}"#).expect("valid");
    assert_eq!(client.retry, RetryOptions::default());
}

#[test]
fn a_format_without_null_has_words_for_it() {
    let text =
        "budget = \"none\"\nunsafe_statuses = \"same\"\nretry_timeout_errors = true\nstatuses = [429, \"500-599\"]";
    let options: RetryOptions = toml::from_str(text).expect("valid");
    let statuses = [429].into_iter().chain(500..=599);
    let expected = RetryOptions::default().no_budget().same_unsafe_statuses().retry_timeout_errors(true);
    assert_eq!(options, expected.statuses(statuses));
    let written = toml::to_string(&every_option()).expect("nothing of it is null");
    assert_eq!(toml::from_str::<RetryOptions>(&written).expect("valid"), every_option());
    let policy = RetryPolicy::default();
    let written = toml::to_string(&policy).expect("nothing of it is null");
    assert_eq!(toml::from_str::<RetryPolicy>(&written).expect("valid"), policy);
    // Left out, it would be read back as unset.
    assert!(toml::to_string(&RetryOptions::default().no_budget()).is_err());
}

#[test]
fn numbers_of_any_width_are_read() {
    assert_eq!(read_value("max_retries", 7_u8), Ok(RetryOptions::default().max_retries(7)));
    assert_eq!(read_value("max_retries", 7_i64), Ok(RetryOptions::default().max_retries(7)));
    assert_eq!(read_value("backoff_jitter", 0.5_f32), Ok(RetryOptions::default().backoff_jitter(0.5)));
}

#[test]
fn a_float_is_read_where_serde_json_keeps_it_as_text() {
    // So it delivers 0.5 if any crate of the build turns on its feature `arbitrary_precision`.
    let text = r#"{"backoff_jitter": {"$serde_json::private::Number": "0.5"}}"#;
    assert_eq!(read(text), RetryOptions::default().backoff_jitter(0.5));
}

/// Each option with a value that is not its default.
const EVERY_OPTION: &str = r#"{
    "max_retries": 3,
    "backoff_initial": 250,
    "backoff_max": 8000,
    "backoff_jitter": 0.5,
    "statuses": [408, 429, "500-504"],
    "unsafe_statuses": [429],
    "respect_retry_after": false,
    "retry_after_min": 0,
    "retry_after_max": 120000,
    "retry_after_excess": "give_up",
    "retry_after_jitter": 0.1,
    "respect_should_retry": true,
    "retry_connection_errors": true,
    "retry_timeout_errors": false,
    "budget": 60000
}"#;

/// The options of [`EVERY_OPTION`].
fn every_option() -> RetryOptions {
    RetryOptions::default()
        .max_retries(3)
        .backoff_initial(ms(250))
        .backoff_max(secs(8))
        .backoff_jitter(0.5)
        .statuses([408, 429, 500, 501, 502, 503, 504])
        .unsafe_statuses([429])
        .respect_retry_after(false)
        .retry_after_min(Duration::ZERO)
        .retry_after_max(secs(120))
        .retry_after_excess(RetryAfterExcess::GiveUp)
        .retry_after_jitter(0.1)
        .respect_should_retry(true)
        .retry_connection_errors(true)
        .retry_timeout_errors(false)
        .budget(secs(60))
}

#[track_caller]
fn read(text: &str) -> RetryOptions {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[track_caller]
fn written(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("it can be written")
}

/// Reads one option as a format delivers it that has numbers of this type.
fn read_value<'de>(name: &'static str, value: impl IntoDeserializer<'de, Error>) -> Result<RetryOptions, Error> {
    RetryOptions::deserialize(MapDeserializer::new([(name, value)].into_iter()))
}
