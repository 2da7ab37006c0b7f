//===- winograd_transforms.cpp - To and from transformed tiles ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "winograd_transforms.h"

#include "vectors.h"

namespace ltc::kernels {
namespace {

/// What becomes of some of kLanes channels.
template <int lanes> struct Transforms {
  using Vector = Floats<lanes>;
  struct Four {
    Vector at[kSpots];
  };
  struct Three {
    Vector at[3];
  };
  struct Two {
    Vector at[kTile];
  };

  LTC_INLINED static Four ofInput(Vector a, Vector b, Vector c, Vector d) {
    return {{a - c, b + c, c - b, b - d}};
  }
  LTC_INLINED static Four ofGrad(Vector a, Vector b) {
    return {{a, (a + b) * 0.5f, (a - b) * 0.5f, b}};
  }
  LTC_INLINED static Four ofKernel(Vector a, Vector b, Vector c) {
    Vector outer = (a + c) * 0.5f, inner = b * 0.5f;
    return {{a, outer + inner, outer - inner, c}};
  }
  LTC_INLINED static Two toOutput(Vector a, Vector b, Vector c, Vector d) {
    return {{a + (b + c), (b - c) - d}};
  }
  LTC_INLINED static Three toKernelGrad(Vector a, Vector b, Vector c,
                                        Vector d) {
    return {{a + (b + c), b - c, (b + c) - d}};
  }

  /// Column `x` of some lines.
  template <size_t count>
  LTC_INLINED static void loadColumn(const ImageLines<count> &from, int64_t x,
                                     Vector (&to)[count]) {
    bool inside = x >= 0 && x < from.width;
#pragma GCC unroll 4
    for (size_t i = 0; i < count; ++i)
      to[i] = inside && from.lines[i] ? Vector::load(from.lines[i] + x * kLanes)
                                      : Vector{};
  }

  LTC_INLINED static Four inputColumn(const ImageLines<kSpots> &from,
                                      int64_t x) {
    Vector d[kSpots];
    loadColumn(from, x, d);
    return ofInput(d[0], d[1], d[2], d[3]);
  }

  LTC_INLINED static Four gradColumn(const ImageLines<kTile> &from, int64_t x) {
    Vector g[kTile];
    loadColumn(from, x, g);
    return ofGrad(g[0], g[1]);
  }

  LTC_INLINED static void storeRow(const Four &values, int64_t row,
                                   TileValues to) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kSpots; ++i)
      values.at[i].store(to.data + (row * kSpots + i) * to.spotStride);
  }

  /// `Rows`: those of spots that are wanted.
  template <typename Rows>
  LTC_INLINED static void input(const ImageLines<kSpots> &from, int64_t first,
                                int64_t tiles, TileValues to) {
    Four a = inputColumn(from, first), b = inputColumn(from, first + 1);
    for (int64_t tile = 0; tile < tiles; ++tile) {
      int64_t x = first + kTile * (tile + 1);
      Four c = inputColumn(from, x), d = inputColumn(from, x + 1);
#pragma GCC unroll 4
      for (int64_t i = 0; i < Rows::count; ++i) {
        int64_t row = Rows::begin + i;
        storeRow(ofInput(a.at[row], b.at[row], c.at[row], d.at[row]), i, to);
      }
      a = c;
      b = d;
      to.data += kPanelCols;
    }
  }

  template <typename Rows>
  LTC_INLINED static void grad(const ImageLines<kTile> &from, int64_t tiles,
                               TileValues to) {
    for (int64_t tile = 0; tile < tiles; ++tile) {
      Four a = gradColumn(from, kTile * tile),
           b = gradColumn(from, kTile * tile + 1);
#pragma GCC unroll 4
      for (int64_t i = 0; i < Rows::count; ++i) {
        int64_t row = Rows::begin + i;
        storeRow(ofGrad(a.at[row], b.at[row]), i, to);
      }
      to.data += kPanelCols;
    }
  }

  LTC_INLINED static void kernels(const float *from, int64_t count, bool turned,
                                  TileValues to) {
    for (int64_t kernel = 0; kernel < count; ++kernel) {
      Vector g[9];
#pragma GCC unroll 9
      for (int64_t i = 0; i < 9; ++i)
        g[i] = Vector::load(from + (turned ? 8 - i : i) * kLanes);
      Four a = ofKernel(g[0], g[3], g[6]), b = ofKernel(g[1], g[4], g[7]),
           c = ofKernel(g[2], g[5], g[8]);
#pragma GCC unroll 4
      for (int64_t i = 0; i < kSpots; ++i)
        storeRow(ofKernel(a.at[i], b.at[i], c.at[i]), i, to);
      from += 9 * kLanes;
      to.data += kPanelCols;
    }
  }

  LTC_INLINED static bool output(TileValues from, int64_t tiles,
                                 const float *bias,
                                 const std::array<float *, kTile> &to,
                                 int64_t width) {
    Vector added = bias ? Vector::load(bias) : Vector{};
    FiniteCheck<lanes> check;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      Two column[kSpots];
#pragma GCC unroll 4
      for (int64_t i = 0; i < kSpots; ++i) {
        const float *m = from.data + i * from.spotStride;
        int64_t row = kSpots * from.spotStride;
        column[i] =
            toOutput(Vector::load(m), Vector::load(m + row),
                     Vector::load(m + 2 * row), Vector::load(m + 3 * row));
      }
#pragma GCC unroll 2
      for (int64_t i = 0; i < kTile; ++i) {
        Two y = toOutput(column[0].at[i], column[1].at[i], column[2].at[i],
                         column[3].at[i]);
        check.note(y.at[0]);
        check.note(y.at[1]);
        if (!to[i])
          continue;
        float *place = to[i] + kTile * tile * kLanes;
        (y.at[0] + added).store(place);
        if (kTile * tile + 1 < width)
          (y.at[1] + added).store(place + kLanes);
      }
      from.data += kPanelCols;
    }
    return check.isFinite();
  }

  LTC_INLINED static bool
  kernelGrad(const std::array<const float *, kSpots> &rows, int64_t spotStride,
             float *to, int64_t stride) {
    Three column[kSpots];
    FiniteCheck<lanes> check;
#pragma GCC unroll 4
    for (int64_t i = 0; i < kSpots; ++i) {
      int64_t at = i * spotStride;
      column[i] =
          toKernelGrad(Vector::load(rows[0] + at), Vector::load(rows[1] + at),
                       Vector::load(rows[2] + at), Vector::load(rows[3] + at));
    }
#pragma GCC unroll 3
    for (int64_t i = 0; i < 3; ++i) {
      Three y = toKernelGrad(column[0].at[i], column[1].at[i], column[2].at[i],
                             column[3].at[i]);
#pragma GCC unroll 3
      for (int64_t j = 0; j < 3; ++j) {
        check.note(y.at[j]);
        y.at[j].store(to + (3 * i + j) * stride);
      }
    }
    return check.isFinite();
  }
};

/// body(Transforms<lanes>, channel) for each vector of kLanes channels.
template <typename Body> void forChannels(const Body &body) {
  withVectors([&](auto lanes) LTC_INLINED {
    for (int64_t channel = 0; channel < kLanes; channel += lanes)
      body(Transforms<lanes>(), channel);
  });
}

template <size_t count>
LTC_INLINED ImageLines<count> from(ImageLines<count> lines, int64_t channel) {
  for (const float *&line : lines.lines)
    if (line)
      line += channel;
  return lines;
}
LTC_INLINED TileValues from(TileValues values, int64_t channel) {
  return {values.data + channel, values.spotStride};
}

/// The rows of spots of a part.
template <int64_t parts, int64_t part> struct SpotRows {
  static constexpr int64_t count = kSpots / parts, begin = part * count;
};

template <typename Rows>
void inputPart(const ImageLines<kSpots> &lines, int64_t first, int64_t tiles,
               TileValues to) {
  forChannels([&](auto transforms, int64_t channel) LTC_INLINED {
    transforms.template input<Rows>(from(lines, channel), first, tiles,
                                    from(to, channel));
  });
}

template <typename Rows>
void gradPart(const ImageLines<kTile> &lines, int64_t tiles, TileValues to) {
  forChannels([&](auto transforms, int64_t channel) LTC_INLINED {
    transforms.template grad<Rows>(from(lines, channel), tiles,
                                   from(to, channel));
  });
}

/// The whole, halves, quarters.
int64_t indexOf(SpotPart part) { return part.parts - 1 + part.part; }
constexpr decltype(&inputPart<SpotRows<1, 0>>) kInputParts[] = {
    inputPart<SpotRows<1, 0>>, inputPart<SpotRows<2, 0>>,
    inputPart<SpotRows<2, 1>>, inputPart<SpotRows<4, 0>>,
    inputPart<SpotRows<4, 1>>, inputPart<SpotRows<4, 2>>,
    inputPart<SpotRows<4, 3>>};
constexpr decltype(&gradPart<SpotRows<1, 0>>) kGradParts[] = {
    gradPart<SpotRows<1, 0>>, gradPart<SpotRows<2, 0>>,
    gradPart<SpotRows<2, 1>>, gradPart<SpotRows<4, 0>>,
    gradPart<SpotRows<4, 1>>, gradPart<SpotRows<4, 2>>,
    gradPart<SpotRows<4, 3>>};

} // namespace

void transformInput(const ImageLines<kSpots> &from, int64_t first,
                    int64_t tiles, SpotPart part, TileValues to) {
  kInputParts[indexOf(part)](from, first, tiles, to);
}

void transformGrad(const ImageLines<kTile> &from, int64_t tiles, SpotPart part,
                   TileValues to) {
  kGradParts[indexOf(part)](from, tiles, to);
}

void transformKernels(const float *kernels, int64_t count, bool turned,
                      TileValues to) {
  forChannels([&](auto transforms, int64_t channel) LTC_INLINED {
    transforms.kernels(kernels + channel, count, turned, from(to, channel));
  });
}

bool makeOutput(TileValues values, int64_t tiles, const float *bias,
                const std::array<float *, kTile> &to, int64_t width) {
  bool isFinite = true;
  forChannels([&](auto transforms, int64_t channel) LTC_INLINED {
    isFinite &= transforms.output(
        from(values, channel), tiles, bias ? bias + channel : nullptr,
        {to[0] ? to[0] + channel : nullptr, to[1] ? to[1] + channel : nullptr},
        width);
  });
  return isFinite;
}

bool makeKernelGrad(const std::array<const float *, kSpots> &rows,
                    int64_t spotStride, float *to, int64_t stride) {
  bool isFinite = true;
  forChannels([&](auto transforms, int64_t channel) LTC_INLINED {
    isFinite &= transforms.kernelGrad({rows[0] + channel, rows[1] + channel,
                                       rows[2] + channel, rows[3] + channel},
                                      spotStride, to + channel, stride);
  });
  return isFinite;
}

} // namespace ltc::kernels
