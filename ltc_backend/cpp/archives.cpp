//===- cpp/archives.cpp - What torch::save() and torch::load() lack -------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch makes tensors of a file on devices that it has a list of. An archive
// that has been read, or is still to be written, is a tree of objects whose
// tensors can be exchanged.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/cpp/ltc.h"

#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"

#include <ATen/ATen.h>
#include <torch/serialize/archive.h>

#include <unordered_map>

namespace ltc::inline v0 {
namespace {
using at::Tensor;
using c10::IValue;
using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;

/// An explicit instantiation may name what is private.
template <typename Archive, torch::jit::Module Archive::*Member>
struct ModuleOf {
  friend torch::jit::Module &moduleOf(Archive &archive) {
    return archive.*Member;
  }
};
torch::jit::Module &moduleOf(InputArchive &archive);
torch::jit::Module &moduleOf(OutputArchive &archive);
template struct ModuleOf<InputArchive, &InputArchive::module_>;
template struct ModuleOf<OutputArchive, &OutputArchive::module_>;

/// All of a tensor's memory, in a row.
Tensor wholeOf(const Tensor &tensor) {
  auto elements = int64_t(tensor.storage().nbytes() / tensor.itemsize());
  return at::empty({0}, tensor.options())
      .set_(tensor.storage(), 0, {elements}, {1});
}

/// Moves tensors so that those that share memory still do.
class Mover {
public:
  explicit Mover(c10::Device device) : device(device) {}

  void move(c10::ivalue::Object &object) {
    for (size_t i = 0; i < object.slots().size(); ++i)
      object.setSlot(i, moved(object.getSlot(i)));
  }

private:
  IValue moved(IValue value) {
    if (value.isTensor())
      return moved(value.toTensor());
    if (value.isObject()) {
      move(value.toObjectRef());
    } else if (value.isList()) {
      c10::List<IValue> list = value.toList();
      for (size_t i = 0; i < list.size(); ++i)
        list.set(i, moved(list.get(i)));
    }
    return value;
  }

  Tensor moved(const Tensor &tensor) {
    if (!tensor.defined() || tensor.device() == device)
      return tensor;
    Tensor result = isPlain(tensor) ? movedPlain(tensor) : tensor.to(device);
    if (tensor.requires_grad())
      result.requires_grad_();
    return result;
  }

  static bool isPlain(const Tensor &tensor) {
    return tensor.layout() == at::kStrided && !tensor.is_quantized() &&
           tensor.has_storage() && tensor.numel() && !tensor.is_conj() &&
           !tensor.is_neg();
  }

  Tensor movedPlain(const Tensor &tensor) {
    bool isWhole = tensor.is_contiguous() && !tensor.storage_offset() &&
                   tensor.nbytes() == tensor.storage().nbytes();
    auto [place, isNew] =
        all.try_emplace(tensor.storage().unsafeGetStorageImpl());
    Memory &memory = place->second;
    if (isNew)
      memory = {tensor.storage(),
                (isWhole ? tensor.detach() : wholeOf(tensor)).to(device)};
    if (memory.moved.scalar_type() != tensor.scalar_type())
      return tensor.detach().to(device);
    if (isNew && isWhole)
      return memory.moved.detach();
    return memory.moved.as_strided(tensor.sizes(), tensor.strides(),
                                   tensor.storage_offset());
  }

  struct Memory {
    c10::Storage from; ///< kept, so that no other gets its place
    Tensor moved;
  };
  c10::Device device;
  std::unordered_map<const c10::StorageImpl *, Memory> all;
};

/// With its number.
c10::Device started(c10::Device device) {
  initialize();
  if (device.is_lazy() && !device.has_index())
    device.set_index(c10::DeviceIndex(backend::currentDevice()));
  return device;
}

template <typename Archive> void moveAll(Archive &archive, c10::Device device) {
  at::NoGradGuard noGrad;
  Mover(started(device)).move(*moduleOf(archive)._ivalue());
}

} // namespace

void to(InputArchive &archive, c10::Device device) { moveAll(archive, device); }

void to(OutputArchive &archive, c10::Device device) {
  moveAll(archive, device);
}

void detail::require_device(const Tensor &parameter, c10::Device device) {
  if (parameter.device() != started(device))
    backend::raise({ErrorCode::InvalidArgument,
                    Stage::Record,
                    "ltc::load() was given a module on " +
                        parameter.device().str() + ", and wants one on " +
                        started(device).str(),
                    "",
                    {},
                    "move the module first, with ltc::to(*module, device)"});
}

} // namespace ltc::inline v0
