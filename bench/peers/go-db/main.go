// Go's net/http with database/sql and mattn/go-sqlite3. Each statement is prepared once; writes share one connection,
// as SQLite has one writer, and reads have one for each thread.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	_ "github.com/mattn/go-sqlite3"
)

const payload = `{"user":12345,"page":"/home"}`

type event struct {
	ID      int64  `json:"id"`
	Kind    string `json:"kind"`
	Payload string `json:"payload"`
	Ts      int64  `json:"ts"`
}

type visit struct {
	ID   int64   `json:"id"`
	Path string  `json:"path"`
	Ts   float64 `json:"ts"`
}

func open(connections int) *sql.DB {
	name := "file:" + os.Getenv("DB") + "?_journal_mode=WAL&_foreign_keys=on&_cache_size=-16384&_busy_timeout=5000&_txlock=immediate&_synchronous=" +
		os.Getenv("SYNCHRONOUS")
	db, err := sql.Open("sqlite3", name)
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	// The name has no word for temp_store; held together, each of the pool's connections is told once.
	held := make([]*sql.Conn, connections)
	for i := range held {
		if held[i], err = db.Conn(context.Background()); err != nil {
			log.Fatal(err)
		}
		if _, err = held[i].ExecContext(context.Background(), "PRAGMA temp_store = MEMORY"); err != nil {
			log.Fatal(err)
		}
	}
	for _, connection := range held {
		connection.Close()
	}
	return db
}

func prepare(db *sql.DB, text string) *sql.Stmt {
	statement, err := db.Prepare(text)
	if err != nil {
		log.Fatal(err)
	}
	return statement
}

func now() int64 { return time.Now().UnixMilli() }

func insertTen(writer *sql.DB, insert *sql.Stmt) error {
	tx, err := writer.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	statement, ts := tx.Stmt(insert), now()
	for i := 0; i < 10; i++ {
		if _, err := statement.Exec("view", payload, ts); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func newestEvents(statement *sql.Stmt) ([]event, error) {
	rows, err := statement.Query()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := make([]event, 0, 20)
	for rows.Next() {
		var e event
		if err := rows.Scan(&e.ID, &e.Kind, &e.Payload, &e.Ts); err != nil {
			return nil, err
		}
		found = append(found, e)
	}
	return found, rows.Err()
}

func newestVisits(statement *sql.Stmt) ([]visit, error) {
	rows, err := statement.Query()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := make([]visit, 0, 20)
	for rows.Next() {
		var v visit
		if err := rows.Scan(&v.ID, &v.Path, &v.Ts); err != nil {
			return nil, err
		}
		found = append(found, v)
	}
	return found, rows.Err()
}

func serve(pattern string, answer func(r *http.Request) (any, error)) {
	http.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		value, err := answer(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		body, err := json.Marshal(value)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	})
}

func main() {
	writer := open(1)
	for _, file := range strings.Split(os.Getenv("SCHEMA"), ":") {
		text, err := os.ReadFile(file)
		if err != nil {
			log.Fatal(err)
		}
		if _, err := writer.Exec(string(text)); err != nil {
			log.Fatal(err)
		}
	}
	reader := open(runtime.GOMAXPROCS(0))
	insert := prepare(writer, "INSERT INTO events (kind, payload, ts) VALUES (?, ?, ?)")
	newest := prepare(reader, "SELECT id, kind, payload, ts FROM events ORDER BY ts DESC LIMIT 20")
	count := prepare(reader, "SELECT count(*) FROM events")
	record := prepare(writer, "INSERT INTO visits (path, ts) VALUES (?, ?)")
	visits := prepare(reader, "SELECT id, path, ts FROM visits ORDER BY id DESC LIMIT 20")

	serve("POST /write", func(*http.Request) (any, error) {
		done, err := insert.Exec("view", payload, now())
		if err != nil {
			return nil, err
		}
		id, err := done.LastInsertId()
		return map[string]int64{"id": id}, err
	})
	serve("POST /write-batch", func(*http.Request) (any, error) {
		return map[string]int{"inserted": 10}, insertTen(writer, insert)
	})
	serve("GET /read", func(*http.Request) (any, error) { return newestEvents(newest) })
	serve("GET /mixed", func(*http.Request) (any, error) {
		if _, err := insert.Exec("view", payload, now()); err != nil {
			return nil, err
		}
		return newestEvents(newest)
	})
	serve("GET /count", func(*http.Request) (any, error) {
		var rows int64
		err := count.QueryRow().Scan(&rows)
		return map[string]int64{"count": rows}, err
	})
	serve("GET /{$}", func(r *http.Request) (any, error) {
		_, err := record.Exec(r.URL.Path, float64(now())/1000)
		return map[string]string{"message": "visit recorded"}, err
	})
	serve("GET /visits", func(*http.Request) (any, error) { return newestVisits(visits) })
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
