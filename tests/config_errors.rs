//! Configuration that is refused: each error names the option, what was found and what is expected.

#![cfg(feature = "serde")]

mod common;

use std::time::Duration;

use common::ms;
use retry_machine::{RetryOptions, RetryPolicy};

#[test]
fn a_duration_is_whole_milliseconds_that_are_not_negative() {
    for option in ["backoff_initial", "backoff_max", "retry_after_min", "retry_after_max", "budget"] {
        for bad in ["-1", "500.0", "0.5", "1e3", "18446744073709551616", "\"500\"", "true", "[500]"] {
            assert_refused(option, bad, "milliseconds as an integer from 0 to 18446744073709551615");
        }
    }
    assert_refused("budget", "\"None\"", "or null or \"none\" for no limit");
}

#[test]
fn a_count_is_a_whole_number_that_is_not_negative() {
    for bad in ["-1", "2.0", "1e2", "18446744073709551616", "\"2\"", "false", "[]"] {
        assert_refused("max_retries", bad, "an integer from 0 to 18446744073709551615");
    }
}

#[test]
fn a_fraction_is_a_number_from_0_to_1() {
    for option in ["backoff_jitter", "retry_after_jitter"] {
        for bad in ["-0.1", "1.5", "2", "-1", "1e300", "\"0.5\"", "true", "[0.5]"] {
            assert_refused(option, bad, "a number from 0 to 1");
        }
        for (bad, found) in [("nan", "NaN"), ("inf", "inf"), ("-inf", "-inf")] {
            let error = toml::from_str::<RetryOptions>(&format!("{option} = {bad}")).unwrap_err().to_string();
            assert!(error.contains(&format!("`{option}`: found {found}, expected a number from 0 to 1")), "{error}");
        }
    }
}

// RB-103: PaddleHQ/paddle-python-sdk#157
#[test]
fn a_status_is_a_code_or_an_ascending_range_of_three_digits() {
    for option in ["statuses", "unsafe_statuses"] {
        let expected = "a list of statuses from 100 to 999 and of ascending ranges such as \"500-599\"";
        for bad in ["503", "true", "\"500-599\""] {
            assert_refused(option, bad, expected);
        }
        let codes = "0; 99; 1000; 66036; -500; 500.0; null; true; [500]";
        let ranges = r#""500"; "599-500"; "500 - 599"; " 500-599"; "99-200"; "099-200"; "0500-0599"; "0500-599"; "500-0599"; "500-1000"; "+50-599"; "5xx"; "500-"; """#;
        for bad in codes.split("; ").chain(ranges.split("; ")) {
            let error = refusal(&format!(r#"{{"{option}": [429, {bad}]}}"#));
            assert!(error.contains(&format!("`{option}`: found {bad}, expected {expected}")), "{error}");
        }
    }
}

#[test]
fn a_switch_is_true_or_false_and_a_word_is_one_of_those_it_may_be() {
    for bad in ["1", "0", "\"true\"", "\"auto\"", "[]"] {
        assert_refused("respect_retry_after", bad, "true or false");
        assert_refused("respect_should_retry", bad, "true or false");
    }
    for bad in ["1", "\"true\"", "\"Auto\"", "\"always\"", "[]"] {
        assert_refused("retry_connection_errors", bad, "true, false or \"auto\"");
        assert_refused("retry_timeout_errors", bad, "true, false or \"auto\"");
    }
    for bad in ["true", "\"Clamp\"", "\"give up\"", "60000"] {
        assert_refused("retry_after_excess", bad, "\"clamp\" or \"give_up\"");
    }
    assert_refused("unsafe_statuses", "\"Same\"", "or null or \"same\" for those of `statuses`");
}

#[test]
fn null_is_refused_but_for_the_two_options_that_can_be_none() {
    let every = RetryOptions::from(&RetryPolicy::default());
    let every: serde_json::Map<_, _> = serde_json::from_str(&serde_json::to_string(&every).unwrap()).unwrap();
    assert_eq!(every.len(), 15);
    for option in every.keys() {
        if option == "budget" || option == "unsafe_statuses" {
            assert!(serde_json::from_str::<RetryOptions>(&format!(r#"{{"{option}": null}}"#)).is_ok(), "{option}");
        } else {
            assert_refused(option, "null", "");
        }
    }
}

#[test]
fn an_unknown_and_a_repeated_option_are_refused() {
    for unknown in ["retries", "Budget", "backoff-max", "", "method", "safe_to_replay"] {
        let error = refusal(&format!(r#"{{"{unknown}": 1}}"#));
        assert!(error.contains(&format!("unknown field `{unknown}`, expected one of `max_retries`, ")), "{error}");
    }
    for (option, value) in [("budget", "null"), ("unsafe_statuses", "null"), ("max_retries", "2"), ("statuses", "[]")] {
        let error = refusal(&format!(r#"{{"{option}": {value}, "backoff_jitter": 0, "{option}": {value}}}"#));
        assert!(error.contains(&format!("duplicate field `{option}`")), "{error}");
    }
}

#[test]
fn what_no_option_holds_is_refused_under_the_name_of_the_option() {
    let error = refusal(r#"{"budget": {"seconds": 30}}"#);
    assert!(error.starts_with("`budget`: found a map, expected milliseconds"), "{error}");
    for no_map in ["[]", "null", "5", "\"default\""] {
        let error = refusal(no_map);
        assert!(error.contains("expected a map of retry options"), "{error}");
    }
}

// RB-140: aneoconsulting/ArmoniK.Api#732
#[test]
fn a_policy_is_read_through_the_same_checks() {
    for text in [r#"{"backoff_jitter": 1.5}"#, r#"{"statuses": [99]}"#, r#"{"budget": -1}"#, r#"{"retries": 1}"#] {
        let error = serde_json::from_str::<RetryPolicy>(text).unwrap_err().to_string();
        assert_eq!(error, refusal(text));
    }
}

#[test]
fn a_duration_that_is_no_count_of_milliseconds_is_not_written() {
    let too_long = ms(u64::MAX) + ms(1);
    for (duration, found) in [
        (Duration::from_nanos(1), "1ns"),
        (Duration::from_micros(1500), "1.5ms"),
        (too_long, "18446744073709551.616s"),
        (Duration::MAX, "18446744073709551615.999999999s"),
    ] {
        let options = RetryOptions::default();
        for (option, options) in [
            ("backoff_initial", options.clone().backoff_initial(duration)),
            ("backoff_max", options.clone().backoff_max(duration)),
            ("retry_after_min", options.clone().retry_after_min(duration)),
            ("retry_after_max", options.clone().retry_after_max(duration)),
            ("budget", options.budget(duration)),
        ] {
            let error = serde_json::to_string(&options).unwrap_err().to_string();
            assert!(error.contains(&format!("`{option}`: found {found}, expected milliseconds")), "{error}");
            let policy = RetryPolicy::new(options).expect("it is a good duration all the same");
            assert_eq!(serde_json::to_string(&policy).unwrap_err().to_string(), error);
        }
    }
}

#[test]
fn options_that_are_out_of_bounds_are_not_written() {
    let bad = RetryOptions::default().backoff_jitter(f64::NAN);
    assert_eq!(serde_json::to_string(&bad).unwrap_err().to_string(), bad.validate().unwrap_err().to_string());
}

/// Expects a value of an option to be refused by name, as it came, and with what would do instead.
#[track_caller]
fn assert_refused(option: &str, bad: &str, expected: &str) {
    let error = refusal(&format!(r#"{{"{option}": {bad}}}"#));
    // As a float where it does not fit an integer.
    let found = match bad {
        "1e3" => "1000.0",
        "1e2" => "100.0",
        "18446744073709551616" => "1.8446744073709552e19",
        written => written,
    };
    let (named, said) = error.split_once(", expected ").unwrap_or_else(|| panic!("{error}"));
    assert_eq!(named, format!("`{option}`: found {found}"));
    assert!(said.contains(expected), "{error}");
}

#[track_caller]
fn refusal(text: &str) -> String {
    match serde_json::from_str::<RetryOptions>(text) {
        Ok(options) => panic!("{text} was read as {options:?}"),
        Err(error) => error.to_string(),
    }
}
