package catalog

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
)

// The ranking is BM25 over the words of a tool's name, server, title, description and
// parameters, where a word counts by the field it stands in; names that are the query, or
// begin with it, come before everything else. No library of a fitting size keeps fields
// apart, and the formula is four lines.
const (
	k1 = 1.2  // how soon more of the same word stops helping
	b  = 0.75 // how much long descriptions are held back

	inName        = 3.0
	inServer      = 2.0
	inTitle       = 1.0
	inDescription = 1.0
	inParameter   = 1.0
	asPrefix      = 0.5 // of what the whole word would count

	exactBoost  = 100.0
	prefixBoost = 10.0
	allBonus    = 1.3 // where every word of the query is there
	// coverage is the part of the words that has to be there, of three and more.
	coverage = 0.6
)

// maxQuery bounds what is looked at of a query, in characters, which a program writes.
const maxQuery = 300

// DefaultLimit is how many tools a search shows unless told otherwise, and MaxLimit how
// many at most.
const (
	DefaultLimit = 10
	MaxLimit     = 100
)

// Found is what a search found.
type Found struct {
	Entries []Entry // the best, best first
	Total   int     // of all that match
	// Servers are how many tools match by server, by name in Python; where nothing matches,
	// how many tools each server has.
	Servers map[string]int
	// Guessed tells that no word of the query exists and similar words were taken.
	Guessed bool
}

// index is what a search looks at.
type index struct {
	documents []document
	having    map[string]int // tools by word
	average   float64        // weight of a tool
}

type document struct {
	weights map[string]float64
	length  float64
	names   []string // in lower case
}

func indexOf(entries []Entry) index {
	x := index{having: map[string]int{}}
	total := 0.0
	for _, e := range entries {
		d := documentOf(e)
		for word := range d.weights {
			x.having[word]++
		}
		total += d.length
		x.documents = append(x.documents, d)
	}
	x.average = total / math.Max(1, float64(len(entries)))
	return x
}

// maxIndexed bounds what is indexed of a description, in characters.
const maxIndexed = 4000

func documentOf(e Entry) document {
	d := document{weights: map[string]float64{}}
	add := func(text string, weight float64) {
		for _, word := range words(cut(text, maxIndexed)) {
			d.weights[word] += weight
			d.length += weight
		}
	}
	add(e.Definition.Name, inName)
	add(e.Definition.Server, inServer)
	if e.Module != e.Definition.Server {
		add(e.Module, inServer)
	}
	add(e.Definition.Title, inTitle)
	add(e.Definition.Description, inDescription)
	for _, p := range e.Parameters {
		add(p.Raw, inParameter)
	}
	for _, name := range []string{e.Definition.Name, e.Python, e.Definition.ID(), e.Name()} {
		d.names = append(d.names, strings.ToLower(name))
	}
	return d
}

// common are words that say nothing of a tool.
var common = map[string]bool{
	"a": true, "an": true, "and": true, "are": true, "as": true, "at": true, "be": true, "by": true, "can": true, "do": true,
	"for": true, "from": true, "how": true, "i": true, "in": true, "is": true, "it": true, "me": true, "my": true, "of": true,
	"on": true, "or": true, "that": true, "the": true, "this": true, "to": true, "want": true, "what": true, "which": true,
	"with": true, "you": true, "your": true,
}

// words splits at whatever is no letter or digit, and where camelCase and numbers begin.
func words(text string) []string {
	var all []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			if w := strings.ToLower(string(word)); !common[w] {
				all = append(all, w)
			}
			word = word[:0]
		}
	}
	runes := []rune(text)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case len(word) == 0:
		case unicode.IsUpper(r) && unicode.IsLower(word[len(word)-1]),
			unicode.IsUpper(r) && i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(word[len(word)-1]),
			unicode.IsDigit(r) != unicode.IsDigit(word[len(word)-1]):
			flush()
		}
		word = append(word, r)
	}
	flush()
	return all
}

// Search finds tools by words, of one server (by any of its names) or of all with server
// empty. limit is at most [MaxLimit]; 0 is [DefaultLimit]. An empty query finds every tool.
// The same query of the same catalog always has the same answer. The error is a
// [*NotFoundError] of a server that there is not.
func (c *Catalog) Search(query, server string, limit int) (Found, error) {
	module := ""
	if server != "" {
		s, err := c.Server(server)
		if err != nil {
			return Found{}, err
		}
		module = s.Module
	}
	if limit <= 0 {
		limit = DefaultLimit
	}
	hits, guessed := c.rank(query, module)
	found := Found{Total: len(hits), Servers: map[string]int{}, Guessed: guessed && len(hits) > 0}
	for _, h := range hits {
		found.Servers[c.entries[h.at].Module]++
	}
	for _, h := range hits[:min(len(hits), limit, MaxLimit)] {
		found.Entries = append(found.Entries, c.entries[h.at])
	}
	if len(hits) == 0 {
		for _, s := range c.servers {
			found.Servers[s.Module] = len(s.Entries)
		}
	}
	return found, nil
}

type hit struct {
	at    int
	score float64
}

// rank tries what the query says, then less than all of it, then words that look like it.
func (c *Catalog) rank(query, module string) (hits []hit, guessed bool) {
	query = strings.TrimSpace(cut(query, maxQuery))
	asked := unique(words(query))
	if hits = c.matching(query, module, asked, coverage); len(hits) > 0 || query == "" {
		return hits, false
	}
	if hits = c.matching(query, module, asked, 0); len(hits) > 0 {
		return hits, false
	}
	return c.matching(query, module, c.index.similar(asked), 0), true
}

// matching are the tools in which that part of the words is there, best first and else by
// name, as entries are.
func (c *Catalog) matching(query, module string, asked []string, part float64) []hit {
	var hits []hit
	query = strings.ToLower(query)
	for i, d := range c.index.documents {
		if module != "" && c.entries[i].Module != module {
			continue
		}
		if score := c.index.score(d, query, asked, part); score > 0 || query == "" {
			hits = append(hits, hit{i, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	return hits
}

func (x index) score(d document, query string, asked []string, part float64) float64 {
	score, there := 0.0, 0
	for _, word := range asked {
		weight, having := d.weight(word), x.having[word]
		if weight == 0 {
			continue
		}
		there++
		n := float64(len(x.documents))
		idf := math.Log(1 + (n-float64(having)+0.5)/(float64(having)+0.5))
		score += idf * weight * (k1 + 1) / (weight + k1*(1-b+b*d.length/x.average))
	}
	switch {
	case len(asked) >= 3 && float64(there) < part*float64(len(asked)):
		score = 0
	case len(asked) > 1 && there == len(asked):
		score *= allBonus
	}
	for _, name := range d.names {
		if query != "" && name == query {
			return score + exactBoost
		}
	}
	for _, name := range d.names {
		if query != "" && strings.HasPrefix(name, query) {
			return score + prefixBoost
		}
	}
	return score
}

// weight is how much a word counts in a document; a word that begins with it counts less, and
// so does one that it only ends longer than (issues, issue).
func (d document) weight(word string) float64 {
	const least, ending = 3, 2 // bytes of a beginning, and of what may follow
	if w := d.weights[word]; w > 0 {
		return w
	}
	best := 0.0
	for other, w := range d.weights {
		if len(word) >= least && strings.HasPrefix(other, word) || len(other) >= least && len(word)-len(other) <= ending && strings.HasPrefix(word, other) {
			best = math.Max(best, w*asPrefix)
		}
	}
	return best
}

// similar replaces each word by those of the catalog that look most like it.
func (x index) similar(asked []string) []string {
	all := slices.Sorted(maps.Keys(x.having))
	var found []string
	for _, word := range asked {
		found = append(found, closest(word, all, maxClose, alike)...)
	}
	return unique(found)
}

const (
	alike      = 0.3 // how much two words have to share for one to stand for the other
	resembling = 0.2 // and to be told of as what was perhaps meant
)

// closest are those of all that are most like s, best first.
func closest(s string, all []string, most int, least float64) []string {
	type like struct {
		name  string
		share float64
	}
	grams := trigrams(s)
	var found []like
	for _, name := range all {
		if share := shared(grams, trigrams(name)); share >= least {
			found = append(found, like{name, share})
		}
	}
	slices.SortStableFunc(found, func(a, b like) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, f := range found[:min(len(found), most)] {
		names = append(names, f.name)
	}
	return names
}

// trigrams are all runs of three characters, with the ends of the word as characters too.
func trigrams(s string) map[string]bool {
	runes := []rune("  " + strings.ToLower(cut(s, 2*maxName)) + " ")
	grams := make(map[string]bool, len(runes))
	for i := range len(runes) - 2 {
		grams[string(runes[i:i+3])] = true
	}
	return grams
}

// shared is the part of all runs that two words have in common.
func shared(a, b map[string]bool) float64 {
	common := 0
	for gram := range a {
		if b[gram] {
			common++
		}
	}
	return float64(common) / float64(max(1, len(a)+len(b)-common))
}
