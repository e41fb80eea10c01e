//! Sizes and durations as people write them. A bare number has no unit and is refused: `64` is read as
//! bytes by one person and as megabytes by the next.

use std::fmt;
use std::time::Duration;

/// Why a size or a duration cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitError {
    NoNumber,
    NoUnit,
    UnknownUnit,
    TooLarge,
    Zero,
}

impl fmt::Display for UnitError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::NoNumber => "has no whole number before its unit",
            Self::NoUnit => "has no unit",
            Self::UnknownUnit => "has a unit that is not known",
            Self::TooLarge => "is too large",
            Self::Zero => "is zero",
        })
    }
}

pub const SIZE_UNITS: &str = "B, KB, MB, GB, TB (thousands) or KiB, MiB, GiB, TiB (1024s)";
pub const DURATION_UNITS: &str = "ms, s, m, h or d";

/// Reads `"64MiB"`.
pub fn size(text: &str) -> Result<u64, UnitError> {
    let (number, unit) = split(text.trim())?;
    let factor: u64 = match unit {
        "" => return Err(UnitError::NoUnit),
        "B" => 1,
        "KB" | "kB" => 1000,
        "MB" => 1000_u64.pow(2),
        "GB" => 1000_u64.pow(3),
        "TB" => 1000_u64.pow(4),
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return Err(UnitError::UnknownUnit),
    };
    let bytes = number.checked_mul(factor).ok_or(UnitError::TooLarge)?;
    if bytes == 0 { Err(UnitError::Zero) } else { Ok(bytes) }
}

/// Reads `"5m"`, and `"1h30m"`. At most ten years, so that adding one to a clock cannot overflow.
pub fn duration(text: &str) -> Result<Duration, UnitError> {
    const LONGEST: u64 = 10 * 366 * 24 * 3600 * 1000;
    let mut rest = text.trim();
    let mut total: u64 = 0;
    loop {
        let (number, after) = split(rest)?;
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let factor: u64 = match &after[..end] {
            "" => return Err(UnitError::NoUnit),
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(UnitError::UnknownUnit),
        };
        total = number
            .checked_mul(factor)
            .and_then(|part| total.checked_add(part))
            .filter(|total| *total <= LONGEST)
            .ok_or(UnitError::TooLarge)?;
        rest = &after[end..];
        if rest.is_empty() {
            break;
        }
    }
    if total == 0 { Err(UnitError::Zero) } else { Ok(Duration::from_millis(total)) }
}

fn split(text: &str) -> Result<(u64, &str), UnitError> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if end == 0 || text[end..].starts_with(['.', ',']) {
        return Err(UnitError::NoNumber);
    }
    let number = text[..end].parse().map_err(|_| UnitError::TooLarge)?;
    Ok((number, text[end..].trim_start()))
}

impl std::error::Error for UnitError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size("64MiB"), Ok(64 << 20));
        assert_eq!(size("4 GiB"), Ok(4 << 30));
        assert_eq!(size("10MB"), Ok(10_000_000));
        assert_eq!(size("64"), Err(UnitError::NoUnit));
        assert_eq!(size("64M"), Err(UnitError::UnknownUnit));
        assert_eq!(size("1.5GiB"), Err(UnitError::NoNumber));
        assert_eq!(size("-1B"), Err(UnitError::NoNumber));
        assert_eq!(size("0B"), Err(UnitError::Zero));
        assert_eq!(size("99999999TiB"), Err(UnitError::TooLarge));
        assert_eq!(size("99999999999999999999B"), Err(UnitError::TooLarge));
    }

    #[test]
    fn durations() {
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("300"), Err(UnitError::NoUnit));
        assert_eq!(duration("5min"), Err(UnitError::UnknownUnit));
        assert_eq!(duration("0s"), Err(UnitError::Zero));
        assert_eq!(duration(""), Err(UnitError::NoNumber));
        assert_eq!(duration("10000d"), Err(UnitError::TooLarge));
    }
}
