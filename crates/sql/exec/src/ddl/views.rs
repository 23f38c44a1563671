//! CREATE VIEW, ALTER VIEW, DROP VIEW.

use super::{DdlContext, select, sql};
use gannet_catalog::Edit;
use gannet_parser::ast::{Account, CreateView, ObjectName, QueryBody, SelectItem};
use gannet_plan::{Plan, PlanOptions};
use gannet_schema::names::{check_column_name, check_table_name};
use gannet_schema::{CatalogSnapshot, CheckOption, Column, View, ViewAlgorithm};
use gannet_types::{Level, Result, SqlError, sql_err};

/// CREATE VIEW and ALTER VIEW; the plan of the query is the context's. Errors 1050, 1347, 1350, 1351, 1353, 1368, 1146.
pub(super) fn create(create: &CreateView, edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<()> {
    let (schema, name) = cx.resolve(&create.name)?;
    let (schema, name) = (schema.to_owned(), name.to_owned());
    let old = edit.snapshot().base_table(&schema, &name).cloned();
    match &old {
        None if create.alter => return Err(sql_err!(NoSuchTable, schema, name)),
        Some(t) if create.alter && t.view().is_none() => return Err(sql_err!(WrongObject, schema, name, "VIEW")),
        Some(_) if create.existence.if_exists => {
            let error = sql_err!(TableExists, name);
            cx.warnings.push(error.to_warning(Level::Note));
            return Ok(());
        }
        Some(_) if !create.alter && !create.existence.or_replace => return Err(sql_err!(TableExists, name)),
        _ => {}
    }
    let uses_itself = |(plan, _): &(gannet_plan::Plan, _)| {
        plan.tables.iter().any(|t| *t.table.schema == *schema && *t.table.name == *name)
    };
    if cx.select.as_ref().is_some_and(uses_itself) {
        return Err(sql_err!(NoSuchTable, schema, name));
    }
    let options = PlanOptions {
        sql_mode: cx.settings.sql_mode,
        collation: cx.collation,
        div_precision_increment: cx.settings.div_precision_increment,
        default_week_format: cx.settings.default_week_format,
        group_concat_max_len: cx.settings.group_concat_max_len,
        locale: cx.settings.locale,
        ..PlanOptions::new(cx.database)
    };
    let Some((plan, _)) = &cx.select else { return Err(SqlError::internal("a view without columns")) };
    let (columns, mut view, mergeable) = view_of(create, plan, edit.snapshot(), &options)?;
    if create_says_merge(create) && !mergeable {
        cx.warnings.push(sql_err!(WarnViewMerge).to_warning(Level::Warning));
    }
    if view.check.is_some() && !view.updatable {
        return Err(sql_err!(ViewNonupdCheck, schema, name));
    }
    let before = old.as_ref().and_then(|t| t.view());
    view.definer = match (&create.definer, before) {
        (Some(account), _) => account_of(account, cx)?,
        (None, Some(view)) if create.alter => view.definer.clone(),
        (None, _) => (cx.account.0.into(), cx.account.1.into()),
    };
    view.invoker = create.invoker.unwrap_or(create.alter && before.is_some_and(|v| v.invoker));
    let now = (cx.settings.now_us / 1_000_000) as u64;
    sql(edit.create_view(&schema, &name, columns, view, old.is_some(), now))
}

/// The columns and the definition of a view over a query's plan, its definer left empty; and whether it may be merged.
/// What cannot be merged is a table of its own, whatever ALGORITHM says. Errors 1166, 1350, 1351.
pub fn view_of(
    create: &CreateView,
    plan: &Plan,
    snapshot: &CatalogSnapshot,
    options: &PlanOptions<'_>,
) -> Result<(Vec<Column>, View, bool)> {
    create.columns.iter().try_for_each(|name| check_view_column(name))?;
    check_aliases(&create.query.body)?;
    let definition = gannet_plan::view_definition(&create.query, &create.columns, snapshot, options)?;
    let algorithm = match create.algorithm.as_ref().map(|a| a.text.to_ascii_uppercase()).as_deref() {
        Some("MERGE") if definition.mergeable => ViewAlgorithm::Merge,
        Some("TEMPTABLE") => ViewAlgorithm::Temptable,
        _ => ViewAlgorithm::Undefined,
    };
    let mut columns: Vec<Column> = select::columns_of(plan, options.sql_mode).collect();
    if columns.is_empty() {
        // A dictionary with such an entry cannot be read.
        return Err(SqlError::internal("a view without columns"));
    }
    for (column, name) in columns.iter_mut().zip(&create.columns) {
        column.name = (&*name.text).into();
    }
    for column in &mut columns {
        column.comment = "".into();
        column.on_update_now = false;
    }
    let check = create.check_option.map(|cascaded| if cascaded { CheckOption::Cascaded } else { CheckOption::Local });
    let view = View {
        query: definition.query,
        algorithm,
        definer: ("".into(), "".into()),
        invoker: create.invoker.unwrap_or(false),
        check,
        named: !create.columns.is_empty(),
        updatable: definition.updatable && algorithm != ViewAlgorithm::Temptable,
        collation: options.collation,
    };
    Ok((columns, view, definition.mergeable))
}

fn create_says_merge(create: &CreateView) -> bool {
    create.algorithm.as_ref().is_some_and(|a| a.text.eq_ignore_ascii_case("MERGE"))
}

/// Error 1166 for a name that no column of a view can have, be it long or ill-formed.
fn check_view_column(name: &str) -> Result<()> {
    check_column_name(name).map_err(|_| sql_err!(WrongColumnName, name))
}

/// As [`check_view_column`], of the aliases that become columns.
fn check_aliases(body: &QueryBody) -> Result<()> {
    match body {
        QueryBody::Select(select) => select.items.iter().try_for_each(|item| match item {
            SelectItem::Expr { alias: Some(alias), .. } => check_view_column(alias),
            SelectItem::Expr { alias: None, .. } | SelectItem::Wildcard(_) | SelectItem::TableWildcard(_) => Ok(()),
        }),
        QueryBody::Query(query) => check_aliases(&query.body),
        QueryBody::Set(set) => {
            check_aliases(&set.first)?;
            set.rest.iter().try_for_each(|arm| check_aliases(&arm.body))
        }
        QueryBody::Values(_) | QueryBody::Table(_) => Ok(()),
    }
}

/// A definer. Error 1470 for a name that no account can have.
fn account_of(account: &Account, cx: &DdlContext<'_>) -> Result<(Box<str>, Box<str>)> {
    const USER_CHARS: usize = 32;
    const HOST_CHARS: usize = 255;
    let (user, host) = match account {
        Account::CurrentUser => return Ok((cx.account.0.into(), cx.account.1.into())),
        Account::Name { user, host, .. } => (user, host),
    };
    if user.chars().count() > USER_CHARS {
        return Err(sql_err!(WrongStringLength, user, "user name", USER_CHARS));
    }
    if host.chars().count() > HOST_CHARS {
        // The error shows the beginning.
        let beginning: String = host.chars().take(70).collect();
        return Err(sql_err!(WrongStringLength, beginning, "host name", HOST_CHARS));
    }
    Ok((user.clone(), host.clone()))
}

/// DROP VIEW: all or none. Missing ones are named together in error 1051, or noted with IF EXISTS; error 1347 for
/// tables.
pub(super) fn drop(if_exists: bool, names: &[ObjectName], edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<()> {
    let mut missing = Vec::new();
    let mut present: Vec<(String, String)> = Vec::new();
    for name in names {
        let (schema, name) = cx.resolve(name)?;
        match edit.snapshot().base_table(schema, name) {
            None => {
                check_table_name(name)?;
                missing.push(format!("{schema}.{name}"));
            }
            Some(t) if t.view().is_none() => return Err(sql_err!(WrongObject, schema, name, "VIEW")),
            Some(_) => {
                let named = (schema.to_owned(), name.to_owned());
                if present.contains(&named) {
                    return Err(sql_err!(NonuniqTable, name));
                }
                present.push(named);
            }
        }
    }
    if !missing.is_empty() && !if_exists {
        return Err(sql_err!(BadTable, missing.join(",")));
    }
    for name in &missing {
        cx.note(&sql_err!(BadTable, name));
    }
    present.iter().try_for_each(|(schema, name)| sql(edit.drop_view(schema, name)))
}
