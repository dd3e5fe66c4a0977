//! Points in time as ISO 8601 writes them, as far as an expiry needs it.
//!
//! Calendar dates, in the extended and the basic format, alone or with a time; weeks, ordinal days, durations and
//! intervals are not read.

/// Milliseconds since the Unix epoch of a date by ISO 8601; `None` for anything else.
///
/// Read are calendar dates (`2026-09-01`, `20260901`, also `2026-09` and `2026`, which mean their first day) and, after
/// a `T`, a time of day: hours, or hours and minutes, or all with seconds, of which a fraction may follow after a dot or
/// a comma. A fraction of a millisecond is dropped. A time may end in `Z` or in an offset from UTC (`+02`, `+0200`,
/// `+02:00`); without one it is UTC, and so is a date alone. `24:00` is the end of the day, and a leap second the second
/// after it. A basic date takes a basic time. Years have four digits.
///
/// # Examples
/// ```
/// use agui_core::consumer::resume::parse_iso8601;
///
/// assert_eq!(parse_iso8601("1970-01-01T00:00:01.5Z"), Some(1_500));
/// assert_eq!(parse_iso8601("1970-01-01T02:00:00+02:00"), Some(0));
/// assert_eq!(parse_iso8601("1970-01-02"), Some(86_400_000));
/// assert_eq!(parse_iso8601("tomorrow"), None);
/// ```
pub fn parse_iso8601(text: &str) -> Option<i64> {
    let (date, time) = match text.split_once(['T', 't']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let (day, basic) = calendar_date(date, time.is_some())?;
    let midnight = day * 86_400_000;
    match time {
        None => Some(midnight),
        Some(time) => Some(midnight + time_of_day(time, basic)?),
    }
}

/// Days since the epoch, and whether the date is written in the basic format. With a time the date has to be whole.
fn calendar_date(text: &str, whole: bool) -> Option<(i64, bool)> {
    let bytes = text.as_bytes();
    let (year, month, day, basic) = match *bytes {
        [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] => {
            (number(&[y1, y2, y3, y4])?, number(&[m1, m2])?, number(&[d1, d2])?, false)
        }
        [y1, y2, y3, y4, m1, m2, d1, d2] => {
            (number(&[y1, y2, y3, y4])?, number(&[m1, m2])?, number(&[d1, d2])?, true)
        }
        [y1, y2, y3, y4, b'-', m1, m2] if !whole => {
            (number(&[y1, y2, y3, y4])?, number(&[m1, m2])?, 1, false)
        }
        [y1, y2, y3, y4] if !whole => (number(&[y1, y2, y3, y4])?, 1, 1, false),
        _ => return None,
    };
    if !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
        return None;
    }
    Some((days_since_epoch(year, month, day), basic))
}

/// Milliseconds from midnight UTC, which may be negative or more than a day.
fn time_of_day(text: &str, basic: bool) -> Option<i64> {
    let (text, offset) = match text.strip_suffix(['Z', 'z']) {
        Some(text) => (text, 0),
        None => match text.rfind(['+', '-']) {
            Some(at) => (text.get(..at)?, offset(text.get(at..)?, basic)?),
            None => (text, 0),
        },
    };
    let (text, fraction) = match text.split_once(['.', ',']) {
        Some((text, fraction)) => (text, Some(fraction)),
        None => (text, None),
    };
    let (hour, minute, second) = match (text.as_bytes(), basic) {
        (&[h1, h2], _) => (number(&[h1, h2])?, 0, None),
        (&[h1, h2, b':', m1, m2], false) | (&[h1, h2, m1, m2], true) => {
            (number(&[h1, h2])?, number(&[m1, m2])?, None)
        }
        (&[h1, h2, b':', m1, m2, b':', s1, s2], false) | (&[h1, h2, m1, m2, s1, s2], true) => {
            (number(&[h1, h2])?, number(&[m1, m2])?, Some(number(&[s1, s2])?))
        }
        _ => return None,
    };
    let milliseconds = match (fraction, second) {
        (None, _) => 0,
        (Some(fraction), Some(_)) => thousandths(fraction)?,
        // A fraction of a minute or an hour is not read.
        (Some(_), None) => return None,
    };
    let second = second.unwrap_or(0);
    let end_of_day = hour == 24 && minute == 0 && second == 0 && milliseconds == 0;
    if (hour > 23 && !end_of_day) || minute > 59 || second > 60 {
        return None;
    }
    Some(((hour * 60 + minute - offset) * 60 + second) * 1_000 + milliseconds)
}

/// Minutes ahead of UTC.
fn offset(text: &str, basic: bool) -> Option<i64> {
    let (sign, hours, minutes) = match *text.as_bytes() {
        [sign, h1, h2] => (sign, number(&[h1, h2])?, 0),
        [sign, h1, h2, b':', m1, m2] if !basic => (sign, number(&[h1, h2])?, number(&[m1, m2])?),
        // Often written after a time in the extended format, too.
        [sign, h1, h2, m1, m2] => (sign, number(&[h1, h2])?, number(&[m1, m2])?),
        _ => return None,
    };
    if hours > 23 || minutes > 59 {
        return None;
    }
    let ahead = hours * 60 + minutes;
    Some(if sign == b'-' { -ahead } else { ahead })
}

/// The first three digits of a fraction, of which there is at least one and nothing but digits.
fn thousandths(fraction: &str) -> Option<i64> {
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(fraction.bytes().chain(*b"00").take(3).fold(0, |sum, byte| sum * 10 + i64::from(byte - b'0')))
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 in the Gregorian calendar, for years from 0 on.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March put the leap day last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // 306 days lie between 1 March of the year before and 1 January.
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468
}
