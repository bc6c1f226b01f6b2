"""A design says what is trained, and a wrong one is refused before any job runs."""

import json
import math
from pathlib import Path

import jsonschema
import pytest

from fittest.cells import Cell
from fittest.design import blocks, design_name, load_design, parse_design, schema
from fittest.errors import DesignError
from fittest.protocol import Protocol
from fittest.recording import gradient_steps, network_steps, recorded_steps, snapshot_steps
from fittest.yaml_files import read_yaml

CONFIG = Path(__file__).parents[2] / "config"
SHIPPED = ["smoke", "quick", "laptop", "paper"]


def shipped(name: str):
    return load_design(CONFIG / "designs" / f"{name}.yaml")


def axes_of(**axes) -> dict[str, list]:
    data = {"experiments": {"mine": {"trials": 50, "axes": axes}}}
    return parse_design(data).experiments["mine"].axes.expanded()


# The designs that are shipped


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_design_loads_and_runs_initial_signal(name):
    design = shipped(name)
    assert design.title
    assert "initial-signal" in design.experiments
    assert all(blocks(design, experiment) for experiment in design.experiments)


def test_the_paper_design_trains_ten_embeddings_for_fifty_trials_of_thirty_thousand_steps():
    design = shipped("paper")
    experiment = design.experiments["initial-signal"]
    assert experiment.cells() == [Cell(embedding=str(i)) for i in range(10)]
    assert experiment.trials == 50
    protocol = design.protocols[experiment.protocol[0]]
    assert protocol == Protocol()  # the defaults are the paper's
    assert protocol.steps == 30_000
    assert protocol.optimizer.model_dump() == {
        "name": "adamw",
        "lr": 0.01,
        "betas": [0.9, 0.999],
        "eps": 1e-8,
    }
    assert (protocol.train_share, protocol.init.mlp, protocol.loss) == (0.8, "uniform", "exact")


def test_the_quick_design_is_few_jobs():
    design = shipped("quick")
    paths = {block.path for name in design.experiments for block in blocks(design, name)}
    assert 0 < len(paths) <= 64


# Axes and their generators


def test_a_value_left_out_is_the_papers_default():
    assert axes_of() == {
        "p": [59],
        "d": [128],
        "weight_decay": [0.5],
        "width": [100],
        "embedding": ["0"],
        "intervention": ["none"],
    }


def test_perturbation_expands_to_fifty_factors_from_085_to_115():
    sweep = {"scale": {"frequency": 25, "factor": {"linspace": [0.85, 1.15, 50]}}}
    texts = axes_of(intervention=sweep)["intervention"]
    assert len(set(texts)) == 50
    assert all(text.startswith("scale-25-") for text in texts)
    factors = [float(text.removeprefix("scale-25-")) for text in texts]
    exact = [0.85 + 0.3 * i / 49 for i in range(50)]
    assert factors == pytest.approx(exact, rel=5e-6)
    assert texts[:2] + texts[-1:] == ["scale-25-0.85", "scale-25-0.856122", "scale-25-1.15"]


@pytest.mark.parametrize(("phase", "spelt"), [({}, "circle"), ({"phase": "line"}, "line")])
def test_construction_expands_to_sixteen_ratios_linear_in_the_exponent(phase, spelt):
    ratio = {"geomspace": [math.exp(-4), 1, 16]}
    texts = axes_of(intervention={"construct": {"ratio": ratio, **phase}})["intervention"]
    ratios = [float(text.removeprefix(f"construct-{spelt}-")) for text in texts]
    exact = [math.exp(-4 + 4 * i / 15) for i in range(16)]
    assert ratios == pytest.approx(exact, rel=5e-6)
    assert (texts[0], texts[-1]) == (f"construct-{spelt}-0.0183156", f"construct-{spelt}-1")


def test_the_primes_from_13_to_127_are_26():
    primes = axes_of(p={"primes": [13, 127]})["p"]
    assert primes == [
        *(13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97),
        *(101, 103, 107, 109, 113, 127),
    ]
    assert len(primes) == 26


def test_the_weight_decay_mix_of_values_and_generators_is_one_list_in_order():
    mix = [0, {"geomspace": [1e-4, 1e-2, 16]}, {"linspace": [0.1, 1.5, 15]}]
    values = axes_of(weight_decay=mix)["weight_decay"]
    assert len(values) == 32
    assert values == sorted(values)
    assert values[:2] + values[16:18] == [0, 1e-4, 0.01, 0.1]
    assert values[-15:] == [i / 10 for i in range(1, 16)]


@pytest.mark.parametrize(
    ("written", "values"),
    [
        (7, [7]),
        ([7, 5], [7, 5]),
        ({"range": [17, 97]}, list(range(17, 98))),
        ({"range": [10, 20, 5]}, [10, 15, 20]),
        ({"range": [10, 19, 5]}, [10, 15]),
        ({"range": [10, 10]}, [10]),
        ([4, {"primes": [5, 11]}], [4, 5, 7, 11]),
    ],
)
def test_an_axis_is_a_value_a_generator_or_a_list_of_both(written, values):
    assert axes_of(p=written)["p"] == values


def test_cells_are_the_product_of_the_axes_and_blocks_lie_on_the_grid():
    data = {
        "block": 10,
        "experiments": {"mine": {"trials": 20, "axes": {"p": [5, 7], "embedding": ["redrawn", 1]}}},
    }
    design = parse_design(data)
    assert design.experiments["mine"].cells() == [
        Cell(p=p, embedding=e) for p in (5, 7) for e in ("redrawn", "1")
    ]
    found = blocks(design, "mine")
    assert [(b.first, b.last) for b in found] == [(0, 9), (10, 19)] * 4
    assert len({b.path for b in found}) == 8


def test_more_trials_keep_the_blocks_there_are():
    few, many = (
        blocks(parse_design({"experiments": {"mine": {"trials": trials}}}), "mine")
        for trials in (50, 100)
    )
    assert many[: len(few)] == few


def test_experiments_that_name_a_cell_share_its_blocks_whatever_the_spelling():
    data = {
        "experiments": {
            "mine": {"trials": 50, "axes": {"weight_decay": 0.5, "intervention": "keep-7-3"}},
            "yours": {"trials": 50, "axes": {"d": [128], "intervention": ["keep-03-7"]}},
        }
    }
    design = parse_design(data)
    assert blocks(design, "mine") == blocks(design, "yours")


def test_a_cell_shared_in_unequal_blocks_is_split_by_what_divides_both():
    data = {
        "experiments": {
            "mine": {"trials": 60, "block": 30, "axes": {"p": [5, 7]}},
            "yours": {"trials": 20, "block": 20, "axes": {"p": [7, 11]}},
            "engines": {
                "trials": 40,
                "block": 40,
                "axes": {"p": 7},
                "engines": ["torch", "native"],
            },
        }
    }
    design = parse_design(data)
    sizes = {
        name: [(b.cell.p, len(b.trials)) for b in blocks(design, name)]
        for name in data["experiments"]
    }
    assert sizes["mine"] == [(5, 30)] * 2 + [(7, 10)] * 6
    assert sizes["yours"] == [(7, 10)] * 2 + [(11, 20)]
    assert sizes["engines"] == [(7, 40)]  # shared with nobody
    shared = [b for b in blocks(design, "mine") if b.cell.p == 7]
    assert blocks(design, "yours")[:2] == shared[:2]


def test_trials_are_in_one_file_with_those_they_are_made_from():
    kept = {"intervention": ["none", "keep-strongest-1-of-base", "keep-random-1"]}
    data = {
        "experiments": {
            "mine": {"trials": 12, "block": 4, "axes": kept},
            "yours": {"trials": 6, "block": 6},
        }
    }
    found = blocks(parse_design(data), "mine")
    sizes = [(b.cell.intervention, len(b.trials)) for b in found]
    assert (
        sizes
        == [("none", 2)] * 6 + [("keep-strongest-1-of-base", 2)] * 6 + [("keep-random-1", 4)] * 3
    )
    assert [b.base for b in found[6:12]] == found[:6]


# The identity of a protocol, and what it records


def test_the_identity_of_a_protocol_ignores_defaults_and_order():
    assert Protocol().identity == "{}"
    written = {"steps": 30000, "optimizer": {"lr": 0.01}, "record": {"every": 100}}
    assert Protocol.model_validate(written).identity == "{}"
    one = Protocol.model_validate({"steps": 500, "optimizer": {"eps": 1e-12, "lr": 0.02}})
    other = Protocol.model_validate({"optimizer": {"lr": 0.02, "eps": 1e-12}, "steps": 500})
    assert one.identity == other.identity
    assert json.loads(one.identity) == {"steps": 500, "optimizer": {"lr": 0.02, "eps": 1e-12}}


def test_a_protocol_records_every_value_in_full():
    full = json.loads(Protocol(activation="relu").full)
    assert set(full) == set(Protocol.model_fields)
    assert (full["activation"], full["steps"]) == ("relu", 30000)


def test_the_paper_protocol_records_every_step_to_1000_and_every_hundredth_after():
    record = Protocol().record
    assert recorded_steps(record, 30_000) == [*range(1001), *range(1100, 30_001, 100)]
    assert recorded_steps(record, 1050)[-2:] == [1000, 1050]
    assert recorded_steps(record, 3) == [0, 1, 2, 3]
    steps = gradient_steps(record, 30_000)
    assert steps == sorted(set(steps))
    assert (steps[0], steps[-1]) == (0, 30_000)
    assert 100 < len(steps) <= 151
    assert snapshot_steps(record, 10_000) == [0, 100, 300, 1000, 3000, 10_000]
    assert network_steps(record, 30_000) == []


def test_networks_are_stored_at_both_ends_and_every_so_many_steps():
    record = Protocol.model_validate({"record": {"networks": 100}}).record
    assert network_steps(record, 30_000) == list(range(0, 30_001, 100))
    assert network_steps(record, 250) == [0, 100, 200, 250]
    assert network_steps(record, 50) == [0, 50]


def test_a_protocol_without_networks_is_otherwise_the_same():
    stores = Protocol.model_validate({"steps": 70, "record": {"networks": 10, "every": 7}})
    plain = Protocol.model_validate({"steps": 70, "record": {"every": 7}})
    assert stores.without_networks == plain == plain.without_networks
    assert stores.identity != plain.identity


# The JSON schema


def test_the_schema_file_is_what_the_models_say():
    text = (CONFIG / "design.schema.json").read_text(encoding="utf-8")
    assert text == schema(), "run `fittest schema > config/design.schema.json`"


@pytest.mark.parametrize("name", SHIPPED)
def test_the_schema_accepts_every_shipped_design(name):
    jsonschema.validate(read_yaml(CONFIG / "designs" / f"{name}.yaml"), json.loads(schema()))


def test_the_schema_accepts_every_generator():
    axes = {
        "p": {"primes": [13, 127]},
        "d": [{"range": [4, 5]}, 128],
        "weight_decay": [0, {"geomspace": [1e-4, 1e-2, 16]}, {"linspace": [0.1, 1.5, 15]}],
        "embedding": [0, "redrawn"],
        "intervention": [
            "none",
            {"scale": {"frequency": 2, "factor": [0.5, {"linspace": [0.8, 1.2, 3]}]}},
            {"construct": {"phase": "line", "ratio": 0.5}},
        ],
    }
    data = {"experiments": {"mine": {"trials": 50, "axes": axes}}}
    jsonschema.validate(data, json.loads(schema()))
    parse_design(data)


@pytest.mark.parametrize(
    "data",
    [
        {"sed": 0},
        {"survival": {"relativ": 2.0}},
        {"protocols": {"standard": {"step": 5}}},
        {"protocols": {"standard": {"optimizer": {"rate": 0.1}}}},
        {"experiments": {"mine": {"trails": 50}}},
        {"experiments": {"mine": {"trials": 50, "axes": {"q": 59}}}},
        {"experiments": {"mine": {"trials": 50, "axes": {"p": {"prims": [3, 7]}}}}},
        {"experiments": {"mine": {"trials": 50, "axes": {"p": 2}}}},
        {"protocols": {"standard": {"activation": "gelu"}}},
    ],
)
def test_the_schema_rejects_what_the_models_reject(data):
    data = {"experiments": {"gradient": {"trials": 50}}} | data
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, json.loads(schema()))
    with pytest.raises(DesignError):
        parse_design(data)


# YAML


def test_yaml_reads_1e_minus_4_as_a_number(tmp_path):
    file = tmp_path / "numbers.yaml"
    file.write_text("[1e-4, 1E5, -2e-3, 1.5e3, 1e+2, '1e-4', e-4, 1e]")
    assert read_yaml(file) == [1e-4, 1e5, -2e-3, 1.5e3, 100.0, "1e-4", "e-4", "1e"]


def test_a_design_may_write_its_numbers_as_people_do(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("experiments: {mine: {trials: 50, axes: {weight_decay: 1e-4}}}")
    assert load_design(file).experiments["mine"].axes.expanded()["weight_decay"] == [1e-4]


# Bad designs: written text → what the message must say (key, value, allowed, nearest)

ONE = "experiments: {gradient: {trials: 50}}"


def top(text: str) -> str:
    return f"{text}\n{ONE}\n"


def protocol(text: str) -> str:
    return top(f"protocols: {{standard: {{{text}}}}}")


def axis(text: str) -> str:
    return f"experiments: {{gradient: {{trials: 50, axes: {{{text}}}}}}}"


def experiment(text: str) -> str:
    return f"experiments: {{gradient: {{{text}}}}}"


def named(name: str) -> str:
    return f"experiments: {{{name}: {{trials: 50}}}}"


P = "protocols.standard"
A = "experiments.gradient.axes"
E = "experiments.gradient"

BAD = {
    # misspelt keys, at every level
    "key of the design": (top("sed: 1"), "unknown key 'sed'", "'seed', 'block'", "mean 'seed'?"),
    "key of survival": (top("survival: {relativ: 2}"), "survival: unknown key 'relativ'",
                        "'relative', 'absolute', 'retained'", "mean 'relative'?"),
    "key of a protocol": (protocol("activaton: relu"), f"{P}: unknown key 'activaton'", "'loss'",
                          "mean 'activation'?"),
    "key of init": (protocol("init: {mpl: normal}"), f"{P}.init: unknown key 'mpl'",
                    "'embedding', 'mlp'", "mean 'mlp'?"),
    "key of optimizer": (protocol("optimizer: {beta: [0.9, 0.99]}"),
                         f"{P}.optimizer: unknown key 'beta'", "'name', 'lr', 'betas', 'eps'",
                         "mean 'betas'?"),
    "key of record": (protocol("record: {dense_util: 1}"), f"{P}.record: unknown key 'dense_util'",
                      "'every'", "mean 'dense_until'?"),
    "key of an experiment": (experiment("trails: 50"), f"{E}: unknown key 'trails'",
                             "'protocol', 'engines', 'axes', 'trials', 'block'", "mean 'trials'?"),
    "key of axes": (axis("widht: 10"), f"{A}: unknown key 'widht'", "'p', 'd', 'weight_decay'",
                    "mean 'width'?"),
    "key of a sweep": (axis("intervention: {scale: {freq: 25, factor: 1}}"),
                       f"{A}.intervention.scale: unknown key 'freq'", "'frequency', 'factor'",
                       "mean 'frequency'?"),
    # wrong types
    "text for a whole number": (top("seed: '1'"), "seed: ", "integer", "'1'"),
    "flag for a whole number": (top("seed: true"), "seed: ", "integer", "True"),
    "decimal for a whole number": (top("block: 5.0"), "block: ", "integer", "5.0"),
    "power for a whole number": (protocol("steps: 3e4"), f"{P}.steps", "integer", "30000.0"),
    "flag for a number": (protocol("optimizer: {lr: true}"), f"{P}.optimizer.lr", "number", "True"),
    "text for a number": (axis("weight_decay: '0.5'"), f"{A}.weight_decay", "number", "'0.5'"),
    "huge number": (axis(f"weight_decay: {'9' * 400}"), f"{A}.weight_decay", "number", "999"),
    "number for text": (top("title: 3"), "title: ", "string", "3"),
    "list for a mapping": (top("protocols: []"), "protocols: ", "mapping", "[]"),
    "list for axes": (experiment("trials: 50, axes: []"), f"{A}: ", "mapping", "[]"),
    "number for an experiment": ("experiments: {gradient: 50}", f"{E}: ", "mapping", "50"),
    "nothing for a protocol": (top("protocols: {standard: }"), f"{P}: ", "mapping", "None"),
    "nothing for an axis": (axis("p: null"), f"{A}.p: ", "integer", "None"),
    "value for a list": (protocol("frozen: embedding"), f"{P}.frozen", "list", "'embedding'"),
    "number for an intervention": (axis("intervention: 3"), f"{A}.intervention", "string", "3"),
    "list in a list": (axis("p: [[59]]"), f"{A}.p.0", "integer", "[59]"),
    "key that is not text": (top("1: 2"), "line 1", "key 1", "quotes"),
    "experiment named value": ("experiments: {value: {trials: x}}", "experiments.value.trials",
                               "integer", "'x'"),
    "experiment name with brackets": ("experiments: {'a[b]': {trials: x}}",
                                      "experiments.a[b].trials", "'x'"),
    # sizes
    "p = 1": (axis("p: 1"), f"{A}.p: ", "greater than or equal to 3", "not 1"),
    "p = 2": (axis("p: 2"), f"{A}.p: ", "greater than or equal to 3", "not 2"),
    "p too great": (axis("p: [59, 1001]"), f"{A}.p.1: ", "1000", "not 1001"),
    "d zero": (axis("d: 0"), f"{A}.d: ", "greater than or equal to 1", "not 0"),
    "d negative": (axis("d: -4"), f"{A}.d: ", "greater than or equal to 1", "not -4"),
    "width zero": (axis("width: 0"), f"{A}.width: ", "greater than or equal to 1", "not 0"),
    "steps zero": (protocol("steps: 0"), f"{P}.steps", "greater than or equal to 1", "not 0"),
    "block zero": (top("block: 0"), "block: ", "greater than or equal to 1", "not 0"),
    "seed negative": (top("seed: -1"), "seed: ", "greater than or equal to 0", "not -1"),
    "weight decay negative": (axis("weight_decay: -1"), f"{A}.weight_decay: ",
                              "greater than or equal to 0", "not -1"),
    "embedding negative": (axis("embedding: -1"), f"{A}.embedding: ", "-1", "'redrawn'"),
    "embedding misspelt": (axis("embedding: redrwan"), f"{A}.embedding: ", "'redrwan'",
                           "mean 'redrawn'?"),
    "embedding a flag": (axis("embedding: true"), f"{A}.embedding: ", "True", "'redrawn'"),
    "embedding range negative": (axis("embedding: {range: [-2, 3]}"), f"{A}.embedding: ", "-2"),
    # 2**32 - 1 is the place of embeddings redrawn per trial in the tree of seeds
    "embedding range too great": (axis("embedding: {range: [4294967295, 4294967295]}"),
                                  f"{A}.embedding: ", "4294967295", "2147483647"),
    "record every zero": (protocol("record: {every: 0}"), f"{P}.record.every", "1", "not 0"),
    "record negative": (protocol("record: {snapshots: [-1]}"), f"{P}.record.snapshots.0", "-1"),
    "networks without end": (protocol("steps: 2000000, record: {networks: 1}"), f"{P}.record: ",
                             "2000000 networks", "at most 10000"),
    "record without end": (protocol("steps: 2000000, record: {every: 1}"), f"{P}.record: ",
                           "2000000", "at most 1000000"),
    "threshold zero": (top("survival: {absolute: 0}"), "survival.absolute", "than 0", "not 0"),
    # trials and blocks
    "trials zero": (experiment("trials: 0"), f"{E}.trials", "greater than or equal to 1", "not 0"),
    "trials negative": (experiment("trials: -50"), f"{E}.trials", "equal to 1", "not -50"),
    "trials missing": (experiment(""), f"{E}.trials", "required"),
    "trials off the grid": (experiment("trials: 55"), f"{E}.trials: 55", "blocks of 50",
                            "50 or 100"),
    "trials below a block": (experiment("trials: 10"), f"{E}.trials: 10", "Nearest: 50;"),
    "trials off their own grid": (experiment("trials: 50, block: 20"), f"{E}.trials: 50",
                                  "40 or 60"),
    # names
    "experiment a letter away": (named("initial-signals"), "'initial-signals'",
                                 "mean 'initial-signal'?"),
    "experiment with capitals": (named("Mine"), "experiments: ", "'Mine'", "lower-case"),
    "experiment with a space": (named("'my own'"), "experiments: ", "'my own'", "lower-case"),
    "protocol with a slash": (top("protocols: {standard: {}, a/b: {}}"), "protocols: ", "'a/b'",
                              "lower-case"),
    "protocol that climbs": (top("protocols: {standard: {}, '..': {}}"), "protocols: ", "'..'",
                             "lower-case"),
    "unknown protocol": (experiment("trials: 50, protocol: standrad"), f"{E}.protocol",
                         "'standrad'", "Allowed: 'standard'", "mean 'standard'?"),
    "no protocol": (top("protocols: {}"), "protocols: {}", "'standard'"),
    "no experiments": ("seed: 1", "experiments: ", "required"),
    "empty experiments": ("experiments: {}", "experiments: ", "at least 1"),
    # values given twice
    "experiment twice": ("experiments: {mine: {trials: 50}, mine: {trials: 50}}", "'mine'",
                         "line 1", "twice"),
    "key twice": ("seed: 1\n" + top("seed: 2"), "'seed'", "line 2", "twice"),
    "value twice": (axis("p: [59, 61, 59]"), f"{A}.p: 59", "twice"),
    "value and generator overlap": (axis("p: [{range: [3, 5]}, 4]"), f"{A}.p: 4", "twice"),
    "values that round to one": (axis("weight_decay: [0.5, 0.50000001]"), f"{A}.weight_decay: 0.5",
                                 "twice"),
    "intervention in two spellings": (axis("intervention: [scale-25-0.5, scale-25-0.50]"),
                                      f"{A}.intervention: scale-25-0.5", "twice"),
    "horizon twice": (top("horizons: [1000, 1000]"), "horizons: [1000, 1000]", "twice"),
    "frozen twice": (protocol("frozen: [embedding, embedding]"), f"{P}.frozen", "once"),
    # generators
    "empty axis": (axis("p: []"), f"{A}.p: ", "at least 1", "[]"),
    "empty range": (axis("p: {range: [5, 3]}"), f"{A}.p.range", "[5, 3]", "first ≤ last"),
    "range of one number": (axis("p: {range: [3]}"), f"{A}.p.range", "at least 2", "[3]"),
    "range with step 0": (axis("p: {range: [3, 5, 0]}"), f"{A}.p.range", "[3, 5, 0]", "step 0"),
    "range of text": (axis("p: {range: [3, a]}"), f"{A}.p.range.1", "integer", "'a'"),
    "range below the limit": (axis("p: {range: [0, 5]}"), f"{A}.p: 0", "3 … 1000"),
    "range above the limit": (axis("p: {range: [3, 2000]}"), f"{A}.p: 1001", "3 … 1000"),
    "range without end": (axis("d: {range: [1, 10000000000]}"), f"{A}.d.range", "10000000000",
                          "10000 values"),
    "too many cells": (axis("d: {range: [1, 400]}, width: {range: [1, 400]}"), f"{A}: 160000",
                       "100000"),
    "no prime": (axis("p: {primes: [24, 28]}"), f"{A}.p.primes", "[24, 28]", "no prime"),
    "primes backwards": (axis("p: {primes: [28, 24]}"), f"{A}.p.primes", "[28, 24]", "no prime"),
    "linspace without count": (axis("weight_decay: {linspace: [0, 1]}"),
                               f"{A}.weight_decay.linspace", "at least 3", "[0, 1]"),
    "linspace of half a value": (axis("weight_decay: {linspace: [0, 1, 2.5]}"),
                                 f"{A}.weight_decay.linspace", "2.5", "1 … 10000"),
    "linspace of no value": (axis("weight_decay: {linspace: [0, 1, 0]}"),
                             f"{A}.weight_decay.linspace", "asks for 0", "1 … 10000"),
    "linspace of too many": (axis("weight_decay: {linspace: [0, 1, 1e5]}"),
                             f"{A}.weight_decay.linspace", "asks for 100000", "1 … 10000"),
    "linspace below the limit": (axis("weight_decay: {linspace: [-1, 1, 3]}"),
                                 f"{A}.weight_decay: -1", "0 … 1000"),
    "geomspace from 0": (axis("weight_decay: {geomspace: [0, 1, 3]}"),
                         f"{A}.weight_decay.geomspace", "[0.0, 1.0, 3.0]", "above 0"),
    "unknown generator": (axis("p: {prims: [3, 7]}"), f"{A}.p: ", "['prims']", "'range', 'primes'",
                          "mean 'primes'?"),
    "generator of another axis": (axis("d: {primes: [3, 7]}"), f"{A}.d: ", "['primes']", "'range'"),
    "two generators in one mapping": (axis("p: {range: [3, 5], primes: [7, 9]}"), f"{A}.p: ",
                                      "['range', 'primes']", "one to a mapping"),
    "empty generator": (axis("p: {}"), f"{A}.p: ", "[]", "'range', 'primes'"),
    "unknown generator in a sweep": (
        axis("intervention: {scale: {frequency: 25, factor: {linspc: [0, 1, 2]}}}"),
        f"{A}.intervention.scale.factor", "['linspc']", "mean 'linspace'?"),
    # not a number, infinity
    "decay nan": (axis("weight_decay: .nan"), f"{A}.weight_decay: ", "finite", "nan"),
    "decay infinite": (axis("weight_decay: .inf"), f"{A}.weight_decay: ", "finite", "inf"),
    "linspace to infinity": (axis("weight_decay: {linspace: [0, .inf, 3]}"),
                             f"{A}.weight_decay.linspace.1", "finite", "inf"),
    "count nan": (axis("weight_decay: {linspace: [0, 1, .nan]}"),
                  f"{A}.weight_decay.linspace.2", "finite", "nan"),
    "rate nan": (protocol("optimizer: {lr: .nan}"), f"{P}.optimizer.lr", "finite", "nan"),
    "threshold infinite": (top("survival: {relative: .inf}"), "survival.relative", "finite", "inf"),
    "factor nan": (axis("intervention: {scale: {frequency: 25, factor: .nan}}"),
                   f"{A}.intervention.scale.factor", "finite", "nan"),
    # words
    "unknown activation": (protocol("activation: gelu"), f"{P}.activation", "'gelu'",
                           "'silu', 'relu'", "mean 'relu'?"),
    "unknown arithmetic": (protocol("arithmetic: float16"), f"{P}.arithmetic", "'float16'",
                           "'float32', 'float64'"),
    "unknown loss": (protocol("loss: naiv"), f"{P}.loss", "'naiv'", "'exact', 'naive'",
                     "mean 'naive'?"),
    "unknown family": (protocol("family: cnn"), f"{P}.family", "'cnn'", "Allowed: 'mlp'"),
    "unknown operation": (protocol("operation: additon"), f"{P}.operation", "'additon'",
                          "mean 'addition'?"),
    "unknown optimiser": (protocol("optimizer: {name: adam}"), f"{P}.optimizer.name", "'adam'",
                          "mean 'adamw'?"),
    "unknown initialiser": (protocol("init: {mlp: unifrom}"), f"{P}.init.mlp", "'unifrom'",
                            "'uniform', 'normal'", "mean 'uniform'?"),
    "unknown frozen": (protocol("frozen: [mlp]"), f"{P}.frozen.0", "'mlp'", "'embedding'"),
    "list for a word": (protocol("activation: [silu]"), f"{P}.activation", "['silu']",
                        "'silu', 'relu'"),
    # numbers of the protocol
    "share 0": (protocol("train_share: 0"), f"{P}.train_share", "greater than 0", "not 0"),
    "share 1": (protocol("train_share: 1"), f"{P}.train_share", "less than 1", "not 1"),
    "share 1.5": (protocol("train_share: 1.5"), f"{P}.train_share", "less than 1", "not 1.5"),
    "share of no pair": (protocol("train_share: 1e-9"), f"{E}.protocol", "1e-09", "3481",
                         "at least one"),
    "betas too few": (protocol("optimizer: {betas: [0.9]}"), f"{P}.optimizer.betas", "2", "[0.9]"),
    "betas too many": (protocol("optimizer: {betas: [0.9, 0.9, 0.9]}"), f"{P}.optimizer.betas",
                       "at most 2", "[0.9, 0.9, 0.9]"),
    "beta 1": (protocol("optimizer: {betas: [0.9, 1.0]}"), f"{P}.optimizer.betas.1",
               "less than 1", "1.0"),
    "rate 0": (protocol("optimizer: {lr: 0}"), f"{P}.optimizer.lr", "greater than 0", "not 0"),
    "rate negative": (protocol("optimizer: {lr: -0.1}"), f"{P}.optimizer.lr", "than 0", "-0.1"),
    # horizons
    "horizon not recorded": (top("horizons: [1050]"), "horizons: 1050", "'standard'",
                             "nearest is 1000"),
    "horizon 0": (top("horizons: [0]"), "horizons.0", "greater than or equal to 1", "not 0"),
    "no horizon": (top("horizons: []"), "horizons: ", "at least 1", "[]"),
    # interventions
    "frequency 0": (axis("intervention: scale-0-1"), f"{A}.intervention: 'scale-0-1'",
                    "frequency 0", "1 … 29"),
    "frequency out of range": (axis("intervention: scale-30-1"), f"{A}.intervention: 'scale-30-1'",
                               "frequency 30", "1 … 29"),
    "frequency out of range of one p": (axis("p: [59, 31], intervention: scale-25-1"),
                                        "frequency 25", "p = 31", "1 … 15"),
    "frequency 0 in a sweep": (axis("intervention: {scale: {frequency: 0, factor: 1}}"),
                               f"{A}.intervention.scale.frequency", "equal to 1", "not 0"),
    "factor negative": (axis("intervention: {scale: {frequency: 2, factor: [1, -1]}}"),
                        f"{A}.intervention.scale: factor -1", "0 or more"),
    "factor infinite": (axis("intervention: scale-25-1e999"), f"{A}.intervention",
                        "'scale-25-1e999'", "finite"),
    "ratio negative": (axis("intervention: {construct: {ratio: {linspace: [-1, 1, 3]}}}"),
                       f"{A}.intervention.construct: ratio -1", "0 or more"),
    "phase misspelt": (axis("intervention: {construct: {phase: lines, ratio: 1}}"),
                       f"{A}.intervention.construct.phase", "'lines'", "'circle', 'line'",
                       "mean 'line'?"),
    "keeps more than there are": (axis("intervention: keep-random-30"),
                                  f"{A}.intervention: 'keep-random-30'", "there are 29"),
    "keeps a circle twice": (axis("intervention: keep-3-7-3"), f"{A}.intervention", "'keep-3-7-3'",
                             "twice"),
    "keeps nothing": (axis("intervention: keep-strongest-0-of-base"), f"{A}.intervention",
                      "'keep-strongest-0-of-base'", "at least 1"),
    "constructs at p = 3": (axis("p: 3, intervention: construct-circle-1"),
                            f"{A}.intervention: 'construct-circle-1'", "p = 3", "p ≥ 5"),
    "unknown intervention": (axis("intervention: scale-25"), f"{A}.intervention", "'scale-25'",
                             "'scale-K-FACTOR'"),
    # files that are no design
    "nothing": ("", "mapping", "None"),
    "a list": ("- seed", "mapping", "['seed']"),
    "not YAML": ("seed: [1", "not valid YAML", "line 1"),
    "two documents": (f"{ONE}\n---\n{ONE}", "not valid YAML", "line 2"),
    "python object": ("seed: !!python/object/apply:os.getcwd []", "not valid YAML",
                      "python/object/apply:os.getcwd"),
    "python name": ("seed: !!python/name:os.system ''", "not valid YAML", "python/name:os.system"),
    "tag on nothing": (top("seed: !!int ''"), "not valid YAML"),
    "tag on another type": (top("seed: !!bool no-flag"), "not valid YAML", "no-flag"),
    "tag on no date": (top("seed: !!timestamp today"), "not valid YAML"),
    "alias of itself": ("experiments: &a {mine: *a}", "experiments.mine"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_design_is_refused_with_key_value_and_remedy(name, tmp_path):
    text, *parts = BAD[name]
    file = tmp_path / "bad.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DesignError) as caught:
        load_design(file)
    message = str(caught.value)
    assert message.startswith(str(file))
    for part in parts:
        assert part in message


def test_every_problem_is_named_at_once():
    data = {
        "seed": -1,
        "protocols": {"standard": {"activation": "gelu"}},
        "experiments": {"gradient": {"trials": 50, "axes": {"p": 2, "d": 0}}},
    }
    with pytest.raises(DesignError) as caught:
        parse_design(data, "mine.yaml")
    lines = str(caught.value).splitlines()
    assert len(lines) == 4
    for key in ("seed", f"{P}.activation", f"{A}.p", f"{A}.d"):
        assert sum(line.startswith(f"mine.yaml: {key}: ") for line in lines) == 1


@pytest.mark.parametrize(
    "name",
    [
        "my own",
        "..",
        "it's",
        'a"b',
        "a;b",
        "Paper",
        "a_b",
        "-a",
        "$HOME",
        "published",
        "benchmarks",
    ],
)
def test_a_design_name_that_cannot_name_a_folder_is_refused(name, tmp_path):
    with pytest.raises(DesignError) as caught:
        design_name(tmp_path / f"{name}.yaml" if name != ".." else Path(".."))
    assert repr(name) in str(caught.value)
    assert "lower-case" in str(caught.value)
    if name != "..":
        (tmp_path / f"{name}.yaml").write_text(ONE)
        with pytest.raises(DesignError, match="is not allowed"):
            load_design(tmp_path / f"{name}.yaml")


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_design_is_named_by_its_file(name):
    assert design_name(CONFIG / "designs" / f"{name}.yaml") == name


def test_a_missing_file_is_refused_with_those_there_are_and_the_nearest():
    with pytest.raises(DesignError) as caught:
        load_design(CONFIG / "designs" / "papr.yaml")
    for part in ("papr.yaml", *(repr(name) for name in SHIPPED), "Did you mean 'paper'?"):
        assert part in str(caught.value)


@pytest.mark.parametrize("name", ["none/here.yaml", "x" * 300 + ".yaml", "."])
def test_a_path_that_is_no_file_is_refused(name, tmp_path):
    with pytest.raises(DesignError, match="no design"):
        load_design(tmp_path / name)


def test_a_file_that_is_not_utf_8_is_refused(tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_bytes("title: Größe\n".encode("latin-1") + ONE.encode())
    with pytest.raises(DesignError, match="not UTF-8") as caught:
        load_design(file)
    assert str(file) in str(caught.value)
