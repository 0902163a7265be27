//! Answers to what users ask, a page each.

/// # Why did it give up?
///
/// [`RetryMachine::reason`](crate::RetryMachine::reason) says so, with the numbers. One log line per decision is enough:
///
/// ```
/// # use std::time::Instant;
/// # use retry_machine::{Decision, ErrorKind, RetryMachine, RetryPolicy};
/// # let start = Instant::now();
/// # let mut machine = RetryMachine::new(&RetryPolicy::default(), "POST", 1, start);
/// assert_eq!(machine.decide(ErrorKind::Timeout, start), Decision::GiveUp);
/// if let Some(reason) = machine.reason() {
///     println!("{}: {reason}", reason.name());
/// }
/// # let line = machine.reason().map(|reason| format!("{}: {reason}", reason.name()));
/// # assert_eq!(line.as_deref(), Some("error_not_retryable: a timeout is not retried: the server may have acted on the request"));
/// ```
///
/// | [`Reason`](crate::Reason) | what to look at |
/// |---|---|
/// | `StatusNotRetryable` | a success, or a status that is not in `statuses` (or in `unsafe_statuses`, for the method) |
/// | `ErrorNotRetryable` | [is my POST safe?](crate::guide::is_my_post_safe); is the transport's error mapped to the right kind? |
/// | `RetriesExhausted` | `max_retries` |
/// | `BudgetExhausted` | `budget`; does the [schedule](crate::RetryPolicy::worst_case_wait) fit into it? how long did the attempts take? |
/// | `ServerRefused`, `ServerDelayTooLong` | the server, which asked for it |
/// | `QuotaExhausted` | the service, which fails for other calls too; is every success given to `decide`? |
///
/// The order of the checks is that of [the decision](crate#the-decision-in-order): a call that has no retry left *and* no
/// time left reports the retries.
pub mod why_did_it_give_up {}

/// # Why did it wait 40 s?
///
/// Because the server asked for it, most likely: backoff by itself waits 5 s at the most by default. The reason is then
/// [`ServerDelay`](crate::Reason::ServerDelay), and shows both what was requested and what was waited:
///
/// ```
/// use std::time::{Duration, Instant};
/// use retry_machine::{Decision, Event, RetryHeaders, RetryMachine, RetryOptions, RetryPolicy};
///
/// let start = Instant::now();
/// let policy = RetryPolicy::new(RetryOptions::default().no_budget())?;
/// let mut machine = RetryMachine::new(&policy, "GET", 1, start);
/// let busy = Event::response(429, RetryHeaders::from_pairs([("Retry-After", "3000000")]));
/// assert_eq!(machine.decide(busy, start), Decision::RetryAfter(Duration::from_secs(60)));
/// assert_eq!(
///     machine.reason().map(|reason| reason.to_string()).as_deref(),
///     Some("the server asked for 3000000s (Retry-After); waiting 60s before retry 1"),
/// );
/// # Ok::<(), retry_machine::PolicyError>(())
/// ```
///
/// A shorter wait is a lower [`retry_after_max`](crate::RetryOptions::retry_after_max), which then comes back before the
/// server allows it. To give up instead, set [`retry_after_excess`](crate::RetryOptions::retry_after_excess). A delay that
/// does not fit into the budget gives up at once, without a wait.
///
/// A date was 40 s off although the server meant a second? Then the local wall clock is wrong: give the machine none, and
/// the date is measured against the response's own `Date`.
pub mod why_did_it_wait {}

/// # Is my POST safe?
///
/// By default a POST whose connection broke or that timed out is not sent again, and one that was answered is, by its
/// status. A request is sent again only if one of these holds:
///
/// - The server answered, with one of the `statuses`. 408, 429 and 503 say that the work was not done. 500, 502 and 504 do
///   not: it may be done, behind a gateway for instance. For a method that is not safe to replay, narrow them with
///   [`unsafe_statuses`](crate::RetryOptions::unsafe_statuses).
/// - Nothing was sent: [`ErrorKind::NotSent`](crate::ErrorKind::NotSent) or
///   [`ErrorKind::PoolTimeout`](crate::ErrorKind::PoolTimeout).
/// - The method is safe to replay, which is `GET`, `HEAD` or `OPTIONS`.
///
/// A POST whose connection broke or that timed out may have been carried out and billed, so it is given up:
///
/// ```
/// use std::time::Instant;
/// use retry_machine::{Decision, ErrorKind, RetryMachine, RetryPolicy};
///
/// let now = Instant::now();
/// let decide = |kind| RetryMachine::new(&RetryPolicy::default(), "POST", 1, now).decide(kind, now);
/// assert_eq!(decide(ErrorKind::Connection), Decision::GiveUp);
/// assert_eq!(decide(ErrorKind::Timeout), Decision::GiveUp);
/// assert_ne!(decide(ErrorKind::NotSent), Decision::GiveUp);
/// ```
///
/// With an idempotency key that the server honours, a replay is harmless: set
/// [`retry_connection_errors`](crate::RetryOptions::retry_connection_errors) and
/// [`retry_timeout_errors`](crate::RetryOptions::retry_timeout_errors) to true for that call.
///
/// All of this rests on the mapping of the transport's errors: only an error that *proves* that nothing was sent is
/// `NotSent`. And it is void if the transport retries by itself below: turn that off.
pub mod is_my_post_safe {}

/// # How do I test my retry loop without waiting?
///
/// Pass a `now` that the test moves, and a fixed draw. The waits then take no time, and the delays are known:
///
/// ```
/// use std::time::{Duration, Instant};
/// use retry_machine::rand_core::Rng;
/// use retry_machine::{Decision, ErrorKind, Event, FixedDraw, Reason, RetryHeaders, RetryMachine, RetryPolicy};
///
/// /// The loop under test: its transport, clock and wait are arguments.
/// fn call<R: Rng>(
///     mut machine: RetryMachine<R>,
///     mut send: impl FnMut() -> Result<u16, ErrorKind>,
///     clock: impl Fn() -> Instant,
///     mut wait: impl FnMut(Duration),
/// ) -> (Result<u16, ErrorKind>, Option<Reason>) {
///     loop {
///         let outcome = send();
///         let event = match outcome {
///             Ok(status) => Event::response(status, RetryHeaders::default()),
///             Err(kind) => Event::from(kind),
///         };
///         match machine.decide(event, clock()) {
///             Decision::RetryAfter(delay) => wait(delay),
///             Decision::GiveUp => return (outcome, machine.reason()),
///         }
///     }
/// }
///
/// let now = std::cell::Cell::new(Instant::now());
/// let machine = RetryMachine::with_rng(&RetryPolicy::default(), "GET", FixedDraw::new(0.5), now.get());
///
/// let mut outcomes = [Err(ErrorKind::Timeout), Ok(503), Ok(200)].into_iter();
/// let mut waits = Vec::new();
/// let (outcome, reason) = call(
///     machine,
///     || outcomes.next().expect("three attempts"),
///     || now.get(),
///     |delay| {
///         waits.push(delay);
///         now.set(now.get() + delay);
///     },
/// );
/// assert_eq!(outcome, Ok(200));
/// assert_eq!(reason, Some(Reason::StatusNotRetryable { status: 200 }));
/// // 500 ms and 1 s, each less half of the default jitter.
/// assert_eq!(waits, [Duration::from_millis(438), Duration::from_millis(875)]);
/// ```
pub mod how_do_i_test_without_waiting {}

/// # I come from the Python SDK or the Elixir module: what is my option called?
///
/// The options keep the names of the Elixir module, with durations as [`Duration`](std::time::Duration) in code and as
/// whole milliseconds in configuration.
///
/// | Python SDK | here |
/// |---|---|
/// | `http_statuses` | `statuses` |
/// | `api_connection_error` | `retry_connection_errors` (there always true by default) |
/// | `api_timeout_error` | `retry_timeout_errors` (there always true by default) |
/// | `timeout` | `budget` |
/// | `exceptions`, `predicate` | the caller's choice of [`ErrorKind`](crate::ErrorKind) |
///
/// | Elixir module | here |
/// |---|---|
/// | `attach` | [`RetryMachine::new`](crate::RetryMachine::new) and the caller's loop |
/// | `clock_fun` | the `now` of [`decide`](crate::RetryMachine::decide) |
/// | `sleep_fun` | the caller's wait |
/// | `new`, `merge` | [`RetryPolicy::new`](crate::RetryPolicy::new), [`RetryPolicy::merge`](crate::RetryPolicy::merge) |
/// | `validate!` | [`RetryOptions::validate`](crate::RetryOptions::validate) |
/// | `option_type` | [`RetryOverride`](crate::RetryOverride) |
/// | `retryable?`, `delay`, `backoff`, `for_method` | the methods of [`RetryPolicy`](crate::RetryPolicy) of these names |
/// | `retry_count` | [`RetryMachine::retry_count`](crate::RetryMachine::retry_count) |
/// | `retry_after_ms` | [`RetryHeaders::requested_delay`](crate::RetryHeaders::requested_delay) |
///
/// Some inputs are decided otherwise, on purpose:
///
/// | input | Elixir module | Python SDK | here, and why |
/// |---|---|---|---|
/// | RFC 850 and asctime dates | ignored | honoured | honoured: RFC 9110 says that a recipient must |
/// | a date before 1970 | past, so the minimum | past | ignored, so backoff: no server means it |
/// | `.5`, `5.` | ignored | honoured | honoured: plainly half a second and five seconds |
/// | a 400-digit number, `1e306` seconds | crash the call | ignored | ignored |
/// | a fraction of a millisecond in a header | rounded | kept | kept: not earlier than asked |
/// | a repeated header | the first counts | joined, so ignored | the first counts |
/// | lower-case, zoned and other loose dates | ignored | honoured | ignored: they are no HTTP-dates |
/// | `1_000`, digits other than ASCII | ignored | honoured | ignored |
/// | a status outside 100..=999 in `statuses` | accepted | accepted | refused with an error |
pub mod what_is_my_option_called {}

/// # A set of changes or a finished policy?
///
/// [`RetryPolicy::merge`](crate::RetryPolicy::merge) treats the two differently, and that is the point.
///
/// [`RetryOptions`](crate::RetryOptions) are a set of changes. A call that says `max_retries(1)` means that one option; the
/// rest stays as the client has it. Options that are set back to a default, zero included, are changes too.
///
/// A [`RetryPolicy`](crate::RetryPolicy) is finished: every option has a value, and nobody can tell which of them were
/// meant. So it replaces the policy below it wholesale.
///
/// ```
/// use retry_machine::{RetryOptions, RetryPolicy};
///
/// let client = RetryPolicy::new(RetryOptions::default().max_retries(5).respect_retry_after(false))?;
///
/// let changed = client.merge(RetryOptions::default().max_retries(1))?;
/// assert!(!changed.respect_retry_after());
///
/// let finished = RetryPolicy::new(RetryOptions::default().max_retries(1))?;
/// let replaced = client.merge(finished)?;
/// assert!(replaced.respect_retry_after());
/// # Ok::<(), retry_machine::PolicyError>(())
/// ```
///
/// A layer that others are to be merged over or under stays options until the end. To check it early without filling in
/// the defaults there is [`RetryOptions::validate`](crate::RetryOptions::validate).
pub mod a_set_of_changes_or_a_finished_policy {}
