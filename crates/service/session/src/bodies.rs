//! What may stand in the bodies of stored programs (manual, "Restrictions on Stored Programs").

use gannet_core::kinds::{self, Programs};
use gannet_parser::ast::{Compound, RoutineKind, SetItem, Statement};
use gannet_types::{Result, sql_err};

/// A kind of stored program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    Procedure,
    Function,
    Trigger,
    Event,
}

impl From<RoutineKind> for Program {
    fn from(kind: RoutineKind) -> Self {
        match kind {
            RoutineKind::Procedure => Program::Procedure,
            RoutineKind::Function => Program::Function,
        }
    }
}

impl Program {
    /// It runs inside another statement: it may neither commit nor return rows.
    fn is_inner(self) -> bool {
        match self {
            Program::Function | Program::Trigger => true,
            Program::Procedure | Program::Event => false,
        }
    }

    /// What error 1415 calls it.
    fn word(self) -> &'static str {
        match self {
            Program::Trigger => "trigger",
            Program::Function | Program::Procedure | Program::Event => "function",
        }
    }
}

/// The error of the first statement that may not stand there. The parser bounds how deep statements are nested.
pub(super) fn check(statement: &Statement, program: Program) -> Result<()> {
    if let Statement::Compound(compound) = statement {
        return parts(compound).try_for_each(|part| check(part, program));
    }
    let kind = kinds::of(statement);
    let inner = program.is_inner();
    match kind.programs {
        Programs::Nowhere(word) => return Err(sql_err!(SpBadstatement, word)),
        Programs::Makes(word) => return Err(sql_err!(SpNoRecursiveCreate, word)),
        Programs::Changes(word) => return Err(sql_err!(SpNoDropSp, word)),
        Programs::Event => return Err(sql_err!(EventRecursionForbidden)),
        Programs::Procedures(word) if inner => return Err(sql_err!(StmtNotAllowedInSfOrTrg, word)),
        Programs::Rows if inner => return Err(sql_err!(SpNoRetset, program.word())),
        Programs::Procedures(_) | Programs::Rows | Programs::All => {}
    }
    match statement {
        Statement::CreateView(view) if view.alter => Err(sql_err!(SpBadstatement, "ALTER VIEW")),
        Statement::AlterEvent(alter) if alter.body.is_some() => Err(sql_err!(EventRecursionForbidden)),
        Statement::Query(query) if inner && query.into.is_none() => Err(sql_err!(SpNoRetset, program.word())),
        Statement::CreateTable(create) if create.temporary => Ok(()),
        Statement::DropTable { temporary: true, .. } => Ok(()),
        _ if inner && kind.commits => Err(sql_err!(CommitNotAllowedInSfOrTrg)),
        _ => Ok(()),
    }
}

/// Where a trigger sets columns of OLD, or of NEW when it is too late: errors 1362, 1363, 1054.
pub(super) fn check_rows(statement: &Statement, rows: &gannet_program::Rows, after: bool) -> Result<()> {
    match statement {
        Statement::Compound(compound) => parts(compound).try_for_each(|part| check_rows(part, rows, after)),
        Statement::Set(items) => items.iter().try_for_each(|item| match item {
            SetItem::Variable { prefix: Some(prefix), at_at: false, .. } => {
                let is = |word: &str| prefix.text.eq_ignore_ascii_case(word);
                if is("OLD") {
                    return Err(sql_err!(TrgCantChangeRow, "OLD", ""));
                }
                if is("NEW") && rows.new.is_some() && after {
                    return Err(sql_err!(TrgCantChangeRow, "NEW", "after "));
                }
                if is("NEW") && rows.new.is_none() {
                    return Err(sql_err!(TrgNoSuchRowInTrg, "NEW", format_args!("on {}", rows.event)));
                }
                Ok(())
            }
            _ => Ok(()),
        }),
        _ => Ok(()),
    }
}

/// The statements inside a compound one.
fn parts(compound: &Compound) -> Box<dyn Iterator<Item = &Statement> + '_> {
    match compound {
        Compound::Block { statements, .. }
        | Compound::Loop { statements, .. }
        | Compound::While { statements, .. }
        | Compound::Repeat { statements, .. } => Box::new(statements.iter()),
        Compound::DeclareHandler { statement, .. } => Box::new(std::iter::once(statement)),
        Compound::If { branches, otherwise } | Compound::Case { branches, otherwise, .. } => {
            Box::new(branches.iter().flat_map(|(_, then)| then).chain(otherwise.iter().flatten()))
        }
        Compound::DeclareVariable { .. }
        | Compound::DeclareCondition { .. }
        | Compound::DeclareCursor { .. }
        | Compound::Leave(_)
        | Compound::Iterate(_)
        | Compound::Return(_)
        | Compound::Open(_)
        | Compound::Fetch { .. }
        | Compound::Close(_) => Box::new(std::iter::empty()),
    }
}
