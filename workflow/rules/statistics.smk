# Tables to statistics: one row a number, with its interval, baseline and sample size.


rule correlate:
    "Initial signal against survival rate: Pearson, logistic regression, counts."
    input:
        tables=[
            root / "tables/{experiment}/rates.nc",
            root / "tables/{experiment}/survival.nc",
        ],
        code=code("fittest.statistics"),
    output:
        root / "statistics/{experiment}/correlation.csv",
    log:
        root / "logs/statistics/{experiment}-correlation.log",
    shell:
        "fittest --log {log:q} statistics correlation {input.tables:q} -o {output:q}"


rule time_decision:
    "How early survival is decided: AUC of the signal at each step."
    input:
        tables=root / "tables/{experiment}/timeline.nc",
        code=code("fittest.statistics"),
    output:
        root / "statistics/{experiment}/decision.csv",
    log:
        root / "logs/statistics/{experiment}-decision.log",
    shell:
        "fittest --log {log:q} statistics decision {input.tables:q} -o {output:q}"


rule compare:
    "The same trials in several ways: early agreement, parting, and outcomes."
    input:
        tables=[
            root / "tables/{experiment}/course.nc",
            root / "tables/{experiment}/survival.nc",
        ],
        code=code("fittest.comparison"),
    output:
        root / "statistics/{experiment}/comparison.csv",
    log:
        root / "logs/statistics/{experiment}-comparison.log",
    shell:
        "fittest --log {log:q} statistics comparison {input.tables:q} -o {output:q}"


rule count:
    "Number of surviving circles along an axis, and its rank correlation with it."
    input:
        tables=root / "tables/{experiment}/survival.nc",
        code=code("fittest.counts"),
    output:
        root / "statistics/{experiment}/counts.csv",
    log:
        root / "logs/statistics/{experiment}-counts.log",
    shell:
        "fittest --log {log:q} statistics counts {input.tables:q} -o {output:q}"


rule statistics:
    "All statistics of the design (CSV)."
    input:
        layout.statistics(),
