package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	fileStream, urgentStream = 1, 3
	window                   = 1<<31 - 1
	defaultWindow            = 65535
	dialLimit                = time.Minute
)

// A member is one connection.
type member struct {
	class   class
	port    int
	socket  *tls.Conn
	framer  *http2.Framer
	headers bytes.Buffer
	encoder *hpack.Encoder
	host    string
}

// open connects, and gives the server windows that do not limit it.
func (m *member) open(server, local string) error {
	dialer := net.Dialer{
		LocalAddr: &net.TCPAddr{IP: net.ParseIP(local), Port: m.port},
		Timeout:   dialLimit,
	}
	dialer.SetMultipathTCP(false)
	plain, err := dialer.Dial("tcp", server)
	if err != nil {
		return err
	}
	plain.(*net.TCPConn).SetLinger(0) // so that the next crowd can have the same ports at once
	// The certificate is that of a server in a namespace of the study's own.
	m.socket = tls.Client(plain, &tls.Config{NextProtos: []string{"h2"}, InsecureSkipVerify: true})
	m.socket.SetDeadline(time.Now().Add(dialLimit))
	if err := m.socket.Handshake(); err != nil {
		return err
	}
	m.host = server
	m.framer = http2.NewFramer(m.socket, m.socket)
	m.framer.SetReuseFrames()
	m.encoder = hpack.NewEncoder(&m.headers)
	if _, err := m.socket.Write([]byte(http2.ClientPreface)); err != nil {
		return err
	}
	if err := m.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}); err != nil {
		return err
	}
	if err := m.framer.WriteWindowUpdate(0, window-defaultWindow); err != nil {
		return err
	}
	return m.settle()
}

// settle reads frames until both sides have accepted the other's settings.
func (m *member) settle() error {
	theirs, ours := false, false
	for !theirs || !ours {
		frame, err := m.framer.ReadFrame()
		if err != nil {
			return err
		}
		if settings, ok := frame.(*http2.SettingsFrame); ok {
			if settings.IsAck() {
				ours = true
			} else if err := m.framer.WriteSettingsAck(); err != nil {
				return err
			} else {
				theirs = true
			}
		}
	}
	return nil
}

// load requests the file and later the urgent one, and reads both to their ends.
func (m *member) load(delay, limit time.Duration) loaded {
	result := loaded{Class: m.class.name, Port: m.port}
	began := time.Now()
	m.socket.SetDeadline(began.Add(limit))
	if err := m.request(fileStream, fmt.Sprintf("/%d", m.class.bytes), 0); err != nil {
		result.Error = err.Error()
		return result
	}
	asked := make(chan error, 1)
	urgentAt := began.Add(delay)
	go func() {
		time.Sleep(time.Until(urgentAt))
		asked <- m.request(urgentStream, "/urgent", 255)
	}()
	if err := m.read(&result, began, urgentAt); err != nil {
		result.Error = err.Error()
	}
	if err := <-asked; err != nil {
		result.Error = err.Error()
	}
	return result
}

func (m *member) request(stream uint32, path string, weight uint8) error {
	m.headers.Reset()
	for _, field := range [...][2]string{
		{":method", "GET"}, {":scheme", "https"}, {":authority", m.host}, {":path", path},
	} {
		if err := m.encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
			return err
		}
	}
	return m.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID:      stream,
		BlockFragment: m.headers.Bytes(),
		EndStream:     true,
		EndHeaders:    true,
		Priority:      http2.PriorityParam{Weight: weight},
	})
}

// read reads frames until both streams have ended.
func (m *member) read(result *loaded, began, urgentAt time.Time) error {
	for open := 2; open > 0; {
		frame, err := m.framer.ReadFrame()
		if err != nil {
			return err
		}
		switch frame := frame.(type) {
		case *http2.DataFrame:
			ended := m.count(result, frame, began, urgentAt)
			if ended {
				open--
			}
		case *http2.RSTStreamFrame:
			return fmt.Errorf("stream %d was reset: %v", frame.StreamID, frame.ErrCode)
		case *http2.GoAwayFrame:
			return fmt.Errorf("GOAWAY: %v", frame.ErrCode)
		}
	}
	return nil
}

// count enters a DATA frame into the result; true if it ends its stream.
func (m *member) count(result *loaded, frame *http2.DataFrame, began, urgentAt time.Time) bool {
	first, last, since := &result.FileFirst, &result.FileLast, began
	if frame.StreamID == urgentStream {
		first, last, since = &result.UrgentFirst, &result.UrgentLast, urgentAt
	}
	now := time.Since(since).Seconds()
	if size := len(frame.Data()); size > 0 {
		result.Bytes += size
		if *first == 0 {
			*first = now
		}
	}
	*last = now
	return frame.StreamEnded()
}
