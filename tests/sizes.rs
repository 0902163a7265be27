//! A machine is small: a program may hold one for each call in flight.

use retry_machine::{Decision, Event, Reason, RetryMachine, RetryPolicy};

#[test]
#[cfg(target_pointer_width = "64")]
fn a_machine_has_the_size_that_its_documentation_states() {
    assert_eq!(size_of::<RetryMachine>(), 528);
    assert_eq!(size_of::<RetryPolicy>(), 360);
}

#[test]
fn a_machine_takes_at_most_576_bytes() {
    assert_at_most::<RetryMachine>(576);
}

#[test]
fn what_goes_in_and_out_of_a_decision_is_small() {
    assert_at_most::<Event>(96);
    assert_at_most::<Decision>(16);
    assert_at_most::<Reason>(64);
}

#[track_caller]
fn assert_at_most<T>(bytes: usize) {
    let size = size_of::<T>();
    assert!(size <= bytes, "{} takes {size} bytes", std::any::type_name::<T>());
}
