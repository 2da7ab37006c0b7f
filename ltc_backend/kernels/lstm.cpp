//===- kernels/lstm.cpp - One layer of an LSTM over all its times ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each time, a panel of hidden units is made by one thread: its share of the
// product with the state before, added to what comes from the input, and then
// the gates, while both are in the cache. The weight is packed once.
//
//===----------------------------------------------------------------------===//
#include "lstm.h"

#include "for_ranges.h"
#include "lstm_cell.h"
#include "pack.h"

#include <ATen/ATen.h>

#include <cstring>

namespace ltc::backend {
using at::Tensor;

namespace {

constexpr int64_t kGates = 4;

/// The sizes of a layer, and the order in which it meets its times.
struct Layer {
  Layer(const Tensor &projected, bool reverse)
      : times(projected.size(0)), batch(projected.size(1)),
        hidden(projected.size(2) / kGates), reverse(reverse) {}

  /// The i-th time in the order of the recurrence.
  int64_t time(int64_t i) const { return reverse ? times - 1 - i : i; }
  /// Row `b` at the i-th time of a tensor of `width` floats a row.
  template <typename T>
  T *row(T *data, int64_t i, int64_t b, int64_t width) const {
    return data + (time(i) * batch + b) * width;
  }

  const int64_t times, batch, hidden;
  const bool reverse;
};

class Forward {
public:
  Forward(const Layer &layer, const Tensor &projected, const Tensor &hx,
          const Tensor &cx, const Tensor &weight, Tensor &output, Tensor &cells,
          Tensor &gates)
      : layer(layer), projected(projected.const_data_ptr<float>()),
        hx(hx.const_data_ptr<float>()), cx(cx.const_data_ptr<float>()),
        output(output.mutable_data_ptr<float>()),
        cells(cells.mutable_data_ptr<float>()),
        gates(gates.mutable_data_ptr<float>()) {
    const float *data = weight.const_data_ptr<float>();
    int64_t h = layer.hidden;
    for (int64_t gate = 0; gate < kGates; ++gate)
      weights.emplace_back(GemmOperand{data + gate * h * h, h, h, 1, h});
  }

  void run() {
    for (int64_t i = 0; i < layer.times; ++i)
      forRanges(weights[0].panels(), [&](int64_t begin, int64_t end) {
        for (int64_t panel = begin; panel < end; ++panel)
          apply(i, panel);
      });
  }

private:
  void apply(int64_t i, int64_t panel) {
    int64_t h = layer.hidden, col = panel * PackedMatrix::kCols;
    int64_t units = weights[0].panelWidth(panel);
    const float *state = i == 0 ? hx : layer.row(output, i - 1, 0, h);
    float *here = layer.row(gates, i, 0, kGates * h);
    for (int64_t gate = 0; gate < kGates; ++gate) {
      int64_t place = gate * h + col;
      for (int64_t b = 0; b < layer.batch; ++b)
        std::memcpy(here + b * kGates * h + place,
                    layer.row(projected, i, b, kGates * h) + place,
                    units * sizeof(float));
      weights[gate].multiply(panel, state, layer.batch, h, true, here + place,
                             kGates * h);
    }
    for (int64_t b = 0; b < layer.batch; ++b) {
      const float *before =
          (i == 0 ? cx + b * h : layer.row(cells, i - 1, b, h)) + col;
      lstmCell({units, h, before}, here + b * kGates * h + col,
               layer.row(cells, i, b, h) + col,
               layer.row(output, i, b, h) + col);
    }
  }

  const Layer &layer;
  const float *projected, *hx, *cx;
  float *output, *cells, *gates;
  std::vector<PackedMatrix> weights; ///< a gate's each, turned over
};

class Backward {
public:
  Backward(const Layer &layer, const Tensor &gradOutput, const Tensor &cx,
           const Tensor &weight, const Tensor &cells, const Tensor &gates,
           Tensor &gradProjected, Tensor &gradHx, Tensor &gradCx)
      : layer(layer), gradOutput(gradOutput.const_data_ptr<float>()),
        cx(cx.const_data_ptr<float>()), cells(cells.const_data_ptr<float>()),
        gates(gates.const_data_ptr<float>()),
        gradProjected(gradProjected.mutable_data_ptr<float>()),
        gradState(gradHx.mutable_data_ptr<float>()),
        gradCell(gradCx.mutable_data_ptr<float>()),
        weight({weight.const_data_ptr<float>(), kGates * layer.hidden,
                layer.hidden, layer.hidden, 1}) {}

  /// `gradCell` holds the gradient of the last state of the cell.
  void run() {
    for (int64_t i = layer.times; i-- > 0;)
      forEachPanel([&](int64_t panel) {
        gradientOfState(i, panel);
        gradientOfGates(i, panel);
      });
    forEachPanel([&](int64_t panel) { gradientOfState(-1, panel); });
  }

private:
  template <typename Work> void forEachPanel(const Work &work) {
    forRanges(weight.panels(), [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; ++panel)
        work(panel);
    });
  }

  /// Of the state after the i-th time, as the later times and the output see it.
  void gradientOfState(int64_t i, int64_t panel) {
    int64_t h = layer.hidden, col = panel * PackedMatrix::kCols;
    int64_t units = weight.panelWidth(panel);
    for (int64_t b = 0; b < layer.batch; ++b) {
      float *state = gradState + b * h + col;
      if (i >= 0)
        std::memcpy(state, layer.row(gradOutput, i, b, h) + col,
                    units * sizeof(float));
      else
        std::memset(state, 0, units * sizeof(float));
    }
    if (i + 1 < layer.times)
      weight.multiply(panel, layer.row(gradProjected, i + 1, 0, kGates * h),
                      layer.batch, kGates * h, true, gradState + col, h);
  }

  void gradientOfGates(int64_t i, int64_t panel) {
    int64_t h = layer.hidden, col = panel * PackedMatrix::kCols;
    for (int64_t b = 0; b < layer.batch; ++b) {
      const float *before =
          (i == 0 ? cx + b * h : layer.row(cells, i - 1, b, h)) + col;
      lstmCellBackward({weight.panelWidth(panel), h, before},
                       layer.row(gates, i, b, kGates * h) + col,
                       layer.row(cells, i, b, h) + col,
                       gradState + b * h + col, gradCell + b * h + col,
                       layer.row(gradProjected, i, b, kGates * h) + col);
    }
  }

  const Layer &layer;
  const float *gradOutput, *cx, *cells, *gates;
  float *gradProjected, *gradState, *gradCell;
  PackedMatrix weight;
};

} // namespace

bool hasLstmLayer() { return PackedMatrix::isSupported(); }

void lstmLayer(const Tensor &projected, const Tensor &hx, const Tensor &cx,
               const Tensor &weight, bool reverse, Tensor &output,
               Tensor &cells, Tensor &gates) {
  Layer layer(projected, reverse);
  Forward(layer, projected.contiguous(), hx.contiguous(), cx.contiguous(),
          weight.contiguous(), output, cells, gates)
      .run();
}

void lstmLayerBackward(const Tensor &gradOutput, const Tensor &gradCy,
                       const Tensor &cx, const Tensor &weight,
                       const Tensor &cells, const Tensor &gates, bool reverse,
                       Tensor &gradProjected, Tensor &gradHx, Tensor &gradCx) {
  Layer layer(gates, reverse);
  gradCx.copy_(gradCy);
  Backward(layer, gradOutput.contiguous(), cx.contiguous(), weight.contiguous(),
           cells.contiguous(), gates.contiguous(), gradProjected, gradHx,
           gradCx)
      .run();
}

} // namespace ltc::backend
