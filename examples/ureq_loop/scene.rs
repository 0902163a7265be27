//! One scene: a call, what a real server does with it, and what must come of it.

use std::io::Write;
use std::time::Duration;

use retry_machine::{Reason, RetryOptions, RetryPolicy};
use ureq::http::{Method, Uri};

use super::server::{Reply, Server};
use super::timeline::{Timeline, print_line};
use super::{Outcome, agent_config, call_with};

/// A call against a server with a script.
pub(crate) struct Scene {
    pub(crate) title: &'static str,
    pub(crate) method: Method,
    pub(crate) options: RetryOptions,
    pub(crate) attempt_timeout: Duration,
    pub(crate) script: &'static [Reply],
    /// Whether these are the decisions.
    pub(crate) decides: fn(&[Reason]) -> bool,
    /// Whether this is what the caller is left with.
    pub(crate) returns: fn(&Outcome) -> bool,
    /// How many requests the server reads.
    pub(crate) requests: usize,
}

impl Scene {
    /// Plays the scene, and tells whether it went as expected.
    pub(crate) fn play(&self, output: &mut dyn Write) -> bool {
        let server = Server::start(self.script).expect("loopback has a free port");
        let url = Uri::try_from(format!("http://{}/", server.address())).expect("an address makes a URL");
        // A proxy from the environment must not come between the two.
        let agent = agent_config().proxy(None).timeout_global(Some(self.attempt_timeout)).build().new_agent();
        let policy = RetryPolicy::new(&self.options).expect("the options are within their bounds");
        let body = (self.method == Method::POST).then_some("a prompt that costs money");

        let mut timeline = Timeline::new(&format!("\n{}: {}", self.method, self.title), output);
        let outcome = call_with(&agent, &self.method, &url, body, &policy, &mut timeline);
        let spent = timeline.elapsed();
        let requests = server.stop();
        timeline.end(&outcome, &policy, Some(requests));

        let (reasons, waited) = (timeline.reasons(), timeline.waited());
        let checks = [
            ((self.decides)(reasons), format!("the decisions {reasons:?}")),
            ((self.returns)(&outcome), format!("the outcome {outcome:?}")),
            (requests == self.requests, format!("{requests} requests read instead of {}", self.requests)),
            (spent >= waited, format!("{spent:?} spent, though {waited:?} were to be waited")),
        ];
        for (_, difference) in checks.iter().filter(|(holds, _)| !holds) {
            print_line(output, &format!("  NOT AS EXPECTED: {difference}"));
        }
        checks.iter().all(|(holds, _)| *holds)
    }
}
