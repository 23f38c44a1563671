//! JSON_ARRAYAGG and JSON_OBJECTAGG.

use super::*;
use crate::def::Accumulator;

/// JSON_ARRAYAGG: an element a row, NULLs too.
#[derive(Default)]
pub(crate) struct ArrayAgg {
    items: Vec<Json>,
    bytes: usize,
    ty: Option<SqlType>,
}

impl ArrayAgg {
    pub(crate) fn start(call: Call<'_>) -> Box<dyn Accumulator> {
        Box::new(ArrayAgg { ty: call.args.first().cloned(), ..ArrayAgg::default() })
    }
}

impl Accumulator for ArrayAgg {
    fn add(&mut self, cx: &mut EvalContext<'_>, args: &[Value]) -> Result<()> {
        let item = value_arg(cx, self.ty.as_ref().unwrap_or(&SqlType::NULL), &args[0])?;
        // A list grows by doubling.
        self.bytes += 2 * item.memory_bytes();
        self.items.push(item);
        Ok(())
    }

    fn value(&self, cx: &mut EvalContext<'_>) -> Result<Value> {
        if self.items.is_empty() {
            return Ok(Value::Null);
        }
        let stored = Json::array_text(self.items.iter(), cx.room)?;
        bounded(cx, stored, "json_arrayagg")
    }

    fn memory_bytes(&self) -> usize {
        self.bytes + 64
    }
}

/// JSON_OBJECTAGG: a member a row; of equal keys the last one stays.
#[derive(Default)]
pub(crate) struct ObjectAgg {
    members: Vec<(Box<str>, Json)>,
    bytes: usize,
    types: Vec<SqlType>,
}

impl ObjectAgg {
    pub(crate) fn start(call: Call<'_>) -> Box<dyn Accumulator> {
        Box::new(ObjectAgg { types: call.args.to_vec(), ..ObjectAgg::default() })
    }
}

impl Accumulator for ObjectAgg {
    fn add(&mut self, cx: &mut EvalContext<'_>, args: &[Value]) -> Result<()> {
        if args[0].is_null() {
            return Err(sql_err!(JsonDocumentNullKey));
        }
        let ty = SqlType::new(TypeId::Json);
        let call = Call { ty: &ty, args: &self.types, site: 0 };
        let key = utf8_arg(call, args, 0)?;
        let value = value_arg(cx, &self.types[1], &args[1])?;
        self.bytes += key.len() + 2 * (32 + value.memory_bytes());
        self.members.push((key.into(), value));
        Ok(())
    }

    fn value(&self, cx: &mut EvalContext<'_>) -> Result<Value> {
        if self.members.is_empty() {
            return Ok(Value::Null);
        }
        let stored = Json::object_text(&self.members, cx.room)?;
        bounded(cx, stored, "json_objectagg")
    }

    fn memory_bytes(&self) -> usize {
        self.bytes + 64
    }
}

/// NULL with warning 1301 for what is longer than max_allowed_packet.
fn bounded(cx: &mut EvalContext<'_>, stored: gannet_types::value::Text, name: &str) -> Result<Value> {
    if !rules::fits(cx, stored.len() as u64) {
        return rules::too_long(cx, name);
    }
    Ok(Value::Json(stored))
}

pub(crate) fn rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::new(TypeId::Json))
}
