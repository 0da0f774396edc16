//go:build unix

package engine

import (
	"testing"
	"testing/synctest"
	"time"
)

type bubbleClock struct{}

func (bubbleClock) Now() time.Time { return time.Now() }

func (bubbleClock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

func TestATimeThatStandsStillIsNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var over time.Duration
		s := newStopwatch(bubbleClock{}, 10*time.Second, func() { over = time.Since(began) })
		<-time.After(4 * time.Second)
		one := s.pause()
		<-time.After(time.Hour)
		two := s.pause()
		one()
		one() // says nothing new
		<-time.After(time.Hour)
		two()
		<-time.After(7 * time.Second)
		synctest.Wait()
		if over != 2*time.Hour+10*time.Second || s.pausedFor() != 2*time.Hour {
			t.Errorf("over after %v, still for %v", over, s.pausedFor())
		}
		s.end()
	})
}

func TestAStopwatchThatHasEndedCallsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStopwatch(bubbleClock{}, time.Second, func() { t.Error("it called") })
		resume := s.pause()
		<-time.After(time.Minute)
		s.end()
		<-time.After(time.Minute)
		resume()
		<-time.After(time.Minute)
		if s.pausedFor() != time.Minute {
			t.Errorf("still for %v", s.pausedFor())
		}
	})
}
