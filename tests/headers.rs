//! Where headers come from: any map, any pairs, in any case, with any bytes.

mod common;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use common::{Call, ms, policy, secs};
use retry_machine::{Event, Reason, RetryHeaders, RetryOptions, RetryPolicy};

#[test]
fn a_header_of_the_same_length_is_not_taken_for_one_that_matters() {
    let headers = RetryHeaders::from_pairs([
        ("Via", "3600"),
        ("Vary", "Tue, 01 Dec 2026 11:00:00 GMT"),
        ("Retry-Later", "7"),
        ("retry-after-us", "7"),
        ("Age", "5"),
        ("Date", "Tue, 01 Dec 2026 12:00:00 GMT"),
        ("Retry-After", "Tue, 01 Dec 2026 12:00:20 GMT"),
    ]);
    assert_eq!(headers.requested_delay(None), Some(secs(15)));

    let listens = policy(RetryOptions::default().respect_should_retry(true));
    let near = RetryHeaders::from_pairs([("x-could-retry_", "false"), ("x-should-retry", "true")]);
    assert!(listens.is_retryable(Event::response(400, near)));
}

#[test]
fn a_map_is_asked_by_lower_case_name() {
    let mut asked = Vec::new();
    let headers = RetryHeaders::from_fn(|name| {
        asked.push(name);
        (name == "retry-after").then_some("20")
    });
    assert_eq!(headers.requested_delay(None), Some(secs(20)));
    asked.sort_unstable();
    assert_eq!(asked, ["age", "date", "retry-after", "retry-after-ms", "x-should-retry"]);
}

#[test]
fn a_map_may_hold_text_or_bytes_owned_or_not() {
    let owned = HashMap::from([("retry-after".to_owned(), "20".to_owned())]);
    assert_asks_for_20s(RetryHeaders::from_fn(|name| owned.get(name)));
    let text = BTreeMap::from([("retry-after", "20")]);
    assert_asks_for_20s(RetryHeaders::from_fn(|name| text.get(name).copied()));
    let bytes = HashMap::from([("retry-after", b"20".to_vec())]);
    assert_asks_for_20s(RetryHeaders::from_fn(|name| bytes.get(name)));
    assert_asks_for_20s(RetryHeaders::from_fn(|name| bytes.get(name).map(Vec::as_slice)));
}

#[test]
#[expect(clippy::needless_borrows_for_generic_args, reason = "pairs are taken by reference too")]
fn pairs_come_from_any_collection() {
    // By value.
    assert_asks_for_20s(RetryHeaders::from_pairs([("Server", "x"), ("Retry-After", "20")]));
    assert_asks_for_20s(RetryHeaders::from_pairs(vec![("Retry-After", "20")]));
    // By reference.
    assert_asks_for_20s(RetryHeaders::from_pairs(&[("Server", "x"), ("Retry-After", "20")]));
    let slice: &[(&str, &str)] = &[("Retry-After", "20")];
    assert_asks_for_20s(RetryHeaders::from_pairs(slice));
    let owned: Vec<(String, String)> = vec![("Retry-After".to_owned(), "20".to_owned())];
    assert_asks_for_20s(RetryHeaders::from_pairs(&owned));
    assert_asks_for_20s(RetryHeaders::from_pairs(owned.iter().map(|(name, value)| (name, value))));
    // Maps.
    assert_asks_for_20s(RetryHeaders::from_pairs(&HashMap::from([("Retry-After", "20")])));
    assert_asks_for_20s(RetryHeaders::from_pairs(&BTreeMap::from([("Retry-After".to_owned(), "20".to_owned())])));
}

#[test]
#[expect(clippy::needless_borrows_for_generic_args, reason = "pairs are taken by reference too")]
fn names_and_values_may_be_bytes() {
    let bytes: [(&[u8], &[u8]); 1] = [(b"Retry-After", b"20")];
    assert_asks_for_20s(RetryHeaders::from_pairs(bytes));
    assert_asks_for_20s(RetryHeaders::from_pairs(&bytes));
    assert_asks_for_20s(RetryHeaders::from_pairs(&[("Retry-After", b"20")]));
    assert_asks_for_20s(RetryHeaders::from_pairs(&[("Retry-After".to_owned(), b"20".to_vec())]));
}

#[test]
fn names_may_outlive_their_values() {
    fn headers<'a>(pairs: impl Iterator<Item = (&'static str, &'a str)>) -> RetryHeaders<'a> {
        RetryHeaders::from_pairs(pairs)
    }
    let value = "20".to_owned();
    assert_asks_for_20s(headers([("Retry-After", value.as_str())].into_iter()));
}

#[test]
fn names_are_compared_without_regard_to_case() {
    for name in ["retry-after", "Retry-After", "RETRY-AFTER", "rEtRy-AfTeR"] {
        assert_asks_for_20s(RetryHeaders::from_pairs([(name, "20")]));
    }
    for name in ["retry_after", "retry-after ", "x-retry-after", "retry-afteR\u{301}", ""] {
        assert_eq!(RetryHeaders::from_pairs([(name, "20")]).requested_delay(None), None, "{name:?}");
    }
}

#[test]
fn the_first_header_of_a_name_counts_even_where_it_is_unusable() {
    assert_asks_for_20s(RetryHeaders::from_pairs([("Retry-After", "20"), ("retry-after", "5")]));
    let unusable_first = [("Retry-After", "soon"), ("Retry-After", "5")];
    assert_eq!(RetryHeaders::from_pairs(unusable_first).requested_delay(None), None);
}

// RB-022: notatallshaw/nab#596
#[test]
fn a_value_that_is_no_text_counts_as_absent() {
    let (retry_after, date) = (&b"Tue, 01 Dec 2026 12:00:20 GMT"[..], &b"Tue, 01 Dec 2026 12:00:00 GMT"[..]);
    let requested = |pairs: &[(&str, &[u8])]| RetryHeaders::from_pairs(pairs).requested_delay(None);
    assert_eq!(requested(&[("retry-after-ms", b"15\xff00"), ("Retry-After", b"20")]), Some(secs(20)));
    assert_eq!(requested(&[("Retry-After", b"20\xff")]), None);
    assert_eq!(requested(&[("Retry-After", retry_after), ("Date", b"\xffTue, 01 Dec 2026 12:00:00 GMT")]), None);
    assert_eq!(requested(&[("Retry-After", retry_after), ("Date", date), ("Age", b"5\xff")]), Some(secs(20)));

    let listening = policy(RetryOptions::default().respect_should_retry(true));
    let refused: [(&str, &[u8]); 1] = [("x-should-retry", b"false\xff")];
    assert!(listening.is_retryable(Event::response(503, RetryHeaders::from_pairs(refused))));
}

// RB-022: notatallshaw/nab#596
#[test]
fn a_megabyte_of_a_value_is_read_like_any_other() {
    let (nines, zeros) = ("9".repeat(1 << 20), "0".repeat(1 << 20) + "20");
    assert_eq!(RetryHeaders::from_pairs([("Retry-After", &nines)]).requested_delay(None), None);
    assert_asks_for_20s(RetryHeaders::from_pairs([("Retry-After", &zeros)]));
}

#[test]
fn no_headers_ask_for_nothing() {
    let mut call = Call::new(&RetryPolicy::default(), "GET");
    let event = Event::response(503, RetryHeaders::default());
    call.at(Duration::ZERO, event).because(Reason::Backoff { retry: 1, delay: ms(500) });
}

#[test]
fn debug_shows_the_headers_that_matter_and_escapes_what_is_no_text() {
    let pairs: [(&str, &[u8]); 3] = [("Server", b"x"), ("Retry-After", b"20"), ("AGE", b"\xff\"")];
    let shown = format!("{:?}", RetryHeaders::from_pairs(pairs));
    assert_eq!(shown, r#"{"retry-after": "20", "age": "\xff\""}"#);
}

#[cfg(feature = "http")]
mod http_types {
    use http::{HeaderMap, HeaderName, HeaderValue, Response};
    use retry_machine::DelaySource;

    use super::*;

    #[test]
    fn an_http_header_map_converts_and_its_first_value_counts() {
        let map = header_map();
        assert_asks_for_20s(RetryHeaders::from(&map));
        assert_asks_for_20s(RetryHeaders::from_pairs(&map));
    }

    #[test]
    fn an_http_response_is_an_event_whatever_its_body() {
        let mut response = Response::new(vec![1, 2, 3]);
        *response.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
        *response.headers_mut() = header_map();
        let mut call = Call::new(&RetryPolicy::default(), "GET");
        call.at(Duration::ZERO, &response).because(Reason::ServerDelay {
            retry: 1,
            source: DelaySource::RetryAfterSeconds,
            requested: secs(20),
            delay: secs(20),
        });
        // The response was only borrowed.
        assert_eq!(response.into_body(), [1, 2, 3]);
    }

    #[test]
    fn an_event_takes_a_header_map_and_a_status_by_themselves() {
        let map = header_map();
        assert_eq!(RetryPolicy::default().delay(Event::response(429, &map), 1, 0.0, None), secs(20));
    }

    #[test]
    fn an_http_value_that_is_no_text_counts_as_absent() {
        let mut map = header_map();
        map.insert("retry-after-ms", HeaderValue::from_bytes(b"1\xff").expect("any byte from 0x80 on will do"));
        assert_asks_for_20s(RetryHeaders::from(&map));
    }

    fn header_map() -> HeaderMap {
        let mut map = HeaderMap::new();
        map.append(HeaderName::from_static("retry-after"), HeaderValue::from_static("20"));
        map.append(HeaderName::from_static("retry-after"), HeaderValue::from_static("5"));
        map
    }
}

#[track_caller]
fn assert_asks_for_20s(headers: RetryHeaders<'_>) {
    assert_eq!(headers.requested_delay(None), Some(secs(20)));
}
