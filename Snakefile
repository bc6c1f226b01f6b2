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
