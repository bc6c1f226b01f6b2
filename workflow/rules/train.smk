# Embeddings and training. The shell lines are one stable command each: everything that shapes a
# number stands in params, which Snakemake compares, and what only says where to run does not.


rule draw_embedding:
    "A shared base embedding with its spectrum."
    output:
        root / "embeddings/p~{p}/d~{d}/embedding~{embedding}.h5",
    log:
        root / "logs/draw_embedding/p~{p}-d~{d}-embedding~{embedding}.log",
    params:
        seed=design.seed,
        # Snakemake compares values without their names: not a bare number, or it and the seed
        # could change places unseen.
        version=f"training version {TRAINING_VERSION}",
    shell:
        "fittest --log {log:q} embed {output:q} --p {wildcards.p} --d {wildcards.d}"
        " --index {wildcards.embedding} --seed {params.seed}"


rule train:
    "A block of trials of one cell, trained as an ensemble."
    input:
        unpack(training_inputs),
    output:
        root
        / "trajectories/{protocol}/p~{p}/d~{d}/wd~{wd}/width~{width}"
        / "embedding~{embedding}/intervention~{intervention}/trials~{trials}.h5",
    log:
        root
        / "logs/train/{protocol}/p~{p}/d~{d}/wd~{wd}/width~{width}"
        / "embedding~{embedding}/intervention~{intervention}/trials~{trials}.log",
    threads: settings.threads
    resources:
        gpu=lambda w: asked(w).gpu,
        mem_mb=lambda w, attempt: asked(w, attempt).mem_mb,
        runtime=lambda w, attempt: asked(w, attempt).runtime,
    params:
        protocol=lambda w: known_protocol(w.protocol).identity,
        seed=design.seed,
        version=f"training version {TRAINING_VERSION}",
        files=lambda w, input: [f"--{name}={path}" for name, path in input.items()],
    shell:
        # exec: a signal sent to the job reaches the training process itself.
        "exec fittest --log {log:q} train {output:q} --protocol {params.protocol:q}"
        " --seed {params.seed} {params.files:q} --engine {settings.engine:q}"
        " --device {settings.device:q} --threads {threads}"


rule train_by_engine:
    "A block trained by an engine that its experiment names, to compare engines."
    input:
        unpack(training_inputs),
    output:
        root
        / "engines/{engine}/trajectories/{protocol}/p~{p}/d~{d}/wd~{wd}/width~{width}"
        / "embedding~{embedding}/intervention~{intervention}/trials~{trials}.h5",
    log:
        root
        / "logs/engines/{engine}/{protocol}/p~{p}/d~{d}/wd~{wd}/width~{width}"
        / "embedding~{embedding}/intervention~{intervention}/trials~{trials}.log",
    threads: settings.threads
    resources:
        gpu=lambda w: asked(w, engine=w.engine).gpu,
        mem_mb=lambda w, attempt: asked(w, attempt, w.engine).mem_mb,
        runtime=lambda w, attempt: asked(w, attempt, w.engine).runtime,
        # Not a parameter: where a job runs must retrain nothing.
        device=lambda w: device_of(w.engine, settings.device),
    params:
        protocol=lambda w: known_protocol(w.protocol).identity,
        seed=design.seed,
        version=f"training version {TRAINING_VERSION}",
        files=lambda w, input: [f"--{name}={path}" for name, path in input.items()],
    shell:
        "exec fittest --log {log:q} train {output:q} --protocol {params.protocol:q}"
        " --seed {params.seed} {params.files:q} --engine {wildcards.engine:q}"
        " --device {resources.device:q} --threads {threads}"


rule trajectories:
    "All training of the design."
    input:
        [path for name in design.experiments for path in layout.trajectories(name)],
