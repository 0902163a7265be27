//! Every option in one table: its default, a change of it, and an event that the change decides differently.

mod common;

use std::fmt::Debug;
use std::time::Duration;

use common::{Call, policy, response, secs, status};
use retry_machine::{ErrorKind, Event, FixedDraw, Replay, RetryAfterExcess, RetryOptions, RetryPolicy};

/// One option: how it is set and read, what it reads before and after, and where that matters.
struct Setting {
    name: &'static str,
    change: fn(RetryOptions) -> RetryOptions,
    get: fn(&RetryPolicy) -> String,
    default: &'static str,
    changed: &'static str,
    method: &'static str,
    event: Event<'static>,
}

/// `name(value): default => changed; method, event that tells them apart`.
macro_rules! setting {
    ($name:ident($value:expr): $default:literal => $changed:literal; $method:literal, $event:expr) => {
        Setting {
            name: stringify!($name),
            change: |options| options.$name($value),
            get: |policy| shown(policy.$name()),
            default: $default,
            changed: $changed,
            method: $method,
            event: $event.into(),
        }
    };
}

/// The options in the order of their setters, with the defaults.
fn settings() -> [Setting; 15] {
    [
        setting!(max_retries(0): "2" => "0"; "GET", status(503)),
        setting!(backoff_initial(secs(1)): "500ms" => "1s"; "GET", status(503)),
        setting!(backoff_max(Duration::ZERO): "5s" => "0ns"; "GET", status(503)),
        setting!(backoff_jitter(0.5): "0.25" => "0.5"; "GET", status(503)),
        setting!(statuses([404]): "{408, 429, 500-599}" => "{404}"; "GET", status(404)),
        setting!(unsafe_statuses([429]): "None" => "Some({429})"; "POST", status(503)),
        setting!(respect_retry_after(false): "true" => "false"; "GET", response(503, &[("Retry-After", "5")])),
        setting!(retry_after_min(secs(2)): "100ms" => "2s"; "GET", response(503, &[("Retry-After", "0")])),
        setting!(retry_after_max(secs(4)): "60s" => "4s"; "GET", response(503, &[("Retry-After", "5")])),
        setting!(retry_after_excess(RetryAfterExcess::GiveUp): "Clamp" => "GiveUp"; "GET", response(503, &[("Retry-After", "90")])),
        setting!(retry_after_jitter(0.5): "0.0" => "0.5"; "GET", response(503, &[("Retry-After", "5")])),
        setting!(respect_should_retry(true): "false" => "true"; "GET", response(404, &[("x-should-retry", "true")])),
        setting!(retry_connection_errors(true): "Auto" => "Always"; "POST", ErrorKind::Connection),
        setting!(retry_timeout_errors(Replay::Never): "Auto" => "Never"; "GET", ErrorKind::Timeout),
        setting!(budget(secs(70)): "Some(30s)" => "Some(70s)"; "GET", response(503, &[("Retry-After", "40")])),
    ]
}

// RB-147: spring-attic/spring-retry#425
#[test]
fn the_default_policy_has_the_defaults_and_shows_them() {
    let debug = format!("{:?}", RetryPolicy::default());
    for Setting { name, get, default, .. } in settings() {
        assert_eq!(get(&RetryPolicy::default()), default, "{name}");
        assert!(debug.contains(&format!("{name}: {default},")), "{name} in {debug}");
    }
}

// RB-135: urllib3/urllib3#3649
#[test]
fn setting_one_option_leaves_every_other_at_its_default() {
    for Setting { name, change, .. } in settings() {
        assert_changed(&policy(change(RetryOptions::default())), &[name]);
    }
}

// RB-134: JustinBeckwith/retry-axios#90
#[test]
fn merging_options_keeps_every_option_that_they_leave_unset() {
    for first in settings() {
        for second in settings() {
            let (base, later) = ((first.change)(RetryOptions::default()), (second.change)(RetryOptions::default()));
            let names = [first.name, second.name];
            assert_changed(&policy(base.clone().merge(later.clone())), &names);
            assert_changed(&policy(base).merge(later).expect("valid"), &names);
        }
    }
}

// RB-134: JustinBeckwith/retry-axios#90
#[test]
fn of_two_layers_that_set_an_option_the_later_wins() {
    let every_default = RetryOptions::from(&RetryPolicy::default());
    for Setting { name, change, .. } in settings() {
        let changed = change(RetryOptions::default());
        assert_changed(&policy(changed.clone().merge(every_default.clone())), &[]);
        assert_changed(&policy(every_default.clone().merge(changed.clone())), &[name]);
        assert_changed(&policy(changed.clone()).merge(&every_default).expect("valid"), &[]);
        // A finished policy replaces all of it.
        assert_changed(&policy(changed).merge(RetryPolicy::default()).expect("valid"), &[]);
    }
}

#[test]
fn a_policy_can_be_taken_apart_into_options_and_built_again() {
    let changed = settings().iter().fold(RetryOptions::default(), |options, setting| (setting.change)(options));
    let changed = policy(changed);
    assert_changed(&changed, &settings().map(|setting| setting.name));
    assert_eq!(policy(RetryOptions::from(&changed)), changed);
    assert_eq!(RetryPolicy::default().merge(RetryOptions::from(&changed)), Ok(changed));
}

// RB-130: nodejs/undici#5682
#[test]
fn every_option_changes_some_decision() {
    for Setting { name, change, method, event, .. } in settings() {
        // Room for the longest delay, so that no budget hides the difference; the budget itself comes second.
        let room = RetryOptions::default().budget(if name == "budget" { secs(30) } else { secs(100) });
        let [before, after] = [room.clone(), change(room)].map(|options| {
            let mut call = Call::with_rng(&policy(options), method, FixedDraw::new(0.5));
            call.at(Duration::ZERO, event).decision
        });
        assert_ne!(before, after, "{name}");
    }
}

/// Expects these options, and no others, to have their changed value.
#[track_caller]
fn assert_changed(policy: &RetryPolicy, names: &[&str]) {
    for Setting { name, get, default, changed, .. } in settings() {
        assert_eq!(get(policy), if names.contains(&name) { changed } else { default }, "{name}");
    }
}

fn shown(value: impl Debug) -> String {
    format!("{value:?}")
}
