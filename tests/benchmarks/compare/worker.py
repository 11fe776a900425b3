"""What a peer's process answers: lines "decode CACHED STEPS" and "prefill TOKENS STEPS", a JSON line each."""
import json
import statistics
import sys
import time


def token_ids(count, vocabulary):
    return [i * 2654435761 % vocabulary for i in range(count)]


def serve(version, vocabulary, clear, run):
    """clear() empties the cache; run(ids) adds ids to it and returns when the last one's logits are there."""

    def decode(cached, steps):
        clear()
        ids = token_ids(cached, vocabulary)
        for first in range(0, cached, 512):
            run(ids[first : first + 512])
        taken = []
        for token in token_ids(steps + 2, vocabulary):
            begin = time.perf_counter()
            run([token])
            taken.append(time.perf_counter() - begin)
        return statistics.median(taken[2:])

    def prefill(tokens, _):
        clear()
        ids = token_ids(tokens, vocabulary)
        begin = time.perf_counter()
        for first in range(0, tokens, 512):
            run(ids[first : first + 512])
        return time.perf_counter() - begin

    print(json.dumps({"version": version}), flush=True)
    for line in sys.stdin:
        what, count, steps = line.split()
        seconds = {"decode": decode, "prefill": prefill}[what](int(count), int(steps))
        print(json.dumps({"seconds": seconds}), flush=True)
