# Trajectories to tables. Each lists the package's files it comes from: an edit there remakes it.


rule gather_survival:
    "Who survived, by every rule at every horizon."
    input:
        trajectories=lambda w: trajectories_of(w.experiment),
        code=code("fittest.tables"),
    output:
        root / "tables/{experiment}/survival.nc",
    log:
        root / "logs/tables/{experiment}-survival.log",
    params:
        survival=design.survival.model_dump_json(),
        horizons=design.horizons,
        by_engine=lambda w: by_engine(w.experiment),
    shell:
        "fittest --log {log:q} table survival {input.trajectories:q} -o {output:q}"
        " --design {settings.design_path:q} {params.by_engine}"


rule gather_timeline:
    "Signals and scores at log-spaced steps, with each circle's fate."
    input:
        trajectories=lambda w: trajectories_of(w.experiment),
        code=code("fittest.tables"),
    output:
        root / "tables/{experiment}/timeline.nc",
    log:
        root / "logs/tables/{experiment}-timeline.log",
    params:
        survival=design.survival.model_dump_json(),
        horizons=design.horizons,
    shell:
        "fittest --log {log:q} table timeline {input.trajectories:q} -o {output:q}"
        " --design {settings.design_path:q}"


rule gather_course:
    "The same trials in several ways: scores, circles and distances at every recorded step."
    input:
        trajectories=lambda w: trajectories_of(w.experiment),
        code=code("fittest.course"),
    output:
        root / "tables/{experiment}/course.nc",
    log:
        root / "logs/tables/{experiment}-course.log",
    params:
        survival=design.survival.model_dump_json(),
        by_engine=lambda w: by_engine(w.experiment),
    shell:
        "fittest --log {log:q} table course {input.trajectories:q} -o {output:q}"
        " --design {settings.design_path:q} {params.by_engine}"


rule gather_trial:
    "Trial 0 of an experiment's first cell, at full time resolution."
    input:
        trajectories=lambda w: trajectories_of(w.experiment)[0],
        code=code("fittest.tables"),
    output:
        root / "tables/{experiment}/trial.nc",
    log:
        root / "logs/tables/{experiment}-trial.log",
    params:
        survival=design.survival.model_dump_json(),
    shell:
        "fittest --log {log:q} table trial {input.trajectories:q} -o {output:q}"
        " --design {settings.design_path:q}"


rule rate_survival:
    "Survival rate of every circle over trials, with its interval."
    input:
        table=root / "tables/{experiment}/survival.nc",
        code=code("fittest.survival"),
    output:
        root / "tables/{experiment}/rates.nc",
    log:
        root / "logs/tables/{experiment}-rates.log",
    shell:
        "fittest --log {log:q} table rates {input.table:q} -o {output:q}"


rule tables:
    "All tables of the design (NetCDF)."
    input:
        layout.tables(),
