// A front that uses the reverse proxy and the HTTP/2 of Go's standard library (net/http).
//
//	front CONFIG       CONFIG: go.json with its placeholders filled in
//	front --version    prints the version of Go
//
// Rules:
//  1. net/http does framing, windows and the order of the streams, with its defaults. This program only passes
//     responses on.
//  2. If the setting notsent_lowat is not 0, the listener has this TCP_NOTSENT_LOWAT, which its connections inherit.
//     net/http has no such setting; this program uses net.ListenConfig.
//  3. If the setting buffering is true, the front reads whole responses from the origin, holds them, and offers
//     net/http up to buffer_kib of a response at once. Otherwise it copies 32 KiB at a time, as net/http/httputil does.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"runtime"
	"sync"
	"syscall"
)

const tcpNotsentLowat = 25 // TCP_NOTSENT_LOWAT, which package syscall lacks

type settings struct {
	Address      string `json:"address"`
	Origin       string `json:"origin"`
	Certificate  string `json:"certificate"`
	Key          string `json:"key"`
	Log          string `json:"log"`
	NotsentLowat int    `json:"notsent_lowat"`
	Buffering    bool   `json:"buffering"`
	BufferKiB    int    `json:"buffer_kib"`
}

// held is a response of the origin. Read returns all bytes that have arrived and were not read yet; it waits only if
// there are none.
type held struct {
	origin  io.ReadCloser
	arrived sync.Cond
	bytes   bytes.Buffer
	end     error
}

func newHeld(origin io.ReadCloser) *held {
	response := &held{origin: origin}
	response.arrived.L = new(sync.Mutex)
	go response.take()
	return response
}

func (response *held) take() {
	piece := make([]byte, 32*1024)
	for {
		count, err := response.origin.Read(piece)
		response.arrived.L.Lock()
		response.bytes.Write(piece[:count])
		response.end = err
		response.arrived.Signal()
		response.arrived.L.Unlock()
		if err != nil {
			return
		}
	}
}

func (response *held) Read(into []byte) (int, error) {
	response.arrived.L.Lock()
	defer response.arrived.L.Unlock()
	for response.bytes.Len() == 0 && response.end == nil {
		response.arrived.Wait()
	}
	if response.bytes.Len() == 0 {
		return 0, response.end
	}
	return response.bytes.Read(into)
}

func (response *held) Close() error {
	return response.origin.Close()
}

// buffers makes the buffers in which the reverse proxy copies.
type buffers struct{ sizeBytes int }

func (made buffers) Get() []byte { return make([]byte, made.sizeBytes) }
func (made buffers) Put([]byte)  {}

func proxyWith(config settings) *httputil.ReverseProxy {
	target := &url.URL{Scheme: "http", Host: config.Origin}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(target)
			request.Out.Host = request.In.Host
		},
		Transport: &http.Transport{DisableCompression: true},
	}
	if config.Buffering {
		proxy.BufferPool = buffers{sizeBytes: config.BufferKiB * 1024}
		proxy.ModifyResponse = func(answer *http.Response) error {
			answer.Body = newHeld(answer.Body)
			return nil
		}
	}
	return proxy
}

func listenOn(address string, notsentLowat int) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, socket syscall.RawConn) error {
		var refused error
		if err := socket.Control(func(descriptor uintptr) {
			refused = syscall.SetsockoptInt(int(descriptor), syscall.IPPROTO_TCP, tcpNotsentLowat, notsentLowat)
		}); err != nil {
			return err
		}
		return refused
	}}
	if notsentLowat == 0 {
		config.Control = nil
	}
	return config.Listen(context.Background(), "tcp", address)
}

func main() {
	if os.Args[1] == "--version" {
		os.Stdout.WriteString(runtime.Version() + "\n")
		return
	}
	content, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var config settings
	if err := json.Unmarshal(content, &config); err != nil {
		log.Fatal(err)
	}
	messages, err := os.OpenFile(config.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := listenOn(config.Address, config.NotsentLowat)
	if err != nil {
		log.Fatal(err)
	}
	// A server without time-outs: a slow link must not look like a dead client.
	server := &http.Server{Handler: proxyWith(config), ErrorLog: log.New(messages, "", log.LstdFlags)}
	log.Fatal(server.ServeTLS(listener, config.Certificate, config.Key))
}
