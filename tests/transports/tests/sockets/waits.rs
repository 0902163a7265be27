//! Waits: as long as the server asked for, in each form of asking, and gone without a trace when the call is cancelled.
//!
//! The stacks on tokio wait in virtual time, for half a minute; ureq waits for a second or two.

use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use http::Request;
use retry_machine::{Reason, RetryPolicy};
use tokio::sync::Notify;
use transports::{Answer, FaultServer, Reply};

use crate::stack::{Call, Stack};

#[test]
fn retry_after_ms_is_waited_for() {
    for stack in STACKS {
        let delay = unit(stack);
        assert_waits(stack, [("retry-after-ms", &delay.as_millis().to_string())], delay..=delay);
    }
}

#[test]
fn retry_after_in_seconds_is_waited_for() {
    for stack in STACKS {
        let delay = unit(stack) + Duration::from_millis(250);
        assert_waits(stack, [("retry-after", &delay.as_secs_f64().to_string())], delay..=delay);
    }
}

#[test]
fn retry_after_as_a_date_of_each_form_is_waited_for() {
    type Form = fn(&str) -> String;
    let forms: [Form; 3] = [str::to_owned, rfc_850, asctime];
    thread::scope(|scope| {
        for stack in STACKS {
            for form in forms {
                scope.spawn(move || {
                    let delay = unit(stack) + Duration::from_secs(1);
                    let now = SystemTime::now();
                    let date = httpdate::fmt_http_date(now);
                    let retry_after = form(&httpdate::fmt_http_date(now + delay));
                    // A date has whole seconds, and a call that goes by its own clock starts a little later.
                    let expected = delay.saturating_sub(Duration::from_secs(3))..=delay;
                    assert_waits(stack, [("date", &date), ("retry-after", &retry_after)], expected);
                });
            }
        }
    });
}

#[test]
fn a_requested_delay_is_kept_within_its_bounds() {
    for stack in [Stack::Reqwest, Stack::Hyper] {
        let minimum = Duration::from_millis(100);
        assert_waits(stack, [("retry-after", "0")], minimum..=minimum);
        let maximum = Duration::from_secs(60);
        assert_waits(stack, [("retry-after", "86400")], maximum..=maximum);
    }
}

/// The server asks once to come back later: the call waits for a delay in this range, and exactly as the decision says.
#[track_caller]
fn assert_waits<const N: usize>(stack: Stack, headers: [(&str, &str); N], expected: RangeInclusive<Duration>) {
    let busy = headers.iter().fold(Answer::new(503), |answer, (name, value)| answer.header(name, value));
    let server = FaultServer::start([busy.into(), Answer::new(200).into()]);
    let report = stack.send(&Call::new("POST").without_limits(), server.address());
    assert_eq!(report.outcome.as_ref().unwrap().status(), 200);
    let Reason::ServerDelay { delay, .. } = report.reasons[0] else { panic!("{report:?}") };
    assert!(expected.contains(&delay), "{headers:?}: {report:?}");
    // Virtual time stands still but for the wait, and tokio's timer rounds up to a millisecond. Real time has the
    // exchanges in it too.
    let tolerance = if stack == Stack::Ureq { Duration::from_secs(3) } else { Duration::from_millis(2) };
    assert!((delay..delay + tolerance).contains(&report.elapsed), "{headers:?}: {report:?}");
}

#[test]
fn a_call_dropped_in_a_wait_leaves_nothing_behind() {
    for stack in [Stack::Reqwest, Stack::Hyper] {
        let busy = Answer::new(503).header("retry-after", "20");
        let server = FaultServer::start([busy.into(), Answer::new(200).into()]);
        let call = Call::new("POST").without_limits();
        call.runtime().block_on(async {
            let decided = Arc::new(Notify::new());
            let log = {
                let decided = Arc::clone(&decided);
                move |_| decided.notify_one()
            };
            tokio::select! {
                outcome = stack.send_on_tokio(&call, server.address(), log) => panic!("{outcome:?}"),
                () = decided.notified() => {}
            }
            // An hour of virtual time: whatever was left would happen now.
            tokio::time::sleep(Duration::from_secs(3600)).await;
            assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
        });
        assert!(server.has_closed_all());
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn a_call_dropped_in_an_attempt_closes_its_connection() {
    for stack in [Stack::Reqwest, Stack::Hyper] {
        let server = FaultServer::start([Reply::StallBeforeHead]);
        let call = Call::new("GET");
        call.runtime().block_on(async {
            let has_arrived = async {
                while server.requests().is_empty() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            tokio::select! {
                outcome = stack.send_on_tokio(&call, server.address(), drop) => panic!("{outcome:?}"),
                () = has_arrived => {}
            }
            // The stack's own tasks end as soon as they are polled again.
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
        });
        assert!(server.has_closed_all());
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn a_blocking_call_whose_wait_is_broken_off_returns_what_it_has() {
    let server = FaultServer::start([Answer::new(503).header("retry-after", "20").body("busy").into()]);
    let request = Request::post(format!("http://{}/", server.address())).body(Vec::new()).unwrap();
    let policy = RetryPolicy::default();
    let wait = |delay| {
        assert_eq!(delay, Duration::from_secs(20));
        ControlFlow::Break(())
    };
    let agent = crate::stack::ureq::agent(None);
    let response = crate::stack::ureq::send(&agent, request, &policy, None, drop, wait).unwrap();
    assert_eq!(response.body(), "busy");
    drop(agent);
    assert!(server.has_closed_all());
    assert_eq!(server.requests().len(), 1);
}

/// How long the server asks to wait: ureq does so in real time.
fn unit(stack: Stack) -> Duration {
    Duration::from_secs(if stack == Stack::Ureq { 1 } else { 20 })
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` as `Sunday, 06-Nov-94 08:49:37 GMT`.
fn rfc_850(imf_fixdate: &str) -> String {
    let (_, date) = imf_fixdate.split_once(", ").unwrap();
    let fields: Vec<_> = date.split(' ').collect();
    // The weekday is not looked at.
    format!("Sunday, {}-{}-{} {} GMT", fields[0], fields[1], &fields[2][2..], fields[3])
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` as `Sun Nov  6 08:49:37 1994`.
fn asctime(imf_fixdate: &str) -> String {
    let (weekday, date) = imf_fixdate.split_once(", ").unwrap();
    let fields: Vec<_> = date.split(' ').collect();
    format!("{weekday} {} {:>2} {} {}", fields[1], fields[0].trim_start_matches('0'), fields[3], fields[2])
}

const STACKS: [Stack; 3] = [Stack::Ureq, Stack::Reqwest, Stack::Hyper];
