//! Equality of JSON values as `test` means it: by value, not by how a number is written.

use serde_json::{Number, Value};

/// Whether two values are the same JSON: numbers by value (1 and 1.0 are equal), objects regardless of order.
///
/// The comparison is exact: an integer of 64 bits equals a double only if the double is that very integer.
/// (`==` of [`Value`] tells 1 from 1.0.)
///
/// # Examples
/// ```
/// # use agui_core::patch::equal;
/// # use serde_json::json;
/// assert!(equal(&json!({"a": 1, "b": [2.0]}), &json!({"b": [2], "a": 1.0})));
/// assert!(!equal(&json!(9_007_199_254_740_993_u64), &json!(9_007_199_254_740_992.0)));
/// assert!(!equal(&json!("1"), &json!(1)));
/// ```
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => equal_numbers(a, b),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

fn equal_numbers(a: &Number, b: &Number) -> bool {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a == b,
        // One of them has a fraction or is out of the range of 64 bits, the other is neither.
        _ => false,
    }
}

/// The integer of 64 bits, signed or unsigned, that a number is, however it is written.
fn integer(number: &Number) -> Option<i128> {
    // Below 2^64 in magnitude every integral double converts to `i128` without loss.
    const BOUND: f64 = 18_446_744_073_709_551_616.0;
    if let Some(integer) = number.as_i128() {
        return Some(integer);
    }
    let double = number.as_f64()?;
    #[expect(clippy::cast_possible_truncation, reason = "checked to be integral and in range")]
    (double.fract() == 0.0 && double.abs() < BOUND).then_some(double as i128)
}
