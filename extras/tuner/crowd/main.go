// Command crowd holds many HTTPS connections open and has each load a page once, over HTTP/2.
//
// A page is a file, and after a delay an urgent one (weight 256 against 1, RFC 7540). Connections belong to classes,
// which share the order of their loads; a connection's local port says which class it belongs to, so that a qdisc can
// tell them apart. The program prints a line of JSON for each connection.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A class is a number of connections with consecutive local ports, and the size of the file that each requests.
type class struct {
	name      string
	firstPort int
	count     int
	bytes     int
}

// A loaded page: the times are since the file's request, in seconds; urgent times since the urgent request.
type loaded struct {
	Class       string  `json:"class"`
	Port        int     `json:"port"`
	UrgentFirst float64 `json:"urgent_first_s"`
	UrgentLast  float64 `json:"urgent_last_s"`
	FileFirst   float64 `json:"file_first_s"`
	FileLast    float64 `json:"file_last_s"`
	Bytes       int     `json:"bytes"`
	Error       string  `json:"error,omitempty"`
}

func main() {
	server := flag.String("server", "", "address of the server, HOST:PORT")
	local := flag.String("local", "", "local address")
	classes := flag.String("classes", "", "NAME:FIRST_PORT:COUNT:BYTES, with commas between them")
	rate := flag.Float64("rate", 100, "connections that begin to load per second")
	opening := flag.Float64("opening", 1000, "connections that are opened per second, at most")
	delay := flag.Duration("delay", 200*time.Millisecond, "from the request of the file to that of the urgent one")
	limit := flag.Duration("limit", time.Minute, "longest time for a page")
	seed := flag.Uint64("seed", 1, "seed of the order in which connections load")
	flag.Parse()
	all, err := parse(*classes)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crowd:", err)
		os.Exit(2)
	}
	c := crowd{server: *server, local: *local, delay: *delay, limit: *limit}
	if err := c.open(all, *opening); err != nil {
		fmt.Fprintln(os.Stderr, "crowd:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "open")
	bufio.NewReader(os.Stdin).ReadString('\n') // whoever started this program says when the loads begin
	out := json.NewEncoder(os.Stdout)
	for _, each := range c.load(*rate, *seed) {
		if err := out.Encode(each); err != nil {
			fmt.Fprintln(os.Stderr, "crowd:", err)
			os.Exit(1)
		}
	}
}

func parse(words string) ([]class, error) {
	var all []class
	for _, word := range strings.Split(words, ",") {
		parts := strings.Split(word, ":")
		if len(parts) != 4 {
			return nil, fmt.Errorf("-classes %q: NAME:FIRST_PORT:COUNT:BYTES is allowed", word)
		}
		var numbers [3]int
		for at := range numbers {
			number, err := strconv.Atoi(parts[at+1])
			if err != nil || number < 1 {
				return nil, fmt.Errorf("-classes %q: %q is not a number above 0", word, parts[at+1])
			}
			numbers[at] = number
		}
		all = append(all, class{parts[0], numbers[0], numbers[1], numbers[2]})
	}
	return all, nil
}

// A crowd is all connections to one server.
type crowd struct {
	server, local string
	delay, limit  time.Duration
	members       []*member
}

// open opens all connections, each after the time that the rate allows.
func (c *crowd) open(all []class, perSecond float64) error {
	var group sync.WaitGroup
	errors := make(chan error, 1)
	slots := make(chan struct{}, 64)
	began := time.Now()
	for _, each := range all {
		for at := range each.count {
			m := &member{class: each, port: each.firstPort + at}
			c.members = append(c.members, m)
			time.Sleep(time.Until(began.Add(time.Duration(float64(len(c.members)) / perSecond * float64(time.Second)))))
			slots <- struct{}{}
			group.Go(func() {
				if err := m.open(c.server, c.local); err != nil {
					select {
					case errors <- fmt.Errorf("port %d: %w", m.port, err):
					default:
					}
				}
				<-slots
			})
			if len(errors) > 0 {
				group.Wait()
				return <-errors
			}
		}
	}
	group.Wait()
	if len(errors) > 0 {
		return <-errors
	}
	return nil
}

// load has each connection load its page once, in a random order with random intervals.
func (c *crowd) load(perSecond float64, seed uint64) []loaded {
	var group sync.WaitGroup
	random := rand.New(rand.NewPCG(seed, seed))
	results := make([]loaded, len(c.members))
	due := time.Now()
	for _, at := range random.Perm(len(c.members)) {
		due = due.Add(time.Duration(random.ExpFloat64() / perSecond * float64(time.Second)))
		time.Sleep(time.Until(due))
		group.Go(func() { results[at] = c.members[at].load(c.delay, c.limit) })
	}
	group.Wait()
	return results
}
