//! Operators of numbers and texts.
//!
//! Whole numbers have a way of their own. For everything else minijinja is asked: an expression of one operator is
//! evaluated.

use super::Machine;
use crate::escape::escape_html;
use crate::fault::Outcome;
use crate::program::{Escape, Math};
use crate::value::TemplateValue;
use minijinja::value::{Tuple, ValueKind};
use minijinja::{Environment, Expression, UndefinedBehavior, Value};
use std::sync::LazyLock;

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment
});

type Operator = LazyLock<Expression<'static, 'static>>;

macro_rules! operator {
    ($name:ident, $text:literal) => {
        static $name: Operator = LazyLock::new(|| {
            let compiled = ENVIRONMENT.compile_expression($text);
            compiled.expect("an expression that is a constant of this file")
        });
    };
}

operator!(ADD, "a + b");
operator!(SUB, "a - b");
operator!(MUL, "a * b");
operator!(DIV, "a / b");
operator!(INT_DIV, "a // b");
operator!(REM, "a % b");
operator!(POW, "a ** b");
operator!(NEG, "-a");
operator!(IN, "a in b");
operator!(SLICE, "a[b:c:d]");

impl Machine<'_, '_> {
    pub(super) fn calculate(
        &mut self,
        math: Math,
        a: &TemplateValue,
        b: &TemplateValue,
    ) -> Outcome<Value> {
        let (a, b) = (self.owned(a)?, self.owned(b)?);
        if a.is_integer()
            && b.is_integer()
            && let (Some(a), Some(b)) = (a.as_i64(), b.as_i64())
            && let Some(result) = whole(math, a, b)
        {
            return Ok(Value::from(result));
        }
        if matches!(math, Math::Add)
            && a.as_str().is_some()
            && b.as_str().is_some()
            && self.is_markup(&a, &b)
        {
            return self.markup(&a, &b);
        }
        self.check_operands(math, &a, &b)?;
        let operator = match math {
            Math::Add => &ADD,
            Math::Sub => &SUB,
            Math::Mul => &MUL,
            Math::Div => &DIV,
            Math::IntDiv => &INT_DIV,
            Math::Rem => &REM,
            Math::Pow => &POW,
        };
        let result = operator.eval(Value::from_pairs([("a", a), ("b", b)]))?;
        self.check_text(&result)?;
        if matches!(math, Math::Add)
            && result.kind() == ValueKind::Seq
            && result.downcast_object_ref::<Tuple>().is_none()
        {
            // minijinja leaves a sum of lists in parts. From step to step there would be ever more of them.
            return Ok(result.try_iter()?.collect());
        }
        Ok(result)
    }

    /// Fails if the result would be too large.
    fn check_operands(&mut self, math: Math, a: &Value, b: &Value) -> Outcome<()> {
        let bytes = |value: &Value| match value.as_str() {
            Some(text) => text.len(),
            None => value.len().unwrap_or(0).saturating_mul(size_of::<Value>()),
        };
        let (of_a, of_b) = (bytes(a), bytes(b));
        let wanted = match (math, a.as_usize(), b.as_usize()) {
            (Math::Mul, _, Some(times)) => of_a.saturating_mul(times),
            (Math::Mul, Some(times), _) => of_b.saturating_mul(times),
            _ => of_a.saturating_add(of_b),
        };
        self.check_bytes(wanted)?;
        self.spend(wanted)
    }

    pub(super) fn negate(&mut self, value: &TemplateValue) -> Outcome<Value> {
        let value = self.owned(value)?;
        Ok(NEG.eval(Value::from_pairs([("a", value)]))?)
    }

    pub(super) fn slice(&mut self, parts: &[TemplateValue]) -> Outcome<Value> {
        if self.undefined == UndefinedBehavior::Strict
            && let Some(value) = parts.first()
        {
            self.check_defined(value)?;
        }
        let parts = self.all_owned(parts)?;
        let parts = ["a", "b", "c", "d"].into_iter().zip(parts);
        Ok(SLICE.eval(Value::from_pairs(parts))?)
    }

    /// `a in b`
    pub(super) fn contains(&mut self, a: Value, b: Value) -> Outcome<bool> {
        Ok(IN.eval(Value::from_pairs([("a", a), ("b", b)]))?.is_true())
    }

    /// `a ~ b`
    pub(super) fn concat(&mut self, a: &TemplateValue, b: &TemplateValue) -> Outcome<Value> {
        self.check_defined(b)?;
        self.check_defined(a)?;
        let (a, b) = (self.owned(a)?, self.owned(b)?);
        if self.is_markup(&a, &b) {
            return self.markup(&a, &b);
        }
        let (mut text, other) = (self.shown(&a)?, self.shown(&b)?);
        self.check_bytes(text.len().saturating_add(other.len()))?;
        self.spend(text.len() + other.len())?;
        text.push_str(&other);
        Ok(Value::from(text))
    }

    /// Reports whether two values make text that is not escaped again: one of them is markup, and values are escaped.
    fn is_markup(&self, a: &Value, b: &Value) -> bool {
        self.escape == Escape::Html && (a.is_safe() || b.is_safe())
    }

    /// Returns two values as one text of markup. Of the two, that which is not markup is escaped.
    fn markup(&mut self, a: &Value, b: &Value) -> Outcome<Value> {
        let mut text = Vec::new();
        for side in [a, b] {
            let shown = self.shown(side)?;
            match side.is_safe() {
                true => text.extend_from_slice(shown.as_bytes()),
                false => escape_html(&mut text, shown.as_bytes()),
            }
            self.check_bytes(text.len())?;
        }
        self.spend(text.len())?;
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok(Value::from_safe_string(text))
    }

    /// Fails if a text is too large to go on with: it could grow from step to step.
    fn check_text(&self, value: &Value) -> Outcome<()> {
        if value
            .as_str()
            .is_some_and(|text| text.len() > self.limits.memory_bytes_max)
        {
            return Err(self.limits.value_too_large().into());
        }
        Ok(())
    }
}

/// The result, if it is a whole number that needs no care.
fn whole(math: Math, a: i64, b: i64) -> Option<i64> {
    match math {
        Math::Add => a.checked_add(b),
        Math::Sub => a.checked_sub(b),
        Math::Mul => a.checked_mul(b),
        Math::IntDiv if a >= 0 && b > 0 => Some(a / b),
        Math::Rem if a >= 0 && b > 0 => Some(a % b),
        _ => None,
    }
}
