package native

import (
	"bytes"
	"unsafe"
)

// Entries begin at multiples of this.
const alignment = 8

type requestHead struct {
	id                                 uint64
	size, tag                          uint32
	method, target, remote             uint32
	headerCount, paramCount, bodyBytes uint32
}

type answerHead struct {
	id                     uint64
	size, status           uint32
	code                   int32
	line, file             uint32
	headerCount, bodyBytes uint32
	message                uint32
}

type lengths struct{ name, value uint32 }

// Bytes of a buffer of words, which is aligned as entries must be.
func Bytes(words []uint64, length int) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), length)
}

// Request is an entry for one request, read where it lies.
type Request struct {
	requestHead
	data []byte
	text int
}

// ReadRequest reads the entry at the beginning of data, which is aligned, and returns what is behind it. The library wrote the
// entries, so they are not checked beyond the bounds that Go checks.
func (r *Request) ReadRequest(data []byte) []byte {
	r.requestHead = *(*requestHead)(unsafe.Pointer(&data[0]))
	r.data = data[:r.size:r.size]
	r.text = int(unsafe.Sizeof(requestHead{})) + int(r.headerCount+r.paramCount)*int(unsafe.Sizeof(lengths{}))
	return data[r.size:]
}

// Detach copies the entry, so that it outlives the buffer.
func (r *Request) Detach() {
	words := make([]uint64, len(r.data)/alignment)
	copy(Bytes(words, len(r.data)), r.data)
	r.data = Bytes(words, len(r.data))
}

// Clear forgets the entry: nothing of it can be read any more.
func (r *Request) Clear() { *r = Request{} }

// IsCleared tells whether there is no entry.
func (r *Request) IsCleared() bool { return r.data == nil }

// ID is the library's number of the request.
func (r *Request) ID() uint64 { return r.id }

// Tag is the route's number.
func (r *Request) Tag() uint32 { return r.tag }

// Method as it was sent.
func (r *Request) Method() []byte { return r.slice(0, r.method) }

// Target is the path and query as they were sent.
func (r *Request) Target() []byte { return r.slice(r.method, r.target) }

// Remote is the address of the client.
func (r *Request) Remote() []byte { return r.slice(r.method+r.target, r.remote) }

// Body is all of it.
func (r *Request) Body() []byte {
	end := r.fields(0, int(r.headerCount+r.paramCount), func(_, _ []byte) bool { return true })
	return r.data[end : end+int(r.bodyBytes)]
}

// HeaderCount is how many header fields there are.
func (r *Request) HeaderCount() int { return int(r.headerCount) }

// Headers calls yield with each header field in their order, until it returns false.
func (r *Request) Headers(yield func(name, value []byte) bool) {
	r.fields(0, int(r.headerCount), yield)
}

// Params calls yield with each parameter of the route's pattern.
func (r *Request) Params(yield func(name, value []byte) bool) {
	r.fields(int(r.headerCount), int(r.paramCount), yield)
}

// Header is the value of the first field with this name, in any case.
func (r *Request) Header(name string) (found []byte, ok bool) {
	r.fields(0, int(r.headerCount), func(key, value []byte) bool {
		if len(key) == len(name) && bytes.EqualFold(key, unsafe.Slice(unsafe.StringData(name), len(name))) {
			found, ok = value, true
		}
		return !ok
	})
	return found, ok
}

// Param is the value of the parameter with this name.
func (r *Request) Param(name string) (found []byte, ok bool) {
	r.fields(int(r.headerCount), int(r.paramCount), func(key, value []byte) bool {
		if string(key) == name {
			found, ok = value, true
		}
		return !ok
	})
	return found, ok
}

func (r *Request) slice(from, length uint32) []byte {
	if r.data == nil {
		return nil
	}
	at := r.text + int(from)
	return r.data[at : at+int(length)]
}

// Walks over the pairs, calls yield with those from `first` on, and returns where the bytes behind the last of these begin.
func (r *Request) fields(first, count int, yield func(name, value []byte) bool) int {
	if r.data == nil {
		return 0
	}
	table := r.data[unsafe.Sizeof(requestHead{}):]
	at := r.text + int(r.method+r.target+r.remote)
	for i := range first + count {
		pair := *(*lengths)(unsafe.Pointer(&table[i*int(unsafe.Sizeof(lengths{}))]))
		name, value := at, at+int(pair.name)
		at = value + int(pair.value)
		if i >= first && !yield(r.data[name:value], r.data[value:at]) {
			break
		}
	}
	return at
}

// Fields are header fields on their way into an entry.
type Fields struct {
	pairs []lengths
	text  []byte
}

// Add adds a field.
func (f *Fields) Add(name, value string) {
	f.pairs = append(f.pairs, lengths{uint32(len(name)), uint32(len(value))})
	f.text = append(append(f.text, name...), value...)
}

// Set removes the fields of this name, in any case, and adds this one.
func (f *Fields) Set(name, value string) {
	at, kept := 0, 0
	for _, pair := range f.pairs {
		end := at + int(pair.name+pair.value)
		if !bytes.EqualFold(f.text[at:at+int(pair.name)], []byte(name)) {
			f.pairs[kept] = pair
			kept++
			at = end
			continue
		}
		f.text = append(f.text[:at], f.text[end:]...)
	}
	f.pairs = f.pairs[:kept]
	f.Add(name, value)
}

// Has tells whether there is a field of this name, in any case.
func (f *Fields) Has(name string) bool { return f.has(name, 0) }

// HasValue tells whether there is a field of this name, in any case, whose value is not empty.
func (f *Fields) HasValue(name string) bool { return f.has(name, 1) }

func (f *Fields) has(name string, valueMin uint32) bool {
	at := 0
	for _, pair := range f.pairs {
		isNamed := int(pair.name) == len(name) && bytes.EqualFold(f.text[at:at+len(name)], []byte(name))
		if isNamed && pair.value >= valueMin {
			return true
		}
		at += int(pair.name + pair.value)
	}
	return false
}

// Len is how many there are.
func (f *Fields) Len() int { return len(f.pairs) }

// Reset removes all.
func (f *Fields) Reset() { f.pairs, f.text = f.pairs[:0], f.text[:0] }

// AppendAnswer adds an answer to entries. Memory of Go of eight bytes or more is aligned to eight, so entries in it are too.
func AppendAnswer(entries []byte, id uint64, status int, fields *Fields, body []byte) []byte {
	head := answerHead{
		id: id, status: uint32(status),
		headerCount: uint32(len(fields.pairs)), bodyBytes: uint32(len(body)),
	}
	at := len(entries)
	entries = append(entries, unsafe.Slice((*byte)(unsafe.Pointer(&head)), unsafe.Sizeof(head))...)
	entries = fields.appendTo(entries)
	entries = pad(append(entries, body...))
	(*answerHead)(unsafe.Pointer(&entries[at])).size = uint32(len(entries) - at)
	return entries
}

// AppendRequest adds a request for a script, or with [TagCall] the call of the function that target names.
func AppendRequest(entries []byte, id uint64, tag uint32, method, target, remote string, fields *Fields, body []byte) []byte {
	head := requestHead{
		id: id, tag: tag, method: uint32(len(method)), target: uint32(len(target)), remote: uint32(len(remote)),
		headerCount: uint32(len(fields.pairs)), bodyBytes: uint32(len(body)),
	}
	at := len(entries)
	entries = append(entries, unsafe.Slice((*byte)(unsafe.Pointer(&head)), unsafe.Sizeof(head))...)
	pairs, text := fields.parts()
	entries = append(entries, pairs...)
	entries = append(append(append(entries, method...), target...), remote...)
	entries = pad(append(append(entries, text...), body...))
	(*requestHead)(unsafe.Pointer(&entries[at])).size = uint32(len(entries) - at)
	return entries
}

func (f *Fields) appendTo(entries []byte) []byte {
	pairs, text := f.parts()
	return append(append(entries, pairs...), text...)
}

func (f *Fields) parts() (pairs, text []byte) {
	if len(f.pairs) == 0 {
		return nil, nil
	}
	bytes := len(f.pairs) * int(unsafe.Sizeof(lengths{}))
	return unsafe.Slice((*byte)(unsafe.Pointer(&f.pairs[0])), bytes), f.text
}

func pad(entries []byte) []byte {
	for len(entries)%alignment != 0 {
		entries = append(entries, 0)
	}
	return entries
}

// Answer is an entry for one answer, read where it lies.
type Answer struct {
	answerHead
	data []byte
}

// ReadAnswer reads the entry at the beginning of data, and returns what is behind it.
func (a *Answer) ReadAnswer(data []byte) []byte {
	a.answerHead = *(*answerHead)(unsafe.Pointer(&data[0]))
	a.data = data[:a.size:a.size]
	return data[a.size:]
}

// ID names what is answered.
func (a *Answer) ID() uint64 { return a.id }

// Status is that of HTTP.
func (a *Answer) Status() int { return int(a.status) }

// Code tells whether there is an error: with a status it is beside an answer.
func (a *Answer) Code() Status { return Status(a.code) }

// Line is the place of an error in its file, 0 if it is not known.
func (a *Answer) Line() int { return int(a.line) }

// Headers calls yield with each field.
func (a *Answer) Headers(yield func(name, value []byte) bool) { a.fields(yield) }

// File is that of an error.
func (a *Answer) File() []byte {
	at := a.fields(func(_, _ []byte) bool { return true })
	return a.data[at : at+int(a.file)]
}

// Message is that of an error.
func (a *Answer) Message() []byte {
	at := a.fields(func(_, _ []byte) bool { return true }) + int(a.file)
	return a.data[at : at+int(a.message)]
}

// Body of the answer.
func (a *Answer) Body() []byte {
	at := a.fields(func(_, _ []byte) bool { return true }) + int(a.file) + int(a.message)
	return a.data[at : at+int(a.bodyBytes)]
}

func (a *Answer) fields(yield func(name, value []byte) bool) int {
	table := a.data[unsafe.Sizeof(answerHead{}):]
	at := int(unsafe.Sizeof(answerHead{})) + int(a.headerCount)*int(unsafe.Sizeof(lengths{}))
	for i := range int(a.headerCount) {
		pair := *(*lengths)(unsafe.Pointer(&table[i*int(unsafe.Sizeof(lengths{}))]))
		name, value := at, at+int(pair.name)
		at = value + int(pair.value)
		if !yield(a.data[name:value], a.data[value:at]) {
			break
		}
	}
	return at
}
