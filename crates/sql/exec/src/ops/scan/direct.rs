//! A scan that is all of a query: its rows go to the sink as they are read, without a batch between.

use super::{By, TreeScan};
use crate::{
    context::{Cx, Operator},
    error::from_engine,
    padding,
    sink::{ResultSink, Stored},
};
use gannet_engine::Isolation;
use gannet_plan::physical::{Physical, TableScan};
use gannet_plan::plan::ResultColumn;
use gannet_plan::range::Bounds;
use gannet_schema::Table;
use gannet_telemetry::{Counter, add};
use gannet_types::{Result, SqlType, TimeZone};

/// Rows between two looks at interruptions.
const LOOK: u64 = 256;

/// Such a query.
pub(crate) struct Direct<'p> {
    scan: &'p TableScan,
    types: &'p [SqlType],
    /// Ordinals of the columns that it sends.
    columns: &'p [u32],
}

/// Where rows go.
struct Delivery<'a> {
    header: &'a [ResultColumn],
    columns: &'a [u32],
    sink: &'a mut dyn ResultSink,
    zone: &'a TimeZone,
    sent: u64,
}

impl Delivery<'_> {
    /// Sends a row as it is stored. The header goes out with the first one, so that an error before it replaces the
    /// result.
    #[inline]
    fn row(&mut self, table: &Table, payload: &[u8]) -> Result<()> {
        if self.sent == 0 {
            self.sink.begin(self.header)?;
        }
        self.sent += 1;
        let row = table.layout().open(payload)?;
        self.sink.stored(Stored { row, columns: self.columns, zone: self.zone })
    }
}

impl<'p> Direct<'p> {
    /// The query of `root`, if it is one.
    pub(crate) fn of(root: &'p Physical, cx: &mut Cx<'_, 'p>) -> Result<Option<Direct<'p>>> {
        let Some(columns) = &cx.shared.plan.sent_as_read else { return Ok(None) };
        let Some((input, scan)) = root.lone_scan() else { return Ok(None) };
        // A locking scan's errors in the middle would be errors in the middle of a result.
        if padding::is_on(cx) || cx.txn.get()?.options().isolation >= Isolation::Serializable {
            return Ok(None);
        }
        Ok(Some(Direct { scan, types: &input.types, columns }))
    }

    /// Runs it; how many rows it has sent. `bounds` is memory for the ranges that it reads.
    pub(crate) fn run(&self, bounds: &mut Bounds, sink: &mut dyn ResultSink, cx: &mut Cx<'_, 'p>) -> Result<u64> {
        let scan = &mut TreeScan::new(self.scan, &self.scan.access, self.types);
        scan.bounds = std::mem::take(bounds);
        let table = scan.table(cx);
        let zone = &cx.shared.settings.time_zone;
        let mut to = Delivery { header: &cx.shared.plan.columns, columns: self.columns, sink, zone, sent: 0 };
        scan.open(cx)?;
        let secondary = scan.secondary(table);
        cx.check_interrupt()?;
        loop {
            if secondary.is_none() {
                send_points(scan, table, &mut to, cx)?;
            }
            if !scan.open_next(table, cx)? {
                break;
            }
            send_range(scan, table, secondary, &mut to, cx)?;
        }
        cx.check_interrupt()?;
        if to.sent == 0 {
            to.sink.begin(to.header)?;
        }
        let sent = to.sent;
        if scan.bounds.is_small() {
            *bounds = std::mem::take(&mut scan.bounds);
        }
        Ok(sent)
    }
}

/// Sends rows by their whole keys, as long as ranges of one key follow each other.
fn send_points<'p>(
    scan: &mut TreeScan<'p>,
    table: &'p Table,
    to: &mut Delivery<'_>,
    cx: &mut Cx<'_, 'p>,
) -> Result<()> {
    if !scan.has_whole_keys(table) {
        return Ok(());
    }
    let before = (to.sent, scan.at);
    while scan.at < scan.bounds.len() {
        let Some(key) = scan.bounds.one_key(scan.number()) else { break };
        if scan.reader.find(table, key, By::Key, cx)? {
            to.row(table, scan.reader.buffer.row())?;
        }
        scan.at += 1;
        if (scan.at as u64).is_multiple_of(LOOK) {
            cx.check_interrupt()?;
        }
    }
    add(Counter::HandlerReadKey, (scan.at - before.1) as u64);
    cx.counts.examined += to.sent - before.0;
    Ok(())
}

/// Sends the rows of the open range.
fn send_range<'p>(
    scan: &mut TreeScan<'p>,
    table: &'p Table,
    secondary: Option<usize>,
    to: &mut Delivery<'_>,
    cx: &mut Cx<'_, 'p>,
) -> Result<()> {
    let Some(mut open) = scan.open.take() else { return Ok(()) };
    let verify = open.must_verify();
    let (mut read, mut looked) = (0u64, 0);
    loop {
        if secondary.is_none() {
            let mut outcome = Ok(());
            let taken = open.take_at_hand(cx.txn.get()?, |row| {
                outcome = to.row(table, row);
                outcome.is_ok()
            });
            outcome?;
            // A leaf has some hundreds of rows.
            read += taken;
        }
        match secondary {
            None => match open.next_row(cx.txn.get()?).map_err(from_engine)? {
                Some(row) => to.row(table, row)?,
                None => break,
            },
            Some(index) => {
                let Some(entry) = open.next(cx.txn.get()?).map_err(from_engine)? else { break };
                let (_, row_key) = table.split_index_key(index, entry.key)?;
                let made_by = verify.then(|| (index, entry.key.to_vec()));
                let reader = &mut scan.reader;
                if reader.find(table, row_key, By::Entry(made_by.as_ref()), cx)? {
                    to.row(table, reader.buffer.row())?;
                }
            }
        }
        read += 1;
        if read - looked >= LOOK {
            looked = read;
            cx.check_interrupt()?;
        }
    }
    cx.counts.examined += read;
    scan.count_reads(read + 1, secondary.is_some());
    scan.idle = Some(open);
    Ok(())
}
