//! Lines become rows before it is their turn, by several tasks.
//!
//! The statement's own task reads chunks of whole lines, lets helpers make rows of them (`plain.rs`), and puts these
//! in, chunk by chunk in the file's order. What it would have to wait for, it does itself. A line that is no plain one
//! goes the statement's own way when its turn comes, and so does all that is behind it where rows are not built into
//! trees any more: what the statement says and does is what it would say and do line by line.

use super::plain::{Chunk, Plain};
use super::{Ended, Load, Run, each_line, way};
use crate::context::Cx;
use crate::file::{Input, Reader};
use crate::part::Origin;
use gannet_plan::plan::Insert;
use gannet_runtime::{Monitor, Wait, beside, workers_beside};
use gannet_schema::Table;
use gannet_telemetry::{Counter, add};
use gannet_types::{Result, SqlError};
use std::collections::VecDeque;

/// Bytes of lines that are handed over at once; few where tests are to meet what happens between two.
const CHUNK: usize = if cfg!(debug_assertions) { 300 } else { 256 << 10 };
/// A line that is longer is not waited for.
const LONGEST: usize = 16 * CHUNK;
/// Chunks beside those that tasks are at.
const SPARE: usize = 4;

/// Chunks on their way, each with its number.
#[derive(Default)]
struct Belt {
    waiting: VecDeque<(u64, Chunk)>,
    made: Vec<(u64, Chunk)>,
    empty: Vec<Chunk>,
    ended: bool,
    /// A helper has panicked.
    broken: bool,
}

/// What the statement's own task does next.
enum Step {
    Read(Chunk),
    Convert(u64, Chunk),
    Put(Chunk),
    Done,
}

/// Whole lines of the input.
struct Chunks<'i> {
    input: &'i mut dyn Input,
    /// What has been read behind them.
    rest: Vec<u8>,
    over: bool,
    /// Why there is no more; what was read before comes first.
    failed: Option<SqlError>,
}

impl Chunks<'_> {
    /// Whole lines into `text`; all that is left, if that is one line that is too long, with `false`.
    fn next(&mut self, plain: &Plain<'_>, text: &mut Vec<u8>) -> bool {
        text.clear();
        text.append(&mut self.rest);
        let mut wanted = CHUNK;
        loop {
            while text.len() < wanted && !self.over {
                match self.input.read(text) {
                    Ok(more) => self.over = !more,
                    Err(error) => (self.over, self.failed) = (true, Some(error)),
                }
            }
            if self.over && self.failed.is_none() {
                return true;
            }
            match plain.cutter.last_end(text) {
                Some(end) => {
                    self.rest.extend_from_slice(&text[end..]);
                    text.truncate(end);
                    return true;
                }
                None if self.over => {
                    text.clear();
                    return true;
                }
                None if wanted > LONGEST => {
                    std::mem::swap(text, &mut self.rest);
                    return false;
                }
                None => wanted += CHUNK,
            }
        }
    }
}

/// Bytes, and then what else there is.
struct Then<'a, 'i> {
    bytes: &'a [u8],
    input: Option<&'a mut Chunks<'i>>,
}

impl Input for Then<'_, '_> {
    fn read(&mut self, buffer: &mut Vec<u8>) -> Result<bool> {
        if !self.bytes.is_empty() {
            buffer.extend_from_slice(std::mem::take(&mut self.bytes));
            return Ok(true);
        }
        match &mut self.input {
            Some(chunks) if !chunks.over => chunks.input.read(buffer),
            Some(chunks) => chunks.failed.take().map_or(Ok(false), Err),
            None => Ok(false),
        }
    }
}

/// Says at a helper's end whether that is a panic.
struct Ending<'b>(&'b Monitor<Belt>);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.change(|belt| belt.broken |= std::thread::panicking());
    }
}

/// Says at the end of the statement's own task, be it by a panic, that helpers are not needed any more.
struct Over<'b>(&'b Monitor<Belt>);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.change(|belt| belt.ended = true);
    }
}

/// Puts in what the reader, which is at the begin of a line, has still to read.
pub(super) fn lines<'p>(
    load: &Load<'_>,
    plain: &Plain<'p>,
    (rest, input, over): (Vec<u8>, &mut dyn Input, bool),
    run: &mut Run<'p>,
    target: (&'p Insert, &'p Table),
    cx: &mut Cx<'_, 'p>,
) -> Result<()> {
    let tasks = workers_beside().min(cx.shared.settings.ddl_threads as usize).max(1);
    add(Counter::ParallelTasks, tasks as u64 - 1);
    let (belt, origin) = (Monitor::new(Belt::default()), Origin::of(cx, tasks));
    let convert = |chunk: &mut Chunk| _ = origin.task(|cx| plain.convert(chunk, cx));
    let helper = |_| {
        let _ending = Ending(&belt);
        let next = || {
            belt.wait(Wait::Parallel, |belt| if belt.ended { Some(None) } else { belt.waiting.pop_front().map(Some) })
        };
        while let Some((number, mut chunk)) = next() {
            convert(&mut chunk);
            belt.change(|belt| belt.made.push((number, chunk)));
            gannet_runtime::yield_if_due();
        }
    };
    let extent = input.extent().map(|(read, all)| (read.saturating_sub(rest.len() as u64), all));
    let chunks = Chunks { input, rest, over, failed: None };
    let mut putting = Putting { load, target, run, chunks, extent };
    beside(tasks - 1, Wait::Parallel, helper, || {
        let _over = Over(&belt);
        putting.all(&belt, plain, tasks, &convert, cx)
    })
}

/// The statement's own task.
struct Putting<'a, 'i, 'p> {
    load: &'a Load<'a>,
    target: (&'p Insert, &'p Table),
    run: &'a mut Run<'p>,
    chunks: Chunks<'i>,
    /// Bytes of the lines that are put in, and of all, where that is known.
    extent: Option<(u64, u64)>,
}

impl<'p> Putting<'_, '_, 'p> {
    fn all(
        &mut self,
        belt: &Monitor<Belt>,
        plain: &Plain<'p>,
        tasks: usize,
        convert: &dyn Fn(&mut Chunk),
        cx: &mut Cx<'_, 'p>,
    ) -> Result<()> {
        // Numbers of the next chunk to be read, and of the next one to be put in.
        let (mut read, mut put, mut over, mut too_long) = (0, 0, false, false);
        loop {
            cx.check_interrupt()?;
            let step = belt.wait(Wait::Parallel, |belt| {
                let out = (read - put) as usize;
                if belt.broken {
                    return Some(Err(SqlError::internal("a task that makes rows of lines has ended")));
                }
                if !over && out < tasks + SPARE && belt.waiting.len() < tasks {
                    return Some(Ok(Step::Read(belt.empty.pop().unwrap_or_default())));
                }
                if let Some(at) = belt.made.iter().position(|(number, _)| *number == put) {
                    return Some(Ok(Step::Put(belt.made.swap_remove(at).1)));
                }
                match belt.waiting.pop_front() {
                    Some((number, chunk)) => Some(Ok(Step::Convert(number, chunk))),
                    None if over && out == 0 => Some(Ok(Step::Done)),
                    None => None,
                }
            })?;
            match step {
                Step::Read(mut chunk) => {
                    too_long = !self.chunks.next(plain, &mut chunk.text);
                    over = too_long || chunk.text.is_empty();
                    if !over {
                        belt.change(|belt| belt.waiting.push_back((read, chunk)));
                        read += 1;
                    }
                }
                Step::Convert(number, mut chunk) => {
                    convert(&mut chunk);
                    belt.change(|belt| belt.made.push((number, chunk)));
                }
                Step::Put(chunk) => {
                    self.put(&chunk, cx)?;
                    put += 1;
                    belt.change(|belt| belt.empty.push(chunk));
                }
                Step::Done => break,
            }
        }
        if too_long {
            let rest = std::mem::take(&mut self.chunks.rest);
            return own_way(self.load, Then { bytes: &rest, input: Some(&mut self.chunks) }, self.run, self.target, cx);
        }
        self.chunks.failed.take().map_or(Ok(()), Err)
    }

    /// Puts the rows of a chunk in.
    fn put(&mut self, chunk: &Chunk, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let (mut from, mut row_from, mut most) = (0, 0, 0);
        for line in &chunk.lines {
            let row = &chunk.bytes[row_from..line.row_end];
            match line.key.filter(|_| way::is_built(self.run)) {
                Some(key) => {
                    most = most.max(line.number);
                    way::put_made(self.run, row.split_at(key as usize), line.number, cx)?;
                }
                None => {
                    way::raise_to(self.run, std::mem::take(&mut most), cx)?;
                    let bytes = &chunk.text[from..line.end];
                    own_way(self.load, Then { bytes, input: None }, self.run, self.target, cx)?;
                }
            }
            (from, row_from) = (line.end, line.row_end);
        }
        if let Some((put, all)) = &mut self.extent {
            *put += chunk.text.len() as u64;
            way::foresee(self.run, (*put, *all));
        }
        way::raise_to(self.run, most, cx)
    }
}

/// Lines go the statement's own way.
fn own_way<'p>(
    load: &Load<'_>,
    mut input: Then<'_, '_>,
    run: &mut Run<'p>,
    target: (&'p Insert, &'p Table),
    cx: &mut Cx<'_, 'p>,
) -> Result<()> {
    let limit = load.limit(cx);
    let mut reader = Reader::new(load.format, &mut input, limit);
    match each_line(load, &mut reader, run, target, false, cx)? {
        Ended::Over | Ended::Built => Ok(()),
    }
}
