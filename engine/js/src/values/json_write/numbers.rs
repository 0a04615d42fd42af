//! Numbers in JSON.

use super::{Key, Writer};
use crate::vm::sys::{Failure, RawValue, throw_type};
use sampan_host::json as host_json;

impl Writer<'_, '_> {
    /// JavaScript writes some numbers in its own way (`1e+21`): those are left to it.
    pub(super) fn float(&mut self, number: f64, value: RawValue<'_>) -> Result<(), Failure> {
        if !number.is_finite() {
            self.out.extend_from_slice(b"null");
        } else if number == 0.0 {
            self.out.push(b'0');
        } else if (1e-4..1e15).contains(&number.abs()) {
            host_json::write_f64(self.out, number);
        } else {
            self.text_of(value)?;
        }
        Ok(())
    }

    /// A BigInt may have a `toJSON`, which scripts put there because the standard has no JSON for it.
    #[cold]
    pub(super) fn big_int(&mut self, value: RawValue<'_>, key: Key) -> Result<bool, Failure> {
        let to_json = self.cx.get_atom(value, self.cx.core().atoms.to_json)?;
        if self.cx.is_function(to_json.raw()) {
            return self.converted(value, &to_json, key);
        }
        self.plain_big_int(value)
    }

    pub(super) fn plain_big_int(&mut self, value: RawValue<'_>) -> Result<bool, Failure> {
        if self.is_standard {
            // Thrown here, as QuickJS does: if its own writer began again, scripts would run twice.
            return Err(throw_type(
                self.cx,
                c"BigInt are forbidden in JSON.stringify",
            ));
        }
        self.text_of(value)?;
        Ok(true)
    }
}
