//===- random/draws.cpp - Random ops by the counter's numbers -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of mlir_lowering/ops/random.cpp as kernels, for graphs that are not
// compiled. Uniform numbers and masks have the same bits; normal and
// exponential ones differ by rounding.
//
//===----------------------------------------------------------------------===//
#include "philox.h"
#include "rows.h"
#include "threads/parallel.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <type_traits>

namespace ltc::kernels {
namespace {

/// Rounded to nearest, ties to even.
struct BFloat16 {
  uint16_t bits;

  operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
  static BFloat16 of(float x) {
    auto bits = std::bit_cast<uint32_t>(x);
    if (x != x)
      return {uint16_t(bits >> 16 | 0x40)};
    return {uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)};
  }
};

/// What an element's number is drawn and computed in.
template <typename T>
using Computed = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename T> T stored(Computed<T> x) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return BFloat16::of(x);
  else
    return x;
}

constexpr int64_t kGrain = 4096;

/// each(i) for each element's number.
template <typename Each> void forElements(int64_t count, const Each &each) {
  auto body = [](int64_t begin, int64_t end, void *data) {
    for (int64_t i = begin; i < end; ++i)
      (*static_cast<const Each *>(data))(i);
  };
  parallelFor(count, kGrain, body, const_cast<Each *>(&each));
}

/// f(T()) for the type of the elements; false if there is no kernel for that.
template <typename F> bool forType(DType dtype, const F &f) {
  switch (dtype) {
  case DType::F32:
    return f(float());
  case DType::F64:
    return f(double());
  case DType::BF16:
    return f(BFloat16());
  default:
    return false;
  }
}

/// One number an element of the result: Draw()(seed, number, operands) of it.
template <typename Draw> class Generated final : public OwnKernel {
public:
  explicit Generated(const Arguments &of) : draw(of), seed(of.tensor("seed")) {}

  bool run(Views operands, Views results) override {
    const TensorView &to = results[0];
    if (!to.isDense())
      return false;
    auto from = uint64_t(seed.in(operands).integer);
    return forType(to.dtype, [&]<typename T>(T) {
      auto number = draw.template at<Computed<T>>(operands);
      forElements(to.elements(), [&](int64_t i) {
        to.as<T>()[i] = stored<T>(number(from, uint64_t(i)));
      });
      return true;
    });
  }

private:
  Draw draw;
  Operand seed;
};

struct Uniform {
  explicit Uniform(const Arguments &of)
      : isUnit(!of.isGiven("from") && !of.isGiven("to")),
        from(of.number("from", 0)), to(of.number("to", 1)) {}

  template <typename T> auto at(Views operands) const {
    auto low = T(from.in(operands)), width = T(to.in(operands)) - low;
    return [=, unit = isUnit](uint64_t seed, uint64_t i) {
      T x = uniform<T>(seed, i);
      return unit ? x : x * width + low;
    };
  }

  bool isUnit;
  Number from, to;
};

/// Box and Muller 1958.
struct Normal {
  explicit Normal(const Arguments &of)
      : mean(of.number("mean", 0)), deviation(of.number("std", 1)) {}

  template <typename T> auto at(Views operands) const {
    return [m = T(mean.in(operands)),
            d = T(deviation.in(operands))](uint64_t seed, uint64_t i) {
      auto [radius, angle] = uniformPair<T>(seed, i);
      T length = std::sqrt(T(-2) * std::log(T(1) - radius));
      return length * std::cos(angle * T(2 * std::numbers::pi)) * d + m;
    };
  }

  Number mean, deviation;
};

struct Exponential {
  explicit Exponential(const Arguments &of) : rate(of.number("lambd", 1)) {}

  template <typename T> auto at(Views operands) const {
    return [r = T(rate.in(operands))](uint64_t seed, uint64_t i) {
      return -std::log(T(1) - uniform<T>(seed, i)) / r;
    };
  }

  Number rate;
};

/// With one probability for all.
struct Bernoulli {
  explicit Bernoulli(const Arguments &of) : p(of.number("p", 0.5)) {}

  template <typename T> auto at(Views operands) const {
    return [limit = float(p.in(operands))](uint64_t seed, uint64_t i) {
      return T(uniform<float>(seed, i) < limit);
    };
  }

  Number p;
};

/// With a probability for each element. What is no probability is left to
/// ATen, which says so.
class BernoulliOf final : public OwnKernel {
public:
  explicit BernoulliOf(const Arguments &of)
      : self(of.tensor("self")), seed(of.tensor("seed")) {}

  bool run(Views operands, Views results) override {
    TensorView p = self.in(operands);
    const TensorView &to = results[0];
    if (!to.isDense() || !p.isDense() || p.dtype != to.dtype)
      return false;
    auto from = uint64_t(seed.in(operands).integer);
    return forType(to.dtype, [&]<typename T>(T) {
      const T *limit = p.as<T>();
      for (int64_t i = 0, n = p.elements(); i < n; ++i)
        if (!(Computed<T>(limit[i]) >= 0 && Computed<T>(limit[i]) <= 1))
          return false;
      forElements(to.elements(), [&](int64_t i) {
        bool isOne = uniform<float>(from, uint64_t(i)) < Computed<T>(limit[i]);
        to.as<T>()[i] = stored<T>(Computed<T>(isOne));
      });
      return true;
    });
  }

private:
  Operand self, seed;
};

class Dropout final : public OwnKernel {
public:
  explicit Dropout(const Arguments &of)
      : input(of.tensor("input")), seed(of.tensor("seed")), p(of.number("p")),
        isIdle(of.isGiven("train") && !of.flag("train")) {}

  bool run(Views operands, Views results) override {
    TensorView x = input.in(operands);
    if (isIdle || results.size() != 2 || !x.isDense() ||
        !results[0].isDense() || !results[1].isDense() ||
        x.dtype != results[0].dtype || results[1].dtype != DType::Bool)
      return false;
    auto from = uint64_t(seed.in(operands).integer);
    return forType(x.dtype, [&]<typename T>(T) {
      using C = Computed<T>;
      const auto limit = C(p.in(operands));
      const T *values = x.as<T>();
      T *to = results[0].as<T>();
      bool *mask = results[1].as<bool>();
      forElements(x.elements(), [&](int64_t i) {
        bool keeps = C(uniform<float>(from, uint64_t(i))) >= limit;
        mask[i] = keeps;
        to[i] = stored<T>(keeps ? C(values[i]) / (1 - limit) : C(0));
      });
      return true;
    });
  }

private:
  Operand input, seed;
  Number p;
  bool isIdle;
};

} // namespace

std::unique_ptr<OwnKernel> bindUniform(const Graph &call) {
  return bindAs<Generated<Uniform>>(call);
}

std::unique_ptr<OwnKernel> bindNormal(const Graph &call) {
  return bindAs<Generated<Normal>>(call);
}

std::unique_ptr<OwnKernel> bindExponential(const Graph &call) {
  return bindAs<Generated<Exponential>>(call);
}

std::unique_ptr<OwnKernel> bindBernoulli(const Graph &call) {
  return Arguments(call).isGiven("p") ? bindAs<Generated<Bernoulli>>(call)
                                      : bindAs<BernoulliOf>(call);
}

std::unique_ptr<OwnKernel> bindDropout(const Graph &call) {
  return bindAs<Dropout>(call);
}

} // namespace ltc::kernels
