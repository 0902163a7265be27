//! The oracle's lines: what it answers beside the decisions of the vectors.

#![cfg(feature = "serde")]

#[allow(dead_code, reason = "an example has a `main`, and parts that only other tests use")]
#[path = "../examples/oracle.rs"]
mod oracle;

#[test]
fn a_line_is_answered_with_its_decisions_to_the_first_give_up() {
    let line = r#"{"name":"busy","policy":{"max_retries":1},"method":"GET","draw":0.5,"events":[
        {"at_ms":400,"status":529,"headers":[["Retry-After","20"]]},{"at_ms":21000,"error":"timeout"},{"at_ms":0,"status":503}
    ]}"#;
    assert_eq!(
        answer(line),
        r#"{"name":"busy","decisions":[{"retry_after_ms":20000.0,"because":"server_delay"},{"give_up":"retries_exhausted"}]}"#
    );
}

#[test]
fn milliseconds_are_exact_to_the_nanosecond() {
    for (header, millis) in
        [("0.100000001", "100.000001"), ("0.25", "250.0"), ("9007199254740993e-6", "9007199254740.9935")]
    {
        let line = format!(
            r#"{{"name":"exact","policy":{{"retry_after_max":18446744073709551615,"budget":null}},"method":"GET",
            "events":[{{"at_ms":0,"status":503,"headers":[["Retry-After","{header}"]]}}]}}"#
        );
        let answer = answer(&line);
        assert!(answer.contains(&format!(r#"{{"retry_after_ms":{millis},"because""#)), "{answer}");
    }
}

#[test]
fn a_seed_settles_the_draws_and_is_0_if_left_out() {
    let with = |seed| {
        answer(&format!(r#"{{"name":1,"policy":{{}},"method":"GET",{seed}"events":[{{"at_ms":0,"status":503}}]}}"#))
    };
    assert_eq!(with(""), with(r#""seed":0,"#));
    assert_eq!(with(""), with(r#""seed":null,"#));
    assert_ne!(with(""), with(r#""seed":1,"#));
}

#[test]
fn a_name_comes_back_as_it_came_even_if_the_line_cannot_be_run() {
    let line = r#"{"name":{"b":1.10,"a":2},"policy":{"budget":-1},"method":"GET","events":[]}"#;
    assert!(answer(line).starts_with(r#"{"name":{"b":1.10,"a":2},"error":"`policy`: `budget`: found -1, "#));
    // What is only information does not matter, whatever is in it.
    let line = r#"{"name":"x","source":1e999,"policy":{},"method":"GET","events":[],"decisions":0}"#;
    assert_eq!(answer(line), r#"{"name":"x","decisions":[]}"#);
}

#[test]
fn a_line_that_is_no_case_is_an_error_without_a_name() {
    for line in ["", "\n", "{", "5", "\u{feff}{}"] {
        assert!(answer(line).starts_with(r#"{"name":null,"error":""#), "{line:?}");
    }
    assert!(oracle::answer(b"\xff").is_error());
}

#[test]
fn an_event_that_is_neither_a_response_nor_an_error_is_an_error() {
    for event in [r#"{"at_ms":7}"#, r#"{"at_ms":7,"status":503,"error":"timeout"}"#] {
        let answer = answer(&format!(r#"{{"name":"x","policy":{{}},"method":"GET","events":[{event}]}}"#));
        assert!(answer.contains("the event at 7 ms must have either a `status` or an `error`"), "{answer}");
    }
}

fn answer(line: &str) -> String {
    serde_json::to_string(&oracle::answer(line.as_bytes())).expect("an answer is JSON")
}
