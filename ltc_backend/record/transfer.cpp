//===- record/transfer.cpp - Making, copying and reading lazy tensors -----===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels that cannot be recorded from their schema, because they move
// data between devices or give a tensor a new value.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/transfer.h"

#include "ltc_backend/current_source.h"
#include "ltc_backend/graph/reads/device_copy.h"
#include "ltc_backend/graph/reads/host_read.h"
#include "ltc_backend/graph/reads/library_copy.h"
#include "ltc_backend/graph/reads/read.h"
#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/creation.h"
#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/recorder.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/wrapper.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/native/TensorFactories.h>

namespace ltc::backend {
using at::Tensor;
using c10::IValue;

void setCreationHook(CreationHook hook) { detail::creationHook = hook; }

static int64_t ordinalOf(std::optional<at::Device> device) {
  if (!device || !device->has_index())
    return currentDevice();
  checkOrdinal(device->index());
  return device->index();
}

static Tensor zerosBare(at::IntArrayRef size, at::ScalarType type,
                        int64_t ordinal) {
  static const OpInfo &zeros = opInfo("aten::zeros", "");
  at::Device there(at::kLazy, c10::DeviceIndex(ordinal));
  if (isOrdinary(zeros)) {
    CallReader call(zeros, CallReader::Makes(), size, IValue(type), IValue(),
                    IValue(there), IValue());
    if (Tensor known = recordFactory(call); known.defined())
      return known;
  }
  return recordOne(zeros, {size.vec(), type, IValue(), there, IValue()});
}

/// What eager fills new memory with under torch.use_deterministic_algorithms().
static Tensor filledForDeterminism(const Tensor &bare) {
  static const OpInfo &fill = opInfo("aten::fill", "Tensor");
  Tensor mark = at::detail::empty_cpu({}, bare.scalar_type());
  return recordOne(fill, {bare, at::native::fill_empty_deterministic_(mark)});
}

bool fillsForDeterminism() {
  const at::Context &context = at::globalContext();
  return context.deterministicAlgorithms() &&
         context.deterministicFillUninitializedMemory();
}

static Tensor emptyBare(at::IntArrayRef size,
                        std::optional<at::ScalarType> dtype,
                        std::optional<at::Layout> layout,
                        std::optional<at::Device> device,
                        std::optional<bool> pinMemory) {
  if (layout && *layout != at::kStrided)
    raise({ErrorCode::Unsupported, Stage::Record,
           "a lazy tensor has the strided layout, found " + c10::str(*layout),
           "aten::empty", sourceOf(currentSource()),
           "make the tensor on the CPU"});
  TORCH_CHECK(!pinMemory.value_or(false),
              "Only dense CPU tensors can be pinned");
  at::detail::check_size_nonnegative(size);
  tellCreation();
  // Uninitialised memory is zeros here: the node falls away when the tensor is
  // overwritten, and a read gives the same numbers in every run.
  Tensor zeros =
      zerosBare(size, dtype.value_or(at::get_default_dtype_as_scalartype()),
                ordinalOf(device));
  return fillsForDeterminism() ? filledForDeterminism(zeros) : zeros;
}

static Tensor emptyMemoryFormat(at::IntArrayRef size,
                                std::optional<at::ScalarType> dtype,
                                std::optional<at::Layout> layout,
                                std::optional<at::Device> device,
                                std::optional<bool> pinMemory,
                                std::optional<at::MemoryFormat> format) {
  Tensor bare = emptyBare(size, dtype, layout, device, pinMemory);
  if (format && *format != at::MemoryFormat::Contiguous)
    setLayout(*bare.unsafeGetTensorImpl(), size, layoutOfCopy(bare, format));
  return isWrappedHere() ? makeNewWrapper(bare) : bare;
}

static Tensor emptyStrided(at::IntArrayRef size, at::IntArrayRef strides,
                           std::optional<at::ScalarType> dtype,
                           std::optional<at::Layout> layout,
                           std::optional<at::Device> device,
                           std::optional<bool> pinMemory) {
  Tensor bare = emptyBare(size, dtype, layout, device, pinMemory);
  // Throws if strides are too few, or less than 0.
  at::detail::computeStorageNbytes(size, strides, bare.itemsize());
  if (!isRowMajor(size, strides))
    setLayout(*bare.unsafeGetTensorImpl(), size, {strides.vec()});
  return wrap(bare);
}

static Tensor uploadTensor(const Tensor &tensor, int64_t ordinal,
                           const Layout &layout = {}) {
  return makeTensor(fromLibrary(tensor, ordinal), ordinal, layout);
}

static Tensor castLazy(const Tensor &self, at::ScalarType dtype) {
  static const OpInfo &toCopy = opInfo("aten::_to_copy", "");
  return recordOne(
      toCopy, {self, dtype, IValue(), IValue(), IValue(), false, IValue()});
}

static Tensor ofType(const Tensor &self, at::ScalarType dtype) {
  return self.scalar_type() == dtype ? self : castLazy(self, dtype);
}

static Tensor toCopy(const Tensor &self, std::optional<at::ScalarType> dtype,
                     std::optional<at::Layout> layout,
                     std::optional<at::Device> device, std::optional<bool>,
                     bool nonBlocking, std::optional<at::MemoryFormat> format) {
  at::ScalarType type = dtype.value_or(self.scalar_type());
  if (!isLazy(self)) {
    tellCreation();
    int64_t ordinal = ordinalOf(device);
    return wrap(
        uploadTensor(self.to(type), ordinal, layoutOfCopy(self, format)));
  }
  if (layout && *layout != at::kStrided)
    return toCpu(self).to(at::TensorOptions(*layout).dtype(type));
  Layout copied = layoutOfCopy(self, format);
  if (device && device->type() != at::kLazy)
    return lay(toLibrary(self, *device), copied)
        .to(at::TensorOptions(*device).dtype(type), nonBlocking);
  int64_t here = deviceOf(*tensorData(self));
  if (device && device->has_index() && ordinalOf(device) != here)
    return makeTensor(copyToDevice(ofType(self, type), ordinalOf(device)),
                      ordinalOf(device), copied);
  if (type == self.scalar_type())
    return sameValue(self, copied);
  Tensor cast = castLazy(self, type);
  setLayout(*cast.unsafeGetTensorImpl(), cast.sizes(), copied);
  return cast;
}

/// `source` as a bare lazy tensor with the device, dtype and shape of `like`.
static Tensor conform(const Tensor &source, const Tensor &like) {
  int64_t device = deviceOf(*tensorData(like));
  bool here = isLazy(source) && deviceOf(*tensorData(source)) == device;
  Tensor value;
  if (!isLazy(source))
    value = uploadTensor(source.to(like.scalar_type()), device);
  else if (value = ofType(source, like.scalar_type()); !here)
    value = makeTensor(copyToDevice(value, device), device);
  if (value.sizes() != like.sizes()) {
    static const OpInfo &expand = opInfo("aten::expand_copy", "");
    value = recordOne(expand, {value, like.sizes().vec(), false});
  }
  return value;
}

static Tensor copy(const Tensor &self, const Tensor &source, bool) {
  Tensor value = conform(source, self);
  if (value.is_same(source))
    return sameValue(value, layoutOf(self));
  setLayout(*value.unsafeGetTensorImpl(), self.sizes(), layoutOf(self));
  return value;
}

static Tensor copyFrom(const Tensor &self, const Tensor &destination,
                       bool nonBlocking) {
  if (!isLazy(destination)) {
    destination.copy_(toLibrary(self, destination.device()), nonBlocking);
    return destination;
  }
  assign(tensorData(destination),
         operandOf(tensorData(conform(self, destination))));
  return destination;
}

static Tensor copyFromAndResize(const Tensor &self, const Tensor &destination) {
  if (!isLazy(destination)) {
    Tensor value = toLibrary(self, destination.device());
    return destination.resize_as_(value).copy_(value);
  }
  int64_t device = deviceOf(*tensorData(destination));
  Tensor value = self;
  if (!isLazy(self))
    value = uploadTensor(self, device);
  else if (deviceOf(*tensorData(self)) != device)
    value = makeTensor(copyToDevice(self, device), device);
  assign(tensorData(destination), operandOf(tensorData(value)));
  setLayout(*lazyImpl(destination), value.sizes(), {});
  return destination;
}

at::Scalar readNumber(const Tensor &self) {
  SyncCause cause(profile::Cause::Item);
  at::Tensor decided = decideOnHost(tensorData(self));
  return at::_local_scalar_dense(decided.defined() ? decided : toCpu(self));
}

static Tensor lift(const Tensor &tensor) {
  return at::functionalization::impl::isFunctionalTensor(tensor)
             ? tensor
             : makeWrapper(tensor);
}

static Tensor clone(const Tensor &self,
                    std::optional<at::MemoryFormat> format) {
  return sameValue(self, layoutOfCopy(self, format));
}

/// Whose copy is made when one of the two is written to. No value ever is.
static Tensor lazyClone(const Tensor &self) {
  return sameValue(self, layoutOfCopy(self, at::MemoryFormat::Preserve));
}

/// detach() of a parameter and the like, as functionalisation asks for them.
static Tensor aliasCopy(const Tensor &self) {
  return sameValue(self, layoutOf(self));
}

static Tensor unsafeView(const Tensor &self, at::IntArrayRef size) {
  static const OpInfo &viewCopy = opInfo("aten::view_copy", "");
  return recordOne(viewCopy, {self, size.vec()});
}

void registerTransfers(torch::Library &library) {
  library.impl("empty.memory_format", emptyMemoryFormat);
  library.impl("empty_strided", emptyStrided);
  library.impl("_to_copy", toCopy);
  library.impl("copy", copy);
  library.impl("_copy_from", copyFrom);
  library.impl("_copy_from_and_resize", copyFromAndResize);
  library.impl("_local_scalar_dense", readNumber);
  library.impl("lift", lift);
  library.impl("lift_fresh", lift);
  library.impl("clone", clone);
  library.impl("_lazy_clone", lazyClone);
  library.impl("_unsafe_view", unsafeView);
  for (const char *name : {"alias_copy", "detach_copy", "lift_fresh_copy"})
    library.impl(name, aliasCopy);
}

} // namespace ltc::backend
