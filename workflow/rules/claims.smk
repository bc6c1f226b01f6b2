# Statistics to the ledger: each claim of the paper, judged by the rule fixed for it.


rule claims:
    "The ledger: every claim of the paper with what was measured and the verdict."
    input:
        statistics=list(statistics_read(layout).values()),
        tables=tables_read(layout),
        code=code("fittest.ledger.making"),
    output:
        report(
            root / "claims/claims.md",
            category="Claims",
            labels={"claims": "ledger"},
        ),
        multiext(str(root / "claims/claims"), ".nc", ".csv", "-parts.csv"),
    log:
        root / "logs/claims.log",
    params:
        # They stand in the ledger beside the verdicts.
        design=[design.title, sizes_text(design, PAPER)],
        stem=root / "claims/claims",
    shell:
        "fittest --log {log:q} claims --design {settings.design_path:q} --results {root:q}"
        " -o {params.stem:q}"
