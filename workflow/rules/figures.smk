# Tables and statistics to figures. Each figure is one module of fittest.figures.


rule draw_figure:
    "A figure as PDF, SVG and PNG, with the tidy data it was drawn from."
    input:
        tables=lambda w: figure_inputs(w.figure),
        code=lambda w: code("fittest.figures.drawing", FIGURES[w.figure].module),
    output:
        report(
            root / "figures/{figure}.png",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
        multiext(str(root / "figures/{figure}"), ".pdf", ".svg", ".csv"),
    log:
        root / "logs/figures/{figure}.log",
    params:
        stem=lambda w: root / "figures" / w.figure,
    shell:
        "fittest --log {log:q} figure {wildcards.figure} {input.tables:q} -o {params.stem:q}"


rule figure_2:
    "Fig. 2: signals over training, and a dead and a surviving circle on their planes."
    input:
        lambda w: figure_files("figure_2"),


rule figure_3:
    "Fig. 3: principal planes against Fourier planes, and singular values."
    input:
        lambda w: figure_files("figure_3"),


rule figure_6:
    "Fig. 6 left: survival rate against initial signal."
    input:
        lambda w: figure_files("figure_6"),


rule figure_5:
    "Fig. 5: number of circles against prime modulus and against dimension."
    input:
        lambda w: figure_files("figure_5"),


rule figure_10:
    "Fig. 10: number of circles against weight decay."
    input:
        lambda w: figure_files("figure_10"),


rule figure_14:
    "Fig. 14: number of circles against every modulus, primes marked."
    input:
        lambda w: figure_files("figure_14"),


rule arithmetic:
    "The same trials in float64, float32 exact and float32 naive: signals, loss, survivors."
    input:
        lambda w: figure_files("arithmetic"),


rule engines:
    "The same trials by each engine: early agreement and outcomes."
    input:
        lambda w: figure_files("engines"),


rule decision_time:
    "How early survival is decided: AUC of the signal at each step."
    input:
        lambda w: figure_files("decision_time"),


rule figures:
    "All figures of the design."
    input:
        [figure_files(name) for name in figure_names()],
