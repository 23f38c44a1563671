//! The plan of its own for point selects.

use super::dml::column;
use crate::physical::{Access, Op, Physical, TableScan};
use crate::plan::{PlanKind, PlanTable, PointSelect};

/// Turns a query of one row by a fully bound unique key into a point select.
pub(crate) fn point_select(root: Physical, tables: &[PlanTable]) -> PlanKind {
    let parted = |scan: &TableScan| scan.parts.is_some();
    let Some((scan, columns)) = shape(&root).filter(|(scan, _)| !parted(scan)) else {
        return PlanKind::Query(Box::new(root));
    };
    let table = &tables[scan.table as usize].table;
    let (Some(index), Access::Point { key }) = (scan.index, &scan.access) else {
        return PlanKind::Query(Box::new(root));
    };
    let constant = key.iter().all(|k| k.value.is_execution_constant());
    if scan.filter.is_some() || scan.index_filter.is_some() || !constant || tables.len() != 1 {
        return PlanKind::Query(Box::new(root));
    }
    PlanKind::PointSelect(PointSelect {
        index,
        clustered: table.clustered == Some(index as usize),
        key: key.clone(),
        columns: columns.into(),
        lock: scan.lock,
        query: Box::new(root),
    })
}

/// The scan and the table columns of the result, when the tree is a scan with a plain projection.
fn shape(root: &Physical) -> Option<(&TableScan, Vec<u32>)> {
    match &root.op {
        Op::TableScan(scan) => Some((scan, scan.columns.to_vec())),
        Op::Project { input, exprs, .. } => {
            let Op::TableScan(scan) = &input.op else { return None };
            let columns =
                exprs.iter().map(|e| scan.columns.get(column(e)? as usize).copied()).collect::<Option<_>>()?;
            Some((scan, columns))
        }
        _ => None,
    }
}
