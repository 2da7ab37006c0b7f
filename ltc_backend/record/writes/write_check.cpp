//===- writes/write_check.cpp - Eager's checks of what is written ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/writes/write_check.h"

#include "ltc_backend/record/probe.h"
#include "ltc_backend/record/recorder.h"
#include "ltc_backend/record/shape_rule.h"
#include "ltc_backend/tensors/map_tensors.h"
#include "ltc_backend/tensors/schema.h"
#include "ltc_backend/torch_private.h"

#include <ATen/ATen.h>
#include <ATen/native/Resize.h>

namespace ltc::backend {
using c10::IValue;
using ArgumentList = c10::ArrayRef<IValue>;
using Types = WriteCheck::Types;

/// The first arguments are the same, and nothing is written.
static bool returnsWhat(const c10::FunctionSchema &twin,
                        const c10::FunctionSchema &op, size_t inputs) {
  if (twin.arguments().size() != inputs || twin.is_mutable())
    return false;
  for (size_t i = 0; i < inputs; ++i)
    if (twin.arguments()[i].name() != op.arguments()[i].name() ||
        *twin.arguments()[i].type() != *op.arguments()[i].type())
      return false;
  return true;
}

static std::optional<c10::OperatorHandle>
findTwin(const c10::FunctionSchema &schema, size_t inputs) {
  auto &dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName &name : dispatcher.getAllOpNames())
    if (name.name == schema.name())
      if (auto twin = dispatcher.findSchema(name))
        if (returnsWhat(twin->schema(), schema, inputs))
          return twin;
  return std::nullopt;
}

WriteCheck::WriteCheck(const c10::OperatorHandle &op, bool warns)
    : op(op),
      warns(warns && !factsOf(op.schema().name()).has(OpFact::SilentResize)),
      inputs(op.schema().arguments().size()) {
  const auto &arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    written.push_back(isWritten(arguments[i]));
    if (arguments[i].is_out())
      inputs = std::min(inputs, i);
  }
}

static const c10::StorageImpl *storageImplOf(const at::Tensor &tensor) {
  return tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

/// Whether the tensor of argument `position`, `place` in its list, meets one of
/// another argument. Eager's kernels go through lists side by side.
static bool meetsAnother(ArgumentList arguments, size_t position, size_t place,
                         const at::Tensor &tensor) {
  bool found = false;
  auto compare = [&](const at::Tensor &other) {
    if (other.defined() && storageImplOf(other) == storageImplOf(tensor))
      found |= spanOf(other).meets(spanOf(tensor));
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i == position)
      continue;
    if (!arguments[i].isList() || !arguments[position].isList())
      forEachTensor(arguments[i], compare);
    else if (auto list = arguments[i].toListRef(); place < list.size())
      forEachTensor(list[place], compare);
  }
  return found;
}

bool WriteCheck::overlaps(ArgumentList arguments, bool isView) const {
  bool found = false;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (written[i]) {
      size_t place = 0;
      forEachTensor(arguments[i], [&](const at::Tensor &tensor) {
        if (tensor.defined() && tensor.device().type() == at::kLazy)
          found |= (isView && hasStrideZero(tensor)) ||
                   meetsAnother(arguments, i, place, tensor);
        ++place;
      });
    }
  return found;
}

bool WriteCheck::writesLazyOut(ArgumentList arguments) const {
  bool found = false;
  for (const IValue &value : arguments.slice(inputs))
    forEachTensor(value, [&](const at::Tensor &tensor) {
      found |= tensor.defined() && tensor.device().type() == at::kLazy;
    });
  return found;
}

/// Of equal calls with tensors of equal layout and equal places in memory.
static Hash128 keyOf(const OpInfo &info, ArgumentList arguments) {
  Hasher hasher;
  std::vector<const c10::StorageImpl *> storages;
  auto addTensor = [&](const at::Tensor &tensor) {
    if (!tensor.defined())
      return void(addTag(hasher, KeyTag::None));
    addTag(hasher, KeyTag::Tensor).add(uint64_t(tensor.scalar_type()));
    hasher.add(uint64_t(tensor.dim()));
    for (int64_t size : tensor.sizes())
      hasher.add(uint64_t(size));
    Span span = spanOf(tensor);
    if (!span.storage)
      return;
    for (int64_t stride : tensor.strides())
      hasher.add(uint64_t(stride));
    auto known = std::ranges::find(storages, span.storage);
    addTag(hasher, KeyTag::Shared).add(uint64_t(known - storages.begin()));
    if (known == storages.end())
      storages.push_back(span.storage);
    hasher.add(uint64_t(span.begin));
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    ArgumentKind kind = info.arguments[i].kind;
    if (kind == ArgumentKind::Tensor || kind == ArgumentKind::TensorList) {
      addTag(hasher, KeyTag::List);
      forEachTensor(arguments[i], addTensor);
    } else if (info.arguments[i].lifts(arguments[i])) {
      addTag(hasher, KeyTag::Scalar).add(arguments[i].isDouble());
    } else if (kind != ArgumentKind::Placement) {
      addAttribute(hasher, arguments[i]);
    }
  }
  return hasher.finish();
}

std::vector<at::Tensor> WriteCheck::outputs(ArgumentList arguments) const {
  std::vector<at::Tensor> tensors;
  for (const IValue &value : arguments.slice(inputs))
    forEachTensor(value, [&](const at::Tensor &t) { tensors.push_back(t); });
  return tensors;
}

static bool willResize(c10::ArrayRef<at::Tensor> outputs, const CallShape &call,
                       bool warns) {
  bool any = false;
  for (size_t i = 0; i < std::min(outputs.size(), call.results.size()); ++i) {
    at::IntArrayRef wanted = call.results[i].type.dims;
    any |= warns ? at::native::resize_output_check(outputs[i], wanted)
                 : outputs[i].sizes() != wanted;
  }
  return any;
}

static Types typesOf(c10::ArrayRef<at::Tensor> tensors) {
  Types types;
  for (const at::Tensor &tensor : tensors)
    types.push_back(tensor.scalar_type());
  return types;
}

/// What the results may be if nobody tells: as an input, or indices.
std::vector<Types> WriteCheck::guessTypes(ArgumentList arguments) const {
  size_t count = outputs(arguments).size();
  std::vector<Types> guesses{Types(count, at::kLong)};
  for (const IValue &value : arguments.slice(0, inputs))
    forEachTensor(value, [&](const at::Tensor &tensor) {
      if (tensor.defined())
        guesses.push_back(Types(count, tensor.scalar_type()));
    });
  return guesses;
}

/// Runs the op on tensors of `fill`, which share memory as the arguments do or,
/// if there are `types`, are written to in memory of their own, of these.
void WriteCheck::run(ArgumentList arguments, int fill,
                     const Types *types) const {
  SharedMemory probes(fill);
  std::vector<const c10::StorageImpl *> targets;
  auto forWritten = [&](auto f) {
    for (size_t i = 0; i < arguments.size(); ++i)
      if (written[i])
        forEachTensor(arguments[i], f);
  };
  if (!types)
    forWritten([&](const at::Tensor &tensor) {
      if (Span span = spanOf(tensor); span.storage)
        targets.push_back(span.storage);
    });
  for (const IValue &value : arguments)
    forEachTensor(value, [&](const at::Tensor &tensor) {
      if (std::ranges::count(targets, spanOf(tensor).storage))
        probes.reserve(tensor);
    });
  size_t result = 0;
  std::vector<IValue> call;
  for (size_t i = 0; i < arguments.size(); ++i)
    call.push_back(mapTensors(arguments[i], [&](const at::Tensor &tensor) {
      if (!types || !written[i] || !tensor.defined())
        return probes(tensor);
      bool isKnown = i >= inputs && result < types->size();
      return at::full(tensor.sizes(), fill,
                      isKnown ? (*types)[result++] : tensor.scalar_type());
    }));
  callOnProbes(op, std::move(call));
}

/// Whether the op runs on such tensors where nothing is wrong with what is
/// written, or has something else than `words` to say of them.
bool WriteCheck::runsApart(ArgumentList arguments, int fill,
                           const std::vector<Types> &guesses,
                           const std::string &words) const {
  for (const Types &types : guesses)
    try {
      run(arguments, fill, &types);
      return true;
    } catch (const c10::Error &apart) {
      // Of out= it may be about the guess.
      if (inputs == arguments.size() && words != apart.what_without_backtrace())
        return true;
    }
  return false;
}

/// `types`: of the results, if known.
void WriteCheck::ask(ArgumentList arguments, const Types *types) const {
  std::vector<Types> guesses =
      types ? std::vector<Types>{*types} : guessTypes(arguments);
  // A kernel may refuse zeros, or ones, before it looks at what it writes to.
  for (int fill : {0, 1})
    try {
      run(arguments, fill, nullptr);
      return;
    } catch (const c10::Error &refused) {
      if (runsApart(arguments, fill, guesses, refused.what_without_backtrace()))
        throw;
    }
  if (!types)
    return;
  // In TensorIterator's words, as the kernel has told none.
  auto wanted = typesOf(outputs(arguments));
  for (size_t i = 0; i < std::min(wanted.size(), types->size()); ++i)
    TORCH_CHECK(c10::canCast((*types)[i], wanted[i]), "result type ",
                (*types)[i], " can't be cast to the desired output type ",
                wanted[i]);
}

void WriteCheck::askOnce(ArgumentList arguments) const {
  Hash128 key = keyOf(opInfo(op), arguments);
  if (passed.contains(key))
    return;
  ask(arguments);
  passed.insert(key);
}

std::shared_ptr<CallShape> WriteCheck::inferTwin(ArgumentList arguments) const {
  // A walk through the names of all ops, so not before there is a call.
  std::call_once(soughtTwin, [&] { twin = findTwin(op.schema(), inputs); });
  std::string reason;
  return twin ? inferCall(opInfo(*twin), arguments.slice(0, inputs), reason)
              : nullptr;
}

std::shared_ptr<CallShape> WriteCheck::operator()(ArgumentList arguments,
                                                  bool isView) const {
  bool meets = overlaps(arguments, isView);
  if (!meets && !writesLazyOut(arguments))
    return nullptr;
  Hash128 key = keyOf(opInfo(op), arguments);
  if (passed.contains(key))
    return nullptr;
  if (inputs == arguments.size()) {
    ask(arguments, nullptr);
    passed.insert(key);
    return nullptr;
  }
  std::vector<at::Tensor> out = outputs(arguments);
  std::shared_ptr<CallShape> call = inferTwin(arguments);
  Types types;
  if (call)
    for (const ResultType &result : call->results)
      types.push_back(result.shape.scalar_type());
  if (meets || types != typesOf(out))
    ask(arguments, call ? &types : nullptr);
  if (call && willResize(out, *call, warns))
    return call;
  passed.insert(key);
  return nullptr;
}

} // namespace ltc::backend
