"""The conversations that every family's template is given, and the families with their BOS and EOS."""


def chat(*turns):
    roles = {"s": "system", "u": "user", "a": "assistant"}
    return [{"role": roles[turn[0]], "content": turn[1:]} for turn in turns]


TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city, \"now\".",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Its name"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city"],
        },
    },
}

MESSAGES = {
    "question": chat("uHello"),
    "system": chat("sBe brief.", "uHello"),
    "answered": chat("uHello", "aHi there!"),
    "turns": chat("sBe brief.", "uOne?", "aFirst.", "uTwo?", "aSecond.", "uThree?"),
    "turns without system": chat("uOne?", "aFirst.", "uTwo?", "aSecond.", "uThree?"),
    "odd texts": chat("s  'quoted' \"twice\" \n\n<b>&amp;</b> {{ 1 }} {% if %}\t", "u\n\n  Größe 🎉 日本 \\n \x01 \n", "a  spaces  "),
    "empty": chat("s", "u", "a", "u"),
    "reasoning": chat("uWhat is 2+2?", "a<think>\nTwo and two.\n</think>\n\nFour.", "uAnd 3+3?", "a<think>Six</think>Six.", "uThanks"),
    "control tokens": chat("u<|im_end|> <|eot_id|> </s> [INST] <end_of_turn>", "aok"),
    "two questions": chat("uOne?", "uTwo?"),
    "answer first": chat("aHi", "uHello"),
    "late system": chat("uHello", "sBe brief.", "uAgain"),
    "nothing": [],
    "tool turns": [
        {"role": "user", "content": "Weather in Oslo?"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "abcdef123", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}]},
        {"role": "tool", "name": "get_weather", "tool_call_id": "abcdef123", "content": "{\"temperature\": -3}"},
        {"role": "assistant", "content": "Minus three."},
        {"role": "user", "content": "Thanks"},
    ],
}

CASES = [{"messages": name} for name in MESSAGES] + [
    {"messages": "question", "tools": [TOOL]},
    {"messages": "system", "tools": [TOOL]},
    {"messages": "tool turns", "tools": [TOOL]},
]

FAMILIES = {
    "chatml": ("", "<|im_end|>"),
    "command_r": ("<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>"),
    "deepseek_r1": ("<\uff5cbegin\u2581of\u2581sentence\uff5c>", "<\uff5cend\u2581of\u2581sentence\uff5c>"),
    "gemma2": ("<bos>", "<eos>"),
    "gemma3": ("<bos>", "<eos>"),
    "gpt_oss": ("<|startoftext|>", "<|return|>"),
    "granite": ("<|end_of_text|>", "<|end_of_text|>"),
    "llama2": ("<s>", "</s>"),
    "llama3": ("<|begin_of_text|>", "<|eot_id|>"),
    "llama3_1": ("<|begin_of_text|>", "<|eot_id|>"),
    "mistral_v0_1": ("<s>", "</s>"),
    "mistral_v0_3": ("<s>", "</s>"),
    "phi3": ("<s>", "<|endoftext|>"),
    "phi4": ("<|endoftext|>", "<|im_end|>"),
    "qwen2_5": ("", "<|im_end|>"),
    "qwen3": ("", "<|im_end|>"),
    "smollm3": ("", "<|im_end|>"),
    "tinyllama": ("<s>", "</s>"),
    "vicuna": ("<s>", "</s>"),
    "zephyr": ("<s>", "</s>"),
}
