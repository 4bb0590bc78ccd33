//! Values of expressions that are copied for nothing.
//!
//! CEL copies each element that an expression walks over, and each variable that it binds, with all that is in it: a table of releases
//! once for each look at it. A [`Shared`] value is such a value behind a counted reference, so that its copy is the same value.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use cel::common::traits::{Adder, Comparer, Container, Indexer, Iterable, Sizer, Zeroer};
use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelUInt, Type,
};
use cel::common::value::{Builtin, BuiltinRef, CowVal, Val};
use cel::{ExecutionError, Value};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A value of expressions: text, a number, a list, a map.
pub type Boxed<'v> = Box<dyn Val + 'v>;

/// A text, a list or a map that is shared, not copied.
#[derive(Debug)]
struct Shared<T>(Arc<T>);

/// The value of facts or of a table, which expressions may copy at no cost.
///
/// # Errors
///
/// It is not a value of CEL: a map has keys that are no text, numbers or booleans.
pub fn shared(value: &impl Serialize) -> Result<Boxed<'static>, String> {
    let value = cel::to_value(value).map_err(|error| error.to_string())?;
    share(value).map_err(|error| error.to_string())
}

/// The fields of facts, each as [`shared`] gives it; empty if the facts are not a map.
///
/// # Errors
///
/// Same as [`shared`].
pub fn shared_fields(facts: &impl Serialize) -> Result<Vec<(String, Boxed<'static>)>, String> {
    let Value::Map(fields) = cel::to_value(facts).map_err(|error| error.to_string())? else {
        return Ok(Vec::new());
    };
    let field = |(name, value): (cel::objects::Key, Value)| {
        let value = share(value).map_err(|error| error.to_string())?;
        Ok((name.to_string(), value))
    };
    Arc::unwrap_or_clone(fields.map)
        .into_iter()
        .map(field)
        .collect()
}

fn share(value: Value) -> Result<Boxed<'static>, ExecutionError> {
    Ok(match value {
        Value::String(text) => boxed(CelString::from(Arc::unwrap_or_clone(text))),
        Value::List(items) => {
            let items = Arc::unwrap_or_clone(items).into_iter().map(share);
            boxed(CelList::from(items.collect::<Result<Vec<_>, _>>()?))
        }
        Value::Map(map) => {
            let fields = Arc::unwrap_or_clone(map.map).into_iter();
            let fields = fields.map(|(key, value)| Ok((key.into(), share(value)?)));
            let fields: Result<HashMap<CelMapKey, Boxed>, ExecutionError> = fields.collect();
            boxed(CelMap::from(fields?))
        }
        scalar => scalar.try_into()?,
    })
}

/// A value of JSON, as [`shared`] would give it.
pub struct Json(pub Boxed<'static>);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json(null()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json(Box::new(CelBool::from(value))))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json(Box::new(CelInt::from(value))))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json(Box::new(CelUInt::from(value))))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json(Box::new(CelDouble::from(value))))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json(boxed(CelString::from(text.to_owned()))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(Json(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Json(boxed(CelList::from(list))))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Json, A::Error> {
        let mut map: HashMap<CelMapKey, Boxed> = HashMap::new();
        while let Some((key, Json(value))) = fields.next_entry::<String, _>()? {
            map.insert(key.into(), value);
        }
        Ok(Json(boxed(CelMap::from(map))))
    }
}

fn boxed<T: Val + Clone + 'static>(value: T) -> Boxed<'static> {
    Box::new(Shared(Arc::new(value)))
}

/// The value of null.
pub fn null<'v>() -> Boxed<'v> {
    Box::new(CelNull)
}

/// The elements, if the value is a list.
pub fn elements<'b, 'v>(value: &'b (dyn Val + 'v)) -> Option<&'b [Boxed<'v>]> {
    value.downcast_ref::<CelList>().map(CelList::inner)
}

/// A field, if the value is a map that has it.
pub fn field<'b, 'v>(value: &'b (dyn Val + 'v), name: &str) -> Option<&'b (dyn Val + 'v)> {
    match value.as_indexer()?.get(&CelString::from(name)) {
        Ok(CowVal::Borrowed(value)) => Some(value),
        _ => None,
    }
}

/// The text, if the value is text.
pub fn text<'b>(value: &'b (dyn Val + '_)) -> Option<&'b str> {
    value.downcast_ref::<CelString>().map(CelString::inner)
}

/// The number, if the value is a whole number and not negative.
pub fn number(value: &(dyn Val + '_)) -> Option<usize> {
    let signed = || usize::try_from(*value.downcast_ref::<CelInt>()?.inner()).ok();
    let unsigned = || usize::try_from(*value.downcast_ref::<CelUInt>()?.inner()).ok();
    signed().or_else(unsigned)
}

impl<T: Val + Clone + 'static> Val for Shared<T> {
    fn get_type(&self) -> &Type {
        self.0.get_type()
    }

    fn cel_type() -> &'static Type {
        T::cel_type()
    }

    fn as_adder<'b, 'v>(&'b self) -> Option<&'b (dyn Adder + 'v)>
    where
        Self: 'v,
    {
        self.0.as_adder()
    }

    fn as_comparer(&self) -> Option<&dyn Comparer> {
        self.0.as_comparer()
    }

    fn as_container(&self) -> Option<&dyn Container> {
        self.0.as_container()
    }

    fn as_indexer<'b, 'v>(&'b self) -> Option<&'b (dyn Indexer + 'v)>
    where
        Self: 'v,
    {
        self.0.as_indexer()
    }

    fn into_indexer<'v>(self: Box<Self>) -> Option<Box<dyn Indexer + 'v>>
    where
        Self: 'v,
    {
        self.as_indexer()?;
        Some(self)
    }

    fn as_iterable<'b, 'v>(&'b self) -> Option<&'b (dyn Iterable + 'v)>
    where
        Self: 'v,
    {
        self.0.as_iterable()
    }

    fn as_sizer(&self) -> Option<&dyn Sizer> {
        self.0.as_sizer()
    }

    fn as_zeroer(&self) -> Option<&dyn Zeroer> {
        self.0.as_zeroer()
    }

    fn equals(&self, other: &dyn Val) -> bool {
        self.0.equals(other)
    }

    fn clone_as_boxed<'v>(&self) -> Boxed<'v>
    where
        Self: 'v,
    {
        Box::new(Shared(Arc::clone(&self.0)))
    }

    // CEL's own functions know its types by these two. They are hidden in its documentation, so a test holds what they are needed for.
    fn as_builtin<'b, 'v>(&'b self) -> BuiltinRef<'b, 'v>
    where
        Self: 'v,
    {
        self.0.as_builtin()
    }

    fn into_builtin<'v>(self: Box<Self>) -> Option<Builtin<'v>>
    where
        Self: 'v,
    {
        Box::new(Arc::unwrap_or_clone(self.0)).into_builtin()
    }
}

impl<T: Val + Clone + 'static> Indexer for Shared<T> {
    fn get<'b, 'v>(&'b self, key: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        match self.0.as_indexer() {
            Some(indexer) => indexer.get(key),
            None => Err(ExecutionError::no_such_key("unknown")),
        }
    }

    fn steal<'v>(self: Box<Self>, key: &dyn Val) -> Result<Boxed<'v>, ExecutionError>
    where
        Self: 'v,
    {
        Ok(self.get(key)?.into_owned())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::rules::functions;

    /// What CEL does with its own values it does with shared ones.
    #[test]
    fn expressions_cannot_tell_shared_values_from_others() {
        let facts = json!({
            "name": "torch",
            "list": ["b", "a", "b"],
            "map": {"version": "2.8.0", "numbers": [1, 2], "nothing": null},
            "maps": [{"name": "x", "numbers": [3]}, {"name": "y", "numbers": []}],
            "scalars": [true, -1, 1, 1.5, null],
        });
        let mut context = functions::context(&Arc::default());
        for (name, value) in shared_fields(&facts).unwrap() {
            let read: Json = serde_json::from_str(&facts[&name].to_string()).unwrap();
            assert!(value.equals(read.0.as_ref()), "{name}");
            context.add_variable_as_val(name, value);
        }
        for expression in [
            "name == 'torch' && 'torch' == name && name + '2' == 'torch2' && name < 'u' && size(name) == 5",
            "name in ['torch'] && 'b' in list && !('c' in list) && name.startsWith('to') && name.matches('^t')",
            "list == ['b', 'a', 'b'] && ['b', 'a', 'b'] == list && list[1] == 'a' && size(list) == 3",
            "list + ['c'] == ['b', 'a', 'b', 'c'] && ['c'] + list == ['c', 'b', 'a', 'b']",
            "list.distinct().sort().join(', ') == 'a, b' && list.slice(1, 3) == ['a', 'b'] && list.reverse()[2] == 'b'",
            "[list, list].flatten() == list + list && list.map(x, x + '1')[0] == 'b1' && list.filter(x, x == 'a') == ['a']",
            "map.version == '2.8.0' && map['version'] == '2.8.0' && has(map.version) && !has(map.other) && 'version' in map",
            "map.numbers[1] == 2 && map == {'version': '2.8.0', 'numbers': [1, 2], 'nothing': null} && map.nothing == null",
            "{'version': '2.8.0', 'numbers': [1, 2], 'nothing': null} == map && map.exists(key, key == 'numbers')",
            "maps.filter(m, m.name == 'x')[0].numbers[0] == 3 && maps.map(m, m.numbers).flatten() == [3]",
            "maps.exists(m, m == {'name': 'y', 'numbers': []}) && maps[0] in maps && maps.all(m, type(m) == type(map))",
            "map.?other.orValue('none') == 'none' && map.?version.orValue('') == '2.8.0' && maps[?5] == optional.none()",
            "majorMinor(map.version) == '2.8' && string(name) == 'torch' && type(list) == type([])",
            "(name == 'torch' ? map : {}).version == '2.8.0' && [map][0].version == '2.8.0' && [list][0][0] == 'b'",
        ] {
            let program = functions::environment().compile(expression);
            let program = program.unwrap_or_else(|errors| panic!("{expression}: {errors}"));
            let value = Value::resolve_val(program.expression(), &context);
            let holds = value.map(|it| it.downcast_ref::<CelBool>().map(|it| *it.inner()));
            assert_eq!(holds, Ok(Some(true)), "{expression}");
        }
        let absent = functions::environment().compile("map.other").unwrap();
        let value = Value::resolve_val(absent.expression(), &context);
        assert!(matches!(value, Err(ExecutionError::NoSuchKey(_))));
    }

    #[test]
    fn a_copy_is_the_same_value() {
        let value = shared(&json!({"list": ["a"]})).unwrap();
        let copy = value.clone_as_boxed();
        let text_of = |value: &dyn Val| {
            let list = field(value, "list").unwrap();
            text(elements(list).unwrap()[0].as_ref()).unwrap().as_ptr()
        };
        assert_eq!(text_of(value.as_ref()), text_of(copy.as_ref()));
    }
}
