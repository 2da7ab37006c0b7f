//===- views/strided_view.cpp - Views that ask about strides --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functionalisation applies a view to the value of its tensor, which is
// row-major. Where the tensor reports other strides, eager would look at other
// elements: those of the storage, which is its base.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/views/strided_view.h"

#include "ltc_backend/record/checks/cpu_check.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/probe.h"
#include "ltc_backend/record/views/math_bits.h"
#include "ltc_backend/record/views/storage_view.h"
#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/map_tensors.h"
#include "ltc_backend/torch_private.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>

namespace ltc::backend {
using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;
namespace functional = at::functionalization;

namespace {
struct ViewKernel final : KernelOverride {
  using KernelOverride::KernelOverride;
  void operator()(const c10::OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    const Tensor &self = torch::jit::peek(*stack, 0, 2).toTensor();
    // Others are torch.compile's, and may have sizes that are no numbers.
    if (isFunctionalLazy(self) && !self.is_contiguous())
      check(self, torch::jit::peek(*stack, 1, 2).toIntVector());
    stock.callBoxed(op, keys, stack);
  }

private:
  static void check(const Tensor &self, at::IntArrayRef size) {
    auto inferred = at::infer_size_dv(size, self.numel());
    TORCH_CHECK(at::detail::computeStride(self.sizes(), self.strides(),
                                          at::IntArrayRef(inferred)),
                "view size is not compatible with input tensor's size and "
                "stride (at least one dimension spans across two contiguous "
                "subspaces). Use .reshape(...) instead.");
  }
};
} // namespace

namespace {
/// Of views of another dtype: the meta kernel looks at the strides that the
/// tensor reports, and eager has none of a conjugate or negative.
struct DtypeViewKernel final : KernelOverride {
  using KernelOverride::KernelOverride;
  void operator()(const c10::OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    auto arguments = torch::jit::last(*stack, op.schema().arguments().size());
    const Tensor &self = arguments[0].toTensor();
    if (isFunctionalLazy(self) && (hasMathBits(self) || self.storage_offset() ||
                                   !isRowMajor(self.sizes(), self.strides()))) {
      Tensor like = metaLike(self);
      like.unsafeGetTensorImpl()->set_storage_offset(self.storage_offset());
      copyMathBits(self, like);
      std::vector<c10::IValue> call = arguments.vec();
      call[0] = like;
      callOnProbes(op, std::move(call));
    }
    stock.callBoxed(op, keys, stack);
  }
};
} // namespace

bool changesElements(const Tensor &self) {
  const auto &metas =
      functional::impl::unsafeGetFunctionalWrapper(self)->view_metas();
  return std::ranges::any_of(metas, [](const auto &meta) {
    return isOneOf(*meta, {"view_dtype_ViewMeta", "view_as_real_ViewMeta",
                           "view_as_complex_ViewMeta"});
  });
}

static size_t storageBytes(const Tensor &self) {
  return storageOf(self).base().nbytes();
}

static bool coversItsStorage(const Tensor &self) {
  return self.storage_offset() == 0 &&
         isRowMajor(self.sizes(), self.strides()) &&
         self.numel() == storageOf(self).base().numel();
}

namespace {
struct AsStridedKernel final : KernelOverride {
  using KernelOverride::KernelOverride;
  void operator()(const c10::OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    c10::IValue *arguments = &torch::jit::peek(*stack, 0, 4);
    Tensor self = arguments[0].toTensor();
    if (isFunctionalLazy(self)) {
      if (arguments[3].isNone())
        arguments[3] = self.storage_offset();
      checkFits(self, arguments[1].toIntVector(), arguments[2].toIntVector(),
                arguments[3].toInt());
      if (!coversItsStorage(self))
        arguments[0] = storageView(self.storage(), self.scalar_type());
      if (Tensor block = blockOf(arguments); block.defined()) {
        torch::jit::drop(*stack, 4);
        return torch::jit::push(*stack, std::move(block));
      }
      materialise(arguments[0].toTensor());
    }
    stock.callBoxed(op, keys, stack);
  }

private:
  /// Elements that follow each other are a slice, whose reads and writes are
  /// of it alone. Undefined for others.
  static Tensor blockOf(const c10::IValue *arguments) {
    std::vector<int64_t> size = arguments[1].toIntVector();
    int64_t count = c10::multiply_integers(size);
    const Tensor &whole = arguments[0].toTensor();
    if (count == 0 || !coversItsStorage(whole) ||
        !isRowMajor(size, arguments[2].toIntVector()))
      return {};
    at::AutoDispatchBelowADInplaceOrView belowAutograd;
    int64_t offset = arguments[3].toInt();
    return whole.view({-1}).slice(0, offset, offset + count).view(size);
  }

  /// In the words of the check that eager makes.
  static void checkFits(const Tensor &self, at::IntArrayRef size,
                        at::IntArrayRef stride, int64_t offset) {
    if (size.size() != stride.size())
      return; // the kernel has its own words for that
    TORCH_CHECK(std::ranges::all_of(stride, [](int64_t by) { return by >= 0; }),
                "as_strided: Negative strides are not supported at the moment, "
                "got strides: ",
                stride);
    TORCH_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
    size_t itemsize = self.itemsize();
    size_t wanted =
        at::detail::computeStorageNbytes(size, stride, itemsize, offset);
    size_t found = storageBytes(self);
    TORCH_CHECK(c10::multiply_integers(size) == 0 || wanted <= found,
                "setStorage: sizes ", size, ", strides ", stride,
                ", storage offset ", offset, ", and itemsize ", itemsize,
                " requiring a storage size of ", wanted,
                " are out of bounds for storage of size ", found);
  }
};
} // namespace

namespace {
/// torch.diagonal_copy and its like, called by that name: a copy of the view is
/// row-major, whereas functionalisation means the view when it calls them.
struct ViewCopyKernel final : c10::OperatorKernel {
  explicit ViewCopyKernel(const OpInfo &info) : info(info) {}
  void operator()(const c10::OperatorHandle &, DispatchKeySet,
                  torch::jit::Stack *stack) {
    auto arguments = torch::jit::last(*stack, info.arguments.size()).vec();
    size_t below = stack->size() - arguments.size();
    try {
      info.view->callBoxed(stack);
    } catch (const std::exception &) {
      // The kernel of the copy may have words of its own.
      callOnProbes(info.handle, replaceAll(arguments, onCpu));
      if (info.name != "aten::view_copy")
        throw;
      // What view() refuses because of strides, its copy does not.
      stack->resize(below);
      stack->emplace_back(
          arguments[0].toTensor().reshape(arguments[1].toIntVector()));
    }
    c10::IValue &view = stack->back();
    view = mapTensors(view, [](const Tensor &tensor) {
      return tensor.clone(at::MemoryFormat::Contiguous);
    });
  }
  const OpInfo &info;
};
} // namespace

/// Makes the tensor show other places of its storage, for good.
static void showInPlace(const Tensor &self, at::IntArrayRef size,
                        at::IntArrayRef stride, int64_t offset) {
  at::AutoDispatchBelowADInplaceOrView belowAutograd;
  Tensor view = self.as_strided(size, stride, offset);
  self.unsafeGetTensorImpl()->shallow_copy_from(view.getIntrusivePtr());
}

/// Whether memory has other places than the value, and nobody else shows it.
static bool ownsOtherPlaces(const Tensor &self) {
  bool isBase =
      functional::impl::unsafeGetFunctionalWrapper(self)->isBaseTensor();
  return (!isBase || !self.is_contiguous()) &&
         self.unsafeGetTensorImpl()->unsafe_storage().use_count() == 1;
}

/// Makes it show a longer storage from its first element on, flat.
static void grow(const Tensor &self, int64_t wanted) {
  at::AutoDispatchBelowADInplaceOrView belowAutograd;
  Tensor old = storageView(self.storage(), self.scalar_type()).reshape(-1);
  Tensor more = at::empty({wanted - old.numel()}, self.options());
  Tensor all = at::cat({old, more}).slice(0, self.storage_offset());
  self.unsafeGetTensorImpl()->shallow_copy_from(all.getIntrusivePtr());
}

namespace {
struct AsStridedInPlaceKernel final : KernelOverride {
  using KernelOverride::KernelOverride;
  void operator()(const c10::OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    c10::IValue *arguments = &torch::jit::peek(*stack, 0, 4);
    Tensor self = arguments[0].toTensor();
    if (!isFunctionalLazy(self))
      return stock.callBoxed(op, keys, stack);
    showInPlace(self, arguments[1].toIntVector(), arguments[2].toIntVector(),
                arguments[3].isNone() ? self.storage_offset()
                                      : arguments[3].toInt());
    torch::jit::drop(*stack, 3);
  }
};

/// Within its storage, eager's resize_() shows other places of it; PyTorch's
/// kernel here takes them from the value, whatever the strides.
struct ResizeKernel final : KernelOverride {
  using KernelOverride::KernelOverride;
  void operator()(const c10::OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    c10::IValue *arguments = &torch::jit::peek(*stack, 0, 3);
    Tensor self = arguments[0].toTensor();
    if (!isFunctionalLazy(self))
      return stock.callBoxed(op, keys, stack);
    materialise(self);
    std::vector<int64_t> size = arguments[1].toIntVector();
    if (self.sizes() == size && arguments[2].isNone())
      return torch::jit::drop(*stack, 2);
    int64_t wanted = self.storage_offset() + c10::multiply_integers(size);
    if (size_t(wanted) * self.itemsize() > storageBytes(self)) {
      if (!ownsOtherPlaces(self))
        return stock.callBoxed(op, keys, stack);
      grow(self, wanted);
    }
    auto format = arguments[2].toOptional<at::MemoryFormat>().value_or(
        at::MemoryFormat::Contiguous);
    Tensor like =
        at::empty(size, at::TensorOptions().device(at::kMeta), format);
    showInPlace(self, size, like.strides(), self.storage_offset());
    torch::jit::drop(*stack, 2);
  }
};

/// Ours for lazy tensors; others, such as those of a trace, have PyTorch's.
struct LazyOnlyKernel final : KernelOverride {
  LazyOnlyKernel(const c10::OperatorHandle &op, const c10::KernelFunction &ours)
      : KernelOverride(op), ours(ours) {}
  void operator()(const c10::OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    const size_t size = op.schema().arguments().size();
    const Tensor &self = torch::jit::peek(*stack, 0, size).toTensor();
    (isFunctionalLazy(self) ? ours : stock).callBoxed(op, keys, stack);
  }
  c10::KernelFunction ours;
};
} // namespace

/// PyTorch's kernel here makes a new tensor of it, whatever its size is.
static const Tensor &resizeAs(const Tensor &self, const Tensor &like,
                              std::optional<at::MemoryFormat> format) {
  if (format == at::MemoryFormat::Preserve)
    format = like.suggest_memory_format();
  return self.resize_(like.sizes(), format);
}

/// Of a copy with the strides of `self`: what it shows is what memory holds.
static Tensor resized(const Tensor &self, at::IntArrayRef size,
                      std::optional<at::MemoryFormat> format) {
  return self.clone().resize_(size, format);
}
static Tensor resizedAs(const Tensor &self, const Tensor &like,
                        std::optional<at::MemoryFormat> format) {
  return self.clone().resize_as_(like, format);
}

/// A view whose strides the caller has computed, of memory that lies otherwise.
static Tensor reshapeAlias(const Tensor &self, at::IntArrayRef size,
                           at::IntArrayRef) {
  return self.view(size);
}

/// In eager the parts share memory with `self`, which no schema says.
static std::vector<Tensor> unsafeSplit(const Tensor &self, int64_t size,
                                       int64_t dim) {
  return self.split(size, dim);
}
static std::vector<Tensor>
unsafeSplitWithSizes(const Tensor &self, at::IntArrayRef sizes, int64_t dim) {
  return self.split_with_sizes(sizes, dim);
}

static Tensor asStridedScatter(const Tensor &self, const Tensor &source,
                               at::IntArrayRef size, at::IntArrayRef stride,
                               std::optional<int64_t> offset) {
  Tensor whole = storageView(self.storage(), self.scalar_type())
                     .clone(at::MemoryFormat::Contiguous);
  Tensor result =
      whole.as_strided(self.sizes(), self.strides(), self.storage_offset());
  Tensor slice =
      result.as_strided(size, stride, offset.value_or(self.storage_offset()));
  checkSlice(slice, source);
  slice.copy_(source);
  return result;
}

void registerStridedViews(torch::Library &library) {
  implementBoxed<ViewKernel>(library, "view", atenOp("view"));
  implementBoxed<DtypeViewKernel>(library, "view.dtype",
                                  atenOp("view", "dtype"));
  for (const char *name : {"view_as_complex", "view_as_real"})
    implementBoxed<DtypeViewKernel>(library, name, atenOp(name));
  implementBoxed<AsStridedKernel>(library, "as_strided", atenOp("as_strided"));
  implementBoxed<AsStridedInPlaceKernel>(library, "as_strided_",
                                         atenOp("as_strided_"));
  implementBoxed<ResizeKernel>(library, "resize_", atenOp("resize_"));
  auto forLazy = [&](const char *name, const char *overload, auto *kernel) {
    c10::OperatorHandle op = atenOp(name, overload);
    std::string full = *overload ? c10::str(name, ".", overload) : name;
    implementBoxed<LazyOnlyKernel>(
        library, full.c_str(), op,
        c10::KernelFunction::makeFromUnboxedRuntimeFunction(kernel));
  };
  forLazy("resize_as_", "", &resizeAs);
  forLazy("resize", "", &resized);
  forLazy("resize_as", "", &resizedAs);
  forLazy("_reshape_alias", "", &reshapeAlias);
  forLazy("unsafe_split", "Tensor", &unsafeSplit);
  forLazy("unsafe_split_with_sizes", "", &unsafeSplitWithSizes);
  forLazy("as_strided_scatter", "", &asStridedScatter);
  forEachAtenOp([&](const c10::OperatorHandle &op, const char *name) {
    if (!op.schema().name().ends_with("_copy"))
      return;
    const OpInfo &info = opInfo(op);
    if (info.view)
      implementBoxed<ViewCopyKernel>(library, name, info);
  });
}

} // namespace ltc::backend
