//===- ptx.h - Kernels of a module, run on the CPU --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An interpreter of PTX, as far as the compiler writes it: values are those of
// the text that a GPU's driver gets. Threads of a block run in turns, from one
// barrier or shuffle to the next.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fake_cuda {

struct Instruction;
/// Registers have 64 bits, of which an operation uses the lowest.
using Operation = void (*)(uint64_t *registers, const Instruction &);

enum class Space { Global, Shared, Local, Parameter };

struct Instruction {
  enum Kind {
    Compute, ///< `operation` on registers
    Load,
    Store,
    Atomic, ///< an exchange, or `operation` on what is there
    Branch,
    Call,
    Return,
    Barrier,
    WarpBarrier,
    Shuffle,
    Copy, ///< of 16 bytes to shared memory, later; of which c are read
    CloseCopies,
    AwaitCopies, ///< of all groups but a
    Matrices,    ///< four of 8 x 8 out of shared memory, by a warp
    Product      ///< of 16 x 16 by 16 x 8, by a warp
  };
  Kind kind = Compute;
  Space space = Space::Global;
  bool isNegated = false;
  uint8_t bytes = 0;     ///< of each element that is loaded or stored
  bool isSigned = false; ///< an element that is loaded
  bool isTransposed = false, isBf16 = false; ///< matrices
  int32_t guard = -1;                        ///< register of a predicate, or -1
  int32_t to = 0, a = 0, b = 0, c = 0;
  int64_t offset = 0;  ///< of an address
  uint32_t target = 0; ///< of a branch or call
  Operation operation = nullptr;
  /// Registers of a vector, of a call's arguments, or of all matrices.
  std::vector<int32_t> several;
};

struct Function {
  bool isEntry = false;
  uint32_t threads = 0; ///< .reqntid, or 0
  uint32_t first = 0;   ///< instruction
  size_t parameterBytes = 0;
  size_t sharedBytes = 0, localBytes = 0;
  std::vector<int32_t> parameters; ///< registers, unless it is an entry
  std::vector<uint64_t> registers; ///< at the start; constants are among them
};

struct Module {
  std::vector<Instruction> code;
  std::map<std::string, Function, std::less<>> functions;
  std::map<std::string, std::pair<uint64_t, size_t>, std::less<>> globals;
};

/// Gives the address of memory for a global variable, which it makes zeros.
using MakeGlobal = std::function<uint64_t(size_t bytes)>;
/// What is wrong with the text, or nothing.
std::optional<std::string> parse(std::string_view text,
                                 const MakeGlobal &makeGlobal, Module &module);

/// The operation of an opcode on registers alone, as add.rn.f32; or nullptr.
Operation findOperation(std::string_view opcode);

/// Host address of so many bytes of global memory; nullptr: none of anyone's.
using Resolve = std::function<char *(uint64_t address, size_t bytes)>;
/// Runs a grid of blocks of threads. What went wrong, or nothing.
std::optional<std::string> run(const Module &module, const Function &entry,
                               const std::string &name, uint32_t blocks,
                               uint32_t threads, const char *parameters,
                               const Resolve &resolve);

/// Special registers, which each function has first.
enum { kThread, kBlock, kThreads, kBlocks, kLane, kSpecialRegisters };

} // namespace fake_cuda
