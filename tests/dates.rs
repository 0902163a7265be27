//! `Retry-After` dates: their three forms, and the time that they are measured against.

mod common;

use std::time::{Duration, SystemTime};

use common::{Call, ms, response, secs, unix};
use retry_machine::{DelaySource, Reason, RetryHeaders, RetryPolicy};

#[test]
fn all_three_forms_are_read() {
    for date in ["Tue, 01 Dec 2026 12:00:20 GMT", "Tuesday, 01-Dec-26 12:00:20 GMT", "Tue Dec  1 12:00:20 2026"] {
        assert_eq!(requested(date, noon()), Some(secs(20)), "{date}");
    }
}

#[test]
fn a_wrong_weekday_is_ignored() {
    for date in ["Sun, 01 Dec 2026 12:00:20 GMT", "Friday, 01-Dec-26 12:00:20 GMT", "Mon Dec  1 12:00:20 2026"] {
        assert_eq!(requested(date, noon()), Some(secs(20)), "{date}");
    }
}

#[test]
fn a_date_with_a_wrong_letter_anywhere_is_unusable() {
    for date in ["Tue, 01 Dec 2026 12:00:20 GMT", "Tuesday, 01-Dec-26 12:00:20 GMT", "Tue Dec 01 12:00:20 2026"] {
        for position in 0..date.len() {
            // A colon is the character after 9.
            for letter in ["X", ":"].into_iter().filter(|letter| !date[position..].starts_with(letter)) {
                let mut wrong = date.to_owned();
                wrong.replace_range(position..=position, letter);
                assert_eq!(requested(&wrong, noon()), None, "{wrong}");
            }
        }
    }
}

#[test]
fn a_two_digit_year_of_a_date_header_is_from_1970_to_2069() {
    for (date, retry_after) in [
        ("Thursday, 01-Jan-70 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:20 GMT"),
        ("Tuesday, 01-Jan-69 00:00:00 GMT", "Tue, 01 Jan 2069 00:00:20 GMT"),
    ] {
        let headers = RetryHeaders::from_pairs([("Date", date), ("Retry-After", retry_after)]);
        assert_eq!(headers.requested_delay(None), Some(secs(20)), "{date}");
    }
}

#[test]
fn what_is_no_http_date_is_unusable() {
    for date in [
        // No weekday of the form's own style.
        "Tuesday, 01 Dec 2026 12:00:20 GMT",
        "Tue, 01-Dec-26 12:00:20 GMT",
        "Die, 01 Dec 2026 12:00:20 GMT",
        "01 Dec 2026 12:00:20 GMT",
        // No such time or day.
        "Tue, 01 Dec 2026 12:00:60 GMT",
        "Fri, 31 Apr 2027 12:00:00 GMT",
        "Mon, 29 Feb 2027 12:00:00 GMT",
        "Monday, 29-Feb-27 12:00:00 GMT",
        // Another case, zone or shape.
        "tue, 01 dec 2026 12:00:20 gmt",
        "Tue, 01 Dec 2026 12:00:20 UTC",
        "Tue, 01 Dec 2026 12:00:20 +0000",
        "Tue, 1 Dec 2026 12:00:20 GMT",
        "2026-12-01T12:00:20Z",
    ] {
        assert_eq!(requested(date, noon()), None, "{date}");
    }
}

#[test]
fn a_past_date_asks_for_no_delay_and_one_before_1970_for_nothing() {
    assert_eq!(requested("Tue, 01 Dec 2026 11:59:59 GMT", noon()), Some(Duration::ZERO));
    assert_eq!(requested("Thu, 01 Jan 1970 00:00:00 GMT", noon()), Some(Duration::ZERO));
    assert_eq!(requested("Wed, 31 Dec 1969 23:59:59 GMT", noon()), None);
}

#[test]
fn a_two_digit_year_is_at_most_fifty_years_ahead_to_the_second() {
    let fifty_years = secs((50 * 365 + 13) * 86_400);
    assert_eq!(requested("Tuesday, 01-Dec-76 12:00:00 GMT", noon()), Some(fifty_years));
    // One second more, and it is 1976.
    assert_eq!(requested("Wednesday, 01-Dec-76 12:00:01 GMT", noon()), Some(Duration::ZERO));
    assert_eq!(requested("Monday, 01-Dec-70 12:00:00 GMT", noon()), Some(secs((44 * 365 + 11) * 86_400)));
}

#[test]
fn a_two_digit_year_can_be_of_the_next_century() {
    let new_year_2090 = unix(3_786_912_000);
    let twenty_years = secs((20 * 365 + 4) * 86_400);
    assert_eq!(requested("Wednesday, 01-Jan-10 00:00:00 GMT", new_year_2090), Some(twenty_years));
    // The year is chosen first: it is 2100, which has no leap day, though 2000 had one.
    assert_eq!(requested("Monday, 29-Feb-00 00:00:00 GMT", new_year_2090), None);
}

#[test]
fn a_date_has_no_use_without_a_time_to_measure_it_against() {
    let headers = [("Retry-After", IN_20_SECONDS)];
    assert_eq!(RetryHeaders::from_pairs(headers).requested_delay(None), None);
    let mut call = Call::new(&RetryPolicy::default(), "GET");
    call.at(Duration::ZERO, response(503, &headers)).because(Reason::Backoff { retry: 1, delay: ms(500) });
}

// RB-154: aws/aws-sdk-go-v2#3409
#[test]
fn without_a_wall_clock_the_response_says_what_time_it_is() {
    let headers = [("Retry-After", IN_20_SECONDS), ("Date", NOON), ("Age", "5")];
    let headers = RetryHeaders::from_pairs(headers);
    assert_eq!(headers.requested_delay(None), Some(secs(15)));
    assert_eq!(headers.requested_delay(Some(noon())), Some(secs(20)));
    assert_eq!(headers.requested_delay(Some(noon() + secs(19))), Some(secs(1)));
}

#[test]
fn an_age_is_whole_seconds_or_ignored() {
    for (age, delay) in
        [("5", 15), (" 5 ", 15), ("5, 9", 15), ("05", 15), ("5.0", 20), ("-5", 20), ("+5", 20), ("", 20), (", 5", 20)]
    {
        let headers = [("Retry-After", IN_20_SECONDS), ("Date", NOON), ("Age", age)];
        assert_eq!(RetryHeaders::from_pairs(headers).requested_delay(None), Some(secs(delay)), "{age:?}");
    }
    // It saturates, and past the end of time every date is past.
    for age in ["18446744073709551615", "99999999999999999999999"] {
        let headers = [("Retry-After", IN_20_SECONDS), ("Date", NOON), ("Age", age)];
        assert_eq!(RetryHeaders::from_pairs(headers).requested_delay(None), Some(Duration::ZERO), "{age}");
    }
}

#[test]
fn the_date_header_is_read_as_tolerantly() {
    let in_1994 = "Sun, 06 Nov 1994 08:49:57 GMT";
    for date in ["Sunday, 06-Nov-94 08:49:37 GMT", "Mon, 06 Nov 1994 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
        let headers = [("Retry-After", in_1994), ("Date", date)];
        assert_eq!(RetryHeaders::from_pairs(headers).requested_delay(None), Some(secs(20)), "{date}");
    }
    let headers = [("Retry-After", in_1994), ("Date", "yesterday")];
    assert_eq!(RetryHeaders::from_pairs(headers).requested_delay(None), None);
}

#[test]
fn the_wall_clock_of_a_machine_advances_with_now() {
    let mut call = Call::new(&RetryPolicy::default(), "GET").with_wall_clock(noon());
    let headers = [("Retry-After", IN_20_SECONDS), ("Date", "Tue, 01 Dec 2026 09:00:00 GMT")];
    call.at(secs(5), response(503, &headers)).because(Reason::ServerDelay {
        retry: 1,
        source: DelaySource::RetryAfterDate,
        requested: secs(15),
        delay: secs(15),
    });
    // It has passed meanwhile: the minimum is left.
    call.at(secs(21), response(503, &headers)).waits(ms(100));
}

const NOON: &str = "Tue, 01 Dec 2026 12:00:00 GMT";
const IN_20_SECONDS: &str = "Tue, 01 Dec 2026 12:00:20 GMT";

/// The wall time of [`NOON`].
fn noon() -> SystemTime {
    unix(1_796_126_400)
}

/// What a `Retry-After` date asks for at a wall time.
fn requested(date: &str, wall_clock: SystemTime) -> Option<Duration> {
    RetryHeaders::from_pairs([("Retry-After", date)]).requested_delay(Some(wall_clock))
}
