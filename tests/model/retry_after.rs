//! The requested delay: header bytes in, delay out, with date arithmetic straight from the calendar.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use retry_machine::DelaySource;

use super::{NANOS_PER_SEC, duration, nanos};

/// Names and values in the order of the response.
pub type Headers = Vec<(String, Vec<u8>)>;

/// A machine's wall clock.
#[derive(Clone, Copy, Debug)]
pub enum WallClock {
    NotGiven,
    Shows(SystemTime),
    /// The time at the start + elapsed is past the end of `SystemTime`.
    Overflowed,
}

/// What a date is measured against, in nanoseconds since 1970.
#[derive(Clone, Copy)]
enum Reference {
    Time(i128),
    PastEveryDate,
    Unknown,
}

/// `retry-after-ms` first; if it is absent or unusable, `Retry-After`.
pub fn requested_delay(headers: &Headers, wall_clock: WallClock) -> Option<(DelaySource, Duration)> {
    let millis = first(headers, "retry-after-ms").and_then(text).and_then(number).and_then(|millis| {
        let delay = Duration::try_from_secs_f64(millis / 1000.0).unwrap_or(Duration::MAX);
        (millis >= 0.0 && millis.is_finite()).then_some((DelaySource::RetryAfterMs, delay))
    });
    let value = first(headers, "retry-after").and_then(text);
    let seconds = value.and_then(number).and_then(|secs| {
        let delay = Duration::try_from_secs_f64(secs).unwrap_or(Duration::MAX);
        (secs >= 0.0 && (secs * 1000.0).is_finite()).then_some((DelaySource::RetryAfterSeconds, delay))
    });
    // A value that is shaped like a number matches no form of a date.
    let date = value.and_then(|value| {
        let delay = until(&read_date(value)?, reference(headers, wall_clock))?;
        Some((DelaySource::RetryAfterDate, delay))
    });
    millis.or(seconds).or(date)
}

/// A repeated header: the first one counts. Names have no case.
pub fn first<'a>(headers: &'a Headers, name: &str) -> Option<&'a [u8]> {
    headers.iter().find(|(candidate, _)| candidate.eq_ignore_ascii_case(name)).map(|(_, value)| &value[..])
}

/// Must be UTF-8; trimmed of Unicode white space.
pub fn text(value: &[u8]) -> Option<&str> {
    std::str::from_utf8(value).ok().map(str::trim)
}

/// Empty means 0; else the whole value is `[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?`.
fn number(value: &str) -> Option<f64> {
    if value.is_empty() {
        return Some(0.0);
    }
    let is_digits = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = |value: &str| value.strip_prefix(['+', '-']).unwrap_or(value).to_owned();
    let (mantissa, exponent) = match value.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (unsigned(mantissa), unsigned(exponent)),
        None => (unsigned(value), "0".to_owned()),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((&mantissa, ""));
    let shaped = is_digits(whole)
        && is_digits(fraction)
        && is_digits(&exponent)
        && !(whole.is_empty() && fraction.is_empty())
        && !exponent.is_empty();
    shaped.then(|| value.parse().expect("shaped like a number"))
}

/// The machine's wall clock if one was given; else the response's own `Date` plus its `Age` if any; else none.
fn reference(headers: &Headers, wall_clock: WallClock) -> Reference {
    match wall_clock {
        WallClock::Shows(time) => Reference::Time(match time.duration_since(UNIX_EPOCH) {
            Ok(after) => nanos(after),
            Err(before) => -nanos(before.duration()),
        }),
        WallClock::Overflowed => Reference::Unknown,
        WallClock::NotGiven => {
            let date = first(headers, "date").and_then(text).and_then(read_date).and_then(|date| {
                // A two-digit year as `httpdate` has it.
                let year = match date.form {
                    Form::Rfc850 if date.year < 70 => 2000 + date.year,
                    Form::Rfc850 => 1900 + date.year,
                    Form::ImfFixdate | Form::Asctime => date.year,
                };
                date.seconds(year)
            });
            let age = first(headers, "age").and_then(age).unwrap_or(0);
            date.map_or(Reference::Unknown, |date| {
                let date = UNIX_EPOCH + Duration::from_secs(date.try_into().expect("not before 1970"));
                match date.checked_add(Duration::from_secs(age)) {
                    Some(time) => reference(headers, WallClock::Shows(time)),
                    None => Reference::PastEveryDate,
                }
            })
        }
    }
}

/// RFC 9111, 5.1: the first member of a list, trimmed, digits only, saturating. The other members may be anything.
fn age(value: &[u8]) -> Option<u64> {
    let member = value.split(|byte| *byte == b',').next().and_then(text)?;
    let is_age = !member.is_empty() && member.bytes().all(|byte| byte.is_ascii_digit());
    is_age.then(|| member.parse().unwrap_or(u64::MAX))
}

/// How long until the date. A past date is 0.
fn until(date: &WrittenDate, reference: Reference) -> Option<Duration> {
    let year = match (date.form, reference) {
        (Form::ImfFixdate | Form::Asctime, _) => date.year,
        (Form::Rfc850, Reference::Time(now)) => date.full_year(now),
        // Past in whatever century; a day that exists in any of them exists in this one.
        (Form::Rfc850, Reference::PastEveryDate | Reference::Unknown) => 2000 + date.year,
    };
    let secs = date.seconds(year)?;
    // As with the wall clock: where `SystemTime` overflows, a date is unusable.
    UNIX_EPOCH.checked_add(Duration::from_secs(secs.try_into().ok()?))?;
    match reference {
        Reference::Time(now) => Some(duration(secs * NANOS_PER_SEC - now)),
        Reference::PastEveryDate => Some(Duration::ZERO),
        Reference::Unknown => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    ImfFixdate,
    Rfc850,
    Asctime,
}

/// The fields of a date as they are written; they may be of no day or time that exists.
pub struct WrittenDate {
    pub form: Form,
    year: i128,
    month: i128,
    day: i128,
    hour: i128,
    minute: i128,
    second: i128,
}

/// RFC 9110, 5.6.7. Any weekday's name will do, in the form's own style.
pub fn read_date(value: &str) -> Option<WrittenDate> {
    let forms = [
        (Form::ImfFixdate, WEEKDAYS.map(|name| format!("{}, ", &name[..3])), "dd nnn yyyy hh:mm:ss GMT"),
        (Form::Rfc850, WEEKDAYS.map(|name| format!("{name}, ")), "dd-nnn-yy hh:mm:ss GMT"),
        (Form::Asctime, WEEKDAYS.map(|name| format!("{} ", &name[..3])), "nnn dd hh:mm:ss yyyy"),
    ];
    let mut dates = forms.iter().flat_map(|(form, weekdays, template)| {
        weekdays.iter().filter_map(|weekday| read_form(*form, template, value.strip_prefix(weekday.as_str())?))
    });
    dates.next()
}

/// Reads what follows the weekday. A small letter of the template stands for a part of a field, all else for itself.
fn read_form(form: Form, template: &str, value: &str) -> Option<WrittenDate> {
    let letters = || template.chars().zip(value.chars());
    let fits = template.chars().count() == value.chars().count()
        && letters().all(|(template, letter)| template.is_ascii_lowercase() || template == letter);
    let field = |name: char| letters().filter(|(template, _)| *template == name).map(|(_, letter)| letter).collect();
    let number = |field: String| {
        let is_number = field.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| field.parse().ok()).flatten()
    };
    let (day, month): (String, String) = (field('d'), field('n'));
    // Asctime alone pads a short day, with a space.
    let day = if form == Form::Asctime { day.strip_prefix(' ').unwrap_or(&day).to_owned() } else { day };
    let month = MONTHS.iter().position(|name| *name == month)?;
    fits.then_some(WrittenDate {
        form,
        year: number(field('y'))?,
        month: month as i128 + 1,
        day: number(day)?,
        hour: number(field('h'))?,
        minute: number(field('m'))?,
        second: number(field('s'))?,
    })
}

impl WrittenDate {
    /// The seconds from 1970 to this date in this year, if it exists there and is not before 1970.
    pub fn seconds(&self, year: i128) -> Option<i128> {
        let exists = year >= 1970
            && (1..=days_in_month(year, self.month)).contains(&self.day)
            && self.hour < 24
            && self.minute < 60
            && self.second < 60;
        let days = days_before_year(year) + days_before_month(year, self.month) + self.day - 1;
        let time = self.hour * 3600 + self.minute * 60 + self.second;
        exists.then_some((days - days_before_year(1970)) * SECS_PER_DAY + time)
    }

    /// The latest year with these last two digits that puts the date not more than 50 years after `now`.
    fn full_year(&self, now: i128) -> i128 {
        let mut limit = calendar(now.div_euclid(NANOS_PER_SEC));
        limit[0] += 50;
        let in_year = |year| [year, self.month, self.day, self.hour, self.minute, self.second];
        let years = limit[0] - 100..=limit[0];
        years.filter(|year| year.rem_euclid(100) == self.year && in_year(*year) <= limit).max().expect("100 years")
    }
}

/// Year, month, day, hour, minute and second of a number of seconds since 1970.
pub fn calendar(secs: i128) -> [i128; 6] {
    let days = secs.div_euclid(SECS_PER_DAY) + days_before_year(1970);
    let time = secs.rem_euclid(SECS_PER_DAY);
    // The calendar repeats itself every 400 years.
    let (cycles, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (1..=400).filter(|year| days_before_year(*year) <= day).max().expect("year 1 starts at day 0");
    let day = day - days_before_year(year);
    let month = (1..=12).filter(|month| days_before_month(year, *month) <= day).max().expect("January starts at day 0");
    let day = day - days_before_month(year, month) + 1;
    [year + cycles * 400, month, day, time / 3600, time / 60 % 60, time % 60]
}

/// The days from the start of year 1.
fn days_before_year(year: i128) -> i128 {
    let years = year - 1;
    years * 365 + years.div_euclid(4) - years.div_euclid(100) + years.div_euclid(400)
}

fn days_before_month(year: i128, month: i128) -> i128 {
    (1..month).map(|month| days_in_month(year, month)).sum()
}

fn days_in_month(year: i128, month: i128) -> i128 {
    let is_leap = year % 4 == 0 && year % 100 != 0 || year % 400 == 0;
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

pub const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
pub const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const SECS_PER_DAY: i128 = 86_400;
