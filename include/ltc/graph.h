//===- graph.h - The one hand-over between front ends and compiler --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Graph is a straight-line program of functional ATen ops. The recorder makes
// it, the cache hashes it, the compiler consumes it, and its text form is what
// a dump holds and `ltc-run` replays:
//
// clang-format off
//   graph {
//     %0 = input f32[8, 512]
//     %1 = input scalar f64
//     %2 = aten::add.Tensor(self=%0, other=%0, alpha=%1) : f32[8, 512] loc "train.py":41 "forward"
//     %3, %4 = aten::max.dim(self=%2, dim=1, keepdim=false) : f32[8], i64[8]
//     %5 = aten::cat(tensors=[%2, %0], dim=0) : f32[16, 512]
//     output %3
//     output %5
//     output %2 donates %0
//   }
// clang-format on
//
// A graph may leave sizes open. It then has symbols, and each size, a dimension
// of a type or an integer in an attribute, is a number or a formula of them:
//
//   graph {
//     symbol s0 = 32
//     %0 = input f32[s0, 512]
//     %1 = aten::view(self=%0, size=[2*s0, 256]) : f32[2*s0, 256]
//     output %1
//   }
//
// 32 is a hint, the size in the trace from which the graph was made: what the
// code is made fast for. It is right for all values of the symbols for which
// each ATen op, called so, gives the result types that stand there.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"
#include "ltc/formula.h"
#include "ltc/hash.h"

namespace ltc {

/// Numbers the values of a graph: its inputs first, then every node's results
/// in order.
using ValueId = uint32_t;
/// An absent element of an optional tensor list (`indices=[none, %4]`).
inline constexpr ValueId kNoValue = UINT32_MAX;

/// The value of a schema argument that is known when the graph is built.
/// monostate is None.
using Attribute =
    std::variant<std::monostate, bool, int64_t, double, std::string, DType,
                 std::vector<int64_t>, std::vector<double>, std::vector<bool>>;
/// As in the text of a graph.
LTC_API std::string str(const Attribute &attribute);

/// One schema argument: an attribute, one operand, or a list of operands.
struct Argument {
  std::string name; ///< as in the ATen schema
  std::variant<Attribute, ValueId, std::vector<ValueId>> value;

  bool operator==(const Argument &) const = default;
};

/// One call of an ATen op. Arguments stand in schema order; an argument that
/// only says where a result lives (device, layout, pin_memory, generator) is
/// left out; a random op has a last argument "seed", a scalar I64 operand.
struct Node {
  std::string op; ///< "aten::add.Tensor"; no overload: "aten::relu"
  std::vector<Argument> arguments;
  std::vector<TensorType> results;
  SourceId source = 0; ///< not part of the hash

  /// The argument of that name, or nullptr.
  LTC_API const Argument *find(std::string_view name) const;
  /// Op, attributes, argument names and result types, without the operands:
  /// what a recorder computes once for each distinct call.
  LTC_API Hash128 signature() const;
};

/// A result of the graph. When `donated` is set, the input of that number dies
/// with this run and the result may take over its memory (equal types).
struct GraphOutput {
  ValueId value = 0;
  std::optional<uint32_t> donated;

  bool operator==(const GraphOutput &) const = default;
};

/// Whether a graph's text says which lines recorded it. Without them, graphs of
/// equal hash() have equal text.
enum class SourceLines : bool { Omit, Show };

struct Graph {
  /// The hint of each symbol.
  std::vector<int64_t> symbols;
  /// What the symbolic sizes (types.h) among dims, integer attributes and
  /// integer lists stand for. Distinct and none constant: equal sizes are equal
  /// numbers.
  std::vector<Formula> formulas;
  std::vector<ValueType> inputs;
  std::vector<Node> nodes;
  std::vector<GraphOutput> outputs;
  /// The line that asked for its values or ended the step; not part of the
  /// hash, nor of the text.
  SourceId endedBy = 0;

  /// The key that memory and disk caches derive theirs from. Equal for equal
  /// programs in every process; sources do not count, hints do, and the order
  /// of `formulas` does not.
  LTC_API Hash128 hash() const;
  /// Checks numbering, types of operands' values, donations.
  LTC_API Status verify() const;
  LTC_API std::string str(SourceLines lines = SourceLines::Show) const;
  LTC_API static Result<Graph> parse(std::string_view text);
  /// The type of any value. O(nodes); build a table for many look-ups.
  LTC_API ValueType typeOf(ValueId value) const;

  bool isDynamic() const { return !symbols.empty(); }
  /// A formula as a size that may stand in this graph: its number when it is
  /// constant, else a symbolic one, noted among `formulas`.
  LTC_API int64_t sizeOf(const Formula &formula);
  /// What a size of this graph stands for.
  LTC_API Formula formulaOf(int64_t size) const;
  /// The graph for these values of its symbols, one each; without any.
  /// Refuses a size that is negative or does not fit an int64_t.
  LTC_API Result<Graph> instantiate(std::span<const int64_t> values) const;
};

/// Computes Graph::hash() piece by piece, for a recorder that has signatures
/// at hand and builds the Graph only when nothing is cached for its key.
class GraphHasher {
public:
  void input(const ValueType &type) { input(type.tensor, type.isScalar); }
  void input(const TensorType &type, bool isScalar = false) {
    hasher.add(0x11).add(uint64_t(type.dtype) | uint64_t(isScalar) << 8 |
                         uint64_t(type.dims.size()) << 16);
    for (int64_t dim : type.dims)
      hasher.add(uint64_t(dim));
  }
  /// `operands`: every ValueId of the node, in argument order.
  void node(Hash128 signature, std::span<const ValueId> operands) {
    hasher.add(signature).add(operands.size());
    for (ValueId value : operands)
      hasher.add(value);
  }
  void output(const GraphOutput &output) {
    hasher.add(0x33)
        .add(output.value)
        .add(output.donated ? uint64_t(*output.donated) + 1 : 0);
  }
  Hash128 finish() const { return hasher.finish(); }

private:
  Hasher hasher;
};

} // namespace ltc
