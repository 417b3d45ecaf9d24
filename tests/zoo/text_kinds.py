"""Models of transformers that read text."""

from __future__ import annotations

from typing import Any, Final

from tests.zoo.building import TEXT, TWO_TEXTS, UNMASKED, VOCABULARY, Inputs, Maker, kind

Options = dict[str, Any]
NO_CACHE: Final = {"use_cache": False}
# fmt: off
NAMES: Final[Options] = {"vocab_size": VOCABULARY, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
BERT: Final[Options] = NAMES | {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "max_position_embeddings": 64,
}
GROUPED: Final = BERT | {"num_key_value_heads": 2}
HEADS: Final = GROUPED | {"head_dim": 16}
MIXTURE: Final = HEADS | {"num_local_experts": 4, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
LATENT: Final[Options] = {
    "num_key_value_heads": 4, "kv_lora_rank": 16, "q_lora_rank": 24, "qk_rope_head_dim": 8, "v_head_dim": 16, "qk_nope_head_dim": 8,
}
GPT: Final[Options] = {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": VOCABULARY, "n_positions": 64}
XLM: Final[Options] = {"emb_dim": 64, "n_layers": 2, "n_heads": 4, "vocab_size": VOCABULARY, "max_position_embeddings": 64}
SEQ2SEQ: Final = NAMES | {
    "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "max_position_embeddings": 64, "decoder_start_token_id": 2,
    "forced_eos_token_id": 2,
}
T5: Final[Options] = {
    "d_model": 64, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 4, "d_kv": 16, "d_ff": 128, "vocab_size": VOCABULARY,
    "decoder_start_token_id": 0,
}

ENCODERS: Final = (
    "Electra", "XLMRoberta", "MPNet", "Camembert", "RoFormer", "MegatronBert", "Ernie", "Nystromformer", "ConvBert", "MobileBert",
    "LayoutLM", "IBert", "RemBert", "Splinter", "Data2VecText",
)
DECODERS: Final = (
    "Mistral", "Qwen3", "Gemma2", "Gemma3Text", "Phi3", "Cohere", "Olmo", "Olmo2", "Starcoder2", "StableLm", "Granite", "Glm",
    "Persimmon", "SmolLM3", "Helium", "Nemotron", "Ministral", "Cohere2", "Exaone4", "Glm4", "Apertus", "Arcee",
)
MIXTURES: Final = ("Mixtral", "Qwen2Moe", "Qwen3Moe", "Olmoe", "GptOss", "GraniteMoe")


def renamed(b: int, s: int) -> dict[str, Any]:
    made = TEXT.make(b, s)
    return {"inputs": made["input_ids"], "attention_mask": made["attention_mask"]}


TEXT_KINDS: Final[dict[str, Maker]] = {
    **{stem.lower(): kind(stem, BERT) for stem in ENCODERS},
    **{stem.lower(): kind(stem, HEADS, call=NO_CACHE) for stem in DECODERS},
    **{stem.lower(): kind(stem, MIXTURE, call=NO_CACHE) for stem in MIXTURES},
    "opt": kind("OPT", BERT, ffn_dim=128, word_embed_proj_dim=64, call=NO_CACHE),
    "bloom": kind("Bloom", BERT, n_layer=2, n_head=4, call=NO_CACHE),
    "falcon": kind("Falcon", BERT, call=NO_CACHE),
    "gptj": kind("GPTJ", GPT, rotary_dim=8, call=NO_CACHE),
    "gpt_neo": kind("GPTNeo", hidden_size=64, num_layers=2, num_heads=4, vocab_size=VOCABULARY, max_position_embeddings=64,
                    attention_types=[[["global", "local"], 1]], window_size=4, call=NO_CACHE),
    "gpt_bigcode": kind("GPTBigCode", GPT, call=NO_CACHE),
    "codegen": kind("CodeGen", GPT, rotary_dim=8, call=NO_CACHE),
    "mpt": kind("Mpt", d_model=64, n_layers=2, n_heads=4, vocab_size=VOCABULARY, max_seq_len=64, call=NO_CACHE),
    "xglm": kind("XGLM", d_model=64, ffn_dim=128, num_layers=2, attention_heads=4, vocab_size=VOCABULARY,
                 max_position_embeddings=64, call=NO_CACHE),
    "ctrl": kind("CTRL", GPT, dff=128, call=NO_CACHE),
    "xlnet": kind("XLNet", d_model=64, d_inner=128, n_layer=2, n_head=4, vocab_size=VOCABULARY, call={"use_mems": False}),
    "xlm": kind("XLM", XLM),
    "flaubert": kind("Flaubert", XLM),
    "longformer": kind("Longformer", BERT, attention_window=4),
    "big_bird": kind("BigBird", BERT, block_size=4, num_random_blocks=1, attention_type="original_full"),
    "mamba2": kind("Mamba2", hidden_size=64, num_hidden_layers=2, vocab_size=VOCABULARY, state_size=8, num_heads=8, head_dim=16,
                   n_groups=2, chunk_size=4, inputs=UNMASKED, call=NO_CACHE),
    "rwkv": kind("Rwkv", hidden_size=64, num_hidden_layers=2, vocab_size=VOCABULARY, context_length=64, attention_hidden_size=64,
                 inputs=UNMASKED, call=NO_CACHE),
    "recurrent_gemma": kind("RecurrentGemma", GROUPED, lru_width=64, attention_window_size=8, num_hidden_layers=3, call=NO_CACHE),
    "canine": kind("Canine", BERT, downsampling_rate=4, local_transformer_stride=8, num_hash_buckets=64),
    "modernbert": kind("ModernBert", BERT, cls_token_id=1, sep_token_id=2, local_attention=4, num_hidden_layers=3),
    "perceiver": kind("Perceiver", num_latents=8, d_latents=32, d_model=32, num_blocks=1, num_self_attends_per_block=1,
                      num_self_attention_heads=4, num_cross_attention_heads=4, vocab_size=VOCABULARY, max_position_embeddings=64,
                      head="ForMaskedLM", inputs=Inputs(renamed, dict.fromkeys(("inputs", "attention_mask"), TEXT.dims["input_ids"]))),
    "llama_lm": kind("Llama", GROUPED, head="ForCausalLM", call={"use_cache": False, "logits_to_keep": 1}),
    "bert_mlm": kind("Bert", BERT, head="ForMaskedLM"),
    "bert_qa": kind("Bert", BERT, head="ForQuestionAnswering", call={"output_hidden_states": True, "output_attentions": True}),
    "bert_tuple": kind("Bert", BERT, head="ForTokenClassification", call={"return_dict": False}),
    **{name: kind(stem, SEQ2SEQ, inputs=TWO_TEXTS) for name, stem in {
        "pegasus": "Pegasus", "marian": "Marian", "mbart": "MBart", "blenderbot": "Blenderbot", "m2m_100": "M2M100",
    }.items()},
    "led": kind("LED", SEQ2SEQ, attention_window=4, max_encoder_position_embeddings=64, max_decoder_position_embeddings=64,
                inputs=TWO_TEXTS),
    "prophetnet": kind("ProphetNet", hidden_size=64, num_encoder_layers=2, num_decoder_layers=2, num_encoder_attention_heads=4,
                       num_decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, vocab_size=VOCABULARY,
                       max_position_embeddings=64, inputs=TWO_TEXTS),
    "mt5": kind("MT5", T5, inputs=TWO_TEXTS),
    "longt5": kind("LongT5", T5, local_radius=3, encoder_attention_type="local", inputs=TWO_TEXTS),
    "longt5_global": kind("LongT5", T5, local_radius=3, global_block_size=4, encoder_attention_type="transient-global",
                          inputs=TWO_TEXTS),
    "umt5": kind("UMT5", T5, inputs=TWO_TEXTS),
    "fnet": kind("FNet", BERT, use_tpu_fourier_optimizations=False, inputs=UNMASKED),
    "squeezebert": kind("SqueezeBert", BERT, embedding_size=64),
    "yoso": kind("Yoso", BERT, use_expectation=True),
    "luke": kind("Luke", BERT, entity_vocab_size=20, entity_emb_size=16),
    "xmod": kind("Xmod", BERT, languages=["en_XX"], default_language="en_XX"),
    "diffllama": kind("DiffLlama", GROUPED, call=NO_CACHE),
    "deepseek_v3": kind("DeepseekV3", BERT, LATENT, n_routed_experts=4, num_experts_per_tok=2, n_group=2, topk_group=1,
                        first_k_dense_replace=1, n_shared_experts=1, moe_intermediate_size=32, call=NO_CACHE),
    "minicpm3": kind("MiniCPM3", BERT, LATENT, call=NO_CACHE),
    "lfm2": kind("Lfm2", GROUPED, layer_types=["conv", "full_attention"], call=NO_CACHE),
    "bamba": kind("Bamba", HEADS, attn_layer_indices=[1], mamba_n_heads=8, mamba_d_head=16, mamba_d_state=8, mamba_chunk_size=4,
                  mamba_n_groups=2, call=NO_CACHE),
    "qwen3_next": kind("Qwen3Next", HEADS, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
                       shared_expert_intermediate_size=32, linear_num_key_heads=2, linear_num_value_heads=4,
                       linear_key_head_dim=8, linear_value_head_dim=8, layer_types=["linear_attention", "full_attention"],
                       call=NO_CACHE),
    "jamba": kind("Jamba", GROUPED, num_experts=2, attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2,
                  expert_layer_offset=1, mamba_d_state=8, mamba_dt_rank=8, use_mamba_kernels=False, call=NO_CACHE),
    "xlstm": kind("xLSTM", hidden_size=64, num_hidden_layers=2, vocab_size=VOCABULARY, num_heads=4, chunk_size=4, inputs=UNMASKED,
                  call=NO_CACHE),
    "funnel": kind("Funnel", vocab_size=VOCABULARY, block_sizes=[1, 1], d_model=64, n_head=4, d_head=16, d_inner=128,
                   num_decoder_layers=1),
    "t5gemma": kind("T5Gemma", encoder=dict(HEADS), decoder=dict(HEADS), vocab_size=VOCABULARY, inputs=TWO_TEXTS),
    "pegasus_x": kind("PegasusX", SEQ2SEQ, block_size=4, num_global_tokens=2, inputs=TWO_TEXTS),
    "nllb_moe": kind("NllbMoe", SEQ2SEQ, num_experts=4, encoder_sparse_step=2, decoder_sparse_step=2, expert_capacity=8,
                     inputs=TWO_TEXTS),
    "fsmt": kind("FSMT", SEQ2SEQ, langs=["en", "de"], src_vocab_size=VOCABULARY, tgt_vocab_size=VOCABULARY, inputs=TWO_TEXTS),
    "switch": kind("SwitchTransformers", T5, num_experts=4, num_sparse_encoder_layers=1, num_sparse_decoder_layers=1,
                   inputs=TWO_TEXTS),
}
# fmt: on
