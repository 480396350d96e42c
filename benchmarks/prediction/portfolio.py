#!/usr/bin/env python3
"""Makes a portfolio from the trials of `prediction_benchmark collect` (docs/prediction.md).

    portfolio.py trials.jsonl... > db/portfolio/nvidia-h200.strict.jsonl

It selects the configurations greedily, so that the best of them comes as near as possible to the
best of all, and fits the correction of the cost model's time of each: a Gaussian process of
log(microseconds / cycles) over the shapes, by a set of centres. Scales and noise are chosen by
cross-validation, in which no shape is predicted from itself. What it finds goes to standard error.
Needs numpy.
"""
import argparse
import itertools
import json
import sys

import numpy as np

FAR = np.log(3.0)  # the loss that a configuration without a time counts with
FOLDS = 8


def read(paths):
    """The shapes of all files; a later line replaces an earlier one of the same shape."""
    shapes = {}
    for path in paths:
        with open(path) as lines:
            for line in lines:
                try:
                    shape = json.loads(line)
                except ValueError:  # the line during which the run was cut
                    continue
                shapes[(shape["m"], shape["n"], shape["k"], shape["layout"])] = shape
    return [shape for shape in shapes.values() if shape["best_us"] > 0]


def features(shape):
    """As shape_features() in src/app/prediction/shape_kernel.cpp."""
    return [np.log2(shape["m"]), np.log2(shape["n"]), np.log2(shape["k"]),
            float(shape["layout"][0] == "T"), float(shape["layout"][1] == "T"),
            0.0 if shape["aligned"] else 1.0]


class Trials:
    """Logarithms of times and cycles, shape by configuration; NaN where there is none."""

    def __init__(self, shapes):
        self.x = np.array([features(shape) for shape in shapes])
        keys = sorted({key(entry) for shape in shapes for entry in shape["entries"]})
        self.keys = keys
        place = {name: i for i, name in enumerate(keys)}
        self.us = np.full((len(shapes), len(keys)), np.nan)
        self.cycles = np.full((len(shapes), len(keys)), np.nan)
        for i, shape in enumerate(shapes):
            for entry in shape["entries"]:
                column = place[key(entry)]
                self.cycles[i, column] = np.log(entry["cycles"])
                # One that does not run counts as far behind.
                self.us[i, column] = np.log(entry["us"] if "us" in entry else 3 * shape["best_us"])
        self.best = np.nanmin(self.us, axis=1)
        self.loss = np.where(np.isnan(self.us), FAR, np.minimum(self.us - self.best[:, None], FAR))


def key(entry):
    return (entry["template"], entry["space_version"], entry["configuration"])


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


def likeness(a, b, scales):
    """As likeness() in src/app/prediction/shape_kernel.cpp."""
    steps = (a[:, None, :] - b[None, :, :]) / scales
    distance = np.sqrt(3 * (steps ** 2).sum(axis=2))
    return (1 + distance) * np.exp(-distance)


def spread(x, count):
    """Shapes far from each other: each is the farthest from those before it."""
    if len(x) <= count:
        return np.arange(len(x))
    chosen = [int(np.argmin(((x - x.mean(axis=0)) ** 2).sum(axis=1)))]
    distance = ((x - x[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < count:
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, ((x - x[chosen[-1]]) ** 2).sum(axis=1))
    return np.array(sorted(chosen))


def fit(x, y, centres, scales, noise):
    """Means, and weights by subset of regressors; a time that is not known is the model's."""
    mean = np.nanmean(y, axis=0)
    rest = np.where(np.isnan(y), 0, y - mean)
    across = likeness(x, centres, scales)
    among = likeness(centres, centres, scales) + 1e-6 * np.eye(len(centres))
    weights = np.linalg.solve(across.T @ across + noise * among, across.T @ rest)
    return mean, weights


def cross_validated(x, y, scales, noise, most_centres):
    """The predictions for each shape from shapes of other folds."""
    result = np.empty_like(y)
    fold = np.arange(len(x)) % FOLDS
    for one in range(FOLDS):
        held, kept = fold == one, fold != one
        centres = x[kept][spread(x[kept] / scales, most_centres)]
        mean, weights = fit(x[kept], y[kept], centres, scales, noise)
        result[held] = mean + likeness(x[held], centres, scales) @ weights
    return result


def chosen_loss(trials, columns, predicted):
    """The loss of the configuration with the best predicted time, for each shape."""
    time = np.where(np.isnan(trials.cycles[:, columns]), np.inf,
                    trials.cycles[:, columns] + predicted)
    choice = np.argmin(time, axis=1)
    return trials.loss[:, columns][np.arange(len(choice)), choice]


def search_scales(trials, columns, y, most_centres):
    """The scales and the noise with which the choice loses least in cross-validation."""
    best = None
    for size, layout, aligned, noise in itertools.product(
            (1, 1.5, 2.5, 4, 7), (3, 8), (1.5, 4), (0.003, 0.01, 0.03, 0.1, 0.3)):
        scales = np.array([size, size, size, layout, layout, aligned])
        predicted = cross_validated(trials.x, y, scales, noise, most_centres)
        loss = chosen_loss(trials, columns, predicted)
        squares = np.nanmean((predicted - y) ** 2)
        # The error of the times breaks ties: choices among a few hundred shapes are noisy.
        score = loss.mean() + 0.1 * squares
        if best is None or score < best[0]:
            best = (score, scales, noise, predicted)
    return best[1:]


def rounded(values, digits):
    return [float(f"{value:.{digits}g}") for value in values]


def percent(loss):
    return 100 * np.exp(-np.mean(loss))


def note(text):
    print(text, file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trials", nargs="+")
    parser.add_argument("--size", type=int, default=64, help="configurations at most")
    parser.add_argument("--centres", type=int, default=256, help="shapes at most")
    parser.add_argument("--math", default="strict")
    options = parser.parse_args()

    shapes = read(options.trials)
    classes = {shape["device_class"] for shape in shapes}
    if len(classes) != 1:
        sys.exit(f"portfolio.py: the trials are of {len(classes)} device classes")
    trials = Trials(shapes)
    columns = select(trials.loss, options.size)
    oracle = trials.loss[:, columns].min(axis=1)
    note(f"{len(shapes)} shapes, {len(trials.keys)} configurations; a portfolio of {len(columns)} "
         f"reaches {percent(oracle):.2f} % of the best, {100 * np.exp(-oracle.max()):.1f} % at least")
    for size in (4, 8, 16, 32, 48):
        note(f"  of {size}: {percent(trials.loss[:, columns[:size]].min(axis=1)):.2f} %")

    y = trials.us[:, columns] - trials.cycles[:, columns]
    model = chosen_loss(trials, columns, np.zeros_like(y))
    scales, noise, predicted = search_scales(trials, columns, y, options.centres)
    loss = chosen_loss(trials, columns, predicted)
    error = np.sqrt(np.nanmean((predicted - y) ** 2, axis=0))
    note(f"scales {scales.tolist()}, noise {noise}; errors of times {100 * error.mean():.1f} %")
    note(f"the choice by the model alone reaches {percent(model):.2f} %, "
         f"{100 * np.exp(-model.max()):.1f} % at least; corrected, in cross-validation, "
         f"{percent(loss):.2f} %, {100 * np.exp(-loss.max()):.1f} % at least")

    centres = trials.x[spread(trials.x / scales, options.centres)]
    mean, weights = fit(trials.x, y, centres, scales, noise)
    print(json.dumps({"device_class": classes.pop(), "device_label": shapes[0]["device_label"],
                      "math": options.math, "scales": scales.tolist()}))
    print(json.dumps({"centres": [rounded(centre, 6) for centre in centres]},
                     separators=(",", ":")))
    for i, column in enumerate(columns):
        template, version, configuration = trials.keys[column]
        print(json.dumps({"template": template, "space_version": version,
                          "configuration": configuration, "mean": round(float(mean[i]), 5),
                          "error": round(float(error[i]), 4),
                          "weights": rounded(weights[:, i], 4)}, separators=(",", ":")))
    print_templates(trials, columns)


def print_templates(trials, columns):
    """What the templates without an entry are off by, for their other configurations."""
    off = trials.us - trials.cycles
    chosen = {trials.keys[column][0] for column in columns}
    for template, version in sorted({name[:2] for name in trials.keys}):
        of_template = [i for i, name in enumerate(trials.keys) if name[0] == template]
        if template not in chosen:
            print(json.dumps({"template": template, "space_version": version,
                              "mean": round(float(np.nanmean(off[:, of_template])), 5),
                              "error": round(float(np.nanstd(off[:, of_template])), 4)},
                             separators=(",", ":")))


if __name__ == "__main__":
    main()
