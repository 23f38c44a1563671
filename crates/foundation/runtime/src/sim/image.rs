//! The contents of a simulated file: sparse, in pages that copies share.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

pub(super) const SECTOR: u64 = 512;
pub(super) const PAGE: u64 = 4096;

pub(super) type Page = [u8; PAGE as usize];

/// What a file has where it was given room and not written.
pub(super) static ZEROS: LazyLock<Arc<Page>> = LazyLock::new(|| Arc::new([0; PAGE as usize]));

/// The sectors that a mask names, as ranges in their page.
pub(super) fn sectors_of(mask: u8) -> impl Iterator<Item = std::ops::Range<usize>> {
    let range = |i: usize| i * SECTOR as usize..(i + 1) * SECTOR as usize;
    (0..(PAGE / SECTOR) as usize).filter(move |i| mask >> i & 1 == 1).map(range)
}

/// File contents, sparse. Copies share their pages until one of them is written.
#[derive(Clone, Default)]
pub(super) struct Image {
    pub(super) pages: BTreeMap<u64, Arc<Page>>,
    pub(super) len: u64,
}

impl Image {
    /// Visits the parts of a range page by page: page number, offset in the page, range in the buffer.
    pub(super) fn parts(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
        let mut done = 0;
        std::iter::from_fn(move || {
            if done == len {
                return None;
            }
            let at = offset + done as u64;
            let inside = (at % PAGE) as usize;
            let n = (PAGE as usize - inside).min(len - done);
            let part = (at / PAGE, inside, done..done + n);
            done += n;
            Some(part)
        })
    }

    pub(super) fn read(&self, offset: u64, buf: &mut [u8]) {
        for (page, inside, range) in Self::parts(offset, buf.len()) {
            let n = range.len();
            match self.pages.get(&page) {
                Some(p) => buf[range].copy_from_slice(&p[inside..inside + n]),
                None => buf[range].fill(0),
            }
        }
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        for (page, inside, range) in Self::parts(offset, bytes.len()) {
            let (n, bytes) = (range.len(), &bytes[range]);
            if let Ok(whole) = <&Page>::try_from(bytes) {
                self.pages.insert(page, if *whole == **ZEROS { ZEROS.clone() } else { Arc::new(*whole) });
                continue;
            }
            let p = Arc::make_mut(self.pages.entry(page).or_insert_with(|| ZEROS.clone()));
            p[inside..inside + n].copy_from_slice(bytes);
        }
    }

    /// Puts some sectors of a page, as another image has it, in the place of its own.
    pub(super) fn take(&mut self, from: Option<&Arc<Page>>, page: u64, mask: u8) {
        if mask == u8::MAX {
            self.pages.insert(page, from.unwrap_or(&ZEROS).clone());
            return;
        }
        let own = Arc::make_mut(self.pages.entry(page).or_insert_with(|| ZEROS.clone()));
        for range in sectors_of(mask) {
            own[range.clone()].copy_from_slice(&from.unwrap_or(&ZEROS)[range]);
        }
    }

    pub(super) fn set_len(&mut self, len: u64) {
        if len < self.len {
            self.pages.split_off(&len.div_ceil(PAGE));
            if let Some(p) = self.pages.get_mut(&(len / PAGE)) {
                Arc::make_mut(p)[(len % PAGE) as usize..].fill(0);
            }
        }
        self.len = len;
    }
}
