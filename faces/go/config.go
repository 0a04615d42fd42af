package sampan

import (
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sampan-server/sampan/faces/go/internal/native"
)

// Config says how a server is made. Its zero value serves Go handlers on 127.0.0.1:8080.
type Config struct {
	// Addr is where to listen, as [net.Listen] takes it: "127.0.0.1:8080" for example, or ":8080" for all interfaces. Several have commas between.
	// "unix:/run/app.sock" is a Unix socket. Port 0 takes a free one, see [Server.Addr].
	// Empty: what the configuration says, else 127.0.0.1:8080.
	Addr string
	// Project is the folder or the file of a project in Lua or JavaScript. Its routes stand beside those in Go; one that both have
	// is an error of the start. Empty: Go handlers alone.
	Project string
	// Workers is how many threads the engine has. 0: what the configuration says, else one per processor.
	Workers int
	// ConfigFile is the path of a sampan.toml. Empty: that of the project, if there is one.
	ConfigFile string
	// Settings are keys of sampan.toml and their values, such as "limits.body_bytes_max": "2 MiB". They win over the file.
	Settings map[string]string
	// Logger gets what the engine, the scripts and failed handlers log. Nil: [slog.Default].
	Logger *slog.Logger
}

// ScriptsConfig says which script is loaded, and how.
type ScriptsConfig struct {
	// Path is the file of the script, or the folder of a project.
	Path string
	// Source is the text of the script, instead of a file. Name then tells its language and stands in errors: "hello.lua".
	Source, Name string
	// Isolates is how many there are, each with a thread. 0: one per processor.
	Isolates int
	// QueueMax is how many requests and calls may wait or run; more are answered 503. 0: 1024 for each isolate.
	QueueMax int
	// ReloadEvery is how often changed files are looked for, at most, when a request comes. With less than a millisecond they are looked for at
	// each request. A script that does not load is logged, and the old one goes on. 0: never.
	ReloadEvery time.Duration
	// IsolatedRequests lets no request see what another left in global variables or modules.
	IsolatedRequests bool
	// BodyBytesMax is the most that the body of a request may have; a larger one is answered 413. It also is
	// limits.body_bytes_max, unless Settings have that. 0: what the configuration and the routes of the script say,
	// else 1 MiB, but 16 MiB at most.
	BodyBytesMax int64
	// ConfigFile and Settings are as in [Config].
	ConfigFile string
	Settings   map[string]string
	// Logger is as in [Config].
	Logger *slog.Logger
	// OnError writes the answer to a request that failed. Nil: the status of the error, without details; none where the context was cancelled.
	OnError ErrorHandler
}

// The most of a body that the handler behind net/http reads without a [ScriptsConfig.BodyBytesMax]. The engine applies
// limits.body_bytes_max to a body that has been read; this bounds the memory until then.
const bodyReadMax = 16 << 20

// The setting for which [ScriptsConfig.BodyBytesMax] stands.
const bodyBytesMax = "limits.body_bytes_max"

// The settings as the library takes them. The lines of the log come as JSON, which slog gets piece by piece.
func settings(given map[string]string) []string {
	all := make([]string, 0, len(given)+1)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		all = append(all, key+"="+given[key])
	}
	return append(all, "log.format=json")
}

func (c *Config) options() (native.Options, error) {
	if err := counts([]count{{"Workers", int64(c.Workers)}}); err != nil {
		return native.Options{}, err
	}
	return native.Options{
		Path: c.Project, Listen: listenable(c.Addr), Workers: c.Workers,
		ConfigFile: c.ConfigFile, Settings: settings(c.Settings),
	}, nil
}

func (c *ScriptsConfig) options() (native.Options, error) {
	err := counts([]count{
		{"Isolates", int64(c.Isolates)}, {"QueueMax", int64(c.QueueMax)}, {"BodyBytesMax", c.BodyBytesMax}, {"ReloadEvery", int64(c.ReloadEvery)},
	})
	hasText := c.Source != "" || c.Name != ""
	switch {
	case err != nil:
	case c.Path != "" && hasText:
		err = wrong("Path is given together with Source or Name: one script is either a file or a text")
	case c.Path == "" && !hasText:
		err = wrong("Path and Source are empty: there is no script")
	case c.Path == "" && c.Name == "":
		err = wrong("Name is empty: its end tells the language of Source, as in \"hello.lua\"")
	}
	if err != nil {
		return native.Options{}, err
	}
	all := settings(c.Settings)
	if c.IsolatedRequests {
		all = append(all, isolatedRequests)
	}
	if _, isSet := c.Settings[bodyBytesMax]; c.BodyBytesMax > 0 && !isSet {
		all = append(all, fmt.Sprint(bodyBytesMax, "=", c.BodyBytesMax))
	}
	reload := int64(-1)
	if c.ReloadEvery > 0 {
		reload = c.ReloadEvery.Milliseconds()
	}
	return native.Options{
		Path: c.Path, Text: c.Source, Name: c.Name,
		Workers: c.Isolates, QueueMax: c.QueueMax, ReloadMillis: int(reload),
		ConfigFile: c.ConfigFile, Settings: all,
	}, nil
}

// The setting for which [ScriptsConfig.IsolatedRequests] stands.
const isolatedRequests = "scripts.isolation=request"

type count struct {
	name  string
	value int64
}

// What counts something cannot be negative, nor larger than the library takes.
func counts(all []count) error {
	for _, one := range all {
		switch {
		case one.value < 0:
			return wrong(fmt.Sprintf("%s: %d is negative", one.name, one.value))
		case one.value > math.MaxUint32 && one.name != "BodyBytesMax" && one.name != "ReloadEvery":
			return wrong(fmt.Sprintf("%s: %d is too large", one.name, one.value))
		}
	}
	return nil
}

func wrong(message string) error { return &Error{Kind: ErrConfig, Message: message} }

// Addresses as [net.Listen] takes them, in the form that the library takes: with a host, and a port that is a number.
func listenable(addresses string) string {
	all := strings.Split(addresses, ",")
	for i, address := range all {
		host, port, err := net.SplitHostPort(strings.TrimSpace(address))
		if err != nil || strings.HasPrefix(address, "unix:") {
			continue
		}
		if number, err := net.LookupPort("tcp", port); err == nil {
			port = strconv.Itoa(number)
		}
		if host == "" {
			host = everywhere()
		}
		all[i] = net.JoinHostPort(host, port)
	}
	return strings.Join(all, ",")
}

// The host that stands for all interfaces: that of IPv6 takes IPv4 too, where there is IPv6.
func everywhere() string {
	free, err := net.Listen("tcp", ":0")
	if err != nil {
		return "0.0.0.0"
	}
	defer free.Close()
	host, _, _ := net.SplitHostPort(free.Addr().String())
	return host
}
