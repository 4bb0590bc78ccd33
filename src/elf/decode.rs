//! How vendors write a version into one number. A recipe names one of these formats in kebab case, such as `thousands-and-tens`.

use serde::Deserialize;

/// A number format. Each accepts only numbers that it can have written, so that a wrong constant is seldom taken for a version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Decoder {
    /// The number as it is, from 1 to 200.
    #[default]
    Number,
    /// 1000 major + 10 minor.
    ThousandsAndTens,
    /// 1000 major + 100 minor + patch.
    Thousands,
    /// As [`Decoder::Thousands`] up to version 8, 10000 major + 100 minor + patch from 9 on.
    #[serde(rename = "thousands-before-9")]
    ThousandsBefore9,
    /// As [`Decoder::Thousands`] up to version 2.8, 10000 major + 100 minor + patch from 2.9 on.
    #[serde(rename = "thousands-before-2.9")]
    ThousandsBefore2_9,
    /// As [`Decoder::Thousands`] in numbers of up to five digits, 10000 major + 100 minor + patch in those of six.
    ThousandsToFiveDigits,
    /// One byte each, patch lowest.
    Bytes,
    /// A compute capability: 100 major + 10 minor.
    ComputeCapability,
}

impl Decoder {
    /// The dotted version, or `None` if this format cannot have produced the number.
    pub fn decode(self, value: u32) -> Option<String> {
        let split = |unit: u32| {
            let (major, minor, patch) = (value / unit, value % unit / 100, value % 100);
            Some(format!("{major}.{minor}.{patch}"))
        };
        match self {
            Decoder::Number => (1..=200).contains(&value).then(|| value.to_string()),
            Decoder::ThousandsAndTens => {
                let plausible = (5000..=20990).contains(&value)
                    && value.is_multiple_of(10)
                    && value % 1000 <= 200;
                plausible.then(|| format!("{}.{}", value / 1000, value % 1000 / 10))
            }
            Decoder::ThousandsBefore9 => match value {
                5000..=9999 => split(1000),
                90000..=129999 => split(10000),
                _ => None,
            },
            Decoder::ThousandsBefore2_9 => match value {
                2000..=2899 => split(1000),
                20900..=40000 => split(10000),
                _ => None,
            },
            Decoder::Thousands => (300..=999_999).contains(&value).then(|| split(1000))?,
            Decoder::ThousandsToFiveDigits => match value {
                1000..=99_999 => split(1000),
                100_000..=999_999 => split(10000),
                _ => None,
            },
            Decoder::Bytes => {
                let [patch, minor, major, zero] = value.to_le_bytes();
                let plausible =
                    zero == 0 && (4..=31).contains(&major) && minor < 100 && patch < 100;
                plausible.then(|| format!("{major}.{minor}.{patch}"))
            }
            Decoder::ComputeCapability => {
                let plausible = (300..=2000).contains(&value) && value.is_multiple_of(10);
                plausible.then(|| format!("{}.{}", value / 100, value % 100 / 10))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_reads_what_its_vendor_writes() {
        let cases = [
            (Decoder::ThousandsAndTens, 13050, Some("13.5")),
            (Decoder::ThousandsAndTens, 10020, Some("10.2")),
            (Decoder::ThousandsAndTens, 12345, None),
            (Decoder::ThousandsAndTens, 4000, None),
            (Decoder::ThousandsBefore9, 8500, Some("8.5.0")),
            (Decoder::ThousandsBefore9, 91002, Some("9.10.2")),
            (Decoder::ThousandsBefore9, 10000, None),
            (Decoder::ThousandsBefore2_9, 2708, Some("2.7.8")),
            (Decoder::ThousandsBefore2_9, 22703, Some("2.27.3")),
            (Decoder::ThousandsBefore2_9, 3000, None),
            (Decoder::Thousands, 11703, Some("11.7.3")),
            (Decoder::Thousands, 701, Some("0.7.1")),
            (Decoder::Thousands, 34, None),
            (Decoder::ThousandsToFiveDigits, 120_804, Some("12.8.4")),
            (Decoder::ThousandsToFiveDigits, 11_402, Some("11.4.2")),
            (Decoder::ThousandsToFiveDigits, 130_000, Some("13.0.0")),
            (Decoder::Bytes, 0x0009_0a02, Some("9.10.2")),
            (Decoder::Bytes, 0x0109_0a02, None),
            (Decoder::ComputeCapability, 1210, Some("12.1")),
            (Decoder::ComputeCapability, 1001, None),
            (Decoder::Number, 28, Some("28")),
            (Decoder::Number, 0, None),
        ];
        for (decoder, value, expected) in cases {
            assert_eq!(
                decoder.decode(value).as_deref(),
                expected,
                "{decoder:?} {value}"
            );
        }
    }
}
