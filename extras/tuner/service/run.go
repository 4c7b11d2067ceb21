package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	lookEvery    = 200 * time.Millisecond // how late a cgroup that was made anew is noticed
	reportEvery  = time.Second            // sysctls, lines, the status
	metricsEvery = 5 * time.Second
)

// service is a running tuner.
type service struct {
	*order
	teller    *teller
	printer   *printer
	log       *decisionLog
	groups    []*group
	dryRun    atomic.Bool // for decisions, which come while the settings are read anew
	printed   atomic.Bool
	metrics   *endpoint
	asked     chan chan answered // requests for the counts, which only the main loop reads
	unwritten bool               // the last attempt to write the metrics file failed
}

// run tunes until SIGINT or SIGTERM or, without a file to reopen, SIGHUP.
func run(order *order) error {
	signal.Ignore(unix.SIGPIPE)
	told := make(chan os.Signal, 4)
	for _, each := range []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		if !signal.Ignored(each) { // as under nohup(1)
			signal.Notify(told, each)
		}
	}
	teller := newTeller()
	s := &service{order: order, teller: teller, log: &decisionLog{teller: teller}, asked: make(chan chan answered)}
	s.printer = &printer{say: teller.say, recent: map[who]*recent{}}
	defer s.end()
	if err := s.apply(&Settings{}); err != nil {
		return err
	}
	if err := s.probe(); err != nil {
		return err
	}
	s.teller.say("tuning %s", s.aims())
	if err := s.report(); err != nil {
		return err
	}
	notify("READY=1")
	if err := s.work(told); err != nil {
		return err
	}
	notify("STOPPING=1")
	s.stop()
	return nil
}

// probe loads the program once if there is no cgroup yet, so that whatever hinders it is said at the start.
func (s *service) probe() error {
	for _, each := range s.groups {
		if each.program != nil {
			return nil
		}
	}
	one, err := load()
	if err == nil {
		one.Close()
	}
	return err
}

func (s *service) mode() string {
	if s.DryRun {
		return "; dry run: no value is set"
	}
	return ""
}

func (s *service) work(told <-chan os.Signal) error {
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	watch := newWatch()
	defer watch.close()
	alive := watchdogInterval()
	var reported, wrote, barked time.Time
	for {
		select {
		case number := <-told:
			if number != unix.SIGHUP || (s.config == "" && s.Log == "") {
				return nil
			}
			s.reload()
		case <-s.teller.closed:
			return errors.New("the reader of standard output has closed it")
		case <-watch.changed:
			if err := s.follow(); err != nil {
				return err
			}
		case reply := <-s.asked:
			all, err := s.gathered()
			reply <- answered{all, err}
		case now := <-ticks.C:
			if err := s.follow(); err != nil {
				return err
			}
			if now.Sub(reported) >= reportEvery {
				reported = now
				watch.follow(s.groups)
				if err := s.report(); err != nil {
					return err
				}
			}
			if s.MetricsFile != "" && now.Sub(wrote) >= metricsEvery {
				wrote = now
				s.writeMetrics()
			}
			if alive != 0 && now.Sub(barked) >= min(alive, reportEvery) {
				barked = now
				notify("WATCHDOG=1")
			}
		}
	}
}

func (s *service) follow() error {
	for _, each := range s.groups {
		if err := each.follow(&s.Settings); err != nil {
			return err
		}
	}
	return s.leaveTaken()
}

// leaveTaken says which cgroups are left to other tuners. If all are, it returns an error, unless the settings say to wait.
func (s *service) leaveTaken() error {
	left := slices.DeleteFunc(slices.Clone(s.groups), func(each *group) bool { return each.taken == nil })
	if len(left) > 0 && len(left) == len(s.groups) && !s.Wait {
		return left[0].taken
	}
	for _, each := range left {
		if !each.told {
			s.teller.warn("cgroup %s is left alone for now: %v", each.path, each.taken)
		}
		each.told = true
	}
	return nil
}

// aims names the cgroups that are tuned, the target, and the cgroups that do not exist.
func (s *service) aims() string {
	tuned, missing := []string{}, []string{}
	for _, each := range s.groups {
		switch {
		case each.attached != nil:
			tuned = append(tuned, each.path)
		case each.taken == nil:
			missing = append(missing, each.path)
		}
	}
	if len(tuned) == 0 {
		tuned = append(tuned, "no cgroup yet")
	}
	text := fmt.Sprintf("%s; target delay %v%s", strings.Join(tuned, ", "), s.Target, s.mode())
	if len(missing) > 0 {
		text += "; waiting for " + strings.Join(missing, ", ")
	}
	return text
}

// report tells the program the sysctls, and the operator what has happened.
func (s *service) report() error {
	s.printer.look(nowNs())
	attached, open := 0, uint64(0)
	for _, each := range s.groups {
		if err := each.tellSysctls(&s.Settings); err != nil {
			return err
		}
		numbers, err := each.counted()
		if err != nil {
			return err
		}
		each.tellUnlogged(&numbers)
		open += numbers.Seen - numbers.Closed
		if each.attached != nil {
			attached++
		}
	}
	notify(fmt.Sprintf("STATUS=%d connections in %d of %d cgroups%s", open, attached, len(s.groups), s.mode()))
	return nil
}

func nowNs() uint64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return uint64(now.Nano())
}

// reload reads the settings anew. If they are wrong, the old ones stay.
func (s *service) reload() {
	notifyReloading()
	defer notify("READY=1")
	old := s.Settings
	if err := s.read(); err != nil {
		complain("%v; the old settings stay", err)
		s.Settings = old
		_ = s.log.open(old.Log)
		return
	}
	if err := s.apply(&old); err != nil {
		failed := s.Settings
		s.Settings = old
		if again := s.apply(&failed); again != nil {
			complain("%v", again)
		}
		complain("%v; the old settings stay", err)
		return
	}
	s.teller.say("read the settings again: tuning %s", s.aims())
}

// apply makes the present settings effective. old: the settings until now.
func (s *service) apply(old *Settings) error {
	s.dryRun.Store(s.DryRun)
	s.printed.Store(!s.Quiet)
	if err := s.log.open(s.Log); err != nil {
		return impossibly("%s cannot be written: %v", s.Log, reason(err))
	}
	if err := s.regroup(); err != nil {
		return err
	}
	if old.MetricsFile != s.MetricsFile && old.MetricsFile != "" {
		_ = os.Remove(old.MetricsFile)
	}
	if s.MetricsListen == old.MetricsListen {
		return nil
	}
	s.metrics.close()
	var err error
	s.metrics, err = listen(s.MetricsListen, s.ask)
	return err
}

// regroup begins to tune cgroups that are new in the settings, and ends with those that are no longer there.
func (s *service) regroup() error {
	left := []*group{}
	for _, each := range s.groups {
		if !slices.Contains(s.Cgroups, each.path) {
			s.finish(each)
			continue
		}
		if each.program != nil {
			if err := each.program.order(&s.Settings); err != nil {
				return err
			}
		}
		left = append(left, each)
	}
	s.groups = left
	for _, path := range s.Cgroups {
		if s.has(path) {
			continue
		}
		made, err := newGroup(path, &s.Settings, s.teller, s.note)
		if err != nil {
			return err
		}
		s.groups = append(s.groups, made)
	}
	return s.leaveTaken()
}

func (s *service) has(path string) bool {
	for _, each := range s.groups {
		if each.path == path {
			return true
		}
	}
	return false
}

// note takes a record of the ring buffer.
func (s *service) note(raw []byte) {
	decision, err := decode(raw, s.dryRun.Load())
	if err != nil {
		return
	}
	s.log.note(decision.line())
	if s.printed.Load() {
		s.printer.note(&decision)
	}
}

// finish ends tuning a cgroup; returns how many connections got their earlier value back.
func (s *service) finish(each *group) int {
	each.detach()
	count := 0
	if s.Restore && !s.DryRun && each.program != nil {
		count = restore(each.path, each.program, s.teller.warn)
	}
	each.close()
	return count
}

// stop ends tuning as the operator wishes.
func (s *service) stop() {
	restored := 0
	for _, each := range s.groups {
		restored += s.finish(each)
	}
	s.groups = nil
	s.printer.look(1<<64 - 1)
	if s.Restore {
		s.teller.say("stopped; connections given back their previous LOWAT: %d", restored)
	} else {
		s.teller.say("stopped; connections keep their LOWAT")
	}
}

// end leaves nothing behind.
func (s *service) end() {
	for _, each := range s.groups {
		s.finish(each)
	}
	s.metrics.close()
	if s.MetricsFile != "" {
		_ = os.Remove(s.MetricsFile)
	}
	_ = s.log.open("")
}
