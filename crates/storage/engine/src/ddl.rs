//! Creating and dropping trees inside transactions.

use gannet_btree::Tree;
use gannet_buffer::Stop;

use crate::undo::record::Body;
use crate::{EngineError, Result, TreeHandle, TreeKind, Txn};

impl Txn {
    fn check_ddl(&mut self) -> Result<()> {
        self.check_active()?;
        if self.options.read_only {
            return Err(EngineError::ReadOnly);
        }
        self.start_writing()
    }

    pub(crate) fn make_tree(&mut self, kind: TreeKind) -> Result<TreeHandle> {
        self.check_ddl()?;
        let store = &*self.engine.store;
        let Some(w) = self.writer.as_mut() else { return Err(EngineError::NotActive) };
        let staged = &mut Vec::new();
        let id = loop {
            let made = store.pool.run(|| {
                let mut mtr = store.pool.mtr()?;
                let page = mtr.latch(w.tail.page)?;
                let root = store.pool.reserve_tree()?;
                let body = Body::CreateTree { kind: kind.code() };
                let Some(at) = w.stage(root.owner(), &body, staged) else { return Ok(None) };
                let id = Tree::create_in(&mut mtr, root);
                w.append(&mut mtr, page, staged, at);
                mtr.commit();
                Ok(Some(id))
            })?;
            match made {
                Some(id) => {
                    w.makes_trees = true;
                    break id;
                }
                None => w.extend(store)?,
            }
        };
        // After a crash before the tree is in the table, the rollback frees it all the same.
        Ok(TreeHandle { shared: store.trees.insert(id, kind, self.own_id())? })
    }

    pub(crate) fn end_tree(&mut self, tree: &TreeHandle) -> Result<()> {
        self.check_ddl()?;
        tree.check_there()?;
        let store = &*self.engine.store;
        let Some(w) = self.writer.as_mut() else { return Err(EngineError::NotActive) };
        let staged = &mut Vec::new();
        loop {
            let body = Body::DropTree { kind: tree.kind().code() };
            let Some(at) = w.stage(tree.id(), &body, staged) else {
                w.extend(store)?;
                continue;
            };
            store.pool.run(|| {
                let mut mtr = store.pool.mtr()?;
                let page = mtr.latch(w.tail.page)?;
                w.append(&mut mtr, page, staged, at);
                mtr.commit();
                Ok::<(), Stop>(())
            })?;
            w.drops_trees = true;
            w.drops.push(tree.id());
            break;
        }
        tree.shared.set_gone(true);
        Ok(())
    }
}
