"""Models of transformers that hear, read series, or read text beside images."""

from __future__ import annotations

from typing import Any, Final

import torch

from tests.zoo.building import (
    BOTH,
    ROWS,
    SEQUENCE,
    TEXT,
    VOCABULARY,
    Inputs,
    Maker,
    ids,
    kind,
    padded,
    tensors,
)
from tests.zoo.image_kinds import VISION
from tests.zoo.text_kinds import BERT, NAMES, SEQ2SEQ

Options = dict[str, Any]
# fmt: off
AUDIO: Final[Options] = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "conv_dim": (16, 16, 16),
    "conv_stride": (5, 2, 2), "conv_kernel": (10, 3, 3), "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4, "vocab_size": 32, "apply_spec_augment": False,
}
SERIES: Final[Options] = {
    "prediction_length": 4, "context_length": 8, "lags_sequence": [1, 2], "d_model": 16, "encoder_layers": 1, "decoder_layers": 1,
    "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "num_time_features": 1,
}
CAPTION: Final[Options] = NAMES | {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "max_position_embeddings": 32,
}
LONG_CAPTION: Final = CAPTION | {"max_position_embeddings": 40}
HISTORY: Final[dict[str, tuple[int, ...]]] = {
    "past_values": (10,), "past_time_features": (10, 1), "future_values": (4,), "future_time_features": (4, 1),
}
# fmt: on


def observed(b: int, s: int) -> dict[str, Any]:
    shapes = {
        "past_values": (10,),
        "past_time_features": (10, 1),
        "future_values": (4,),
        "future_time_features": (4, 1),
    }
    made: dict[str, Any] = {name: torch.randn(b, *shape) for name, shape in shapes.items()}
    return made | {"past_observed_mask": torch.ones(b, 10), "use_cache": False}


def trajectory(b: int, s: int) -> dict[str, Any]:
    shapes = {"states": 4, "actions": 2, "rewards": 1, "returns_to_go": 1}
    made = {name: torch.randn(b, s, width) for name, width in shapes.items()}
    return made | {
        "timesteps": torch.arange(s).expand(b, s).contiguous(),
        "attention_mask": torch.ones(b, s),
    }


WAVE: Final = Inputs(
    lambda b, s: {"input_values": torch.randn(b, 1000 + 10 * (s - SEQUENCE))},
    {"input_values": {0: "b", 1: "w"}},
)
MONO: Final = Inputs(
    lambda b, s: {"input_values": torch.randn(b, 1, 320 + 8 * (s - SEQUENCE))},
    {"input_values": {0: "b", 2: "w"}},
)
FRAMES: Final = Inputs(
    lambda b, s: {"input_features": torch.randn(b, 4 * s, 16)}, {"input_features": {0: "b", 1: "s"}}
)
SPEECH: Final = Inputs(
    lambda b, s: {
        "input_values": torch.randn(b, 2000 + 100 * (s - SEQUENCE)),
        "decoder_input_ids": ids(b, s),
        "use_cache": False,
    },
    {"input_values": {0: "b", 1: "w"}, "decoder_input_ids": BOTH},
)
FEATURES: Final = Inputs(
    lambda b, s: {
        "input_features": torch.randn(b, 40 + 4 * (s - SEQUENCE), 16),
        "decoder_input_ids": ids(b, s),
        "use_cache": False,
    },
    {"input_features": {0: "b", 1: "w"}, "decoder_input_ids": BOTH},
)
PAST: Final = Inputs(
    observed,
    dict.fromkeys((*HISTORY, "past_observed_mask"), ROWS),
)
PLAY: Final = Inputs(
    trajectory,
    dict.fromkeys(("states", "actions", "rewards", "returns_to_go", "timesteps", "attention_mask"), BOTH),
)
TABLE: Final = Inputs(
    lambda b, s: TEXT.make(b, s) | {"token_type_ids": torch.zeros(b, s, 7, dtype=torch.long)},
    {**TEXT.dims, "token_type_ids": BOTH},
)
PAIRS: Final = Inputs(
    lambda b, s: {
        "input_ids": ids(b, s),
        "attention_mask": padded(b, s),
        "pixel_values": torch.randn(b, 3, 32, 32),
    },
    {**TEXT.dims, "pixel_values": ROWS},
)
CLAP: Final = Inputs(
    lambda b, s: {
        "input_features": torch.randn(b, 1, 128, 8),
        "is_longer": torch.zeros(b, 1, dtype=torch.bool),
    },
    {"input_features": ROWS, "is_longer": ROWS},
)

# fmt: off
OTHER_KINDS: Final[dict[str, Maker]] = {
    "wavlm": kind("WavLM", AUDIO, inputs=WAVE),
    "unispeech": kind("UniSpeech", AUDIO, inputs=WAVE),
    "sew": kind("SEW", AUDIO, squeeze_factor=2, inputs=WAVE),
    "data2vecaudio": kind("Data2VecAudio", AUDIO, conv_pos_kernel_size=5, inputs=WAVE),
    "wav2vec2conformer": kind("Wav2Vec2Conformer", AUDIO, position_embeddings_type="rotary", inputs=WAVE),
    "unispeechsat": kind("UniSpeechSat", AUDIO, inputs=WAVE),
    "sewd": kind("SEWD", AUDIO, squeeze_factor=2, pos_att_type=("p2c", "c2p"), position_buckets=16, inputs=WAVE),
    "wav2vec2_bert": kind("Wav2Vec2Bert", hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
                          feature_projection_input_dim=16, vocab_size=32, apply_spec_augment=False, conv_depthwise_kernel_size=5,
                          left_max_position_embeddings=8, right_max_position_embeddings=4, inputs=FRAMES),
    "moonshine": kind("Moonshine", hidden_size=64, intermediate_size=128, encoder_num_hidden_layers=1, decoder_num_hidden_layers=1,
                      encoder_num_attention_heads=4, decoder_num_attention_heads=4, vocab_size=VOCABULARY, inputs=SPEECH),
    "dac": kind("Dac", encoder_hidden_size=8, downsampling_ratios=[2, 4], decoder_hidden_size=32, n_codebooks=2, codebook_size=16,
                codebook_dim=4, inputs=MONO),
    "ast": kind("AST", hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, max_length=64,
                num_mel_bins=32, inputs=tensors(input_values=(64, 32))),
    "encodec": kind("Encodec", num_filters=4, hidden_size=16, codebook_size=16, codebook_dim=16, upsampling_ratios=[4, 2],
                    num_lstm_layers=1, inputs=MONO),
    "speech_to_text": kind("Speech2Text", SEQ2SEQ, input_feat_per_channel=16, input_channels=1, conv_channels=16,
                           max_source_positions=100, max_target_positions=64, inputs=FEATURES),
    "time_series": kind("TimeSeriesTransformer", SERIES, inputs=PAST),
    "informer": kind("Informer", SERIES, inputs=PAST),
    "autoformer": kind("Autoformer", SERIES, label_length=4, moving_average=3, inputs=PAST),
    "patchtsmixer": kind("PatchTSMixer", context_length=32, patch_length=8, patch_stride=8, d_model=16, num_layers=2,
                         num_input_channels=3, inputs=tensors(past_values=(32, 3))),
    "decision": kind("DecisionTransformer", state_dim=4, act_dim=2, hidden_size=32, n_layer=1, n_head=2, max_ep_len=64, inputs=PLAY),
    "siglip": kind("Siglip", text_config=CAPTION, vision_config=VISION, inputs=PAIRS),
    "owlvit": kind("OwlViT", text_config=CAPTION, vision_config=VISION, projection_dim=32, inputs=PAIRS),
    "altclip": kind("AltCLIP", text_config=LONG_CAPTION | {"project_dim": 32}, vision_config=VISION, projection_dim=32, inputs=PAIRS),
    "blip": kind("Blip", text_config=CAPTION, vision_config=VISION, projection_dim=32, inputs=PAIRS),
    "vilt": kind("Vilt", VISION, vocab_size=VOCABULARY, max_position_embeddings=32, type_vocab_size=2, inputs=PAIRS),
    "flava_text": kind("FlavaText", BERT),
    "git": kind("Git", BERT, vision_config=VISION, use_cache=False, inputs=PAIRS),
    "bridgetower": kind("BridgeTower", hidden_size=64, num_hidden_layers=2, num_attention_heads=4, text_config=LONG_CAPTION,
                        vision_config=VISION, inputs=PAIRS),
    "tapas": kind("Tapas", BERT, inputs=TABLE),
    "esm": kind("Esm", BERT, mask_token_id=4, position_embedding_type="rotary"),
    "clap_audio": kind("ClapAudio", spec_size=32, num_mel_bins=8, patch_size=4, patch_stride=[4, 4], patch_embeds_hidden_size=16,
                       depths=[1, 1], num_attention_heads=[2, 2], window_size=4, hidden_size=32, inputs=CLAP),
}
# fmt: on
