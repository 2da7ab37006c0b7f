//===- bundle.h - Programs and weights in one file --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What torch_ltc.aot.compile() writes and ltc/aot.h runs. docs/aot.md describes
// the bytes:
//
//   header     kBundleHeaderBytes: versions, lengths, checksums
//   sections   a table, then each at a multiple of 64 bytes: "meta" is the
//              struct below, "prog" the programs, "data" the weights
//
// A reader skips sections that it does not know, unless they say that they are
// needed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/derived_size.h"
#include "ltc/error.h"
#include "ltc/hash.h"

namespace ltc {

inline constexpr size_t kBundleHeaderBytes = 64;

/// A bundle without the bytes of its programs and weights. Plain data.
struct Bundle {
  /// The format that is written, and the oldest that is read.
  static constexpr uint32_t version = 3, oldestVersion = 1;

  /// A run of the file's bytes.
  struct Place {
    uint64_t offset = 0, bytes = 0;
  };
  /// A dimension of a tensor: its size, and between which it may lie.
  struct Dim {
    Formula size;
    int64_t least = 0, most = INT64_MAX;
  };
  /// A tensor that an entry takes or gives.
  struct Value {
    std::string name;
    DType dtype = DType::F32;
    std::vector<Dim> dims;
    enum Role : uint32_t {
      Plain,
      Written, ///< an input whose new value the entry writes to it
      Integer  ///< an input that is one: I64, and `dims` is what it may be
    } role = Plain;
    size_t rank() const { return role == Integer ? 0 : dims.size(); }
  };
  /// Where a program's input comes from, or what an output or a new value is.
  struct Source {
    enum Kind : uint32_t {
      Input,  ///< of the entry
      Weight, ///< or state
      Result, ///< of the program
      Number, ///< the formula's value; no output
      Real,   ///< 64 bits of a double, or an integer; no output
      Seed    ///< drawn for each run; no output
    } kind = Input;
    uint32_t index = 0;
    uint64_t bits = 0;
    Formula formula;
    bool isDouble = false; ///< whether Number is one
  };
  /// A new value of an input, or of state.
  struct Write {
    Source to, value;
  };
  /// A symbol is (size of an input's dimension - offset) / factor, or that of
  /// an integer, or of a derived number.
  struct Symbol {
    static constexpr uint32_t kDerived = UINT32_MAX;
    uint32_t input = 0; ///< kDerived: `dim` is the number of one
    uint32_t dim = 0;
    int64_t factor = 1, offset = 0;
  };
  struct Entry {
    std::string name;
    std::vector<Value> inputs, outputs;
    std::vector<Symbol> symbols;
    std::vector<Source> sources; ///< one a program's input
    std::vector<Source> results; ///< one an output
    std::vector<Write> writes;
    std::vector<Place> programs; ///< one a target: artifacts (artifact.h)
    std::string notes;           ///< the front end's own; JSON
    /// Each has to be what its formula says, or the sizes are refused.
    std::vector<DerivedSize> derived;
  };
  struct Weight {
    std::string name;
    TensorType type;
    Place place;          ///< in the file, or in the one beside
    bool isState = false; ///< entries write to it: each model has its own
  };

  std::string maker; ///< what wrote it
  /// CPUs by their names in the x86-64 psABI, the best first.
  std::vector<std::string> targets;
  std::vector<Weight> weights;
  std::vector<Entry> entries;
  /// Of the file beside it that has the weights; 0: they are inside.
  uint64_t bytesBeside = 0;

  /// Reads what write() wrote. All of it is checked: lengths, checksum, and
  /// that every number in it names something that is there. The bytes of
  /// `beside` are those of the file with the weights, or empty.
  static Result<Bundle> read(std::string_view bytes, std::string_view beside);
  /// What is wrong with the header, or success: how long the file is, and the
  /// one beside it. For who has not read the rest.
  static Status readLengths(std::string_view header, uint64_t &bytes,
                            uint64_t &besideBytes);
  /// Whether programs, weights and entries fit each other.
  Status verify(uint64_t fileBytes, uint64_t besideBytes) const;
};

/// What a bundle describes.
struct BundleContent {
  std::vector<std::string_view> weights; ///< bytes of each; borrowed
  /// By entry, then by target: serialized artifacts.
  std::vector<std::vector<std::string>> programs;
};

/// Writes it to a file, and with `besidePath` the weights to another one. Fills
/// in the places. A file that cannot be written whole is removed.
LTC_API Status writeBundle(Bundle &bundle, const BundleContent &content,
                           const std::string &path,
                           const std::string &besidePath);

/// The checksum of a bundle's bytes behind the header.
Hash128 bundleChecksum(std::string_view bytes);

} // namespace ltc
