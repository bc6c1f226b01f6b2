# Trajectories to tables. Each lists the package's files it comes from: an edit there remakes it.


rule make_table:
    "A table of an experiment, from its trajectories or from its other tables."
    input:
        files=lambda w: table_inputs(w.experiment, w.table),
        code=lambda w: code(TABLES[w.table].module),
    output:
        root / "tables/{experiment}/{table}.nc",
    log:
        root / "logs/tables/{experiment}-{table}.log",
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        taken=lambda w: taken(w.experiment, w.table),
    shell:
        # The command finds the trajectories itself: thousands of paths are too long for a shell.
        "fittest --log {log:q} table {wildcards.table} --experiment {wildcards.experiment}"
        " --design {settings.design_path:q} --results {root:q} -o {output:q}"


rule tables:
    "All tables of the design (NetCDF)."
    input:
        layout.tables(),
