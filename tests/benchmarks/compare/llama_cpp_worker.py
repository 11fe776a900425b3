"""llama.cpp through llama-cpp-python: MODEL THREADS LONGEST."""
import ctypes
import sys

import llama_cpp
from worker import serve

model, threads, longest = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
llama = llama_cpp.Llama(
    model,
    n_ctx=longest + 64,
    n_batch=512,
    n_ubatch=512,
    n_threads=threads,
    n_threads_batch=threads,
    flash_attn=True,  # what llama.cpp's own programs choose where they can
    verbose=False,
)
context = llama.ctx


def run(ids):
    array = (llama_cpp.llama_token * len(ids))(*ids)
    if llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(array, len(ids))) != 0:
        sys.exit("llama_decode failed")
    # Waits for the result, and reads a logit of it.
    ctypes.cast(llama_cpp.llama_get_logits_ith(context, -1), ctypes.POINTER(ctypes.c_float))[0]


serve(
    llama_cpp.__version__,
    llama.n_vocab(),
    lambda: llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), True),
    run,
)
