//===- source_frame.cpp - The user's Python line that runs now --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each code object carries what we know of it in its co_extra slot: whether it
// is the user's, and a SourceId for each place met. The slot dies with the code
// object, so nothing is looked up by an address that could be used again.
//
//===----------------------------------------------------------------------===//
#include "interpreter_frame.h" // first: it decides what Python.h declares

#include "source_frame.h"

#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <unordered_map>

namespace ltc::python {
namespace {

struct CodeFacts {
  bool users = false;
  std::unordered_map<int, SourceId> places; ///< by Frame::unit()
  int lastUnit = -1; ///< a loop asks for the same few places
  SourceId lastId = 0;
};

/// How many code objects that we knew are gone: their places may be others'.
std::atomic<uint64_t> deadCodes{0};

std::vector<std::string> insideFolders;
Py_ssize_t extraSlot = -1;

std::string utf8(PyObject *string) {
  const char *text = string ? PyUnicode_AsUTF8(string) : nullptr;
  if (!text)
    PyErr_Clear();
  return text ? text : "";
}

bool isUsers(const std::string &file) {
  if (file.starts_with("<frozen ") || file.starts_with("<eval_with_key>"))
    return false;
  for (const std::string &folder : insideFolders)
    if (file.starts_with(folder))
      return false;
  return true;
}

CodeFacts *factsOf(PyCodeObject *code) {
  void *extra = nullptr;
  auto *object = reinterpret_cast<PyObject *>(code);
  if (PyUnstable_Code_GetExtra(object, extraSlot, &extra) == 0 && extra)
    return static_cast<CodeFacts *>(extra);
  auto facts = std::make_unique<CodeFacts>();
  facts->users = isUsers(utf8(code->co_filename));
  if (PyUnstable_Code_SetExtra(object, extraSlot, facts.get()) != 0) {
    PyErr_Clear();
    return nullptr;
  }
  return facts.release();
}

/// Below the working directory a path reads better without it.
std::string shortened(std::string file) {
  std::error_code ignored;
  std::string folder = std::filesystem::current_path(ignored).string() + "/";
  return file.starts_with(folder) ? file.substr(folder.size()) : file;
}

SourceId idOf(CodeFacts &facts, PyCodeObject *code, int unit) {
  if (facts.lastUnit == unit && facts.lastId)
    return facts.lastId;
  SourceId &id = facts.places[unit];
  if (!id) {
    Source source;
    source.file = shortened(utf8(code->co_filename));
    source.line = uint32_t(std::max(lineOf(code, unit), 0));
#if PY_VERSION_HEX >= 0x030B0000
    source.function = utf8(code->co_qualname);
#else
    source.function = utf8(code->co_name);
#endif
    id = internSource(source);
  }
  facts.lastUnit = unit;
  return facts.lastId = id;
}

/// With the GIL. Calls seen(frame) for each frame up to the user's.
template <typename Seen> SourceId walk(PyThreadState *thread, Seen seen) {
  if (extraSlot < 0)
    return 0;
  for (Frame frame = Frame::top(thread); frame; frame = frame.back()) {
    seen(frame);
    PyCodeObject *code = frame.code();
    if (!code)
      continue;
    CodeFacts *facts = factsOf(code);
    if (facts && facts->users)
      return idOf(*facts, code, frame.unit());
  }
  return 0;
}

#ifdef LTC_INTERPRETER_FRAMES
/// PyTorch lets go of the GIL around an op, and autograd around all of them;
/// the thread keeps its frames. Without the GIL they may be compared, not
/// looked into: a stack seen before has the user's line it had then.
class SeenStacks {
public:
  /// 0 if this thread's stack has not been seen.
  SourceId find(PyThreadState *thread) {
    slot = &slots[index(thread)];
    return slot->dead == deadCodes.load(std::memory_order_relaxed) &&
                   slot->matches(thread)
               ? slot->id
               : 0;
  }
  /// With the GIL, after find(): looks, and remembers.
  SourceId look(PyThreadState *thread) {
    slot->dead = deadCodes.load(std::memory_order_relaxed);
    slot->depth = 0;
    slot->id = walk(thread, [&](const Frame &frame) { slot->add(frame); });
    if (slot->depth > slot->places.size())
      slot->depth = 0; // too deep to remember
    return slot->id;
  }

private:
  struct Slot {
    uint64_t dead = 0;
    SourceId id = 0;
    size_t depth = 0; ///< 0: nothing remembered
    std::array<const void *, 24> places;

    bool matches(PyThreadState *thread) const {
      size_t at = 0;
      for (Frame frame = Frame::top(thread); frame && at < depth;
           frame = frame.back(), ++at)
        if (frame.place() != places[at])
          return false;
      return depth && at == depth;
    }
    void add(const Frame &frame) {
      if (depth < places.size())
        places[depth] = frame.place();
      ++depth;
    }
  };

  /// By the innermost frames: layers of a network differ in the outer ones.
  static size_t index(PyThreadState *thread) {
    uint64_t hash = 0;
    int left = 8;
    for (Frame frame = Frame::top(thread); frame && left-- > 0;
         frame = frame.back())
      hash = (hash ^ reinterpret_cast<uintptr_t>(frame.place())) *
             0x9e3779b97f4a7c15;
    return hash >> (64 - kBits);
  }

  static constexpr int kBits = 8;
  std::array<Slot, 1 << kBits> slots;
  Slot *slot = nullptr;
};

SourceId sourceWithoutGil() {
  PyThreadState *thread = PyGILState_GetThisThreadState();
  if (!thread)
    return 0; // no Python on this thread
  static thread_local auto seen = std::make_unique<SeenStacks>();
  if (SourceId id = seen->find(thread))
    return id;
  if (!Py_IsInitialized())
    return 0;
  PyGILState_STATE state = PyGILState_Ensure();
  SourceId id = seen->look(thread);
  PyGILState_Release(state);
  return id;
}
#else
SourceId sourceWithoutGil() {
  PyThreadState *thread = PyGILState_GetThisThreadState();
  if (!thread || !Py_IsInitialized())
    return 0;
  PyGILState_STATE state = PyGILState_Ensure();
  SourceId id = walk(thread, [](const Frame &) {});
  PyGILState_Release(state);
  return id;
}
#endif

} // namespace

void setInsideFolders(std::vector<std::string> folders) {
  insideFolders = std::move(folders);
  if (extraSlot < 0)
    extraSlot = PyUnstable_Eval_RequestCodeExtraIndex([](void *facts) {
      deadCodes.fetch_add(1, std::memory_order_relaxed);
      delete static_cast<CodeFacts *>(facts);
    });
}

SourceId currentSource() {
  if (!PyGILState_Check())
    return sourceWithoutGil();
  return walk(PyThreadState_Get(), [](const Frame &) {});
}

} // namespace ltc::python
