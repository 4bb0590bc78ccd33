//! How vendors encode a version in one number. A recipe has the name in kebab case, such as `thousands-and-tens`.

use serde::Deserialize;

/// How a version is encoded in a number. Each format rejects numbers that no version of its vendor has, so that other constants are
/// seldom taken for versions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NumberFormat {
    /// The number as it is, from 1 to 200.
    #[default]
    Number,
    /// 1000 major + 10 minor.
    ThousandsAndTens,
    /// 1000 major + 100 minor + patch.
    Thousands,
    /// Same as [`NumberFormat::Thousands`] up to version 8, 10000 major + 100 minor + patch from 9 on.
    #[serde(rename = "thousands-before-9")]
    ThousandsBefore9,
    /// Same as [`NumberFormat::Thousands`] up to version 2.8, 10000 major + 100 minor + patch from 2.9 on.
    #[serde(rename = "thousands-before-2.9")]
    ThousandsBefore2_9,
    /// Same as [`NumberFormat::Thousands`] in numbers of four digits, 10000 major + 100 minor + patch in those of five and six.
    ThousandsToFourDigits,
    /// Same as [`NumberFormat::Thousands`] in numbers of up to five digits, 10000 major + 100 minor + patch in those of six.
    ThousandsToFiveDigits,
    /// 10000 major + 100 minor + patch.
    TenThousands,
    /// 100 minor + patch, of releases before 1.0; larger numbers are ambiguous.
    #[serde(rename = "hundreds-before-1")]
    HundredsBefore1,
    /// 1,000,000 major + 10,000 minor + 100 patch.
    Millions,
    /// One byte each, patch lowest.
    Bytes,
    /// A compute capability: 100 major + 10 minor.
    ComputeCapability,
}

impl NumberFormat {
    /// The version with dots; `None` if the number is not a version in this format.
    pub fn decode(self, value: u32) -> Option<String> {
        let split = |unit: u32| {
            let (major, minor, patch) = (value / unit, value % unit / 100, value % 100);
            Some(format!("{major}.{minor}.{patch}"))
        };
        match self {
            NumberFormat::Number => (1..=200).contains(&value).then(|| value.to_string()),
            NumberFormat::ThousandsAndTens => {
                let is_plausible = (5000..=20990).contains(&value)
                    && value.is_multiple_of(10)
                    && value % 1000 <= 200;
                is_plausible.then(|| format!("{}.{}", value / 1000, value % 1000 / 10))
            }
            NumberFormat::ThousandsBefore9 => match value {
                5000..=9999 => split(1000),
                90000..=129999 => split(10000),
                _ => None,
            },
            NumberFormat::ThousandsBefore2_9 => match value {
                2000..=2899 => split(1000),
                20900..=40000 => split(10000),
                _ => None,
            },
            NumberFormat::Thousands => (300..=999_999).contains(&value).then(|| split(1000))?,
            NumberFormat::ThousandsToFourDigits => match value {
                1000..=9999 => split(1000),
                10_000..=999_999 => split(10000),
                _ => None,
            },
            NumberFormat::HundredsBefore1 => (100..=999).contains(&value).then(|| split(10000))?,
            NumberFormat::ThousandsToFiveDigits => match value {
                1000..=99_999 => split(1000),
                100_000..=999_999 => split(10000),
                _ => None,
            },
            NumberFormat::TenThousands => (100..=999_999).contains(&value).then(|| split(10000))?,
            NumberFormat::Millions => (10_000..=99_999_999).contains(&value).then(|| {
                format!(
                    "{}.{}.{}",
                    value / 1_000_000,
                    value / 10_000 % 100,
                    value / 100 % 100
                )
            }),
            NumberFormat::Bytes => {
                let [patch, minor, major, zero] = value.to_le_bytes();
                let is_plausible =
                    zero == 0 && (4..=31).contains(&major) && minor < 100 && patch < 100;
                is_plausible.then(|| format!("{major}.{minor}.{patch}"))
            }
            NumberFormat::ComputeCapability => {
                let is_plausible = (300..=2000).contains(&value) && value.is_multiple_of(10);
                is_plausible.then(|| format!("{}.{}", value / 100, value % 100 / 10))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_decodes_the_numbers_of_its_vendor() {
        let cases = [
            (NumberFormat::ThousandsAndTens, 13050, Some("13.5")),
            (NumberFormat::ThousandsAndTens, 10020, Some("10.2")),
            (NumberFormat::ThousandsAndTens, 12345, None),
            (NumberFormat::ThousandsAndTens, 4000, None),
            (NumberFormat::ThousandsBefore9, 8500, Some("8.5.0")),
            (NumberFormat::ThousandsBefore9, 91002, Some("9.10.2")),
            (NumberFormat::ThousandsBefore9, 10000, None),
            (NumberFormat::ThousandsBefore2_9, 2708, Some("2.7.8")),
            (NumberFormat::ThousandsBefore2_9, 22703, Some("2.27.3")),
            (NumberFormat::ThousandsBefore2_9, 3000, None),
            (NumberFormat::Thousands, 11703, Some("11.7.3")),
            (NumberFormat::Thousands, 701, Some("0.7.1")),
            (NumberFormat::Thousands, 34, None),
            (NumberFormat::ThousandsToFiveDigits, 120_804, Some("12.8.4")),
            (NumberFormat::ThousandsToFiveDigits, 11_402, Some("11.4.2")),
            (NumberFormat::ThousandsToFiveDigits, 130_000, Some("13.0.0")),
            (NumberFormat::ThousandsToFourDigits, 1900, Some("1.9.0")),
            (NumberFormat::ThousandsToFourDigits, 11500, Some("1.15.0")),
            (NumberFormat::ThousandsToFourDigits, 16, None),
            (NumberFormat::HundredsBefore1, 200, Some("0.2.0")),
            (NumberFormat::HundredsBefore1, 1000, None),
            (NumberFormat::TenThousands, 20800, Some("2.8.0")),
            (NumberFormat::TenThousands, 1000, Some("0.10.0")),
            (NumberFormat::TenThousands, 7, None),
            (NumberFormat::Millions, 190_000, Some("0.19.0")),
            (NumberFormat::Millions, 1_020_300, Some("1.2.3")),
            (NumberFormat::Millions, 7, None),
            (NumberFormat::Bytes, 0x0009_0a02, Some("9.10.2")),
            (NumberFormat::Bytes, 0x0109_0a02, None),
            (NumberFormat::ComputeCapability, 1210, Some("12.1")),
            (NumberFormat::ComputeCapability, 1001, None),
            (NumberFormat::Number, 28, Some("28")),
            (NumberFormat::Number, 0, None),
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
