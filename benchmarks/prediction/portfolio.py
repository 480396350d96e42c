#!/usr/bin/env python3
"""Makes a portfolio from the trials of `prediction_benchmark collect` (docs/prediction.md).

    prediction_benchmark features trials.jsonl features.jsonl
    portfolio.py features.jsonl > db/portfolio/nvidia-h200.strict.jsonl

It selects the configurations greedily, so that the best of them comes as near as possible to the
best of all, and fits the correction of the cost model's times: gradient-boosted trees that predict
log(microseconds / cycles) from the features of a configuration and a shape. In cross-validation no
shape is predicted from itself. What it finds goes to standard error. Needs numpy and catboost.
"""
import argparse
import json
import sys
import tempfile

import numpy as np
from catboost import CatBoostRegressor

FAR = np.log(3.0)  # the loss that a configuration without a time counts with
FOLDS = 8
LEAF_UNIT = 1e-4  # as kLeafUnit in src/select/portfolio.cpp
TREES = dict(iterations=400, learning_rate=0.1, depth=6, l2_leaf_reg=1, border_count=64,
             random_seed=1, thread_count=-1, verbose=False, allow_writing_files=False)


def read(path):
    """The names of the features, and the shapes; a later line replaces one of the same shape."""
    shapes = {}
    with open(path) as lines:
        names = json.loads(next(lines))["features"]
        for line in lines:
            shape = json.loads(line)
            shapes[(shape["m"], shape["n"], shape["k"], shape["layout"])] = shape
    return names, [shape for shape in shapes.values() if shape["best_us"] > 0]


def key(entry):
    return (entry["template"], entry["space_version"], entry["configuration"])


class Trials:
    """One row for each trial; the loss is the logarithm by which it is behind its shape's best."""

    def __init__(self, shapes):
        self.keys = sorted({key(entry) for shape in shapes for entry in shape["entries"]})
        place = {name: i for i, name in enumerate(self.keys)}
        rows = [(i, place[key(entry)], entry, shape["best_us"])
                for i, shape in enumerate(shapes) for entry in shape["entries"]]
        self.shape = np.array([row[0] for row in rows])
        self.configuration = np.array([row[1] for row in rows])
        self.features = np.array([row[2]["features"] for row in rows], dtype=np.float32)
        self.cycles = np.log([row[2]["cycles"] for row in rows])
        # One that does not run counts as far behind.
        us = np.log([row[2].get("us", 3 * row[3]) for row in rows])
        self.off = us - self.cycles
        self.loss = np.minimum(us - np.log([row[3] for row in rows]), FAR)
        self.table = np.full((len(shapes), len(self.keys)), FAR)
        self.table[self.shape, self.configuration] = self.loss


def select(loss, most):
    """Adds the column that lowers the mean loss most, until there are enough or none helps."""
    chosen, now = [], np.full(len(loss), FAR)
    while len(chosen) < most:
        gains = np.maximum(now[:, None] - loss, 0).mean(axis=0)
        gains[chosen] = 0
        best = int(np.argmax(gains))
        if gains[best] < 1e-5:
            break
        chosen.append(best)
        now = np.minimum(now, loss[:, best])
    return chosen


def fit(trials, weights, rows):
    return CatBoostRegressor(**TREES).fit(trials.features[rows], trials.off[rows],
                                          sample_weight=weights[rows])


def cross_validated(trials, weights):
    """The predictions for each trial from the trials of other shapes."""
    result = np.empty_like(trials.off)
    for fold in range(FOLDS):
        held = trials.shape % FOLDS == fold
        result[held] = fit(trials, weights, ~held).predict(trials.features[held])
    return result


def chosen_loss(trials, rows, predicted):
    """The loss of the configuration with the best predicted time, for each shape."""
    time = np.full(trials.table.shape, np.inf)
    time[trials.shape[rows], trials.configuration[rows]] = (trials.cycles + predicted)[rows]
    return trials.table[np.arange(len(time)), np.argmin(time, axis=1)]


def trees_of(model):
    """CatBoost's trees in the form of src/select/correction_trees.hpp."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        model.save_model(file.name, format="json")
        saved = json.load(file)
    asked, thresholds, leaves = [], [], []
    for tree in saved["oblivious_trees"]:
        # A tree that asks less is filled up with questions that are always answered by no.
        splits = [(split["float_feature_index"], split["border"]) for split in tree["splits"]]
        splits += [(0, 1e9)] * (TREES["depth"] - len(splits))
        asked += [feature for feature, _ in splits]
        thresholds += [float(f"{border:.7g}") for _, border in splits]
        values = tree["leaf_values"]
        values += [0.0] * (2 ** TREES["depth"] - len(values))
        leaves += [round(value / LEAF_UNIT) for value in values]
    scale, (bias,) = saved["scale_and_bias"]
    assert scale == 1
    return {"depth": TREES["depth"], "bias": bias, "asked": asked, "thresholds": thresholds,
            "leaves": leaves}


def percent(loss):
    return f"{100 * np.exp(-np.mean(loss)):.2f} %, {100 * np.exp(-np.max(loss)):.1f} % at least"


def note(text):
    print(text, file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trials", help="file of prediction_benchmark features")
    parser.add_argument("--size", type=int, default=64, help="configurations at most")
    options = parser.parse_args()

    names, shapes = read(options.trials)
    classes = {shape["device_class"] for shape in shapes}
    if len(classes) != 1:
        sys.exit(f"portfolio.py: the trials are of {len(classes)} device classes")
    trials = Trials(shapes)
    columns = select(trials.table, options.size)
    note(f"{len(shapes)} shapes, {len(trials.keys)} configurations; a portfolio of {len(columns)} "
         f"reaches {percent(trials.table[:, columns].min(axis=1))} of the best")
    for size in (4, 8, 16, 32, 48):
        note(f"  of {size}: {percent(trials.table[:, columns[:size]].min(axis=1))}")

    # The trees shall tell good candidates of the portfolio apart; others count little.
    rows = np.isin(trials.configuration, columns)
    weights = np.where(rows, 1, 0.1) * (0.2 + np.exp(-trials.loss / 0.2))
    predicted = cross_validated(trials, weights)
    note(f"the choice by the model alone reaches {percent(chosen_loss(trials, rows, 0 * predicted))}"
         f"; corrected, in cross-validation, {percent(chosen_loss(trials, rows, predicted))}")

    print(json.dumps({"device_class": classes.pop(), "device_label": shapes[0]["device_label"],
                      "math": shapes[0].get("math", "strict")}))
    sizes = np.log2([[shape["m"], shape["n"], shape["k"]] for shape in shapes])
    measured = [[float(low), float(high)] for low, high in zip(sizes.min(0), sizes.max(0))]
    errors = []
    for template, version in sorted({name[:2] for name in trials.keys}):
        of_template = [name[0] == template for name in trials.keys]
        near = np.array(of_template)[trials.configuration] & (trials.loss < np.log(1.5))
        error = np.sqrt(np.mean((predicted - trials.off)[near] ** 2)) if near.any() else 0.5
        note(f"{template}: error of times {100 * error:.1f} %")
        errors.append({"template": template, "space_version": version, "error": round(float(error), 4)})
    print(json.dumps({"features": names, "measured": measured, "errors": errors,
                      **trees_of(fit(trials, weights, np.full(len(rows), True)))},
                     separators=(",", ":")))
    for column in columns:
        template, version, configuration = trials.keys[column]
        print(json.dumps({"template": template, "space_version": version,
                          "configuration": configuration}, separators=(",", ":")))


if __name__ == "__main__":
    main()
