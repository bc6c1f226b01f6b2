# fittest: which representation does a network learn?
#
#   design ─► embeddings ─► trajectories ─► tables ─► statistics ─► figures, claims ─► report
#
# Data flows left to right, one file a stage; docs/architecture.md says why. The design named in
# config/config.yaml (or --config design=NAME) is read and checked before any job runs.

from snakemake.utils import min_version

min_version("9.0")


configfile: "config/config.yaml"


rule all:
    "Everything of the design: trajectories, tables, statistics, figures and the ledger."
    input:
        # Trajectories too: Snakemake does not miss a deleted file whose tables are there.
        lambda w: [
            *rules.trajectories.input,
            *rules.tables.input,
            *rules.statistics.input,
            *rules.figures.input,
            *(rules.claims.output if statistics_read(layout) else []),
        ],


include: "workflow/rules/common.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/statistics.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/report.smk"


# On a cluster: training, and tables, which read gigabytes, are jobs of the scheduler. The rest takes
# seconds, less than sending it, and runs beside Snakemake on as many cores as --local-cores says. Not
# as a group of jobs: all that follows training hangs together, so it would be one group that waits
# for the last training, adds up its members' memory, and starts anew when one figure fails.
localrules:
    draw_embedding,
    compute_statistics,
    draw_figure,
    claims,
    report,
