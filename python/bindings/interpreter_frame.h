//===- interpreter_frame.h - Frames without frame objects -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CPython 3.11 and later run without PyFrameObjects; making one costs about
// 0.1 us a frame. This is the only file that knows the interpreter's own
// frames, 3.10 to 3.13. A version that is not listed here goes through the
// public API, whose frames may not be looked at without the GIL.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <patchlevel.h> // of Python: its version, before its other headers
#include <pyconfig.h>
#if PY_VERSION_HEX < 0x030E0000 && !defined(Py_GIL_DISABLED)
#define LTC_INTERPRETER_FRAMES 1
#if PY_VERSION_HEX >= 0x030B0000
#define Py_BUILD_CORE 1 // what the internal headers ask for
#endif
#endif
#include <Python.h>
#if defined(Py_BUILD_CORE)
#include <internal/pycore_frame.h>
#else
#include <frameobject.h>
#include <utility>
#endif
#if PY_VERSION_HEX < 0x030C0000 // their names before they were documented
#define PyUnstable_Code_GetExtra _PyCode_GetExtra
#define PyUnstable_Code_SetExtra _PyCode_SetExtra
#define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#endif

namespace ltc::python {

#ifdef LTC_INTERPRETER_FRAMES

/// A borrowed frame of this thread; valid until the thread runs Python again.
class Frame {
#if PY_VERSION_HEX >= 0x030B0000
  using Struct = _PyInterpreterFrame;
#else
  using Struct = PyFrameObject;
#endif

public:
  static Frame top(PyThreadState *thread) {
#if PY_VERSION_HEX >= 0x030D0000
    return Frame(thread->current_frame);
#elif PY_VERSION_HEX >= 0x030B0000
    return Frame(thread->cframe ? thread->cframe->current_frame : nullptr);
#else
    return Frame(thread->frame);
#endif
  }
  explicit operator bool() const { return frame; }
  Frame back() const {
#if PY_VERSION_HEX >= 0x030B0000
    return Frame(frame->previous);
#else
    return Frame(frame->f_back);
#endif
  }

  /// Borrowed; null for a frame that only marks an entry from C, or the call of
  /// a class: the latter's code is the interpreter's own, and read-only
  /// in 3.13.
  PyCodeObject *code() const {
#if PY_VERSION_HEX >= 0x030C0000
    if (_PyFrame_IsIncomplete(frame))
      return nullptr;
#endif
#if PY_VERSION_HEX >= 0x030D0000
    return _PyFrame_GetCode(frame);
#else
    return frame->f_code;
#endif
  }
  /// Address of the current instruction; tells places of live code apart.
  const void *place() const {
#if PY_VERSION_HEX >= 0x030D0000
    return frame->instr_ptr;
#elif PY_VERSION_HEX >= 0x030B0000
    return frame->prev_instr;
#else
    return PyBytes_AS_STRING(frame->f_code->co_code) +
           frame->f_lasti * int(sizeof(_Py_CODEUNIT));
#endif
  }
  /// Number of the current code unit; negative in a frame not yet begun.
  int unit() const {
#if PY_VERSION_HEX >= 0x030B0000
    return _PyInterpreterFrame_LASTI(frame);
#else
    return frame->f_lasti;
#endif
  }

private:
  explicit Frame(Struct *frame) : frame(frame) {}
  Struct *frame;
};

#else

class Frame {
public:
  static Frame top(PyThreadState *thread) {
    return Frame(PyThreadState_GetFrame(thread));
  }
  Frame(Frame &&other) : frame(std::exchange(other.frame, nullptr)) {}
  Frame &operator=(Frame &&other) {
    std::swap(frame, other.frame);
    return *this;
  }
  ~Frame() { Py_XDECREF(frame); }
  explicit operator bool() const { return frame; }
  Frame back() const { return Frame(PyFrame_GetBack(frame)); }

  PyCodeObject *code() const {
    PyCodeObject *code = PyFrame_GetCode(frame);
    Py_DECREF(code); // the frame keeps it
    return code;
  }
  int unit() const {
    // A frame's f_lasti is private; the line is as good a key.
    return PyFrame_GetLineNumber(frame) - code()->co_firstlineno;
  }

private:
  explicit Frame(PyFrameObject *frame) : frame(frame) {}
  PyFrameObject *frame;
};

#endif

/// The line of a code unit as Frame::unit() counts them.
inline int lineOf(PyCodeObject *code, int unit) {
#ifdef LTC_INTERPRETER_FRAMES
  return PyCode_Addr2Line(code, unit * int(sizeof(_Py_CODEUNIT)));
#else
  return code->co_firstlineno + unit;
#endif
}

} // namespace ltc::python
