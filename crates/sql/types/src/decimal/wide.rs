//! Unsigned integers of 256 and 512 bits, little-endian limbs: just what 65 decimal digits need.

pub(super) type U256 = [u64; 4];
pub(super) type U512 = [u64; 8];

/// 10^0 ..= 10^77.
pub(super) static POW10: [U256; 78] = pow10_table();

/// 10^0 ..= 10^38.
pub(super) static POW10_128: [u128; 39] = pow10_128_table();

/// The table of powers, for other constants.
pub(super) const fn pow10_const() -> [U256; 78] {
    pow10_table()
}

const fn pow10_table() -> [U256; 78] {
    let mut table = [[0u64; 4]; 78];
    table[0][0] = 1;
    let mut i = 1;
    while i < 78 {
        let mut carry = 0u128;
        let mut k = 0;
        while k < 4 {
            let t = table[i - 1][k] as u128 * 10 + carry;
            table[i][k] = t as u64;
            carry = t >> 64;
            k += 1;
        }
        i += 1;
    }
    table
}

const fn pow10_128_table() -> [u128; 39] {
    let mut table = [1u128; 39];
    let mut i = 1;
    while i < 39 {
        table[i] = table[i - 1] * 10;
        i += 1;
    }
    table
}

pub(super) fn is_zero(a: &[u64]) -> bool {
    a.iter().all(|l| *l == 0)
}

pub(super) fn cmp(a: &U256, b: &U256) -> std::cmp::Ordering {
    a.iter().rev().cmp(b.iter().rev())
}

/// a += b; gives back the carry.
pub(super) fn add_assign(a: &mut [u64], b: &[u64]) -> bool {
    let mut carry = false;
    for (i, l) in a.iter_mut().enumerate() {
        let (s, c1) = l.overflowing_add(b.get(i).copied().unwrap_or(0));
        let (s, c2) = s.overflowing_add(u64::from(carry));
        *l = s;
        carry = c1 | c2;
    }
    carry
}

/// a -= b, for a >= b.
pub(super) fn sub_assign(a: &mut [u64], b: &[u64]) {
    let mut borrow = false;
    for (i, l) in a.iter_mut().enumerate() {
        let (s, c1) = l.overflowing_sub(b.get(i).copied().unwrap_or(0));
        let (s, c2) = s.overflowing_sub(u64::from(borrow));
        *l = s;
        borrow = c1 | c2;
    }
}

/// a = a * m + add; gives back what does not fit.
pub(super) fn mul_small(a: &mut [u64], m: u64, add: u64) -> u64 {
    let mut carry = u128::from(add);
    for l in a.iter_mut() {
        let t = u128::from(*l) * u128::from(m) + carry;
        *l = t as u64;
        carry = t >> 64;
    }
    carry as u64
}

/// a /= d; gives back the remainder.
pub(super) fn div_small(a: &mut [u64], d: u64) -> u64 {
    let mut rem = 0u128;
    for l in a.iter_mut().rev() {
        let t = (rem << 64) | u128::from(*l);
        *l = (t / u128::from(d)) as u64;
        rem = t % u128::from(d);
    }
    rem as u64
}

pub(super) fn mul(a: &U256, b: &U256) -> U512 {
    let mut out = [0u64; 8];
    for (i, x) in a.iter().enumerate() {
        if *x == 0 {
            continue;
        }
        let mut carry = 0u128;
        for (k, y) in b.iter().enumerate() {
            let t = u128::from(*x) * u128::from(*y) + u128::from(out[i + k]) + carry;
            out[i + k] = t as u64;
            carry = t >> 64;
        }
        out[i + 4] = carry as u64;
    }
    out
}

/// a * 10^n for n <= 77 and a product below 2^512 (always so: both are below 2^256).
pub(super) fn scale_up(a: &U256, n: u32) -> U512 {
    mul(a, &POW10[n as usize])
}

/// Number of decimal digits; 0 for zero.
pub(super) fn digits(a: &U256) -> u32 {
    if a[2] == 0 && a[3] == 0 {
        let v = u128::from(a[0]) | u128::from(a[1]) << 64;
        return digits128(v);
    }
    let bits = 256 - leading_zeros(a);
    // log10(2) as a fraction; at most one too small.
    let guess = (bits * 1233) >> 12;
    guess + u32::from(guess < 78 && cmp(a, &POW10[guess as usize]).is_ge())
}

pub(super) fn digits128(v: u128) -> u32 {
    if v == 0 { 0 } else { v.ilog10() + 1 }
}

fn leading_zeros(a: &[u64]) -> u32 {
    let mut n = 0;
    for l in a.iter().rev() {
        n += l.leading_zeros();
        if *l != 0 {
            break;
        }
    }
    n
}

/// Quotient and remainder (Knuth, TAOCP 2, 4.3.1, algorithm D, on 64-bit limbs). `d` is not zero.
pub(super) fn div_rem(n: &U512, d: &U256) -> (U512, U256) {
    let dl = 4 - d.iter().rev().take_while(|l| **l == 0).count();
    if dl <= 1 {
        let mut q = *n;
        let r = div_small(&mut q, d[0]);
        return (q, [r, 0, 0, 0]);
    }
    let shift = d[dl - 1].leading_zeros();
    let v = shl(d, shift);
    let mut u = [0u64; 9];
    for i in 0..9 {
        let hi = if i < 8 { n[i] << shift } else { 0 };
        let lo = if shift > 0 && i > 0 { n[i - 1] >> (64 - shift) } else { 0 };
        u[i] = hi | lo;
    }
    let mut q = [0u64; 8];
    for j in (0..=8 - dl).rev() {
        let top = u128::from(u[j + dl]) << 64 | u128::from(u[j + dl - 1]);
        let mut guess = top / u128::from(v[dl - 1]);
        let mut rest = top % u128::from(v[dl - 1]);
        while guess >> 64 != 0 || guess * u128::from(v[dl - 2]) > (rest << 64 | u128::from(u[j + dl - 2])) {
            guess -= 1;
            rest += u128::from(v[dl - 1]);
            if rest >> 64 != 0 {
                break;
            }
        }
        let mut borrow = 0u128;
        let mut carry = 0u128;
        for i in 0..dl {
            let p = guess * u128::from(v[i]) + carry;
            carry = p >> 64;
            let t = u128::from(u[j + i]).wrapping_sub(u128::from(p as u64)).wrapping_sub(borrow);
            u[j + i] = t as u64;
            borrow = (t >> 64) & 1;
        }
        let t = u128::from(u[j + dl]).wrapping_sub(carry).wrapping_sub(borrow);
        u[j + dl] = t as u64;
        if (t >> 64) & 1 == 1 {
            guess -= 1;
            let mut carry = false;
            for i in 0..dl {
                let (s, c1) = u[j + i].overflowing_add(v[i]);
                let (s, c2) = s.overflowing_add(u64::from(carry));
                u[j + i] = s;
                carry = c1 | c2;
            }
            u[j + dl] = u[j + dl].wrapping_add(u64::from(carry));
        }
        q[j] = guess as u64;
    }
    let mut r = [0u64; 4];
    for i in 0..dl {
        let lo = u[i] >> shift;
        let hi = if shift > 0 { u[i + 1] << (64 - shift) } else { 0 };
        r[i] = lo | hi;
    }
    (q, r)
}

fn shl(a: &U256, shift: u32) -> U256 {
    let mut out = [0u64; 4];
    for i in 0..4 {
        out[i] = a[i] << shift;
        if shift > 0 && i > 0 {
            out[i] |= a[i - 1] >> (64 - shift);
        }
    }
    out
}
