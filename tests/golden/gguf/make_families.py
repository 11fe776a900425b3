"""Makes tests/golden/gguf/families: a tiny random model of every architecture as a GGUF file, and what Hugging
Face's code gives for it.

    pip install torch==2.11.0 transformers==5.23.0 gguf
    python make_families.py families [NAME ...]

Names and keys come from the gguf package, which is the format's own; what a converter changes on the way (rows
permuted for adjacent rotary pairs, gains with their one added, experts stacked) is done here. NAME.safetensors
holds ids [1, 30] and logits [30, 96].
"""

import pathlib
import sys

import gguf
import torch
import transformers
from safetensors.torch import save_file

BASE = dict(vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=256)
MOE = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=24)
ROPE = dict(rope_theta=10000.0)
PERMUTED = ("llama", "granite", "smollm3")

# name: (family, architecture, settings)
MODELS = {
    "mixtral": ("Mixtral", "llama", dict(BASE, num_local_experts=4, num_experts_per_tok=2, sliding_window=None)),
    "qwen2": ("Qwen2", "qwen2", dict(BASE, rope_parameters=dict(
        ROPE, rope_type="yarn", factor=4.0, original_max_position_embeddings=64))),
    "qwen2moe": ("Qwen2Moe", "qwen2moe", dict(BASE, **MOE, shared_expert_intermediate_size=40)),
    "qwen3": ("Qwen3", "qwen3", dict(BASE, head_dim=12, tie_word_embeddings=True)),
    "qwen3moe": ("Qwen3Moe", "qwen3moe", dict(BASE, head_dim=8, norm_topk_prob=True, **MOE)),
    "gemma": ("Gemma", "gemma", dict(BASE, head_dim=12)),
    "gemma2": ("Gemma2", "gemma2", dict(BASE, head_dim=8, sliding_window=10, query_pre_attn_scalar=8,
                                        attn_logit_softcapping=2.5, final_logit_softcapping=3.0)),
    "gemma3": ("Gemma3", "gemma3", dict(
        BASE, head_dim=8, sliding_window=10, query_pre_attn_scalar=8, num_hidden_layers=7,
        rope_parameters=dict(full_attention=dict(rope_type="linear", factor=8.0, rope_theta=1e6),
                             sliding_attention=dict(rope_type="default", rope_theta=1e4)))),
    "phi3": ("Phi3", "phi3", dict(
        BASE, original_max_position_embeddings=16, sliding_window=None, pad_token_id=0, rope_parameters=dict(
            ROPE, rope_type="longrope", short_factor=[1.0, 1.05, 1.1, 1.2], long_factor=[1.0, 2.7, 6.1, 12.9],
            original_max_position_embeddings=16))),
    "gpt2": ("GPT2", "gpt2", dict(vocab_size=96, n_embd=32, n_layer=2, n_head=4, n_positions=64)),
    "gpt-oss": ("GptOss", "gpt-oss", dict(
        BASE, head_dim=8, num_local_experts=4, num_experts_per_tok=2, sliding_window=10, rope_parameters=dict(
            ROPE, rope_type="yarn", factor=8.0, beta_fast=32.0, beta_slow=1.0, truncate=False,
            original_max_position_embeddings=32))),
    "granite": ("Granite", "granite", dict(BASE, embedding_multiplier=3.0, residual_multiplier=0.4,
                                           attention_multiplier=0.2, logits_scaling=2.0)),
    "olmo2": ("Olmo2", "olmo2", dict(BASE)),
    "starcoder2": ("Starcoder2", "starcoder2", dict(BASE, sliding_window=None)),
    "smollm3": ("SmolLM3", "smollm3", dict(BASE, num_hidden_layers=5, pad_token_id=0)),
}


def randomise(model, is_tied):
    for key, weight in model.named_parameters():
        if key.endswith("sinks"):
            weight.normal_(0.0, 1.0)
        elif weight.dim() == 1:
            weight.add_(torch.randn_like(weight) * 0.2)
        else:
            is_table = any(name in key for name in ("embed", "wte", "wpe"))
            weight.normal_(0.0, (0.3 if is_tied else 1.0) if is_table else weight.shape[-1] ** -0.5)


def permuted(weight, heads):
    """Half pairs to adjacent ones, as llama.cpp's converter does for architectures that rotate those."""
    return weight.reshape(heads, 2, -1, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def tensors_of(model, config, arch):
    """Hugging Face's name to tensor, changed as the architecture's converter changes it."""
    state = {key: value.clone() for key, value in model.state_dict().items()}
    if config.tie_word_embeddings:
        state.pop("lm_head.weight", None)
    result = {}
    for key, value in state.items():
        if arch in PERMUTED and "self_attn.q_proj" in key:
            value = permuted(value, config.num_attention_heads)
        if arch in PERMUTED and "self_attn.k_proj" in key:
            value = permuted(value, config.num_key_value_heads)
        if arch.startswith("gemma") and "norm" in key:
            value = value + 1.0
        if arch == "gpt2" and any(part in key for part in ("c_attn.weight", "c_proj.weight", "c_fc.weight")):
            value = value.T
        if "mlp.experts.gate_up_proj" in key:
            prefix, _, rest = key.partition("gate_up_proj")
            if arch == "gpt-oss":  # [experts, in, 2 * out], alternating
                value = value.transpose(1, 2) if rest == "" else value
                gate, up = value[:, ::2], value[:, 1::2]
            else:
                gate, up = value.chunk(2, dim=1)
            suffix = ".bias" if rest else ".weight"
            result[prefix + "gate_proj" + suffix] = gate
            result[prefix + "up_proj" + suffix] = up
            continue
        if "mlp.experts.down_proj" in key:
            prefix, _, rest = key.partition("down_proj")
            if arch == "gpt-oss" and rest == "":
                value = value.transpose(1, 2)
            result[prefix + "down_proj" + (".bias" if rest else ".weight")] = value
            continue
        result[key] = value
    return result


def add_rope(writer, config, arch):
    if arch == "gpt2":
        return
    rope = config.rope_parameters
    if arch == "gemma3":
        writer.add_rope_freq_base_swa(rope["sliding_attention"]["rope_theta"])
        rope = rope["full_attention"]
    writer.add_rope_freq_base(rope["rope_theta"])
    kind = rope.get("rope_type", "default")
    if kind == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["factor"])
    if kind == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    if kind == "longrope":
        import math
        original = rope["original_max_position_embeddings"]
        scale = config.max_position_embeddings / original
        writer.add_rope_scaling_orig_ctx_len(original)
        writer.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(scale) / math.log(original)))
        for which in ("long", "short"):
            name = f"rope_factors_{which}.weight"
            writer.add_tensor(name, torch.tensor(rope[f"{which}_factor"], dtype=torch.float32).numpy())


def add_keys(writer, config, arch):
    get = lambda *names, default=None: next((getattr(config, n) for n in names if getattr(config, n, None) is not None), default)
    heads = get("num_attention_heads", "n_head")
    width = get("hidden_size", "n_embd")
    writer.add_context_length(get("max_position_embeddings", "n_positions"))
    writer.add_embedding_length(width)
    writer.add_block_count(get("num_hidden_layers", "n_layer"))
    writer.add_feed_forward_length(get("intermediate_size", "n_inner", default=4 * width))
    writer.add_head_count(heads)
    writer.add_head_count_kv(get("num_key_value_heads", default=heads))
    head_dim = get("head_dim", default=width // heads)
    if head_dim != width // heads:
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
    if arch in ("gpt2", "starcoder2"):
        writer.add_layer_norm_eps(get("layer_norm_epsilon", "norm_epsilon"))
    else:
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    if window := get("sliding_window"):
        if arch in ("gemma2", "gemma3", "gpt-oss"):
            writer.add_sliding_window(window)
    if experts := get("num_experts", "num_local_experts"):
        writer.add_expert_count(experts)
        writer.add_expert_used_count(config.num_experts_per_tok)
        if arch != "llama":
            writer.add_expert_feed_forward_length(get("moe_intermediate_size", default=config.intermediate_size))
        if shared := get("shared_expert_intermediate_size"):
            writer.add_expert_shared_feed_forward_length(shared)
    if arch == "gemma2":
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    if arch == "granite":
        writer.add_attention_scale(config.attention_multiplier)
        writer.add_embedding_scale(config.embedding_multiplier)
        writer.add_residual_scale(config.residual_multiplier)
        writer.add_logit_scale(config.logits_scaling)
    add_rope(writer, config, arch)


def make(name, family, arch, settings, folder):
    torch.manual_seed(sum(map(ord, name)))
    config = getattr(transformers, {"Gemma3": "Gemma3Text"}.get(family, family) + "Config")(
        **settings, attn_implementation="eager")
    model = getattr(transformers, family + ("LMHeadModel" if family == "GPT2" else "ForCausalLM"))(config).eval()
    randomise(model, config.tie_word_embeddings)
    ids = torch.randint(3, 96, (1, 30))
    logits = model(ids, use_cache=False).logits[0]

    writer = gguf.GGUFWriter(folder / f"{name}.gguf", arch)
    add_keys(writer, config, arch)
    kind = {value: key for key, value in gguf.MODEL_ARCH_NAMES.items()}[arch]
    names = gguf.get_tensor_name_map(kind, config.num_hidden_layers)
    for key, value in tensors_of(model, config, arch).items():
        if key.endswith("sinks"):
            key += ".weight"
        mapped = names.get_name(key, try_suffixes=(".weight", ".bias"))
        assert mapped is not None, key
        writer.add_tensor(mapped, value.contiguous().float().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    save_file({"ids": ids, "logits": logits.contiguous()}, folder / f"{name}.safetensors")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_grad_enabled(False)
    for name, (family, arch, settings) in MODELS.items():
        if len(sys.argv) < 3 or name in sys.argv[2:]:
            make(name, family, arch, settings, folder)


if __name__ == "__main__":
    main()
