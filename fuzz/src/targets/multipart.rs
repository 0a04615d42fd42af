//! A form with files gives the same parts in whatever pieces it comes, and no more bytes than came.

use sampan_host::request::multipart::{Multipart, MultipartEvent};

/// The names and contents of the parts, or what is wrong with the body.
fn parts(body: &[u8], piece_bytes: usize) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut reader = Multipart::new("multipart/form-data; boundary=X")?;
    let mut parts = Vec::new();
    let mut is_open = false;
    for piece in body.chunks(piece_bytes) {
        reader.feed(piece);
        while let Some(event) = reader.next_event()? {
            match event {
                MultipartEvent::Part(head) => {
                    assert!(!is_open, "a part begins inside of another");
                    is_open = true;
                    parts.push((format!("{head:?}"), Vec::new()));
                }
                MultipartEvent::Content(bytes) => {
                    assert!(is_open && !bytes.is_empty(), "content outside of a part");
                    parts
                        .last_mut()
                        .expect("a part is open")
                        .1
                        .extend_from_slice(bytes);
                }
                MultipartEvent::PartEnd => {
                    assert!(is_open, "a part ends twice");
                    is_open = false;
                }
                MultipartEvent::End => assert!(!is_open, "the body ends inside of a part"),
            }
        }
    }
    reader.check_end().map(|()| parts)
}

pub(crate) fn run(bytes: &[u8]) {
    let whole = parts(bytes, bytes.len().max(1));
    if let Ok(whole) = &whole {
        let content: usize = whole.iter().map(|(_, content)| content.len()).sum();
        assert!(content < bytes.len(), "more came out than in");
    }
    for piece_bytes in [1, 2, 3, 7, 64] {
        assert_eq!(
            whole,
            parts(bytes, piece_bytes),
            "in pieces of {piece_bytes}"
        );
    }
}
