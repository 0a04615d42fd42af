// Package native is the border to the C library: it converts, calls one function, and converts back.
//
// Nothing here keeps state. Requests and answers cross in batches of flat entries (see [Request] and [Answers]), so no
// memory with Go pointers ever crosses, and a batch costs one call however many requests it has.
package native

/*
#cgo linux,amd64 LDFLAGS: -L${SRCDIR}/lib/linux_amd64 -lsampan -lpthread -ldl -lm -lgcc_s
#cgo noescape sampan_server_next
#cgo nocallback sampan_server_next
#cgo noescape sampan_server_answer
#cgo nocallback sampan_server_answer
#cgo noescape sampan_scripts_submit
#cgo nocallback sampan_scripts_submit
#cgo noescape sampan_scripts_next
#cgo nocallback sampan_scripts_next
#cgo noescape sampan_stream_write
#cgo nocallback sampan_stream_write
#include <stdlib.h>
#include "sampan.h"

// Defined in log.c: passes a line on to Go.
extern void sampan_go_log(void *user, int32_t level, const char *line, size_t len);

static void *sampan_go_user(uintptr_t handle) { return (void *)handle; }
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// Status is what a function of the library returns.
type Status int32

// The states that callers look at.
const (
	OK          Status = C.SAMPAN_OK
	Timeout     Status = C.SAMPAN_TIMEOUT
	SmallBuffer Status = C.SAMPAN_SMALL_BUFFER
	Handle      Status = C.SAMPAN_ERROR_HANDLE
	Argument    Status = C.SAMPAN_ERROR_ARGUMENT
	State       Status = C.SAMPAN_ERROR_STATE
	Config      Status = C.SAMPAN_ERROR_CONFIG
	Load        Status = C.SAMPAN_ERROR_LOAD
	Address     Status = C.SAMPAN_ERROR_ADDRESS
	Gone        Status = C.SAMPAN_ERROR_GONE
	Stopped     Status = C.SAMPAN_ERROR_STOPPED
	Script      Status = C.SAMPAN_ERROR_SCRIPT
	Limit       Status = C.SAMPAN_ERROR_LIMIT
	Cancelled   Status = C.SAMPAN_ERROR_CANCELLED
	Missing     Status = C.SAMPAN_ERROR_MISSING
)

// The tags of entries for scripts.
const (
	TagHandle uint32 = C.SAMPAN_HANDLE
	TagCall   uint32 = C.SAMPAN_CALL
	// TagGone is that of an entry which tells that the client of a request has left.
	TagGone uint32 = C.SAMPAN_TAG_GONE
)

// Fault is what the library says about a call that failed.
type Fault struct {
	Status  Status
	Message string
	File    string
	Line    int
}

// Options are those of a server and of scripts; which of them apply, the functions say.
type Options struct {
	Path, Text, Name string
	Listen           string
	Workers          int
	QueueMax         int
	ReloadMillis     int
	ConfigFile       string
	Settings         []string
	// Log is the number of a function from [AddLog].
	Log uintptr
}

// Memory of C that lives until it is freed together.
type arena []unsafe.Pointer

func (a *arena) text(s string) *C.char {
	if s == "" {
		return nil
	}
	return a.always(s)
}

func (a *arena) always(s string) *C.char {
	text := C.CString(s)
	*a = append(*a, unsafe.Pointer(text))
	return text
}

func (a *arena) texts(all []string) **C.char {
	if len(all) == 0 {
		return nil
	}
	list := (**C.char)(a.zeroed(uintptr(len(all)) * unsafe.Sizeof((*C.char)(nil))))
	for i, s := range all {
		unsafe.Slice(list, len(all))[i] = a.always(s)
	}
	return list
}

func (a *arena) zeroed(bytes uintptr) unsafe.Pointer {
	memory := C.calloc(1, C.size_t(bytes))
	*a = append(*a, memory)
	return memory
}

func (a *arena) free() {
	for _, memory := range *a {
		C.free(memory)
	}
}

func fault(status C.sampan_status, told *C.sampan_error) *Fault {
	if status == C.SAMPAN_OK {
		return nil
	}
	found := &Fault{Status: Status(status)}
	if told != nil {
		found.Message = C.GoString(&told.message[0])
		found.File = C.GoString(&told.file[0])
		found.Line = int(told.line)
	}
	if found.Message == "" {
		found.Message = fmt.Sprintf("code %d", int32(status))
	}
	return found
}

// Version of the library.
func Version() string { return C.GoString(C.sampan_version()) }

// ServerNew makes a server that does not listen yet. Path may be empty: then it has native routes only.
func ServerNew(options Options) (uint64, *Fault) {
	var memory arena
	defer memory.free()
	given := (*C.sampan_server_options)(memory.zeroed(C.sizeof_sampan_server_options))
	given.size = C.sizeof_sampan_server_options
	given.project = memory.text(options.Path)
	given.listen = memory.text(options.Listen)
	given.workers = C.uint32_t(options.Workers)
	given.config = memory.text(options.ConfigFile)
	given.settings = memory.texts(options.Settings)
	given.settings_count = C.size_t(len(options.Settings))
	given.log = C.sampan_log_fn(C.sampan_go_log)
	given.log_user = C.sampan_go_user(C.uintptr_t(options.Log))
	told := (*C.sampan_error)(memory.zeroed(C.sizeof_sampan_error))
	server := (*C.sampan_server)(memory.zeroed(C.sizeof_sampan_server))
	status := C.sampan_server_new(given, server, told)
	return uint64(*server), fault(status, told)
}

// ServerRoute has the requests of a route given out by [ServerNext], with this tag. No method: all of them.
func ServerRoute(server uint64, method, pattern string, tag uint32) *Fault {
	var memory arena
	defer memory.free()
	told := (*C.sampan_error)(memory.zeroed(C.sizeof_sampan_error))
	status := C.sampan_server_queue_route(C.sampan_server(server), memory.text(method), memory.always(pattern), C.uint32_t(tag), told)
	return fault(status, told)
}

// ServerStart loads the project and listens.
func ServerStart(server uint64) *Fault {
	return withError(func(told *C.sampan_error) C.sampan_status {
		return C.sampan_server_start(C.sampan_server(server), told)
	})
}

// ServerReload loads the project anew.
func ServerReload(server uint64) *Fault {
	return withError(func(told *C.sampan_error) C.sampan_status {
		return C.sampan_server_reload(C.sampan_server(server), told)
	})
}

// ServerStop waits until the requests in flight have ended, or their time is over.
func ServerStop(server uint64) *Fault {
	return withError(func(told *C.sampan_error) C.sampan_status {
		return C.sampan_server_stop(C.sampan_server(server), told)
	})
}

// ServerFree forgets a server.
func ServerFree(server uint64) { C.sampan_server_free(C.sampan_server(server)) }

// ServerAddress is the address at this place; empty behind the last.
func ServerAddress(server uint64, at int) string {
	var memory arena
	defer memory.free()
	const size = 512
	text := (*C.char)(memory.zeroed(size))
	if C.sampan_server_address(C.sampan_server(server), C.size_t(at), text, size) != C.SAMPAN_OK {
		return ""
	}
	return C.GoString(text)
}

func withError(call func(*C.sampan_error) C.sampan_status) *Fault {
	var memory arena
	defer memory.free()
	told := (*C.sampan_error)(memory.zeroed(C.sizeof_sampan_error))
	return fault(call(told), told)
}

// ServerNext waits for requests and writes them into the buffer. It returns how many bytes it wrote, or needs.
func ServerNext(server uint64, timeoutMillis int64, buffer []uint64) (int, Status) {
	var written C.size_t
	status := C.sampan_server_next(C.sampan_server(server), C.int64_t(timeoutMillis),
		unsafe.Pointer(&buffer[0]), C.size_t(len(buffer)*8), &written)
	return int(written), Status(status)
}

// ServerAnswer hands over answers, and writes into each what came of it.
func ServerAnswer(server uint64, answers []byte) Status {
	if len(answers) == 0 {
		return OK
	}
	return Status(C.sampan_server_answer(C.sampan_server(server), unsafe.Pointer(&answers[0]), C.size_t(len(answers))))
}

// AnswerBegin answers a request with a body that [StreamWrite] goes on with; it gives the number of that. All is copied.
func AnswerBegin(request uint64, status int, fields *Fields, body []byte) (uint64, Status) {
	var memory arena
	defer memory.free()
	response := (*C.sampan_response)(memory.zeroed(C.sizeof_sampan_response))
	response.status = C.uint32_t(status)
	if count := len(fields.pairs); count > 0 {
		list := (*C.sampan_field)(memory.zeroed(uintptr(count) * C.sizeof_sampan_field))
		text := C.CBytes(fields.text)
		memory = append(memory, text)
		at := (*C.char)(text)
		for i, pair := range fields.pairs {
			field := &unsafe.Slice(list, count)[i]
			field.name, field.name_len = at, C.size_t(pair.name)
			at = (*C.char)(unsafe.Add(unsafe.Pointer(at), pair.name))
			field.value, field.value_len = at, C.size_t(pair.value)
			at = (*C.char)(unsafe.Add(unsafe.Pointer(at), pair.value))
		}
		response.headers, response.header_count = list, C.size_t(count)
	}
	if len(body) > 0 {
		begins := C.CBytes(body)
		memory = append(memory, begins)
		response.body, response.body_len = (*C.char)(begins), C.size_t(len(body))
	}
	stream := (*C.sampan_stream)(memory.zeroed(C.sizeof_sampan_stream))
	answered := Status(C.sampan_answer_begin(C.uint64_t(request), response, stream))
	return uint64(*stream), answered
}

// StreamWrite adds to the body of an answer, and waits until there is room.
func StreamWrite(stream uint64, part []byte) Status {
	if len(part) == 0 {
		return OK
	}
	return Status(C.sampan_stream_write(C.sampan_stream(stream), unsafe.Pointer(&part[0]), C.size_t(len(part)), -1))
}

// StreamEnd ends the body of an answer. One that is not whole is cut.
func StreamEnd(stream uint64, isWhole bool) Status {
	whole := C.int32_t(0)
	if isWhole {
		whole = 1
	}
	return Status(C.sampan_stream_end(C.sampan_stream(stream), whole))
}

// ScriptsNew loads a script on each isolate. With a Name, Text is its source; else Path is its file.
func ScriptsNew(options Options) (uint64, *Fault) {
	var memory arena
	defer memory.free()
	given := (*C.sampan_scripts_options)(memory.zeroed(C.sizeof_sampan_scripts_options))
	given.size = C.sizeof_sampan_scripts_options
	given.path = memory.text(options.Path)
	if options.Name != "" {
		given.text = memory.always(options.Text)
		given.text_len = C.size_t(len(options.Text))
		given.name = memory.always(options.Name)
	}
	given.workers = C.uint32_t(options.Workers)
	given.queue_max = C.uint32_t(options.QueueMax)
	given.reload_millis = C.int32_t(options.ReloadMillis)
	given.config = memory.text(options.ConfigFile)
	given.settings = memory.texts(options.Settings)
	given.settings_count = C.size_t(len(options.Settings))
	given.log = C.sampan_log_fn(C.sampan_go_log)
	given.log_user = C.sampan_go_user(C.uintptr_t(options.Log))
	told := (*C.sampan_error)(memory.zeroed(C.sizeof_sampan_error))
	scripts := (*C.sampan_scripts)(memory.zeroed(C.sizeof_sampan_scripts))
	status := C.sampan_scripts_new(given, scripts, told)
	return uint64(*scripts), fault(status, told)
}

// ScriptsSubmit hands over calls. It returns how many were taken.
func ScriptsSubmit(scripts uint64, calls []byte) (int, Status) {
	var taken C.size_t
	status := C.sampan_scripts_submit(C.sampan_scripts(scripts), unsafe.Pointer(&calls[0]), C.size_t(len(calls)), &taken)
	return int(taken), Status(status)
}

// ScriptsNext waits for answers, as [ServerNext] for requests.
func ScriptsNext(scripts uint64, timeoutMillis int64, buffer []uint64) (int, Status) {
	var written C.size_t
	status := C.sampan_scripts_next(C.sampan_scripts(scripts), C.int64_t(timeoutMillis),
		unsafe.Pointer(&buffer[0]), C.size_t(len(buffer)*8), &written)
	return int(written), Status(status)
}

// ScriptsCancel gives a call up.
func ScriptsCancel(scripts, id uint64) Status {
	return Status(C.sampan_scripts_cancel(C.sampan_scripts(scripts), C.uint64_t(id)))
}

// ScriptsReload loads the script anew.
func ScriptsReload(scripts uint64) *Fault {
	return withError(func(told *C.sampan_error) C.sampan_status {
		return C.sampan_scripts_reload(C.sampan_scripts(scripts), told)
	})
}

// ScriptsFree ends the isolates.
func ScriptsFree(scripts uint64) { C.sampan_scripts_free(C.sampan_scripts(scripts)) }

// What lies in memory on both sides must be alike; a difference does not compile.
const (
	_ = uint(unsafe.Sizeof(requestHead{}) - C.sizeof_sampan_request_entry)
	_ = uint(C.sizeof_sampan_request_entry - unsafe.Sizeof(requestHead{}))
	_ = uint(unsafe.Sizeof(answerHead{}) - C.sizeof_sampan_answer_entry)
	_ = uint(C.sizeof_sampan_answer_entry - unsafe.Sizeof(answerHead{}))
	_ = uint(unsafe.Sizeof(lengths{}) - C.sizeof_sampan_lengths)
	_ = uint(C.sizeof_sampan_lengths - unsafe.Sizeof(lengths{}))
)
