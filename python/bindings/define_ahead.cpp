//===- define_ahead.cpp - Bundles for Python --------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "define_ahead.h"

#include "define_graphs.h"

#include "ltc/ahead.h"
#include "ltc/bundle.h"
#include "ltc/cpu_kernels.h"
#include "ltc/region_ops.h"
#include "ltc_backend/convert.h"
#include "ltc_backend/graph/built/graph_origins.h"
#include "ltc_backend/raise.h"

#include <torch/csrc/Exceptions.h>

#include <algorithm>
#include <bit>

namespace py = pybind11;

namespace ltc::python {
namespace {

using backend::BuiltGraph, backend::GraphOrigins, backend::Origin;

/// (kind, what it is).
py::tuple toTuple(const Origin &origin) {
  switch (origin.kind) {
  case Origin::Input:
    return py::make_tuple("input", origin.index);
  case Origin::Constant:
    return py::make_tuple("constant", origin.constant);
  case Origin::Real:
    return py::make_tuple("real", origin.real);
  case Origin::Integer:
    return py::make_tuple("integer", origin.integer);
  case Origin::Seed:
    return py::make_tuple("seed", 0);
  case Origin::Result:
    return py::make_tuple("result", origin.index);
  }
  return py::tuple();
}

/// (of the graph's inputs, of the outputs, [(input, of its new value)]).
py::tuple originsOf(const BuiltGraph &built) {
  std::optional<GraphOrigins> origins;
  {
    py::gil_scoped_release unlocked;
    origins.emplace(built);
  }
  py::list inputs, outputs, writes;
  for (const Origin &origin : origins->inputs)
    inputs.append(toTuple(origin));
  for (const Origin &origin : origins->outputs)
    outputs.append(toTuple(origin));
  for (const auto &[input, origin] : origins->writes)
    writes.append(py::make_tuple(input, toTuple(origin)));
  return py::make_tuple(inputs, outputs, writes);
}

using Traces =
    std::vector<std::pair<std::shared_ptr<BuiltGraph>, std::vector<int64_t>>>;

ahead::OpenProgram openTraces(const Traces &traces) {
  std::vector<ahead::Trace> all;
  for (const auto &[built, integers] : traces)
    all.push_back({built->program(), integers});
  return backend::valueOrRaise(ahead::open(all));
}

std::vector<std::string> formulasOf(const ahead::OpenProgram &program) {
  std::vector<std::string> texts;
  for (const Formula &formula : program.integers)
    texts.push_back(formula.str());
  return texts;
}

/// A call that nothing would serve where the bundle runs.
Error noKernel(const Graph &graph, const Artifact::Call &call) {
  const std::string &op = call.graph.nodes[0].op;
  Source source;
  if (call.node < graph.nodes.size())
    source = sourceOf(graph.nodes[call.node].source);
  return {ErrorCode::Unsupported,
          Stage::Lower,
          op + " is a library call, and the library without PyTorch has no "
               "kernel for it",
          op,
          source,
          "leave the op out of what is exported, or give it a lowering "
          "(torch_ltc.register_lowering)"};
}

/// Raises for such a call of the artifact, or of a program inside.
void checkCalls(const Graph &graph, const Artifact &artifact) {
  for (const Artifact::Call &call : artifact.calls) {
    if (!hasRegions(call.graph)) {
      if (!kernels::hasOwn(call.graph))
        backend::raise(noKernel(graph, call));
      continue;
    }
    const Node &node = call.graph.nodes[0];
    bool isKnown = call.node < graph.nodes.size();
    std::vector<Graph> regions = backend::valueOrRaise(
        regionGraphs(node, isKnown ? graph.nodes[call.node].source : 0));
    for (size_t i = 0; i < regions.size(); ++i) {
      auto kernel =
          std::ranges::find(artifact.kernels, regionName(regionsOf(node)[i]),
                            &Artifact::Kernel::name);
      checkCalls(regions[i], backend::valueOrRaise(Artifact::deserialize(
                                 artifact.blobs[kernel->blob].bytes)));
    }
  }
}

std::string compileFor(const ahead::OpenProgram &program,
                       const std::string &cpu) {
  Artifact artifact = backend::valueOrRaise(ahead::compile(program.graph, cpu));
  checkCalls(program.graph, artifact);
  return artifact.serialize();
}

// A bundle's description in Python: tuples in the order of bundle.h's fields.

Formula formulaFrom(const py::handle &text) {
  return Formula::parse(text.cast<std::string>()).value();
}

DType dtypeFrom(const at::Tensor &like) {
  return backend::toDType(like.scalar_type()).value();
}

/// (name, an empty tensor of its dtype, [(formula, least, most)], its role).
Bundle::Value valueFrom(const py::handle &object) {
  auto row = object.cast<py::tuple>();
  Bundle::Value value;
  value.name = row[0].cast<std::string>();
  value.dtype = dtypeFrom(row[1].cast<at::Tensor>());
  for (py::handle dim : row[2]) {
    auto [size, least, most] =
        dim.cast<std::tuple<py::object, int64_t, int64_t>>();
    value.dims.push_back({formulaFrom(size), least, most});
  }
  value.role = Bundle::Value::Role(row[3].cast<uint32_t>());
  return value;
}

/// (kind, what it is), as toTuple() gives it; of a number also (formula, is it
/// a double), and weights in the place of constants.
Bundle::Source sourceFrom(const py::handle &object) {
  auto row = object.cast<py::tuple>();
  auto kind = row[0].cast<std::string>();
  Bundle::Source source;
  auto index = [&](Bundle::Source::Kind which) {
    source.kind = which;
    source.index = row[1].cast<uint32_t>();
  };
  if (kind == "input") {
    index(Bundle::Source::Input);
  } else if (kind == "weight") {
    index(Bundle::Source::Weight);
  } else if (kind == "result") {
    index(Bundle::Source::Result);
  } else if (kind == "number") {
    source.kind = Bundle::Source::Number;
    source.formula = formulaFrom(row[1]);
    source.isDouble = row[2].cast<bool>();
  } else if (kind == "seed") {
    source.kind = Bundle::Source::Seed;
  } else {
    source.kind = Bundle::Source::Real;
    source.bits = kind == "real"
                      ? std::bit_cast<uint64_t>(row[1].cast<double>())
                      : uint64_t(row[1].cast<int64_t>());
  }
  return source;
}

template <typename Make> auto listFrom(const py::handle &list, Make make) {
  std::vector<decltype(make(list))> made;
  for (py::handle one : list)
    made.push_back(make(one));
  return made;
}

/// (text, [(kind, input, dimension, constant)], formula).
DerivedSize derivedFrom(const py::handle &object) {
  auto row = object.cast<py::tuple>();
  DerivedSize derived;
  derived.text = row[0].cast<std::string>();
  derived.steps = listFrom(row[1], [](const py::handle &step) {
    auto [kind, input, dim, constant] =
        step.cast<std::tuple<uint32_t, uint32_t, uint32_t, int64_t>>();
    return DerivedSize::Step{DerivedSize::Step::Kind(kind), input, dim,
                             constant};
  });
  derived.formula = formulaFrom(row[2]);
  return derived;
}

Bundle::Entry entryFrom(const py::dict &from) {
  Bundle::Entry entry;
  entry.name = from["name"].cast<std::string>();
  entry.inputs = listFrom(from["inputs"], valueFrom);
  entry.outputs = listFrom(from["outputs"], valueFrom);
  entry.symbols = listFrom(from["symbols"], [](const py::handle &row) {
    auto [input, dim, factor, offset] =
        row.cast<std::tuple<uint32_t, uint32_t, int64_t, int64_t>>();
    return Bundle::Symbol{input, dim, factor, offset};
  });
  entry.derived = listFrom(from["derived"], derivedFrom);
  entry.sources = listFrom(from["sources"], sourceFrom);
  entry.results = listFrom(from["results"], sourceFrom);
  entry.writes = listFrom(from["writes"], [](const py::handle &row) {
    return Bundle::Write{sourceFrom(row.cast<py::tuple>()[0]),
                         sourceFrom(row.cast<py::tuple>()[1])};
  });
  entry.notes = from["notes"].cast<std::string>();
  return entry;
}

void write(const std::string &path, const std::string &besidePath,
           const py::dict &from) {
  Bundle bundle;
  BundleContent content;
  bundle.maker = from["maker"].cast<std::string>();
  bundle.targets = from["targets"].cast<std::vector<std::string>>();
  std::vector<at::Tensor> kept;
  for (py::handle one : from["weights"]) {
    auto [name, tensor, isState] =
        one.cast<std::tuple<std::string, at::Tensor, bool>>();
    Bundle::Weight &weight = bundle.weights.emplace_back();
    weight.name = name;
    weight.type = {dtypeFrom(tensor), tensor.sizes().vec()};
    weight.isState = isState;
    const at::Tensor &dense =
        kept.emplace_back(tensor.resolve_conj().resolve_neg().contiguous());
    content.weights.emplace_back(static_cast<const char *>(dense.data_ptr()),
                                 dense.nbytes());
  }
  for (py::handle one : from["entries"]) {
    auto entry = one.cast<py::dict>();
    bundle.entries.push_back(entryFrom(entry));
    content.programs.push_back(
        entry["programs"].cast<std::vector<std::string>>());
  }
  py::gil_scoped_release unlocked;
  backend::raiseIfFailed(writeBundle(bundle, content, path, besidePath));
}

} // namespace

void defineAhead(py::module_ &m) {
  py::class_<ahead::OpenProgram>(m, "OpenProgram")
      .def_property_readonly("formulas", formulasOf)
      .def_property_readonly("symbols",
                             [](const ahead::OpenProgram &self) {
                               return self.graph.symbols.size();
                             })
      .def_property_readonly(
          "text",
          [](const ahead::OpenProgram &self) { return self.graph.str(); })
      .def("lower",
           [](const ahead::OpenProgram &self, const std::string &form) {
             return lowered(self.graph, form);
           })
      .def("compile",
           [](const ahead::OpenProgram &self, const std::string &cpu) {
             std::string bytes;
             torch::wrap_pybind_function_no_gil(
                 [&] { bytes = compileFor(self, cpu); })();
             return py::bytes(bytes);
           });
  m.def("origins", torch::wrap_pybind_function(originsOf));
  m.def("open_traces", torch::wrap_pybind_function_no_gil(openTraces));
  m.def("write_bundle", torch::wrap_pybind_function(write));
}

} // namespace ltc::python
