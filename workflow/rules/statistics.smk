# Tables to statistics: one row a number, with its interval, baseline and sample size.


rule compute_statistics:
    "Statistics of an experiment, from its tables."
    input:
        tables=lambda w: statistic_inputs(w.experiment, w.statistic),
        code=lambda w: code(STATISTICS[w.statistic].module),
    output:
        root / "statistics/{experiment}/{statistic}.csv",
    log:
        root / "logs/statistics/{experiment}-{statistic}.log",
    shell:
        "fittest --log {log:q} statistics {wildcards.statistic} {input.tables:q} -o {output:q}"


rule statistics:
    "All statistics of the design (CSV)."
    input:
        layout.statistics(),
