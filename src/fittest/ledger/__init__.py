"""The ledger: the paper's claims, the rules that judge them, and what this design's data say."""
