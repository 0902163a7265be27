//! HTTP-date (RFC 9110, 5.6.7), in all three forms. A weekday has to be one of the seven, but not the right one: neither
//! reference implementation compares it with the date.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Reads an HTTP-date that is not before 1970.
///
/// The century of a two-digit year depends on `reference`; without one it is 19 for the years from 70 on, else 20.
#[inline]
pub(crate) fn parse(value: &str, reference: Option<SystemTime>) -> Option<SystemTime> {
    let value = value.as_bytes();
    parse_imf_fixdate(value).or_else(|| parse_rfc850(value, reference)).or_else(|| parse_asctime(value))
}

/// Reads `Sun, 06 Nov 1994 08:49:37 GMT`, the form that servers send.
fn parse_imf_fixdate(value: &[u8]) -> Option<SystemTime> {
    let &[w1, w2, w3, b',', b' ', d1, d2, b' ', m1, m2, m3, b' ', y1, y2, y3, y4, ref time @ ..] = value else {
        return None;
    };
    if !WEEKDAYS.iter().any(|(short, _)| **short == [w1, w2, w3]) {
        return None;
    }
    let year = i64::from(two_digits([y1, y2])?) * 100 + i64::from(two_digits([y3, y4])?);
    time_of(year, parse_parts([m1, m2, m3], [d1, d2], time)?)
}

/// Reads `Sunday, 06-Nov-94 08:49:37 GMT`.
fn parse_rfc850(value: &[u8], reference: Option<SystemTime>) -> Option<SystemTime> {
    let date = WEEKDAYS.iter().find_map(|(_, long)| value.strip_prefix(*long))?;
    let &[b',', b' ', d1, d2, b'-', m1, m2, m3, b'-', y1, y2, ref time @ ..] = date else {
        return None;
    };
    let parts = parse_parts([m1, m2, m3], [d1, d2], time)?;
    time_of(full_year(two_digits([y1, y2])?, parts, reference)?, parts)
}

/// Reads `Sun Nov  6 08:49:37 1994`, which nobody sends any more: by `httpdate`, which takes a date under its own weekday
/// alone, so that one name fits at the most.
fn parse_asctime(value: &[u8]) -> Option<SystemTime> {
    let mut date = <[u8; 24]>::try_from(value).ok()?;
    if !WEEKDAYS.iter().any(|(short, _)| value.starts_with(*short)) {
        return None;
    }
    WEEKDAYS.iter().find_map(|(short, _)| {
        *date.first_chunk_mut()? = **short;
        httpdate::parse_http_date(std::str::from_utf8(&date).ok()?).ok()
    })
}

/// The parts of a date but for its year: `[month, day, hour, minute, second]`, the month from 0 on. Their bounds are not
/// checked.
fn parse_parts(month: [u8; 3], day: [u8; 2], time: &[u8]) -> Option<[u8; 5]> {
    let &[b' ', h1, h2, b':', n1, n2, b':', s1, s2, b' ', b'G', b'M', b'T'] = time else {
        return None;
    };
    let month = MONTHS.iter().position(|name| **name == month)? as u8;
    Some([month, two_digits(day)?, two_digits([h1, h2])?, two_digits([n1, n2])?, two_digits([s1, s2])?])
}

/// The time that a date names, if there is such a date from 1970 on.
fn time_of(year: i64, parts: [u8; 5]) -> Option<SystemTime> {
    let [month, day, hour, minute, second] = parts.map(i64::from);
    let is_leap_year = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_in_month = match month {
        1 => 28 + i64::from(is_leap_year),
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    };
    if year < 1970 || !(1..=days_in_month).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // As in `calendar`, years are counted from March.
    let (year, month) = if month < 2 { (year - 1, month + 10) } else { (year, month - 2) };
    // Checked, since a two-digit year can be near the end of `SystemTime`, far beyond 9999.
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let seconds =
        (days - DAYS_FROM_MARCH_0000_TO_1970).checked_mul(86_400)?.checked_add(hour * 3600 + minute * 60 + second)?;
    UNIX_EPOCH.checked_add(Duration::from_secs(u64::try_from(seconds).ok()?))
}

/// The year from 1970 on that two digits mean: the latest one that puts the date not more than 50 years after
/// `reference`. The years are those of the calendar, so the parts of the dates are compared as such.
///
/// > Recipients of a timestamp value in rfc850-date format, which uses a two-digit year, MUST interpret a timestamp
/// > that appears to be more than 50 years in the future as representing the most recent year in the past that had the
/// > same last two digits.
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

/// A time as UTC: its year, and its parts as [`parse_parts`] has them.
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
    (tens < 10 && ones < 10).then(|| tens * 10 + ones)
}

/// Weekday names as IMF-fixdate and asctime write them, and as RFC 850 does.
const WEEKDAYS: [(&[u8; 3], &[u8]); 7] = [
    (b"Mon", b"Monday"),
    (b"Tue", b"Tuesday"),
    (b"Wed", b"Wednesday"),
    (b"Thu", b"Thursday"),
    (b"Fri", b"Friday"),
    (b"Sat", b"Saturday"),
    (b"Sun", b"Sunday"),
];

const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

const DAYS_IN_CYCLE: i64 = 400 * 365 + 97;

const DAYS_FROM_MARCH_0000_TO_1970: i64 = 719_468;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> SystemTime {
        let distance = Duration::from_secs(seconds.unsigned_abs());
        if seconds < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
    }

    #[test]
    fn the_calendar_agrees_with_httpdate_both_ways() {
        // Every day of a cycle, then a day of every quarter or so.
        for day in (0..DAYS_IN_CYCLE).chain((DAYS_IN_CYCLE..(9999 - 1970) * 365).step_by(89)) {
            let second = day * 86_400 + day % 86_400;
            let (year, [month, day, hour, minute, second_of_minute]) = calendar(at(second)).unwrap();
            let text = httpdate::fmt_http_date(at(second));
            let name = std::str::from_utf8(MONTHS[usize::from(month)]).unwrap();
            let ours = format!("{day:02} {name} {year} {hour:02}:{minute:02}:{second_of_minute:02} GMT");
            assert_eq!(text[5..], ours, "{second}");
            assert_eq!(parse(&text, None), Some(at(second)), "{text}");
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
