//! Moments, written as RFC 3339 in UTC with microseconds.
//!
//! The text always has the same width, so that comparing two of them as bytes compares the moments.

use std::fmt::{self, Display, Formatter};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Microseconds since the beginning of 1970. It covers the years 1970 to 9999; other moments are moved to the
/// nearer end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

/// `2026-01-31T23:59:59.123456Z`
pub const WIDTH: usize = 27;
const DAY: u64 = 86_400_000_000;
const LAST: u64 = 253_402_300_799_999_999;

impl Moment {
    pub fn now() -> Self {
        Self::from(SystemTime::now())
    }

    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)))
    }

    pub fn to_text(self) -> [u8; WIDTH] {
        let (year, month, day) = civil_from_days(self.0 / DAY);
        let in_day = self.0 % DAY;
        let (seconds, micros) = (in_day / 1_000_000, in_day % 1_000_000);
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        for (range, value) in [
            (0..4, year),
            (5..7, month),
            (8..10, day),
            (11..13, seconds / 3600),
            (14..16, seconds / 60 % 60),
            (17..19, seconds % 60),
            (20..26, micros),
        ] {
            put_digits(&mut text[range], value);
        }
        text
    }

    /// Reads RFC 3339 with `Z` or an offset, any number of decimals, and, for people, a date alone or a time
    /// without seconds.
    pub fn parse(text: &str) -> Option<Self> {
        let (date, rest) = text.split_at_checked(10)?;
        let days = parse_date(date)?;
        let Some(rest) = rest.strip_prefix(['T', 't', ' ']) else {
            return rest.is_empty().then_some(Self(days * DAY));
        };
        let (clock, offset_minutes) = split_offset(rest)?;
        let micros = i64::try_from(days * DAY + parse_clock(clock)?).ok()?;
        let moment = micros.checked_sub(offset_minutes * 60_000_000)?;
        u64::try_from(moment).ok().filter(|&micros| micros <= LAST).map(Self)
    }
}

impl From<SystemTime> for Moment {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
        Self(u64::try_from(since).unwrap_or(LAST).min(LAST))
    }
}

impl Display for Moment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.to_text().iter().try_for_each(|&byte| write!(f, "{}", char::from(byte)))
    }
}

/// Fills the digits with a number, from its last.
pub(crate) fn put_digits(digits: &mut [u8], mut value: u64) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(value % 10).unwrap_or_default();
        value /= 10;
    }
}

/// Howard Hinnant's `civil_from_days`, for days that are not before 1970. Years begin in March, so that the
/// leap day is the last day of a year, and 400 of them always have 146,097 days.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

fn days_from_civil(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = if month <= 2 { year.checked_sub(1)? } else { year };
    let (era, year_of_era) = (year / 400, year % 400);
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era).checked_sub(719_468)
}

fn parse_date(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    if bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let (year, month, day) = (digits(text.get(..4)?)?, digits(text.get(5..7)?)?, digits(text.get(8..)?)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let days = days_from_civil(year, month, day)?;
    // The thirtieth of February comes back as another day.
    (civil_from_days(days) == (year, month, day)).then_some(days)
}

/// The time of day and the offset from UTC in minutes.
fn split_offset(text: &str) -> Option<(&str, i64)> {
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = text.rfind(['+', '-']) else {
        return Some((text, 0));
    };
    let (clock, offset) = text.split_at(at);
    let (hours, minutes) = offset[1..].split_once(':')?;
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let minutes = i64::try_from(hours * 60 + minutes).ok()?;
    Some((clock, if offset.starts_with('-') { -minutes } else { minutes }))
}

fn parse_clock(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.split(':');
    let (hours, minutes) = (digits(parts.next()?)?, digits(parts.next()?)?);
    let seconds = parts.next().map_or(Some(0), digits)?;
    if parts.next().is_some() || hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    let micros = match fraction {
        "" => 0,
        _ => digits(&format!("{:0<6}", fraction.get(..6).unwrap_or(fraction)))?,
    };
    Some((hours * 3600 + minutes * 60 + seconds) * 1_000_000 + micros)
}

fn digits(text: &str) -> Option<u64> {
    let all = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_moments() {
        for (micros, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (1_709_251_199_999_999, "2024-02-29T23:59:59.999999Z"),
            (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
            (LAST, "9999-12-31T23:59:59.999999Z"),
        ] {
            assert_eq!(Moment(micros).to_string(), text);
            assert_eq!(Moment::parse(text), Some(Moment(micros)));
        }
    }

    #[test]
    fn what_people_write() {
        let noon = Moment::parse("2026-03-01T12:00:00Z");
        for text in
            ["2026-03-01T12:00", "2026-03-01 12:00:00", "2026-03-01T14:00:00+02:00", "2026-03-01T06:30-05:30"]
        {
            assert_eq!(Moment::parse(text), noon, "{text}");
        }
        assert_eq!(
            Moment::parse("2026-03-01").map(|m| m.to_string()).as_deref(),
            Some("2026-03-01T00:00:00.000000Z")
        );
        for wrong in [
            "",
            "yesterday",
            "2026-02-30",
            "2026-13-01",
            "2026-01-01T25:00",
            "2026-01-01X",
            "1969-12-31",
            "2026-01-01T12",
            "２０２６-01",
            "2026-01-01T1é:00",
            "2026-01-01T12:00:00.é",
        ] {
            assert_eq!(Moment::parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn text_goes_there_and_back_and_keeps_the_order(a in 0..=LAST, b in 0..=LAST) {
            prop_assert_eq!(Moment::parse(&Moment(a).to_string()), Some(Moment(a)));
            prop_assert_eq!(Moment(a).to_text().cmp(&Moment(b).to_text()), a.cmp(&b));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}") {
            let _ = Moment::parse(&text);
        }
    }
}
