"""The operators that a network's file may call without trust: arithmetic on tensors, numbers, lists and text.

TorchScript calls them `torch.NAME` and `ops.prim.NAME`, an exported program `torch.ops.aten.NAME.OVERLOAD`. This is
a list of what is known to be harmless; whatever is not on it asks for trust. Left out on purpose: what reaches
files (`save`, `from_file`) or the terminal (`print`), what looks at memory without checking where it ends
(`_reshape_alias`, `set_`, `resize_`, `segment_reduce`, `_index_put_impl_`), random state, autograd, quantisation, and
all that is new.
"""

from __future__ import annotations

_LANGUAGE = """
    Bool Complex Float Int FloatImplicit IntImplicit ScalarImplicit Size __and__ __contains__
    __derive_index __getitem__ __is__ __isnot__ __not__ __or__ __range_length __round_to_zero_floordiv
    __xor__ _set_item _unwrap_optional append as_tensor can_cast copy dict element_size endswith extend
    find floordiv format get index insert is_autocast_enabled is_complex is_contiguous is_floating_point
    is_grad_enabled is_nonzero is_same_size is_scripting is_signed items join keys len list local_value
    lower mathremainder ord percentFormat pop promote_types replace result_type reverse rstrip size sort
    sorted split startswith str strip stride sym_numel sym_size sym_storage_offset sym_stride tensor upper
    values warn zfill dim device numel item get_device storage_offset cpu cuda to type_as contiguous
    detach clone alias _to_copy _assert_async _assert_scalar _assert_tensor_metadata
    _functional_assert_async _functional_assert_scalar _is_all_true _is_any_true _local_scalar_dense
    _shape_as_tensor _list_to_tensor _tensor_to_list _get_tracing_state sym_constrain_range
    sym_constrain_range_for_size sym_is_contiguous has_torch_function lift lift_fresh lift_fresh_copy
    _cast_Byte _cast_Char _cast_Double _cast_Float _cast_Half _cast_Int _cast_Long _cast_Short
"""

_POINTWISE = """
    abs absolute acos acosh add addcdiv addcmul angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh
    asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
    bitwise_xor ceil clamp clamp_max clamp_min clip complex conj conj_physical copysign cos cosh deg2rad
    degrees digamma div divide eq equal erf erfc erfinv exp exp2 expm1 fabs float_power floor floor_divide
    fmax fmin fmod frac ge greater greater_equal gt heaviside hypot imag isclose isfinite isinf isnan
    isneginf isposinf isreal ldexp le lerp less less_equal lgamma log log10 log1p log2 logaddexp
    logaddexp2 logical_and logical_not logical_or logical_xor logit lt maximum minimum mul multiply
    nan_to_num ne neg negative nextafter not_equal polar positive pow rad2deg radians real reciprocal
    remainder resolve_conj resolve_neg round rsqrt rsub sgn sigmoid sign signbit sin sinc sinh sqrt square
    sub subtract tan tanh true_divide trunc fix where xlogy special_digamma special_entr special_erf
    special_erfc special_erfcx special_erfinv special_exp2 special_expit special_expm1 special_gammaln
    special_i0 special_log1p special_log_ndtr special_log_softmax special_logit special_logsumexp
    special_ndtr special_ndtri special_round special_sinc special_softmax special_xlog1py special_xlogy
"""

_REDUCTIONS = """
    all allclose amax amin aminmax any argmax argmin count_nonzero cummax cummin cumprod cumsum diff dist
    logcumsumexp logsumexp max mean median min mode nanmean nanmedian nansum norm prod std std_mean sum
    sum_to_size trace var var_mean frobenius_norm linalg_norm linalg_vector_norm linalg_matrix_norm
    kthvalue topk argsort msort bucketize searchsorted bincount histc unique_consecutive _unique2
"""

_SHAPES = """
    adjoint argwhere atleast_1d atleast_2d atleast_3d as_strided block_diag broadcast_tensors broadcast_to
    cartesian_prod cat channel_shuffle chunk column_stack combinations concat concatenate constant_pad_nd
    diag diag_embed diagflat diagonal diagonal_scatter dsplit dstack expand expand_as fill fill_diagonal
    flatten flip fliplr flipud gather hsplit hstack im2col col2im index_add index_copy index_fill
    index_put index_reduce index_select mH mT masked_fill masked_scatter masked_select matrix_H meshgrid
    moveaxis movedim narrow narrow_copy native_channel_shuffle nonzero nonzero_numpy nonzero_static
    numpy_T one_hot pad pad_sequence permute pixel_shuffle pixel_unshuffle put ravel repeat
    repeat_interleave reshape reshape_as roll rot90 row_stack scatter scatter_add scatter_reduce select
    select_scatter select_copy slice slice_copy slice_scatter split_with_sizes squeeze stack _stack
    swapaxes swapdims t take take_along_dim tensor_split tile transpose tril tril_indices triu
    triu_indices unbind unflatten unfold unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze
    _unsafe_view _unsafe_index view view_as view_as_complex view_as_real vsplit vstack reflection_pad1d
    reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d _pad_circular
    _pad_enum zero permute_copy view_copy expand_copy transpose_copy unsqueeze_copy squeeze_copy t_copy
"""

_NEW_TENSORS = """
    arange empty empty_like empty_permuted empty_strided eye full full_like linspace logspace new_empty
    new_empty_strided new_full new_ones new_zeros ones ones_like scalar_tensor zeros zeros_like rand
    rand_like randint randint_like randn randn_like randperm bernoulli multinomial normal uniform
    exponential bartlett_window blackman_window hamming_window hann_window kaiser_window vander
    affine_grid_generator range
"""

_PRODUCTS = """
    addbmm addmm addmv addr baddbmm bilinear bmm cdist chain_matmul cosine_similarity cov corrcoef cross
    dot einsum ger inner inverse kron linalg_cross linalg_det linalg_inv linalg_matmul linalg_matrix_power
    linalg_multi_dot linear matmul matrix_exp matrix_power mm mv outer pairwise_distance pdist pinverse
    tensordot vdot _trilinear _euclidean_dist _cdist_forward
"""

_LAYERS = """
    _adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
    adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d avg_pool1d avg_pool2d avg_pool3d
    max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d
    max_pool3d_with_indices max_unpool2d max_unpool3d fractional_max_pool2d fractional_max_pool3d
    _convolution _convolution_mode conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
    convolution batch_norm group_norm instance_norm layer_norm rms_norm native_batch_norm
    native_group_norm native_layer_norm _native_batch_norm_legit _native_batch_norm_legit_functional
    _native_batch_norm_legit_no_training _batch_norm_no_update _batch_norm_with_update
    _batch_norm_with_update_functional _batch_norm_impl_index _fused_rms_norm renorm norm_except_dim
    _weight_norm _weight_norm_interface celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh
    leaky_relu log_sigmoid log_sigmoid_forward log_softmax _log_softmax mish prelu _prelu_kernel relu
    relu6 rrelu rrelu_with_noise selu silu softmax _softmax _safe_softmax _masked_softmax softplus
    softshrink threshold alpha_dropout dropout feature_alpha_dropout feature_dropout native_dropout
    embedding embedding_bag _embedding_bag_forward_only gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh
    rnn_tanh_cell
    scaled_dot_product_attention _native_multi_head_attention _transformer_encoder_layer_fwd
    _scaled_dot_product_attention_math _scaled_dot_product_flash_attention_for_cpu
    _scaled_dot_product_flash_attention _scaled_dot_product_efficient_attention
    _scaled_dot_product_cudnn_attention _scaled_dot_product_fused_attention_overrideable
    _transform_bias_rescale_qkv _nested_tensor_from_mask _nested_tensor_from_mask_left_aligned
    to_padded_tensor __interpolate __upsample __upsample_bilinear __upsample_nearest grid_sampler
    grid_sampler_2d grid_sampler_3d upsample_bicubic2d upsample_bilinear2d upsample_linear1d
    upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_trilinear3d _upsample_bicubic2d_aa
    _upsample_bilinear2d_aa _upsample_lanczos2d_aa _upsample_nearest_exact1d _upsample_nearest_exact2d
    _upsample_nearest_exact3d fft_fft fft_fft2 fft_fftn fft_fftfreq fft_fftshift fft_hfft fft_ifft
    fft_ifft2 fft_ifftn fft_ifftshift fft_ihfft fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2
    fft_rfftfreq fft_rfftn _fft_c2c _fft_c2r _fft_r2c stft istft
"""

_NAMES = " ".join((_LANGUAGE, _POINTWISE, _REDUCTIONS, _SHAPES, _NEW_TENSORS, _PRODUCTS, _LAYERS)).split()

ATEN = frozenset(_NAMES) | {f"{name}_" for name in _NAMES if not name.endswith("_")}
"""Names in `aten`, each with its form that works in place."""

_PRIM = """
    NumToTensor RaiseException abs data device dtype is_cpu is_cuda is_meta is_mkldnn is_mps is_nested
    is_quantized is_sparse is_xpu itemsize layout max min nbytes rangelist requires_grad tolist type
    unchecked_unwrap_optional
"""

PRIM = frozenset(_PRIM.split())
"""Names in `prim`, TorchScript's own operators."""

_STRUCTURE = """
    CallFunction CallMethod Constant CreateObject DictConstruct GetAttr If ListConstruct ListUnpack Loop
    SetAttr TupleConstruct TupleIndex TupleSlice TupleUnpack Uninitialized isinstance unchecked_cast
"""

STRUCTURE = frozenset(_STRUCTURE.split())
"""What a TorchScript graph is put together with, in `prim`."""

_PROGRAM = """
    _operator.getitem _operator.add _operator.sub _operator.mul _operator.floordiv _operator.truediv _operator.mod
    _operator.neg _operator.eq _operator.ne _operator.lt _operator.le _operator.gt _operator.ge _operator.and_
    _operator.or_ _operator.not_ math.ceil math.floor math.sqrt math.trunc torch.sym_float torch.sym_int torch.sym_ite
    torch.sym_max torch.sym_min torch.sym_not torch.sym_sqrt torch.sym_sum
    torch.ops.higher_order.wrap_with_set_grad_enabled torch.ops.higher_order.wrap_with_autocast
"""

PROGRAM = frozenset(_PROGRAM.split())
"""What an exported program may call beside `aten` and `prims`: arithmetic on sizes."""

_PRIMS = """
    abs acos acosh add amax amin asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or
    bitwise_xor broadcast_in_dim cat ceil clone collapse convert_element_type cos cosh device_put div eq
    erf erf_inv erfc exp exp2 expm1 floor fmax fmin fmod full full_like ge gt iota isfinite item le log
    log10 log1p log2 lt maximum minimum mul ne neg pow prod reciprocal remainder reshape rev round rsqrt
    scalar_tensor sign sin sinh split_dim sqrt squeeze sub sum tan tanh transpose trunc var view_of where
"""

PRIMS = frozenset(_PRIMS.split())
"""Names in `prims`, to which programs may be decomposed."""


def program_may_call(target: str) -> bool:
    """Whether an exported program may call `target` without trust.

    >>> program_may_call("torch.ops.aten.relu_.default"), program_may_call("torch.ops.aten.from_file.default")
    (True, False)
    """
    if target in PROGRAM:
        return True
    match target.split("."):
        case ["torch", "ops", "aten", name, overload]:
            return name in ATEN and _is_overload(overload)
        case ["torch", "ops", "prims", name, overload]:
            return name in PRIMS and _is_overload(overload)
    return False


def graph_may_hold(kind: str) -> bool:
    """Whether a TorchScript graph may hold a node of this kind without trust.

    >>> graph_may_hold("aten::conv2d"), graph_may_hold("aten::save"), graph_may_hold("prim::Print")
    (True, False, False)
    """
    space, _, name = kind.partition("::")
    return (space == "aten" and name in ATEN) or (space == "prim" and name in PRIM | STRUCTURE)


def _is_overload(name: str) -> bool:
    return name.isidentifier() and not name.startswith("__")
