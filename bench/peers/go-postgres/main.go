// Go's net/http with pgx. Statements are prepared once for each connection; batches are pipelined.
package main

import (
	"context"
	"encoding/json"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	payload = `{"user":12345,"page":"/home"}`
	insert  = "INSERT INTO events (kind, payload, ts) VALUES ($1, $2, $3)"
	group   = 20
)

type event struct {
	ID      int32  `json:"id"`
	Kind    string `json:"kind"`
	Payload string `json:"payload"`
	Ts      int32  `json:"ts"`
}

type counter struct{ id, n int32 }

func now() int32 { return int32(time.Now().Unix()) }

func scanEvent(row pgx.Row) (event, error) {
	var e event
	err := row.Scan(&e.ID, &e.Kind, &e.Payload, &e.Ts)
	return e, err
}

func newest(ctx context.Context, pool *pgxpool.Pool) ([]event, error) {
	rows, err := pool.Query(ctx, "SELECT id, kind, payload, ts FROM events ORDER BY ts DESC LIMIT 20")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := make([]event, 0, group)
	for rows.Next() {
		e, err := scanEvent(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, e)
	}
	return found, rows.Err()
}

func update(ctx context.Context, tx pgx.Tx) error {
	first := group*rand.Int32N(500) + 1
	rows, err := tx.Query(ctx, "SELECT id, n FROM counters WHERE id BETWEEN $1 AND $2 ORDER BY id FOR UPDATE", first, first+group-1)
	if err != nil {
		return err
	}
	found := make([]counter, 0, group)
	for rows.Next() {
		var c counter
		if err := rows.Scan(&c.id, &c.n); err != nil {
			return err
		}
		found = append(found, c)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	batch := &pgx.Batch{}
	for _, c := range found {
		batch.Queue("UPDATE counters SET n = $1 WHERE id = $2", c.n+1, c.id)
	}
	return tx.SendBatch(ctx, batch).Close()
}

func serve(pattern string, answer func(*http.Request) (any, error)) {
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
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	connections, err := strconv.Atoi(os.Getenv("POOL"))
	if err != nil {
		log.Fatal(err)
	}
	config.MaxConns = int32(connections)
	if os.Getenv("PREPARE") != "1" {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		log.Fatal(err)
	}
	serve("GET /row/{id}", func(r *http.Request) (any, error) {
		id, err := strconv.ParseInt(r.PathValue("id"), 10, 32)
		if err != nil {
			return nil, err
		}
		return scanEvent(pool.QueryRow(r.Context(), "SELECT id, kind, payload, ts FROM events WHERE id = $1", int32(id)))
	})
	serve("GET /rows", func(r *http.Request) (any, error) { return newest(r.Context(), pool) })
	serve("POST /write", func(r *http.Request) (any, error) {
		var id int32
		err := pool.QueryRow(r.Context(), insert+" RETURNING id", "view", payload, now()).Scan(&id)
		return map[string]int32{"id": id}, err
	})
	serve("POST /write-batch", func(r *http.Request) (any, error) {
		batch, ts := &pgx.Batch{}, now()
		for range 10 {
			batch.Queue(insert, "view", payload, ts)
		}
		// What is sent as one is one transaction.
		return map[string]int{"inserted": 10}, pool.SendBatch(r.Context(), batch).Close()
	})
	serve("POST /update", func(r *http.Request) (any, error) {
		ctx := r.Context()
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return update(ctx, tx) })
		return map[string]int{"updated": group}, err
	})
	serve("GET /count", func(r *http.Request) (any, error) {
		var count, sum int64
		row := pool.QueryRow(r.Context(), "SELECT (SELECT count(*) FROM events), (SELECT sum(n) FROM counters)")
		err := row.Scan(&count, &sum)
		return map[string]int64{"count": count, "sum": sum}, err
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
