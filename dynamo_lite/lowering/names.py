"""Which public names are nothing but an operator packet of the same name."""

from __future__ import annotations

from typing import Final

# Both ``torch.name(x, …)`` and ``x.name(…)``.
SHARED: Final = tuple(
    """
    abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr all allclose amax amin aminmax angle any
    arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort as_strided asin asinh atan atan2
    atanh baddbmm bernoulli bincount bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
    bitwise_xor bmm broadcast_to bucketize ceil chunk clamp clamp_max clamp_min clip clone copysign cos cosh
    count_nonzero cross cummax cummin cumprod cumsum deg2rad detach diag diag_embed diagonal diff digamma div divide
    dot eq equal erf erfc erfinv exp exp2 expm1 fix flatten flip float_power floor floor_divide fmax fmin fmod frac
    gather ge ger gt greater greater_equal hardshrink heaviside histc hypot index_add index_copy index_fill
    index_put index_select isclose isfinite isinf isnan isneginf isposinf isreal kron kthvalue le less less_equal
    lerp lgamma log log10 log1p log2 log_softmax logaddexp logaddexp2 logcumsumexp logical_and logical_not
    logical_or logical_xor logit logsumexp lt masked_fill masked_scatter masked_select matmul max maximum mean
    median min minimum mm moveaxis movedim msort mul multinomial multiply mv nan_to_num nanmean nansum narrow ne neg
    negative nonzero norm not_equal outer permute positive pow prelu prod rad2deg ravel reciprocal relu remainder
    repeat_interleave reshape resolve_conj roll rot90 round rsqrt scatter scatter_add scatter_reduce select
    select_scatter sgn sigmoid sign signbit sin sinc sinh slice_scatter softmax sort split split_with_sizes sqrt
    square squeeze std sub subtract sum swapaxes swapdims t take take_along_dim tan tanh tensor_split tile topk
    trace transpose tril triu true_divide trunc unbind unflatten unique_consecutive unsqueeze vdot var
    view_as_complex view_as_real where xlogy diagonal_scatter as_strided_scatter argwhere gcd i0 conj_physical
    resolve_neg
    """.split()  # noqa: SIM905  a word list reads better than two hundred quoted strings
)

# ``x.name(…)`` only.
METHODS_ONLY: Final = tuple(
    """
    contiguous expand expand_as repeat reshape_as unfold view view_as new_empty new_empty_strided new_full new_ones
    new_zeros alias
    """.split()  # noqa: SIM905
)

# In-place methods.
INPLACE: Final = tuple(
    """
    abs_ acos_ add_ addcdiv_ addcmul_ addmm_ asin_ atan_ baddbmm_ bernoulli_ bitwise_and_ bitwise_not_ bitwise_or_
    bitwise_xor_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ copy_ cos_ cosh_ cumprod_ cumsum_ detach_ div_ eq_ erf_
    erfc_ exp_ exp2_ expm1_ exponential_ fill_ floor_ floor_divide_ fmod_ frac_ ge_ gt_ index_add_ index_copy_
    index_fill_ index_put_ le_ lerp_ log_ log10_ log1p_ log2_ logical_and_ logical_not_ logical_or_ logical_xor_ lt_
    masked_fill_ masked_scatter_ mul_ ne_ neg_ normal_ pow_ reciprocal_ relu_ remainder_ round_ rsqrt_ scatter_
    scatter_add_ scatter_reduce_ sigmoid_ sign_ sin_ sinh_ sqrt_ square_ sub_ tan_ tanh_ tril_ triu_ trunc_ uniform_
    zero_ multiply_ divide_ subtract_ negative_ true_divide_ absolute_ acosh_ addbmm_ addmv_ addr_ asinh_ atan2_
    atanh_ deg2rad_ digamma_ erfinv_ i0_ lgamma_ rad2deg_ sgn_ sinc_
    """.split()  # noqa: SIM905
)

# ``torch.name(…)`` only.
FUNCTIONS_ONLY: Final = tuple(
    """
    cat cdist celu complex concat concatenate column_stack conv1d conv2d conv3d conv_transpose1d
    conv_transpose2d cosine_similarity dropout dropout_ embedding embedding_bag einsum feature_dropout group_norm
    gru gru_cell hstack instance_norm layer_norm lstm lstm_cell meshgrid pairwise_distance pixel_shuffle
    pixel_unshuffle polar relu_ rms_norm rnn_tanh rnn_tanh_cell row_stack rsub searchsorted selu stack
    std_mean tensordot threshold tril_indices triu_indices var_mean vstack batch_norm adaptive_avg_pool1d avg_pool1d
    max_pool1d max_pool2d native_layer_norm lift_fresh_copy constant_pad_nd channel_shuffle clamp_ exp_ sigmoid_
    tanh_ bucketize kl_div hardswish isin convolution conv_transpose3d rnn_relu rnn_relu_cell native_dropout
    max_pool3d celu_ selu_ threshold_ bilinear adaptive_max_pool1d feature_dropout_
    """.split()  # noqa: SIM905
)

# ``torch.name(…)`` that makes a tensor and takes ``requires_grad``.
FACTORIES: Final = tuple(
    """
    arange empty empty_like empty_permuted empty_strided eye full full_like linspace logspace normal ones ones_like rand rand_like
    randint randint_like randn randn_like randperm scalar_tensor zeros zeros_like
    """.split()  # noqa: SIM905
)

# ``torch._C._nn`` of PyTorch: leaves of ``nn.functional``.
NN: Final = tuple(
    """
    adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d avg_pool2d avg_pool3d elu elu_ gelu glu hardsigmoid
    hardsigmoid_ hardswish hardswish_ hardtanh hardtanh_ huber_loss im2col col2im l1_loss leaky_relu leaky_relu_
    linear log_sigmoid mish mish_ mse_loss one_hot pad relu6 relu6_ scaled_dot_product_attention silu silu_
    smooth_l1_loss softplus softshrink max_pool2d_with_indices nll_loss nll_loss_nd cross_entropy_loss
    binary_cross_entropy binary_cross_entropy_with_logits upsample_nearest1d upsample_nearest2d upsample_bilinear2d
    upsample_linear1d upsample_bicubic2d reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d
    margin_ranking_loss gelu_ max_pool1d_with_indices max_pool3d_with_indices reflection_pad3d replication_pad3d
    """.split()  # noqa: SIM905
)
