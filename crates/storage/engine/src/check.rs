//! Checking a whole store: every tree, every undo stream, the space map.

use std::collections::BTreeSet;

use gannet_base::{PageNo, TreeId};
use gannet_buffer::PageBuf;
use gannet_page::raw::SYSTEM;

use crate::undo::record::{self, FIRST};
use crate::undo::stream::{UNDO_OWNER, copy_page, next_page};
use crate::{Engine, Result, meta};

/// What [`Engine::check_store`] saw.
#[derive(Clone, Debug, Default)]
pub struct StoreCheck {
    /// Trees walked.
    pub trees: u64,
    /// Entries in them, those that wait for purge included.
    pub entries: u64,
    /// Pages that trees use.
    pub pages: u64,
    /// Undo pages walked.
    pub undo_pages: u64,
    /// Undo records decoded.
    pub undo_records: u64,
    /// The findings, a sentence each.
    pub findings: Vec<String>,
}

impl Engine {
    /// Walks every tree, every undo stream and the space map, and compares them. Damage is a finding, not an error.
    /// Meant for a store at rest: changes made meanwhile may give false findings.
    pub fn check_store(&self) -> Result<StoreCheck> {
        let mut check = StoreCheck::default();
        let trees = self.store.trees.all()?;
        for &id in &trees {
            match self.tree(id).and_then(|tree| self.walk_tree(&tree)) {
                Ok(entries) => check.entries += entries,
                Err(e) => check.findings.push(format!("tree {id}: {e}")),
            }
            check.trees += 1;
            check.pages += self.store.pool.space().tree_pages(id).used;
        }
        self.check_space(&trees, &mut check)?;
        self.check_undo(&mut check)?;
        Ok(check)
    }

    /// Extents belong to what exists, and what exists has extents.
    fn check_space(&self, trees: &[TreeId], check: &mut StoreCheck) -> Result<()> {
        let owners: BTreeSet<TreeId> = self.store.pool.space().owners().into_iter().collect();
        let known: BTreeSet<TreeId> =
            trees.iter().copied().chain([SYSTEM, UNDO_OWNER, self.store.trees.table_id()?]).collect();
        for owner in owners.difference(&known) {
            check.findings.push(format!("the space map has extents of tree {owner}, which does not exist"));
        }
        for id in trees.iter().filter(|id| !owners.contains(id)) {
            check.findings.push(format!("tree {id} has no extents in the space map"));
        }
        Ok(())
    }

    /// Each stream leads from its first page to its last, all its records can be decoded, and no undo page is outside
    /// of them.
    fn check_undo(&self, check: &mut StoreCheck) -> Result<()> {
        let pool = &self.store.pool;
        let used: BTreeSet<PageNo> = pool.space().pages_of(UNDO_OWNER).into_iter().collect();
        let mut reached = BTreeSet::new();
        let streams = meta::read_u64(pool, meta::PAGE, meta::STREAM_COUNT as usize)?;
        for id in 0..streams {
            if let Err(e) = self.check_stream(id, &mut reached, check) {
                check.findings.push(format!("undo stream {id}: {e}"));
            }
        }
        for page in used.difference(&reached) {
            check.findings.push(format!("undo page {page} is in no stream"));
        }
        for page in reached.difference(&used) {
            check.findings.push(format!("undo page {page} is free in the space map"));
        }
        Ok(())
    }

    fn check_stream(&self, id: u64, reached: &mut BTreeSet<PageNo>, check: &mut StoreCheck) -> Result<()> {
        let pool = &self.store.pool;
        let Some((dir, at)) = meta::stream_slot(id) else {
            check.findings.push(format!("undo stream {id} has no place in the directory"));
            return Ok(());
        };
        let first = PageNo(meta::read_u64(pool, dir, at as usize)?);
        let last = PageNo(meta::read_u64(pool, dir, at as usize + 8)?);
        let (mut no, mut before) = (first, None);
        let mut page = PageBuf::boxed();
        loop {
            if !reached.insert(no) {
                check.findings.push(format!("undo stream {id}: page {no} is reached twice"));
                return Ok(());
            }
            let (prev, free) = copy_page(pool, no, id, &mut page)?;
            if before.is_some_and(|before| before != prev) {
                check.findings.push(format!("undo stream {id}: page {no} names {prev} as the one before it"));
            }
            check.undo_pages += 1;
            let mut at = FIRST;
            loop {
                match record::decode_at(&page.0[..free], at) {
                    Ok(Some(record)) => at += record.len,
                    Ok(None) => break,
                    Err(_) => {
                        check.findings.push(format!("undo stream {id}: the record at {at} of page {no} is damaged"));
                        break;
                    }
                }
                check.undo_records += 1;
            }
            let next = next_page(&page);
            if next.is_zero() {
                if no != last {
                    check.findings.push(format!("undo stream {id} ends at page {no}, not at {last}"));
                }
                return Ok(());
            }
            (before, no) = (Some(no), next);
        }
    }
}
