//===- plane_layout.h - Planes of images as runs ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plane is a channel of an image. It is laid out with zeros around it, and
// where the window moves by two, its even and odd lines and columns apart, as
// four phases. Then an output whose lines stand as far apart as a phase's, with
// some places between them that mean nothing, is a sum of runs: one for each
// tap of the window, from where that begins in its phase. No line has an end.
//
// The gradient of a phase is a sum of such runs of the output's gradient, with
// zeros before it and between its lines, and that of a tap the product of the
// two, added up.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "patches.h"
#include "vectors.h"

#include <vector>

namespace ltc::kernels {

/// How the planes of a convolution are laid out, for processors with
/// hasVectors(). The memory for one is zeros at first; what is not the
/// plane's stays so.
class PlaneLayout {
public:
  /// Steps of more than two have more phases than a cache should hold.
  static constexpr int64_t kMostStep = 2;

  explicit PlaneLayout(const WindowedImages &images);

  int64_t taps() const { return images.window.size[0] * images.window.size[1]; }
  int64_t phases() const { return stepY * stepX; }
  /// Of a phase, and what a run reads past it.
  int64_t phaseFloats() const;
  /// Of all phases of a plane.
  int64_t planeFloats() const { return phases() * phaseFloats(); }
  /// Of an output's gradient, and what a run reads before it and past it.
  int64_t gradFloats() const;

  /// A plane of the images, to its phases.
  void spread(int64_t number, float *phases) const;
  /// And back.
  void collect(const float *phases, float *plane) const;
  /// A plane of the output's, to lines as far apart as a phase's.
  void spreadOutput(const float *plane, float *to) const;
  void collectOutput(const float *from, float *plane) const;

  /// For each tap, the place in the phases that the output's first reads, to
  /// the end of `runs`.
  void appendRuns(const float *phases, std::vector<const float *> &runs) const;
  /// The gradients that make up a phase's, of `grad` without what is before it,
  /// to the end of `runs`.
  void appendGradRuns(int64_t phase, const float *grad,
                      std::vector<const float *> &runs) const;
  /// The taps that those are for.
  std::vector<int64_t> tapsOf(int64_t phase) const;

private:
  /// From a phase's first place to that which tap (r, s) begins at.
  int64_t offset(int64_t r, int64_t s) const;
  /// visit(phase, offset in it), tap after tap.
  template <typename Visit> void forTaps(const Visit &visit) const;
  /// A line of a plane, whose columns may be in two phases.
  void spreadLine(const float *from, float *line) const;
  void collectLine(const float *line, float *to) const;
  /// Every other column from `first` on.
  template <typename Float> Float *columns(Float *line, int64_t first) const {
    return line + (first + left) % 2 * phaseFloats() + (first + left) / 2;
  }

  const WindowedImages &images;
  const int64_t stepY, stepX, top, left;
  const int64_t pitch, lines;       ///< of a phase
  std::vector<int64_t> lineOffsets; ///< of a plane's, in its first phase

public:
  const int64_t count;      ///< places of an output, and between its lines
  const int64_t phaseCount; ///< places of a phase
  const int64_t reach;      ///< from the window's first tap to its last
};

} // namespace ltc::kernels
