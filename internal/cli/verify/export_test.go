package verify

// Write lets tests print a report in both formats without running the verb twice.
var Write = write
