"""torch's own attention for one token of the 502M shape, and the memory bandwidth it is to be seen beside; JSON."""
import json

import torch

HEADS, KV_HEADS, DIM = 8, 4, 96


def seconds_of(work, repeats=30):
    """Of one call, the median, by events of the device."""
    for _ in range(5):
        work()
    taken = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        end.synchronize()
        taken.append(begin.elapsed_time(end) / 1e3)
    return sorted(taken)[len(taken) // 2]


def attention(cached):
    q = torch.randn(1, HEADS, 1, DIM, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(1, KV_HEADS, cached, DIM, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    seconds = seconds_of(lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True))
    return {"cached": cached, "seconds": seconds, "bytes": k.nbytes + v.nbytes}


source = torch.empty(1 << 28, device="cuda", dtype=torch.float32)
seconds = seconds_of(lambda: source.sum())
print(
    json.dumps(
        {
            "torch": torch.__version__,
            "read_bandwidth_bytes_per_second": source.nbytes / seconds,
            "attention": [attention(cached) for cached in (1024, 32768, 131072)],
        }
    )
)
