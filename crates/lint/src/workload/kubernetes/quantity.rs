//! Amounts of resources: <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>.

/// An amount, in billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Quantity(i128);

/// A text that the API server does not take for an amount.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotAQuantity;

const ONE: i128 = 1_000_000_000;
/// Digits beyond these are unknown here.
const MOST_DIGITS: usize = 18;

impl Quantity {
    /// Reads a text; `None` for one whose value depends on how YAML reads it (`010`, `1_000`), or that is not understood here (`1e3`).
    pub fn parse(text: &str) -> Result<Option<Self>, NotAQuantity> {
        let text = text.trim();
        let (sign, number) = match text.strip_prefix('-') {
            Some(number) => (-1, number),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let is_suffix = |c: char| !c.is_ascii_digit() && c != '.';
        let (digits, suffix) = number.split_at(number.find(is_suffix).unwrap_or(number.len()));
        if !suffix.chars().all(|c| c.is_ascii_alphabetic()) {
            return Ok(None);
        }
        if digits.is_empty() && !suffix.is_empty() {
            return Err(NotAQuantity);
        }
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let is_octal = whole.len() > 1 && whole.starts_with('0');
        let all = format!("{whole}{part}");
        if is_octal || all.is_empty() || all.len() > MOST_DIGITS || part.contains('.') {
            return Ok(None);
        }
        let (factor, divisor) = match suffix {
            "" => (1, 1),
            "n" => (1, 1_000_000_000),
            "u" => (1, 1_000_000),
            "m" => (1, 1_000),
            "k" => (1_000, 1),
            "M" => (1_000_000, 1),
            "G" => (1_000_000_000, 1),
            "T" => (1_000_000_000_000, 1),
            "P" | "E" | "Pi" | "Ei" => return Ok(None),
            "Ki" => (1 << 10, 1),
            "Mi" => (1 << 20, 1),
            "Gi" => (1 << 30, 1),
            "Ti" => (1 << 40, 1),
            // Digits of YAML in another base: `0x`.
            _ if digits == "0" => return Ok(None),
            _ => return Err(NotAQuantity),
        };
        let number: i128 = all.parse().map_err(|_| NotAQuantity)?;
        let scale = 10_i128.pow(u32::try_from(part.len()).unwrap_or_default());
        let amount = number
            .checked_mul(factor)
            .and_then(|it| it.checked_mul(ONE));
        Ok(amount.map(|it| Quantity(sign * (it / divisor / scale))))
    }

    pub fn is_negative(self) -> bool {
        self.0 < 0
    }

    /// Whether it has no thousandths, which the API server rounds up to.
    pub fn is_integer(self) -> bool {
        let thousandths = (self.0 + ONE / 1000 - 1) / (ONE / 1000);
        thousandths % 1000 == 0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn amounts_have_suffixes() {
        let same =
            |one: &str, other: &str| assert_eq!(Quantity::parse(one), Quantity::parse(other));
        same("1", "1000m");
        same("1.5Gi", "1536Mi");
        same("+2k", "2000.0");
        same("3u", "3000n");
        assert!(Quantity::parse("2").unwrap() > Quantity::parse("1500m").unwrap());
        for text in ["one", "true", "8gb", "8GB", "1gpu", "-x"] {
            assert_eq!(Quantity::parse(text), Err(NotAQuantity), "{text}");
        }
        for text in [
            "010", "0x10", "1_000", "1e3", ".inf", "1.2.3", "", "{{n}}", "$(N)",
        ] {
            assert!(!matches!(Quantity::parse(text), Ok(Some(_))), "{text}");
        }
    }

    #[test]
    fn integers_have_no_fraction() {
        let is_integer = |text: &str| {
            Quantity::parse(text)
                .ok()
                .flatten()
                .is_some_and(Quantity::is_integer)
        };
        for text in ["1", "1.0", "2000m", "1k", "0"] {
            assert!(is_integer(text), "{text}");
        }
        for text in ["0.5", "500m", "1.25", "1n"] {
            assert!(!is_integer(text), "{text}");
        }
    }
}
