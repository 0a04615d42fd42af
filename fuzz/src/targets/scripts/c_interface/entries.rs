//! Entries of the C interface as a program in C writes and reads them: flat bytes, numbers in the order of the machine.

/// The bytes of an entry before its lengths and texts.
const HEAD_BYTES: usize = 40;

/// The entry of a request without headers: method, target and remote, and the body.
pub(super) fn request_entry(id: u64, tag: u32, texts: [&[u8]; 3], body: &[u8]) -> Vec<u8> {
    let lens = [
        texts[0].len(),
        texts[1].len(),
        texts[2].len(),
        0,
        0,
        body.len(),
    ];
    let size = (HEAD_BYTES + lens.iter().sum::<usize>()).next_multiple_of(8);
    let mut entry = id.to_ne_bytes().to_vec();
    for number in [size as u32, tag]
        .into_iter()
        .chain(lens.map(|len| len as u32))
    {
        entry.extend_from_slice(&number.to_ne_bytes());
    }
    for text in texts.into_iter().chain([body]) {
        entry.extend_from_slice(text);
    }
    entry.resize(size, 0);
    entry
}

fn number(entry: &[u8], at: usize) -> u32 {
    let bytes = entry[at..at + 4].try_into();
    u32::from_ne_bytes(bytes.expect("four bytes"))
}

/// The id of the first of several entries, and those behind it.
pub(super) fn split_entry(entries: &[u8]) -> Option<(u64, &[u8])> {
    let (id, _) = entries.split_first_chunk()?;
    let size = number(entries.get(..HEAD_BYTES)?, 8) as usize;
    Some((u64::from_ne_bytes(*id), entries.get(size..)?))
}

/// The numbers of an answer.
pub(super) struct AnswerEntry {
    pub(super) id: u64,
    pub(super) status: u32,
    pub(super) code: i32,
}

/// The answers in a buffer, whose parts must fill their entries.
pub(super) fn answers(mut bytes: &[u8]) -> Vec<AnswerEntry> {
    let mut answers = Vec::new();
    while !bytes.is_empty() {
        let (id, behind) = split_entry(bytes).expect("an entry");
        let entry = &bytes[..bytes.len() - behind.len()];
        let [status, code, file, headers, body, message] =
            [12, 16, 24, 28, 32, 36].map(|at| number(entry, at));
        let mut used = HEAD_BYTES + 8 * headers as usize + (file + body + message) as usize;
        for at in 0..2 * headers as usize {
            used += number(entry, HEAD_BYTES + 4 * at) as usize;
        }
        assert_eq!(
            entry.len(),
            used.next_multiple_of(8),
            "an entry of {used} bytes"
        );
        answers.push(AnswerEntry {
            id,
            status,
            code: code as i32,
        });
        bytes = behind;
    }
    answers
}
