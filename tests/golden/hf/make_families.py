"""Makes tests/golden/hf/families: a tiny random model of every family and rotary scheme, and what
Hugging Face's code gives for it.

    pip install torch==2.11.0 transformers==5.23.0
    python make_families.py families [NAME ...]

Each folder is a checkpoint (config.json, model.safetensors) with golden.safetensors: ids [2, 40],
logits of one forward without a cache in row 0 and of the last 8 positions in row 1, short_logits of
the first 12 ids of row 0, and greedy_ids, every step recomputed from the whole sequence. Weights are
scaled so that logits spread over a few units; a wrong formula then shows as 1e-2 or more.
"""

import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file

BASE = dict(vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=256, bos_token_id=1, eos_token_id=2, pad_token_id=0)


def rope(kind, **more):
    return dict(rope_parameters=dict(rope_type=kind, rope_theta=10000.0, **more))


def moe(**more):
    return dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=24, **more)


LLAMA = ("Llama", dict(BASE))
MODELS = {
    "llama_biases": ("Llama", dict(BASE, head_dim=12, attention_bias=True, mlp_bias=True, tie_word_embeddings=True)),
    "llama_rope_linear": ("Llama", dict(BASE, **rope("linear", factor=4.0))),
    "llama_rope_dynamic": ("Llama", dict(BASE, **rope("dynamic", factor=2.0), max_position_embeddings=24)),
    "llama_rope_llama3": ("Llama", dict(BASE, **rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                                     original_max_position_embeddings=24))),
    "llama_rope_yarn": ("Llama", dict(BASE, **rope("yarn", factor=8.0, original_max_position_embeddings=32))),
    "llama_rope_yarn_mscale": ("Llama", dict(BASE, **rope("yarn", factor=8.0, original_max_position_embeddings=32, mscale=0.9,
                                                          mscale_all_dim=0.5, beta_fast=4.0, truncate=False))),
    "mistral_window": ("Mistral", dict(BASE, sliding_window=10)),
    "mixtral": ("Mixtral", dict(BASE, num_local_experts=4, num_experts_per_tok=2)),
    "qwen2": ("Qwen2", dict(BASE, use_sliding_window=True, sliding_window=9, max_window_layers=1)),
    "qwen2_moe": ("Qwen2Moe", dict(BASE, **moe(shared_expert_intermediate_size=40, mlp_only_layers=[0]))),
    "qwen3": ("Qwen3", dict(BASE, head_dim=12, tie_word_embeddings=True)),
    "qwen3_moe": ("Qwen3Moe", dict(BASE, head_dim=8, **moe(norm_topk_prob=True))),
    "gemma": ("Gemma", dict(BASE, head_dim=12)),
    "gemma2": ("Gemma2", dict(BASE, head_dim=8, sliding_window=10, query_pre_attn_scalar=24, attn_logit_softcapping=2.5,
                              final_logit_softcapping=3.0)),
    "gemma3": ("Gemma3", dict(BASE, head_dim=8, sliding_window=10, query_pre_attn_scalar=20, num_hidden_layers=3,
                              layer_types=["sliding_attention", "full_attention", "sliding_attention"],
                              rope_parameters=dict(full_attention=dict(rope_type="linear", factor=8.0, rope_theta=1e6),
                                                   sliding_attention=dict(rope_type="default", rope_theta=1e4)))),
    "phi3_partial": ("Phi3", dict(BASE, sliding_window=10, partial_rotary_factor=0.5)),
    "phi3_longrope": ("Phi3", dict(BASE, original_max_position_embeddings=16, sliding_window=None, **rope(
        "longrope", short_factor=[1.0, 1.05, 1.1, 1.2], long_factor=[1.0, 2.7, 6.1, 12.9],
        original_max_position_embeddings=16))),
    "gpt2": ("GPT2", dict(vocab_size=96, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=1, eos_token_id=2)),
    "gpt_oss": ("GptOss", dict(BASE, head_dim=8, num_local_experts=4, num_experts_per_tok=2, sliding_window=10,
                               **rope("yarn", factor=8.0, beta_fast=32.0, beta_slow=1.0, truncate=False,
                                      original_max_position_embeddings=32))),
    "gpt_oss_mxfp4": ("GptOss", dict(BASE, head_dim=8, intermediate_size=64, num_local_experts=2, num_experts_per_tok=1,
                                     sliding_window=10, **rope("default"))),
    "granite": ("Granite", dict(BASE, embedding_multiplier=3.0, residual_multiplier=0.4, attention_multiplier=0.2,
                                logits_scaling=2.0)),
    "olmo2": ("Olmo2", dict(BASE)),
    "starcoder2": ("Starcoder2", dict(BASE, sliding_window=10)),
    "smollm3": ("SmolLM3", dict(BASE, num_hidden_layers=3, no_rope_layer_interval=3)),
}


E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0]


def random_mxfp4(experts, rows, cols):
    """Random blocks as gpt-oss stores them (two elements a byte, the low half first), and their values."""
    blocks = torch.randint(0, 256, (experts, rows, cols // 32, 16), dtype=torch.uint8)
    scales = torch.randint(121, 125, (experts, rows, cols // 32), dtype=torch.uint8)
    halves = torch.stack([blocks & 15, blocks >> 4], -1).flatten(-2).long()
    values = torch.tensor(E2M1)[halves] * torch.exp2(scales.float() - 127.0).unsqueeze(-1)
    return blocks, scales, values.flatten(-2)


def store_as_mxfp4(model, folder):
    """Gives a saved gpt-oss random MXFP4 experts, in the model and in its file."""
    tensors = {key: value.clone() for key, value in model.state_dict().items()}
    for index, layer in enumerate(model.model.layers):
        for name in ("gate_up_proj", "down_proj"):
            weight = getattr(layer.mlp.experts, name)  # [experts, in, out]
            blocks, scales, values = random_mxfp4(weight.shape[0], weight.shape[2], weight.shape[1])
            weight.copy_(values.transpose(1, 2))
            key = f"model.layers.{index}.mlp.experts.{name}"
            del tensors[key]
            tensors[key + "_blocks"], tensors[key + "_scales"] = blocks, scales
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "mxfp4"}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def make(name, family, settings, folder):
    """The first seed whose greedy choices are not near ties, which rounding could turn."""
    for seed in range(100):
        facts = make_once(name, family, settings, folder, 1000 * sum(map(ord, name)) + seed)
        if facts["smallest_greedy_logit_gap"] > 0.02:
            return facts
    raise SystemExit(f"{name}: no seed without near ties")


def make_once(name, family, settings, folder, seed):
    torch.manual_seed(seed)
    config = getattr(transformers, {"Gemma3": "Gemma3Text"}.get(family, family) + "Config")(
        **settings, attn_implementation="eager")
    model = getattr(transformers, family + ("LMHeadModel" if family == "GPT2" else "ForCausalLM"))(config).eval()
    with torch.no_grad():
        for key, weight in model.named_parameters():
            if key.endswith("sinks"):
                weight.normal_(0.0, 1.0)
            elif weight.dim() == 1:
                weight.add_(torch.randn_like(weight) * 0.2)
            else:
                is_table = "embed" in key or "wte" in key or "wpe" in key
                table_scale = 0.3 if config.tie_word_embeddings else 1.0  # else a tied model repeats its input
                weight.normal_(0.0, table_scale if is_table else weight.shape[-1] ** -0.5)
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)

    fresh = lambda ids: type(model).from_pretrained(folder, attn_implementation="eager").eval()(ids, use_cache=False).logits
    if name.endswith("mxfp4"):
        store_as_mxfp4(model, folder)
        fresh = lambda ids: model(ids, use_cache=False).logits
    ids = torch.randint(3, 96, (2, 40))
    logits = fresh(ids)
    greedy = ids
    smallest_gap = float("inf")
    for _ in range(8):
        last = fresh(greedy)[:, -1]
        top = last.topk(2).values
        smallest_gap = min(smallest_gap, (top[:, 0] - top[:, 1]).min().item())
        greedy = torch.cat([greedy, last.argmax(-1, keepdim=True)], 1)
    save_file({"ids": ids, "logits_row0": logits[0].contiguous(), "logits_tail": logits[1, -8:].contiguous(),
               "short_logits": fresh(ids[:1, :12])[0].contiguous(), "greedy_ids": greedy}, folder / "golden.safetensors")
    return {"seed": seed, "spread": logits.std().item(), "smallest_greedy_logit_gap": smallest_gap}


def main():
    out = pathlib.Path(sys.argv[1])
    torch.set_grad_enabled(False)
    facts = {name: make(name, family, settings, out / name) for name, (family, settings) in MODELS.items()
             if len(sys.argv) < 3 or name in sys.argv[2:]}
    path = out / "facts.json"
    known = json.loads(path.read_text())["models"] if path.exists() else {}
    path.write_text(json.dumps({"torch": torch.__version__, "transformers": transformers.__version__,
                                "models": known | facts}, indent=1) + "\n")


if __name__ == "__main__":
    main()
