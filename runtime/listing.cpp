//===- listing.cpp - A program for people to read ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/artifact.h"

namespace ltc {

namespace {

class Listing {
public:
  explicit Listing(const Artifact &artifact) : artifact(artifact) {}

  std::string str() {
    // Features of the CPU would fill the screen.
    text = "program " + artifact.target.substr(0, artifact.target.rfind(':')) +
           "\n";
    for (size_t i = 0; i < artifact.inputs.size(); ++i)
      line("input " + std::to_string(i) + ": " + type(artifact.inputs[i]));
    for (size_t i = 0; i < artifact.results.size(); ++i)
      line("result " + std::to_string(i) + ": " +
           type({artifact.results[i], false}) +
           (artifact.donated[i]
                ? " in input " + std::to_string(*artifact.donated[i])
                : ""));
    for (size_t i = 0; i < artifact.arena.size(); ++i)
      line("arena " + std::to_string(i) + ": " + number(artifact.arena[i]) +
           " bytes");
    for (const ltc_step &step : artifact.steps)
      line((step.kind == LTC_LAUNCH ? launch(step)
            : step.kind == LTC_CALL ? call(step)
                                    : copy(step)) +
           (step.writes_donated ? " (writes donated memory)" : ""));
    return std::move(text);
  }

private:
  void line(const std::string &content) { text += "  " + content + "\n"; }

  std::string number(int64_t value) const {
    return isSymbolic(value) ? artifact.formulas[formulaNumber(value)].str()
                             : std::to_string(value);
  }

  template <typename Items, typename Print>
  static std::string list(const Items &items, Print print) {
    std::string all;
    for (const auto &item : items)
      all += (all.empty() ? "" : ", ") + print(item);
    return all;
  }

  std::string numbers(std::span<const int64_t> values) const {
    return "[" + list(values, [&](int64_t v) { return number(v); }) + "]";
  }

  std::string type(const ValueType &value) const {
    std::string dtype(name(value.tensor.dtype));
    return value.isScalar ? "scalar " + dtype
                          : dtype + numbers(value.tensor.dims);
  }

  std::string word(const ltc_word &word) const {
    if (word.base == LTC_NUMBER)
      return number(word.amount);
    if (word.base == LTC_SYMBOLS)
      return "symbols";
    const char *base = word.base == LTC_INPUT    ? "input "
                       : word.base == LTC_RESULT ? "result "
                                                 : "arena ";
    return base + std::to_string(word.index) +
           (word.amount ? " + " + number(word.amount) : "");
  }

  std::span<const ltc_word> wordsOf(const ltc_step &step) const {
    return std::span(artifact.words).subspan(step.first_word, step.words);
  }

  std::string launch(const ltc_step &step) const {
    const Artifact::Kernel &kernel = artifact.kernels[step.target];
    auto extents =
        std::span(artifact.extents).subspan(step.first_extent, step.extents);
    std::string grid = list(extents, [&](const ltc_extent &extent) {
      return number(extent.length) +
             (extent.step == 1 ? "" : " by " + std::to_string(extent.step));
    });
    std::string threads;
    if (kernel.threads > 1)
      threads = (grid.empty() ? " by " : "by ") +
                std::to_string(kernel.threads) + " threads";
    else if (!grid.empty())
      threads = step.grain == INT64_MAX ? "on one thread"
                                        : "grain " + std::to_string(step.grain);
    return "launch " + kernel.name + " " + kernel.kind +
           (grid.empty() ? " once" : " (" + grid + ") ") + threads + ": " +
           list(wordsOf(step), [&](const ltc_word &w) { return word(w); });
  }

  std::string call(const ltc_step &step) const {
    const Graph &graph = artifact.calls[step.target].graph;
    std::span<const ltc_word> words = wordsOf(step);
    std::vector<ValueType> operands = graph.inputs;
    for (const GraphOutput &output : graph.outputs)
      operands.push_back(graph.typeOf(output.value));
    auto print = [&](const ValueType &operand) {
      std::string all = word(words.front());
      words = words.subspan(1);
      if (operand.isScalar)
        return all;
      for (const char *what : {" ", " strides "}) {
        std::vector<int64_t> numbers;
        for (size_t i = 0; i < operand.tensor.dims.size(); ++i)
          numbers.push_back(words[i].amount);
        words = words.subspan(numbers.size());
        all += what + this->numbers(numbers);
      }
      return all;
    };
    return "call " + graph.nodes[0].op + ": " + list(operands, print);
  }

  std::string copy(const ltc_step &step) const {
    std::span<const ltc_word> words = wordsOf(step);
    return "copy " + word(words[2]) + " bytes: " + word(words[1]) + " to " +
           word(words[0]);
  }

  const Artifact &artifact;
  std::string text;
};

} // namespace

std::string Artifact::listing() const { return Listing(*this).str(); }

} // namespace ltc
