//===- record/immediate_call.h - Calls that run when they are made --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// graph/reads/immediate.h says when. The kernel of the CPU is called as eager
// would call it, on tensors over the operands' own memory, with the sizes and
// strides that the program sees. An error is eager's own, at the call.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/aten/clean_thread_state.h"
#include "ltc_backend/record/unboxed.h"
#include "ltc_backend/tensors/op_info.h"
#include "ltc_backend/torch_private.h"

#include <ATen/core/stack.h>

namespace ltc::backend {

/// The arguments of one call, as the CPU's kernel takes them. They live as long
/// as this.
class ImmediateCall {
public:
  explicit ImmediateCall(const OpInfo &info) : info(info) {}
  /// Whether calls of the op may run at once just now; counts this one.
  static bool mayBegin(const OpInfo &info);

  const at::Tensor &take(const at::Tensor &tensor);
  std::optional<at::Tensor> take(const std::optional<at::Tensor> &tensor);
  at::TensorList take(at::TensorList tensors);
  at::ITensorListRef take(const at::ITensorListRef &tensors);
  std::optional<at::Device> take(std::optional<at::Device> there);
  std::optional<at::Layout> take(std::optional<at::Layout> layout);
  template <typename T> const T &take(const T &argument) { return argument; }
  c10::IValue take(const c10::IValue &argument);

  /// Whether all that was taken is there.
  bool isReady() const { return ready; }
  /// The CPU's, which is called next.
  const c10::KernelFunction &kernel() const;
  static constexpr c10::DispatchKeySet kKeys{c10::DispatchKey::CPU};
  /// A result of the kernel, on the device, bare.
  at::Tensor result(at::Tensor value);

private:
  at::Tensor valueOf(const at::Tensor &tensor);

  const OpInfo &info;
  bool ready = true;
  int64_t device = -1;
  c10::SmallVector<at::Tensor, 4> values; ///< has room for all
  c10::SmallVector<at::Tensor, 4> list;
  c10::SmallVector<const c10::StorageImpl *, 4> operands;
};

/// The results of a call, bare. False: it has to be recorded, and nothing has
/// been done.
template <size_t Count, typename... Args>
bool runAtOnce(const OpInfo &info, std::array<at::Tensor, Count> &results,
               const Parameter<Args> &...arguments) {
  if (!ImmediateCall::mayBegin(info)) [[likely]]
    return false;
  ImmediateCall call(info);
  auto run = [&](auto &&...values) {
    if (!call.isReady())
      return false;
    CleanThreadState clean;
    auto made = call.kernel().template call<Result<Count>, Parameter<Args>...>(
        info.handle, ImmediateCall::kKeys, values...);
    if constexpr (Count == 1)
      results[0] = std::move(made);
    else
      std::apply([&](auto &...each) { results = {std::move(each)...}; }, made);
    return true;
  };
  if (!run(call.take(arguments)...))
    return false;
  for (at::Tensor &result : results)
    result = call.result(std::move(result));
  return true;
}

/// The same of the arguments on the stack, which give way to the results,
/// wrapped.
bool runAtOnce(const OpInfo &info, torch::jit::Stack &stack);

/// The value of a tensor that is there, for who looks at it; undefined where
/// calls do not run at once.
at::Tensor valueAtOnce(const at::Tensor &tensor);

} // namespace ltc::backend
