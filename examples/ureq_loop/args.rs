//! The command line.

use std::str::FromStr;
use std::time::Duration;

use retry_machine::RetryOptions;
use ureq::http::{Method, Uri};

/// A URL to call, and how.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) url: Uri,
    pub(crate) method: Method,
    pub(crate) options: RetryOptions,
}

/// Reads the arguments: none of them asks for the scenes. An error says in one line which argument is bad.
pub(crate) fn parse(args: impl IntoIterator<Item = String>) -> Result<Option<Target>, String> {
    let mut args = args.into_iter().peekable();
    if args.peek().is_none() {
        return Ok(None);
    }
    let mut url = None;
    let mut method = Method::GET;
    let mut options = RetryOptions::default();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("`{arg}` needs a value"));
        match arg.as_str() {
            "--method" => method = parse_method(&value()?)?,
            "--max-retries" => options = options.max_retries(parse_number(&arg, &value()?)?),
            "--budget-ms" => options = options.budget(Duration::from_millis(parse_number(&arg, &value()?)?)),
            flag if flag.starts_with('-') => {
                return Err(format!("unknown flag `{flag}`: there are --method, --max-retries and --budget-ms"));
            }
            extra if url.is_some() => return Err(format!("unexpected argument `{extra}`: one URL is enough")),
            text => url = Some(parse_url(text)?),
        }
    }
    let url = url.ok_or("a URL is needed with these flags")?;
    Ok(Some(Target { url, method, options }))
}

fn parse_url(text: &str) -> Result<Uri, String> {
    let url = Uri::from_str(text).map_err(|error| format!("`{text}` is not a URL: {error}"))?;
    match (url.scheme_str(), url.host()) {
        (Some("http"), Some(host)) if !host.is_empty() => Ok(url),
        (Some("https"), _) => Err(format!("`{text}`: this example is built without TLS, so it takes http:// only")),
        _ => Err(format!("`{text}` is not a URL: it needs http:// and a host")),
    }
}

/// Methods are case-sensitive (RFC 9110, 9.1), so `get` is none of these.
fn parse_method(text: &str) -> Result<Method, String> {
    const METHODS: [Method; 7] =
        [Method::GET, Method::HEAD, Method::OPTIONS, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    METHODS
        .into_iter()
        .find(|method| method.as_str() == text)
        .ok_or_else(|| format!("`--method`: `{text}` is none of GET, HEAD, OPTIONS, POST, PUT, PATCH and DELETE"))
}

fn parse_number<N: FromStr>(flag: &str, text: &str) -> Result<N, String>
where
    N::Err: std::fmt::Display,
{
    text.parse().map_err(|error| format!("`{flag}`: `{text}` is not a whole number of the right size: {error}"))
}
