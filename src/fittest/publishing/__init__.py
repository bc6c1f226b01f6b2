"""Results small enough to keep beside the code: tables, figures, ledger, and how to redraw them."""
