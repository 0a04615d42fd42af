//! Answers as values, to be kept and given again.

/// An answer with its whole body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeAnswer {
    /// The status.
    pub status: u16,
    /// The field lines, in their order: names and values.
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
    /// The content type of an answer without a field for it.
    pub content_type: Option<&'static str>,
    /// The body, without a content coding of the server's own.
    pub body: Vec<u8>,
}

impl WholeAnswer {
    /// Returns the values of all fields of a name, in any case.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let named =
            move |(other, _): &&(Vec<u8>, Vec<u8>)| other.eq_ignore_ascii_case(name.as_bytes());
        self.fields
            .iter()
            .filter(named)
            .map(|(_, value)| &value[..])
    }

    /// Returns the bytes that the answer takes in memory, about.
    pub fn bytes(&self) -> usize {
        let fields = self.fields.iter();
        let fields = fields.map(|(name, value)| name.len() + value.len());
        self.body.len() + fields.sum::<usize>()
    }
}
