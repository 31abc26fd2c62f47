"""A random EmbeddingGemma of 0.6 MB: the real architecture and module stack, so that the real loading code runs."""

from pathlib import Path

SENTENCES = [
    "task: search result | query: what causes the tides",
    "title: none | text: the moon's gravity causes the tides",
    "bread needs salt, and a starter needs warmth and time",
]
VOCABULARY = 460
HIDDEN = 48


def build(directory: Path) -> Path:
    """Write the model's files into ``directory``; returns it."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
    from transformers import Gemma3TextConfig, Gemma3TextModel

    torch.manual_seed(0)
    base = directory / "base"
    _tokenizer().save_pretrained(base)
    config = Gemma3TextConfig(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        intermediate_size=96,
        num_hidden_layers=4,
        num_attention_heads=3,
        num_key_value_heads=1,
        head_dim=16,
        sliding_window=64,
        max_position_embeddings=2048,
        use_bidirectional_attention=True,
        layer_types=["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"],
    )
    Gemma3TextModel(config).save_pretrained(base)
    modules = [
        Transformer(str(base), max_seq_length=2048),
        Pooling(HIDDEN, pooling_mode="mean"),
        Dense(HIDDEN, 96, bias=False, activation_function=torch.nn.Identity()),
        Dense(96, HIDDEN, bias=False, activation_function=torch.nn.Identity()),
        Normalize(),
    ]
    prompts = {"query": "task: search result | query: ", "document": "title: none | text: "}
    model = SentenceTransformer(modules=modules, prompts=prompts, default_prompt_name="document")
    finished = directory / "model"
    model.save_pretrained(str(finished))
    return finished


def _tokenizer():
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    tokenizer.decoder = decoders.ByteFallback()
    special = ["<pad>", "<eos>", "<bos>", "<unk>", *[f"<0x{byte:02X}>" for byte in range(256)]]
    tokenizer.train_from_iterator(SENTENCES, trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=special))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", bos_token="<bos>", unk_token="<unk>"
    )
