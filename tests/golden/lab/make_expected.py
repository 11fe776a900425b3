"""Writes statistics.json, what tests/engine/lab compares with. Made with Python 3.11, SciPy 1.17.1, NumPy 2:
python3 make_expected.py > statistics.json"""
import json
import random

import numpy
import scipy
from scipy import stats

WILSON = [(12, 12), (0, 12), (10, 12), (7, 12), (85, 100), (100, 100), (425, 500), (1, 1), (0, 1),
          (499999, 1000000)]
FISHER = [((117, 120), (135, 180)), ((12, 12), (0, 12)), ((3, 10), (3, 10)), ((1, 2), (5, 9)), ((0, 7), (0, 11)),
          ((8, 10), (1, 6)), ((700, 1000), (650, 1000))]
BINOMIAL = [(9, 12, 0.5), (0, 12, 0.1), (12, 12, 0.856), (40, 60, 0.85), (5, 10, 0.5), (3, 7, 0.2)]
draw = random.Random(23)
SAMPLES = [[0.33, 0.06, 0.50, 0.41, 0.28, 0.36, 0.37], [5.0, 7.0], [1.0, 1.0, 1.0, 9.0],
           [draw.lognormvariate(0, 1) for _ in range(40)], [-3.5, 2.25, 100.0]]
CACHED = [1, 4, 8, 16, 32, 49]
STEPS = [14.7, 17.3, 23.0, 33.1, 56.6, 85.2]  # the chapter's decode table, ms

N, LAYERS, WIDTH = 1235814400, 16, 2048


def flops(tokens):
    return [2.0 * N * tokens, 2.0 * LAYERS * WIDTH * tokens ** 2]


def sample(values):
    mean = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    quartiles = numpy.quantile(values, [0.25, 0.5, 0.75])
    return {"values": values, "mean": numpy.mean(values), "deviation": numpy.std(values, ddof=1), "low": mean.low,
            "high": mean.high, "quartiles": quartiles.tolist(), "mad": stats.median_abs_deviation(values)}


def fit(lengths, seconds):
    rows = numpy.array([flops(t) for t in lengths]) / numpy.array(seconds)[:, None]  # relative errors
    scale = rows.max(axis=0)
    costs = numpy.linalg.lstsq(rows / scale, numpy.ones(len(lengths)), rcond=None)[0] / scale
    return {"tokens": lengths, "seconds": seconds, "per_second": (1 / costs).tolist(),
            "at_32768": float(numpy.dot(flops(32768), costs))}


line = stats.linregress(CACHED, STEPS)
print(json.dumps({
    "made_with": {"scipy": scipy.__version__, "numpy": numpy.__version__},
    "wilson": [[k, n, *stats.binomtest(k, n).proportion_ci(0.95, "wilson")] for k, n in WILSON],
    "fisher": [[*a, *b, stats.fisher_exact([[a[0], a[1] - a[0]], [b[0], b[1] - b[0]]]).pvalue] for a, b in FISHER],
    "binomial": [[k, n, p, stats.binomtest(k, n, p).pvalue] for k, n, p in BINOMIAL],
    "student_t": [[d, stats.t.ppf(0.975, d)] for d in (1, 2, 3, 6, 10, 30, 299, 100000)],
    "samples": [sample(values) for values in SAMPLES],
    "line": {"x": CACHED, "y": STEPS, "slope": line.slope, "intercept": line.intercept, "r2": line.rvalue ** 2},
    "throughputs": [fit([4096, 8192, 16384], [0.40, 0.92, 2.34]), fit([1024, 4096, 16384], [0.093, 0.40, 2.34])],
}, indent=1))
