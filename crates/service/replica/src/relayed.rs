//! Reads relay logs.

use super::Fault;
use super::grammar::Grammar;
use super::relay::{Behind, Place, Relay};
use super::source::behind;
use gannet_binlog::event::{Event, MAGIC, kind};
use gannet_binlog::format::{FormatDescription, Rotate};
use gannet_binlog::{Checksum, Header};
use gannet_runtime::{File, OpenOptions};
use gannet_types::sql_err;

/// What is read at once.
const READ: u64 = 1 << 20;

/// What a file begins with.
pub(crate) struct Head {
    /// The place in the source's log.
    pub(crate) file: String,
    pub(crate) at: u64,
    /// The body of the source's description.
    pub(crate) described: Vec<u8>,
}

/// A file.
pub(crate) struct Relayed {
    file: File,
    checksum: Checksum,
    /// Where the next event begins.
    pub(crate) place: Place,
    bytes: Vec<u8>,
    /// Of the bytes, these are passed.
    used: usize,
}

impl Relayed {
    /// Opens a file and reads its beginning.
    pub(crate) fn open(relay: &Relay, number: u64) -> Result<(Relayed, Head), Fault> {
        let failed = |e: &dyn std::fmt::Display| unreadable(relay, Place { number, at: 0 }, e);
        let file = File::open(relay.path(number), &OpenOptions::read()).map_err(|e| failed(&e))?;
        let mut magic = MAGIC;
        file.read_exact_at(&mut magic, 0).map_err(|e| failed(&e))?;
        if magic != MAGIC {
            return Err(failed(&"it is no relay log"));
        }
        let place = Place { number, at: MAGIC.len() as u64 };
        let mut it = Relayed { file, checksum: Checksum::Crc32, place, bytes: Vec::new(), used: 0 };
        let mut head = Head { file: String::new(), at: 0, described: Vec::new() };
        let mut own = true;
        while let Some(event) = it.next_event(relay)? {
            match event.header.kind {
                kind::FORMAT_DESCRIPTION if own => own = false,
                kind::FORMAT_DESCRIPTION => {
                    let checksum = FormatDescription::decode(event.body).map_err(|e| failed(&e))?.checksum;
                    head.described = event.body.to_vec();
                    it.checksum = checksum;
                    return Ok((it, head));
                }
                kind::ROTATE => {
                    let to = Rotate::decode(event.body).map_err(|e| failed(&e))?;
                    (head.file, head.at) = (String::from_utf8_lossy(to.file).into_owned(), to.position);
                }
                _ => {}
            }
        }
        Err(failed(&"its beginning is cut off"))
    }

    /// The place, or that behind the file's beginning, and where the source's log stands there. `None`: it is not
    /// between transactions.
    pub(crate) fn find(relay: &Relay, place: Place) -> Result<Option<(Place, String, u64)>, Fault> {
        let (mut log, head) = Relayed::open(relay, place.number)?;
        let (mut file, mut at, mut grammar) = (head.file, head.at, Grammar::default());
        let before_all = place.at <= log.place.at;
        while log.place.at < place.at {
            let begins = log.place;
            let Some(event) = log.next_event(relay)? else { return Ok(None) };
            let wrong = |e| unreadable(relay, begins, &e);
            if event.header.kind == kind::ROTATE {
                let to = Rotate::decode(event.body).map_err(wrong)?;
                (file, at) = (String::from_utf8_lossy(to.file).into_owned(), to.position);
            } else {
                grammar.ends(&event).map_err(wrong)?;
                at = behind(at, event.header.end_position);
            }
        }
        let found = before_all || log.place.at == place.at && grammar.is_between();
        Ok(found.then_some((log.place, file, at)))
    }

    /// Goes on from there.
    pub(crate) fn seek(&mut self, at: u64) {
        self.bytes.clear();
        (self.used, self.place.at) = (0, at);
    }

    /// The next event; `None` behind all that was written. Error 13121.
    pub(crate) fn next_event(&mut self, relay: &Relay) -> Result<Option<Event<'_>>, Fault> {
        let place = self.place;
        let failed = |e: &dyn std::fmt::Display| unreadable(relay, place, e);
        let mut need = Header::decode(&self.bytes[self.used..]).map_or(0, |h| h.size as usize);
        if need == 0 || self.bytes.len() - self.used < need {
            let Behind::More(size) = relay.behind(place) else { return Ok(None) };
            let left = size - place.at;
            for _ in 0..2 {
                let n = left.min(READ.max(need as u64)) as usize;
                self.used = 0;
                self.bytes.resize(n, 0);
                self.file.read_exact_at(&mut self.bytes, place.at).map_err(|e| failed(&e))?;
                need = Header::decode(&self.bytes).map_err(|e| failed(&e))?.size as usize;
                if need <= n || n as u64 == left {
                    break;
                }
            }
        }
        let event = Event::first(&self.bytes[self.used..], self.checksum).map_err(|e| failed(&e))?;
        let event = event.ok_or_else(|| failed(&"the event is cut off"))?;
        self.used += event.bytes.len();
        self.place.at += event.bytes.len() as u64;
        Ok(Some(event))
    }
}

/// Error 13121: START REPLICA throws the relay logs away.
fn unreadable(relay: &Relay, place: Place, e: &dyn std::fmt::Display) -> Fault {
    relay.set_damaged();
    let what = format_args!("{}:{}: {e}", relay.name(place.number), place.at).to_string();
    Fault::Applying(sql_err!(RelayLogReadFailure, what))
}
