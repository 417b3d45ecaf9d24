"""More tiny real models: architectures of transformers that ``models`` lacks, one a kind of computation.

``KINDS[name](b, s)`` gives ``(module, args, kwargs, dims)`` as ``models.REG`` does. Weights are random, nothing is fetched.
"""

# ruff: noqa: E731
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
import transformers

Made = tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any], Any]
Maker = Callable[..., Made]

BATCH: Final = 3
SEQUENCE: Final = 12
VOCABULARY: Final = 200
BOTH: Final = {0: "b", 1: "s"}
KINDS: dict[str, Maker] = {}

BERT: Final = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128,
    "vocab_size": VOCABULARY, "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
GROUPED: Final = BERT | {"num_key_value_heads": 2}
MIXTURE: Final = GROUPED | {"num_local_experts": 4, "num_experts_per_tok": 2}
VISION: Final = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "image_size": 32,
    "patch_size": 8,
}  # fmt: skip
SEQ2SEQ: Final = {
    "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "vocab_size": VOCABULARY, "max_position_embeddings": 64,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2, "forced_eos_token_id": 2,
}  # fmt: skip


def ids(b: int, s: int) -> torch.Tensor:
    return torch.randint(5, VOCABULARY, (b, s))


def padded(b: int, s: int) -> torch.Tensor:
    """A mask whose first row ends early."""
    mask = torch.ones(b, s, dtype=torch.long)
    mask[0, max(1, s - 3) :] = 0
    return mask


def built(model: str, config: str, options: dict[str, Any]) -> torch.nn.Module:
    made: torch.nn.Module = getattr(transformers, model)(getattr(transformers, config)(**options)).eval()
    return made


def text(name: str, model: str, config: str, options: dict[str, Any], mask: bool = True, **call: Any) -> None:
    def make(b: int = BATCH, s: int = SEQUENCE) -> Made:
        kwargs: dict[str, Any] = {"input_ids": ids(b, s)}
        dims: dict[str, Any] = {"input_ids": BOTH}
        if mask:
            kwargs["attention_mask"], dims["attention_mask"] = padded(b, s), BOTH
        return built(model, config, options), (), kwargs | call, dims

    KINDS[name] = make


def seq2seq(name: str, model: str, config: str, options: dict[str, Any]) -> None:
    def make(b: int = BATCH, s: int = SEQUENCE) -> Made:
        kwargs = {
            "input_ids": ids(b, s),
            "attention_mask": padded(b, s),
            "decoder_input_ids": ids(b, max(1, s - 4)),
            "use_cache": False,
        }
        dims = {"input_ids": BOTH, "attention_mask": BOTH, "decoder_input_ids": {0: "b", 1: "t"}}
        return built(model, config, options), (), kwargs, dims

    KINDS[name] = make


def vision(
    name: str,
    model: str,
    config: str,
    options: dict[str, Any],
    size: int = 32,
    free: bool = False,
    **call: Any,
) -> None:
    """``free``: height and width are dynamic too."""

    def make(b: int = BATCH, s: int = SEQUENCE) -> Made:
        high, wide = (size + 32 * ((s - SEQUENCE) // 4), size + 32) if free else (size, size)
        dims = {"pixel_values": {0: "b", 2: "h", 3: "w"} if free else {0: "b"}}
        image = torch.randn(b, 3, max(high, 32), wide)
        return built(model, config, options), (), {"pixel_values": image} | call, dims

    KINDS[name] = make


def other(
    name: str, model: str, config: str, options: dict[str, Any], inputs: Callable[..., Any], dims: Any
) -> None:
    def make(b: int = BATCH, s: int = SEQUENCE) -> Made:
        return built(model, config, options), (), inputs(b, s), dims

    KINDS[name] = make


def encoder(*names: str, **options: Any) -> None:
    for name in names:
        text(name.lower(), f"{name}Model", f"{name}Config", BERT | options)


def decoder(*names: str, **options: Any) -> None:
    for name in names:
        text(name.lower(), f"{name}Model", f"{name}Config", GROUPED | options, use_cache=False)


encoder(
    "Electra",
    "XLMRoberta",
    "MPNet",
    "Camembert",
    "RoFormer",
    "MegatronBert",
    "Ernie",
    "Nystromformer",
    "ConvBert",
    "MobileBert",
    "LayoutLM",
    "IBert",
    "RemBert",
    "Splinter",
    "Data2VecText",
)
decoder(
    "Mistral",
    "Qwen3",
    "Gemma2",
    "Gemma3Text",
    "Phi3",
    "Cohere",
    "Olmo",
    "Olmo2",
    "Starcoder2",
    "StableLm",
    "Granite",
    "Glm",
    "Persimmon",
    "SmolLM3",
    "Helium",
    "Nemotron",
    "Ministral",
    "Cohere2",
    "Exaone4",
    "Glm4",
    "Apertus",
    "Arcee",
    head_dim=16,
)
decoder(
    "Mixtral",
    "Qwen2Moe",
    "Qwen3Moe",
    "Olmoe",
    "GptOss",
    "GraniteMoe",
    num_local_experts=4,
    num_experts=4,
    num_experts_per_tok=2,
    head_dim=16,
    moe_intermediate_size=32,
)
text("opt", "OPTModel", "OPTConfig", BERT | {"ffn_dim": 128, "word_embed_proj_dim": 64}, use_cache=False)
text("bloom", "BloomModel", "BloomConfig", BERT | {"n_layer": 2, "n_head": 4}, use_cache=False)
text("falcon", "FalconModel", "FalconConfig", BERT, use_cache=False)
text(
    "gptj",
    "GPTJModel",
    "GPTJConfig",
    {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": VOCABULARY, "n_positions": 64, "rotary_dim": 8},
    use_cache=False,
)
text(
    "gpt_neo",
    "GPTNeoModel",
    "GPTNeoConfig",
    {
        "hidden_size": 64,
        "num_layers": 2,
        "num_heads": 4,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 64,
        "attention_types": [[["global", "local"], 1]],
        "window_size": 4,
    },
    use_cache=False,
)
text(
    "gpt_bigcode",
    "GPTBigCodeModel",
    "GPTBigCodeConfig",
    {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": VOCABULARY, "n_positions": 64},
    use_cache=False,
)
text(
    "codegen",
    "CodeGenModel",
    "CodeGenConfig",
    {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": VOCABULARY, "n_positions": 64, "rotary_dim": 8},
    use_cache=False,
)
text(
    "mpt",
    "MptModel",
    "MptConfig",
    {"d_model": 64, "n_layers": 2, "n_heads": 4, "vocab_size": VOCABULARY, "max_seq_len": 64},
    use_cache=False,
)
text(
    "xglm",
    "XGLMModel",
    "XGLMConfig",
    {
        "d_model": 64,
        "ffn_dim": 128,
        "num_layers": 2,
        "attention_heads": 4,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 64,
    },
    use_cache=False,
)
text(
    "ctrl",
    "CTRLModel",
    "CTRLConfig",
    {"n_embd": 64, "dff": 128, "n_layer": 2, "n_head": 4, "vocab_size": VOCABULARY, "n_positions": 64},
    use_cache=False,
)
text(
    "xlnet",
    "XLNetModel",
    "XLNetConfig",
    {"d_model": 64, "d_inner": 128, "n_layer": 2, "n_head": 4, "vocab_size": VOCABULARY},
    use_mems=False,
)
text(
    "xlm",
    "XLMModel",
    "XLMConfig",
    {"emb_dim": 64, "n_layers": 2, "n_heads": 4, "vocab_size": VOCABULARY, "max_position_embeddings": 64},
)
text(
    "flaubert",
    "FlaubertModel",
    "FlaubertConfig",
    {"emb_dim": 64, "n_layers": 2, "n_heads": 4, "vocab_size": VOCABULARY, "max_position_embeddings": 64},
)
text("longformer", "LongformerModel", "LongformerConfig", BERT | {"attention_window": 4})
text(
    "big_bird",
    "BigBirdModel",
    "BigBirdConfig",
    BERT | {"block_size": 4, "num_random_blocks": 1, "attention_type": "original_full"},
)
text(
    "mamba2",
    "Mamba2Model",
    "Mamba2Config",
    {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "vocab_size": VOCABULARY,
        "state_size": 8,
        "num_heads": 8,
        "head_dim": 16,
        "n_groups": 2,
        "chunk_size": 4,
    },
    mask=False,
    use_cache=False,
)
text(
    "rwkv",
    "RwkvModel",
    "RwkvConfig",
    {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "vocab_size": VOCABULARY,
        "context_length": 64,
        "attention_hidden_size": 64,
    },
    mask=False,
    use_cache=False,
)
text(
    "recurrent_gemma",
    "RecurrentGemmaModel",
    "RecurrentGemmaConfig",
    GROUPED | {"lru_width": 64, "attention_window_size": 8, "num_hidden_layers": 3},
    use_cache=False,
)
text(
    "canine",
    "CanineModel",
    "CanineConfig",
    BERT | {"downsampling_rate": 4, "local_transformer_stride": 8, "num_hash_buckets": 64},
)
text(
    "modernbert",
    "ModernBertModel",
    "ModernBertConfig",
    BERT | {"cls_token_id": 1, "sep_token_id": 2, "local_attention": 4, "num_hidden_layers": 3},
)
text(
    "perceiver",
    "PerceiverForMaskedLM",
    "PerceiverConfig",
    {
        "num_latents": 8,
        "d_latents": 32,
        "d_model": 32,
        "num_blocks": 1,
        "num_self_attends_per_block": 1,
        "num_self_attention_heads": 4,
        "num_cross_attention_heads": 4,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 64,
    },
)
KINDS["perceiver"] = (
    lambda old: (
        lambda b=BATCH, s=SEQUENCE: (
            lambda m, a, k, d: (
                m,
                a,
                {"inputs": k["input_ids"], "attention_mask": k["attention_mask"]},
                {"inputs": BOTH, "attention_mask": BOTH},
            )
        )(*old(b, s))
    )
)(KINDS["perceiver"])
text("llama_lm", "LlamaForCausalLM", "LlamaConfig", GROUPED, use_cache=False, logits_to_keep=1)
text("bert_mlm", "BertForMaskedLM", "BertConfig", BERT)
text(
    "bert_qa",
    "BertForQuestionAnswering",
    "BertConfig",
    BERT,
    output_hidden_states=True,
    output_attentions=True,
)
text("bert_tuple", "BertForTokenClassification", "BertConfig", BERT, return_dict=False)
seq2seq("pegasus", "PegasusModel", "PegasusConfig", SEQ2SEQ)
seq2seq("marian", "MarianModel", "MarianConfig", SEQ2SEQ)
seq2seq("mbart", "MBartModel", "MBartConfig", SEQ2SEQ)
seq2seq("blenderbot", "BlenderbotModel", "BlenderbotConfig", SEQ2SEQ)
seq2seq("m2m_100", "M2M100Model", "M2M100Config", SEQ2SEQ)
seq2seq(
    "led",
    "LEDModel",
    "LEDConfig",
    SEQ2SEQ
    | {"attention_window": 4, "max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64},
)
seq2seq(
    "prophetnet",
    "ProphetNetModel",
    "ProphetNetConfig",
    {
        "hidden_size": 64,
        "num_encoder_layers": 2,
        "num_decoder_layers": 2,
        "num_encoder_attention_heads": 4,
        "num_decoder_attention_heads": 4,
        "encoder_ffn_dim": 128,
        "decoder_ffn_dim": 128,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 64,
    },
)
T5 = {
    "d_model": 64,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "num_heads": 4,
    "d_kv": 16,
    "d_ff": 128,
    "vocab_size": VOCABULARY,
    "decoder_start_token_id": 0,
}
seq2seq("mt5", "MT5Model", "MT5Config", T5)
seq2seq("longt5", "LongT5Model", "LongT5Config", T5 | {"local_radius": 3, "encoder_attention_type": "local"})
seq2seq("umt5", "UMT5Model", "UMT5Config", T5)
seq2seq(
    "switch",
    "SwitchTransformersModel",
    "SwitchTransformersConfig",
    T5 | {"num_experts": 4, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1},
)
vision("deit", "DeiTModel", "DeiTConfig", VISION)
vision("beit", "BeitModel", "BeitConfig", VISION | {"use_relative_position_bias": True})
vision("dinov2", "Dinov2Model", "Dinov2Config", VISION, free=True)
vision("dinov2_registers", "Dinov2WithRegistersModel", "Dinov2WithRegistersConfig", VISION)
vision("vit_interpolated", "ViTModel", "ViTConfig", VISION, free=True, interpolate_pos_encoding=True)
vision("siglip_vision", "SiglipVisionModel", "SiglipVisionConfig", VISION)
vision("clip_vision", "CLIPVisionModel", "CLIPVisionConfig", VISION)
vision(
    "segformer",
    "SegformerModel",
    "SegformerConfig",
    {
        "num_encoder_blocks": 2,
        "depths": [1, 1],
        "sr_ratios": [4, 1],
        "hidden_sizes": [16, 32],
        "patch_sizes": [7, 3],
        "strides": [4, 2],
        "num_attention_heads": [1, 2],
        "mlp_ratios": [2, 2],
    },
    size=64,
    free=True,
)
vision(
    "mobilevit",
    "MobileViTModel",
    "MobileViTConfig",
    {"hidden_sizes": [16, 20, 24], "neck_hidden_sizes": [8, 8, 16, 16, 20, 24, 32], "image_size": 64},
    size=64,
)
vision(
    "mobilenet_v1",
    "MobileNetV1Model",
    "MobileNetV1Config",
    {"image_size": 64, "depth_multiplier": 0.25},
    size=64,
)
vision(
    "mobilenet_v2",
    "MobileNetV2Model",
    "MobileNetV2Config",
    {"image_size": 64, "depth_multiplier": 0.25},
    size=64,
    free=True,
)
vision(
    "regnet",
    "RegNetModel",
    "RegNetConfig",
    {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1], "groups_width": 8},
    size=64,
)
vision(
    "resnet_free",
    "ResNetModel",
    "ResNetConfig",
    {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1], "layer_type": "basic"},
    size=64,
    free=True,
)
vision(
    "poolformer",
    "PoolFormerModel",
    "PoolFormerConfig",
    {
        "depths": [1, 1],
        "hidden_sizes": [16, 32],
        "num_encoder_blocks": 2,
        "patch_sizes": [7, 3],
        "strides": [4, 2],
        "padding": [2, 1],
    },
    size=64,
    free=True,
)
vision(
    "swinv2",
    "Swinv2Model",
    "Swinv2Config",
    {
        "image_size": 32,
        "patch_size": 2,
        "embed_dim": 16,
        "depths": [1, 1],
        "num_heads": [2, 4],
        "window_size": 4,
    },
)
vision(
    "pvt",
    "PvtModel",
    "PvtConfig",
    {
        "image_size": 64,
        "num_encoder_blocks": 2,
        "depths": [1, 1],
        "sequence_reduction_ratios": [2, 1],
        "hidden_sizes": [16, 32],
        "patch_sizes": [4, 2],
        "strides": [4, 2],
        "num_attention_heads": [1, 2],
        "mlp_ratios": [2, 2],
    },
    size=64,
)
vision(
    "levit",
    "LevitModel",
    "LevitConfig",
    {
        "image_size": 64,
        "hidden_sizes": [16, 32, 48],
        "num_attention_heads": [1, 2, 3],
        "depths": [1, 1, 1],
        "key_dim": [8, 8, 8],
    },
    size=64,
)
vision(
    "convnextv2",
    "ConvNextV2Model",
    "ConvNextV2Config",
    {"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2},
    size=64,
    free=True,
)
vision(
    "focalnet",
    "FocalNetModel",
    "FocalNetConfig",
    {
        "image_size": 32,
        "patch_size": 4,
        "embed_dim": 16,
        "depths": [1, 1],
        "focal_levels": [1, 1],
        "focal_windows": [3, 3],
    },
    free=True,
)
vision(
    "bit",
    "BitModel",
    "BitConfig",
    {
        "embedding_size": 16,
        "hidden_sizes": [16, 32],
        "depths": [1, 1],
        "num_groups": 4,
        "layer_type": "preactivation",
    },
    size=64,
)
vision(
    "dpt",
    "DPTForDepthEstimation",
    "DPTConfig",
    VISION
    | {
        "num_hidden_layers": 4,
        "backbone_out_indices": [0, 1, 2, 3],
        "neck_hidden_sizes": [8, 16, 16, 16],
        "fusion_hidden_size": 16,
        "is_hybrid": False,
        "backbone_config": None,
    },
)
vision(
    "glpn",
    "GLPNModel",
    "GLPNConfig",
    {
        "num_encoder_blocks": 2,
        "depths": [1, 1],
        "sr_ratios": [4, 1],
        "hidden_sizes": [16, 32],
        "patch_sizes": [7, 3],
        "strides": [4, 2],
        "num_attention_heads": [1, 2],
        "mlp_ratios": [2, 2],
    },
    size=64,
)
vision("yolos", "YolosModel", "YolosConfig", VISION | {"image_size": [32, 32], "num_detection_tokens": 4})
vision(
    "vitdet",
    "VitDetModel",
    "VitDetConfig",
    VISION
    | {
        "window_size": 2,
        "window_block_indices": [0],
        "residual_block_indices": [],
        "num_channels": 3,
        "pretrain_image_size": 32,
    },
)
vision(
    "hiera",
    "HieraModel",
    "HieraConfig",
    {
        "image_size": [32, 32],
        "embed_dim": 16,
        "depths": [1, 1],
        "num_heads": [1, 2],
        "patch_size": [7, 7],
        "patch_stride": [4, 4],
        "patch_padding": [3, 3],
        "query_stride": [2, 2],
        "masked_unit_size": [4, 4],
        "num_query_pool": 1,
    },
)
vision("ijepa", "IJepaModel", "IJepaConfig", VISION)
vision("vit_msn", "ViTMSNModel", "ViTMSNConfig", VISION)
vision(
    "upernet_like",
    "Swin2SRModel",
    "Swin2SRConfig",
    {
        "image_size": 16,
        "embed_dim": 16,
        "depths": [1, 1],
        "num_heads": [2, 2],
        "window_size": 4,
        "num_channels": 3,
    },
    size=16,
)
vision("vitmae", "ViTMAEModel", "ViTMAEConfig", VISION | {"mask_ratio": 0.5})
vision(
    "donut_swin",
    "DonutSwinModel",
    "DonutSwinConfig",
    {
        "image_size": 32,
        "patch_size": 2,
        "embed_dim": 16,
        "depths": [1, 1],
        "num_heads": [2, 4],
        "window_size": 4,
    },
    free=True,
)
AUDIO = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "conv_dim": (16, 16, 16),
    "conv_stride": (5, 2, 2),
    "conv_kernel": (10, 3, 3),
    "num_feat_extract_layers": 3,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
    "vocab_size": 32,
    "apply_spec_augment": False,
}
wave = lambda b, s: {"input_values": torch.randn(b, 1000 + 10 * (s - SEQUENCE))}
for n, o in (
    ("WavLM", {}),
    ("UniSpeech", {}),
    ("SEW", {"squeeze_factor": 2}),
    ("Data2VecAudio", {"conv_pos_kernel_size": 5}),
    ("Wav2Vec2Conformer", {"position_embeddings_type": "rotary"}),
    ("UniSpeechSat", {}),
    ("SEWD", {"squeeze_factor": 2, "pos_att_type": ("p2c", "c2p"), "position_buckets": 16}),
):
    other(n.lower(), f"{n}Model", f"{n}Config", AUDIO | o, wave, {"input_values": {0: "b", 1: "w"}})
other(
    "ast",
    "ASTModel",
    "ASTConfig",
    {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "max_length": 64,
        "num_mel_bins": 32,
    },
    lambda b, s: {"input_values": torch.randn(b, 64, 32)},
    {"input_values": {0: "b"}},
)
other(
    "encodec",
    "EncodecModel",
    "EncodecConfig",
    {
        "num_filters": 4,
        "hidden_size": 16,
        "codebook_size": 16,
        "codebook_dim": 16,
        "upsampling_ratios": [4, 2],
        "num_lstm_layers": 1,
    },
    lambda b, s: {"input_values": torch.randn(b, 1, 320 + 8 * (s - SEQUENCE))},
    {"input_values": {0: "b", 2: "w"}},
)
other(
    "speech_to_text",
    "Speech2TextModel",
    "Speech2TextConfig",
    SEQ2SEQ
    | {
        "input_feat_per_channel": 16,
        "input_channels": 1,
        "conv_channels": 16,
        "max_source_positions": 100,
        "max_target_positions": 64,
    },
    lambda b, s: {
        "input_features": torch.randn(b, 40 + 4 * (s - SEQUENCE), 16),
        "decoder_input_ids": ids(b, s),
        "use_cache": False,
    },
    {"input_features": {0: "b", 1: "w"}, "decoder_input_ids": BOTH},
)
other(
    "time_series",
    "TimeSeriesTransformerModel",
    "TimeSeriesTransformerConfig",
    {
        "prediction_length": 4,
        "context_length": 8,
        "lags_sequence": [1, 2],
        "d_model": 16,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 16,
        "decoder_ffn_dim": 16,
        "num_time_features": 1,
    },
    lambda b, s: {
        "past_values": torch.randn(b, 10),
        "past_time_features": torch.randn(b, 10, 1),
        "past_observed_mask": torch.ones(b, 10),
        "future_values": torch.randn(b, 4),
        "future_time_features": torch.randn(b, 4, 1),
        "use_cache": False,
    },
    {
        k: {0: "b"}
        for k in (
            "past_values",
            "past_time_features",
            "past_observed_mask",
            "future_values",
            "future_time_features",
        )
    },
)
other(
    "informer",
    "InformerModel",
    "InformerConfig",
    {
        "prediction_length": 4,
        "context_length": 8,
        "lags_sequence": [1, 2],
        "d_model": 16,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 16,
        "decoder_ffn_dim": 16,
        "num_time_features": 1,
    },
    lambda b, s: {
        "past_values": torch.randn(b, 10),
        "past_time_features": torch.randn(b, 10, 1),
        "past_observed_mask": torch.ones(b, 10),
        "future_values": torch.randn(b, 4),
        "future_time_features": torch.randn(b, 4, 1),
        "use_cache": False,
    },
    {
        k: {0: "b"}
        for k in (
            "past_values",
            "past_time_features",
            "past_observed_mask",
            "future_values",
            "future_time_features",
        )
    },
)
other(
    "autoformer",
    "AutoformerModel",
    "AutoformerConfig",
    {
        "prediction_length": 4,
        "context_length": 8,
        "lags_sequence": [1, 2],
        "d_model": 16,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 16,
        "decoder_ffn_dim": 16,
        "num_time_features": 1,
        "label_length": 4,
        "moving_average": 3,
    },
    lambda b, s: {
        "past_values": torch.randn(b, 10),
        "past_time_features": torch.randn(b, 10, 1),
        "past_observed_mask": torch.ones(b, 10),
        "future_values": torch.randn(b, 4),
        "future_time_features": torch.randn(b, 4, 1),
        "use_cache": False,
    },
    {
        k: {0: "b"}
        for k in (
            "past_values",
            "past_time_features",
            "past_observed_mask",
            "future_values",
            "future_time_features",
        )
    },
)
other(
    "patchtsmixer",
    "PatchTSMixerModel",
    "PatchTSMixerConfig",
    {
        "context_length": 32,
        "patch_length": 8,
        "patch_stride": 8,
        "d_model": 16,
        "num_layers": 2,
        "num_input_channels": 3,
    },
    lambda b, s: {"past_values": torch.randn(b, 32, 3)},
    {"past_values": {0: "b"}},
)
other(
    "decision",
    "DecisionTransformerModel",
    "DecisionTransformerConfig",
    {"state_dim": 4, "act_dim": 2, "hidden_size": 32, "n_layer": 1, "n_head": 2, "max_ep_len": 64},
    lambda b, s: {
        "states": torch.randn(b, s, 4),
        "actions": torch.randn(b, s, 2),
        "rewards": torch.randn(b, s, 1),
        "returns_to_go": torch.randn(b, s, 1),
        "timesteps": torch.arange(s).expand(b, s).contiguous(),
        "attention_mask": torch.ones(b, s),
    },
    dict.fromkeys(("states", "actions", "rewards", "returns_to_go", "timesteps", "attention_mask"), BOTH),
)
CT = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 32,
    "eos_token_id": 2,
    "bos_token_id": 1,
    "pad_token_id": 0,
}
pairs = lambda b, s: {
    "input_ids": ids(b, s),
    "attention_mask": padded(b, s),
    "pixel_values": torch.randn(b, 3, 32, 32),
}
pd = {"input_ids": BOTH, "attention_mask": BOTH, "pixel_values": {0: "b"}}
other("siglip", "SiglipModel", "SiglipConfig", {"text_config": CT, "vision_config": VISION}, pairs, pd)
other(
    "owlvit",
    "OwlViTModel",
    "OwlViTConfig",
    {"text_config": CT, "vision_config": VISION, "projection_dim": 32},
    pairs,
    pd,
)
other(
    "altclip",
    "AltCLIPModel",
    "AltCLIPConfig",
    {
        "text_config": CT | {"max_position_embeddings": 40, "project_dim": 32},
        "vision_config": VISION,
        "projection_dim": 32,
    },
    pairs,
    pd,
)
other(
    "blip",
    "BlipModel",
    "BlipConfig",
    {"text_config": CT, "vision_config": VISION, "projection_dim": 32},
    pairs,
    pd,
)
other(
    "vilt",
    "ViltModel",
    "ViltConfig",
    VISION | {"vocab_size": VOCABULARY, "max_position_embeddings": 32, "type_vocab_size": 2},
    pairs,
    pd,
)
other(
    "flava_text",
    "FlavaTextModel",
    "FlavaTextConfig",
    BERT,
    lambda b, s: {"input_ids": ids(b, s), "attention_mask": padded(b, s)},
    {"input_ids": BOTH, "attention_mask": BOTH},
)
other("git", "GitModel", "GitConfig", BERT | {"vision_config": VISION, "use_cache": False}, pairs, pd)
other(
    "bridgetower",
    "BridgeTowerModel",
    "BridgeTowerConfig",
    {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "text_config": CT | {"max_position_embeddings": 40, "hidden_size": 64},
        "vision_config": VISION,
    },
    pairs,
    pd,
)
other(
    "tapas",
    "TapasModel",
    "TapasConfig",
    BERT,
    lambda b, s: {
        "input_ids": ids(b, s),
        "attention_mask": padded(b, s),
        "token_type_ids": torch.zeros(b, s, 7, dtype=torch.long),
    },
    {"input_ids": BOTH, "attention_mask": BOTH, "token_type_ids": BOTH},
)
other(
    "esm",
    "EsmModel",
    "EsmConfig",
    BERT | {"mask_token_id": 4, "position_embedding_type": "rotary"},
    lambda b, s: {"input_ids": ids(b, s), "attention_mask": padded(b, s)},
    {"input_ids": BOTH, "attention_mask": BOTH},
)
other(
    "graphormer_like",
    "MaskFormerSwinModel",
    "MaskFormerSwinConfig",
    {
        "image_size": 32,
        "patch_size": 2,
        "embed_dim": 16,
        "depths": [1, 1],
        "num_heads": [2, 4],
        "window_size": 4,
    },
    lambda b, s: {"pixel_values": torch.randn(b, 3, 32, 32)},
    {"pixel_values": {0: "b"}},
)
other(
    "videomae",
    "VideoMAEModel",
    "VideoMAEConfig",
    VISION | {"num_frames": 4},
    lambda b, s: {"pixel_values": torch.randn(b, 4, 3, 32, 32)},
    {"pixel_values": {0: "b"}},
)
other(
    "vivit",
    "VivitModel",
    "VivitConfig",
    VISION | {"num_frames": 4, "tubelet_size": [2, 8, 8]},
    lambda b, s: {"pixel_values": torch.randn(b, 4, 3, 32, 32)},
    {"pixel_values": {0: "b"}},
)
other(
    "timesformer",
    "TimesformerModel",
    "TimesformerConfig",
    VISION | {"num_frames": 4},
    lambda b, s: {"pixel_values": torch.randn(b, 4, 3, 32, 32)},
    {"pixel_values": {0: "b"}},
)
other(
    "clap_audio",
    "ClapAudioModel",
    "ClapAudioConfig",
    {
        "spec_size": 32,
        "num_mel_bins": 8,
        "patch_size": 4,
        "patch_stride": [4, 4],
        "patch_embeds_hidden_size": 16,
        "depths": [1, 1],
        "num_attention_heads": [2, 2],
        "window_size": 4,
        "hidden_size": 32,
    },
    lambda b, s: {
        "input_features": torch.randn(b, 1, 128, 8),
        "is_longer": torch.zeros(b, 1, dtype=torch.bool),
    },
    {"input_features": {0: "b"}, "is_longer": {0: "b"}},
)
other(
    "sam_vision",
    "SamVisionModel",
    "SamVisionConfig",
    VISION
    | {
        "output_channels": 16,
        "global_attn_indexes": [1],
        "window_size": 2,
        "mlp_dim": 64,
        "num_pos_feats": 8,
    },
    lambda b, s: {"pixel_values": torch.randn(b, 3, 32, 32)},
    {"pixel_values": {0: "b"}},
)
other(
    "detr_like",
    "TableTransformerModel",
    "TableTransformerConfig",
    SEQ2SEQ
    | {
        "num_queries": 5,
        "use_timm_backbone": False,
        "use_pretrained_backbone": False,
        "backbone": None,
        "backbone_config": transformers.ResNetConfig(
            embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], out_features=["stage2"]
        ),
    },
    lambda b, s: {"pixel_values": torch.randn(b, 3, 64, 64)},
    {"pixel_values": {0: "b"}},
)
