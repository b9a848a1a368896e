package verify

// Write lets tests print a report in several formats without running the verb twice.
var Write = write
