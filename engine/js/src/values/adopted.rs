//! Bytes that a script gets without a copy: the buffer takes over the block that they were received into. It counts as
//! memory of the isolate.

use crate::vm::memory::Memory;
use crate::vm::sys::{Cx, Thrown, Val};
use rquickjs::qjs;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::rc::Rc;

/// Fewer bytes are copied: that is quicker than to keep track of them.
const ADOPTED_BYTES_MIN: usize = 8 * 1024;

/// The block of one buffer.
struct Adopted {
    bytes: Vec<u8>,
    /// So many bytes of it are counted there.
    counted: usize,
    memory: Rc<Memory>,
}

/// A `Uint8Array` of `bytes`.
pub(crate) fn bytes(cx: Cx<'_>, mut bytes: Vec<u8>) -> Result<Val, Thrown> {
    let memory = &cx.core().memory;
    let counted = bytes.capacity();
    if bytes.len() < ADOPTED_BYTES_MIN || !memory.adopt(counted) {
        // Where there is no memory this says so.
        return cx.bytes(&bytes);
    }
    let (start, length) = (bytes.as_mut_ptr(), bytes.len());
    let memory = memory.clone();
    let block = Box::into_raw(Box::new(Adopted {
        bytes,
        counted,
        memory,
    }));
    // SAFETY: the buffer owns the block and gives it back by `resize`, once. Only where there is no memory even for the
    // array itself does the block stay. The reference that comes back is owned.
    unsafe {
        cx.check({
            let block = block.cast::<c_void>();
            qjs::JS_NewUint8Array(cx.raw(), start, length as _, Some(resize), block, false)
        })
    }
}

/// Gives a block another size, or frees it if that is 0.
// SAFETY: called by QuickJS alone, with the block of a buffer that was made here.
unsafe extern "C" fn resize(
    _: *mut qjs::JSRuntime,
    block: *mut c_void,
    _: *mut c_void,
    size: qjs::size_t,
) -> *mut c_void {
    let block = block.cast::<Adopted>();
    let size = size as usize;
    // SAFETY: the block is alive, and its buffer, which calls this, has the only reference to it.
    unsafe {
        if size == 0 {
            drop(Box::from_raw(block));
            return null_mut();
        }
        let adopted = &mut *block;
        let more = size.saturating_sub(adopted.counted);
        if !adopted.memory.adopt(more) {
            return null_mut();
        }
        adopted.counted += more;
        let missing = size.saturating_sub(adopted.bytes.len());
        adopted.bytes.reserve_exact(missing);
        adopted.bytes.resize(size, 0);
        adopted.bytes.as_mut_ptr().cast()
    }
}

impl Drop for Adopted {
    fn drop(&mut self) {
        self.memory.release(self.counted);
    }
}
