package sampan

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"runtime/cgo"
	"time"

	"github.com/sampan-server/sampan/faces/go/internal/native"
)

var levels = [...]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}

func logger(given *slog.Logger) *slog.Logger {
	if given == nil {
		return slog.Default()
	}
	return given
}

// A handle by which the library's lines reach the logger; to be deleted after the library has ended.
func logHandle(log *slog.Logger) cgo.Handle {
	return cgo.NewHandle(native.LogFunc(func(level int, line []byte) {
		pass(log, levels[min(max(level, 0), len(levels)-1)], line)
	}))
}

// Passes a line of the engine's log on: an object in JSON whose members become attributes, in their order.
func pass(log *slog.Logger, level slog.Level, line []byte) {
	ctx := context.Background()
	if !log.Enabled(ctx, level) {
		return
	}
	record := slog.NewRecord(time.Now(), level, "", 0)
	decoder := json.NewDecoder(bytes.NewReader(line))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		record.Message = string(line)
		_ = log.Handler().Handle(ctx, record)
		return
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			break
		}
		var value any
		if decoder.Decode(&value) != nil {
			break
		}
		switch key {
		case "time", "level":
		case "message":
			record.Message, _ = value.(string)
		default:
			record.AddAttrs(slog.Any(key.(string), value))
		}
	}
	_ = log.Handler().Handle(ctx, record)
}
