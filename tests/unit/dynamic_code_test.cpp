//===- dynamic_code_test.cpp - One artifact for many sizes ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a graph with symbols once, runs its code for several values of them
// on the CPU driver, and compares every element of every result with what the
// code of the static graph gives.
//
//===----------------------------------------------------------------------===//
#include "program_runner.h"

#include <cmath>
#include <random>

using namespace ltc;

namespace {

using Bytes = std::vector<char>;

constexpr std::string_view attention = R"(graph {
  symbol s0 = 4
  symbol s1 = 24
  %0 = input i64[s0, s1]
  %1 = input f32[50, 32]
  %2 = input f32[32, 32]
  %3 = input f32[32]
  %4 = input f32[32]
  %5 = input bool[s0, 1, 1, s1]
  %6 = input scalar i64
  %7 = aten::embedding(weight=%1, indices=%0, padding_idx=-1, scale_grad_by_freq=false, sparse=false) : f32[s0, s1, 32]
  %8 = aten::arange(end=s1, dtype=i64) : i64[s1]
  %9 = aten::unsqueeze(self=%8, dim=1) : i64[s1, 1]
  %10 = aten::mul.Tensor(self=%9, other=%3) : f32[s1, 32]
  %11 = aten::add.Tensor(self=%7, other=%10, alpha=1) : f32[s0, s1, 32]
  %12, %13, %14 = aten::native_layer_norm(input=%11, normalized_shape=[32], weight=%3, bias=%4, eps=1e-05) : f32[s0, s1, 32], f32[s0, s1, 1], f32[s0, s1, 1]
  %15 = aten::view(self=%12, size=[s0*s1, 32]) : f32[s0*s1, 32]
  %16 = aten::mm(self=%15, mat2=%2) : f32[s0*s1, 32]
  %17 = aten::view(self=%16, size=[s0, s1, 4, 8]) : f32[s0, s1, 4, 8]
  %18 = aten::transpose.int(self=%17, dim0=1, dim1=2) : f32[s0, 4, s1, 8]
  %19 = aten::view(self=%18, size=[4*s0, s1, 8]) : f32[4*s0, s1, 8]
  %20 = aten::transpose.int(self=%19, dim0=1, dim1=2) : f32[4*s0, 8, s1]
  %21 = aten::bmm(self=%19, mat2=%20) : f32[4*s0, s1, s1]
  %22 = aten::view(self=%21, size=[s0, 4, s1, s1]) : f32[s0, 4, s1, s1]
  %23 = aten::where.ScalarOther(condition=%5, self=%22, other=-10000.0) : f32[s0, 4, s1, s1]
  %24 = aten::tril(self=%23, diagonal=0) : f32[s0, 4, s1, s1]
  %25 = aten::_softmax(self=%24, dim=-1, half_to_float=false) : f32[s0, 4, s1, s1]
  %26, %27 = aten::native_dropout(input=%25, p=0.1, train=true, seed=%6) : f32[s0, 4, s1, s1], bool[s0, 4, s1, s1]
  %28 = aten::view(self=%26, size=[4*s0, s1, s1]) : f32[4*s0, s1, s1]
  %29 = aten::bmm(self=%28, mat2=%19) : f32[4*s0, s1, 8]
  %30 = aten::view(self=%29, size=[s0, 4, s1, 8]) : f32[s0, 4, s1, 8]
  %31 = aten::transpose.int(self=%30, dim0=1, dim1=2) : f32[s0, s1, 4, 8]
  %32 = aten::view(self=%31, size=[s0, s1, 32]) : f32[s0, s1, 32]
  %33 = aten::gelu(self=%32, approximate="none") : f32[s0, s1, 32]
  %34 = aten::cat(tensors=[%33, %11], dim=1) : f32[s0, 2*s1, 32]
  %35 = aten::slice.Tensor(self=%34, dim=1, start=1, end=9223372036854775807, step=1) : f32[s0, 2*s1-1, 32]
  %36 = aten::sum.dim_IntList(self=%35, dim=[0, 1], keepdim=false, dtype=none) : f32[32]
  %37 = aten::select.int(self=%33, dim=1, index=-1) : f32[s0, 32]
  %38 = aten::mean(self=%25, dtype=none) : f32[]
  %39, %40, %41 = aten::native_layer_norm_backward(grad_out=%33, input=%11, normalized_shape=[32], mean=%13, rstd=%14, weight=%3, bias=%4, output_mask=[true, true, true]) : f32[s0, s1, 32], f32[32], f32[32]
  %42 = aten::_softmax_backward_data(grad_output=%24, output=%25, dim=-1, input_dtype=f32) : f32[s0, 4, s1, s1]
  %43 = aten::sum.dim_IntList(self=%42, dim=[2], keepdim=false, dtype=none) : f32[s0, 4, s1]
  output %33
  output %35
  output %36
  output %37
  output %38
  output %39
  output %40
  output %41
  output %43
  output %27
}
)";

/// A loss, its gradient and a step of SGD, into the parameters' own memory.
constexpr std::string_view step = R"(graph {
  symbol s0 = 32
  %0 = input f32[s0, 20]
  %1 = input f32[20, 10]
  %2 = input f32[10]
  %3 = input i64[s0]
  %4 = input scalar f64
  %5 = aten::addmm(self=%2, mat1=%0, mat2=%1, beta=1, alpha=1) : f32[s0, 10]
  %6 = aten::relu(self=%5) : f32[s0, 10]
  %7 = aten::_log_softmax(self=%6, dim=1, half_to_float=false) : f32[s0, 10]
  %8, %9 = aten::nll_loss_forward(self=%7, target=%3, weight=none, reduction=1, ignore_index=-100) : f32[], f32[]
  %10 = aten::ones_like(self=%8) : f32[]
  %11 = aten::nll_loss_backward(grad_output=%10, self=%7, target=%3, weight=none, reduction=1, ignore_index=-100, total_weight=%9) : f32[s0, 10]
  %12 = aten::_log_softmax_backward_data(grad_output=%11, output=%7, dim=1, input_dtype=f32) : f32[s0, 10]
  %13 = aten::threshold_backward(grad_output=%12, self=%6, threshold=0) : f32[s0, 10]
  %14 = aten::t(self=%0) : f32[20, s0]
  %15 = aten::mm(self=%14, mat2=%13) : f32[20, 10]
  %16 = aten::sum.dim_IntList(self=%13, dim=[0], keepdim=false, dtype=none) : f32[10]
  %17 = aten::mul.Tensor(self=%15, other=%4) : f32[20, 10]
  %18 = aten::sub.Tensor(self=%1, other=%17, alpha=1) : f32[20, 10]
  %19 = aten::mul.Tensor(self=%16, other=%4) : f32[10]
  %20 = aten::sub.Tensor(self=%2, other=%19, alpha=1) : f32[10]
  %21 = aten::mean.dim(self=%6, dim=[0], keepdim=true, dtype=none) : f32[1, 10]
  %22 = aten::sub.Tensor(self=%6, other=%21, alpha=1) : f32[s0, 10]
  output %8
  output %18 donates %1
  output %20 donates %2
  output %22
}
)";

//===----------------------------------------------------------------------===//
// What the code calls
//===----------------------------------------------------------------------===//

struct View {
  float *data;
  std::vector<int64_t> sizes, strides;
  float &at(int64_t i, int64_t j) const {
    size_t rank = sizes.size();
    return data[i * strides[rank - 2] + j * strides[rank - 1]];
  }
};

View viewOf(const ltc_view &view) {
  return {static_cast<float *>(view.data),
          {view.sizes, view.sizes + view.rank},
          {view.strides, view.strides + view.rank}};
}

void multiply(const View &a, const View &b, const View &c, const View *addend) {
  size_t rank = c.sizes.size();
  for (int64_t i = 0; i < c.sizes[rank - 2]; ++i)
    for (int64_t j = 0; j < c.sizes[rank - 1]; ++j) {
      float sum = addend ? addend->data[j * addend->strides.back()] : 0;
      for (int64_t k = 0; k < a.sizes[rank - 1]; ++k)
        sum += a.at(i, k) * b.at(k, j);
      c.at(i, j) = sum;
    }
}

} // namespace

struct ltc_kernel {
  Graph call;
};

namespace {

ltc_kernel *resolve(ltc_bytes text, char *, size_t) {
  Result<Graph> call =
      Graph::parse({static_cast<const char *>(text.data), text.size});
  return call ? new ltc_kernel{std::move(*call)} : nullptr;
}

void destroy(ltc_kernel *kernel) { delete kernel; }

/// mm, bmm, and addmm of a row.
ltc_error_code runKernel(ltc_kernel *kernel, const ltc_view *operands,
                         size_t count, const ltc_view *results, size_t, char *,
                         size_t) {
  std::vector<View> views;
  for (size_t i = 0; i < count; ++i)
    views.push_back(viewOf(operands[i]));
  views.push_back(viewOf(results[0]));
  const std::string &op = kernel->call.nodes[0].op;
  if (op == "aten::mm")
    multiply(views[0], views[1], views[2], nullptr);
  else if (op == "aten::addmm")
    multiply(views[1], views[2], views[3], &views[0]);
  else if (op != "aten::bmm")
    return LTC_UNSUPPORTED;
  for (int64_t i = 0; op == "aten::bmm" && i < views[2].sizes[0]; ++i) {
    multiply(views[0], views[1], views[2], nullptr);
    for (View &view : views)
      view.data += view.strides[0];
  }
  return LTC_OK;
}

/// In several pieces wherever that is allowed.
void parallelFor(int64_t n, int64_t grain,
                 void (*body)(int64_t, int64_t, void *), void *argument) {
  int64_t piece = std::max<int64_t>({grain, n / 3, 1});
  for (int64_t begin = 0; begin < n; begin += piece)
    body(begin, std::min(n, begin + piece), argument);
}

const ltc_host host = [] {
  ltc_host made = {};
  made.struct_size = sizeof(ltc_host);
  made.kernel_resolve = resolve;
  made.kernel_free = destroy;
  made.kernel_run = runKernel;
  made.parallel_for = parallelFor;
  return made;
}();

//===----------------------------------------------------------------------===//
// Code and its arguments
//===----------------------------------------------------------------------===//

/// A graph's input: the same for the static and the dynamic code.
Bytes makeInput(const ValueType &type, std::mt19937 &random) {
  size_t count = size_t(type.tensor.elements());
  Bytes bytes(type.tensor.bytes());
  for (size_t i = 0; i < count; ++i) {
    switch (type.tensor.dtype) {
    case DType::Bool:
      bytes[i] = char(random() % 4 != 0);
      break;
    case DType::I64:
      reinterpret_cast<int64_t *>(bytes.data())[i] = int64_t(random() % 10);
      break;
    case DType::F64: // a scalar
      reinterpret_cast<double *>(bytes.data())[i] = 0.125;
      break;
    default:
      reinterpret_cast<float *>(bytes.data())[i] =
          float(random() % 2001) / 1000 - 1;
    }
  }
  return bytes;
}

/// `graph`: the static one for these values; inputs that are donated change.
std::vector<Bytes> run(ProgramRunner &code, const Graph &graph,
                       const std::vector<int64_t> &symbols,
                       std::vector<Bytes> &inputs) {
  std::vector<Bytes> results;
  std::vector<char *> memory;
  static char nothing;
  for (Bytes &input : inputs)
    memory.push_back(input.empty() ? &nothing : input.data());
  for (const GraphOutput &output : graph.outputs) {
    results.emplace_back(graph.typeOf(output.value).tensor.bytes() + 1, '\xff');
    memory.push_back(output.donated ? inputs[*output.donated].data()
                                    : results.back().data());
  }
  code.run(graph, symbols, memory);
  for (size_t i = 0; i < results.size(); ++i) {
    results[i].pop_back();
    if (auto donated = graph.outputs[i].donated)
      results[i] = inputs[*donated];
  }
  return results;
}

/// Sums of a length that is known are added up in other parts.
void expectNear(const Bytes &found, const Bytes &wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  auto at = [](const Bytes &bytes, size_t i) {
    return reinterpret_cast<const float *>(bytes.data())[i];
  };
  float largest = 0;
  for (size_t i = 0; i < wanted.size() / 4; ++i)
    largest = std::max(largest, std::fabs(at(wanted, i)));
  for (size_t i = 0; i < wanted.size() / 4; ++i)
    ASSERT_NEAR(at(found, i), at(wanted, i), largest * 2e-6) << "element " << i;
}

void expectSame(std::string_view text,
                const std::vector<std::vector<int64_t>> &points) {
  Result<Graph> open = Graph::parse(text);
  ASSERT_TRUE(open) << open.error().str();
  ASSERT_TRUE(open->verify());
  ProgramRunner dynamic(*open, host);
  ASSERT_TRUE(dynamic);
  for (const std::vector<int64_t> &values : points) {
    Result<Graph> graph = open->instantiate(values);
    ASSERT_TRUE(graph) << graph.error().str();
    ProgramRunner fixed(*graph, host);
    ASSERT_TRUE(fixed);
    std::mt19937 random(7);
    std::vector<Bytes> inputs;
    for (const ValueType &type : graph->inputs)
      inputs.push_back(makeInput(type, random));
    std::vector<Bytes> others = inputs;
    std::vector<Bytes> wanted = run(fixed, *graph, {}, inputs);
    std::vector<Bytes> found = run(dynamic, *graph, values, others);
    for (size_t i = 0; i < wanted.size(); ++i) {
      DType dtype = graph->typeOf(graph->outputs[i].value).tensor.dtype;
      SCOPED_TRACE("result " + std::to_string(i) +
                   " for s0 = " + std::to_string(values[0]));
      if (dtype == DType::F32)
        expectNear(found[i], wanted[i]);
      else
        EXPECT_EQ(found[i], wanted[i]);
    }
  }
}

TEST(DynamicCode, AttentionOfAnyBatchAndLength) {
  expectSame(attention, {{4, 24}, {1, 1}, {3, 7}, {2, 130}});
}

TEST(DynamicCode, TrainingStepOfAnyBatch) {
  expectSame(step, {{32}, {1}, {7}, {1000}});
}

TEST(DynamicCode, ACompileThatNobodyWantsAnyMoreFails) {
  Result<Graph> graph = Graph::parse(step);
  ASSERT_TRUE(graph);
  std::atomic<bool> stop = true;
  CompileOptions options;
  options.stop = &stop;
  Result<Artifact> stopped = ltc_compiler_get()->compile(*graph, options);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().message, "the compile was stopped");
  stop = false;
  EXPECT_TRUE(ltc_compiler_get()->compile(*graph, options));
}

TEST(DynamicCode, NoElements) {
  expectSame(R"(graph {
  symbol s0 = 8
  symbol s1 = 30
  %0 = input f32[s0, s1]
  %1 = aten::_softmax(self=%0, dim=-1, half_to_float=false) : f32[s0, s1]
  %2 = aten::sum.dim_IntList(self=%1, dim=[0], keepdim=false, dtype=none) : f32[s1]
  %3 = aten::sum.dim_IntList(self=%1, dim=[1], keepdim=false, dtype=none) : f32[s0]
  %4 = aten::t(self=%1) : f32[s1, s0]
  %5 = aten::add.Tensor(self=%4, other=%3, alpha=1) : f32[s1, s0]
  %6 = aten::view(self=%5, size=[s0*s1]) : f32[s0*s1]
  %7 = aten::cat(tensors=[%6, %2], dim=0) : f32[s0*s1+s1]
  output %2
  output %3
  output %7
}
)",
             {{0, 5}, {5, 0}, {0, 0}, {1, 1}, {8, 30}});
}

} // namespace
