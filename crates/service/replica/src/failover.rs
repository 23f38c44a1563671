//! When a connection to the source has ended: the same source once more, another one, or none.
//!
//! Where SOURCE_CONNECTION_AUTO_FAILOVER is on, the sources that may be followed as well are records of the dictionary,
//! one for each, by channel, host and port.

use crate::Fault;
use crate::channel::{Channel, Kept, net_timeout_s, record, store};
use crate::source::{Source, line, lines};
use gannet_core::Core;
use gannet_core::replication::{Candidate, Row};
use gannet_engine::{Isolation, TxnOptions};
use gannet_exec::error::from_engine;
use gannet_runtime::{Unpark, now_ns, sleep};
use gannet_types::{Result, SqlError, Value, sql_err};
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

/// The names of the records begin so.
const PREFIX: &str = "failover@";
/// Errors that say that a source cannot be reached, or is not there any more: too many connections, it ends, a packet
/// was not read or written, and those of MySQL's client library.
const OF_NETWORK: [u16; 9] = [1040, 1053, 1159, 1161, 2002, 2003, 2006, 2013, 3169];

fn name_of(channel: &str, (host, port): (&str, u16)) -> Arc<str> {
    format!("{PREFIX}{}\n{}\n{port}", channel.to_lowercase(), host.to_lowercase()).into()
}

fn encoded(it: &Candidate) -> Vec<u8> {
    let mut out = String::new();
    line(&mut out, "channel", &it.channel);
    line(&mut out, "host", &it.host);
    line(&mut out, "port", it.port);
    line(&mut out, "weight", it.weight);
    out.into_bytes()
}

fn decoded(record: &[u8]) -> Candidate {
    let mut it = Candidate { channel: String::new(), host: String::new(), port: 0, weight: 0 };
    for (name, value) in lines(record) {
        match name.as_str() {
            "channel" => it.channel = value,
            "host" => it.host = value,
            "port" => it.port = value.parse().unwrap_or(0),
            "weight" => it.weight = value.parse().unwrap_or(0),
            _ => {}
        }
    }
    it
}

/// All of them, by channel, host and port.
fn all(core: &Core) -> Result<Vec<Candidate>> {
    let newest = TxnOptions { isolation: Isolation::ReadUncommitted, ..TxnOptions::default() };
    let mut txn = core.engine.try_begin(newest).map_err(from_engine)?;
    let records = core.catalog.replication().all(&mut txn).map_err(from_engine)?;
    txn.rollback().map_err(from_engine)?;
    Ok(records.iter().filter(|(name, _)| name.starts_with(PREFIX)).map(|(_, record)| decoded(record)).collect())
}

/// Error 1062.
pub(crate) fn add(core: &Core, it: &Candidate) -> Result<()> {
    let name = name_of(&it.channel, (&it.host, it.port));
    if record(core, &name)?.is_some() {
        let Candidate { channel, host, port, .. } = it;
        let key = "replication_asynchronous_connection_failover.PRIMARY";
        return Err(sql_err!(DupEntry, format_args!("{channel}-{host}-{port}--"), key));
    }
    store(core, &[(name, Some(encoded(it)))])
}

/// False: it is not there.
pub(crate) fn remove(core: &Core, channel: &str, place: (&str, u16)) -> Result<bool> {
    let name = name_of(channel, place);
    let is_there = record(core, &name)?.is_some();
    if is_there {
        store(core, &[(name, None)])?;
    }
    Ok(is_there)
}

pub(crate) fn forget(core: &Core) -> Result<()> {
    let named = all(core)?.into_iter().map(|it| (name_of(&it.channel, (&it.host, it.port)), None));
    store(core, &named.collect::<Vec<_>>())
}

pub(crate) fn rows(core: &Core) -> Vec<Row> {
    let row = |it: Candidate| {
        vec![
            ("CHANNEL_NAME", Value::text(&it.channel)),
            ("HOST", Value::text(&it.host)),
            ("PORT", Value::UInt(it.port.into())),
            ("WEIGHT", Value::UInt(it.weight.into())),
        ]
    };
    all(core).unwrap_or_default().into_iter().map(row).collect()
}

/// The one behind the first `turn` of those of more weight before those of less, from the beginning again behind the
/// last; not the one that is followed, if there is another.
fn chosen(mut candidates: Vec<Candidate>, source: &Source, turn: &mut usize) -> Option<Candidate> {
    candidates.retain(|it| it.channel.eq_ignore_ascii_case(&source.channel));
    candidates.sort_by_key(|it| Reverse((it.weight, it.host.clone(), it.port)));
    let count = candidates.len();
    for _ in 0..count {
        let it = &candidates[*turn % count];
        *turn = *turn % count + 1;
        if count == 1 || it.port != source.port || !it.host.eq_ignore_ascii_case(&source.host) {
            return Some(it.clone());
        }
    }
    None
}

impl Channel {
    /// The receiver: follows the source until it is stopped, or something is wrong here.
    pub(crate) fn run_receiver(self: Arc<Self>) {
        let (mut attempts, mut turn) = (0, 0);
        loop {
            let (before, begun) = {
                let mut status = self.status.lock();
                status.attempt = attempts + 1;
                (status.heard(), now_ns())
            };
            let fault = match self.receive() {
                Ok(()) => Fault::Stopped,
                Err(fault) => fault,
            };
            *self.ender.lock() = None;
            let lasted = Duration::from_nanos(now_ns().saturating_sub(begun));
            let progress = {
                let status = self.status.lock();
                let silent = lasted.as_secs() >= net_timeout_s(&self.core);
                status.heard() != before || status.connected && silent
            };
            (attempts, turn) = if progress { (0, 0) } else { (attempts + 1, turn) };
            if self.is_stopping() {
                break;
            }
            let Ok(Some(source)) = self.source() else { break };
            let full = matches!(fault, Fault::Disk(_));
            match fault {
                Fault::Stopped => break,
                Fault::Disk(e) => {
                    self.core.log.error(format_args!("{}", unreadable(&self, &e)));
                    self.status.lock().source_failed(&e);
                    attempts = 0;
                }
                Fault::Source(e) if source.retries == 0 || attempts < source.retries => {
                    self.core.log.warning(format_args!("{}", unreadable(&self, &e)));
                    self.status.lock().source_failed(&e);
                }
                Fault::Source(e) if source.failover && turns_to_another(&self, &source, &e, &mut turn) => {
                    attempts = 0;
                    // Where none of them answers, it goes round at this pace.
                    if sleep(Duration::from_secs(1)) == Unpark::Interrupted {
                        break;
                    }
                    continue;
                }
                Fault::Source(e) | Fault::Refused(e) | Fault::Applying(e) => {
                    self.core.log.error(format_args!("{}", unreadable(&self, &e)));
                    // Whoever reads of the error may start it again.
                    let mut status = self.status.lock();
                    status.source_failed(&e);
                    status.receiver_ended();
                    break;
                }
            }
            // One that was lost is looked for at once, and then at its pace.
            let pause = match progress && !full {
                true => Duration::from_secs(1).saturating_sub(lasted),
                false => Duration::from_secs(source.retry_s.max(1)),
            };
            if sleep(pause) == Unpark::Interrupted {
                break;
            }
        }
        self.status.lock().receiver_ended();
    }
}

fn unreadable(channel: &Channel, e: &SqlError) -> String {
    format!("the replication source{} cannot be read: {}", channel.of_channel(), e.message())
}

/// The channel follows another source from now on, if this error is of the network, and there is one.
fn turns_to_another(channel: &Channel, source: &Source, e: &SqlError, turn: &mut usize) -> bool {
    if !OF_NETWORK.contains(&e.number()) {
        return false;
    }
    let found = all(&channel.core).map(|candidates| chosen(candidates, source, turn));
    let next = match found {
        Ok(Some(next)) => next,
        Ok(None) => {
            channel.core.log.error(format_args!("no other source{} is known", channel.of_channel()));
            return false;
        }
        Err(e) => {
            channel.core.log.error(format_args!("{}", unreadable(channel, &e)));
            return false;
        }
    };
    let why = unreadable(channel, e);
    channel.core.log.warning(format_args!("{why}; {}:{} is followed from now on", next.host, next.port));
    channel.status.lock().source_failed(e);
    let changed = Source { host: next.host, port: next.port, ..source.clone() };
    match channel.store(&[(Kept::Source, Some(changed.encode()))]) {
        Ok(()) => true,
        Err(e) => {
            channel.core.log.error(format_args!("{}", unreadable(channel, &e)));
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_weight_comes_first_and_then_the_others_in_turn() {
        let it = |host: &str, weight| Candidate { channel: "C".into(), host: host.into(), port: 1, weight };
        let other = Candidate { channel: "d".into(), ..it("other", 100) };
        let list = vec![it("a", 50), it("b", 90), it("c", 50), other];
        let mut source = Source { host: "B".into(), port: 1, ..Source::default() }.named("c");
        let mut turn = 0;
        let mut follows = Vec::new();
        for _ in 0..4 {
            let next = chosen(list.clone(), &source, &mut turn).unwrap();
            source.host.clone_from(&next.host);
            follows.push(next.host);
        }
        assert_eq!(follows, ["c", "a", "b", "c"]);
        // One that is alone is tried again.
        let alone = vec![it("b", 1)];
        let source = Source { host: "b".into(), port: 1, ..Source::default() }.named("c");
        assert_eq!(chosen(alone.clone(), &source, &mut turn).as_ref(), alone.first());
        assert_eq!(chosen(Vec::new(), &source, &mut turn), None);
        assert_eq!(decoded(&encoded(&it("h\n=\\", 7))), it("h\n=\\", 7));
    }
}
