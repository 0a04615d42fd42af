//! A look at the heads of the frames that a client sends (RFC 9113 section 4.1), for limits that the `h2` crate does
//! not have.

/// The bytes of a frame's head.
const HEAD_BYTES: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Follows the frames in the bytes received.
pub(super) struct FrameWatch {
    head: [u8; HEAD_BYTES],
    head_len: usize,
    /// Bytes of a payload, or of the preface, that are to be passed over.
    left: usize,
    /// Frames that carried nothing, less those that did.
    control: usize,
    /// A header block has begun and has not ended.
    in_block: bool,
}

impl FrameWatch {
    /// Begins before a preface of so many bytes.
    pub(super) fn new(preface_bytes: usize) -> Self {
        Self {
            head: [0; HEAD_BYTES],
            head_len: 0,
            left: preface_bytes,
            control: 0,
            in_block: false,
        }
    }

    /// Looks at the next bytes.
    pub(super) fn watch(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let passed = self.left.min(bytes.len());
            self.left -= passed;
            bytes = &bytes[passed..];
            let wanted = (HEAD_BYTES - self.head_len).min(bytes.len());
            self.head[self.head_len..self.head_len + wanted].copy_from_slice(&bytes[..wanted]);
            self.head_len += wanted;
            bytes = &bytes[wanted..];
            if self.head_len == HEAD_BYTES {
                self.head_len = 0;
                self.note_frame();
            }
        }
    }

    fn note_frame(&mut self) {
        let [high, middle, low, kind, flags, ..] = self.head;
        self.left = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
        match kind {
            HEADERS => {
                self.in_block = flags & END_HEADERS == 0;
                self.control = self.control.saturating_sub(1);
            }
            CONTINUATION => {
                self.in_block &= flags & END_HEADERS == 0;
                self.control += 1;
            }
            DATA if self.left > 0 => self.control = self.control.saturating_sub(1),
            DATA if flags & END_STREAM != 0 => {}
            // Counted with the stream that it ends.
            RST_STREAM => {}
            _ => self.control += 1,
        }
    }

    /// Notes bytes that were sent, which clients answer by frames.
    pub(super) fn note_sent(&mut self, bytes: usize) {
        self.control = self.control.saturating_sub(bytes / 1024);
    }

    /// Frames that carried nothing since [`FrameWatch::forget`], less those that allow for them.
    pub(super) fn control(&self) -> usize {
        self.control
    }

    /// Begins to count anew.
    pub(super) fn forget(&mut self) {
        self.control = 0;
    }

    /// Reports whether the client owes the rest of a header block.
    pub(super) fn is_in_block(&self) -> bool {
        self.in_block || (self.head_len == 0 && self.left > 0 && self.head[3] == HEADERS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, payload: usize) -> Vec<u8> {
        let mut frame = vec![
            0,
            (payload >> 8) as u8,
            payload as u8,
            kind,
            flags,
            0,
            0,
            0,
            1,
        ];
        frame.resize(HEAD_BYTES + payload, 0xff);
        frame
    }

    #[test]
    fn frames_are_found_however_the_bytes_are_split() {
        let mut bytes = vec![0xff; 24];
        for _ in 0..5 {
            bytes.extend(frame(6, 0, 8));
        }
        bytes.extend(frame(DATA, 0, 0));
        bytes.extend(frame(DATA, 1, 0));
        bytes.extend(frame(DATA, 0, 300));
        bytes.extend(frame(HEADERS, 4, 20));
        for step in [1, 3, 9, 17, 1000] {
            let mut watch = FrameWatch::new(24);
            for piece in bytes.chunks(step) {
                watch.watch(piece);
            }
            assert_eq!((watch.control(), watch.is_in_block()), (4, false), "{step}");
        }
    }

    #[test]
    fn a_header_block_lasts_until_its_end() {
        let mut watch = FrameWatch::new(0);
        watch.watch(&frame(HEADERS, 0, 5));
        assert!(watch.is_in_block());
        watch.watch(&frame(CONTINUATION, 0, 0));
        assert!(watch.is_in_block());
        watch.watch(&frame(CONTINUATION, 4, 3));
        assert!(!watch.is_in_block());
        let whole = frame(HEADERS, 4, 50);
        watch.watch(&whole[..30]);
        assert!(watch.is_in_block());
        watch.watch(&whole[30..]);
        assert!(!watch.is_in_block());
    }
}
