//! Calls that hand over and take entries, and give them up.

use super::Program;
use super::entries::{AnswerEntry, answers, request_entry, split_entry};
use sampan_c::*;

impl Program<'_> {
    pub(super) fn submit(&mut self) {
        let (index, _) = self.shared();
        let tag = self.choices.one_of(&[SAMPAN_CALL, SAMPAN_HANDLE, 2]);
        let [method, target, body] = [(); 3].map(|()| self.choices.until(b'\n'));
        let entry = request_entry(self.next_id, tag, [method, target, b""], body);
        self.next_id += 1;
        let status = self.submit_entries(index, &entry);
        let is_taken = status == SAMPAN_OK;
        assert!(!is_taken || tag != 2, "a tag that is none was taken");
        assert!(
            is_taken || matches!(status, SAMPAN_ERROR_ARGUMENT | SAMPAN_ERROR_LIMIT),
            "{status}"
        );
    }

    pub(super) fn submit_bytes(&mut self) {
        let (index, _) = self.shared();
        let mut bytes = Vec::new();
        if self.choices.below(2) == 1 {
            bytes = request_entry(self.next_id, SAMPAN_CALL, [b"", b"echo", b""], b"[1]");
            self.next_id += 1;
        }
        bytes.extend_from_slice(self.choices.until(b'\n'));
        self.submit_entries(index, &bytes);
    }

    /// Hands bytes over. Notes the ids of the entries that were taken.
    fn submit_entries(&mut self, index: usize, entries: &[u8]) -> i32 {
        let mut taken = usize::MAX;
        // SAFETY: the bytes stay as they are during the call, and `taken` is this function's.
        let status = unsafe {
            sampan_scripts_submit(
                self.scripts[index],
                entries.as_ptr().cast(),
                entries.len(),
                &raw mut taken,
            )
        };
        let mut left = entries;
        for _ in 0..taken {
            let (id, behind) = split_entry(left).expect("an entry was taken");
            self.waiting[index].push(id);
            left = behind;
        }
        assert_eq!(
            status == SAMPAN_OK,
            left.is_empty(),
            "{status}, {} bytes are left",
            left.len()
        );
        status
    }

    pub(super) fn next(&mut self) {
        let (index, _) = self.shared();
        let capacity = self.choices.one_of(&[0, 39, 40, 64, 4096]);
        let timeout = self.choices.one_of(&[0, 1]);
        self.take(index, capacity, timeout);
    }

    /// Takes answers into a buffer of this size.
    pub(super) fn take(&mut self, index: usize, capacity: usize, timeout: i64) -> i32 {
        const BEHIND: [u8; 8] = [0xa5; 8];
        let mut buffer = vec![0xa5; capacity + BEHIND.len()];
        let mut len = usize::MAX;
        // SAFETY: the buffer has more bytes than are said, and `len` is this function's.
        let status = unsafe {
            sampan_scripts_next(
                self.scripts[index],
                timeout,
                buffer.as_mut_ptr().cast(),
                capacity,
                &raw mut len,
            )
        };
        assert_eq!(buffer[capacity..], BEHIND, "written behind the buffer");
        match status {
            SAMPAN_OK => {
                assert!(len > 0 && len <= capacity, "{len} of {capacity}");
                for answer in answers(&buffer[..len]) {
                    let AnswerEntry { id, status, code } = answer;
                    let place = self.waiting[index]
                        .iter()
                        .position(|waiting| *waiting == id);
                    let place =
                        place.unwrap_or_else(|| panic!("an answer to {id}, which does not wait"));
                    self.waiting[index].swap_remove(place);
                    assert!(status != 0 || code < 0, "neither an answer nor a fault");
                }
            }
            SAMPAN_SMALL_BUFFER => assert!(len > capacity, "{len} of {capacity}"),
            SAMPAN_TIMEOUT => assert_eq!(len, 0),
            other => panic!("{other}"),
        }
        status
    }

    pub(super) fn cancel(&mut self) {
        let (index, scripts) = self.shared();
        let waiting = &self.waiting[index];
        let id = match waiting.get(self.choices.below(4)) {
            Some(id) => *id,
            None => u64::MAX - 1,
        };
        let status = sampan_scripts_cancel(scripts, id);
        let may_be = waiting.contains(&id) && status == SAMPAN_OK;
        assert!(may_be || status == SAMPAN_ERROR_HANDLE, "{status}");
    }
}
