#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares gpubench's statistics with SciPy. Generated results go through `gpubench report` and `gpubench compare`, and
scipy.stats computes the same numbers. Skipped without Debian's python3-scipy."""
import json
import math
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

try:
    import numpy as np
    from scipy import stats
except ImportError:
    print("1..0 # SKIP no python3-scipy here")
    sys.exit(0)

METRICS = ("p1", "p2", "p3", "x1", "x2", "x3", "x4")


def document(rng, pairs, design="pairs", scale=.02):
    doc = {"schema": "gpubench/1", "tool": {"name": "gpubench", "version": "1", "suite_major": 1},
           "run": {"design": design, "seed": 1, "looks": [{"pairs": pairs, "alpha": .05}], "workloads": list(METRICS),
                   "interrupted": False, "duration_s": 10, "notes": []},
           "host": {"identity": "a"}, "treatment": {"declared": []}, "arms": {"a": "a", "b": "b"}, "settings": {},
           "confounders": [], "metrics": [], "launches": []}
    for m in METRICS:
        doc["metrics"].append({"id": m, "workload": m, "unit": "s", "direction": "lower", "tail": False, "margin": .01,
                               "role": "primary" if m[0] == "p" else "explore", "definition": m})
    seq = 0
    for block in range(pairs):
        for arm in "AB" if design == "pairs" else "A":
            for m in METRICS:
                effect = .01 * METRICS.index(m) * (arm == "B")
                value = math.exp(rng.normal(effect, scale))
                doc["launches"].append({"seq": seq, "block": block, "kind": "ab" if design == "pairs" else "single",
                                        "arm": arm, "workload": m, "t_s": seq, "failure": None, "wrong": None,
                                        "metrics": {m: {"warmup": 0, "samples": [value]}}})
                seq += 1
    return doc


def logs(doc, metric, arm):
    return np.log([run["metrics"][metric]["samples"][0] for run in doc["launches"]
                   if run["workload"] == metric and run["arm"] == arm])


def gpubench(*args, files):
    with tempfile.TemporaryDirectory() as where:
        paths = []
        for i, doc in enumerate(files):
            paths.append(os.path.join(where, f"{i}.json"))
            with open(paths[-1], "w", encoding="utf-8") as f:
                json.dump(doc, f)
        done = subprocess.run([os.path.join(tap.BUILD, "gpubench"), *args, *paths, "--json"], capture_output=True, text=True,
                              check=False)
    return json.loads(done.stdout)


def close(name, ours, theirs, bad, tol=1e-7):
    if ours is None or not abs(ours - theirs) <= tol * max(1, abs(theirs)):
        bad.append(f"{name}: {ours} here, {theirs} by SciPy")


def pct(x):
    return 100 * math.expm1(x)


def paired(doc, out, bad):
    raw = {}
    for row in out["comparisons"]:
        m = row["metric"]
        d = logs(doc, m, "B") - logs(doc, m, "A")
        test = stats.permutation_test((d,), np.mean, permutation_type="samples", n_resamples=np.inf)
        raw[m] = test.pvalue
        close(f"{m} p", row["p"], test.pvalue, bad)
        close(f"{m} change", row["change_pct"], pct(np.mean(d)), bad)
        t = stats.ttest_1samp(d, 0)
        half = stats.t.ppf(.975, len(d) - 1) * stats.sem(d)
        close(f"{m} t p", row["t_interval"]["p"], t.pvalue, bad)
        close(f"{m} t low", row["t_interval"]["ci_low_pct"], pct(np.mean(d) - half), bad)
        close(f"{m} t high", row["t_interval"]["ci_high_pct"], pct(np.mean(d) + half), bad)
        walsh = [(d[i] + d[j]) / 2 for i in range(len(d)) for j in range(i, len(d))]
        close(f"{m} Hodges-Lehmann", row["hodges_lehmann_pct"], pct(np.median(walsh)), bad)
        df = len(d) - 1
        mde = (stats.t.ppf(.975, df) + stats.t.ppf(.8, df)) * stats.sem(d)
        close(f"{m} MDE", row["mde_pct"], pct(mde), bad)
        # The interval inverts the test: at its ends the shifted differences are just not rejected.
        for end, out_by in (("ci_low_pct", -1e-6), ("ci_high_pct", 1e-6)):
            at = math.log1p(row[end] / 100)
            inside = stats.permutation_test((d - at + out_by,), np.mean, permutation_type="samples", n_resamples=np.inf)
            beyond = stats.permutation_test((d - at - out_by,), np.mean, permutation_type="samples", n_resamples=np.inf)
            if not inside.pvalue > .05 >= beyond.pvalue:
                bad.append(f"{m} {end}: p {inside.pvalue} just inside, {beyond.pvalue} just outside")
    return raw


def adjusted(out, raw, bad):
    """Computes Holm and Benjamini-Hochberg by definition (SciPy 1.10 has neither)."""
    first = sorted(p for m, p in raw.items() if m[0] == "p")
    rest = sorted(p for m, p in raw.items() if m[0] != "p")
    for row in out["comparisons"]:
        p = raw[row["metric"]]
        if row["family"] == "holm":
            want = max(min(1, first[k] * (len(first) - k)) for k in range(len(first)) if first[k] <= p)
        else:
            want = min(min(1, rest[k] * len(rest) / (k + 1)) for k in range(len(rest)) if rest[k] >= p)
        close(f"{row['metric']} {row['family']}", row["p_adjusted"], want, bad)


def unpaired(a, b, out, bad):
    for row in out["comparisons"]:
        x, y = logs(a, row["metric"], "A"), logs(b, row["metric"], "A")
        close(f"{row['metric']} Welch p", row["p"], stats.ttest_ind(y, x, equal_var=False).pvalue, bad)
        close(f"{row['metric']} Welch change", row["change_pct"], pct(np.mean(y) - np.mean(x)), bad)


def designed(factors, spare, seed, lost, bad):
    """Each change's effect is the least-squares estimate over the remaining pairs. The rows of the design are orthogonal."""
    done = subprocess.run([os.path.join(tap.BUILD, "tests/peers/design_case"), *map(str, (factors, spare, seed, lost))],
                          capture_output=True, text=True, check=True)
    out = json.loads(done.stdout)
    signs = np.array(out["signs"], dtype=float)
    if not np.array_equal(signs.T @ signs, len(signs) * np.eye(factors)):
        bad.append("two changes go together more often than not")
    if len(signs) < factors + spare:
        bad.append(f"{len(signs)} rows for {factors} changes and {spare} to spare")
    x = signs[[int(i) for i, _ in out["pairs"]]]
    y = np.array([v for _, v in out["pairs"]])
    want, (rss,), rank, _ = np.linalg.lstsq(x, y, rcond=None)
    if not out["fitted"] or rank < factors:
        bad.append(f"fitted: {out['fitted']}, rank {rank}")
        return
    df = len(y) - factors
    half = stats.t.ppf(.975, df)
    for k, (est, lo, hi, p) in enumerate(out["effects"]):
        se = math.sqrt(rss / df * np.linalg.inv(x.T @ x)[k, k])
        close(f"effect {k}", est, want[k], bad)
        close(f"low {k}", lo, want[k] - half * se, bad)
        close(f"high {k}", hi, want[k] + half * se, bad)
        close(f"p {k}", p, 2 * stats.t.sf(abs(want[k] / se), df), bad)


def main():
    rng = np.random.default_rng(5)
    for pairs in (6, 9, 12):
        doc = document(rng, pairs)
        out = gpubench("report", files=[doc])
        bad = []
        raw = paired(doc, out, bad)
        tap.rule(f"{pairs} pairs of {len(METRICS)} metrics: sign-flip test, its interval, t, Hodges-Lehmann, MDE", bad)
        bad = []
        adjusted(out, raw, bad)
        tap.rule(f"{pairs} pairs: Holm on the primaries, Benjamini-Hochberg on the rest", bad)
    a, b = document(rng, 9, "single"), document(rng, 11, "single", .05)
    bad = []
    unpaired(a, b, gpubench("compare", files=[a, b]), bad)
    tap.rule("two files: Welch's test of log-ratios", bad)
    for factors, spare, lost in ((7, 8, 0), (7, 8, 3), (12, 10, 0), (16, 12, 5), (63, 12, 2)):
        bad = []
        designed(factors, spare, 5, lost, bad)
        tap.rule(f"{factors} changes at once, about {lost} pairs lost: a balanced design, and least squares", bad)
    tap.plan()


main()
