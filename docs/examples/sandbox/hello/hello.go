// A server and a client of net/http: `hello serve`, or `hello get TIMES`.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"
)

func serve() error {
	http.HandleFunc("/", func(answer http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(answer, "hello")
	})
	return http.ListenAndServe("server:80", nil)
}

func get(times int) error {
	client := http.Client{Timeout: 10 * time.Second}
	for number := 0; number < times; number++ {
		begun := time.Now()
		answer, err := client.Get("http://server/")
		if err != nil {
			return err
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			return err
		}
		fmt.Printf("%q after %s\n", text, time.Since(begun))
	}
	return nil
}

func main() {
	var err error
	if os.Args[1] == "serve" {
		err = serve()
	} else {
		times, _ := strconv.Atoi(os.Args[2])
		err = get(times)
	}
	if err != nil {
		log.Fatal(err)
	}
}
