//! The variables that an expression sees: facts, the element `it`, and the `let` bindings of its rule, which are evaluated when an
//! expression first mentions them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::result::Result as StdResult;

use cel::Context;
use cel::common::types::CelBool;

use super::expression::{Expression, Missing, Outcome};
use super::value::Boxed;
use imgcheck_base::error::Result;

/// The name of the element that a rule with `each` looks at.
pub const ELEMENT: &str = "it";

/// A name for the value of an expression.
#[derive(Debug)]
pub struct Binding {
    /// Name of the binding.
    pub name: String,
    /// The expression.
    pub value: Expression,
    /// Whether its value is the same for all elements and on all targets.
    pub is_constant: bool,
}

/// The values of those constant bindings of a rule that an expression has used.
#[derive(Default)]
pub struct Constants<'r, 'v>(RefCell<HashMap<&'r str, Outcome<'v>>>);

/// Variables in scope, and bindings that no expression has mentioned yet.
pub struct Scope<'p, 'v, 'r> {
    context: Context<'p, 'v>,
    pending: Vec<&'r Binding>,
    constants: Option<&'p Constants<'r, 'v>>,
}

impl<'p, 'v, 'r> Scope<'p, 'v, 'r> {
    /// A scope with the variables of a context and with bindings, each of which may mention those before it.
    pub fn new(context: Context<'p, 'v>, bindings: Vec<&'r Binding>) -> Self {
        Scope {
            context,
            pending: bindings,
            constants: None,
        }
    }

    /// Shares the values of constant bindings with other scopes of the rule, in which the other facts are the same.
    #[must_use]
    pub fn sharing(self, constants: &'p Constants<'r, 'v>) -> Self {
        Scope {
            constants: Some(constants),
            ..self
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
        Scope {
            context,
            pending,
            constants: self.constants,
        }
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
    /// Same as [`Expression::evaluate`].
    pub fn bind(&mut self, expression: &Expression) -> Result<()> {
        let mut index = 0;
        while let Some(binding) = self.pending.get(index).copied() {
            if !expression.mentions(&binding.name)? {
                index += 1;
                continue;
            }
            self.pending.remove(index);
            if let Ok(value) = self.value_of(binding)? {
                self.set(&binding.name, value);
            }
            // Evaluating it may have evaluated bindings before it.
            index = 0;
        }
        Ok(())
    }

    fn value_of(&mut self, binding: &'r Binding) -> Result<Outcome<'v>> {
        let constants = self.constants.filter(|_| binding.is_constant);
        let known = constants.and_then(|it| it.0.borrow().get(&*binding.name).cloned());
        if let Some(known) = known {
            return Ok(known);
        }
        let value = self.evaluate(&binding.value)?;
        if let Some(constants) = constants {
            let mut constants = constants.0.borrow_mut();
            constants.insert(&binding.name, value.clone());
        }
        Ok(value)
    }

    /// Evaluates an expression.
    ///
    /// # Errors
    ///
    /// Same as [`Expression::evaluate`].
    pub fn evaluate(&mut self, expression: &Expression) -> Result<Outcome<'v>> {
        self.bind(expression)?;
        expression.evaluate(&self.context)
    }

    /// The name of the fact or binding that an expression lacks.
    ///
    /// # Errors
    ///
    /// Same as [`Expression::evaluate`].
    pub fn missing(&mut self, expression: &Expression) -> Result<Option<String>> {
        self.bind(expression)?;
        expression.missing(&self.context)
    }

    /// Evaluates an expression to true or false.
    ///
    /// # Errors
    ///
    /// Same as [`Expression::evaluate`], or the value is neither.
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
