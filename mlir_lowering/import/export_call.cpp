//===- export_call.cpp - ltc.call to a one-node ltc::Graph ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/import/import.h"

#include "ltc/region_ops.h"
#include "mlir_lowering/dialect/element_type.h"
#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/dialect/sizes.h"

using namespace mlir;

namespace ltc::compiler {

static Attribute exportAttribute(mlir::Attribute attribute) {
  if (auto x = dyn_cast<BoolAttr>(attribute))
    return x.getValue();
  if (auto x = dyn_cast<IntegerAttr>(attribute))
    return x.getInt();
  if (auto x = dyn_cast<SizeAttr>(attribute))
    return sizeOf(OpFoldResult(attribute));
  if (auto x = dyn_cast<ArrayAttr>(attribute)) {
    SmallVector<int64_t> sizes = sizesIn(x);
    return std::vector<int64_t>(sizes.begin(), sizes.end());
  }
  if (auto x = dyn_cast<FloatAttr>(attribute))
    return x.getValueAsDouble();
  if (auto x = dyn_cast<StringAttr>(attribute))
    return x.getValue().str();
  if (auto x = dyn_cast<DTypeAttr>(attribute))
    return x.getValue();
  if (auto x = dyn_cast<DenseI64ArrayAttr>(attribute))
    return std::vector<int64_t>(x.asArrayRef());
  if (auto x = dyn_cast<DenseF64ArrayAttr>(attribute))
    return std::vector<double>(x.asArrayRef());
  if (auto x = dyn_cast<DenseBoolArrayAttr>(attribute))
    return std::vector<bool>(x.asArrayRef().begin(), x.asArrayRef().end());
  return std::monostate();
}

Source sourceAt(Location location) {
  if (auto name = dyn_cast<NameLoc>(location)) {
    Source source = sourceAt(name.getChildLoc());
    source.function = name.getName().str();
    return source;
  }
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations())
      if (Source source = sourceAt(part); !source.empty())
        return source;
    return {};
  }
  if (auto file = dyn_cast<FileLineColLoc>(location))
    return {file.getFilename().str(), file.getLine(), ""};
  return {};
}

/// The sizes of a call's operand that are symbolic too, if it has such.
static void nameSizes(CallOp call, unsigned operand, TensorType &type) {
  auto sizes = call->getAttrOfType<ArrayAttr>(LtcDialect::kSizes);
  if (!sizes)
    return;
  SmallVector<int64_t> dims = sizesIn(cast<ArrayAttr>(sizes[operand]));
  type.dims.assign(dims.begin(), dims.end());
}

/// Sizes of the context as sizes of the graph.
static void takeFormulas(Graph &graph, const SizeTable &table) {
  auto own = [&](int64_t &size) {
    if (isSymbolic(size))
      size = graph.sizeOf(table.formula(size));
  };
  for (ValueType &type : graph.inputs)
    llvm::for_each(type.tensor.dims, own);
  for (TensorType &type : graph.nodes[0].results)
    llvm::for_each(type.dims, own);
  for (Argument &argument : graph.nodes[0].arguments) {
    auto *attribute = std::get_if<Attribute>(&argument.value);
    if (auto *one = attribute ? std::get_if<int64_t>(attribute) : nullptr)
      own(*one);
    if (auto *list =
            attribute ? std::get_if<std::vector<int64_t>>(attribute) : nullptr)
      llvm::for_each(*list, own);
  }
  if (!graph.formulas.empty())
    graph.symbols = table.symbols();
  noteRegionFormulas(graph, graph.nodes[0]);
}

Graph exportCall(CallOp call) {
  Graph graph;
  for (auto [index, input] : llvm::enumerate(call.getInputs())) {
    ValueType type =
        graphType(input.getType(), DType(call.getOperandDtypes()[index]));
    std::vector<int64_t> dims = type.tensor.dims;
    for (auto [to, from] : llvm::enumerate(call.permutationOf(index)))
      type.tensor.dims[to] = dims[from];
    nameSizes(call, index, type.tensor);
    graph.inputs.push_back(std::move(type));
  }
  Node &node = graph.nodes.emplace_back();
  node.op = call.getCallee().str();
  for (const OpArgument &from : argumentsOf(call)) {
    Argument &to = node.arguments.emplace_back();
    to.name = from.name.str();
    ValueId next = from.first;
    if (isa<OperandAttr>(from.value)) {
      to.value = next;
    } else if (auto list = dyn_cast<OperandListAttr>(from.value)) {
      std::vector<ValueId> ids;
      for (bool present : list.getPresent())
        ids.push_back(present ? next++ : kNoValue);
      to.value = std::move(ids);
    } else {
      to.value = exportAttribute(from.value);
    }
  }
  ValueId next = graph.inputs.size();
  for (auto [out, dtype] :
       llvm::zip_equal(call.getOuts(), call.getResultDtypes())) {
    TensorType type = graphType(out.getType(), DType(dtype)).tensor;
    nameSizes(call, next, type);
    node.results.push_back(std::move(type));
    graph.outputs.push_back({next++, std::nullopt});
  }
  takeFormulas(graph, sizeTable(call.getContext()));
  Source source = sourceAt(call.getLoc());
  node.source = source.empty() ? 0 : internSource(source);
  return graph;
}

} // namespace ltc::compiler
