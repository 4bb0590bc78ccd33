//! The variables that an expression sees: facts, the element `it`, and the `let` bindings of its rule, which are evaluated when an
//! expression first mentions them.

use std::result::Result as StdResult;

use cel::Context;
use cel::common::types::CelBool;

use super::expression::{Expression, Missing, Outcome};
use super::value::Boxed;
use crate::error::Result;

/// The name of the element that a rule with `each` looks at.
pub const ELEMENT: &str = "it";

/// A name for the value of an expression.
#[derive(Debug)]
pub struct Binding {
    /// The name.
    pub name: String,
    /// The expression.
    pub value: Expression,
}

/// Variables in scope, and bindings that no expression has mentioned yet.
pub struct Scope<'p, 'v, 'r> {
    context: Context<'p, 'v>,
    pending: Vec<&'r Binding>,
}

impl<'p, 'v, 'r> Scope<'p, 'v, 'r> {
    /// A scope with the variables of a context and with bindings, each of which may mention those before it.
    pub fn new(context: Context<'p, 'v>, bindings: Vec<&'r Binding>) -> Self {
        Scope {
            context,
            pending: bindings,
        }
    }

    /// A scope for one element, with more bindings.
    pub fn of_element<'s>(
        &'s self,
        element: Boxed<'v>,
        bindings: &[&'r Binding],
    ) -> Scope<'s, 'v, 'r> {
        let mut context = self.context.new_inner_scope();
        context.add_variable_as_val(ELEMENT, element);
        let pending = [&self.pending[..], bindings].concat();
        Scope { context, pending }
    }

    /// Sets a variable.
    pub fn set(&mut self, name: &str, value: Boxed<'v>) {
        self.context.add_variable_as_val(name, value);
    }

    /// Evaluates the bindings that an expression mentions. A binding for which a fact is missing stays unset, so that it is a
    /// missing fact itself.
    ///
    /// # Errors
    ///
    /// As [`Expression::evaluate`].
    pub fn bind(&mut self, expression: &Expression) -> Result<()> {
        let mut index = 0;
        while let Some(binding) = self.pending.get(index).copied() {
            if !expression.mentions(&binding.name)? {
                index += 1;
                continue;
            }
            self.pending.remove(index);
            if let Ok(value) = self.evaluate(&binding.value)? {
                self.set(&binding.name, value);
            }
            // Evaluating it may have evaluated bindings before it.
            index = 0;
        }
        Ok(())
    }

    /// Evaluates an expression.
    ///
    /// # Errors
    ///
    /// As [`Expression::evaluate`].
    pub fn evaluate(&mut self, expression: &Expression) -> Result<Outcome<'v>> {
        self.bind(expression)?;
        expression.evaluate(&self.context)
    }

    /// The name of the fact or binding that an expression lacks.
    ///
    /// # Errors
    ///
    /// As [`Expression::evaluate`].
    pub fn missing(&mut self, expression: &Expression) -> Result<Option<String>> {
        self.bind(expression)?;
        expression.missing(&self.context)
    }

    /// Evaluates an expression to true or false.
    ///
    /// # Errors
    ///
    /// As [`Expression::evaluate`], or the value is neither.
    pub fn holds(&mut self, expression: &Expression) -> Result<StdResult<bool, Missing>> {
        match self.evaluate(expression)? {
            Ok(value) => match value.downcast_ref::<CelBool>() {
                Some(value) => Ok(Ok(*value.inner())),
                None => {
                    let whole = 0..expression.text().len();
                    Err(expression.fault(whole, "this must be true or false", None))
                }
            },
            Err(missing) => Ok(Err(missing)),
        }
    }
}
