//! What conditions say of the columns that place rows in parts.

use super::{BaseRel, PARTS, Sarg};
use crate::options::Passes;
use crate::physical::Ranges;
use gannet_schema::IndexPart;

impl BaseRel {
    /// Ranges over the columns of PARTITION BY and of SUBPARTITION BY that the conditions numbered `own` give, each for
    /// itself a reason to leave parts out.
    pub(in crate::optimize) fn part_filters(&self, own: &[usize]) -> [Vec<Ranges>; 2] {
        let mut filters = [Vec::new(), Vec::new()];
        let Some(parts) = &self.table.partitions else { return filters };
        let counts = |s: &&Sarg| own.contains(&s.condition) || s.condition >= PARTS;
        let common: Vec<&Sarg> = self.sargs.iter().filter(counts).collect();
        let levels = [Some(parts.locator().main()), parts.locator().sub()];
        for (level, filters) in levels.into_iter().zip(&mut filters) {
            let Some(level) = level else { continue };
            let part = |column: &u32| IndexPart { column: *column, prefix: None, descending: false };
            let columns: Vec<IndexPart> = level.columns.iter().map(part).collect();
            if let Some(product) = self.product(&columns, &common, Passes::ALL) {
                filters.push(product.ranges());
            }
            for (_, alternatives, _) in self.unions.iter().filter(|u| own.contains(&u.0)) {
                let ranges: Option<Vec<_>> = alternatives
                    .iter()
                    .map(|alternative| {
                        let all: Vec<&Sarg> = alternative.says.iter().chain(common.iter().copied()).collect();
                        self.product(&columns, &all, Passes::ALL).map(|p| p.range())
                    })
                    .collect();
                filters.extend(ranges.map(|list| Ranges(list.into())));
            }
        }
        filters
    }
}
