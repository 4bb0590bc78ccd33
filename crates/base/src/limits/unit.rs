//! Parses and formats counts, bytes and seconds.

/// Longest time in seconds: 10 years.
const LONGEST: u64 = 10 * 365 * 24 * 60 * 60;
/// 2¹⁰ bytes.
pub const KIB: u64 = 1 << 10;
/// 2²⁰ bytes.
pub const MIB: u64 = 1 << 20;
/// 2³⁰ bytes.
pub const GIB: u64 = 1 << 30;

/// The unit of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A count.
    Count,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
}

impl Unit {
    /// A regular expression that matches valid values.
    pub fn pattern(self) -> &'static str {
        match self {
            Unit::Count => "^[0-9_]+$",
            Unit::Bytes => "^([0-9_]+ *[bB]?|[0-9_]+(\\.[0-9]+)? *[kKmMgGtT]([iI]?[bB])?)$",
            Unit::Seconds => "^[0-9_]+ *(s|m|min|h)?$",
        }
    }

    /// Parses a value.
    pub fn parse(self, text: &str) -> Option<u64> {
        match self {
            Unit::Count => text.replace('_', "").parse().ok(),
            Unit::Bytes => bytes(text),
            Unit::Seconds => seconds(text).filter(|seconds| *seconds <= LONGEST),
        }
    }

    /// An example of a value, for error messages.
    pub fn example(self) -> &'static str {
        match self {
            Unit::Count => "expected a number greater than 0, such as 500000",
            Unit::Bytes => "expected a number of bytes, such as 64MiB or 2GB",
            Unit::Seconds => "expected a time, such as 30s, 10m or 2h",
        }
    }

    /// A value as text, in the largest unit without a remainder.
    pub fn format(self, value: u64) -> String {
        match self {
            Unit::Count => value.to_string(),
            Unit::Bytes => in_units(value, &[("GiB", GIB), ("MiB", MIB), ("KiB", KIB)], "B"),
            Unit::Seconds => in_units(value, &[("h", 3600), ("m", 60)], "s"),
        }
    }
}

/// In the largest unit without a remainder.
fn in_units(value: u64, units: &[(&str, u64)], smallest: &str) -> String {
    match units.iter().find(|(_, unit)| value.is_multiple_of(*unit)) {
        Some((name, unit)) if value > 0 => format!("{}{name}", value / unit),
        _ => format!("{value}{smallest}"),
    }
}

/// Parses bytes: `500MB`, `1.5GiB`.
fn bytes(text: &str) -> Option<u64> {
    let (number, rest) = split(text);
    let (fraction, unit) = match rest.strip_prefix('.') {
        Some(rest) => {
            let end = rest.find(|it: char| !it.is_ascii_digit())?;
            let (digits, unit) = rest.split_at(end);
            (Some(digits), unit.trim())
        }
        None => (None, rest),
    };
    let unit: u64 = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" => 1_000,
        "M" | "MB" => 1_000_000,
        "G" | "GB" => 1_000_000_000,
        "T" | "TB" => 1_000_000_000_000,
        "KIB" => KIB,
        "MIB" => MIB,
        "GIB" => GIB,
        "TIB" => 1 << 40,
        _ => return None,
    };
    let whole = number?.checked_mul(unit)?;
    match fraction {
        None => Some(whole),
        Some(_) if unit == 1 => None,
        Some(digits) => whole.checked_add(part_of(unit, digits)?),
    }
}

/// The part of a unit that these decimals are, rounded down.
fn part_of(unit: u64, decimals: &str) -> Option<u64> {
    let count = u32::try_from(decimals.len()).ok()?;
    let part = decimals.parse::<u128>().ok()?.checked_mul(unit.into())?;
    u64::try_from(part / 10_u128.checked_pow(count)?).ok()
}

/// Parses seconds: `30s`, `2h`.
fn seconds(text: &str) -> Option<u64> {
    let (number, unit) = split(text);
    let unit = match unit {
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        _ => return None,
    };
    number?.checked_mul(unit)
}

fn split(text: &str) -> (Option<u64>, &str) {
    let end = text.find(|it: char| !it.is_ascii_digit() && it != '_');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    (number.replace('_', "").parse().ok(), unit.trim())
}
