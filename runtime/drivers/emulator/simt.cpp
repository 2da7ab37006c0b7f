//===- simt.cpp - A GPU's threads, as fibers on one thread ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "simt.h"

#include "access_check.h"
#include "tensor_cores.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

using namespace ltc::emulator;

namespace {

enum class State { Ready, AtBarrier, AtWarpBarrier, AtShuffle, Done };
constexpr size_t kStackBytes = 64 << 10;
constexpr uint32_t kWarp = 32;

#if defined(__x86_64__)
using Context = void *; // its stack, on which lie the registers it keeps
extern "C" void ltc_fiber_switch(Context *save, Context to);
asm(R"(
.text
.type ltc_fiber_switch, @function
ltc_fiber_switch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
)");

void switchTo(Context &from, Context &to) { ltc_fiber_switch(&from, to); }

void prepare(Context &context, char *stack, void (*begin)()) {
  auto end = reinterpret_cast<uintptr_t>(stack + kStackBytes) & ~uintptr_t(63);
  auto *top = reinterpret_cast<void **>(end);
  *--top = nullptr; // where begin() would return to: keeps the alignment
  *--top = reinterpret_cast<void *>(begin);
  context = static_cast<void *>(top - 6);
}
#else
using Context = ucontext_t;

void switchTo(Context &from, Context &to) { swapcontext(&from, &to); }

void prepare(Context &context, char *stack, void (*begin)()) {
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  makecontext(&context, begin, 0);
}
#endif

/// To memory that the block shares; what is not read is zero.
struct Copy {
  static constexpr int32_t kBytes = 16;
  char *to;
  const char *from;
  int32_t bytes;
};

struct Fiber {
  Context context;
  State state = State::Ready;
  Given given{};     ///< to a shuffle, or what else a warp does together
  uint32_t with = 0; ///< whom of its warp it waits for, a bit each
  /// In groups, the last of them open.
  std::deque<std::vector<Copy>> copies;
};

std::atomic<uint32_t> threadOrder = 0;
std::atomic<bool> looksForRaces = false;
thread_local std::optional<std::string> fault;

/// One block at a time.
class Block {
public:
  using Kernel = void (*)(const int64_t *words);

  Block(const char *name, Kernel kernel, uint32_t threads, const int64_t *words)
      : name(name), kernel(kernel), words(words), fibers(threads),
        order(threads), stacks(new char[threads * kStackBytes]) {
    std::iota(order.begin(), order.end(), 0);
  }

  /// Whether all threads came to their end.
  bool run(int64_t blockNumber) {
    number = blockNumber;
    check.beginBlock(uint32_t(blockNumber));
    for (size_t i = 0; i < fibers.size(); ++i) {
      prepare(fibers[i].context, stacks.get() + i * kStackBytes, begin);
      fibers[i].state = State::Ready;
      fibers[i].copies.assign(1, {});
    }
    uint32_t seed = threadOrder;
    std::mt19937 random(seed);
    while (count(State::Done) < fibers.size()) {
      if (seed)
        std::ranges::shuffle(order, random);
      for (uint32_t thread : order)
        if (fibers[thread].state == State::Ready) {
          running = thread;
          switchTo(scheduler, fibers[thread].context);
        }
      if (!release())
        return false;
    }
    return true;
  }

  void suspend(State state) {
    Fiber &self = fibers[running];
    self.state = state;
    switchTo(self.context, scheduler);
  }

  void suspend(State state, uint32_t with) {
    fibers[running].with = with;
    suspend(state);
  }

  /// Gives those of its warp something, and has `take` read what they give: by
  /// the number of a thread's lane, and its own.
  template <typename Take>
  void exchange(uint32_t with, const Given &given, Take take) {
    uint32_t lane = running % kWarp, first = running - lane;
    fibers[running].given = given;
    suspend(State::AtShuffle, with);
    take(
        [&](uint32_t other) -> const Given & {
          return fibers[first + other].given;
        },
        lane);
    // Nobody gives another before all have read.
    suspend(State::AtShuffle, with);
  }

  /// Copies are made as late as the program allows, so that a wait that is
  /// missing shows.
  void copyLater(Copy copy) { fibers[running].copies.back().push_back(copy); }
  void closeCopies() { fibers[running].copies.emplace_back(); }
  /// All groups but so many.
  void finishCopies(size_t but) {
    auto &groups = fibers[running].copies;
    for (; groups.size() > but + 1; groups.pop_front())
      for (const Copy &copy : groups.front()) {
        if (looksForRaces)
          visit(copy.to, Copy::kBytes, Access::Write, nullptr, 0, true);
        std::memset(copy.to, 0, Copy::kBytes);
        std::memcpy(copy.to, copy.from, size_t(copy.bytes));
      }
  }

  /// An access to one of the arguments, or to `shared` bytes of the block's
  /// own from `base` on.
  void visit(const char *place, int64_t bytes, Access access, const char *base,
             int64_t shared, bool isShared) {
    std::optional<std::string> wrong;
    if (base && (place < base || place + bytes > base + shared))
      wrong = "thread " + std::to_string(running) +
              " reaches beyond memory of " + std::to_string(shared) +
              " bytes that the block has";
    else
      wrong = check.visit(place, size_t(bytes), access, running, isShared);
    if (wrong && !fault)
      fault = std::string(name) + ": in block " + std::to_string(number) +
              ", " + *wrong;
  }

  AccessCheck check;

  /// A launch is one thread's, and so are its fibers.
  static thread_local Block *current;
  uint32_t running = 0;
  int64_t number = 0;

private:
  static void begin() {
    Block &block = *current;
    block.kernel(block.words);
    block.suspend(State::Done);
  }

  size_t count(State state) const {
    return size_t(std::ranges::count(fibers, state, &Fiber::state));
  }

  /// Lets those go on that have waited for others; an error if none can.
  bool release() {
    bool any = false;
    for (size_t i = 0; i < fibers.size(); ++i)
      any = releaseTeam(i) || any;
    if (any || count(State::Done) == fibers.size())
      return true;
    if (count(State::AtBarrier) < fibers.size()) {
      bool shuffles = count(State::AtShuffle) > 0;
      bool inWarp = shuffles || count(State::AtWarpBarrier) > 0;
      fault = std::string(name) + ": in block " + std::to_string(number) +
              ", some threads wait at a " + (shuffles ? "shuffle" : "barrier") +
              " that others" + (inWarp ? " of their warp" : "") +
              " never reach";
      return false;
    }
    for (Fiber &fiber : fibers)
      fiber.state = State::Ready;
    check.barrier();
    return true;
  }

  /// The same of a thread that waits for some of its warp.
  bool releaseTeam(size_t thread) {
    Fiber self = fibers[thread];
    if (self.state != State::AtShuffle && self.state != State::AtWarpBarrier)
      return false;
    size_t first = thread / kWarp * kWarp;
    std::vector<size_t> team;
    for (size_t i = first; i < std::min(first + kWarp, fibers.size()); ++i)
      if (self.with >> (i - first) & 1)
        team.push_back(i);
    for (size_t i : team)
      if (fibers[i].state != self.state || fibers[i].with != self.with)
        return false;
    for (size_t i : team)
      fibers[i].state = State::Ready;
    if (self.state == State::AtWarpBarrier)
      check.barrier(team);
    return true;
  }

  const char *name;
  Kernel kernel;
  const int64_t *words;
  std::vector<Fiber> fibers;
  std::vector<uint32_t> order;
  std::unique_ptr<char[]> stacks;
  Context scheduler{};
};

thread_local Block *Block::current = nullptr;

constexpr uint32_t kAll = UINT32_MAX; ///< lanes of a warp

/// Four matrices, of whose rows each lane of the warp gives an address.
void loadMatrices(uint32_t *words, const char *row, bool transposed) {
  Block::current->exchange(kAll, {reinterpret_cast<uintptr_t>(row)},
                           [&](const Lanes &lanes, uint32_t lane) {
                             for (uint32_t matrix = 0; matrix < 4; ++matrix)
                               words[matrix] = matrixWord(lanes, 8 * matrix,
                                                          lane, transposed);
                           });
}

void multiply(float *sums, const Given &factors, std::array<float, 4> before,
              bool isBf16) {
  Block::current->exchange(kAll, factors,
                           [&](const Lanes &lanes, uint32_t lane) {
                             addProduct(lanes, lane, isBf16, before);
                           });
  std::ranges::copy(before, sums);
}

} // namespace

void ltc::emulator::setThreadOrder(uint32_t seed) { threadOrder = seed; }

void ltc::emulator::findRaces(bool look) { looksForRaces = look; }

std::optional<std::string> ltc::emulator::takeSimtFault() {
  return std::exchange(fault, std::nullopt);
}

// What compiled code calls.
#pragma GCC visibility push(default)
extern "C" {

void ltc_simt_run(const char *name, void (*kernel)(const int64_t *),
                  int64_t threads, int64_t begin, int64_t end,
                  const int64_t *words, const int64_t *bytes, int64_t count) {
  Block block(name, kernel, uint32_t(threads), words);
  if (looksForRaces)
    for (int64_t i = 0; i < count; ++i)
      if (bytes[i] > 0)
        block.check.allow(reinterpret_cast<const void *>(words[i]), bytes[i]);
  Block *before = std::exchange(Block::current, &block);
  for (int64_t number = begin; number < end && block.run(number); ++number)
    ;
  Block::current = before;
}

int32_t ltc_simt_thread() { return int32_t(Block::current->running); }
int32_t ltc_simt_block() { return int32_t(Block::current->number); }
void ltc_simt_barrier(int32_t) { Block::current->suspend(State::AtBarrier); }
void ltc_simt_warp_barrier(int32_t with) {
  Block::current->suspend(State::AtWarpBarrier, uint32_t(with));
}

void ltc_simt_access(const char *place, int64_t bytes, int32_t access,
                     const char *base, int64_t shared) {
  if (looksForRaces)
    Block::current->visit(place, bytes, Access(access), base, shared, base);
}

int32_t ltc_simt_shuffle(int32_t with, int32_t value, int32_t distance,
                         int32_t) {
  uint64_t result = 0;
  Block::current->exchange(uint32_t(with), {uint32_t(value)},
                           [&](const auto &lanes, uint32_t lane) {
                             result = lanes(lane ^ uint32_t(distance))[0];
                           });
  return int32_t(result);
}

void ltc_simt_copy_some(char *to, const char *from, int32_t bytes) {
  Block::current->copyLater({to, from, bytes});
}
void ltc_simt_copy(char *to, const char *from) {
  ltc_simt_copy_some(to, from, Copy::kBytes);
}
void ltc_simt_commit_copies() { Block::current->closeCopies(); }
void ltc_simt_wait_for_copies(int32_t but) {
  Block::current->finishCopies(size_t(but));
}

void ltc_simt_matrices(uint32_t *words, const char *row) {
  loadMatrices(words, row, /*transposed=*/false);
}
void ltc_simt_transposed_matrices(uint32_t *words, const char *row) {
  loadMatrices(words, row, /*transposed=*/true);
}

void ltc_simt_product_bf16(float *sums, uint32_t a0, uint32_t a1, uint32_t a2,
                           uint32_t a3, uint32_t b0, uint32_t b1, float c0,
                           float c1, float c2, float c3) {
  multiply(sums, {a0, a1, a2, a3, b0, b1}, {c0, c1, c2, c3}, /*isBf16=*/true);
}
void ltc_simt_product_f16(float *sums, uint32_t a0, uint32_t a1, uint32_t a2,
                          uint32_t a3, uint32_t b0, uint32_t b1, float c0,
                          float c1, float c2, float c3) {
  multiply(sums, {a0, a1, a2, a3, b0, b1}, {c0, c1, c2, c3}, /*isBf16=*/false);
}
}
#pragma GCC visibility pop
