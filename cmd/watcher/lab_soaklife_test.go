//go:build crash

package main

import (
	"fmt"
	"path/filepath"
	"syscall"
	"time"
)

// live runs the daemon again and again, until it is told to end.
func (s *soak) live() {
	defer close(s.ended)
	for {
		cmd := s.command([]string{
			"WATCHER_SITE=https://" + s.address, "WATCHER_METRICS=" + s.metrics, "WATCHER_LOG_FILE=" + filepath.Join(s.home, "log"),
			"WATCHER_BROWSER_IDLE=" + s.idle().String(), "WATCHER_BROWSER_JOBS=25",
		}, "run", s.dir)
		out := &syncBuffer{}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			s.say("start: %v", err)
			return
		}
		s.mu.Lock()
		s.pid, s.lives = cmd.Process.Pid, s.lives+1
		s.mu.Unlock()
		_ = cmd.Wait() // its code says all
		code := cmd.ProcessState.ExitCode()
		select {
		case <-s.over:
			if code != 0 {
				s.say("exit code %d after SIGTERM\n%s", code, out)
			}
			return
		default:
		}
		if code != -1 {
			s.say("the daemon ended by itself: exit code %d\n%s", code, out)
			return
		}
	}
}

// idle is after how long the browser is closed: less than a quiet stretch.
func (s *soak) idle() time.Duration { return max(*soakFor/60, time.Second) }

// end has the daemon end, once.
func (s *soak) end() {
	select {
	case <-s.over:
		return
	default:
	}
	close(s.over)
	s.signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(2 * time.Minute):
		s.say("the daemon does not end")
		s.signal(syscall.SIGKILL)
		<-s.ended
	}
}

func (s *soak) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pid > 0 {
		_ = syscall.Kill(s.pid, sig)
	}
}

// say notes something that is wrong.
func (s *soak) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, fmt.Sprintf("after %v: ", time.Since(s.begun).Round(time.Second))+fmt.Sprintf(format, args...))
}
