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
        caption=root / "figures/{figure}.txt",
    log:
        root / "logs/figures/{figure}.log",
    params:
        stem=lambda w: root / "figures" / w.figure,
    shell:
        "fittest --log {log:q} figure {wildcards.figure} {input.tables:q} -o {params.stem:q}"


# A target of its own for each figure, so that people can type its name.
for _name, _figure in FIGURES.items():

    rule:
        name:
            _name
        input:
            lambda w, name=_name: figure_files(name),

    workflow.get_rule(_name).docstring = _figure.title


rule figures:
    "All figures of the design."
    input:
        [figure_files(name) for name in figure_names()],
