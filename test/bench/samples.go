//go:build linux && (amd64 || arm64)

package main

import (
	"cmp"
	"math"
	"slices"
)

// sample is one lap: the turn in which it was run and how long it took.
type sample struct {
	turn int
	ms   float64
}

// series is the laps of one entrant, in the order of the turns.
type series []sample

// percentile is the smallest lap that at least p of 100 do not exceed; NaN of none.
func (s series) percentile(p float64) float64 {
	all := make([]float64, 0, len(s))
	for _, x := range s {
		all = append(all, x.ms)
	}
	return percentile(all, p)
}

func percentile(all []float64, p float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	all = slices.Sorted(slices.Values(all))
	return all[max(int(math.Ceil(p/100*float64(len(all)))), 1)-1]
}

// pairs joins the laps of a and b that were run in the same turn; the result is the
// median of what f makes of them, or NaN if there was no such turn.
func pairs(a, b series, f func(a, b float64) float64) float64 {
	var all []float64
	for _, x := range a {
		i, found := slices.BinarySearchFunc(b, x.turn, func(y sample, turn int) int { return cmp.Compare(y.turn, turn) })
		if found {
			all = append(all, f(x.ms, b[i].ms))
		}
	}
	return percentile(all, 50)
}

func ratio(a, b float64) float64 { return a / b }

func difference(a, b float64) float64 { return a - b }
