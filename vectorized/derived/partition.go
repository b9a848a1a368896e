package derived

import (
	"errors"
	"fmt"
)

// Partition writes the facts of one source partition. It is used by one goroutine; rows of each table come in its order:
// by key, then transaction ID bytes, revision and offset, or by key and day, or by offset.
type Partition struct {
	writer     *Writer
	partition  int32
	authority  *tableFile[Authority]
	evidence   *tableFile[Evidence]
	conflict   *tableFile[Conflict]
	day        *tableFile[Day]
	status     *tableFile[Status]
	quarantine *tableFile[Quarantine]
}

// Partition begins the files of a source partition. The caller calls Finish or Abandon.
func (w *Writer) Partition(partition int32) (*Partition, error) {
	p := &Partition{writer: w, partition: partition}
	var errs [6]error
	p.authority, errs[0] = create[Authority](w, fileName(TableAuthority, partition))
	p.evidence, errs[1] = create[Evidence](w, fileName(TableEvidence, partition))
	p.conflict, errs[2] = create[Conflict](w, fileName(TableConflict, partition))
	p.day, errs[3] = create[Day](w, fileName(TableDay, partition))
	p.status, errs[4] = create[Status](w, fileName(TableStatus, partition))
	p.quarantine, errs[5] = create[Quarantine](w, fileName(TableQuarantine, partition))
	if err := errors.Join(errs[:]...); err != nil {
		p.Abandon()
		return nil, fmt.Errorf("write partition %d of a dataset: %w", partition, err)
	}
	return p, nil
}

// Authority adds a row.
func (p *Partition) Authority(row Authority) error { return p.authority.add(row) }

// Evidence adds a row.
func (p *Partition) Evidence(row Evidence) error { return p.evidence.add(row) }

// Conflict adds a row.
func (p *Partition) Conflict(row Conflict) error { return p.conflict.add(row) }

// Day adds a row.
func (p *Partition) Day(row Day) error { return p.day.add(row) }

// Status adds a row.
func (p *Partition) Status(row Status) error { return p.status.add(row) }

// Quarantine adds a row.
func (p *Partition) Quarantine(row Quarantine) error { return p.quarantine.add(row) }

// Finish completes all files of the partition, which had so many accepted records; each quarantine row is a rejected one.
func (p *Partition) Finish(accepted int64) error {
	var files []File
	var errs []error
	finish := func(table Table, end func(Table, int32) (File, error)) {
		file, err := end(table, p.partition)
		files, errs = append(files, file), append(errs, err)
	}
	finish(TableAuthority, p.authority.finish)
	finish(TableEvidence, p.evidence.finish)
	finish(TableConflict, p.conflict.finish)
	finish(TableDay, p.day.finish)
	finish(TableStatus, p.status.finish)
	finish(TableQuarantine, p.quarantine.finish)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("write partition %d of a dataset: %w", p.partition, err)
	}
	return p.writer.complete(Part{Partition: p.partition, Accepted: accepted, Rejected: p.quarantine.rows, Files: files})
}

// Abandon closes the files; the dataset cannot be published any more.
func (p *Partition) Abandon() {
	if p.authority != nil {
		p.authority.abandon()
	}
	if p.evidence != nil {
		p.evidence.abandon()
	}
	if p.conflict != nil {
		p.conflict.abandon()
	}
	if p.day != nil {
		p.day.abandon()
	}
	if p.status != nil {
		p.status.abandon()
	}
	if p.quarantine != nil {
		p.quarantine.abandon()
	}
}
