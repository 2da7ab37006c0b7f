//===- patches.cpp - What a convolution's window sees ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a place's window begins is the same for all channels, and so is which
// of its lines and columns lie inside the image. A run of places is one masked
// load into its lanes, and two where the window moves by two, of whose values
// every other one is taken. A window that moves further has runs of one place.
//
//===----------------------------------------------------------------------===//
#include "patches.h"

#include "vectors.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ltc::kernels {
namespace {

/// Bits `begin` to `end` of those that a group has, which may lie outside.
uint16_t bits(int64_t begin, int64_t end) {
  begin = std::clamp<int64_t>(begin, 0, kLineFloats);
  end = std::clamp<int64_t>(end, begin, kLineFloats);
  return uint16_t((uint32_t(1) << end) - (uint32_t(1) << begin));
}

/// Those of a vector's lanes from `first` on.
template <int lanes> LTC_INLINED uint32_t someOf(uint32_t bits, int64_t first) {
  return bits >> first & ((1u << lanes) - 1);
}

} // namespace

bool isMapped(Sizes sizes) {
  constexpr int64_t kThreshold = int64_t(32) << 20;
  return elementsOf(sizes) * int64_t(sizeof(float)) >= kThreshold;
}

/// Height and width, the first of which may be absent.
static std::array<int64_t, 2> planeOf(Sizes sizes) {
  return {sizes.size() == 4 ? sizes[2] : 1, sizes.back()};
}

WindowedImages WindowedImages::of(const TensorView &input, const Window &window,
                                  const TensorView &output) {
  auto [height, width] = planeOf(input.shape());
  return {input.as<float>(),
          input.size(0),
          input.size(1),
          height,
          width,
          window,
          planeOf(output.shape())};
}

Patches::Patches(const WindowedImages &of, Span some)
    : of(of), used(ceilDiv(some.size(), kLineFloats)),
      apart(of.window.stride[1] == 2 ? 2 : 1) {
  for (int64_t at = some.begin, next; at < some.end; at = next) {
    int64_t lane = (at - some.begin) % kLineFloats, width = of.places[1];
    next =
        std::min({some.end, (at / width + 1) * width, at - lane + kLineFloats});
    append({at, next}, lane, groups[(at - some.begin) / kLineFloats]);
  }
}

void Patches::append(Span some, int64_t lane, Group &to) const {
  const Window &window = of.window;
  int64_t row = some.begin / of.places[1], step = window.stride[1];
  int64_t image = row / of.places[0];
  int64_t y = row % of.places[0] * window.stride[0] - window.padding[0];
  int64_t x = some.begin % of.places[1] * step - window.padding[1];
  uint16_t lanes = bits(lane, lane + some.size());
  for (int64_t r = 0; r < window.size[0]; ++r)
    if (int64_t line = y + r * window.dilation[0];
        line >= 0 && line < of.height)
      to.lines[r] |= lanes;
  for (int64_t s = 0; s < window.size[1]; ++s) {
    int64_t column = x + s * window.dilation[1];
    int64_t before = column < 0 ? ceilDiv(-column, step) : 0;
    int64_t until = column < of.width ? ceilDiv(of.width - column, step) : 0;
    to.columns[s] |= lanes & bits(lane + before, lane + until);
  }
  int64_t first = image * of.channels * of.plane() + y * of.width + x;
  int64_t together = step == apart ? some.size() : 1;
  for (int64_t i = 0; i < some.size(); i += together) {
    Run run{first + i * step - (lane + i) * apart,
            bits(lane + i, lane + i + together)};
    // A window that moves by one over an image as wide as the output.
    if (to.count && to.runs[to.count - 1].first == run.first)
      to.runs[to.count - 1].lanes |= run.lanes;
    else
      to.runs[to.count++] = run;
  }
}

template <typename Visit>
LTC_INLINED inline void Patches::forRows(Span depth, const Visit &visit) const {
  auto [lines, columns] = of.window.size;
  int64_t channel = depth.begin / (lines * columns);
  int64_t r = depth.begin / columns % lines, s = depth.begin % columns;
  for (int64_t row = depth.begin; row < depth.end; ++row) {
    int64_t first = channel * of.plane() +
                    r * of.window.dilation[0] * of.width +
                    s * of.window.dilation[1];
    for (int64_t i = 0; i < used; ++i)
      visit((row - depth.begin) * kPanelCols + i * kLineFloats, first,
            groups[i], uint16_t(groups[i].lines[r] & groups[i].columns[s]));
    if (++s < columns)
      continue;
    s = 0;
    if (++r < lines)
      continue;
    r = 0;
    ++channel;
  }
}

#if defined(__x86_64__)
namespace {

// Bit i of `lanes` says whether lane i is loaded or added to. Every other float
// is taken where `apart` is 2.

LTC_AVX512 inline void loadLanes(uint32_t lanes, const float *from,
                                 int64_t apart, Floats<16> &values) {
  __m512 loaded = values.values;
  if (apart == 2) {
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14,
                                          12, 10, 8, 6, 4, 2, 0);
    uint32_t both = _pdep_u32(lanes, 0x55555555);
    __m512 low = _mm512_maskz_loadu_ps(__mmask16(both), from),
           high = _mm512_maskz_loadu_ps(__mmask16(both >> 16), from + 16);
    loaded = _mm512_mask_mov_ps(loaded, __mmask16(lanes),
                                _mm512_permutex2var_ps(low, even, high));
  } else {
    loaded = _mm512_mask_loadu_ps(loaded, __mmask16(lanes), from);
  }
  values.values = loaded;
}

LTC_AVX512 inline void addLine(__m512 values, __mmask16 lanes, float *to) {
  values = _mm512_add_ps(values, _mm512_maskz_loadu_ps(lanes, to));
  _mm512_mask_storeu_ps(to, lanes, values);
}

LTC_AVX512 inline void addLanes(const Floats<16> &values, uint32_t lanes,
                                int64_t apart, float *to) {
  if (apart != 2)
    return addLine(values.values, __mmask16(lanes), to);
  const __m512i low =
      _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
  const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
  uint32_t both = _pdep_u32(lanes, 0x55555555);
  addLine(_mm512_permutexvar_ps(low, values.values), __mmask16(both), to);
  addLine(_mm512_permutexvar_ps(high, values.values), __mmask16(both >> 16),
          to + 16);
}

/// All bits of each lane whose bit of `lanes` is one of `of`'s.
LTC_AVX2 inline __m256i maskOf(uint32_t lanes, __m256i of) {
  __m256i some = _mm256_and_si256(_mm256_set1_epi32(int(lanes)), of);
  return _mm256_cmpgt_epi32(some, _mm256_setzero_si256());
}

LTC_AVX2 inline void loadLanes(uint32_t lanes, const float *from, int64_t apart,
                               Floats<8> &values) {
  __m256 loaded;
  if (apart == 2) {
    __m256 low = _mm256_maskload_ps(
        from, maskOf(lanes, _mm256_setr_epi32(1, 0, 2, 0, 4, 0, 8, 0)));
    __m256 high = _mm256_maskload_ps(
        from + 8,
        maskOf(lanes, _mm256_setr_epi32(16, 0, 32, 0, 64, 0, 128, 0)));
    __m256 mixed = _mm256_shuffle_ps(low, high, 0x88);
    loaded =
        _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(mixed), 0xD8));
  } else if (lanes == 0xff) {
    loaded = _mm256_loadu_ps(from);
  } else {
    loaded = _mm256_maskload_ps(
        from, maskOf(lanes, _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128)));
  }
  // What is not loaded is zero.
  values.values = _mm256_or_ps(values.values, loaded);
}

LTC_AVX2 inline void addLine(__m256 values, __m256i lanes, float *to) {
  values = _mm256_add_ps(values, _mm256_maskload_ps(to, lanes));
  _mm256_maskstore_ps(to, lanes, values);
}

LTC_AVX2 inline void addLanes(const Floats<8> &values, uint32_t lanes,
                              int64_t apart, float *to) {
  if (apart == 2) {
    const __m256i low = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    const __m256i high = _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7);
    addLine(_mm256_permutevar8x32_ps(values.values, low),
            maskOf(lanes, _mm256_setr_epi32(1, 0, 2, 0, 4, 0, 8, 0)), to);
    addLine(_mm256_permutevar8x32_ps(values.values, high),
            maskOf(lanes, _mm256_setr_epi32(16, 0, 32, 0, 64, 0, 128, 0)),
            to + 8);
  } else if (lanes == 0xff) {
    // Masked stores take some processors twenty times as long.
    _mm256_storeu_ps(to, _mm256_add_ps(values.values, _mm256_loadu_ps(to)));
  } else {
    addLine(values.values,
            maskOf(lanes, _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128)), to);
  }
}

} // namespace
#else
template <int lanes>
static void loadLanes(uint32_t, const float *, int64_t, Floats<lanes> &) {}
template <int lanes>
static void addLanes(const Floats<lanes> &, uint32_t, int64_t, float *) {}
#endif

void Patches::read(Span depth, float *to) const {
  withVectors([&](auto lanes) LTC_INLINED {
    forRows(depth, [&](int64_t place, int64_t first, const Group &group,
                       uint16_t inside) LTC_INLINED {
      for (int64_t lane = 0; lane < kLineFloats; lane += lanes) {
        Floats<lanes> values;
        for (int64_t k = 0; k < group.count; ++k)
          loadLanes(someOf<lanes>(inside & group.runs[k].lanes, lane),
                    of.data + first + group.runs[k].first + lane * apart, apart,
                    values);
        values.store(to + place + lane);
      }
    });
  });
}

void Patches::add(Span depth, const float *from, float *images) const {
  withVectors([&](auto lanes) LTC_INLINED {
    forRows(depth, [&](int64_t place, int64_t first, const Group &group,
                       uint16_t inside) LTC_INLINED {
      for (int64_t lane = 0; lane < kLineFloats; lane += lanes) {
        auto values = Floats<lanes>::load(from + place + lane);
        for (int64_t k = 0; k < group.count; ++k)
          addLanes(values, someOf<lanes>(inside & group.runs[k].lanes, lane),
                   apart, images + first + group.runs[k].first + lane * apart);
      }
    });
  });
}

} // namespace ltc::kernels
