//! Reads a form as it comes, within its limits.

use super::file::{UPLOADED_FILE, UploadedFile};
use super::spool::Spool;
use crate::limits::{FILE_MEMORY_BYTES_MAX, FORM_MEMORY_BYTES_MAX, FormLimits, PIECE_BYTES};
use crate::path::safe_name;
use crate::storage::Storage;
use crate::values::storage;
use sampan_host::log::Log;
use sampan_host::request::multipart::{Multipart, MultipartEvent, PartHead};
use sampan_host::{Args, Context, Error, ErrorKind, LocalFuture, Objects, RequestView, Value};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// The form of a request that has been read.
struct ReadForm(Value);

/// The fields of the form that a request has for its body: texts, files, and lists where a name comes twice.
pub(crate) fn read_multipart(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    let (storage, objects) = (storage(context), context.objects().clone());
    let request = Rc::clone(args.request());
    let log = context.get::<Rc<dyn Log>>();
    Box::pin(async move {
        if let Some(known) = request.store().get::<ReadForm>() {
            return Ok(known.0.clone());
        }
        let content_type = request.header("content-type").unwrap_or_default();
        let reader = Multipart::new(&String::from_utf8_lossy(content_type)).map_err(malformed)?;
        let mut form = FormReader::new(storage?, reader);
        if let Err(error) = form.read(&*request).await {
            if let Some(log) = log {
                log.refusal(&*request, &error);
            }
            return Err(error);
        }
        let fields = form.end(&objects)?;
        request.store().put(ReadForm(fields.clone()));
        Ok(fields)
    })
}

fn malformed(what: String) -> Error {
    Error::new(ErrorKind::BadRequest, format!("malformed form: {what}"))
}

#[cold]
fn too_much(what: &str, setting: &'static str) -> Error {
    Error::new(ErrorKind::Status(413), format!("the form has {what}")).with_setting(setting)
}

/// A part that is coming, or has come.
enum Part {
    Field(Vec<u8>),
    File(Spool),
}

enum Field {
    Text(String),
    File(UploadedFile),
}

/// Collects the parts of one form.
struct FormReader {
    storage: Arc<Storage>,
    limits: FormLimits,
    reader: Multipart,
    part: Option<(PartHead, Part)>,
    fields: Vec<(String, Field)>,
    parts: usize,
    files: usize,
    /// The bytes of the fields.
    fields_bytes: usize,
    /// The memory used by complete files, in bytes.
    memory_bytes: usize,
}

impl FormReader {
    fn new(storage: Arc<Storage>, reader: Multipart) -> Self {
        Self {
            limits: storage.forms().clone(),
            storage,
            reader,
            part: None,
            fields: Vec::new(),
            parts: 0,
            files: 0,
            fields_bytes: 0,
            memory_bytes: 0,
        }
    }

    /// Takes the body of a request.
    async fn read(&mut self, request: &dyn RequestView) -> Result<(), Error> {
        let source = request.body_source();
        let Some(source) = source.filter(|source| source.whole().is_none()) else {
            for piece in request.body().chunks(PIECE_BYTES) {
                self.feed(piece).await?;
            }
            return Ok(());
        };
        source.begin()?;
        while let Value::Bytes(piece) = source.read().await? {
            self.feed(&piece).await?;
        }
        Ok(())
    }

    /// Takes a piece of the body.
    async fn feed(&mut self, piece: &[u8]) -> Result<(), Error> {
        self.reader.feed(piece);
        while let Some(event) = self.reader.next_event().map_err(malformed)? {
            match event {
                MultipartEvent::Part(head) => {
                    let part = self.begin(&head)?;
                    self.part = Some((head, part));
                }
                MultipartEvent::Content(bytes) => match &mut self.part {
                    Some((_, Part::Field(value))) => {
                        self.fields_bytes += bytes.len();
                        if self.fields_bytes > self.limits.fields_bytes_max {
                            return Err(self.too_many_fields_bytes());
                        }
                        value.extend_from_slice(bytes);
                    }
                    Some((_, Part::File(spool))) => {
                        spool.add(bytes);
                        if spool.length() > self.limits.file_bytes_max {
                            let bytes_max = self.limits.file_bytes_max;
                            let text = format!("a file of more than {bytes_max} bytes");
                            return Err(too_much(&text, "[forms] file_bytes_max"));
                        }
                        let room = FORM_MEMORY_BYTES_MAX.saturating_sub(self.memory_bytes);
                        let bytes_max = FILE_MEMORY_BYTES_MAX.min(room);
                        spool.settle(&self.storage, bytes_max).await?;
                    }
                    None => {}
                },
                MultipartEvent::PartEnd => self.end_part().await?,
                MultipartEvent::End => {}
            }
        }
        Ok(())
    }

    fn too_many_fields_bytes(&self) -> Error {
        let bytes_max = self.limits.fields_bytes_max;
        let text = format!("fields of more than {bytes_max} bytes");
        too_much(&text, "[forms] fields_bytes_max")
    }

    fn begin(&mut self, head: &PartHead) -> Result<Part, Error> {
        self.parts += 1;
        if self.parts > self.limits.parts_max {
            let text = format!("more than {} parts", self.limits.parts_max);
            return Err(too_much(&text, "[forms] parts_max"));
        }
        self.fields_bytes += head.name.len();
        if self.fields_bytes > self.limits.fields_bytes_max {
            return Err(self.too_many_fields_bytes());
        }
        if head.filename.is_none() {
            return Ok(Part::Field(Vec::new()));
        }
        self.files += 1;
        if self.files > self.limits.files_max {
            let text = format!("more than {} files", self.limits.files_max);
            return Err(too_much(&text, "[forms] files_max"));
        }
        Ok(Part::File(Spool::default()))
    }

    async fn end_part(&mut self) -> Result<(), Error> {
        let Some((head, part)) = self.part.take() else {
            return Ok(());
        };
        let field = match part {
            Part::Field(value) => Field::Text(match String::from_utf8(value) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            }),
            Part::File(spool) => {
                let filename = head.filename.unwrap_or_default();
                // What browsers send where no file was chosen.
                if filename.is_empty() && spool.length() == 0 {
                    return Ok(());
                }
                self.memory_bytes += spool.memory_bytes();
                let content = spool.end(&self.storage).await?;
                let content_type = head.content_type.unwrap_or_default();
                let name = safe_name(&filename);
                let file = UploadedFile::new(name, content_type, content, &self.storage);
                Field::File(file)
            }
        };
        self.fields.push((head.name, field));
        Ok(())
    }

    /// The fields, once all of the body has come.
    fn end(self, objects: &Objects) -> Result<Value, Error> {
        self.reader.check_end().map_err(malformed)?;
        let mut places = HashMap::new();
        let mut members: Vec<(String, Value)> = Vec::new();
        for (name, field) in self.fields {
            let value = match field {
                Field::Text(text) => Value::Text(text),
                Field::File(file) => Value::Object(objects.add(&UPLOADED_FILE, file)),
            };
            let at = *places.entry(name.clone()).or_insert(members.len());
            let Some((_, known)) = members.get_mut(at) else {
                members.push((name, value));
                continue;
            };
            match known {
                Value::List(values) => values.push(value),
                first => *first = Value::List(vec![std::mem::take(first), value]),
            }
        }
        Ok(Value::Map(members))
    }
}
