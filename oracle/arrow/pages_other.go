//go:build !linux

package arrow

import "github.com/apache/arrow-go/v18/arrow/memory"

// defaultAllocator is the allocator of an Engine without one.
var defaultAllocator = memory.DefaultAllocator
