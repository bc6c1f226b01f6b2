# Ledger and figures to one page that opens anywhere.


rule report:
    "One HTML page: the ledger, every figure with its caption, and how to redo each."
    input:
        claims=root / "claims/claims.nc",
        figures=[
            layout.figure(name, suffix)
            for name in figure_names()
            for suffix in ("png", "txt")
        ],
        code=code("fittest.report.making"),
    output:
        report(root / "report.html", category="Report"),
    log:
        root / "logs/report.log",
    params:
        # The page shows the design.
        design=settings.design_path.read_text(encoding="utf-8"),
    shell:
        "fittest --log {log:q} report --design {settings.design_path:q} --results {root:q}"
        " -o {output:q}"
