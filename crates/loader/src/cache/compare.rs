//! The order of library names.

use std::cmp::Ordering;

/// Compares two names like `ldconfig` and the loader (`_dl_cache_libcmp`, glibc's `elf/dl-cache.c`): runs of digits are numbers and
/// greater than anything else, so `libfoo.so.9` comes before `libfoo.so.10`. Names that differ only in leading zeros are equal.
pub fn compare_names(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    loop {
        let order = match (number(&mut a), number(&mut b)) {
            (Some(a), Some(b)) => a.cmp(&b),
            (Some(_), None) => Ordering::Greater,
            (None, Some(_)) => Ordering::Less,
            (None, None) => match (character(&mut a), character(&mut b)) {
                (0, 0) => return Ordering::Equal,
                (a, b) => a.cmp(&b),
            },
        };
        if order.is_ne() {
            return order;
        }
    }
}

/// Removes the digits at the start and returns their number. Numbers from 2³¹ on wrap around, as in glibc.
fn number(text: &mut &[u8]) -> Option<i32> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(length);
    *text = rest;
    (length > 0).then(|| {
        digits.iter().fold(0, |value: i32, digit| {
            value.wrapping_mul(10).wrapping_add(i32::from(digit - b'0'))
        })
    })
}

/// Removes the first byte and returns it as a signed character, as in C on x86; 0 at the end.
fn character(text: &mut &[u8]) -> i8 {
    match text.split_first() {
        Some((first, rest)) => {
            *text = rest;
            first.cast_signed()
        }
        None => 0,
    }
}
