package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
)

// The files of a set beside the Parquet ones. progressName has the shape of snapshot.json and names the files that are
// complete but not published.
const (
	indexName    = "snapshot.json"
	progressName = "progress.json"
	// partialSuffix marks the folder in which a new set is written.
	partialSuffix = ".partial"
)

// Writer exports a history into a folder. It is for one goroutine. After an error of Append or Close only Abort is
// left; what was complete stays for a later Create.
type Writer struct {
	storage storage
	dir     string // the final name
	folder  string // where files are written: dir when appending, dir.partial for a new set
	lock    *folderLock
	decoder *decode.Decoder
	// items and locations are those of the stock keys, by index.
	items, locations [][]byte
	limits           limits
	index            Index   // of the complete files
	next             []int64 // the lowest offset that is still missing, by partition
	lanes            []*lane // by partition, nil before the first record
	// encoders are the idle ones, as many as groups may be in work; groups are empty ones.
	encoders  chan *encoder
	groups    chan *group
	failed    error
	published bool
}

// Create begins an export into dir: a new set, or more of the published or interrupted one that is there. Its history
// must be the same but for a later end, otherwise the error is a *MismatchError; it is a *HeldError while another
// export runs. Errors name the folder. A folder that is no snapshot is refused unless it is empty.
func Create(dir string, ns *manifests.Namespace, meta Meta) (*Writer, error) {
	return create(disk{}, standard, dir, ns, meta)
}

// create is Create on any storage and with any limits.
func create(s storage, l limits, dir string, ns *manifests.Namespace, meta Meta) (*Writer, error) {
	dir = filepath.Clean(dir)
	if err := meta.check(); err != nil {
		return nil, fmt.Errorf("export to %s: %w", dir, err)
	}
	if len(meta.Starts) != int(ns.Spec.Source.Partitions) {
		return nil, fmt.Errorf("export to %s: %d partitions, the manifest has %d", dir, len(meta.Starts), ns.Spec.Source.Partitions)
	}
	w := &Writer{storage: s, dir: dir, decoder: decode.New(ns), limits: l}
	w.encoders = make(chan *encoder, runtime.GOMAXPROCS(0))
	for range cap(w.encoders) {
		w.encoders <- &encoder{}
	}
	w.groups = make(chan *group, len(meta.Starts)+cap(w.encoders))
	for _, k := range ns.Spec.StockKeys {
		w.items, w.locations = append(w.items, []byte(k.Item)), append(w.locations, []byte(k.Location))
	}
	if err := w.enter(); err != nil {
		return nil, fmt.Errorf("export to %s: %w", dir, err)
	}
	if err := w.resume(meta); err != nil {
		return nil, fmt.Errorf("export to %s: %w", dir, errors.Join(err, w.lock.release()))
	}
	return w, nil
}

// enter finds the folder to write in, makes it and locks it.
func (w *Writer) enter() error {
	published, err := exists(filepath.Join(w.dir, indexName))
	if err != nil {
		return err
	}
	w.folder = w.dir
	if !published {
		if err := refuseForeign(w.dir); err != nil {
			return err
		}
		w.folder = w.dir + partialSuffix
		if err := os.MkdirAll(w.folder, 0o750); err != nil {
			return err
		}
	}
	w.lock, err = lockFolder(w.folder)
	return err
}

// refuseForeign fails if there is something at a path that publishing would not replace.
func refuseForeign(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("the folder is not empty and has no %s", indexName)
	}
	return err
}

// resume takes over the published and the complete files of the folder, and removes what an interruption left.
func (w *Writer) resume(meta Meta) error {
	w.index = Index{Version: Version, Meta: meta, Raw: true, Files: []File{}}
	w.next = slices.Clone(meta.Starts)
	w.lanes = make([]*lane, len(meta.Starts))
	published, err := readIndex(filepath.Join(w.folder, indexName))
	if err != nil {
		return err
	}
	if published != nil {
		if err := w.takeOver(published, published.Ends); err != nil {
			return err
		}
	}
	progress, err := readIndex(filepath.Join(w.folder, progressName))
	if err != nil {
		return err
	}
	if progress != nil && holdsAll(progress, published) {
		if err := w.takeOver(progress, progress.Starts); err != nil {
			return err
		}
	}
	return w.removeStrays()
}

// readIndex reads a file of the shape of snapshot.json; nil where there is none.
func readIndex(path string) (*Index, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	x, err := parseIndex(data)
	if err != nil {
		return nil, &FileError{path, err}
	}
	return x, nil
}

// holdsAll reports whether a progress goes on where the published set ends. One that does not was left by an export
// that ended between publishing and tidying up.
func holdsAll(progress, published *Index) bool {
	if published == nil {
		return true
	}
	for _, f := range published.Files {
		if !slices.Contains(progress.Files, f) {
			return false
		}
	}
	return true
}

// takeOver makes the files of an earlier export the first of this one; covered are offsets that it is complete up to.
func (w *Writer) takeOver(earlier *Index, covered []int64) error {
	if err := w.index.Meta.extends(&earlier.Meta); err != nil {
		return err
	}
	if !earlier.Raw {
		return &MismatchError{What: "raw", Have: "false", Want: "true"}
	}
	w.index.Files = earlier.Files
	for p, end := range covered {
		w.next[p] = max(w.next[p], end)
	}
	for _, f := range earlier.Files {
		w.next[f.Partition] = max(w.next[f.Partition], f.LastOffset+1)
	}
	return nil
}

// removeStrays deletes Parquet files that are not complete and drafts of small ones.
func (w *Writer) removeStrays() error {
	entries, err := os.ReadDir(w.folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		known := slices.ContainsFunc(w.index.Files, func(f File) bool { return f.Name == name })
		if known || !fileNames.MatchString(name) && filepath.Ext(name) != ".tmp" {
			continue
		}
		if err := w.storage.remove(filepath.Join(w.folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// Next is the first offset of each partition that the folder does not hold yet: where the export has to read on.
func (w *Writer) Next() []int64 { return slices.Clone(w.next) }

// Append adds records, those of each partition in offset order, from Next on and below the ends. They may be reused
// afterwards.
func (w *Writer) Append(records []engine.Record) error {
	if w.failed != nil {
		return w.failed
	}
	for i := range records {
		if err := w.append(&records[i]); err != nil {
			w.failed = fmt.Errorf("export to %s: %w", w.dir, err)
			return w.failed
		}
	}
	return nil
}

// append adds one record.
func (w *Writer) append(r *engine.Record) error {
	p := r.Partition
	if p < 0 || int(p) >= len(w.next) || r.Offset < w.next[p] || r.Offset >= w.index.Ends[p] {
		return fmt.Errorf("partition %d, offset %d: the record is out of order or outside the exported range", p, r.Offset)
	}
	if w.lanes[p] == nil {
		n := 0
		for _, f := range w.index.Files {
			if f.Partition == p {
				n++
			}
		}
		w.lanes[p] = newLane(w, p, n/2)
	}
	if err := w.lanes[p].append(r); err != nil {
		return err
	}
	w.next[p] = r.Offset + 1
	return nil
}

// takeGroup returns an empty group.
func (w *Writer) takeGroup() *group {
	g := &group{}
	select {
	case g = <-w.groups:
	default:
	}
	g.reset()
	return g
}

// giveGroup takes the memory of a group back.
func (w *Writer) giveGroup(g *group) {
	select {
	case w.groups <- g:
	default:
	}
}

// note notes complete files of a partition, so that a later export goes on behind them.
func (w *Writer) note(p int32, files []File) error {
	at, _ := slices.BinarySearchFunc(w.index.Files, p+1, func(f File, p int32) int { return cmp.Compare(f.Partition, p) })
	w.index.Files = slices.Insert(slices.Clone(w.index.Files), at, files...)
	return w.save(progressName)
}

// save writes the index under a name.
func (w *Writer) save(name string) error {
	data, err := w.index.render()
	if err != nil {
		return err
	}
	return replace(w.storage, filepath.Join(w.folder, name), data)
}

// Close completes all files, publishes the set, and ends the export. Until it returns nil the final name holds what it
// held before.
func (w *Writer) Close() error {
	if w.failed == nil {
		if err := w.publish(); err != nil {
			w.failed = fmt.Errorf("export to %s: %w", w.dir, err)
		}
	}
	if w.failed != nil {
		return w.failed
	}
	w.published = true
	return w.lock.release()
}

// publish makes the new set visible, in one rename.
func (w *Writer) publish() error {
	for _, l := range w.lanes {
		if l != nil && l.open != nil {
			if err := l.hand(); err != nil {
				return err
			}
		}
	}
	w.closeLanes()
	for _, l := range w.lanes {
		if l == nil {
			continue
		}
		if err := l.wait(); err != nil { // notes the last files
			return err
		}
	}
	if err := w.save(indexName); err != nil {
		return err
	}
	progress := filepath.Join(w.folder, progressName)
	if left, err := exists(progress); err == nil && left {
		if err := w.storage.remove(progress); err != nil && w.folder != w.dir {
			return err
		}
	}
	if w.folder == w.dir {
		return nil
	}
	if err := w.storage.syncFolder(w.folder); err != nil {
		return err
	}
	if empty, err := exists(w.dir); err != nil {
		return err
	} else if empty { // renaming a folder does not replace even an empty one everywhere
		if err := w.storage.remove(w.dir); err != nil {
			return err
		}
	}
	if err := w.storage.rename(w.folder, w.dir); err != nil {
		return err
	}
	return w.storage.syncFolder(filepath.Dir(w.dir))
}

// closeLanes completes the files of all lanes. They wait for the disk at the same time.
func (w *Writer) closeLanes() {
	var all sync.WaitGroup
	for _, l := range w.lanes {
		if l == nil {
			continue
		}
		all.Go(func() {
			if l.busy != nil {
				<-l.busy
			}
			if l.failed == nil {
				l.failed = guard(l.writer.close)
			}
		})
	}
	all.Wait()
}

// Abort ends the export without publishing. Complete files stay for a later Create. After Close succeeded it does
// nothing.
func (w *Writer) Abort() error {
	if w.published {
		return nil
	}
	w.published = true
	if w.failed == nil {
		w.failed = errors.New("the export was aborted")
	}
	var errs []error
	for p, l := range w.lanes {
		if l == nil {
			continue
		}
		if l.busy != nil {
			<-l.busy
		}
		if l.writer.pair != nil {
			errs = append(errs, l.writer.pair.discard(w.storage))
		}
		w.lanes[p] = nil
	}
	return errors.Join(append(errs, w.lock.release())...)
}
