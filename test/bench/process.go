//go:build linux && (amd64 || arm64)

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// process is what the kernel lists of one.
type process struct {
	children []int
	// ms is the processor time of it and of the descendants that were waited for.
	ms float64
}

// tick is the unit of processor time in /proc/PID/stat, in milliseconds: a hundred
// a second on the machines of the build line above.
const tick = 10

// processes lists all of them by number.
func processes() (map[int]process, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	all := map[int]process{}
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it ended meanwhile
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, err
		}
		// The name in parentheses may hold anything; after it come the fields from the third on.
		rest := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		numbers := make([]int, len(rest))
		for i, word := range rest[1:] {
			numbers[i+1], _ = strconv.Atoi(word) // what is no number here is beyond the range of int, and not used
		}
		const parent, userTime, afterChildren = 1, 11, 15
		p := all[pid]
		for _, ticks := range numbers[userTime:afterChildren] {
			p.ms += float64(ticks) * tick
		}
		all[pid] = p
		above := all[numbers[parent]]
		above.children = append(above.children, pid)
		all[numbers[parent]] = above
	}
	return all, nil
}

// processorTime is that of a process and everything below it, in milliseconds.
func processorTime(pid int) (float64, error) {
	all, err := processes()
	if err != nil {
		return 0, err
	}
	var sum float64
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		sum += all[queue[0]].ms
		queue = append(queue, all[queue[0]].children...)
	}
	return sum, nil
}

// tree measures a process and its descendants, by kind.
func tree(pid int) (map[string][]footprint, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	found := map[string][]footprint{}
	generation := []int{pid}
	for distance := 0; len(generation) > 0; distance++ {
		var next []int
		for _, p := range generation {
			f, err := measure(p)
			if err != nil {
				return nil, err
			}
			kind := kindOf(distance, innerNumber(p))
			found[kind] = append(found[kind], f)
			next = append(next, all[p].children...)
		}
		generation = next
	}
	return found, nil
}

// innerNumber is the number of a process in its innermost namespace, 0 if that
// cannot be known.
func innerNumber(pid int) int {
	numbers := strings.Fields(field(fmt.Sprintf("/proc/%d/status", pid), "NSpid"))
	if len(numbers) == 0 {
		return 0
	}
	n, err := strconv.Atoi(numbers[len(numbers)-1])
	if err != nil {
		return 0
	}
	return n
}
