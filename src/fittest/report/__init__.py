"""The report: one HTML page, complete in itself: the ledger, the figures, how to redo each."""
