//===- ptx_run.cpp - A grid of blocks of threads --------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ptx.h"

#include "drivers/emulator/tensor_cores.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>

namespace fake_cuda {

namespace {

using ltc::emulator::Given;

constexpr uint32_t kWarp = 32;
constexpr size_t kCopied = 16; ///< bytes of a copy to shared memory

enum class State { Ready, AtBarrier, InWarp, Done };

struct Thread {
  uint64_t *registers = nullptr;
  uint32_t next = 0; ///< instruction
  State state = State::Ready;
  std::vector<uint32_t> returns;
  std::vector<char> local;
  struct Copy {
    uint64_t to, from, bytes;
  };
  std::deque<std::vector<Copy>> copies; ///< in groups, the last of them open
};

class Block {
public:
  Block(const Module &module, const Function &entry, uint32_t count,
        uint32_t blocks, const char *parameters, const Resolve &resolve)
      : module(module), entry(entry), blocks(blocks), parameters(parameters),
        resolve(resolve), registers(count * entry.registers.size()),
        threads(count), shared(entry.sharedBytes) {
    for (uint32_t i = 0; i < count; ++i) {
      threads[i].registers = registers.data() + i * entry.registers.size();
      threads[i].local.resize(entry.localBytes);
    }
  }

  /// What went wrong, or "".
  std::string run(uint32_t number) {
    start(number);
    while (count(State::Done) < threads.size()) {
      for (Thread &thread : threads)
        if (thread.state == State::Ready && !run(thread))
          return fault;
      if (!release())
        return fault;
    }
    return "";
  }

private:
  void start(uint32_t number) {
    // Nobody may rely on what another block left.
    std::ranges::fill(shared, char(0x5a));
    for (uint32_t i = 0; i < threads.size(); ++i) {
      uint64_t *r = threads[i].registers;
      std::ranges::copy(entry.registers, r);
      r[kThread] = i;
      r[kBlock] = number;
      r[kThreads] = threads.size();
      r[kBlocks] = blocks;
      r[kLane] = i % kWarp;
      threads[i].next = entry.first;
      threads[i].state = State::Ready;
      threads[i].copies.assign(1, {});
    }
  }

  /// To the end, or to where it waits for others; false: it is at fault.
  bool run(Thread &thread) {
    uint64_t *r = thread.registers;
    while (true) {
      const Instruction &i = module.code[thread.next++];
      if (i.guard >= 0 && bool(r[i.guard] & 1) == i.isNegated)
        continue;
      switch (i.kind) {
      case Instruction::Compute:
        i.operation(r, i);
        break;
      case Instruction::Load:
      case Instruction::Store:
      case Instruction::Atomic:
        if (!access(thread, i))
          return false;
        break;
      case Instruction::Branch:
        thread.next = i.target;
        break;
      case Instruction::Call:
        thread.returns.push_back(thread.next);
        thread.next = i.target;
        break;
      case Instruction::Return:
        if (thread.returns.empty()) {
          thread.state = State::Done;
          return true;
        }
        thread.next = thread.returns.back();
        thread.returns.pop_back();
        break;
      case Instruction::Barrier:
        thread.state = State::AtBarrier;
        return true;
      case Instruction::Copy:
        thread.copies.back().push_back(
            {r[i.a] + uint64_t(i.offset), r[i.b], uint32_t(r[i.c])});
        break;
      case Instruction::CloseCopies:
        thread.copies.emplace_back();
        break;
      case Instruction::AwaitCopies:
        if (!finishCopies(thread, r[i.a]))
          return false;
        break;
      case Instruction::WarpBarrier:
      case Instruction::Shuffle:
      case Instruction::Matrices:
      case Instruction::Product:
        thread.state = State::InWarp;
        return true;
      }
    }
  }

  char *placeOf(Thread &thread, Space space, uint64_t address, size_t bytes) {
    auto within = [&](const char *begin, size_t size) {
      bool fits = address <= size && bytes <= size - address;
      return fits ? const_cast<char *>(begin) + address : nullptr;
    };
    switch (space) {
    case Space::Shared:
      return within(shared.data(), shared.size());
    case Space::Local:
      return within(thread.local.data(), thread.local.size());
    case Space::Parameter:
      return within(parameters, entry.parameterBytes);
    case Space::Global:
      return resolve(address, bytes);
    }
    return nullptr;
  }

  /// The same; nullptr, and a fault, if there is none or it is misaligned.
  char *alignedPlace(Thread &thread, Space space, uint64_t address,
                     size_t bytes, size_t alignment) {
    char *place = placeOf(thread, space, address, bytes);
    if (place && address % alignment == 0)
      return place;
    fault = (place ? "a misaligned address, " : "an address of no memory, ") +
            std::to_string(address) + " of " + std::to_string(bytes) +
            " bytes, in thread " + std::to_string(&thread - threads.data());
    return nullptr;
  }

  /// As late as the program allows, so that a wait that is missing shows.
  bool finishCopies(Thread &thread, size_t but) {
    for (; thread.copies.size() > but + 1; thread.copies.pop_front())
      for (const Thread::Copy &copy : thread.copies.front()) {
        char *to =
            alignedPlace(thread, Space::Shared, copy.to, kCopied, kCopied);
        if (!to)
          return false;
        std::memset(to, 0, kCopied);
        if (copy.bytes == 0)
          continue;
        char *from =
            alignedPlace(thread, Space::Global, copy.from, copy.bytes, kCopied);
        if (!from)
          return false;
        std::memcpy(to, from, copy.bytes);
      }
    return true;
  }

  bool access(Thread &thread, const Instruction &i) {
    uint64_t *r = thread.registers;
    uint64_t address = r[i.a] + uint64_t(i.offset);
    size_t bytes = i.bytes * i.several.size();
    char *place = alignedPlace(thread, i.space, address, bytes, bytes);
    if (!place)
      return false;
    for (int32_t one : i.several) {
      if (i.kind == Instruction::Store) {
        std::memcpy(place, &r[one], i.bytes);
      } else {
        uint64_t value = 0;
        std::memcpy(&value, place, i.bytes);
        if (i.kind == Instruction::Atomic) {
          uint64_t stored[] = {r[i.b], value, r[i.b]};
          static const Instruction both = [] {
            Instruction made;
            made.a = 1;
            made.b = 2;
            return made;
          }();
          if (i.operation)
            i.operation(stored, both);
          std::memcpy(place, stored, i.bytes);
        }
        int unused = 64 - 8 * i.bytes;
        r[one] =
            i.isSigned ? uint64_t(int64_t(value << unused) >> unused) : value;
      }
      place += i.bytes;
    }
    return true;
  }

  size_t count(State state) const {
    return size_t(std::ranges::count(threads, state, &Thread::state));
  }

  /// Lets those go on who all wait for each other.
  bool release() {
    bool any = false;
    for (size_t i = 0; i < threads.size(); ++i)
      any |= threads[i].state == State::InWarp && releaseTeam(i);
    if (!fault.empty())
      return false;
    if (any || count(State::Done) == threads.size())
      return true;
    if (count(State::AtBarrier) < threads.size()) {
      fault = "some threads wait at a barrier or a shuffle that others never "
              "reach";
      return false;
    }
    for (Thread &thread : threads)
      thread.state = State::Ready;
    return true;
  }

  const Instruction &waitsAt(const Thread &thread) const {
    return module.code[thread.next - 1];
  }

  /// Those of a warp who shuffle, or wait, together with one thread.
  bool releaseTeam(size_t thread) {
    const Instruction &at = waitsAt(threads[thread]);
    size_t first = thread / kWarp * kWarp;
    if (at.kind == Instruction::Matrices || at.kind == Instruction::Product)
      return releaseWarp(first, at);
    auto team = uint32_t(threads[thread].registers[at.c]);
    uint64_t given[kWarp];
    auto forTeam = [&](auto act) {
      for (size_t i = 0; i < kWarp; ++i)
        if (team >> i & 1 && !act(i, threads.data() + first + i))
          return false;
      return true;
    };
    if (!forTeam([&](size_t i, Thread *member) {
          if (first + i >= threads.size() || member->state != State::InWarp ||
              &waitsAt(*member) != &at)
            return false;
          given[i] = uint32_t(member->registers[at.a]);
          return true;
        }))
      return false;
    return forTeam([&](size_t i, Thread *member) {
      size_t from = i ^ size_t(member->registers[at.b]);
      if (at.kind == Instruction::Shuffle)
        member->registers[at.to] = given[from < kWarp ? from : i];
      member->state = State::Ready;
      return true;
    });
  }

  /// A warp that loads or multiplies matrices together.
  bool releaseWarp(size_t first, const Instruction &at) {
    std::array<Given, kWarp> given{};
    for (size_t i = 0; i < kWarp; ++i) {
      if (first + i >= threads.size() ||
          threads[first + i].state != State::InWarp ||
          &waitsAt(threads[first + i]) != &at)
        return false;
      Thread &thread = threads[first + i];
      const uint64_t *r = thread.registers;
      if (at.kind == Instruction::Matrices) {
        char *row =
            alignedPlace(thread, Space::Shared, r[at.a] + uint64_t(at.offset),
                         kCopied, kCopied);
        if (!row)
          return false;
        given[i] = {reinterpret_cast<uintptr_t>(row)};
      } else { // behind the four results
        for (size_t k = 0; k < given[i].size(); ++k)
          given[i][k] = r[at.several.at(4 + k)];
      }
    }
    auto lanes = [&](uint32_t lane) -> const Given & { return given[lane]; };
    for (uint32_t lane = 0; lane < kWarp; ++lane) {
      Thread &thread = threads[first + lane];
      finish(thread.registers, lanes, lane, at);
      thread.state = State::Ready;
    }
    return true;
  }

  static void finish(uint64_t *r, const ltc::emulator::Lanes &lanes,
                     uint32_t lane, const Instruction &at) {
    std::array<float, 4> sums{};
    for (uint32_t i = 0; i < 4; ++i)
      if (at.kind == Instruction::Matrices)
        r[at.several.at(i)] =
            ltc::emulator::matrixWord(lanes, 8 * i, lane, at.isTransposed);
      else
        sums[i] = std::bit_cast<float>(uint32_t(r[at.several.at(10 + i)]));
    if (at.kind == Instruction::Matrices)
      return;
    ltc::emulator::addProduct(lanes, lane, at.isBf16, sums);
    for (uint32_t i = 0; i < 4; ++i)
      r[at.several[i]] = std::bit_cast<uint32_t>(sums[i]);
  }

  const Module &module;
  const Function &entry;
  const uint32_t blocks;
  const char *parameters;
  const Resolve &resolve;
  std::vector<uint64_t> registers;
  std::vector<Thread> threads;
  std::vector<char> shared;
  std::string fault;
};

} // namespace

std::optional<std::string> run(const Module &module, const Function &entry,
                               const std::string &name, uint32_t blocks,
                               uint32_t threads, const char *parameters,
                               const Resolve &resolve) {
  Block block(module, entry, threads, blocks, parameters, resolve);
  for (uint32_t number = 0; number < blocks; ++number)
    if (std::string fault = block.run(number); !fault.empty())
      return fault.insert(0, name + ", block " + std::to_string(number) + ": ");
  return std::nullopt;
}

} // namespace fake_cuda
