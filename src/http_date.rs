//! HTTP-date (RFC 9110, 5.6.7): all three forms, by `httpdate`, which is stricter than it need be in two points. A wrong
//! weekday name is ignored here, as both reference implementations do, and the century of a two-digit year follows the
//! RFC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Reads an HTTP-date that is not before 1970.
///
/// The century of a two-digit year depends on `reference`; without one it is 19 for the years from 70 on, else 20.
#[inline]
pub(crate) fn parse(value: &str, reference: Option<SystemTime>) -> Option<SystemTime> {
    let value = value.as_bytes();
    if let Ok(mut imf_fixdate) = <[u8; 29]>::try_from(value) {
        parse_any_weekday(&mut imf_fixdate)
    } else if let Ok(mut asctime) = <[u8; 24]>::try_from(value) {
        parse_any_weekday(&mut asctime)
    } else {
        parse_rfc850(value, reference)
    }
}

/// Reads a date that starts with a weekday name of three letters, be it the right one or not.
#[inline]
fn parse_any_weekday(date: &mut [u8]) -> Option<SystemTime> {
    let given = WEEKDAYS.iter().position(|(short, _)| date.starts_with(*short))?;
    // `httpdate` takes a date under its own weekday alone, so one name fits at the most. The given one goes first: a
    // date in order is parsed once.
    WEEKDAYS.iter().cycle().skip(given).take(WEEKDAYS.len()).find_map(|(short, _)| {
        *date.first_chunk_mut()? = **short;
        httpdate::parse_http_date(std::str::from_utf8(date).ok()?).ok()
    })
}

/// Reads `Sunday, 06-Nov-94 08:49:37 GMT` as the IMF-fixdate of the year that its two digits mean.
///
/// > Recipients of a timestamp value in rfc850-date format, which uses a two-digit year, MUST interpret a timestamp
/// > that appears to be more than 50 years in the future as representing the most recent year in the past that had the
/// > same last two digits.
fn parse_rfc850(value: &[u8], reference: Option<SystemTime>) -> Option<SystemTime> {
    let (short, date) = WEEKDAYS.iter().find_map(|(short, long)| Some((short, value.strip_prefix(*long)?)))?;
    let &[d1, d2, b'-', m1, m2, m3, b'-', y1, y2, b' ', h1, h2, b':', n1, n2, b':', s1, s2, b' ', b'G', b'M', b'T'] =
        date
    else {
        return None;
    };
    let month = MONTHS.iter().position(|name| **name == [m1, m2, m3])? as u8;
    let parts = [month, two_digits([d1, d2])?, two_digits([h1, h2])?, two_digits([n1, n2])?, two_digits([s1, s2])?];
    let year = full_year(two_digits([y1, y2])?, parts, reference)?;

    // Every 400 years the calendar repeats, weekdays included. So a year that four digits cannot hold is read as one
    // that they can, and moved.
    let cycles = u32::try_from((year - 1970) / 400).ok()?;
    let readable = 1970 + (year - 1970) % 400;
    let [y1, y2, y3, y4] = [readable / 1000, readable / 100 % 10, readable / 10 % 10, readable % 10].map(digit);
    let [w1, w2, w3] = **short;
    let date = parse_any_weekday(&mut [
        w1, w2, w3, b',', b' ', d1, d2, b' ', m1, m2, m3, b' ', y1, y2, y3, y4, b' ', h1, h2, b':', n1, n2, b':', s1,
        s2, b' ', b'G', b'M', b'T',
    ])?;
    date.checked_add(CALENDAR_CYCLE.checked_mul(cycles)?)
}

/// The year from 1970 on that two digits mean: the latest one that puts the date not more than 50 years after
/// `reference`. The years are those of the calendar, so the parts of a date `[month, day, hour, minute, second]` are
/// compared as such.
fn full_year(two_digits: u8, parts: [u8; 5], reference: Option<SystemTime>) -> Option<i64> {
    let two_digits = i64::from(two_digits);
    let Some(reference) = reference else {
        return Some(if two_digits < 70 { 2000 } else { 1900 } + two_digits);
    };
    let (year, reference_parts) = calendar(reference)?;
    let latest = year + 50;
    let mut year = latest - (latest - two_digits).rem_euclid(100);
    if year == latest && parts > reference_parts {
        year -= 100;
    }
    (year >= 1970).then_some(year)
}

/// A time as UTC: its year and, from 0 on, its month, then day (from 1 on), hour, minute, second.
///
/// (`HttpDate::from` would panic before 1970 and from the year 10000 on.)
fn calendar(time: SystemTime) -> Option<(i64, [u8; 5])> {
    let seconds = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_secs()).ok()?,
        // Rounded down, so away from 1970.
        Err(before) => {
            let before = before.duration();
            0_i64.checked_sub_unsigned(before.as_secs())?.checked_sub(i64::from(before.subsec_nanos() > 0))?
        }
    };
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));

    // Years are counted from the first of March, so that a leap day comes last, in cycles of 400 years.
    let days = days + DAYS_FROM_MARCH_0000_TO_1970;
    let (cycle, day) = (days.div_euclid(DAYS_IN_CYCLE), days.rem_euclid(DAYS_IN_CYCLE));
    // 1460, 36524 and 146096 are the last days of 4, 100 and 400 years: the days that a year of 365 has too many.
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    // From March on, five months always have 153 days.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let (month, year_offset) =
        if month_from_march < 10 { (month_from_march + 2, 0) } else { (month_from_march - 10, 1) };

    let parts = [month, day, second / 3600, second / 60 % 60, second % 60].map(|part| part as u8);
    Some((cycle * 400 + year + year_offset, parts))
}

fn two_digits([tens, ones]: [u8; 2]) -> Option<u8> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then_some(tens * 10 + ones)
}

/// The character of a number from 0 to 9.
fn digit(number: i64) -> u8 {
    b'0' + number as u8
}

/// Weekday names as IMF-fixdate and asctime write them, and as RFC 850 does.
const WEEKDAYS: [(&[u8; 3], &[u8]); 7] = [
    (b"Mon", b"Monday, "),
    (b"Tue", b"Tuesday, "),
    (b"Wed", b"Wednesday, "),
    (b"Thu", b"Thursday, "),
    (b"Fri", b"Friday, "),
    (b"Sat", b"Saturday, "),
    (b"Sun", b"Sunday, "),
];

const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

const DAYS_IN_CYCLE: i64 = 400 * 365 + 97;

const CALENDAR_CYCLE: Duration = Duration::from_secs(DAYS_IN_CYCLE as u64 * 86_400);

const DAYS_FROM_MARCH_0000_TO_1970: i64 = 719_468;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> SystemTime {
        let distance = Duration::from_secs(seconds.unsigned_abs());
        if seconds < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
    }

    #[test]
    fn the_calendar_agrees_with_httpdate() {
        // Every day of a cycle, then a day of every quarter or so.
        for day in (0..DAYS_IN_CYCLE).chain((DAYS_IN_CYCLE..(9999 - 1970) * 365).step_by(89)) {
            let second = day * 86_400 + day % 86_400;
            let (year, [month, day, hour, minute, second_of_minute]) = calendar(at(second)).unwrap();
            let text = httpdate::fmt_http_date(at(second));
            let name = std::str::from_utf8(MONTHS[usize::from(month)]).unwrap();
            let ours = format!("{day:02} {name} {year} {hour:02}:{minute:02}:{second_of_minute:02} GMT");
            assert_eq!(text[5..], ours, "{second}");
        }
    }

    #[test]
    fn the_calendar_reaches_beyond_what_httpdate_knows() {
        assert_eq!(calendar(at(-1)), Some((1969, [11, 31, 23, 59, 59])));
        assert_eq!(calendar(at(0) - Duration::from_nanos(1)), Some((1969, [11, 31, 23, 59, 59])));
        assert_eq!(calendar(at(-2_203_891_200)), Some((1900, [2, 1, 0, 0, 0])));
        assert_eq!(calendar(at(253_402_300_800)), Some((10_000, [0, 1, 0, 0, 0])));
    }

    #[test]
    fn a_two_digit_year_is_read_in_any_century() {
        let parse_at = |value, seconds| parse(value, Some(at(seconds)));
        // From the last day of 9999 on, a new year is the year 10000.
        assert_eq!(parse_at("Friday, 01-Jan-00 00:00:00 GMT", 253_402_300_799), Some(at(253_402_300_800)));
        // From 1960 on, 75 is 1975 and 05 is 2005, and 65 is before 1970.
        assert_eq!(parse_at("Wednesday, 01-Jan-75 00:00:00 GMT", -300_000_000), Some(at(157_766_400)));
        assert_eq!(parse_at("Friday, 01-Jan-65 00:00:00 GMT", -300_000_000), None);
    }
}
