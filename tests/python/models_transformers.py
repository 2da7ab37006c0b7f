# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of Hugging Face transformers' models of text and of sounds."""

import torch
import torch.nn.functional as F
from model_rows import (
    BATCH,
    CLASSES,
    LENGTH,
    VOCABULARY,
    Model,
    classes,
    package,
    padding_mask,
    tokens,
)

# What most configurations call their sizes.
TINY = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
    "num_labels": CLASSES,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GROUPED = TINY | {"num_key_value_heads": 2}
GPT = {
    "vocab_size": VOCABULARY,
    "n_positions": 64,
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
TRANSLATOR = {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "max_position_embeddings": 64,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": None,
}

WAVES = TINY | {
    "conv_dim": [16, 16],
    "conv_stride": [5, 4],
    "conv_kernel": [10, 4],
    "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 4,
    "mask_time_prob": 0.0,
}


def made(name, numbers):
    def make():
        kind = getattr(package("transformers"), name)
        return kind(kind.config_class(**numbers))

    return make


def row(name, batch, numbers, **expected):
    def loss(model, batch):
        return model(**batch).loss

    return Model(made(name, numbers), batch, loss, **expected)


def text():
    ids = tokens()
    return {"input_ids": ids, "labels": ids}


def padded_text():
    ids, mask = tokens(), padding_mask()
    return {
        "input_ids": ids * mask,
        "attention_mask": mask,
        "labels": ids.masked_fill(mask == 0, -100),
    }


def classified_text():
    mask = padding_mask()
    return {
        "input_ids": tokens() * mask,
        "attention_mask": mask,
        "labels": classes(),
    }


def classified_tokens():
    return {"input_ids": tokens(), "labels": torch.randint(0, CLASSES, (BATCH, LENGTH))}


def classified_places():
    corner = torch.randint(0, 64, (BATCH, LENGTH, 1))
    return classified_tokens() | {"bbox": corner.expand(-1, -1, 4).contiguous()}


def answered_text():
    return {
        "input_ids": tokens(),
        "start_positions": torch.randint(0, LENGTH, (BATCH,)),
        "end_positions": torch.randint(0, LENGTH, (BATCH,)),
    }


def translated_text():
    return {"input_ids": tokens(), "labels": tokens(6)}


def classified_sounds():
    return {"input_values": torch.randn(BATCH, 800), "labels": classes()}


def spoken_text():
    return {"input_values": torch.randn(BATCH, 800), "labels": tokens(4)}


def translated_sounds():
    return {"input_features": torch.randn(BATCH, 8, 40), "labels": tokens(6)}


def coded_sounds():
    return {"input_values": torch.randn(2, 1, 800), "bandwidth": 36.0}


def causal(name, numbers, batch=text, **expected):
    return row(name, batch, numbers, generates=True, **expected)


TRANSFORMERS = {
    # Text, read both ways
    "bert": row("BertForMaskedLM", padded_text, TINY),
    "roberta": row("RobertaForSequenceClassification", classified_text, TINY),
    "distilbert": row(
        "DistilBertForQuestionAnswering",
        answered_text,
        {"vocab_size": VOCABULARY, "dim": 32, "n_layers": 2, "n_heads": 4}
        | {"hidden_dim": 48, "max_position_embeddings": 64},
    ),
    "electra": row(
        "ElectraForTokenClassification",
        classified_tokens,
        TINY | {"embedding_size": 16},
    ),
    "albert": row(
        "AlbertForSequenceClassification",
        classified_text,
        TINY | {"embedding_size": 16},
    ),
    "deberta": row(
        "DebertaV2ForSequenceClassification",
        classified_text,
        TINY
        | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}
        | {"position_buckets": 8},
        fallbacks=frozenset({"aten::nonzero"}),
    ),
    "mpnet": row("MPNetForMaskedLM", text, TINY),
    "fnet": row("FNetForMaskedLM", text, TINY),
    "bigbird": row(
        "BigBirdForSequenceClassification",
        lambda: {"input_ids": tokens(32), "labels": classes()},
        TINY
        | {"attention_type": "block_sparse", "block_size": 4, "num_random_blocks": 1},
    ),
    "layoutlm": row(
        "LayoutLMForTokenClassification",
        classified_places,
        TINY | {"max_2d_position_embeddings": 64},
    ),
    "xlnet": row(
        "XLNetForSequenceClassification",
        classified_text,
        {"vocab_size": VOCABULARY, "d_model": 32, "n_layer": 2, "n_head": 4}
        | {"d_inner": 48, "num_labels": CLASSES},
    ),
    # Text, written
    "gpt2": causal("GPT2LMHeadModel", GPT),
    "padded gpt2": causal("GPT2LMHeadModel", GPT, padded_text),
    "gpt_neox": causal("GPTNeoXForCausalLM", TINY),
    "gptj": causal("GPTJForCausalLM", GPT | {"rotary_dim": 4}),
    "opt": causal("OPTForCausalLM", TINY | {"ffn_dim": 48, "word_embed_proj_dim": 32}),
    "bloom": causal("BloomForCausalLM", TINY | {"n_layer": 2, "n_head": 4}),
    "llama": causal("LlamaForCausalLM", GROUPED),
    "mistral": causal("MistralForCausalLM", GROUPED | {"sliding_window": 6}),
    "qwen": causal("Qwen3ForCausalLM", GROUPED | {"head_dim": 8}),
    "gemma": causal("Gemma2ForCausalLM", GROUPED | {"head_dim": 8}),
    "phi": causal("PhiForCausalLM", GROUPED),
    "falcon": causal("FalconForCausalLM", TINY),
    "qwen2": causal("Qwen2ForCausalLM", GROUPED),
    "qwen2 moe": causal(
        "Qwen2MoeForCausalLM",
        GROUPED
        | {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24}
        | {"shared_expert_intermediate_size": 24},
    ),
    "phi3": causal("Phi3ForCausalLM", GROUPED),
    "olmo2": causal("Olmo2ForCausalLM", GROUPED),
    "gemma3": causal(
        "Gemma3ForCausalLM",
        GROUPED
        | {"head_dim": 8, "sliding_window": 6}
        | {"layer_types": ["sliding_attention", "full_attention"]},
    ),
    "gpt_neo": causal(
        "GPTNeoForCausalLM",
        TINY
        | {"num_layers": 2, "num_heads": 4, "window_size": 6}
        | {"attention_types": [[["global", "local"], 1]]},
    ),
    "mixtral": causal("MixtralForCausalLM", GROUPED | {"num_local_experts": 4}),
    "mamba": causal("MambaForCausalLM", TINY | {"state_size": 8, "time_step_rank": 4}),
    "falcon_mamba": causal(
        "FalconMambaForCausalLM", TINY | {"state_size": 8, "time_step_rank": 4}
    ),
    "mamba2": causal(
        "Mamba2ForCausalLM",
        TINY
        | {"state_size": 8, "num_heads": 8, "head_dim": 8, "n_groups": 1}
        | {"chunk_size": 4},
    ),
    "jamba": causal(
        "JambaForCausalLM",
        GROUPED
        | {"num_experts": 2, "expert_layer_period": 2, "expert_layer_offset": 1}
        | {"attn_layer_period": 2, "attn_layer_offset": 1, "mamba_d_state": 8}
        | {"mamba_dt_rank": 4, "use_mamba_kernels": False},
    ),
    "recurrent gemma": row(
        "RecurrentGemmaForCausalLM",
        text,
        GROUPED
        | {"head_dim": 8, "lru_width": 32}
        | {"block_types": ["recurrent", "attention"]},
    ),
    "gpt_oss": causal(
        "GptOssForCausalLM", GROUPED | {"num_local_experts": 4, "head_dim": 8}
    ),
    "rwkv": causal(
        "RwkvForCausalLM",
        {"vocab_size": VOCABULARY, "context_length": 32, "hidden_size": 32}
        | {"num_hidden_layers": 2, "attention_hidden_size": 32},
    ),
    # Text to text
    "t5": causal(
        "T5ForConditionalGeneration",
        {"vocab_size": VOCABULARY, "d_model": 32, "d_kv": 8, "d_ff": 48}
        | {"num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}
        | {"tie_word_embeddings": False},
        translated_text,
    ),
    "bart": causal("BartForConditionalGeneration", TRANSLATOR, translated_text),
    "pegasus": causal("PegasusForConditionalGeneration", TRANSLATOR, translated_text),
    "marian": causal(
        "MarianMTModel",
        TRANSLATOR | {"decoder_vocab_size": VOCABULARY},
        translated_text,
    ),
    # Sounds
    "wav2vec2": row("Wav2Vec2ForSequenceClassification", classified_sounds, WAVES),
    "hubert": row("HubertForSequenceClassification", classified_sounds, WAVES),
    "wav2vec2 ctc": row(
        "Wav2Vec2ForCTC",
        spoken_text,
        WAVES,
        fallbacks=frozenset({"aten::masked_select"}),
    ),
    "encodec": Model(
        made(
            "EncodecModel",
            {"num_filters": 4, "hidden_size": 8, "codebook_dim": 8}
            | {"codebook_size": 16, "upsampling_ratios": [4, 2]}
            | {"target_bandwidths": [36.0], "sampling_rate": 24000},
        ),
        coded_sounds,
        lambda model, batch: F.mse_loss(
            model(**batch).audio_values, batch["input_values"]
        ),
    ),
    "whisper": causal(
        "WhisperForConditionalGeneration",
        {"vocab_size": VOCABULARY, "d_model": 32, "num_mel_bins": 8}
        | {"encoder_layers": 2, "decoder_layers": 2}
        | {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
        | {"encoder_ffn_dim": 48, "decoder_ffn_dim": 48}
        | {"max_source_positions": 20, "max_target_positions": 32}
        | {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
        | {"decoder_start_token_id": 1, "suppress_tokens": None}
        | {"begin_suppress_tokens": None},
        translated_sounds,
    ),
}
