//===- spread.cpp - Where marked dimensions lead --------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dynamic/spread.h"

#include "ltc/op_facts.h"

#include <algorithm>

namespace ltc::runtime {

namespace {

/// A dimension: its size in the trace, and what it is.
struct Dim {
  int64_t size = 0;
  Formula formula;
  bool isOpen() const { return !formula.isConstant(); }
};
using Dims = std::vector<Dim>;

/// "view" of "aten::view_copy"; empty for an op that is not ATen's, of which
/// nothing follows from the name.
std::string_view plainName(std::string_view op) {
  constexpr std::string_view aten = "aten::";
  if (!op.starts_with(aten))
    return "";
  op.remove_prefix(aten.size());
  op = op.substr(0, op.find('.'));
  if (op.ends_with("_copy"))
    op.remove_suffix(5);
  return op;
}

/// formula / divisor, of one term whose factor is a multiple of it.
std::optional<Formula> divided(const Formula &formula, int64_t divisor) {
  if (formula.terms().size() != 1 ||
      formula.terms()[0].coefficient % divisor != 0)
    return std::nullopt;
  Formula quotient = formula.terms()[0].coefficient / divisor;
  for (uint32_t symbol : formula.terms()[0].symbols)
    quotient = quotient * Formula::symbol(symbol);
  return quotient;
}

/// Dimensions of these sizes that hold, in order, what one group holds.
void regroup(const Dims &from, Dims &to, size_t begin, size_t end) {
  Formula whole = 1;
  for (const Dim &dim : from)
    whole = whole * dim.formula;
  Dims left = from;
  int64_t rest = 1;
  Dim *unknown = nullptr;
  for (size_t i = begin; i < end; ++i) {
    auto same = std::ranges::find_if(left, [&](const Dim &dim) {
      return dim.isOpen() && dim.size == to[i].size;
    });
    if (same != left.end()) {
      to[i].formula = same->formula;
      left.erase(same);
    } else {
      rest *= to[i].size;
      if (!unknown || to[i].size > unknown->size)
        unknown = &to[i];
    }
  }
  Formula found = 1;
  for (size_t i = begin; i < end; ++i)
    found = found * to[i].formula;
  if (found == whole || !unknown || rest == 0)
    return;
  // One of the rest is what is missing; the largest is the likeliest.
  bool otherOpen = end - begin > 1 && from.size() > left.size();
  if (auto quotient = divided(whole, rest / unknown->size);
      quotient && !otherOpen)
    unknown->formula = *quotient;
}

/// The dimensions of a view: what lies between equal products stays together.
void reshape(const Dims &from, Dims &to) {
  size_t begin = 0, first = 0;
  for (size_t i = 0, j = 0; i < from.size() || j < to.size();) {
    int64_t left = 1, right = 1;
    first = i, begin = j;
    do {
      if (j >= to.size() || (left <= right && i < from.size()))
        left *= from[i++].size;
      else
        right *= to[j++].size;
    } while (left != right && (i < from.size() || j < to.size()));
    regroup({from.begin() + std::ptrdiff_t(first),
             from.begin() + std::ptrdiff_t(i)},
            to, begin, j);
  }
}

class Spreader {
public:
  Spreader(const Graph &trace, std::span<const DimMark> marks)
      : open(trace), marks(marks) {}

  Graph run() {
    for (uint32_t i = 0; i < open.inputs.size(); ++i)
      input(i);
    if (open.symbols.empty())
      return std::move(open);
    for (Node &node : open.nodes)
      this->node(node);
    return std::move(open);
  }

private:
  void input(uint32_t number) {
    Dims dims = constants(open.inputs[number].tensor.dims);
    for (const DimMark &mark : marks)
      if (mark.input == number && mark.kind == DimMark::Kind::Dynamic &&
          mark.dim < dims.size() && dims[mark.dim].size >= 2)
        dims[mark.dim].formula = symbolOf(dims[mark.dim].size);
    write(dims, open.inputs[number].tensor.dims);
    values.push_back(std::move(dims));
  }

  /// Marked dimensions of equal size are one: a batch and its labels.
  Formula symbolOf(int64_t size) {
    auto known = std::ranges::find(open.symbols, size);
    if (known == open.symbols.end())
      known = open.symbols.insert(known, size);
    return Formula::symbol(uint32_t(known - open.symbols.begin()));
  }

  static Dims constants(const std::vector<int64_t> &sizes) {
    Dims dims;
    for (int64_t size : sizes)
      dims.push_back({size, size});
    return dims;
  }

  void write(const Dims &dims, std::vector<int64_t> &sizes) {
    for (size_t i = 0; i < sizes.size(); ++i)
      if (dims[i].isOpen() && sizes[i] >= 2)
        sizes[i] = open.sizeOf(dims[i].formula);
  }

  void node(Node &node) {
    operands.clear();
    for (const Argument &argument : node.arguments) {
      if (auto *value = std::get_if<ValueId>(&argument.value))
        operands.push_back(&values[*value]);
      else if (auto *list = std::get_if<std::vector<ValueId>>(&argument.value))
        for (ValueId value : *list)
          if (value != kNoValue)
            operands.push_back(&values[value]);
    }
    std::vector<Dims> results;
    for (const TensorType &type : node.results)
      results.push_back(resultOf(node, constants(type.dims)));
    for (Argument &argument : node.arguments)
      if (auto *attribute = std::get_if<Attribute>(&argument.value);
          attribute && kindOfInteger(node.op, argument.name))
        attributeOf(*attribute, results.empty() ? Dims() : results[0]);
    for (size_t i = 0; i < results.size(); ++i)
      write(results[i], node.results[i].dims);
    for (Dims &dims : results)
      values.push_back(std::move(dims));
  }

  bool anyOpen() const {
    return std::ranges::any_of(operands, [](const Dims *dims) {
      return std::ranges::any_of(*dims, &Dim::isOpen);
    });
  }

  Dims resultOf(const Node &node, Dims dims) {
    if (operands.empty()) {
      for (Dim &dim : dims)
        dim.formula = bySize(dim.size);
      return dims;
    }
    if (!anyOpen())
      return dims;
    std::string_view op = plainName(node.op);
    if (op == "view" || op == "_unsafe_view" || op == "reshape")
      reshape(*operands[0], dims);
    else if (std::optional<Dims> source = sourceOf(node, op))
      take(*source, dims);
    else
      for (size_t i = 0; i < dims.size(); ++i)
        fromOperands(op, dims, i);
    return dims;
  }

  /// The dimensions that an op hands on, in the order of its result; only where
  /// that is not the operands' own order.
  std::optional<Dims> sourceOf(const Node &node, std::string_view op) const {
    auto product = [&](size_t a, size_t b) {
      Dims dims = *operands[a];
      dims.back() = operands[b]->back();
      return dims;
    };
    if (op == "mm" || op == "bmm")
      return product(0, 1);
    if (op == "addmm" || op == "baddbmm")
      return product(1, 2);
    Dims dims = *operands[0];
    auto rank = int64_t(dims.size());
    auto axis = [&](int64_t dim) { return size_t(dim < 0 ? dim + rank : dim); };
    if (op == "t") {
      std::ranges::reverse(dims);
      return dims;
    }
    if (op == "transpose") {
      std::swap(dims[axis(integer(node, "dim0"))],
                dims[axis(integer(node, "dim1"))]);
      return dims;
    }
    if (op == "permute") {
      Dims permuted;
      for (int64_t dim : integers(node, "dims"))
        permuted.push_back(dims[axis(dim)]);
      return permuted;
    }
    // What reduces or selects drops its dimensions.
    std::vector<int64_t> dropped = integers(node, "dim");
    if (dropped.empty() || node.results.empty() ||
        node.results[0].dims.size() + dropped.size() != dims.size())
      return std::nullopt;
    std::vector<size_t> gone;
    for (int64_t dim : dropped)
      gone.push_back(axis(dim));
    Dims kept;
    for (size_t i = 0; i < dims.size(); ++i)
      if (std::ranges::find(gone, i) == gone.end())
        kept.push_back(dims[i]);
    return kept;
  }

  static std::vector<int64_t> integers(const Node &node,
                                       std::string_view name) {
    const Argument *argument = node.find(name);
    auto *attribute =
        argument ? std::get_if<Attribute>(&argument->value) : nullptr;
    if (!attribute)
      return {};
    if (auto *one = std::get_if<int64_t>(attribute))
      return {*one};
    auto *list = std::get_if<std::vector<int64_t>>(attribute);
    return list ? *list : std::vector<int64_t>();
  }
  static int64_t integer(const Node &node, std::string_view name) {
    std::vector<int64_t> found = integers(node, name);
    return found.empty() ? 0 : found[0];
  }

  static void take(const Dims &source, Dims &dims) {
    for (size_t i = 0; i < std::min(source.size(), dims.size()); ++i)
      if (source[i].size == dims[i].size)
        dims[i].formula = source[i].formula;
  }

  void fromOperands(std::string_view op, Dims &dims, size_t i) const {
    Dim &dim = dims[i];
    if (op == "cat" && joined(dims.size(), i, dim))
      return;
    for (const Dims *operand : operands) // as broadcasting lines them up
      if (operand->size() <= dims.size() &&
          i + operand->size() >= dims.size()) {
        const Dim &same = (*operand)[i + operand->size() - dims.size()];
        if (same.isOpen() && same.size == dim.size)
          return void(dim.formula = same.formula);
      }
    for (const Dims *operand : operands)
      if (i < operand->size() && (*operand)[i].isOpen()) {
        const Dim &same = (*operand)[i];
        // All of it, or all but a few at an end.
        if (same.size == dim.size || (operand->size() == dims.size() &&
                                      std::abs(same.size - dim.size) <= kFew))
          return void(dim.formula = same.formula + (dim.size - same.size));
      }
  }

  /// The sum along the dimension in which the operands are joined.
  bool joined(size_t rank, size_t i, Dim &dim) const {
    Dim sum;
    for (const Dims *operand : operands) {
      if (operand->size() != rank)
        return false;
      sum.size += (*operand)[i].size;
      sum.formula = sum.formula + (*operand)[i].formula;
    }
    if (sum.size == dim.size && operands.size() > 1)
      dim = sum;
    return sum.size == dim.size && operands.size() > 1;
  }

  Formula bySize(int64_t size) const {
    auto symbol = std::ranges::find(open.symbols, size);
    return symbol == open.symbols.end()
               ? Formula(size)
               : Formula::symbol(uint32_t(symbol - open.symbols.begin()));
  }

  /// An attribute that lists the result's dimensions is those; any other is
  /// what an operand or the result has that size.
  void attributeOf(Attribute &attribute, const Dims &result) {
    if (auto *one = std::get_if<int64_t>(&attribute))
      return integerOf(*one, result);
    auto *list = std::get_if<std::vector<int64_t>>(&attribute);
    if (!list)
      return;
    bool isShape = list->size() == result.size();
    for (size_t i = 0; isShape && i < list->size(); ++i)
      isShape = (*list)[i] == result[i].size || (*list)[i] < 2;
    for (size_t i = 0; i < list->size(); ++i)
      if (!isShape)
        integerOf((*list)[i], result);
      else if ((*list)[i] >= 2)
        (*list)[i] = open.sizeOf(result[i].formula);
  }

  void integerOf(int64_t &value, const Dims &result) {
    if (value < 2)
      return;
    auto search = [&](const Dims &dims) {
      for (const Dim &dim : dims)
        if (dim.isOpen() && dim.size == value) {
          value = open.sizeOf(dim.formula);
          return true;
        }
      return false;
    };
    if (operands.empty())
      value = open.sizeOf(bySize(value));
    else if (!search(result))
      std::ranges::any_of(operands,
                          [&](const Dims *dims) { return search(*dims); });
  }

  static constexpr int64_t kFew = 4;

  Graph open;
  std::span<const DimMark> marks;
  std::vector<Dims> values;
  std::vector<const Dims *> operands; ///< of the node at hand
};

} // namespace

Graph spreadMarks(const Graph &trace, std::span<const DimMark> marks) {
  return Spreader(trace, marks).run();
}

} // namespace ltc::runtime
