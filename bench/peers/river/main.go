// River on PostgreSQL: adds empty jobs, and does them where WORK is 1.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const added = 1000

type nothing struct{}

func (nothing) Kind() string { return "nothing" }

type worker struct {
	river.WorkerDefaults[nothing]
}

func (worker) Work(context.Context, *river.Job[nothing]) error { return nil }

func serve(pattern string, answer func(context.Context) (any, error)) {
	http.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		value, err := answer(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(value)
	})
}

func main() {
	ctx := context.Background()
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	config.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		log.Fatal(err)
	}
	settings := &river.Config{}
	if os.Getenv("WORK") == "1" {
		workers := river.NewWorkers()
		river.AddWorker(workers, worker{})
		// As in River's own benchmark: many workers, and no pause between fetches.
		settings.Workers = workers
		settings.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2000}}
		settings.FetchCooldown = time.Millisecond
		settings.FetchPollInterval = 20 * time.Millisecond
	}
	client, err := river.NewClient(driver, settings)
	if err != nil {
		log.Fatal(err)
	}
	if settings.Workers != nil {
		if err := client.Start(ctx); err != nil {
			log.Fatal(err)
		}
	}
	serve("POST /add", func(ctx context.Context) (any, error) {
		jobs := make([]river.InsertManyParams, added)
		for i := range jobs {
			jobs[i] = river.InsertManyParams{Args: nothing{}}
		}
		count, err := client.InsertManyFast(ctx, jobs)
		return map[string]int{"added": count}, err
	})
	serve("GET /left", func(ctx context.Context) (any, error) {
		var left int64
		row := pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state <> 'completed'")
		err := row.Scan(&left)
		return map[string]int64{"left": left}, err
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
