//===- replay_calls.cpp - Calls of a file, recorded without Python --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   replay_calls CALLS
//
// CALLS is what torch.save() wrote of a list of (name, overload, arguments),
// which have a number for each dtype, layout and memory format. Says a line for
// each call on the lazy device: dtype, sizes and strides of each result, or
// what is thrown; then what fell back. tests/repo/test_cpp_shapes.py compares
// it.
//
//===----------------------------------------------------------------------===//
#include <ltc/ltc.h>

#include <torch/torch.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>

using c10::IValue;
using torch::Tensor;

namespace {

Tensor toTensor(const IValue &value) {
  if (value.isNone())
    return {};
  if (value.isTensor())
    return value.toTensor().to(ltc::device());
  Tensor number = c10::scalar_to_tensor(value.toScalar());
  number.unsafeGetTensorImpl()->set_wrapped_number(true);
  return number;
}

IValue convert(const IValue &value, const c10::Type &type);

template <typename T, typename F>
IValue makeList(const IValue &value, F element) {
  c10::List<T> list;
  if (!value.isList())
    list.push_back(element(value)); // one for all dimensions
  else
    for (const IValue &each : value.toListRef())
      list.push_back(element(each));
  return list;
}

IValue convertList(const IValue &value, const c10::Type &element) {
  switch (element.kind()) {
  case c10::TypeKind::TensorType:
    return makeList<Tensor>(value, toTensor);
  case c10::TypeKind::OptionalType:
    return makeList<std::optional<Tensor>>(value, [](const IValue &each) {
      return each.isNone() ? std::nullopt : std::optional(toTensor(each));
    });
  case c10::TypeKind::FloatType:
    return makeList<double>(
        value, [](const IValue &each) { return each.toScalar().toDouble(); });
  case c10::TypeKind::BoolType:
    return makeList<bool>(value,
                          [](const IValue &each) { return each.toBool(); });
  case c10::TypeKind::NumberType:
    return makeList<c10::Scalar>(
        value, [](const IValue &each) { return each.toScalar(); });
  default:
    return makeList<int64_t>(value,
                             [](const IValue &each) { return each.toInt(); });
  }
}

/// As the op's schema wants it.
IValue convert(const IValue &value, const c10::Type &type) {
  if (value.isNone())
    return value;
  switch (type.kind()) {
  case c10::TypeKind::OptionalType:
    return convert(value, *type.castRaw<c10::OptionalType>()->getElementType());
  case c10::TypeKind::ListType:
    return convertList(value, *type.castRaw<c10::ListType>()->getElementType());
  case c10::TypeKind::TensorType:
    return toTensor(value);
  case c10::TypeKind::DeviceObjType:
    return ltc::device();
  case c10::TypeKind::FloatType:
    return value.toScalar().toDouble();
  default:
    return value;
  }
}

bool isDense(const Tensor &tensor) {
  return tensor.layout() == torch::kStrided && !tensor.is_quantized() &&
         !tensor.is_nested();
}

void gather(const IValue &result, std::vector<Tensor> &tensors) {
  if (result.isList()) {
    for (const IValue &each : result.toListRef())
      gather(each, tensors);
  } else if (result.isTensor() && result.toTensor().defined()) {
    tensors.push_back(result.toTensor()); // else a number, which equal() gives
  }
}

void say(const std::vector<Tensor> &tensors) {
  if (!std::all_of(tensors.begin(), tensors.end(), isDense)) {
    std::cout << " not dense";
    return;
  }
  for (const Tensor &tensor : tensors)
    std::cout << " " << int(tensor.scalar_type()) << tensor.sizes()
              << tensor.strides();
}

void replay(const IValue &call) {
  const auto &parts = call.toTupleRef().elements();
  c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(
      parts[0].toStringRef().c_str(), parts[1].toStringRef().c_str());
  const auto &schema = op.schema().arguments();
  std::vector<IValue> stack;
  for (const IValue &value : parts[2].toListRef())
    stack.push_back(convert(value, *schema[stack.size()].type()));
  op.callBoxed(&stack);
  std::vector<Tensor> tensors;
  for (const IValue &result : stack)
    gather(result, tensors);
  say(tensors);
}

bool isPythonMapped() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("libpython") != line.npos ||
        line.find("libtorch_python") != line.npos)
      return true;
  return false;
}

} // namespace

int main(int, char **arguments) {
  std::ifstream file(arguments[1], std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  torch::NoGradGuard noGrad;
  IValue calls = torch::pickle_load(bytes);
  for (const IValue &call : calls.toListRef()) {
    try {
      replay(call);
    } catch (const c10::Error &error) {
      std::string what = error.what_without_backtrace();
      std::cout << " ! " << what.substr(0, what.find('\n'));
    }
    std::cout << "\n";
  }
  std::cout << "python " << isPythonMapped() << "\n";
  for (const auto &[name, count] : ltc::metrics())
    if (name.rfind("record.fallback.", 0) == 0)
      std::cout << name << "\n";
}
