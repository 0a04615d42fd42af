package native

import (
	"bytes"
	"testing"
)

// What a request entry says, in words.
func words(r *Request) string {
	var out bytes.Buffer
	out.Write(r.Method())
	out.WriteByte(' ')
	out.Write(r.Target())
	out.WriteByte(' ')
	out.Write(r.Remote())
	r.Headers(func(name, value []byte) bool {
		out.WriteString(" [" + string(name) + "=" + string(value) + "]")
		return true
	})
	out.WriteString(" " + string(r.Body()))
	return out.String()
}

func TestRequestsAreReadAsTheyWereWritten(t *testing.T) {
	var fields Fields
	fields.Add("Host", "a")
	fields.Add("X-Empty", "")
	entries := AppendRequest(nil, 7, TagHandle, "POST", "/x?y=1", "::1", &fields, []byte("body"))
	entries = AppendRequest(entries, 8, TagCall, "", "f", "", &Fields{}, nil)
	var r Request
	rest := r.ReadRequest(entries)
	if got := words(&r); got != "POST /x?y=1 ::1 [Host=a] [X-Empty=] body" || r.ID() != 7 {
		t.Fatalf("%q of %d", got, r.ID())
	}
	if value, ok := r.Header("hOST"); !ok || string(value) != "a" {
		t.Fatalf("no Host: %q", value)
	}
	if _, ok := r.Header("Hos"); ok {
		t.Fatal("a header that is not there")
	}
	rest = r.ReadRequest(rest)
	if got := words(&r); got != " f  " || r.Tag() != TagCall || len(rest) != 0 {
		t.Fatalf("%q, %d bytes left", got, len(rest))
	}
}

func TestADetachedRequestOutlivesItsBuffer(t *testing.T) {
	buffer := AppendRequest(nil, 1, 0, "GET", "/kept", "", &Fields{}, []byte("kept too"))
	var r Request
	r.ReadRequest(buffer)
	r.Detach()
	clear(buffer)
	if got := words(&r); got != "GET /kept  kept too" {
		t.Fatalf("%q", got)
	}
	r.Clear()
	if !r.IsCleared() || len(r.Target()) != 0 {
		t.Fatal("it was not cleared")
	}
}

func TestAnswersAreReadAsTheyWereWritten(t *testing.T) {
	var fields Fields
	fields.Add("Content-Type", "text/plain")
	fields.Add("content-type", "twice")
	fields.Add("X", "1")
	fields.Set("CONTENT-TYPE", "text/html")
	if !fields.Has("x") || fields.Has("Y") || fields.Len() != 2 {
		t.Fatalf("%d fields", fields.Len())
	}
	entries := AppendAnswer(nil, 3, 201, &fields, []byte("12345"))
	entries = AppendAnswer(entries, 4, 204, &Fields{}, nil)
	if len(entries)%alignment != 0 {
		t.Fatalf("%d bytes", len(entries))
	}
	var a Answer
	rest := a.ReadAnswer(entries)
	var seen []string
	a.Headers(func(name, value []byte) bool {
		seen = append(seen, string(name)+"="+string(value))
		return true
	})
	if a.ID() != 3 || a.Status() != 201 || string(a.Body()) != "12345" || len(a.File()) != 0 {
		t.Fatalf("%d %d %q", a.ID(), a.Status(), a.Body())
	}
	if len(seen) != 2 || seen[0] != "X=1" || seen[1] != "CONTENT-TYPE=text/html" {
		t.Fatalf("%q", seen)
	}
	if rest = a.ReadAnswer(rest); a.ID() != 4 || len(a.Body()) != 0 || len(rest) != 0 {
		t.Fatalf("%d, %d bytes left", a.ID(), len(rest))
	}
}
