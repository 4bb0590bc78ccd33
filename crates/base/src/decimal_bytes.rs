//! Sizes as text.

/// A size with decimal units: `1.5 GB`.
pub fn decimal_bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut value = number as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => format!("{number} B"),
        _ if value < 9.95 => format!("{value:.1} {}", UNITS[unit]),
        _ => format!("{value:.0} {}", UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_decimal_units() {
        assert_eq!(decimal_bytes(999), "999 B");
        assert_eq!(decimal_bytes(1_540_000_000), "1.5 GB");
        assert_eq!(decimal_bytes(29_124_181), "29 MB");
    }
}
