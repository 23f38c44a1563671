//! Global transaction ids: `uuid:number`, or `uuid:tag:number`, and sets of them.
//!
//! Text of a set: `uuid[:tag]:interval[:interval]...[:tag:interval...]`, entries separated by commas, an interval
//! being a number or two with a dash between; white space is free. Printed with lower-case uuids in order, and `,\n`
//! between entries.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::ops::Range;

/// Behind the largest number of a transaction.
pub const END: u64 = i64::MAX as u64;
/// Longest tag.
const MAX_TAG: usize = 32;

/// The identity of a server.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Uuid(pub [u8; 16]);

// Sets are looked into for each commit: by one number, not byte by byte.
impl Ord for Uuid {
    fn cmp(&self, other: &Uuid) -> Ordering {
        u128::from_be_bytes(self.0).cmp(&u128::from_be_bytes(other.0))
    }
}

impl PartialOrd for Uuid {
    fn partial_cmp(&self, other: &Uuid) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Uuid {
    /// From 32 hexadecimal digits, with dashes at the four places or without any, in braces or not.
    pub fn parse(text: &[u8]) -> Option<Uuid> {
        let text = match text {
            [b'{', inner @ .., b'}'] if inner.len() == 36 => inner,
            text => text,
        };
        let dashed = text.len() == 36;
        if !dashed && text.len() != 32 {
            return None;
        }
        let (mut bytes, mut at) = ([0u8; 16], 0);
        for (i, b) in text.iter().enumerate() {
            if dashed && matches!(i, 8 | 13 | 18 | 23) {
                if *b != b'-' {
                    return None;
                }
                continue;
            }
            bytes[at / 2] = bytes[at / 2] << 4 | char::from(*b).to_digit(16)? as u8;
            at += 1;
        }
        Some(Uuid(bytes))
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let (mut text, mut at) = ([b'-'; 36], 0);
        for (i, b) in self.0.iter().enumerate() {
            at += usize::from(matches!(i, 4 | 6 | 8 | 10));
            text[at] = DIGITS[usize::from(b >> 4)];
            text[at + 1] = DIGITS[usize::from(b & 15)];
            at += 2;
        }
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

/// Where numbers are counted: a server, or a tag of one.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Source {
    /// Server.
    pub uuid: Uuid,
    /// Empty: none.
    pub tag: Box<str>,
}

// Mostly there are no tags, and nothing is called to compare them.
impl Ord for Source {
    fn cmp(&self, other: &Source) -> Ordering {
        let untagged = self.tag.is_empty() && other.tag.is_empty();
        let tags = || if untagged { Ordering::Equal } else { self.tag.cmp(&other.tag) };
        self.uuid.cmp(&other.uuid).then_with(tags)
    }
}

impl PartialOrd for Source {
    fn partial_cmp(&self, other: &Source) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<Uuid> for Source {
    fn from(uuid: Uuid) -> Source {
        Source { uuid, tag: "".into() }
    }
}

/// One transaction.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Gtid {
    /// Whose number.
    pub source: Source,
    /// From 1 on.
    pub number: u64,
}

impl Gtid {
    /// From `uuid:number` or `uuid:tag:number`.
    pub fn parse(text: &[u8]) -> Option<Gtid> {
        let mut parts = text.split(|b| *b == b':').map(|p| p.trim_ascii());
        let uuid = Uuid::parse(parts.next()?)?;
        let mut last = parts.next()?;
        let mut tag = "".into();
        if let Some(found) = parse_tag(last) {
            tag = found;
            last = parts.next()?;
        }
        let number = parse_number(last).filter(|n| *n > 0)?;
        parts.next().is_none().then_some(Gtid { source: Source { uuid, tag }, number })
    }
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.source.uuid)?;
        if !self.source.tag.is_empty() {
            write!(f, "{}:", self.source.tag)?;
        }
        write!(f, "{}", self.number)
    }
}

fn parse_number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok().filter(|n| *n < END)
}

/// A tag in lower case: a letter or underscore, then these and digits.
fn parse_tag(text: &[u8]) -> Option<Box<str>> {
    let first = *text.first()?;
    let word = text.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let tag = word && !first.is_ascii_digit() && text.len() <= MAX_TAG;
    tag.then(|| String::from_utf8_lossy(text).to_ascii_lowercase().into())
}

/// A set of transactions: of each source, intervals in order that do not touch.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct GtidSet(BTreeMap<Source, Vec<Range<u64>>>);

impl GtidSet {
    /// From its text; `None` when it is malformed.
    pub fn parse(text: &[u8]) -> Option<GtidSet> {
        let mut set = GtidSet::default();
        for entry in text.split(|b| *b == b',') {
            let entry = entry.trim_ascii();
            if entry.is_empty() {
                continue;
            }
            let mut parts = entry.split(|b| *b == b':').map(|p| p.trim_ascii());
            let mut source = Source::from(Uuid::parse(parts.next()?)?);
            let mut waits = true;
            for part in parts {
                if let Some(tag) = parse_tag(part) {
                    source.tag = tag;
                    waits = true;
                    continue;
                }
                let mut ends = part.splitn(2, |b| *b == b'-').map(|p| p.trim_ascii());
                let first = parse_number(ends.next()?).filter(|n| *n > 0)?;
                let last = ends.next().map_or(Some(first), parse_number)?;
                // An interval that ends before it begins is empty.
                set.add(&source, first..(last + 1).max(first));
                waits = false;
            }
            if waits {
                return None;
            }
        }
        Some(set)
    }

    /// Adds transactions of a source.
    pub fn add(&mut self, source: &Source, numbers: Range<u64>) {
        if numbers.is_empty() {
            return;
        }
        match self.0.get_mut(source) {
            // The one that follows the last: what a server does with each of its own.
            Some(intervals) if intervals.last().is_some_and(|l| l.end == numbers.start) => {
                if let Some(last) = intervals.last_mut() {
                    last.end = numbers.end;
                }
            }
            Some(intervals) => {
                let from = intervals.partition_point(|i| i.end < numbers.start);
                let to = intervals.partition_point(|i| i.start <= numbers.end);
                let mut merged = numbers;
                for i in &intervals[from..to] {
                    merged = merged.start.min(i.start)..merged.end.max(i.end);
                }
                intervals.splice(from..to, [merged]);
            }
            None => {
                self.0.insert(source.clone(), vec![numbers]);
            }
        }
    }

    /// Adds all of another set.
    pub fn add_all(&mut self, other: &GtidSet) {
        for (source, intervals) in &other.0 {
            for interval in intervals {
                self.add(source, interval.clone());
            }
        }
    }

    /// Takes out what is in another set.
    pub fn subtract(&mut self, other: &GtidSet) {
        for (source, gone) in &other.0 {
            let Entry::Occupied(mut entry) = self.0.entry(source.clone()) else { continue };
            let mut left = Vec::new();
            for interval in entry.get() {
                let mut start = interval.start;
                for g in gone.iter().filter(|g| g.start < interval.end && g.end > interval.start) {
                    if start < g.start {
                        left.push(start..g.start);
                    }
                    start = start.max(g.end);
                }
                if start < interval.end {
                    left.push(start..interval.end);
                }
            }
            if left.is_empty() {
                entry.remove();
            } else {
                *entry.get_mut() = left;
            }
        }
    }

    /// Whether it has a transaction.
    pub fn contains(&self, source: &Source, number: u64) -> bool {
        self.0.get(source).is_some_and(|intervals| {
            let at = intervals.partition_point(|i| i.end <= number);
            intervals.get(at).is_some_and(|i| i.start <= number)
        })
    }

    /// Whether all of it is in another set.
    pub fn is_subset(&self, of: &GtidSet) -> bool {
        self.0.iter().all(|(source, intervals)| {
            let within = of.0.get(source).map_or(&[][..], |v| v);
            intervals.iter().all(|i| within.iter().any(|w| w.start <= i.start && i.end <= w.end))
        })
    }

    /// Whether they have a transaction in common.
    pub fn intersects(&self, other: &GtidSet) -> bool {
        let mut rest = self.clone();
        rest.subtract(other);
        rest != *self
    }

    /// The smallest number of a source that is not in it.
    pub fn first_free(&self, source: &Source) -> u64 {
        match self.0.get(source).and_then(|intervals| intervals.first()) {
            Some(first) if first.start == 1 => first.end,
            _ => 1,
        }
    }

    /// It has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many transactions it has.
    pub fn count(&self) -> u64 {
        self.0.values().flatten().map(|i| i.end - i.start).fold(0, u64::saturating_add)
    }

    /// Sources in order, with their intervals.
    pub fn iter(&self) -> impl Iterator<Item = (&Source, &[Range<u64>])> {
        self.0.iter().map(|(source, intervals)| (source, &intervals[..]))
    }
}

impl fmt::Display for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before: Option<&Source> = None;
        for (source, intervals) in &self.0 {
            match before {
                Some(b) if b.uuid == source.uuid => {}
                Some(_) => write!(f, ",\n{}", source.uuid)?,
                None => write!(f, "{}", source.uuid)?,
            }
            if !source.tag.is_empty() {
                write!(f, ":{}", source.tag)?;
            }
            for i in intervals {
                write!(f, ":{}", i.start)?;
                if i.end - i.start > 1 {
                    write!(f, "-{}", i.end - 1)?;
                }
            }
            before = Some(source);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Gtid, GtidSet, Source, Uuid};

    const A: &str = "3E11FA47-71CA-11E1-9E33-C80AA9429562";
    const B: &str = "4e11fa4771ca11e19e33c80aa9429562";

    fn set(text: &str) -> GtidSet {
        GtidSet::parse(text.replace('A', A).replace('B', B).as_bytes()).unwrap_or_else(|| panic!("{text}"))
    }

    fn shown(set: &GtidSet) -> String {
        let b = Uuid::parse(B.as_bytes()).unwrap();
        set.to_string().replace(&A.to_lowercase(), "A").replace(&b.to_string(), "B")
    }

    #[test]
    fn sets_are_read_and_printed() {
        for (text, want) in [
            ("", ""),
            (" , ", ""),
            ("A:1", "A:1"),
            ("A : 1 - 5 : 7 , B:3", "A:1-5:7,\nB:3"),
            ("B:3,A:5:1-3:4,A:9-8", "A:1-5,\nB:3"),
            ("A:3-7:5-9:1-2", "A:1-9"),
            ("A:Tag_1:2-3,A:1:other:7", "A:1:other:7:tag_1:2-3"),
        ] {
            assert_eq!(shown(&set(text)), want, "{text}");
            assert_eq!(GtidSet::parse(set(text).to_string().as_bytes()), Some(set(text)), "{text}");
        }
        for text in
            ["A", "A:", "A:0", "A:1-", "A:x-2", "A:1:", "A:t", "A1", "A:9223372036854775807", "A:1;B:2", "A:1-2-3"]
        {
            assert_eq!(GtidSet::parse(text.replace('A', A).as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn sets_are_computed_with() {
        for (of, less, left) in [
            ("A:1-10", "A:3-4:10", "A:1-2:5-9"),
            ("A:1-10,B:1", "A:1-20", "B:1"),
            ("A:1-10", "B:1-10", "A:1-10"),
            ("A:5", "A:1-4:6", "A:5"),
        ] {
            let mut rest = set(of);
            rest.subtract(&set(less));
            assert_eq!(shown(&rest), left);
            assert_eq!(set(of).intersects(&set(less)), left != of);
            assert!(rest.is_subset(&set(of)) && !rest.intersects(&set(less)));
            rest.add_all(&set(less));
            assert!(set(of).is_subset(&rest) && set(less).is_subset(&rest));
        }
        let s = set("A:1-3:5");
        let source = Source::from(Uuid::parse(A.as_bytes()).unwrap());
        assert_eq!([1, 3, 4, 5, 6].map(|n| s.contains(&source, n)), [true, true, false, true, false]);
        assert_eq!((s.first_free(&source), set("B:1").first_free(&source), s.count()), (4, 1, 4));
        assert!(!set("A:1-4").is_subset(&s) && set("A:2-3").is_subset(&s) && set("").is_subset(&s));
    }

    #[test]
    fn single_ids() {
        let text = format!("{A}:tag:23");
        assert_eq!(Gtid::parse(text.as_bytes()).unwrap().to_string(), text.to_lowercase());
        for bad in ["", A, &format!("{A}:0"), &format!("{A}:1-2"), &format!("{A}:t"), &format!("{A}:1:2"), "3E11:1"] {
            assert_eq!(Gtid::parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
