package sampan

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
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

// The number by which the library's lines reach the logger; to be removed after the library has ended.
func logNumber(log *slog.Logger) uintptr {
	return native.AddLog(func(level int, line []byte) {
		pass(log, levels[min(max(level, 0), len(levels)-1)], line)
	})
}

// Passes a line of the engine's log on: an object in JSON whose members become attributes, in their order. So do the members of what a script
// gives as fields.
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
	members(decoder, func(key string, value any) {
		switch key {
		case "time", "level":
		case "message":
			record.Message, _ = value.(string)
		default:
			record.AddAttrs(slog.Any(key, value))
		}
	})
	_ = log.Handler().Handle(ctx, record)
}

// Gives the members of an object behind its '{', those of its member "fields" as if they were its own. Whole numbers keep all their digits.
func members(decoder *json.Decoder, yield func(key string, value any)) {
	for decoder.More() {
		token, err := decoder.Token()
		key, ok := token.(string)
		if err != nil || !ok {
			return
		}
		var text json.RawMessage
		if decoder.Decode(&text) != nil {
			return
		}
		inner := json.NewDecoder(bytes.NewReader(text))
		if open, _ := inner.Token(); key == "fields" && open == json.Delim('{') {
			members(inner, yield)
			continue
		}
		value, err := decoded(text)
		if err != nil {
			return
		}
		yield(key, value)
	}
}

func decoded(text []byte) (value any, err error) {
	var whole int64
	if json.Unmarshal(text, &whole) == nil && string(text) != "null" {
		return whole, nil
	}
	err = json.Unmarshal(text, &value)
	return value, err
}
