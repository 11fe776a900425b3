"""torch's own attention for one token of the 502M shape, and the memory bandwidth it is to be seen beside; JSON."""
import json

import torch

HEADS, KV_HEADS, DIM = 8, 4, 96
COLD_BYTES = 192 << 20  # as decode-kernel reads: beyond the second cache


def seconds_of(work, calls, repeats=30):
    """Of one of `calls` calls of work(i) in a row, the median, by events of the device."""
    for i in range(max(5, calls)):
        work(i)
    taken = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for i in range(calls):
            work(i)
        end.record()
        end.synchronize()
        taken.append(begin.elapsed_time(end) / 1e3 / calls)
    return sorted(taken)[len(taken) // 2]


def attention(cached):
    q = torch.randn(1, HEADS, 1, DIM, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(1, KV_HEADS, cached, DIM, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    size = k.nbytes + v.nbytes
    copies = [(k.clone(), v.clone()) for _ in range(-(-COLD_BYTES // size))]

    def attend(i):
        keys, values = copies[i % len(copies)]
        torch.nn.functional.scaled_dot_product_attention(q, keys, values, enable_gqa=True)

    return {"cached": cached, "seconds": seconds_of(attend, len(copies)), "bytes": size}


source = torch.empty(1 << 28, device="cuda", dtype=torch.float32)
seconds = seconds_of(lambda _: source.sum(), 1)
print(
    json.dumps(
        {
            "torch": torch.__version__,
            "read_bandwidth_bytes_per_second": source.nbytes / seconds,
            "attention": [attention(cached) for cached in (1024, 32768, 131072)],
        }
    )
)
