//! What the fuzzers run. Each target takes bytes and panics if the crate breaks a law or differs from the model; the
//! fuzzers in `fuzz_targets/` and the replay of the corpora in `tests/` call the same functions.

use model::retry_after::{Headers, WallClock, requested_delay};
use model::transcript::{retry_headers, system_time};
use retry_machine::{RetryOptions, RetryPolicy};
use serde_json::Value;

#[path = "../../tests/model/mod.rs"]
mod model;
mod script;

/// Reads the bytes as a block of headers, one `name: value` a line, and compares what they ask for with the model.
/// `wall-clock`, in nanoseconds since 1970, is no header but the wall clock.
pub fn retry_after(data: &[u8]) {
    let mut headers = Headers::new();
    let mut wall_clock = None;
    for line in data.split(|byte| *byte == b'\n') {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (String::from_utf8_lossy(&line[..colon]).into_owned(), &line[colon + 1..]);
        if name == "wall-clock" {
            wall_clock = Some(system_time(script::nanos(&String::from_utf8_lossy(value), script::END_OF_TIME)));
        } else {
            headers.push((name, value.to_vec()));
        }
    }
    let clock = wall_clock.map_or(WallClock::NotGiven, WallClock::Shows);
    let expected = requested_delay(&headers, clock).map(|(_, delay)| delay);
    assert_eq!(retry_headers(&headers).requested_delay(wall_clock), expected);
}

/// Reads the bytes as the script of a transcript and checks it against the model and the laws.
pub fn machine(data: &[u8]) {
    script::transcript(data).check();
}

/// Reads the bytes as options in JSON: they are refused, or they make a valid policy and can be written back.
pub fn options(data: &[u8]) {
    let policy = serde_json::from_slice::<RetryPolicy>(data);
    match serde_json::from_slice::<RetryOptions>(data) {
        Ok(options) => {
            assert_eq!(options.validate(), Ok(()));
            let built = RetryPolicy::new(&options).expect("valid options make a policy");
            assert_eq!(policy.expect("options that can be read make a policy"), built);
            assert_eq!(written_and_read(&options), options);
            assert_eq!(written_and_read(&built), built);
            let every_option = RetryOptions::from(&built);
            assert_eq!(written_and_read(&every_option), every_option);
            assert_eq!(RetryPolicy::new(every_option), Ok(built));
        }
        Err(error) => {
            let error = error.to_string();
            assert_eq!(policy.expect_err("options that cannot be read make no policy").to_string(), error);
            if let Ok(Value::Object(object)) = serde_json::from_slice(data) {
                assert!(object.keys().any(|key| error.contains(key.as_str())), "names no option: {error}");
            }
        }
    }
}

fn written_and_read<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    let text = serde_json::to_string(value).expect("whole milliseconds can be written");
    serde_json::from_str(&text).expect("what was written can be read")
}
