#!/usr/bin/env python3
"""Small tokenizer.json files and what Hugging Face's library makes of texts with them.

    pip install tokenizers==0.22.1
    python make_tokenizer_json.py FOLDER

Writes FOLDER/NAME.json, trained here on a few sentences, FOLDER/texts.json, and FOLDER/NAME.jsonl with
one line for each of these texts: "ids" with special tokens parsed; "ids_literal" with them taken as text
(encode_special_tokens), where that differs; "decoded", the library's text for "ids" with special tokens
kept, where that is not the text. No BOS is added.
"""

import json
import pathlib
import random
import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

assert tokenizers.__version__ == "0.22.1", tokenizers.__version__

GPT2 = None  # ByteLevel's own pattern
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{ENDINGS}"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK_LETTERS = r"\s?\p{L}+"

CORPUS = [
    "The quick brown fox jumps over the lazy dog. It's 12:45, and we'll see 3,141 of them; I'd say they've won.",
    "def main(argv):\n    return [x ** 2 for x in range(100)]\n\n\tif x == 1:\r\n\t\tpass\r\n",
    "Größe, naïve café, ÅNGSTRÖM; El niño comió piñatas. Où est l'été? Ça va.",
    "Привет, мир! Это проверка. Γειά σου Κόσμε. שלום עולם. مرحبا بالعالم",
    "你好，世界。今天天气很好。こんにちは世界、カタカナとひらがな。안녕하세요 세계",
    "नमस्ते दुनिया। สวัสดีชาวโลก ༄༅། 😀👍🏽👨‍👩‍👧‍👦🇩🇪 ½ ² Ⅳ ٣",
    "WORD Word word HTTPServer parseJSON XMLHttpRequest iPhone McDonald's DON'T won't",
    "0 1 22 333 4444 55555 1000000 3.14159 1,234,567 2024-01-31 0xFF",
] * 3

TEXTS = [
    "", " ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", " \n ", "\r", "a", "Hello", "Hello world", " Hello world", "Hello  world ",
    "hello, world! How are you?", "It's what we'll do; they've IT'S WE'LL 'S ſ't 'ſ", "the the the  the   the", "word.word/word\\word",
    "1", "12", "123", "1234", "12345678901", "x1y22z333", "3.14, 1,000", "½ ² Ⅳ ٣٤٥ १२३", "０１２",
    "a\nb\n\nc\r\nd\r\n\r\ne", "line   \n   next", "\t\tindent\n\t\t\tmore", "end   ", "end \n", "\u00a0nbsp\u00a0", "\u3000wide\u3000x",
    "a\u200bb\u200dc", "\u180emvs\u180e x", "\u0085nel", "\u2028ls\u2029", "\ufeffbom", "e\u0301 é \u0301", "a\u0323\u0307 a\u0307\u0323",
    "ﬁne ﬀ ℌ ① ㎏ ｶﾞ", "ÅÅ Å", "İstanbul ISTANBUL ıi", "ß ẞ ǅ", "Größe naïve café", "ПРИВЕТ привет", "ΣΊΣΥΦΟΣ σίσυφος",
    "你好，世界。", "こんにちは、世界カタカナ", "안녕하세요", "नमस्ते दुनिया।", "ก็ที่นี่", "שָׁלוֹם", "مَرْحَبًا", "😀👍🏽👨‍👩‍👧‍👦🇩🇪", "\U0001d518\U0001d52b", "HTTPServer parseJSON XMLHttp",
    "McDonald's DON'T don't I'M", "foo_bar-baz__qux", "!!! ??? ... --- ///\n///", "a!\n\nb?/", "<s>", "</s>", "a<s>b", "a <s> b", "<s><s>", "x </s>\n y",
    "<|end|>", "a<|end|>b", "<|end|><|end|>", "<|end", "|end|>", "[MASK]", "a [MASK] b", "a   [MASK]   b", "[MASK][MASK]", "a[PAD]  b", "[PAD] \n x",
    "user", "a user b", "superuser", "user1", "user.", "User", "café", "xcaféx", "CAFÉ", "▁", "a▁b", "▁▁ x", "<0x41>", "<0x0A>\n", "<unk>", "a<unk>b",
    " " * 40 + "x", "x" + " " * 100, "a" * 60, "ab" * 40, "A" * 30, "aA" * 20, "\n" * 20, "'" * 10, "…" * 10, "é" * 20, "\u0301" * 20, "9" * 20,
    "{\"a\": [1, 2.5e-3, null], 'b': \"\\u00e9\"}", "https://example.org/a?b=c&d=%20#e", "x = y if z else w  # done", "🇩🇪x\u20e3 \U000e0041",
]
ALPHABET = "  \n\r\tab 'sStTlLeEvVdD09.,-_/aéÉß中あ한рП\u0301\u0323½٣\u00a0\u3000\u200b😀ẞ▁<s>"


def random_texts(seed):
    picker = random.Random(seed)
    return ["".join(picker.choice(ALPHABET) for _ in range(picker.randint(1, 24))) for _ in range(60)]


def train(tokenizer, size, special=(), **options):
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, special_tokens=list(special), min_frequency=2, **options)
    tokenizer.train_from_iterator(CORPUS, trainer)


def byte_level(size, pattern, special, ignore_merges=False, normalizer=None, before=()):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pattern is GPT2:
        steps = [*before, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
    else:
        steps = [*before, pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    tokenizer.pre_tokenizer = steps[0] if len(steps) == 1 else pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    train(tokenizer, size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.add_special_tokens([AddedToken(text, normalized=False, special=True) for text in special])
    return tokenizer


def with_bytes(tokenizer, size, special, fuse_unk=True):
    """A model trained on characters, with the 256 byte tokens of sentencepiece behind the special ones."""
    train(tokenizer, size, special)
    model = json.loads(tokenizer.to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    trained = sorted((token for token in model["vocab"] if token not in special), key=model["vocab"].get)
    tokens = list(special) + [f"<0x{byte:02X}>" for byte in range(256)] + trained
    tokenizer.model = models.BPE({token: i for i, token in enumerate(tokens)}, merges, unk_token="<unk>", fuse_unk=fuse_unk, byte_fallback=True)
    return tokenizer


def llama2(size):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    with_bytes(tokenizer, size, ["<unk>", "<s>", "</s>"])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens([AddedToken(text, normalized=False, special=True) for text in ("<unk>", "<s>", "</s>")])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    return tokenizer


def llama2_old(size):
    """Special tokens that are normalized, as the first converted files have them."""
    tokenizer = llama2(size)
    text = json.loads(tokenizer.to_str())
    for token in text["added_tokens"]:
        token["normalized"] = True
    return Tokenizer.from_str(json.dumps(text))


def metaspace(size, scheme, split):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme=scheme, split=split)
    with_bytes(tokenizer, size, ["<unk>", "<s>", "</s>"])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens([AddedToken(text, normalized=False, special=True) for text in ("<unk>", "<s>", "</s>")])
    return tokenizer


def gemma(size):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous", invert=False)
    with_bytes(tokenizer, size, ["<pad>", "</s>", "<s>", "<unk>"])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken(text, normalized=False, special=True) for text in ("<pad>", "</s>", "<s>", "<unk>")])
    tokenizer.add_tokens([AddedToken("▁" * n, normalized=False) for n in (2, 3, 4)] + [AddedToken("\n" * n, normalized=False) for n in (2, 3)])
    return tokenizer


def added_variants(size):
    """Added tokens of every kind over a byte-level model with a prefix space and NFC."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    train(tokenizer, size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.add_special_tokens([
        AddedToken("<s>", special=True, normalized=False),
        AddedToken("[MASK]", special=True, lstrip=True, rstrip=False, normalized=False),
        AddedToken("[PAD]", special=True, lstrip=True, rstrip=True, normalized=False),
    ])
    tokenizer.add_tokens([
        AddedToken("user", single_word=True, normalized=False),
        AddedToken("cafe\u0301", normalized=True),
        AddedToken("<|end|>", rstrip=True, normalized=False),
        AddedToken("<|end|><|end|>", normalized=False),
    ])
    return tokenizer


def unknown(size, fuse):
    """Characters without a token, and no bytes to fall back to; a chain of normalizers."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=fuse))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(),
                                                 normalizers.Replace(Regex(r"\s{2,}"), " "), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation("isolated"), pre_tokenizers.Digits(True)])
    train(tokenizer, size, ["<unk>", "<s>"], limit_alphabet=30)
    return tokenizer


def behaviors(size, behavior, invert):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"\s+|[.,]"), behavior, invert=invert), pre_tokenizers.Digits(individual_digits=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    train(tokenizer, size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    return tokenizer


def falcon(size):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")])
    tokenizer.decoder = decoders.ByteLevel()
    train(tokenizer, size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    return tokenizer


def deepseek(size):
    steps = [pre_tokenizers.Split(Regex("[\r\n]"), "isolated"), pre_tokenizers.Split(Regex(DEEPSEEK_LETTERS), "isolated"),
             pre_tokenizers.Split(Regex(r"\s?\p{P}+"), "isolated"), pre_tokenizers.Split(Regex("[一-龥ࠀ-一가-퟿]+"), "isolated"),
             pre_tokenizers.Split(Regex(r"\s+$"), "isolated"), pre_tokenizers.Digits(individual_digits=True)]
    return byte_level(size, r"\s+", ["<｜begin▁of▁sentence｜>"], before=steps)


TOKENIZERS = {
    "gpt2": lambda: byte_level(420, GPT2, ["<|end|>"]),
    "llama3": lambda: byte_level(520, LLAMA3, ["<s>", "<|end|>"], ignore_merges=True),
    "qwen2": lambda: byte_level(460, QWEN2, ["<|end|>"], normalizer=normalizers.NFC()),
    "o200k": lambda: byte_level(460, O200K, ["<|end|>"], ignore_merges=True),
    "smollm": lambda: byte_level(420, GPT2, ["<|end|>"], before=[pre_tokenizers.Digits(individual_digits=True)]),
    "deepseek": lambda: deepseek(380),
    "falcon": lambda: falcon(380),
    "llama2": lambda: llama2(300),
    "llama2_old": lambda: llama2_old(200),
    "metaspace_first": lambda: metaspace(250, "first", True),
    "metaspace_always": lambda: metaspace(250, "always", False),
    "metaspace_never": lambda: metaspace(250, "never", True),
    "gemma": lambda: gemma(300),
    "added": lambda: added_variants(360),
    "unknown": lambda: unknown(120, False),
    "unknown_fused": lambda: unknown(120, True),
    "removed": lambda: behaviors(300, "removed", False),
    "removed_inverted": lambda: behaviors(300, "removed", True),
    "merged_with_previous": lambda: behaviors(300, "merged_with_previous", False),
    "merged_with_next": lambda: behaviors(300, "merged_with_next", False),
    "contiguous": lambda: behaviors(300, "contiguous", False),
}


def rows(tokenizer, texts):
    for text in texts:
        tokenizer.encode_special_tokens = False
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        tokenizer.encode_special_tokens = True
        literal = tokenizer.encode(text, add_special_tokens=False).ids
        row = {"ids": ids}
        if literal != ids:
            row["ids_literal"] = literal
        decoded = tokenizer.decode(ids, skip_special_tokens=False)
        if decoded != text:
            row["decoded"] = decoded
        yield row


def write(path, value, **options):
    path.write_text(json.dumps(value, separators=(",", ":"), **options) + "\n", encoding="utf-8")


def main():
    folder = pathlib.Path(sys.argv[1])
    texts = TEXTS + random_texts(seed=1)
    write(folder / "texts.json", texts)
    for number, (name, make) in enumerate(TOKENIZERS.items()):
        tokenizer = make()
        content = json.loads(tokenizer.to_str())
        if number % 2:  # merges as they were spelled before the library's version 0.20
            content["model"]["merges"] = [" ".join(merge) for merge in content["model"]["merges"]]
        write(folder / f"{name}.json", content, ensure_ascii=False)
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8", newline="\n") as file:
            for row in rows(tokenizer, texts):
                file.write(json.dumps(row, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
