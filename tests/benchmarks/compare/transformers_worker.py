"""transformers in float32, the GGUF file's weights expanded: MODEL THREADS LONGEST."""
import sys
from pathlib import Path

import torch
import transformers
from worker import serve

model_file, threads = Path(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(threads)
model = transformers.AutoModelForCausalLM.from_pretrained(
    str(model_file.parent), gguf_file=model_file.name, dtype=torch.float32
).eval()
state = {}


def clear():
    state["cache"] = transformers.DynamicCache(config=model.config)


def run(ids):
    with torch.inference_mode():
        output = model(torch.tensor([ids]), past_key_values=state["cache"], use_cache=True, logits_to_keep=1)
    output.logits[0, -1].argmax().item()


serve(transformers.__version__, model.config.vocab_size, clear, run)
