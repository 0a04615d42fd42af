//! Comparisons of values.

use super::Machine;
use crate::fault::Outcome;
use crate::program::Compare;
use crate::value::TemplateValue;
use minijinja::Value;
use sampan_host::Handle;
use sampan_host::reader::Kind;
use std::cmp::Ordering;

impl Machine<'_, '_> {
    pub(super) fn compare(
        &mut self,
        how: Compare,
        a: &TemplateValue,
        b: &TemplateValue,
    ) -> Outcome<bool> {
        if matches!(how, Compare::In | Compare::NotIn) {
            self.check_defined(b)?;
            self.check_defined(a)?;
            let (a, b) = (self.owned(a)?, self.owned(b)?);
            let contains = self.contains(a, b)?;
            return Ok(contains == (how == Compare::In));
        }
        if let Some(result) = self.compare_in_place(how, a, b) {
            return Ok(result);
        }
        self.check_defined(a)?;
        self.check_defined(b)?;
        let (a, b) = (self.owned(a)?, self.owned(b)?);
        Ok(match how {
            Compare::Eq => a == b,
            Compare::Ne => a != b,
            Compare::Lt => a < b,
            Compare::Lte => a <= b,
            Compare::Gt => a > b,
            _ => a >= b,
        })
    }

    /// The comparison of two texts, or of a whole number of the script with another.
    fn compare_in_place(&self, how: Compare, a: &TemplateValue, b: &TemplateValue) -> Option<bool> {
        let order = match (a, b) {
            (TemplateValue::Script(a), TemplateValue::Own(b)) => self.order(*a, b)?,
            (TemplateValue::Own(a), TemplateValue::Script(b)) => self.order(*b, a)?.reverse(),
            (TemplateValue::Own(a), TemplateValue::Own(b)) => a.as_str()?.cmp(b.as_str()?),
            _ => return None,
        };
        Some(match how {
            Compare::Eq => order.is_eq(),
            Compare::Ne => order.is_ne(),
            Compare::Lt => order.is_lt(),
            Compare::Lte => order.is_le(),
            Compare::Gt => order.is_gt(),
            Compare::Gte => order.is_ge(),
            Compare::In | Compare::NotIn => return None,
        })
    }

    fn order(&self, it: Handle, own: &Value) -> Option<Ordering> {
        match self.reader.kind(it) {
            Kind::Text => {
                let own = own.as_str()?;
                self.reader
                    .with_bytes(it, |bytes| bytes.cmp(own.as_bytes()))
            }
            Kind::Int(whole) if own.is_integer() => Some(whole.cmp(&own.as_i64()?)),
            _ => None,
        }
    }
}
