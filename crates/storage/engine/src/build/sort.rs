//! Sorting entries by key: runs in memory, then in a file, then merged.
//!
//! An entry in memory is as in the file ([`super::spill`]), without the length of its key.

use gannet_base::Reader;
use gannet_base::sync::Arc;
use gannet_page::node::common_prefix;

use super::groups::{Groups, Sorted, head};
use super::spill::{Counted, FileRun, Item, LEAST_READ, Mark, READ, SortSpace, Spill, Spilled, put_rest};
use crate::plant::{Path, note};
use crate::{EngineError, Result};

/// Entries of a part that is worth a task of its own; fewer where tests are to meet it often.
const LEAST_PART: usize = if cfg!(debug_assertions) { 50 } else { 50_000 };
/// Entries before their turn that are asked for from memory: in a sorted run they lie anywhere.
const AHEAD: usize = 12;
/// Bytes of them that are asked for.
const AHEAD_BYTES: usize = 256;
/// Entries that are compared, not sorted by heads.
const FEW: usize = 12;
/// Bytes of memory an entry takes beside its own.
const BESIDE: usize = size_of::<Place>();

/// Where an entry lies, and the bytes of its key that decide most comparisons.
#[derive(Clone, Copy)]
struct Place {
    head: u64,
    at: u32,
    key: u32,
}

/// Entries in memory.
#[derive(Default)]
struct Run {
    bytes: Vec<u8>,
    places: Vec<Place>,
    /// An entry is not above the one before it.
    unordered: bool,
}

impl Run {
    fn key(&self, place: Place) -> &[u8] {
        &self.bytes[place.at as usize..(place.at + place.key) as usize]
    }

    /// Keys that divide it into so many parts. Of an entry that has a unique part it is that.
    fn cuts(&self, parts: usize) -> Vec<&[u8]> {
        let cut = |i: usize| {
            let item = item(&self.bytes, self.places[self.places.len() * i / parts]);
            if item.unique > 0 { &item.key[..item.unique] } else { item.key }
        };
        (1..parts).map(cut).collect()
    }

    /// Sorts by heads, and what has equal heads by those of what follows: each key is looked at once for a head, and
    /// not once for a comparison.
    fn sort(&mut self) {
        if !std::mem::take(&mut self.unordered) {
            return;
        }
        let Run { bytes, places, .. } = self;
        // What is to be sorted, and how much of the keys is the same there.
        let mut work = vec![(0..places.len(), 0)];
        while let Some((range, from)) = work.pop() {
            let mut at = range.start;
            let group = &mut places[range];
            let Some(first) = group.first().map(|p| rest(bytes, p, from)) else { continue };
            let common = group.iter().fold(first.len(), |n, p| common_prefix(&first[..n], rest(bytes, p, from)));
            let (from, mut longest, mut shortest) = (from + common, 0, u32::MAX);
            for place in &mut *group {
                place.head = head(rest(bytes, place, from));
                (longest, shortest) = (longest.max(place.key), shortest.min(place.key));
            }
            if longest == shortest || longest as usize > from + 8 {
                group.sort_unstable_by_key(|p| p.head);
            } else {
                // Equal heads of keys of different lengths: the shorter one ends, where the others have zeros.
                group.sort_unstable_by_key(|p| (p.head, p.key));
            }
            if longest as usize <= from + 8 {
                continue;
            }
            for equal in group.chunk_by_mut(|a, b| a.head == b.head) {
                let (from, len) = (from + 8, equal.len());
                if len > FEW {
                    work.push((at..at + len, from));
                } else if len > 1 {
                    equal.sort_unstable_by(|a, b| {
                        rest(bytes, a, from).cmp(rest(bytes, b, from)).then(a.key.cmp(&b.key))
                    });
                }
                at += len;
            }
        }
    }
}

/// What of a key is behind `from`.
fn rest<'b>(bytes: &'b [u8], place: &Place, from: usize) -> &'b [u8] {
    &bytes[place.at as usize + from.min(place.key as usize)..(place.at + place.key) as usize]
}

/// Lets others run, and looks whether the task is to end.
fn pause() -> Result<()> {
    gannet_runtime::yield_if_due();
    if gannet_runtime::interrupted() { Err(EngineError::Interrupted) } else { Ok(()) }
}

/// Takes entries in any order.
pub struct Sorter {
    space: SortSpace,
    run: Run,
    groups: Groups,
    spill: Option<Spill>,
    runs: Vec<Spilled>,
    entries: u64,
}

impl Sorter {
    /// With nothing in it.
    pub fn new(space: SortSpace) -> Sorter {
        Sorter { space, run: Run::default(), groups: Groups::default(), spill: None, runs: Vec::new(), entries: 0 }
    }

    /// Takes an entry.
    pub fn push(&mut self, item: Item<'_>) -> Result<()> {
        self.push_with(item.value, item.unique, |out| {
            out.extend_from_slice(item.key);
            Ok(())
        })
    }

    /// Takes an entry whose key `write` appends to the buffer.
    #[inline]
    pub fn push_with(
        &mut self,
        value: &[u8],
        unique: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        self.push_key(value, |out| write(out).map(|()| unique))
    }

    /// The same where `write` tells how much of the key is unique.
    #[inline]
    pub fn push_key<E: From<EngineError>>(
        &mut self,
        value: &[u8],
        write: impl FnOnce(&mut Vec<u8>) -> std::result::Result<usize, E>,
    ) -> std::result::Result<(), E> {
        let run = &mut self.run;
        let at = run.bytes.len();
        let unique = match write(&mut run.bytes) {
            Ok(unique) => unique,
            Err(error) => {
                run.bytes.truncate(at);
                return Err(error);
            }
        };
        let key = run.bytes.len() - at;
        if !run.unordered
            && let Some(last) = run.places.last()
        {
            run.unordered = run.key(*last) > &run.bytes[at..];
        }
        self.entries += 1;
        run.places.push(Place { head: 0, at: at as u32, key: key as u32 });
        put_rest(Item { key: &[], unique, value }, &mut run.bytes);
        if run.bytes.len() + run.places.len() * BESIDE >= self.space.memory.clamp(1, u32::MAX as usize / 2) {
            self.to_file()?;
        }
        Ok(())
    }

    /// Adds a group of entries whose keys begin with `key`: its number, from 0. No group's key begins with another's.
    pub fn group(&mut self, key: &[u8]) -> u32 {
        self.groups.add(key)
    }

    /// Takes an entry of a group, behind those that it has: its key is the group's and `rest`.
    #[inline]
    pub fn push_to(&mut self, group: u32, rest: &[u8], value: &[u8]) {
        self.entries += 1;
        self.groups.push(group, rest, value);
    }

    /// Entries so far.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Some of them are in a file.
    pub fn is_spilled(&self) -> bool {
        self.spill.is_some()
    }

    /// Writes groups to the file if they leave no memory for more, beside as many bytes of the caller's. True: the next
    /// group has the number 0 again.
    pub fn make_room(&mut self, beside: usize) -> Result<bool> {
        if self.groups.size() + beside < self.space.memory.clamp(1, u32::MAX as usize / 2) {
            return Ok(false);
        }
        self.groups_to_file()?;
        Ok(true)
    }

    /// Writes the groups as a run.
    fn groups_to_file(&mut self) -> Result<()> {
        let groups = std::mem::take(&mut self.groups);
        let mut sorted = gannet_runtime::run_long(|| groups.sorted());
        let spill = match &mut self.spill {
            Some(spill) => spill,
            none => none.insert(Spill::open(&self.space)?),
        };
        let written = spill.run(|spill| {
            let mut count = 0_usize;
            while sorted.advance() {
                count += 1;
                if count.is_multiple_of(4096) {
                    pause()?;
                }
                spill.put(Item { key: sorted.key(), unique: 0, value: sorted.value() })?;
            }
            Ok(())
        })?;
        self.runs.push(written);
        Ok(())
    }

    /// Writes what is in memory as a run.
    fn to_file(&mut self) -> Result<()> {
        let mut run = std::mem::take(&mut self.run);
        gannet_runtime::run_long(|| run.sort());
        let spill = match &mut self.spill {
            Some(spill) => spill,
            none => none.insert(Spill::open(&self.space)?),
        };
        let written = spill.run(|spill| {
            for (i, place) in run.places.iter().enumerate() {
                if i % 4096 == 0 {
                    pause()?;
                }
                spill.put(item(&run.bytes, *place))?;
            }
            Ok(())
        })?;
        self.runs.push(written);
        run.bytes.clear();
        run.places.clear();
        self.run = run;
        Ok(())
    }

    /// Sorts what is in memory, when all entries are there: several tasks do that at once with their own.
    pub fn seal(&mut self) -> Result<()> {
        // A run in memory beside many in the file would leave no room for their buffers.
        if self.spill.is_none() {
            gannet_runtime::run_long(|| self.run.sort());
            return Ok(());
        }
        self.all_to_file()
    }

    fn all_to_file(&mut self) -> Result<()> {
        if !self.run.places.is_empty() {
            self.to_file()?;
        }
        if !self.groups.is_empty() {
            self.groups_to_file()?;
        }
        Ok(())
    }

    /// Ends the input of sorters and delivers what all of them have, in order.
    pub fn merge(sorters: Vec<Sorter>) -> Result<Merge> {
        let memory = sorters.iter().map(|s| s.space.memory).sum::<usize>();
        let mut sources = Vec::new();
        for mut sorter in sorters {
            sorter.seal()?;
            let Sorter { run, groups, spill, runs, .. } = sorter;
            if !groups.is_empty() {
                sources.push(Source::Groups(gannet_runtime::run_long(|| groups.sorted())));
            }
            if let Some(mut spill) = spill {
                let runs = fewer(&mut spill, runs, memory)?;
                sources.extend(self::sources(&spill.file, &runs, memory));
            } else if !run.places.is_empty() {
                let end = run.places.len();
                sources.push(Source::Memory { run: Arc::new(run), next: 0, end });
            }
        }
        Merge::new(sources)
    }

    /// As [`Sorter::merge`], in so many parts of about as many entries that several tasks can go over; only one where
    /// there are few, or groups in memory.
    pub fn merge_parts(mut sorters: Vec<Sorter>, parts: usize) -> Result<Vec<MergePart>> {
        sorters.iter_mut().try_for_each(Sorter::seal)?;
        if parts > 1 && sorters.iter().any(|s| s.spill.is_some()) {
            return Sorter::parts_of_files(sorters, parts);
        }
        let entries = sorters.iter().map(|s| s.run.places.len()).sum::<usize>();
        if parts < 2 || sorters.iter().any(|s| !s.groups.is_empty()) || entries < parts * LEAST_PART {
            return Ok(vec![MergePart { lower: Vec::new(), merge: Sorter::merge(sorters)? }]);
        }
        note(Path::SortParted);
        let runs: Vec<Arc<Run>> =
            sorters.into_iter().map(|s| Arc::new(s.run)).filter(|r| !r.places.is_empty()).collect();
        let cuts = runs.iter().max_by_key(|run| run.places.len()).map_or(Vec::new(), |run| run.cuts(parts));
        let ends: Vec<usize> = runs.iter().map(|run| run.places.len()).collect();
        let bounds = bounds(&cuts, vec![0; runs.len()], &ends, |cut| {
            Ok(runs.iter().map(|r| r.places.partition_point(|p| r.key(*p) < cut)).collect())
        })?;
        let mut out = Vec::with_capacity(bounds.len());
        for (i, (lower, from)) in bounds.iter().enumerate() {
            let to = bounds.get(i + 1).map_or(&ends, |(_, to)| to);
            let source = |(run, (from, to)): (&Arc<Run>, (&usize, &usize))| Source::Memory {
                run: run.clone(),
                next: *from,
                end: *to,
            };
            let sources = runs.iter().zip(from.iter().zip(to)).map(source).collect();
            out.push(MergePart { lower: lower.clone(), merge: Merge::new(sources)? });
        }
        Ok(out)
    }

    /// The same where not all are in memory: then none are.
    fn parts_of_files(sorters: Vec<Sorter>, parts: usize) -> Result<Vec<MergePart>> {
        let memory = sorters.iter().map(|s| s.space.memory).sum::<usize>() / parts;
        let mut runs: Vec<(Arc<Counted>, Spilled)> = Vec::new();
        for mut sorter in sorters {
            sorter.all_to_file()?;
            let Some(mut spill) = sorter.spill else { continue };
            let few = fewer(&mut spill, sorter.runs, memory)?;
            runs.extend(few.into_iter().map(|run| (spill.file.clone(), run)));
        }
        let mut marks: Vec<&[u8]> = runs.iter().flat_map(|(_, run)| &run.marks).map(Mark::cut).collect();
        marks.sort_unstable();
        let cuts: Vec<&[u8]> = (1..parts).filter_map(|i| marks.get(marks.len() * i / parts).copied()).collect();
        let starts = runs.iter().map(|(_, run)| run.at).collect();
        let ends: Vec<u64> = runs.iter().map(|(_, run)| run.at + run.len).collect();
        let bounds = bounds(&cuts, starts, &ends, |cut| runs.iter().map(|(file, run)| run.place(file, cut)).collect())?;
        note(Path::SortParted);
        let at_once = read_at_once(memory, runs.len());
        let mut out = Vec::with_capacity(bounds.len());
        for (i, (lower, from)) in bounds.iter().enumerate() {
            let to = bounds.get(i + 1).map_or(&ends, |(_, to)| to);
            let source = |((file, _), (from, to)): (&(Arc<Counted>, Spilled), (&u64, &u64))| {
                Source::File(FileRun::new(file.clone(), *from..*to, at_once))
            };
            let sources = runs.iter().zip(from.iter().zip(to)).map(source).collect();
            out.push(MergePart { lower: lower.clone(), merge: Merge::new(sources)? });
        }
        Ok(out)
    }
}

/// Where each run goes on in the part that begins with a cut, of the first part and of those that have entries.
fn bounds<P: PartialEq>(
    cuts: &[&[u8]],
    starts: Vec<P>,
    ends: &[P],
    mut place: impl FnMut(&[u8]) -> Result<Vec<P>>,
) -> Result<Vec<(Vec<u8>, Vec<P>)>> {
    let mut bounds = vec![(Vec::new(), starts)];
    for cut in cuts {
        let at = place(cut)?;
        if at != ends && bounds.last().is_some_and(|(_, before)| *before != at) {
            bounds.push((cut.to_vec(), at));
        }
    }
    Ok(bounds)
}

/// Some of the entries of a sort.
pub struct MergePart {
    /// The part's entries are not below; entries whose unique parts are equal are in one part. Empty for the first one.
    pub lower: Vec<u8>,
    /// Delivers them: there are some, but in a part that is the only one perhaps.
    pub merge: Merge,
}

/// A file's runs, so many that their buffers fit the memory. While there are more, some are merged into one.
fn fewer(spill: &mut Spill, mut runs: Vec<Spilled>, memory: usize) -> Result<Vec<Spilled>> {
    let most = (memory / 2 / LEAST_READ).max(2);
    while runs.len() > most {
        note(Path::SortMergedTwice);
        let rest = runs.split_off(most);
        let mut merge = Merge::new(sources(&spill.file, &runs, memory))?;
        let one = spill.run(|to| {
            while let Some(item) = merge.next()? {
                to.put(item)?;
            }
            Ok(())
        })?;
        runs = rest;
        runs.push(one);
    }
    Ok(runs)
}

fn read_at_once(memory: usize, runs: usize) -> usize {
    (memory / 2 / runs.max(1)).clamp(LEAST_READ, READ)
}

fn sources(file: &Arc<Counted>, runs: &[Spilled], memory: usize) -> Vec<Source> {
    let at_once = read_at_once(memory, runs.len());
    let source = |run: &Spilled| Source::File(FileRun::new(file.clone(), run.at..run.at + run.len, at_once));
    runs.iter().map(source).collect()
}

fn item(bytes: &[u8], place: Place) -> Item<'_> {
    let (key, rest) = bytes[place.at as usize..].split_at(place.key as usize);
    let mut r = Reader::new(rest);
    // Written by `put_rest`.
    let unique = r.varint().unwrap_or(0) as usize;
    let value = r.prefixed(usize::MAX).unwrap_or(&[]);
    Item { key, unique, value }
}

enum Source {
    /// Entries up to `end`; `next` is the one behind that at hand.
    Memory {
        run: Arc<Run>,
        next: usize,
        end: usize,
    },
    Groups(Sorted),
    File(FileRun),
}

impl Source {
    fn advance(&mut self) -> Result<bool> {
        match self {
            Source::Memory { run, next, end } => {
                *next += 1;
                if let Some(soon) = run.places[..*end].get(*next + AHEAD) {
                    let at = run.bytes.as_ptr().wrapping_add(soon.at as usize);
                    gannet_base::prefetch_at(at, 0..AHEAD_BYTES.min(soon.key as usize + 64));
                }
                Ok(*next <= *end)
            }
            Source::Groups(sorted) => Ok(sorted.advance()),
            Source::File(run) => run.advance(),
        }
    }

    fn key(&self) -> &[u8] {
        match self {
            Source::Memory { run, next, .. } => run.key(run.places[*next - 1]),
            Source::Groups(sorted) => sorted.key(),
            Source::File(run) => run.item().key,
        }
    }

    fn item(&self) -> Item<'_> {
        match self {
            Source::Memory { run, next, .. } => item(&run.bytes, run.places[*next - 1]),
            Source::Groups(sorted) => Item { key: sorted.key(), unique: 0, value: sorted.value() },
            Source::File(run) => run.item(),
        }
    }
}

/// Delivers entries in the order of their keys.
pub struct Merge {
    /// A heap by the key that each is at, the least first.
    sources: Vec<Source>,
    /// The first one's entry has been delivered.
    delivered: bool,
    count: usize,
}

impl Merge {
    fn new(all: Vec<Source>) -> Result<Merge> {
        let mut sources = Vec::with_capacity(all.len());
        for mut source in all {
            if source.advance()? {
                sources.push(source);
            }
        }
        let mut merge = Merge { sources, delivered: false, count: 0 };
        for i in (0..merge.sources.len() / 2).rev() {
            merge.sift(i);
        }
        Ok(merge)
    }

    /// Moves a source down to where it belongs.
    fn sift(&mut self, mut i: usize) {
        loop {
            let least = (2 * i + 1..(2 * i + 3).min(self.sources.len()))
                .min_by(|a, b| self.sources[*a].key().cmp(self.sources[*b].key()));
            match least {
                Some(child) if self.sources[child].key() < self.sources[i].key() => {
                    self.sources.swap(i, child);
                    i = child;
                }
                _ => return,
            }
        }
    }

    /// The next entry. Error [`EngineError::Interrupted`] when the task is to end.
    pub fn next(&mut self) -> Result<Option<Item<'_>>> {
        self.count += 1;
        if self.count.is_multiple_of(256) {
            pause()?;
        }
        if std::mem::replace(&mut self.delivered, true) && !self.sources.is_empty() {
            if !self.sources[0].advance()? {
                self.sources.swap_remove(0);
            }
            self.sift(0);
        }
        Ok(self.sources.first().map(Source::item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(memory: usize, sorters: usize, entries: &[(Vec<u8>, Vec<u8>)]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let space = SortSpace { dir: std::env::temp_dir(), memory, disk: None };
        let mut all: Vec<Sorter> = (0..sorters).map(|_| Sorter::new(space.clone())).collect();
        for (i, (key, value)) in entries.iter().enumerate() {
            let unique = key.len() / 2;
            all[i % sorters].push(Item { key, unique, value }).unwrap();
        }
        let (mut merge, mut out) = (Sorter::merge(all).unwrap(), Vec::new());
        while let Some(item) = merge.next().unwrap() {
            assert_eq!(item.unique, item.key.len() / 2);
            out.push((item.key.to_vec(), item.value.to_vec()));
        }
        out
    }

    #[test]
    fn groups_come_in_order_from_memory_and_file() {
        let words: Vec<Vec<u8>> = (0..300_u32).map(|i| format!("{:x}.", i * 7919).into_bytes()).collect();
        for (memory, spills) in [(64 << 20, false), (20_000, true)] {
            let space = SortSpace { dir: std::env::temp_dir(), memory, disk: None };
            let mut sorters = [Sorter::new(space.clone()), Sorter::new(space)];
            let mut numbers = [vec![None; words.len()], vec![None; words.len()]];
            let mut expect = Vec::new();
            for i in 0..6000_u32 {
                let (which, word) = ((i % 2) as usize, (i * i % 301 % 300) as usize);
                let sorter = &mut sorters[which];
                let group = *numbers[which][word].get_or_insert_with(|| sorter.group(&words[word]));
                let value = vec![i as u8; i as usize % 9];
                sorter.push_to(group, &i.to_be_bytes(), &value);
                expect.push(([&words[word][..], &i.to_be_bytes()].concat(), value));
                if sorter.make_room(100).unwrap() {
                    numbers[which].fill(None);
                }
            }
            assert_eq!(sorters[0].spill.is_some(), spills);
            expect.sort();
            let (made, mut got) = (Sorter::merge_parts(sorters.into(), 3).unwrap(), Vec::new());
            assert_eq!(made.len(), if spills { 3 } else { 1 });
            for MergePart { mut merge, .. } in made {
                while let Some(item) = merge.next().unwrap() {
                    got.push((item.key.to_vec(), item.value.to_vec()));
                }
            }
            assert!(got == expect, "{memory} bytes");
        }
    }

    /// Parts, one behind the other, have what one merge has; entries with one unique part are in one of them.
    #[test]
    fn entries_come_in_order_in_parts() {
        let cases = [(600_u32, 1, 3), (600, 40, 3), (600, 600, 4), (2000, 7, 5), (60, 1, 2)];
        for ((entries, of_equal, parts), memory) in cases.into_iter().flat_map(|c| [(c, 64 << 20), (c, 3000)]) {
            let space = SortSpace { dir: std::env::temp_dir(), memory, disk: None };
            let mut all: Vec<Sorter> = (0..3).map(|_| Sorter::new(space.clone())).collect();
            let mut expect = Vec::new();
            for i in (0..entries).map(|i| i * 7919 % entries) {
                let key = [&(i / of_equal).to_be_bytes()[..], &i.to_be_bytes()].concat();
                all[(i % 7 % 3) as usize].push(Item { key: &key, unique: 4, value: b"v" }).unwrap();
                expect.push(key);
            }
            expect.sort();
            let (mut got, mut lowest) = (Vec::new(), 0);
            let made = Sorter::merge_parts(all, parts).unwrap();
            let in_files = memory < entries as usize * BESIDE / 3;
            match of_equal < entries {
                true if in_files => assert!((2..=parts).contains(&made.len()), "{entries} {of_equal} {parts}"),
                true if entries as usize >= parts * LEAST_PART => assert_eq!(made.len(), parts),
                _ => assert_eq!(made.len(), 1, "{entries} {of_equal} {parts}"),
            }
            for MergePart { lower, mut merge } in made {
                assert_eq!(lower.is_empty(), got.is_empty());
                while let Some(item) = merge.next().unwrap() {
                    assert!(item.key >= &lower[..] && (got.len() == lowest || item.unique == 4));
                    got.push(item.key.to_vec());
                }
                assert!(got.len() > lowest && (lower.is_empty() || got[lowest][..4] == lower));
                assert!(lowest == 0 || got[lowest - 1][..4] != got[lowest][..4]);
                lowest = got.len();
            }
            assert!(got == expect);
        }
    }

    #[test]
    fn entries_come_in_order_from_memory_and_file() {
        let mut x = 1_u64;
        let mut random = move |n: u64| {
            x = x.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (x >> 33) % n
        };
        let entries: Vec<(Vec<u8>, Vec<u8>)> = (0..20_000)
            .map(|i: u32| {
                let mut key = b"common".to_vec();
                key.extend((0..random(14)).map(|_| random(3) as u8));
                key.extend_from_slice(&i.to_be_bytes()[..if random(4) == 0 { 4 } else { 0 }]);
                let value = vec![i as u8; if random(500) == 0 { 40_000 } else { random(9) as usize }];
                (key, value)
            })
            .collect();
        let mut expect = entries.clone();
        expect.sort_by(|a, b| a.0.cmp(&b.0));
        let keys = |v: &[(Vec<u8>, Vec<u8>)]| v.iter().map(|e| e.0.clone()).collect::<Vec<_>>();
        for (memory, sorters) in [(64 << 20, 1), (64 << 20, 3), (100_000, 1), (300_000, 2), (20_000, 1)] {
            let got = sorted(memory, sorters, &entries);
            assert_eq!(keys(&got), keys(&expect), "{memory} bytes, {sorters} sorters");
            let (mut a, mut b) = (got, expect.clone());
            a.sort();
            b.sort();
            assert!(a == b);
        }
        assert!(crate::plant::taken()[Path::SortMergedTwice as usize] > 0, "more runs than can be merged at once");
        assert!(sorted(1000, 2, &[]).is_empty());
    }
}
