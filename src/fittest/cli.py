"""`fittest …`: every stage of the pipeline as a command, with Snakemake or without."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from fittest.analyses import STATISTICS, TABLES
from fittest.errors import DesignError, FittestError

log = logging.getLogger("fittest")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its status: 0 done, 1 an error of the user's, 130 stopped."""
    arguments = _parser().parse_args(argv)
    _set_up_logging(arguments.log)
    try:
        arguments.run(arguments)
    except FittestError as error:
        log.error("error: %s", error)
        return 1
    except OSError as error:
        log.error(
            "error: %s%s", error.strerror or error, f": {error.filename}" if error.filename else ""
        )
        return 1
    except KeyboardInterrupt:
        log.error("stopped; nothing half-written is left, and the same command starts again")
        return 130
    return 0


def _set_up_logging(log_file: Path | None) -> None:
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    if log_file is not None:
        log_file.parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(log_file, mode="w", encoding="utf-8"))
    for handler in handlers:
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", datefmt="%H:%M:%S"))
    # The package's own logger only: other libraries chatter.
    log.handlers = handlers
    log.setLevel(logging.INFO)
    log.propagate = False


# Each command imports what it needs when it runs: none but `train` ever imports torch.


def _embed(a: argparse.Namespace) -> None:
    from fittest.embeddings import write_embedding

    write_embedding(a.output, a.seed, a.p, a.d, a.index)


def _train(a: argparse.Namespace) -> None:
    from fittest.cells import Block
    from fittest.design import load_design, parse_protocol
    from fittest.errors import choices, suggestion
    from fittest.interventions import parse_intervention

    for name, value, least in (("--seed", a.seed, 0), ("--threads", a.threads, 1)):
        if value is not None and value < least:
            raise DesignError(f"{name} {value} is too small: give {least} or more")
    block = Block.from_path(a.output)
    parse_intervention(block.cell.intervention).check(block.cell.p, block.cell.d)
    seed = a.seed
    if a.design is not None:
        design = load_design(a.design)
        if block.protocol not in design.protocols:
            raise DesignError(
                f"{a.design} has no protocol {block.protocol!r}. Allowed: "
                f"{choices(design.protocols)}." + suggestion(block.protocol, design.protocols)
            )
        protocol = design.protocols[block.protocol]
        seed = design.seed if seed is None else seed
    else:
        protocol = parse_protocol(a.protocol, "--protocol")
    from fittest.training.block import train_block

    train_block(
        a.output,
        protocol,
        seed or 0,
        embedding_file=a.embedding,
        base_file=a.base,
        engine=a.engine,
        device=a.device,
        threads=a.threads,
    )


def _table(a: argparse.Namespace) -> None:
    from fittest.making import make_table

    make_table(
        a.kind,
        a.output,
        inputs=a.inputs,
        design=a.design,
        experiment=a.experiment,
        results=a.results,
        by_engine=a.by_engine,
    )


def _statistics(a: argparse.Namespace) -> None:
    from fittest.making import make_statistics

    make_statistics(a.kind, a.output, inputs=a.inputs)


def _figure(a: argparse.Namespace) -> None:
    from fittest.figures.drawing import draw_figure

    draw_figure(a.name, a.inputs, a.output)


def _claims(a: argparse.Namespace) -> None:
    from fittest.ledger.making import make_ledger

    make_ledger(a.design, a.results, a.output)


def _report(a: argparse.Namespace) -> None:
    from fittest.report.making import make_report

    make_report(a.design, a.results, a.output)


def _headline(a: argparse.Namespace) -> None:
    from fittest.headline import headline

    print(headline(a.folder))


def _publish(a: argparse.Namespace) -> None:
    from fittest.publishing.publish import missing_of, publish

    if a.missing:
        for path in missing_of(a.design, a.results, a.output):
            print(path)
    else:
        publish(a.design, a.results, a.output)


def _redraw(a: argparse.Namespace) -> None:
    from fittest.publishing.redraw import redraw

    log.info("%d figures drawn", redraw(a.folder))


def _schema(a: argparse.Namespace) -> None:
    from fittest.design import schema

    print(schema(), end="")


def _dictionary(a: argparse.Namespace) -> None:
    from fittest.dictionary import data_dictionary

    print(data_dictionary(), end="")


def _check(a: argparse.Namespace) -> None:
    from fittest.design import blocks, load_design

    for path in a.designs:
        design = load_design(path)
        for name, experiment in design.experiments.items():
            steps = sorted({design.protocols[p].steps for p in experiment.protocol})
            ways, some = max(1, len(experiment.engines)), blocks(design, name)
            trials = ways * sum(len(block.trials) for block in some)
            print(
                f"{path}: {name}: {trials} trials in {ways * len(some)} training jobs, "
                f"{' or '.join(map(str, steps))} steps each"
            )


def _plan(a: argparse.Namespace) -> None:
    from fittest.plan.coefficients import published
    from fittest.plan.report import page, text

    if a.cores < 1:
        raise DesignError(f"--cores {a.cores} is too small: give 1 or more")
    if a.markdown:
        print(page(a.designs, published()), end="")
    else:
        print(text(a.designs, published(), a.cores))


def _doctor(a: argparse.Namespace) -> None:
    from fittest.doctor import diagnose

    errors = 0
    for finding in diagnose(a.results, a.requirements, a.design):
        print(finding, flush=True)
        errors += finding.level == "error"
    if errors:
        raise FittestError(f"{errors} of these must be mended first")


def _fingerprint(a: argparse.Namespace) -> None:
    from fittest.training.fingerprint import record

    record(a.neutral)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fittest",
        description="Which representation does a network learn? Every stage as a command.",
    )
    parser.add_argument("--log", type=Path, help="also write messages to this file")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: object, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(run=run)
        return sub

    embed = command("embed", _embed, "draw a shared base embedding and its spectrum")
    embed.add_argument("output", type=Path)
    embed.add_argument("--p", type=int, required=True, help="modulus")
    embed.add_argument("--d", type=int, required=True, help="embedding dimension")
    embed.add_argument("--index", type=int, required=True, help="which of the seed's embeddings")
    embed.add_argument("--seed", type=int, default=0, help="the design's seed (default 0)")

    train = command("train", _train, "train the block of trials that the output's path spells")
    train.add_argument("output", type=Path, help="…/PROTOCOL/p~59/d~128/…/trials~0-49.h5")
    how = train.add_mutually_exclusive_group(required=True)
    how.add_argument("--design", type=Path, help="design file that has the protocol")
    how.add_argument("--protocol", help="the protocol's values as JSON; {} is all defaults")
    train.add_argument("--seed", type=int, help="the design's seed (default: the design's, or 0)")
    train.add_argument("--embedding", type=Path, help="file of the shared base embedding")
    train.add_argument("--base", type=Path, help="trajectory file of the unperturbed trials")
    train.add_argument(
        "--engine", default="auto", help="auto, native, native-avx512 (-avx2, -baseline) or torch"
    )
    train.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    train.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")

    table = command("table", _table, "make a table from trajectories, or from other tables")
    table.add_argument("kind", choices=TABLES)
    table.add_argument("inputs", type=Path, nargs="*", help="trajectory files or tables")
    table.add_argument("-o", "--output", type=Path, required=True)
    table.add_argument("--design", type=Path, help="design file, for thresholds and horizons")
    table.add_argument("--experiment", help="instead of inputs: whose files, by --design")
    table.add_argument("--results", type=Path, help="with --experiment: the design's results")
    table.add_argument("--by-engine", action="store_true", help="the engine is an axis, too")

    statistic = command("statistics", _statistics, "compute the statistics of an experiment")
    statistic.add_argument("kind", choices=STATISTICS)
    statistic.add_argument("inputs", type=Path, nargs="+", help="its tables")
    statistic.add_argument("-o", "--output", type=Path, required=True)

    figure = command("figure", _figure, "draw a figure as PDF, SVG and PNG, beside its data")
    figure.add_argument("name")
    figure.add_argument("inputs", type=Path, nargs="+", help="its tables and statistics")
    figure.add_argument("-o", "--output", type=Path, required=True, help="path without suffix")

    claims = command("claims", _claims, "judge the paper's claims on a design's statistics")
    claims.add_argument("--design", type=Path, required=True, help="design file")
    claims.add_argument("--results", type=Path, required=True, help="the design's results folder")
    claims.add_argument("-o", "--output", type=Path, required=True, help="path without suffix")

    page = command("report", _report, "write the ledger and figures as one HTML page")
    page.add_argument("--design", type=Path, required=True, help="design file")
    page.add_argument("--results", type=Path, required=True, help="the design's results folder")
    page.add_argument("-o", "--output", type=Path, required=True, help="the page")

    out = command("publish", _publish, "publish a design's results, without the trajectories")
    out.add_argument("--design", type=Path, required=True, help="design file")
    out.add_argument("--results", type=Path, required=True, help="the design's results folder")
    out.add_argument("-o", "--output", type=Path, required=True, help="results/published/DESIGN")
    out.add_argument("--missing", action="store_true", help="only list what is yet to be trained")

    again = command("redraw", _redraw, "draw every published figure from what is published")
    again.add_argument("folder", type=Path, help="results/published")

    line = command("headline", _headline, "print what a design's results say")
    line.add_argument("folder", type=Path, help="results folder of the design")

    check = command("check", _check, "check designs and say what they would train")
    check.add_argument("designs", type=Path, nargs="+")

    plan = command("plan", _plan, "say what designs would take: core-hours, GPU-hours, bytes")
    plan.add_argument("designs", type=Path, nargs="+")
    plan.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="default: all here")
    plan.add_argument("--markdown", action="store_true", help="the page docs/scaling.md")

    doctor = command("doctor", _doctor, "say what this machine lacks for a run, and the remedy")
    doctor.add_argument("--design", type=Path, help="compare the free disk with its plan")
    doctor.add_argument("--results", type=Path, default=Path("results"), help="default: results")
    doctor.add_argument("--requirements", type=Path, default=Path("requirements.txt"))

    command("schema", _schema, "print the JSON schema of a design file")
    command("dictionary", _dictionary, "print the data dictionary")
    mark = command("fingerprint", _fingerprint, "record the training code as it now is")
    mark.add_argument("--neutral", metavar="WHY", help="why the change alters no trained number")
    return parser


if __name__ == "__main__":
    sys.exit(main())
