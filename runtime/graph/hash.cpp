//===- hash.cpp - The key of a graph ----------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/graph.h"

#include <bit>
#include <cmath>

namespace ltc {

namespace {

// Written into every key: changing what is hashed must change them all.
constexpr uint64_t signatureSeed = 0x6c746300'00000001;

enum ArgumentTag : uint64_t { Attribute_ = 0x100, Operand = 0x200, Operands };

uint64_t word(double value) {
  // One NaN is as good as another, as in the text form.
  return std::isnan(value) ? 0x7ff8000000000000
                           : std::bit_cast<uint64_t>(value);
}

struct AddAttribute {
  Hasher &hasher;

  void operator()(std::monostate) const {}
  void operator()(bool value) const { hasher.add(uint64_t(value)); }
  void operator()(int64_t value) const { hasher.add(uint64_t(value)); }
  void operator()(double value) const { hasher.add(word(value)); }
  void operator()(const std::string &value) const {
    hasher.add(std::string_view(value));
  }
  void operator()(DType value) const { hasher.add(uint64_t(value)); }
  template <typename T> void operator()(const std::vector<T> &values) const {
    hasher.add(uint64_t(values.size()));
    for (T value : values)
      (*this)(value);
  }
};

void addArgument(Hasher &hasher, const Argument &argument) {
  hasher.add(std::string_view(argument.name));
  if (auto *attribute = std::get_if<Attribute>(&argument.value)) {
    hasher.add(Attribute_ + attribute->index());
    std::visit(AddAttribute{hasher}, *attribute);
  } else if (std::holds_alternative<ValueId>(argument.value)) {
    hasher.add(Operand);
  } else {
    hasher.add(Operands).add(
        uint64_t(std::get<std::vector<ValueId>>(argument.value).size()));
  }
}

void collectOperands(const Node &node, std::vector<ValueId> &operands) {
  operands.clear();
  for (const Argument &argument : node.arguments) {
    if (auto *value = std::get_if<ValueId>(&argument.value))
      operands.push_back(*value);
    else if (auto *list = std::get_if<std::vector<ValueId>>(&argument.value))
      operands.insert(operands.end(), list->begin(), list->end());
  }
}

} // namespace

Hash128 Node::signature() const {
  Hasher hasher;
  hasher.add(signatureSeed).add(std::string_view(op));
  hasher.add(uint64_t(arguments.size()));
  for (const Argument &argument : arguments)
    addArgument(hasher, argument);
  for (const TensorType &type : results) {
    hasher.add(uint64_t(type.dtype)).add(uint64_t(type.dims.size()));
    for (int64_t dim : type.dims)
      hasher.add(uint64_t(dim));
  }
  return hasher.finish();
}

Hash128 Graph::hash() const {
  // The numbers of formulas are arbitrary; in the text they do not occur.
  if (isDynamic())
    return Hasher()
        .add(signatureSeed)
        .add(std::string_view(str(SourceLines::Omit)))
        .finish();
  GraphHasher hasher;
  for (const ValueType &type : inputs)
    hasher.input(type);
  std::vector<ValueId> operands;
  for (const Node &node : nodes) {
    collectOperands(node, operands);
    hasher.node(node.signature(), operands);
  }
  for (const GraphOutput &output : outputs)
    hasher.output(output);
  return hasher.finish();
}

} // namespace ltc
