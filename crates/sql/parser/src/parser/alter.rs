//! ALTER TABLE.

use super::options::Known;
use super::*;

impl Parser<'_> {
    /// Behind `ALTER TABLE`.
    #[inline(never)]
    pub(super) fn alter_table(&mut self) -> Result<Statement> {
        let if_exists = self.if_exists();
        let name = self.object_name()?;
        let mut alter = AlterTable { name, if_exists, actions: Vec::new(), partition: None };
        let mut comma = false;
        while !self.at(Tok::End) && !self.at(Tok::Semi) {
            // PARTITION BY and REMOVE PARTITIONING follow the other actions, without a comma.
            if comma && (self.at_kw(Kw::PARTITION) || self.at_kw(Kw::REMOVE)) {
                return self.syntax();
            }
            if self.at_kw(Kw::PARTITION) {
                alter.partition = Some(Box::new(self.partition_by()?));
                break;
            }
            let combined = !alter.actions.iter().all(AlterAction::is_modifier);
            let (removes, first, second) = (self.at_kw(Kw::REMOVE), self.tok(), self.peek(1).start);
            let action = self.alter_action()?;
            // Table options follow each other without commas.
            let is_options = matches!(action, AlterAction::Options(_));
            let stands_alone = action.stands_alone();
            if stands_alone && combined {
                // What may stand beside others begins alike.
                let begins = matches!(first.kw, Kw::ADD | Kw::DROP);
                return self.error_at(ErrorKind::Syntax, if begins { second } else { first.start });
            }
            alter.actions.push(action);
            if stands_alone || removes {
                break;
            }
            comma = self.eat(Tok::Comma);
            if !comma && !self.at_kw(Kw::PARTITION) && !self.at_kw(Kw::REMOVE) && !is_options {
                break;
            }
        }
        Ok(Statement::AlterTable(Box::new(alter)))
    }

    #[inline(never)]
    fn alter_action(&mut self) -> Result<AlterAction> {
        use AlterAction as A;
        match self.tok().kw {
            Kw::ADD => {
                self.advance();
                self.alter_add()
            }
            Kw::DROP => {
                self.advance();
                self.alter_drop()
            }
            Kw::CHANGE => {
                self.advance();
                self.eat_kw(Kw::COLUMN);
                let if_exists = self.if_exists();
                let old = self.ident()?;
                let column = Box::new(self.named_column()?);
                Ok(A::ChangeColumn { old, column, position: self.column_position()?, if_exists })
            }
            Kw::MODIFY => {
                self.advance();
                self.eat_kw(Kw::COLUMN);
                let if_exists = self.if_exists();
                let column = Box::new(self.named_column()?);
                Ok(A::ModifyColumn { column, position: self.column_position()?, if_exists })
            }
            Kw::ALTER => {
                self.advance();
                self.alter_alter()
            }
            Kw::RENAME => {
                self.advance();
                self.alter_rename()
            }
            Kw::ORDER => {
                self.advance();
                self.expect_kw(Kw::BY)?;
                self.list(|p| {
                    let expr = Expr::Column(p.column_ref()?);
                    let desc = p.one_of(&[Kw::ASC, Kw::DESC]) == Some(Kw::DESC);
                    Ok(OrderItem { expr, desc })
                })
                .map(A::OrderBy)
            }
            Kw::CONVERT => {
                self.advance();
                self.expect_kw(Kw::TO)?;
                if !self.eat_charset() {
                    return self.syntax();
                }
                self.eat(Tok::Eq);
                let charset = if self.eat_kw(Kw::DEFAULT) { None } else { Some(self.charset_name()?) };
                Ok(A::ConvertCharset { charset, collation: self.opt_collate()? })
            }
            Kw::DISABLE | Kw::ENABLE => {
                let enable = self.advance().kw == Kw::ENABLE;
                self.expect_kw(Kw::KEYS)?;
                Ok(if enable { A::EnableKeys } else { A::DisableKeys })
            }
            Kw::FORCE => {
                self.advance();
                Ok(A::Force)
            }
            Kw::ALGORITHM | Kw::LOCK => {
                let lock = self.advance().kw == Kw::LOCK;
                self.eat(Tok::Eq);
                let word = self.any_word()?;
                Ok(if lock { A::Lock(word) } else { A::Algorithm(word) })
            }
            Kw::WITH | Kw::WITHOUT if self.peek(1).kw == Kw::VALIDATION => {
                let with = self.advance().kw == Kw::WITH;
                self.advance();
                Ok(A::Validation(with))
            }
            Kw::SECONDARY_LOAD | Kw::SECONDARY_UNLOAD => Ok(A::SecondaryLoad(self.advance().kw == Kw::SECONDARY_LOAD)),
            Kw::REMOVE => {
                self.advance();
                self.expect_kw(Kw::PARTITIONING)?;
                Ok(A::RemovePartitioning)
            }
            Kw::REORGANIZE | Kw::COALESCE | Kw::EXCHANGE => self.alter_partition(),
            Kw::ANALYZE
            | Kw::CHECK
            | Kw::OPTIMIZE
            | Kw::REBUILD
            | Kw::REPAIR
            | Kw::TRUNCATE
            | Kw::DISCARD
            | Kw::IMPORT => self.partition_verb(),
            _ => match self.table_option()? {
                Some(first) => {
                    let mut options = vec![first];
                    while let Some(option) = self.table_option()? {
                        options.push(option);
                    }
                    Ok(A::Options(options))
                }
                None => self.syntax(),
            },
        }
    }

    #[inline(never)]
    fn named_column(&mut self) -> Result<ColumnDef> {
        let name = self.ident()?;
        self.column_def(name)
    }

    #[inline(never)]
    fn column_position(&mut self) -> Result<ColumnPosition> {
        if self.eat_kw(Kw::FIRST) {
            return Ok(ColumnPosition::First);
        }
        if self.eat_kw(Kw::AFTER) {
            return self.ident().map(ColumnPosition::After);
        }
        Ok(ColumnPosition::Last)
    }

    #[inline(never)]
    fn alter_add(&mut self) -> Result<AlterAction> {
        if self.at_kw(Kw::PARTITION) && self.peek(1).kw != Kw::BY {
            self.advance();
            let no_write_to_binlog = self.no_write_to_binlog();
            let conditional = self.if_not_exists();
            if !conditional && self.eat_kw(Kw::PARTITIONS) {
                let count = Some(self.number()?);
                return Ok(AlterAction::AddPartition { no_write_to_binlog, partitions: Vec::new(), count });
            }
            // Without any it is refused later: that it adds none, or that there are none.
            let none = !conditional && !self.at(Tok::LParen);
            let partitions = if none { Vec::new() } else { self.paren_list(|p| p.partition_def(Known::default()))? };
            let add = AlterAction::AddPartition { no_write_to_binlog, partitions, count: None };
            return Ok(conditionally(conditional, add));
        }
        let column_word = self.eat_kw(Kw::COLUMN);
        let if_not_exists = self.if_not_exists();
        if self.at(Tok::LParen) {
            let elements = AlterAction::AddElements(self.paren_list(Self::table_element)?);
            return Ok(conditionally(if_not_exists, elements));
        }
        if !column_word && let Some(element) = self.opt_constraint()? {
            return Ok(AlterAction::AddElement(Box::new(element)));
        }
        let column = Box::new(self.named_column()?);
        Ok(AlterAction::AddColumn { column, position: self.column_position()?, if_not_exists })
    }

    #[inline(never)]
    fn alter_drop(&mut self) -> Result<AlterAction> {
        use AlterAction as A;
        match self.tok().kw {
            Kw::PRIMARY => {
                self.advance();
                self.expect_kw(Kw::KEY)?;
                Ok(A::DropPrimaryKey)
            }
            Kw::FOREIGN => {
                self.advance();
                self.expect_kw(Kw::KEY)?;
                Ok(A::DropForeignKey { if_exists: self.if_exists(), name: self.ident()? })
            }
            Kw::INDEX | Kw::KEY => {
                self.advance();
                Ok(A::DropIndex { if_exists: self.if_exists(), name: self.index_name()? })
            }
            Kw::CHECK => {
                self.advance();
                self.ident().map(A::DropCheck)
            }
            Kw::CONSTRAINT => {
                self.advance();
                Ok(A::DropConstraint { if_exists: self.if_exists(), name: self.index_name()? })
            }
            Kw::PARTITION => {
                self.advance();
                let conditional = self.if_exists();
                Ok(conditionally(conditional, A::DropPartition(self.list(Self::ident)?)))
            }
            _ => {
                self.eat_kw(Kw::COLUMN);
                let if_exists = self.if_exists();
                let name = self.ident()?;
                let _ = self.eat_kw(Kw::RESTRICT) || self.eat_kw(Kw::CASCADE);
                Ok(A::DropColumn { name, if_exists })
            }
        }
    }

    #[inline(never)]
    fn alter_alter(&mut self) -> Result<AlterAction> {
        use AlterAction as A;
        match self.tok().kw {
            Kw::INDEX | Kw::KEY => {
                self.advance();
                let conditional = self.if_exists();
                let name = self.ident()?;
                let visible = match self.one_of(&[Kw::VISIBLE, Kw::INVISIBLE]) {
                    Some(kw) => kw == Kw::VISIBLE,
                    // MariaDB's words.
                    None if self.eat_word("IGNORED") => false,
                    None if self.eat_kw(Kw::NOT) && self.eat_word("IGNORED") => true,
                    None => return self.syntax(),
                };
                Ok(conditionally(conditional, A::IndexVisibility { name, visible }))
            }
            Kw::CHECK | Kw::CONSTRAINT => {
                let constraint = self.advance().kw == Kw::CONSTRAINT;
                let name = self.ident()?;
                let enforced = !self.eat_kw(Kw::NOT);
                self.expect_kw(Kw::ENFORCED)?;
                Ok(A::Enforce { name, enforced, constraint })
            }
            _ => {
                self.eat_kw(Kw::COLUMN);
                let conditional = self.if_exists();
                let column = self.ident()?;
                if self.eat_kw2(Kw::DROP, Kw::DEFAULT) {
                    return Ok(conditionally(conditional, A::DropDefault(column)));
                }
                self.expect_kw(Kw::SET)?;
                match self.one_of(&[Kw::VISIBLE, Kw::INVISIBLE]) {
                    Some(kw) => Ok(A::ColumnVisibility { column, visible: kw == Kw::VISIBLE }),
                    None => {
                        self.expect_kw(Kw::DEFAULT)?;
                        let (expr, parenthesised) = self.default_value()?;
                        Ok(conditionally(conditional, A::SetDefault { column, expr, parenthesised }))
                    }
                }
            }
        }
    }

    #[inline(never)]
    fn alter_rename(&mut self) -> Result<AlterAction> {
        match self.tok().kw {
            Kw::COLUMN => {
                self.advance();
                let conditional = self.if_exists();
                let old = self.ident()?;
                self.expect_kw(Kw::TO)?;
                Ok(conditionally(conditional, AlterAction::RenameColumn { old, new: self.ident()? }))
            }
            Kw::INDEX | Kw::KEY => {
                self.advance();
                let conditional = self.if_exists();
                let old = self.index_name()?;
                self.expect_kw(Kw::TO)?;
                Ok(conditionally(conditional, AlterAction::RenameIndex { old, new: self.index_name()? }))
            }
            _ => {
                let _ = self.eat_kw(Kw::TO) || self.eat(Tok::Eq) || self.eat_kw(Kw::AS);
                self.object_name().map(AlterAction::Rename)
            }
        }
    }

    /// `NO_WRITE_TO_BINLOG | LOCAL`
    #[inline(never)]
    pub(super) fn no_write_to_binlog(&mut self) -> bool {
        self.one_of(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]).is_some()
    }

    /// REORGANIZE, COALESCE, EXCHANGE PARTITION.
    #[inline(never)]
    fn alter_partition(&mut self) -> Result<AlterAction> {
        let kw = self.advance().kw;
        self.expect_kw(Kw::PARTITION)?;
        match kw {
            Kw::REORGANIZE => {
                let no_write_to_binlog = self.no_write_to_binlog();
                let names = if self.at_ident() { self.list(Self::ident)? } else { Vec::new() };
                let mut into = Vec::new();
                if !names.is_empty() {
                    self.expect_kw(Kw::INTO)?;
                    into = self.paren_list(|p| p.partition_def(Known::default()))?;
                }
                Ok(AlterAction::ReorganizePartition { no_write_to_binlog, names, into })
            }
            Kw::COALESCE => {
                let no_write_to_binlog = self.no_write_to_binlog();
                Ok(AlterAction::CoalescePartition { no_write_to_binlog, count: self.number()? })
            }
            _ => {
                let name = self.ident()?;
                self.expect_kw(Kw::WITH)?;
                self.expect_kw(Kw::TABLE)?;
                let table = self.object_name()?;
                let validation = match self.one_of(&[Kw::WITH, Kw::WITHOUT]) {
                    Some(kw) => {
                        self.expect_kw(Kw::VALIDATION)?;
                        Some(kw == Kw::WITH)
                    }
                    None => None,
                };
                Ok(AlterAction::ExchangePartition { name, table, validation })
            }
        }
    }

    /// ANALYZE, CHECK, ... PARTITION; DISCARD and IMPORT TABLESPACE.
    #[inline(never)]
    fn partition_verb(&mut self) -> Result<AlterAction> {
        let verb = self.any_word()?;
        if self.eat_kw(Kw::TABLESPACE) {
            return match verb.text.to_ascii_uppercase().as_str() {
                "DISCARD" => Ok(AlterAction::DiscardTablespace),
                "IMPORT" => Ok(AlterAction::ImportTablespace),
                _ => self.syntax(),
            };
        }
        self.expect_kw(Kw::PARTITION)?;
        let no_write_to_binlog = self.no_write_to_binlog();
        let names = if self.eat_kw(Kw::ALL) { Vec::new() } else { self.list(Self::ident)? };
        let mut options = Vec::new();
        while matches!(
            self.tok().kw,
            Kw::TABLESPACE | Kw::QUICK | Kw::FAST | Kw::MEDIUM | Kw::EXTENDED | Kw::CHANGED | Kw::USE_FRM
        ) || (self.at_kw(Kw::FOR) && self.peek(1).kw == Kw::UPGRADE)
        {
            self.eat_kw(Kw::FOR);
            options.push(self.any_word()?);
        }
        Ok(AlterAction::Partitions { verb, no_write_to_binlog, names, options })
    }
}

/// An action with IF EXISTS or IF NOT EXISTS, where that is not part of itself.
fn conditionally(conditional: bool, action: AlterAction) -> AlterAction {
    if conditional { AlterAction::Conditional(Box::new(action)) } else { action }
}
