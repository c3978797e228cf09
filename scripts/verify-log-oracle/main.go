// Command verify-log-oracle checks with Go's own code for transparency logs what Strongroom says about its log. It shares nothing
// with server/bin/verify-log.js and server/src/crypto but the format of an export, which the head of verify-log.js describes.
//
//	go run . export <export.ndjson> <verifier key>   an export must be good; stops at the first thing that is not
//	go run . vectors <vectors.ndjson>                roots, proofs, leaves and notes that make-vectors.ts wrote
//
// It is run by hand, since neither the vault nor its tests need Go: see make-vectors.ts.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 4 && os.Args[1] == "export":
		err = checkExport(os.Args[2], os.Args[3])
	case len(os.Args) == 3 && os.Args[1] == "vectors":
		err = checkVectors(os.Args[2])
	default:
		err = fmt.Errorf("usage: verify-log-oracle export <file> <verifier key> | vectors <file>")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// eachLine calls do for every line of the file, without its line feed.
func eachLine(path string, do func(line []byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		if err := do(lines.Bytes()); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return lines.Err()
}

// A tree keeps every hash that tlog stores for it. After a cut it keeps those of the edge and what came later.
type tree struct {
	size   int64
	hashes map[int64]tlog.Hash
}

func newTree() *tree { return &tree{hashes: map[int64]tlog.Hash{}} }

func (t *tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	found := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		hash, ok := t.hashes[index]
		if !ok {
			return nil, fmt.Errorf("hash %d was cut away", index)
		}
		found[i] = hash
	}
	return found, nil
}

func (t *tree) add(leaf tlog.Hash) error {
	hashes, err := tlog.StoredHashesForRecordHash(t.size, leaf, t)
	if err != nil {
		return err
	}
	for i, hash := range hashes {
		t.hashes[tlog.StoredHashIndex(0, t.size)+int64(i)] = hash
	}
	t.size++
	return nil
}

func treeAt(size int64, edge []tlog.Hash) (*tree, error) {
	t := newTree()
	t.size = size
	start := int64(0)
	for level := 62; level >= 0; level-- {
		if size&(1<<level) == 0 {
			continue
		}
		if len(edge) == 0 {
			return nil, fmt.Errorf("the edge is too short")
		}
		t.hashes[tlog.StoredHashIndex(level, start>>level)] = edge[0]
		edge = edge[1:]
		start += 1 << level
	}
	if len(edge) > 0 {
		return nil, fmt.Errorf("the edge is too long")
	}
	return t, nil
}

type head struct {
	TenantID string      `json:"tenant_id"`
	Writer   int64       `json:"writer"`
	Size     int64       `json:"size"`
	Root     *tlog.Hash  `json:"root"`
	Index    int64       `json:"index"`
	Proof    []tlog.Hash `json:"proof"`
	Edge     []tlog.Hash `json:"edge"`
}

type exportLine struct {
	TenantID   string `json:"tenant_id"`
	Sequence   string `json:"sequence"`
	Next       string `json:"next"`
	Head       *head  `json:"head"`
	Checkpoint *struct {
		Note  string      `json:"note"`
		From  int64       `json:"from"`
		Proof []tlog.Hash `json:"proof"`
	} `json:"checkpoint"`
}

// openCheckpoint returns the tree that a signed checkpoint describes, and its text.
func openCheckpoint(signed string, verifier note.Verifier) (tlog.Tree, string, error) {
	opened, err := note.Open([]byte(signed), note.VerifierList(verifier))
	if err != nil {
		return tlog.Tree{}, "", err
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) < 5 || lines[0] != verifier.Name() {
		return tlog.Tree{}, "", fmt.Errorf("not a checkpoint of %s", verifier.Name())
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return tlog.Tree{}, "", err
	}
	root, err := tlog.ParseHash(lines[2])
	return tlog.Tree{N: size, Hash: root}, opened.Text, err
}

func checkExport(path, key string) error {
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return err
	}
	trees := map[int64]*tree{}
	var heads []*head
	var last tlog.Tree
	var text string
	records, proven, checkpoints := 0, 0, 0
	err = eachLine(path, func(bytes []byte) error {
		var line exportLine
		if err := json.Unmarshal(bytes, &line); err != nil {
			return err
		}
		switch {
		case line.Sequence != "":
			var writer, n int64
			if _, err := fmt.Sscanf(line.Sequence, "%d.%d", &writer, &n); err != nil {
				return err
			}
			if trees[writer] == nil {
				trees[writer] = newTree()
			}
			if n != trees[writer].size {
				return fmt.Errorf("record %s stands where %d.%d belongs", line.Sequence, writer, trees[writer].size)
			}
			records++
			return trees[writer].add(tlog.RecordHash(bytes))
		case line.Head != nil:
			h := line.Head
			if trees[h.Writer] == nil {
				if trees[h.Writer], err = treeAt(h.Size, h.Edge); err != nil {
					return err
				}
			}
			if h.Root == nil {
				return nil
			}
			if root, err := tlog.TreeHash(h.Size, trees[h.Writer]); err != nil || root != *h.Root {
				return fmt.Errorf("the records lead to the root %v (%v), the head has %v", root, err, h.Root)
			}
			heads = append(heads, h)
		case line.Checkpoint != nil:
			c := line.Checkpoint
			var now tlog.Tree
			if now, text, err = openCheckpoint(c.Note, verifier); err != nil {
				return err
			}
			if checkpoints > 0 && last.N > 0 {
				if c.From != last.N {
					return fmt.Errorf("it continues %d, not %d", c.From, last.N)
				}
				if err := tlog.CheckTree(c.Proof, now.N, now.Hash, last.N, last.Hash); err != nil {
					return err
				}
			}
			for _, h := range heads {
				leaf := fmt.Sprintf("%s %d %d %v", h.TenantID, h.Writer, h.Size, h.Root)
				if err := tlog.CheckRecord(h.Proof, now.N, now.Hash, h.Index, tlog.RecordHash([]byte(leaf))); err != nil {
					return err
				}
			}
			proven += len(heads)
			heads = nil
			checkpoints++
			last = now
		case line.Next == "":
			return fmt.Errorf("not a line of an export")
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(heads) > 0 || checkpoints == 0 {
		return fmt.Errorf("the last checkpoint is missing")
	}
	for writer, t := range trees {
		if part := fmt.Sprintf(":%d", t.size); !slices.ContainsFunc(strings.Fields(text), func(field string) bool {
			return strings.HasPrefix(field, fmt.Sprintf("%d:", writer)) && strings.HasSuffix(field, part)
		}) {
			return fmt.Errorf("the end does not say that writer %d has %d records", writer, t.size)
		}
	}
	fmt.Printf("Go agrees: %d records, %d heads, %d checkpoints\n", records, proven, checkpoints)
	return nil
}

// A vector is one claim of Strongroom's own code. The leaves of its trees are the texts "leaf 0", "leaf 1" and so on.
type vector struct {
	Kind  string      `json:"kind"`
	Size  int64       `json:"size"`
	From  int64       `json:"from"`
	Index int64       `json:"index"`
	Root  tlog.Hash   `json:"root"`
	Proof []tlog.Hash `json:"proof"`
	Edge  []tlog.Hash `json:"edge"`
	Text  string      `json:"text"`
	Note  string      `json:"note"`
	Key   string      `json:"key"`
	// Signer is the private key in Go's encoding, so that Go can make the same note.
	Signer string `json:"signer"`
}

func checkVectors(path string) error {
	all := newTree()
	counts := map[string]int{}
	err := eachLine(path, func(line []byte) error {
		v := vector{}
		if err := json.Unmarshal(line, &v); err != nil {
			return err
		}
		for all.size < v.Size {
			if err := all.add(tlog.RecordHash(fmt.Appendf(nil, "leaf %d", all.size))); err != nil {
				return err
			}
		}
		counts[v.Kind]++
		switch v.Kind {
		case "root":
			return checkRoot(v, all)
		case "inclusion":
			return sameProof(v, func() ([]tlog.Hash, error) { return tlog.ProveRecord(v.Size, v.Index, all) })
		case "consistency":
			return sameProof(v, func() ([]tlog.Hash, error) { return tlog.ProveTree(v.Size, v.From, all) })
		case "note":
			return checkNote(v)
		}
		return fmt.Errorf("unknown vector %q", v.Kind)
	})
	if err != nil {
		return err
	}
	fmt.Printf("Go agrees: %d roots and edges, %d inclusion proofs, %d consistency proofs, %d notes\n",
		counts["root"], counts["inclusion"], counts["consistency"], counts["note"])
	return nil
}

func checkRoot(v vector, all *tree) error {
	root, err := tlog.TreeHash(v.Size, all)
	if err != nil || root != v.Root {
		return fmt.Errorf("root of %d: Go has %v (%v), Strongroom %v", v.Size, root, err, v.Root)
	}
	cut, err := treeAt(v.Size, v.Edge)
	if err != nil {
		return err
	}
	if root, err := tlog.TreeHash(v.Size, cut); err != nil || root != v.Root {
		return fmt.Errorf("edge of %d leads to %v (%v)", v.Size, root, err)
	}
	return nil
}

func sameProof(v vector, prove func() ([]tlog.Hash, error)) error {
	proof, err := prove()
	if err != nil || !slices.Equal(proof, v.Proof) {
		return fmt.Errorf("%s %d %d in %d: Go has %v (%v), Strongroom %v", v.Kind, v.Index, v.From, v.Size, proof, err, v.Proof)
	}
	return nil
}

func checkNote(v vector) error {
	verifier, err := note.NewVerifier(v.Key)
	if err != nil {
		return err
	}
	opened, err := note.Open([]byte(v.Note), note.VerifierList(verifier))
	if err != nil || opened.Text != v.Text {
		return fmt.Errorf("note: %v", err)
	}
	signer, err := note.NewSigner(v.Signer)
	if err != nil {
		return err
	}
	signed, err := note.Sign(&note.Note{Text: v.Text}, signer)
	if err != nil || string(signed) != v.Note {
		return fmt.Errorf("Go signs another note: %q (%v)", signed, err)
	}
	return nil
}
