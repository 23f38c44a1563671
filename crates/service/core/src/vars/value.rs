//! Checking of values: from options (text) and from SET (SQL values).

use super::def::{Kind, VarDef, VarValue};
use gannet_types::{Result, SqlMode, Value, convert, sql_err};

/// A value that fits its variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The value as it was set.
    pub value: VarValue,
    /// The value that was asked for, if it was out of bounds or between two steps and was moved.
    pub adjusted: Option<String>,
}

impl From<VarValue> for Checked {
    fn from(value: VarValue) -> Self {
        Checked { value, adjusted: None }
    }
}

/// Reads an integer with an optional K, M, G, T, P or E suffix.
pub fn parse_size(text: &str) -> Option<i128> {
    let (digits, shift) = match text.bytes().last()?.to_ascii_uppercase() {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        b'T' => (&text[..text.len() - 1], 40),
        b'P' => (&text[..text.len() - 1], 50),
        b'E' => (&text[..text.len() - 1], 60),
        _ => (text, 0),
    };
    digits
        .parse::<i64>()
        .map(i128::from)
        .or_else(|_| digits.parse::<u64>().map(i128::from))
        .ok()?
        .checked_mul(1 << shift)
}

fn parse_bool(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "1" | "true" | "yes" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

impl VarDef {
    /// From the text of an option.
    pub fn parse(&self, text: &str) -> Result<Checked> {
        let wrong = || sql_err!(WrongValueForVar, self.name, text);
        match self.kind {
            Kind::Bool => Ok(VarValue::bool(parse_bool(text).ok_or_else(wrong)?).into()),
            Kind::Int { .. } => Ok(self.fit_int(parse_size(text.trim()).ok_or_else(wrong)?)),
            Kind::Double { .. } => Ok(self.fit_double(text.trim().parse().map_err(|_| wrong())?)),
            Kind::NullableText if text.eq_ignore_ascii_case("NULL") => Ok(VarValue::text("NULL").into()),
            Kind::Text | Kind::NullableText => Ok(VarValue::text(text).into()),
            Kind::Enum(_) if text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty() => {
                self.member(text.parse().map_err(|_| wrong())?, text)
            }
            Kind::Enum(_) | Kind::Set(_) | Kind::SqlMode | Kind::Flags(_) => self.fit_text(text),
        }
    }

    /// From the value of an expression in SET.
    pub fn check(&self, value: &Value) -> Result<Checked> {
        let shown = || {
            let text = convert::utf8_text(&value.as_ref());
            if value.is_null() { "NULL".to_string() } else { String::from_utf8_lossy(&text).into_owned() }
        };
        let wrong = || sql_err!(WrongValueForVar, self.name, shown());
        let wrong_type = || sql_err!(WrongTypeForVar, self.name);
        let int = match value {
            Value::Int(n) => Some(i128::from(*n)),
            Value::UInt(n) => Some(i128::from(*n)),
            _ => None,
        };
        match self.kind {
            _ if value.is_null() => match self.kind {
                Kind::NullableText => Ok(VarValue::Null.into()),
                Kind::Int { .. } | Kind::Double { .. } => Err(wrong_type()),
                _ => Err(wrong()),
            },
            Kind::Bool => {
                let on = match int {
                    Some(0) => Some(false),
                    Some(1) => Some(true),
                    Some(_) => None,
                    None if matches!(value, Value::Str(..)) => {
                        Some(shown()).filter(|s| s != "1" && s != "0").and_then(|s| parse_bool(&s))
                    }
                    None => return Err(wrong_type()),
                };
                Ok(VarValue::bool(on.ok_or_else(wrong)?).into())
            }
            Kind::Int { .. } => Ok(self.fit_int(int.ok_or_else(wrong_type)?)),
            Kind::Double { .. } => match value {
                Value::Str(..) => Err(wrong_type()),
                _ => Ok(self.fit_double(shown().parse().map_err(|_| wrong_type())?)),
            },
            Kind::Enum(_) if int.is_some() => {
                let n = int.unwrap_or(-1);
                self.member(usize::try_from(n).map_err(|_| wrong())?, &n.to_string())
            }
            Kind::Set(names) if int.is_some() => {
                let bits = usize::try_from(int.unwrap_or(-1)).ok().filter(|bits| bits >> names.len() == 0);
                let bits = bits.ok_or_else(wrong)?;
                let chosen = names.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1).map(|(_, name)| *name);
                Ok(VarValue::text(&chosen.collect::<Vec<_>>().join(",")).into())
            }
            Kind::SqlMode if int.is_some() => {
                let bits = u64::try_from(int.unwrap_or(-1)).map_err(|_| wrong())?;
                Ok(VarValue::text(&SqlMode::from_bits(bits)?.to_string()).into())
            }
            Kind::Text | Kind::NullableText | Kind::Enum(_) | Kind::Set(_) | Kind::SqlMode | Kind::Flags(_) => {
                match value {
                    Value::Str(..) => self.fit_text(&shown()),
                    _ => Err(wrong_type()),
                }
            }
        }
    }

    fn member(&self, n: usize, shown: &str) -> Result<Checked> {
        let Kind::Enum(names) = self.kind else { return Err(sql_err!(WrongTypeForVar, self.name)) };
        let name = names.get(n).ok_or_else(|| sql_err!(WrongValueForVar, self.name, shown))?;
        Ok(VarValue::text(name).into())
    }

    fn fit_int(&self, n: i128) -> Checked {
        let Kind::Int { min, max, block } = self.kind else { return VarValue::Null.into() };
        let mut fitted = n.clamp(i128::from(min), i128::from(max));
        fitted -= fitted.rem_euclid(i128::from(block.max(1)));
        fitted = fitted.max(i128::from(min));
        let value = i64::try_from(fitted).map_or_else(|_| VarValue::UInt(fitted as u64), VarValue::Int);
        Checked { value, adjusted: (fitted != n).then(|| n.to_string()) }
    }

    fn fit_double(&self, n: f64) -> Checked {
        let Kind::Double { min, max } = self.kind else { return VarValue::Null.into() };
        let fitted = if n.is_nan() { min } else { n.clamp(min, max) };
        Checked { value: VarValue::Double(fitted), adjusted: (fitted != n).then(|| n.to_string()) }
    }

    fn fit_text(&self, text: &str) -> Result<Checked> {
        let wrong = |what: &str| sql_err!(WrongValueForVar, self.name, what);
        let value = match self.kind {
            Kind::Enum(names) => {
                let name = names.iter().find(|n| n.eq_ignore_ascii_case(text)).ok_or_else(|| wrong(text))?;
                VarValue::text(name)
            }
            Kind::Set(names) => {
                let mut chosen = vec![false; names.len()];
                for part in text.split(',').filter(|p| !p.is_empty()) {
                    let i =
                        names.iter().position(|n| n.eq_ignore_ascii_case(part.trim())).ok_or_else(|| wrong(part))?;
                    chosen[i] = true;
                }
                let list: Vec<&str> = names.iter().zip(chosen).filter(|(_, c)| *c).map(|(n, _)| *n).collect();
                VarValue::text(&list.join(","))
            }
            Kind::SqlMode => VarValue::text(&SqlMode::parse(text)?.to_string()),
            Kind::Flags(names) => VarValue::text(&self.fit_flags(names, text)?),
            _ => VarValue::text(text),
        };
        Ok(value.into())
    }

    /// `default` or `name=on|off|default, ...`, applied to the defaults.
    fn fit_flags(&self, names: &[&str], text: &str) -> Result<String> {
        let wrong = |what: &str| sql_err!(WrongValueForVar, self.name, what);
        let initial = self.initial.value();
        let defaults: Vec<bool> =
            names.iter().map(|n| initial.as_str().split(',').any(|p| p.strip_prefix(n) == Some("=on"))).collect();
        let mut now = defaults.clone();
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            if part.eq_ignore_ascii_case("default") {
                now.clone_from(&defaults);
                continue;
            }
            let (name, value) = part.split_once('=').ok_or_else(|| wrong(part))?;
            let i = names.iter().position(|n| n.eq_ignore_ascii_case(name)).ok_or_else(|| wrong(part))?;
            now[i] = match value.to_ascii_lowercase().as_str() {
                "default" => defaults[i],
                other => parse_bool(other).ok_or_else(|| wrong(part))?,
            };
        }
        let show = |(n, on): (&&str, &bool)| format!("{n}={}", if *on { "on" } else { "off" });
        Ok(names.iter().zip(&now).map(show).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Live, VarId, find};
    use super::*;

    fn parse(name: &str, text: &str) -> Result<Checked> {
        find(name).unwrap().def().parse(text)
    }

    #[test]
    fn sizes_have_suffixes() {
        assert_eq!(parse("innodb_buffer_pool_size", "2G").unwrap().value, VarValue::Int(2 << 30));
        assert_eq!(parse("innodb_buffer_pool_size", "16m").unwrap().value, VarValue::Int(16 << 20));
        assert_eq!(parse_size("18446744073709551615"), Some(u64::MAX.into()));
        for bad in ["", "K", "1X", "1.5G", "--1", "9".repeat(40).as_str()] {
            assert_eq!(parse_size(bad), None, "{bad}");
        }
    }

    #[test]
    fn integers_are_clamped_with_a_note() {
        let c = parse("max_connections", "0").unwrap();
        assert_eq!((c.value, c.adjusted.as_deref()), (VarValue::Int(1), Some("0")));
        let c = parse("max_allowed_packet", "1500").unwrap();
        assert_eq!(c.value, VarValue::Int(1024));
    }

    #[test]
    fn set_checks_types_as_mysql_does() {
        let def = VarId::from(Live::WaitTimeout).def();
        assert_eq!(def.check(&Value::text("7")).unwrap_err().number(), 1232);
        assert_eq!(def.check(&Value::Null).unwrap_err().number(), 1232);
        let def = VarId::from(Live::Autocommit).def();
        assert_eq!(def.check(&Value::Int(2)).unwrap_err().number(), 1231);
        assert_eq!(def.check(&Value::text("off")).unwrap().value, VarValue::Int(0));
        let def = VarId::from(Live::TransactionIsolation).def();
        assert_eq!(def.check(&Value::text("read-committed")).unwrap().value, VarValue::text("READ-COMMITTED"));
        assert_eq!(def.check(&Value::Int(3)).unwrap().value, VarValue::text("SERIALIZABLE"));
        assert_eq!(def.check(&Value::Int(4)).unwrap_err().number(), 1231);
        let def = find("optimizer_switch").unwrap().def();
        let now = def.check(&Value::text("semijoin=off")).unwrap().value;
        assert!(now.as_str().contains(",semijoin=off,") && now.as_str().contains("mrr=on"));
        assert_eq!(def.check(&Value::text("nope=off")).unwrap_err().number(), 1231);
    }
}
